package tool

import "errors"

// What a Run returns, or wraps, when it is not the action that failed. For bodies that act elsewhere, in another process or
// behind a network.
var (
	// ErrUnknownOutcome: the action was begun, and nobody knows what came of it: the connection is lost, say, or the answer
	// cannot be read. A side effect is then treated as after a crash (RE3): it is inspected, and a person is asked where
	// that settles nothing. The action of a tool that may be repeated counts as failed.
	ErrUnknownOutcome = errors.New("what came of the action is unknown")
	// ErrNotStarted: the action did nothing and can no longer start. If it was told to stop by then, it is begun again by
	// whoever goes on with the session, unless its turn was cancelled. Otherwise it counts as failed.
	ErrNotStarted = errors.New("the action was not begun")
)
