package servicetest

import (
	"context"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Provider is the name of the provider that a host makes of [World].Model.
const Provider = "Suite"

// What a host configures its processes with, so that tests know what to expect.
const (
	Lease    = 2 * time.Second
	Poll     = 20 * time.Millisecond
	Grace    = 200 * time.Millisecond // what a cancelled body gets
	Parallel = 3                      // tool bodies of one session that run at once
)

// Host is what the suite runs against.
type Host struct {
	// New makes an empty store.
	New func(t *testing.T) Store
	// Around, unless nil, runs the body of each test, for example under a false clock.
	Around func(t *testing.T, body func(t *testing.T))
}

// Store is one store that processes open.
type Store interface {
	// Open starts a process in a world; the test's end stops it.
	Open(t *testing.T, w World) Process
	// Files is the directory that holds all that is stored, "" where there is none.
	Files() string
}

// Process is an opened service.
type Process interface {
	api.Service
	// Stop closes the service as a program does that ends well. Further calls do nothing.
	Stop()
	// Crash ends the process as SIGKILL does: nothing that it does from now on reaches the store, and whoever
	// looks sees that it is dead.
	Crash()
}

// World is what a process acts in. The zero value has a model that answers "ok" and no tools.
type World struct {
	// Model answers one attempt of a model call. It may be called from several goroutines at once.
	Model func(p Prompt) Answer
	// Tools are bound when the process starts.
	Tools []Tool
	// ModelMax is the output maximum that is known of each model, Window its window, in tokens; 0: not known.
	ModelMax, Window int
	// Facts are what is known of what models take, by their names.
	Facts map[string]Facts
	// Guardrails, Hooks and Deny are what the application decides with.
	Guardrails []Guardrail
	Hooks      []Hook
	Deny       func(ctx context.Context, a Action) (Verdict, error)
	// Credential, unless nil, makes the provider want a credential, and tells whether there is one.
	Credential func() bool
}

// Facts are what a model is known to take of files. Zero values are unknown.
type Facts struct {
	Refused                                   []string // media types
	MaxImageBytes, MaxPDFBytes, MaxFilesBytes int64
	MaxImageSide                              int
	ManyImages, MaxImageSideMany              int // more images than these have at most that many pixels a side
}

// Prompt is one model request.
type Prompt struct {
	Model        string
	Instructions string
	Items        []Item
	Tools        []string // names as the model sees them
	NoTools      bool
	Max          int // output tokens

	User  string // the newest message of the user; of one with content its texts, joined by empty lines
	Round int    // answers since then
}

// Item is one item of a request. Kind is as in a history: user, assistant, reasoning, tool_call, tool_result.
type Item struct {
	Kind, Text, CallID, Name, Arguments, Output string
	Failed                                      bool
	Parts                                       []Part // of a message with content, which has no Text
}

// Part is a text of a message with content, or a file.
type Part struct {
	Text, Name, MediaType, ID string
	Size                      int64
	Data                      []byte
}

// Answer is what an attempt does: reasoning, then text, word by word, then the calls, then an end.
type Answer struct {
	Reasoning, Text string
	Calls           []Call
	Stop            string // "" by the content, or "end", "output_limit", "filtered"
	Usage           api.Usage
	// Wait runs behind the text. It ends with its context.
	Wait func(ctx context.Context)
	// Fail ends the attempt with the provider error of this code.
	Fail       api.Code
	RetryAfter time.Duration
	Panic      any
}

// Call is a tool call as a provider gives it.
type Call struct{ ID, Name, Arguments string }

// Tool is a tool with its body.
type Tool struct {
	api.ToolDeclaration
	Timeout time.Duration
	Run     func(ctx context.Context, c ToolCall) (string, error)
	// Inspect, unless nil, tells what became of a lost attempt: one of succeeded, failed, not_started, running, unknown.
	Inspect func(ctx context.Context, c ToolCall) (answer, output string, err error)
}

// ToolCall is what a body is told (AG7).
type ToolCall struct {
	ID        string
	Attempt   int
	Arguments string
	Tool      string
	Session   api.SessionReference
	Run       string
	Agent     api.AgentReference
	Workspace string
	Origin    string
	Owner     string
	Metadata  map[string]string
}
