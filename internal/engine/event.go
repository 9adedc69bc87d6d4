package engine

import (
	"time"

	"github.com/openworkerai/openworker/api"
)

// Rules is the version of the decision rules that this build writes. A turn keeps the version under
// which it was accepted; a build refuses a turn whose rules it does not know. Rules 1 were never released: they
// knew no reviews, questions, guardrails and compaction, and their turns go on under these.
const Rules = 2

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
	Reviewer       api.ModelRef       `json:"reviewer_model,omitzero"` // with mode auto
	UnknownOutcome api.UnknownOutcome `json:"unknown"`
	SkipQuestions  bool               `json:"skip_questions,omitempty"`
	Guardrails     []string           `json:"guardrails,omitempty"`
	Hooks          []string           `json:"hooks,omitempty"`
	Tools          []Tool             `json:"tools,omitempty"`
}

// Tool is what decisions need of a tool. A disabled built-in is listed too, so that a call to it can be
// told from an unknown one.
type Tool struct {
	Name      string     `json:"name"`
	ModelName string     `json:"model_name"`
	Effect    api.Effect `json:"effect"`
	Ask       bool       `json:"ask,omitempty"`      // a person is asked for each call that no grant covers
	Free      bool       `json:"free,omitempty"`     // a built-in that no approval mode covers
	Question  bool       `json:"question,omitempty"` // a built-in whose result is a person's answer
	Privilege Privilege  `json:"privilege,omitempty"`
	Disabled  bool       `json:"disabled,omitempty"`
}

// Privilege is what a definition says about a privileged action: one that makes children or agent types (AP7).
type Privilege string

const (
	Ordinary            Privilege = ""           // not a privileged action
	PrivilegeDenied     Privilege = "denied"     // the definition gives no permission
	PrivilegePermitted  Privilege = "permitted"  // it does, and a person is asked
	PrivilegeUnattended Privilege = "unattended" // it does, and nobody is asked
)

// TurnAccepted records a message. Everything that the turn depends on is resolved here.
type TurnAccepted struct {
	Run                 string            `json:"run"`
	Rules               int               `json:"rules"`
	Text                string            `json:"text"`
	Content             []Block           `json:"content,omitempty"` // instead of Text
	Queued              bool              `json:"queued,omitempty"`
	Inspects            string            `json:"inspects,omitempty"` // of a queued one: as in [Message]
	Refuses             []string          `json:"refuses,omitempty"`
	Front               bool              `json:"front,omitempty"` // queued ahead of the others
	SubmissionID        string            `json:"submission,omitempty"`
	Fingerprint         map[string]string `json:"fingerprint,omitempty"`
	Model               api.ModelRef      `json:"model"`
	Limits              Limits            `json:"limits"`
	Addendum            string            `json:"addendum,omitempty"`
	AutoApproverContext *string           `json:"reviewer,omitempty"`
	Compaction          *string           `json:"compaction,omitempty"`
	// Compact marks a run without a message, which summarises older history and ends.
	Compact bool `json:"compact,omitempty"`
	// Guardrails are the turn's own, Checks what guardrails did to the text.
	Guardrails []string           `json:"guardrails,omitempty"`
	Checks     []api.GuardVerdict `json:"checks,omitempty"`
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
	Auxiliary    api.Usage     `json:"auxiliary,omitzero"` // the part of Usage that is outside the budget
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
	Size    int          `json:"size,omitempty"` // of the request, in bytes
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
	// Compact: the conversation did not fit; older history is summarised before the next attempt. Window is the model's
	// window, in tokens, if the provider told it.
	Compact bool               `json:"compact,omitempty"`
	Window  int                `json:"window,omitempty"`
	Checks  []api.GuardVerdict `json:"checks,omitempty"`
}

// ModelFinished records a whole answer.
type ModelFinished struct {
	Run     string             `json:"run"`
	Call    int                `json:"call"`
	Attempt int                `json:"attempt"`
	Epoch   uint64             `json:"epoch"`
	Items   []Item             `json:"items"`
	Stop    string             `json:"stop"`
	Usage   api.Usage          `json:"usage"`
	Checks  []api.GuardVerdict `json:"checks,omitempty"`
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
	// without a person; Check that the application's own check comes first, Review that the reviewer is asked.
	Code     api.Code `json:"code,omitempty"`
	Message  string   `json:"message,omitempty"`
	Approved string   `json:"approved,omitempty"`
	Check    bool     `json:"check,omitempty"`
	Review   bool     `json:"review,omitempty"`
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
	Run     string             `json:"run"`
	CallID  string             `json:"call_id"`
	Name    string             `json:"name,omitempty"`
	Attempt int                `json:"attempt,omitempty"`
	Output  string             `json:"output"`
	Code    api.Code           `json:"code,omitempty"`
	Checks  []api.GuardVerdict `json:"checks,omitempty"`
}

// ToolChecked records that the application's own check let a call pass, and who decides on it now: as in [Item].
type ToolChecked struct {
	Run      string `json:"run"`
	CallID   string `json:"call_id"`
	Approved string `json:"approved,omitempty"`
	Review   bool   `json:"review,omitempty"`
}

// ToolReturned records that a body has returned where hooks or guardrails see its output before the journal.
type ToolReturned struct {
	Run     string `json:"run"`
	CallID  string `json:"call_id"`
	Attempt int    `json:"attempt"`
	Failed  bool   `json:"failed,omitempty"`
}

// ReviewStarted is the intent of one attempt to have a call reviewed.
type ReviewStarted struct {
	Run     string       `json:"run"`
	CallID  string       `json:"call_id"`
	Attempt int          `json:"attempt"`
	Epoch   uint64       `json:"epoch"`
	Model   api.ModelRef `json:"model"`
}

// ReviewFinished ends it. Lost: there is no verdict, since its process ended or the turn was cancelled.
type ReviewFinished struct {
	Run     string     `json:"run"`
	CallID  string     `json:"call_id"`
	Attempt int        `json:"attempt"`
	Epoch   uint64     `json:"epoch"`
	Review  api.Review `json:"review"`
	Lost    bool       `json:"lost,omitempty"`
	Usage   api.Usage  `json:"usage"`
}

// Plan says how a conversation is made to fit (CO1, CO2). The zero Items: nothing is summarised.
type Plan struct {
	// Keep is the number of the event of the first entry that is kept as it is, 0 for none; what comes before it, the
	// current message apart, is summarised.
	Keep uint64 `json:"keep,omitempty"`
	// Items counts the entries that are summarised, an older summary among them.
	Items int `json:"items,omitempty"`
	// ItemBytes is what longer entries are shortened to for the model, 0 for no bound. It holds for the entries
	// that are there now.
	ItemBytes int `json:"item_bytes,omitempty"`
	// Files are the numbers of the messages whose files the model still gets, beside the current one. Of all others it
	// gets a line for each file. Bare: no message keeps its files, and that is what the plan is for.
	Files []uint64 `json:"files,omitempty"`
	Bare  bool     `json:"bare,omitempty"`
	// Bytes is the size of what is kept, without the summary that is to come; without Items, with the one that is there.
	Bytes int `json:"bytes"`
}

// CompactionStarted is the intent of one attempt to summarise.
type CompactionStarted struct {
	Run     string       `json:"run"`
	Attempt int          `json:"attempt"`
	Epoch   uint64       `json:"epoch"`
	Model   api.ModelRef `json:"model"`
	Plan    Plan         `json:"plan"`
	Tokens  int          `json:"tokens,omitempty"` // estimate of the context before
}

// CompactionFailed ends an attempt without a summary. Lost, Final and Retryable are as in [ModelFailed]. GivenUp: there
// is no further attempt, and what was to be summarised is left out, with a word of the host in its place. Without
// RetryAt, Lost, Final and GivenUp a smaller part is summarised next.
type CompactionFailed struct {
	Run       string             `json:"run"`
	Attempt   int                `json:"attempt"`
	Epoch     uint64             `json:"epoch"`
	Code      api.Code           `json:"code"`
	Message   string             `json:"message,omitempty"`
	RetryAt   time.Time          `json:"retry_at,omitzero"`
	Lost      bool               `json:"lost,omitempty"`
	Final     bool               `json:"final,omitempty"`
	GivenUp   bool               `json:"given_up,omitempty"`
	Retryable bool               `json:"retryable,omitempty"`
	Usage     api.Usage          `json:"usage,omitzero"`
	Checks    []api.GuardVerdict `json:"checks,omitempty"`
}

// CompactionFinished puts a plan into effect. Attempt is 0 where no model has summarised: entries are shortened, or
// left out with a word of the host in their place.
type CompactionFinished struct {
	Run     string             `json:"run"`
	Attempt int                `json:"attempt,omitempty"`
	Epoch   uint64             `json:"epoch,omitempty"`
	Plan    Plan               `json:"plan"`
	Summary string             `json:"summary,omitempty"`
	Tokens  int                `json:"tokens,omitempty"` // estimate of the context after
	More    bool               `json:"more,omitempty"`   // of a run without a message: it plans again
	Usage   api.Usage          `json:"usage,omitzero"`
	Checks  []api.GuardVerdict `json:"checks,omitempty"`
}

// GrantRevoked takes a session grant back.
type GrantRevoked struct {
	Tool string `json:"tool"`
	By   string `json:"by,omitempty"`
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
	Question    *api.Question       `json:"question,omitempty"`
	Review      *api.Review         `json:"review,omitempty"`
}

// InteractionResolved closes it.
type InteractionResolved struct {
	Run      string       `json:"run"`
	ID       string       `json:"id"`
	Decision api.Decision `json:"decision"`
	By       string       `json:"by,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Output   string       `json:"output,omitempty"`
	// Arguments is a JSON object that the call runs with instead of its own, "" where it keeps them. With them CallID
	// says which call it is.
	Arguments string      `json:"arguments,omitempty"`
	CallID    string      `json:"call_id,omitempty"`
	Answers   []string    `json:"answers,omitempty"`
	Review    *api.Review `json:"review,omitempty"`
}

// TakenOver records that another claim goes on with the session. From is "" where nobody held it. Process is "" where
// the holder gives it up with this event, since it lacks what the turn needs.
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
func (ToolChecked) Kind() Kind         { return "tool_checked" }
func (ToolReturned) Kind() Kind        { return "tool_returned" }
func (ReviewStarted) Kind() Kind       { return "review_started" }
func (ReviewFinished) Kind() Kind      { return "review_finished" }
func (CompactionStarted) Kind() Kind   { return "compaction_started" }
func (CompactionFailed) Kind() Kind    { return "compaction_failed" }
func (CompactionFinished) Kind() Kind  { return "compaction_finished" }
func (GrantRevoked) Kind() Kind        { return "grant_revoked" }
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
func (e ToolChecked) run() string         { return e.Run }
func (e ToolReturned) run() string        { return e.Run }
func (e ReviewStarted) run() string       { return e.Run }
func (e ReviewFinished) run() string      { return e.Run }
func (e CompactionStarted) run() string   { return e.Run }
func (e CompactionFailed) run() string    { return e.Run }
func (e CompactionFinished) run() string  { return e.Run }
func (GrantRevoked) run() string          { return "" }
func (TakenOver) run() string             { return "" }
func (SessionDeleted) run() string        { return "" }
