package openworker

import (
	"context"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
)

type (
	// Tool is an action that a model may ask for. [NewTool] makes one of a function; package tool says how to
	// implement it otherwise.
	Tool = tool.Tool
	// ToolCall is what a tool's function is told of the call that it runs for: its ID, session, run, workspace.
	ToolCall = tool.Call
	// ToolOptions are the options of [NewTool]: effect, time-out, inspection, schema.
	ToolOptions = tool.Options
	// Effect says what a repetition would do; "" means SideEffect.
	Effect = api.Effect
	// Inspection is what ToolOptions.Inspect answers: an outcome with the output or the reason.
	Inspection = tool.Inspection
	// Outcome is one of the Inspect constants.
	Outcome = tool.Outcome
)

// What a repetition of a tool's action would do (RE3).
const (
	SideEffect = api.SideEffect // it must not happen twice: after a crash it is inspected, or a person is asked; the default
	Idempotent = api.Idempotent // under the same call ID there is no second effect: after a crash it runs again
	ReadOnly   = api.ReadOnly   // it changes nothing: after a crash it runs again
)

// What an inspection found.
const (
	InspectSucceeded    = tool.Succeeded    // it took effect; Output is its result
	InspectFailed       = tool.Failed       // it did not take effect and will not; Output says why
	InspectNotStarted   = tool.NotStarted   // a promise: this attempt did nothing and can no longer start; the call runs
	InspectStillRunning = tool.StillRunning // it is asked again later
	InspectUnknown      = tool.Unknown      // it cannot be told; the agent's UnknownOutcome decides
)

// NewTool makes a tool of a function. The input schema is inferred from In: names from `json` tags,
// descriptions from `jsonschema` tags, optional fields marked omitempty. A string is the call's output as
// it stands, any other result its JSON; an error is told to the model.
//
// The call's ID is the same in every attempt: a tool that acts on another system hands it over as its
// idempotency key, and one that cannot gives an Inspect that looks whether the call took effect.
func NewTool[In, Out any](name, description string, fn func(ctx context.Context, call ToolCall, in In) (Out, error), opts ...ToolOptions) (Tool, error) {
	return tool.New(name, description, fn, opts...)
}

// MustTool returns t, or panics with err: for tools that are made when a program starts.
func MustTool(t Tool, err error) Tool { return tool.Must(t, err) }

// InspectInput adapts an inspection that wants the call's input decoded to ToolOptions.Inspect.
func InspectInput[In any](fn func(ctx context.Context, call ToolCall, in In) (Inspection, error)) func(context.Context, ToolCall) (Inspection, error) {
	return tool.InspectInput(fn)
}
