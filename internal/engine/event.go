package engine

import (
	"time"

	"github.com/openworkerai/openworker/api"
)

// Rules is the version of the decision rules that this build writes. A turn keeps the version under
// which it was accepted; a build refuses a turn whose rules it does not know.
const Rules = 1

// Kind names a stored event. Kinds and fields are never renamed or reused; see the corpus test.
type Kind string

// Event is a stored fact. The set is closed.
type Event interface {
	Kind() Kind
	// run is the run that the fact belongs to, "" for a session's own.
	run() string
}

// SessionCreated begins a journal.
type SessionCreated struct {
	Owner     string            `json:"owner,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	// Secret keys the fingerprints of submissions; it is never shown.
	Secret []byte `json:"secret"`
	Agent  Agent  `json:"agent"`
	// Model is the session's own, zero to inherit.
	Model               api.ModelRef `json:"model,omitzero"`
	AutoApproverContext *string      `json:"reviewer,omitempty"`
	Compaction          *string      `json:"compaction,omitempty"`
	AutoSkipQuestions   *bool        `json:"autoskip,omitempty"`
}

// Agent is the part of a definition that decisions depend on.
type Agent struct {
	Name           string             `json:"name"`
	Digest         string             `json:"digest"`
	Model          api.ModelRef       `json:"model"`
	Limits         api.Limits         `json:"limits,omitzero"`
	Mode           api.ApprovalMode   `json:"mode"`
	UnknownOutcome api.UnknownOutcome `json:"unknown"`
	Tools          []Tool             `json:"tools,omitempty"`
}

// Tool is what decisions need of a tool. A disabled built-in is listed too, so that a call to it can be
// told from an unknown one.
type Tool struct {
	Name      string     `json:"name"`
	ModelName string     `json:"model_name"`
	Effect    api.Effect `json:"effect"`
	Ask       bool       `json:"ask,omitempty"`  // a person is asked for each call that no grant covers
	Free      bool       `json:"free,omitempty"` // a built-in that no approval mode covers
	Disabled  bool       `json:"disabled,omitempty"`
}

// TurnAccepted records a message. Everything that the turn depends on is resolved here.
type TurnAccepted struct {
	Run                 string            `json:"run"`
	Rules               int               `json:"rules"`
	Text                string            `json:"text"`
	Queued              bool              `json:"queued,omitempty"`
	Front               bool              `json:"front,omitempty"` // queued ahead of the others
	SubmissionID        string            `json:"submission,omitempty"`
	Fingerprint         map[string]string `json:"fingerprint,omitempty"`
	Model               api.ModelRef      `json:"model"`
	Limits              Limits            `json:"limits"`
	Addendum            string            `json:"addendum,omitempty"`
	AutoApproverContext *string           `json:"reviewer,omitempty"`
	Compaction          *string           `json:"compaction,omitempty"`
}

// Limits are resolved limits.
type Limits struct {
	Calls   int `json:"calls"`
	Output  int `json:"output,omitempty"` // 0: none
	PerCall int `json:"per_call"`
	Summary int `json:"summary"`
}

// TurnStarted begins a turn that was queued.
type TurnStarted struct {
	Run string `json:"run"`
}

// CancelRequested asks a turn to end.
type CancelRequested struct {
	Run    string `json:"run"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// TurnEnded ends a turn, once.
type TurnEnded struct {
	Run          string        `json:"run"`
	Status       api.RunStatus `json:"status"`
	Code         api.Code      `json:"code,omitempty"`
	Message      string        `json:"message,omitempty"`
	Retryable    bool          `json:"retryable,omitempty"`
	Answer       uint64        `json:"answer,omitempty"`
	Usage        api.Usage     `json:"usage"`
	Calls        int           `json:"calls"`
	AutoApproved int           `json:"auto_approved,omitempty"`
}

// ModelStarted is the intent of one attempt of a model call.
type ModelStarted struct {
	Run     string       `json:"run"`
	Call    int          `json:"call"`
	Attempt int          `json:"attempt"`
	Epoch   uint64       `json:"epoch"`
	Model   api.ModelRef `json:"model"`
	Max     int          `json:"max"`
	Closing bool         `json:"closing,omitempty"`
}

// ModelFailed ends an attempt without an answer. Lost: it counts as a call, since it may have been
// answered (its process ended, or it was cancelled).
type ModelFailed struct {
	Run     string    `json:"run"`
	Call    int       `json:"call"`
	Attempt int       `json:"attempt"`
	Epoch   uint64    `json:"epoch"`
	Code    api.Code  `json:"code"`
	Message string    `json:"message,omitempty"`
	RetryAt time.Time `json:"retry_at,omitzero"`
	Lost    bool      `json:"lost,omitempty"`
	// Final: no further attempt is made, the run fails. Retryable is what a caller is told then.
	Final     bool      `json:"final,omitempty"`
	Retryable bool      `json:"retryable,omitempty"`
	Usage     api.Usage `json:"usage,omitzero"`
}

// ModelFinished records a whole answer.
type ModelFinished struct {
	Run     string    `json:"run"`
	Call    int       `json:"call"`
	Attempt int       `json:"attempt"`
	Epoch   uint64    `json:"epoch"`
	Items   []Item    `json:"items"`
	Stop    string    `json:"stop"`
	Usage   api.Usage `json:"usage"`
}

// Item is one item of an answer.
type Item struct {
	Kind      string `json:"kind"` // text, reasoning, call
	Text      string `json:"text,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"` // as the model gave it
	Arguments string `json:"arguments,omitempty"`
	Private   []byte `json:"private,omitempty"`
	// Code and Message say why a call is refused: they are its result. Approved says who let it pass
	// without a person.
	Code     api.Code `json:"code,omitempty"`
	Message  string   `json:"message,omitempty"`
	Approved string   `json:"approved,omitempty"`
}

// Item kinds of stored answers.
const (
	ItemText      = "text"
	ItemReasoning = "reasoning"
	ItemCall      = "call"
)

// ToolStarted is the intent of one attempt of a tool call.
type ToolStarted struct {
	Run     string `json:"run"`
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Attempt int    `json:"attempt"`
	Epoch   uint64 `json:"epoch"`
	Digest  string `json:"digest,omitempty"` // of the effective arguments, where they are not those of the answer
}

// ToolFinished is a call's one result.
type ToolFinished struct {
	Run     string   `json:"run"`
	CallID  string   `json:"call_id"`
	Name    string   `json:"name,omitempty"`
	Attempt int      `json:"attempt,omitempty"`
	Output  string   `json:"output"`
	Code    api.Code `json:"code,omitempty"`
}

// ToolLost records that a started attempt's process ended before its outcome was stored.
type ToolLost struct {
	Run     string `json:"run"`
	CallID  string `json:"call_id"`
	Attempt int    `json:"attempt"`
	Again   bool   `json:"again,omitempty"`
}

// ToolInspected records an inspection that settled nothing, or that the attempt never started.
type ToolInspected struct {
	Run     string    `json:"run"`
	CallID  string    `json:"call_id"`
	Attempt int       `json:"attempt"`
	Answer  string    `json:"answer"`
	Again   time.Time `json:"again,omitzero"`
}

// ToolLate records what an attempt came to whose call had been closed as "outcome unknown".
type ToolLate struct {
	Run     string   `json:"run"`
	CallID  string   `json:"call_id"`
	Attempt int      `json:"attempt"`
	Output  string   `json:"output"`
	Code    api.Code `json:"code,omitempty"`
}

// InteractionRequired opens a question to a person.
type InteractionRequired struct {
	Run         string              `json:"run"`
	ID          string              `json:"id"`
	Interaction api.InteractionKind `json:"kind"`
	CallID      string              `json:"call_id"`
	Name        string              `json:"name"`
	Arguments   string              `json:"arguments,omitempty"`
	Attempt     int                 `json:"attempt,omitempty"`
}

// InteractionResolved closes it.
type InteractionResolved struct {
	Run      string       `json:"run"`
	ID       string       `json:"id"`
	Decision api.Decision `json:"decision"`
	By       string       `json:"by,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Output   string       `json:"output,omitempty"`
}

// TakenOver records that another claim goes on with the session.
type TakenOver struct {
	Epoch   uint64 `json:"epoch"`
	From    string `json:"from,omitempty"`
	Process string `json:"process,omitempty"`
}

// SessionDeleted ends a journal.
type SessionDeleted struct{}

func (SessionCreated) Kind() Kind      { return "session_created" }
func (TurnAccepted) Kind() Kind        { return "turn_accepted" }
func (TurnStarted) Kind() Kind         { return "turn_started" }
func (CancelRequested) Kind() Kind     { return "cancel_requested" }
func (TurnEnded) Kind() Kind           { return "turn_ended" }
func (ModelStarted) Kind() Kind        { return "model_started" }
func (ModelFailed) Kind() Kind         { return "model_failed" }
func (ModelFinished) Kind() Kind       { return "model_finished" }
func (ToolStarted) Kind() Kind         { return "tool_started" }
func (ToolFinished) Kind() Kind        { return "tool_finished" }
func (ToolLost) Kind() Kind            { return "tool_lost" }
func (ToolInspected) Kind() Kind       { return "tool_inspected" }
func (ToolLate) Kind() Kind            { return "tool_late" }
func (InteractionRequired) Kind() Kind { return "interaction_required" }
func (InteractionResolved) Kind() Kind { return "interaction_resolved" }
func (TakenOver) Kind() Kind           { return "taken_over" }
func (SessionDeleted) Kind() Kind      { return "session_deleted" }

func (SessionCreated) run() string        { return "" }
func (e TurnAccepted) run() string        { return e.Run }
func (e TurnStarted) run() string         { return e.Run }
func (e CancelRequested) run() string     { return e.Run }
func (e TurnEnded) run() string           { return e.Run }
func (e ModelStarted) run() string        { return e.Run }
func (e ModelFailed) run() string         { return e.Run }
func (e ModelFinished) run() string       { return e.Run }
func (e ToolStarted) run() string         { return e.Run }
func (e ToolFinished) run() string        { return e.Run }
func (e ToolLost) run() string            { return e.Run }
func (e ToolInspected) run() string       { return e.Run }
func (e ToolLate) run() string            { return e.Run }
func (e InteractionRequired) run() string { return e.Run }
func (e InteractionResolved) run() string { return e.Run }
func (TakenOver) run() string             { return "" }
func (SessionDeleted) run() string        { return "" }
