package engine

import (
	"time"

	"github.com/openworkerai/openworker/api"
)

// Env is what a decision may know besides the state.
type Env struct {
	// Now is never below the last event's time; Decide raises it where it is.
	Now time.Time
	// Jitter in [0,1) spreads retries.
	Jitter float64
}

// At is the time of an event that follows s: never below the last one's, in UTC, cut to the millisecond as
// every store keeps it.
func (e Env) At(s *State) time.Time {
	now := e.Now.UTC().Truncate(time.Millisecond)
	if now.Before(s.Time) {
		return s.Time
	}
	return now
}

// Command is an input to Decide. The set is closed.
type Command interface{ command() }

// Create makes a session, perhaps with a conversation that it begins with; it is the only command for a zero state.
type Create struct {
	Event   SessionCreated
	History []HistoryImported
}

// Message is a user's message.
type Message struct {
	Text    string
	Content []Block // instead of Text
	// Inspects names a guardrail that looks at what models are sent, if one is in force; Refuses are the media types that
	// the chosen model is known not to take.
	Inspects     string
	Refuses      []string
	SubmissionID string
	Fingerprint  map[string]string
	// Model is the turn's own, zero to inherit. ModelMax is the chosen model's own output maximum, 0 if unknown.
	Model               api.ModelRef
	ModelMax            int
	Limits              api.Limits
	Addendum            string
	WhenBusy            api.WhenBusy
	AutoApproverContext *string
	Compaction          *string
	// Compact: there is no message; the run summarises older history and ends.
	Compact    bool
	Guardrails []string           // the turn's own
	Checks     []api.GuardVerdict // what guardrails did to the text
}

// Answer resolves an interaction.
type Answer struct {
	Interaction string
	Answer      api.Answer
}

// Cancel ends a run; "" names the current one.
type Cancel struct{ Run, By, Reason string }

// Delete ends the session. With IdleBefore it is refused where a turn is under way, or where something was
// written at that time or later.
type Delete struct{ IdleBefore time.Time }

// TakeOver begins a new claim over what another one left.
type TakeOver struct {
	Epoch         uint64
	From, Process string
}

// Revoke takes a session grant back.
type Revoke struct{ Tool, By string }

// Advance derives what the state alone asks for: what a bare outcome left undone.
type Advance struct{}

// Begin records the intent of an effect that Pending names. Fixed and Window are of a model call: the bytes of its
// request beside the conversation, and the model's window in tokens, 0 if unknown.
type Begin struct {
	Effect        Effect
	Epoch         uint64
	Fixed, Window int
}

// Compact records what the host has planned for a conversation that does not fit, or that is to be summarised:
// the intent of a summary, or at once that long entries are shortened. Full: nothing can be done. Note is the plan's
// [Transcript.Note], for what no model summarises; Fixed are the bytes of the request beside the conversation and the
// addendum.
type Compact struct {
	Run   string
	Epoch uint64
	Plan  Plan
	Full  *Full
	Note  string
	Fixed int
}

// Compacted is a summary.
type Compacted struct {
	Run     string
	Attempt int
	Epoch   uint64
	Summary string
	Usage   api.Usage
	Checks  []api.GuardVerdict
}

// CompactError is an attempt without a summary. Cancelled: the host ended it itself.
type CompactError struct {
	Run        string
	Attempt    int
	Epoch      uint64
	Code       api.Code
	Message    string
	Retryable  bool
	RetryAfter time.Duration
	Usage      api.Usage
	Cancelled  bool
	Checks     []api.GuardVerdict
}

// Reviewed is what a reviewer said, or why it said nothing: then Review.Verdict is unsure. Cancelled: the host ended
// the review itself, and it counts for nothing. Arguments of the call, for a person who is asked.
type Reviewed struct {
	CallID    string
	Attempt   int
	Epoch     uint64
	Review    api.Review
	Usage     api.Usage
	Cancelled bool
	Arguments string
}

// Checked is what the application's own check said about a call. Code is "" where it passes; otherwise Message is the
// call's result. Attempt is 0 for the check before the call is decided on; for the one before changed arguments
// start it is the attempt that is to start, Digest that of the arguments, and Epoch that of the claim.
type Checked struct {
	CallID    string
	Attempt   int
	Epoch     uint64
	Code      api.Code
	Message   string
	Digest    string
	Arguments string // for a person who is asked
}

// Returned says that a body has returned where hooks and guardrails see its output first. Output and Code stay in
// memory.
type Returned struct {
	CallID  string
	Attempt int
	Epoch   uint64
	Output  string
	Code    api.Code
}

// ModelDone is a whole answer. Items of kind call carry what the host found wrong with their arguments.
type ModelDone struct {
	Run           string
	Call, Attempt int
	Epoch         uint64
	Items         []Item
	Stop          string
	Usage         api.Usage
	// HardChecks: the application has a check of its own, which each valid call goes through.
	HardChecks bool
	Checks     []api.GuardVerdict
}

// ModelError is an attempt without an answer.
type ModelError struct {
	Run           string
	Call, Attempt int
	Epoch         uint64
	Code          api.Code
	Message       string
	Retryable     bool
	RetryAfter    time.Duration
	Usage         api.Usage
	// Window is what the provider said of the model's window with an overflow, in tokens; 0 for nothing.
	Window int
	// Cancelled: the host ended the attempt itself; the call counts.
	Cancelled bool
	Checks    []api.GuardVerdict
}

// ToolOutcome is what an attempt of a tool came to. Code is "" for a success.
type ToolOutcome struct {
	CallID  string
	Attempt int
	Epoch   uint64
	Output  string
	Code    api.Code
	Checks  []api.GuardVerdict
}

// Overdue closes a cancelled call whose body has not returned within its grace.
type Overdue struct {
	CallID  string
	Attempt int
	Epoch   uint64
}

// Interrupted reports a body that was told to stop, or did not come back, without saying what it did.
// NotStarted promises that it did nothing: it may start as a new attempt.
type Interrupted struct {
	CallID     string
	Attempt    int
	Epoch      uint64
	NotStarted bool
}

// Inspected is what an inspection found.
type Inspected struct {
	CallID  string
	Attempt int
	Answer  string // one of the Inspected… values
	Output  string
	Code    api.Code // where hooks or guardrails withheld the output of a success
	Checks  []api.GuardVerdict
	// Arguments of the call, for a person who is asked what became of it.
	Arguments string
}

// Answers of an inspection. InspectedNone: the tool has no inspection.
const (
	InspectedSucceeded  = "succeeded"
	InspectedFailed     = "failed"
	InspectedNotStarted = "not_started"
	InspectedRunning    = "running"
	InspectedUnknown    = "unknown"
	InspectedNone       = "none"
)

func (Create) command()       {}
func (Message) command()      {}
func (Answer) command()       {}
func (Cancel) command()       {}
func (Delete) command()       {}
func (TakeOver) command()     {}
func (Advance) command()      {}
func (Revoke) command()       {}
func (Compact) command()      {}
func (Compacted) command()    {}
func (CompactError) command() {}
func (Reviewed) command()     {}
func (Checked) command()      {}
func (Returned) command()     {}
func (Begin) command()        {}
func (ModelDone) command()    {}
func (ModelError) command()   {}
func (ToolOutcome) command()  {}
func (Overdue) command()      {}
func (Interrupted) command()  {}
func (Inspected) command()    {}

// Role says what an append needs that carries a command's events.
type Role int

const (
	// Input comes from any process and needs the head only.
	Input Role = iota
	// Derived is decided by the claim's owner: epoch and head.
	Derived
	// Outcome reports what an effect came to: where it [Commutes], its bare event needs the epoch only.
	Outcome
)

// RoleOf returns a command's role.
func RoleOf(c Command) Role {
	switch c.(type) {
	case ModelDone, ModelError, ToolOutcome, Returned, Reviewed, Compacted, CompactError:
		return Outcome
	case TakeOver, Advance, Begin, Compact, Overdue, Interrupted, Inspected, Checked:
		return Derived
	}
	return Input
}

// Commutes reports whether c is the outcome of an attempt that runs in s. Then the first event that Decide
// gives for it may be appended alone behind inputs of other processes that s does not know (messages,
// answers, cancels): both orders fold into the same state, numbers and times aside, and [Advance] derives
// the rest from there. Any other outcome (of an attempt that was taken over, or that comes late) needs
// epoch and head. Delete is no such input: it ends the epoch.
func Commutes(s *State, c Command) bool {
	if s.Turn == nil {
		return false
	}
	switch c := c.(type) {
	case ModelDone:
		return s.Turn.runs(c.Run, c.Call, c.Attempt, c.Epoch)
	case ModelError:
		return s.Turn.runs(c.Run, c.Call, c.Attempt, c.Epoch)
	case ToolOutcome:
		tc := s.Turn.tool(c.CallID)
		return tc != nil && (tc.Status == ToolRunning || tc.Status == ToolScreening) && tc.Attempt == c.Attempt && tc.Epoch == c.Epoch
	case Returned:
		tc := s.Turn.tool(c.CallID)
		return tc != nil && tc.Status == ToolRunning && tc.Attempt == c.Attempt && tc.Epoch == c.Epoch
	case Reviewed:
		return s.Turn.reviews(c.CallID, c.Attempt, c.Epoch)
	case Compacted:
		return s.Turn.compacts(c.Run, c.Attempt, c.Epoch)
	case CompactError:
		return s.Turn.compacts(c.Run, c.Attempt, c.Epoch)
	}
	return false
}
