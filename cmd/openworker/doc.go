// Command openworker talks to durable agents from a terminal, and shows what they did.
//
// [Main] is the program with everything that it touches as a field, so that tests run it in-process. Each
// command has a file of its own; what several share is: open.go (the store and the choice of a model),
// turn.go (following one turn, Ctrl-C, answering interactions), screen.go (a turn on a terminal) and
// timeline.go (a journal as lines). Only this package reads the environment.
//
// The demo starts the program again as its own worker, to have somebody to kill; see demo.go.
//
// Imports: everything of the module that is public; cobra, x/term.
package main
