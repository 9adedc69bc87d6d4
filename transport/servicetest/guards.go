package servicetest

import (
	"context"
	"time"

	"github.com/openworkerai/openworker/api"
)

// About is what an application's callbacks are told of where they are (AG7).
type About struct {
	Session     api.SessionReference
	Run, CallID string
	Agent       api.AgentReference
	Workspace   string
	Origin      string
	Owner       string
	Metadata    map[string]string
}

// Verdict is what a guardrail, or the application's own check, says: allow, redact or block. The zero value is none.
type Verdict struct{ Action, Text, Reason string }

// Guardrail is one of a world's, with the points where it looks.
type Guardrail struct {
	Name    string
	Points  []string // user_input, model_input, tool_result, model_output
	Timeout time.Duration
	Check   func(ctx context.Context, u Unit) (Verdict, error)
}

// Unit is a text that a guardrail looks at.
type Unit struct {
	About
	Point, Text, Tool string
}

// Hook is one of a world's.
type Hook struct {
	Name    string
	Timeout time.Duration
	// BeforeModel, unless nil, sees each request. A veto that is not "" refuses it.
	BeforeModel func(ctx context.Context, c ModelCall) (veto string, err error)
	// ToolResult, unless nil, gives the output that stands for the tool's.
	ToolResult func(ctx context.Context, r ToolResult) (string, error)
}

// ModelCall is a request on its way. Purpose is turn, review or compaction.
type ModelCall struct {
	About
	Purpose, Provider string
	Prompt            Prompt
}

// ToolResult is what a tool came to.
type ToolResult struct {
	About
	Tool, Arguments, Output string
	Code                    api.Code
}

// Action is a tool call that the application's own check is asked about.
type Action struct {
	About
	Tool      string
	Effect    api.Effect
	Arguments string
	Changed   bool // a person's arguments
}
