package openworker

import "github.com/openworkerai/openworker/guard"

// What an application adds to decide what an agent may see and do (GR, AP2); package guard says more, and "go doc
// github.com/openworkerai/openworker/guard Guardrail" shows the fields. They are given at [Open], since work goes on
// from there.
type (
	// Guardrail looks at texts: a user's, a request's, a tool's result, an answer. Package guard/sensitive has one.
	Guardrail = guard.Guardrail
	// GuardPoint is where it looks: UserInput, ModelInput, ToolResult or ModelOutput.
	GuardPoint = guard.Point
	// Unit is a text that a guardrail looks at.
	Unit = guard.Unit
	// Verdict is what it says: [Allow], [Redact] or [Block].
	Verdict = guard.Verdict
	// Hook sees whole requests before a model does, or tools' results before anybody else.
	Hook = guard.Hook
	// ModelCall is a request that a hook sees; [Veto] refuses it.
	ModelCall = guard.ModelCall
	// ToolOutput is a tool's result that a hook sees.
	ToolOutput = guard.ToolOutput
	// ToolAction is a call that the application's own check, Options.Deny, sees.
	ToolAction = guard.ToolAction
)

// Where a guardrail looks (GR1).
const (
	UserInput   = guard.UserInput   // what the user says, before it is stored
	ModelInput  = guard.ModelInput  // what a model is sent
	ToolResult  = guard.ToolResult  // what a tool returned, before model and journal see it
	ModelOutput = guard.ModelOutput // what a model answers, before anybody sees it
)

// Allow lets a text or an action pass.
func Allow() Verdict { return guard.Allow() }

// Redact lets another text pass instead. The reason is stored.
func Redact(text, reason string) Verdict { return guard.Redact(text, reason) }

// Block lets nothing pass: the text is refused or withheld, the action is not run. The reason is stored and told.
func Block(reason string) Verdict { return guard.Block(reason) }

// Veto is the error by which a hook refuses a request.
func Veto(reason string) error { return guard.Veto(reason) }
