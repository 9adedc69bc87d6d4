package openworker

import (
	"context"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
)

// A Tool is an action that a model may ask for; package tool documents it. [NewTool] makes one of a
// function.
type (
	Tool        = tool.Tool
	ToolCall    = tool.Call
	ToolOptions = tool.Options
	Effect      = api.Effect
	Inspection  = tool.Inspection
	Outcome     = tool.Outcome
)

// What a repetition of a tool's action would do (RE3).
const (
	SideEffect = api.SideEffect
	Idempotent = api.Idempotent
	ReadOnly   = api.ReadOnly
)

// What an inspection found.
const (
	Succeeded    = tool.Succeeded
	Failed       = tool.Failed
	NotStarted   = tool.NotStarted
	StillRunning = tool.StillRunning
	Unknown      = tool.Unknown
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
