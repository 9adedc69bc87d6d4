package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// Point is a place where guardrails look.
type Point string

const (
	// UserInput: each text and each text file of a message, and each text of a person's answer to an interaction, before
	// it is stored. What is redacted here is never stored (GR3): what passes of a file is another file of the same name.
	// It is checked once for each message that is accepted.
	UserInput Point = "user_input"
	// ModelInput: each instruction, text, text file and tool result of a request before a model is sent it, imported
	// history too (IM4). A reviewer and a summary are given no body of a file. A reviewer, a summary and
	// a page of history have the same texts in another form; each is looked at by itself before it is put into that, and
	// of an action under review its description and its arguments, with its tool: what is redacted there leaves the
	// decision to a person. What is blocked here stays in the history, so that each later request with it fails as
	// well: redact here, and block at UserInput.
	ModelInput Point = "model_input"
	// ToolResult: what a tool returned, or a person says that it did, after the hooks, before model and journal see it.
	ToolResult Point = "tool_result"
	// ModelOutput: a model's answer before anybody sees it. No live text is sent while such a guardrail is in force.
	ModelOutput Point = "model_output"
)

// Points lists them all.
func Points() []Point { return []Point{UserInput, ModelInput, ToolResult, ModelOutput} }

// Context is what every callback of an application is told (AG7).
type Context struct {
	Session   api.SessionReference
	Run       string // "" for a message that is not accepted yet
	CallID    string // "" where it is not about a tool call
	Agent     api.AgentReference
	Workspace string
	Origin    string // "agent": the session's own agent
	Owner     string
	Metadata  map[string]string
}

// Unit is what a guardrail looks at: one text block, one decoded text file, one instruction, one tool result or one
// answer (GR2). Its text has at most 128,000 bytes; a larger one fails closed without being shown. Where ModelInput is
// looked at, a message, a file, a result and instructions that are larger are not taken in the first place; a larger answer
// is left out of later requests, and whatever is larger out of a summary.
//
// An image and a PDF are no text, and no unit. Where a guardrail looks at UserInput or ModelInput, a message with one is
// refused with uninspectable_content. Where one looks at ModelInput, so is each turn while an earlier message's is in the
// model's context (AT7). The other points let them be.
type Unit struct {
	Context
	Point Point
	Text  string
	Tool  string // catalogue name, of a tool's result
	File  string // what the message calls the text file, "" for other texts; it is a label, and goes with the text as it is
}

// Action is what a guardrail does with a text.
type Action string

const (
	ActionAllow  Action = "allow"
	ActionRedact Action = "redact"
	ActionBlock  Action = "block"
)

// Verdict is a guardrail's answer; make one with [Allow], [Redact] or [Block]. The zero value is no verdict, and
// fails closed.
type Verdict struct {
	Action Action
	Text   string // with ActionRedact: the new text
	Reason string // stored and shown; it must not repeat what is to be kept secret
}

// Allow lets the text pass.
func Allow() Verdict { return Verdict{Action: ActionAllow} }

// Redact lets another text pass instead, of at most 128,000 bytes, in UTF-8. The next guardrail sees that one.
func Redact(text, reason string) Verdict {
	return Verdict{Action: ActionRedact, Text: text, Reason: reason}
}

// Block lets nothing pass. A message is refused, a model call fails and ends its turn, a tool's result is
// withheld from the model, all with code guardrail_blocked.
func Block(reason string) Verdict { return Verdict{Action: ActionBlock, Reason: reason} }

// Guardrail looks at texts at some points.
type Guardrail struct {
	// Name is what agents and turns choose it by: 1–128 of A–Z a–z 0–9 . _ -, starting with a letter or digit.
	Name string
	// Points are where it looks, at least one.
	Points []Point
	// Check gives the verdict. It must return soon once ctx ends. The text of its error is stored and
	// shown as a reason is, but to no model; the value of a panic is not.
	Check func(ctx context.Context, unit Unit) (Verdict, error)
	// Timeout bounds one Check. Defaults to 10 s.
	Timeout time.Duration
}

// Purpose says what a model is called for.
type Purpose string

const (
	PurposeTurn       Purpose = "turn"       // the agent's own call
	PurposeReview     Purpose = "review"     // a reviewer's verdict on an action
	PurposeCompaction Purpose = "compaction" // a summary of older history
)

// ModelCall is a request on its way to a model. Request is the whole of it, without its credential: imported history
// and the bytes of all files, decoded, are in it (GR4). A hook must not change it. It should not keep it beyond its call,
// since that keeps the files in memory.
type ModelCall struct {
	Context
	Purpose  Purpose
	Provider string
	Request  model.Request
}

// ToolOutput is what a tool came to. Code is "" for a success, otherwise for example tool_failed.
type ToolOutput struct {
	Context
	Tool      string // catalogue name
	Arguments json.RawMessage
	Output    string
	Code      api.Code
}

// Hook sees requests or results as a whole. At least one of its functions is set.
type Hook struct {
	// Name is what agents choose it by, like a guardrail's.
	Name string
	// BeforeModel sees each request right before it is sent, guardrails' redactions made. [Veto] as its error refuses it:
	// the run fails with hook_vetoed. Any other error fails the run with hook_failed.
	BeforeModel func(ctx context.Context, call ModelCall) error
	// ToolResult returns the output that stands for the tool's. Its error withholds the result, with hook_failed.
	ToolResult func(ctx context.Context, result ToolOutput) (output string, err error)
	// Timeout bounds one call. Defaults to 10 s.
	Timeout time.Duration
}

// VetoError refuses a request; see [Veto].
type VetoError struct{ Reason string }

func (e *VetoError) Error() string { return fmt.Sprintf("vetoed: %s", e.Reason) }

// Veto is the error by which a BeforeModel hook refuses a request.
func Veto(reason string) error { return &VetoError{Reason: reason} }

// ToolAction is a tool call that is about to be decided on, or, where a person changed its arguments, about to start.
type ToolAction struct {
	Context
	Tool      string // catalogue name
	Effect    api.Effect
	Arguments json.RawMessage
	Changed   bool // the arguments are a person's
}

// ArgumentsError is the error of a [Deny] that cannot be given the arguments as they are, as over a wire. The action is not run,
// with code arguments_invalid, and the model is told the message, which says what to correct.
type ArgumentsError struct{ Message string }

func (e *ArgumentsError) Error() string { return e.Message }

// Deny is an application's own hard check: it returns [Block] with a reason, which the model is told, or [Allow].
// It is called for each call whose arguments are valid, before grants and approvals, and again right before an
// action with changed arguments starts. An error, a panic or another verdict means that the action is not run,
// with code check_failed: the model is told that nobody has refused it, and the log why. An [ArgumentsError] has a code of its
// own. The same function belongs into every process of a store.
type Deny func(ctx context.Context, action ToolAction) (Verdict, error)
