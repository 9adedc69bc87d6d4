package chaos

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
)

// Command is a line that a victim reads on standard input. Commands run concurrently. The end of standard
// input ends the victim, without a clean close.
type Command struct {
	ID int    `json:"id"` // of the reply
	Op string `json:"op"` // create, submit, send, upload, compact, result, resolve, cancel, state, events, history, interactions, sessions, follow, stop, close

	Key         string              `json:"key,omitempty"` // idempotency key of a creation, submission ID of a message
	Session     string              `json:"session,omitempty"`
	Run         string              `json:"run,omitempty"`
	History     []api.HistoryImport `json:"history,omitempty"` // of a creation
	Parts       []Part              `json:"parts,omitempty"`   // of a message to send, or the file to upload
	Text        string              `json:"text,omitempty"`    // of a message; with stop the point at which to stop, as name#n from now
	WhenBusy    api.WhenBusy        `json:"when_busy,omitempty"`
	Interaction string              `json:"interaction,omitempty"`
	Answer      api.Answer          `json:"answer,omitzero"`
	After       uint64              `json:"after,omitempty"`
}

// Part is a part of a message: a text, or the path of a file.
type Part struct {
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
}

// Reply is a line that a victim writes. The first has ID 0 and says that the victim is open, or why not.
type Reply struct {
	ID      int             `json:"id"`
	Value   json.RawMessage `json:"value,omitempty"`
	Code    api.Code        `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
}

// Opened is the value of a victim's first reply.
type Opened struct {
	Store string `json:"store"`
	// Began is when the victim began to open its store, in nanoseconds of Unix time.
	Began int64 `json:"began"`
}

// Entry is a line of the ledger: one effect on the world.
type Entry struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Call      string `json:"call"`
	Attempt   int    `json:"attempt"`
	Epoch     uint64 `json:"epoch"`
	PID       int    `json:"pid"`
	Output    string `json:"output"`
}

// Words that a victim's guards know.
const (
	Secret    = "xyzzy-0451" // taken out of what a user writes
	Forbidden = "forbidden"  // no action whose arguments hold it is started
)
