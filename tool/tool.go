package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Tool is an action that a model may ask for. All methods may be called concurrently.
type Tool interface {
	// Declaration is the part that belongs to the agent's identity (AG4). It does not change.
	Declaration() api.ToolDeclaration
	// Timeout bounds one attempt; 0 means api.DefaultToolTimeout.
	Timeout() time.Duration
	// Run performs the action. Its error is told to the model as the call's result; a panic fails the
	// call only. When ctx ends it should return soon.
	Run(ctx context.Context, call Call) (output string, err error)
}

// Inspector is a tool that can tell what became of an attempt whose process died (RE3). Inspect must be
// safe to repeat.
type Inspector interface {
	Tool
	Inspect(ctx context.Context, call Call) (Inspection, error)
}

// Call is what a body is told (AG7).
type Call struct {
	// ID is ours, unique, the same in every attempt: the idempotency key.
	ID string
	// Attempt is 1 for the first. Epoch is the claim under which the body runs.
	Attempt int
	Epoch   uint64
	// Arguments match the tool's schema.
	Arguments json.RawMessage
	Tool      string // catalogue name
	// StartBefore, unless nil, says until when the body of a side effect may begin, by this machine's clock: later the
	// session may be another process's. It was looked at right before Run. Where the body begins in another process than
	// the one that Run is called in, it is looked at there, and asked for again once it has passed while ctx lasts.
	StartBefore func() time.Time

	Session   api.SessionReference
	Run       string
	Agent     api.AgentReference
	Workspace string
	Origin    string
	Owner     string
	Metadata  map[string]string
}

// Outcome is what an inspection found.
type Outcome string

const (
	// Succeeded: it took effect; Output is its result.
	Succeeded Outcome = "succeeded"
	// Failed: it did not take effect and will not; Output says why.
	Failed Outcome = "failed"
	// NotStarted promises that this attempt did nothing and can no longer start.
	NotStarted Outcome = "not_started"
	// StillRunning: ask again later.
	StillRunning Outcome = "running"
	// Unknown: it cannot be told.
	Unknown Outcome = "unknown"
)

// Inspection is the answer of an Inspect.
type Inspection struct {
	Outcome Outcome
	Output  string
}
