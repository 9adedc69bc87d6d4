package engine

import (
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
)

// State is a session's control state: a pure function of its journal.
type State struct {
	Session string    `json:"session"`
	Head    uint64    `json:"head"` // number of the last event folded
	Time    time.Time `json:"time"` // of that event
	Created time.Time `json:"created"`
	Deleted bool      `json:"deleted,omitempty"`

	Secret              []byte            `json:"secret,omitempty"`
	Owner               string            `json:"owner,omitempty"`
	Workspace           string            `json:"workspace,omitempty"`
	Metadata            map[string]string `json:"metadata,omitempty"`
	Agent               Agent             `json:"agent"`
	Model               api.ModelRef      `json:"model,omitzero"`
	AutoApproverContext *string           `json:"reviewer,omitempty"`
	Compaction          *string           `json:"compaction,omitempty"`
	SkipQuestions       *bool             `json:"skip_questions,omitempty"`

	Context Context `json:"context"`           // how large the model's context is
	Notices int     `json:"notices,omitempty"` // bytes that come into it with the next turn

	Turn  *Turn    `json:"turn,omitempty"`  // the current one
	Queue []Queued `json:"queue,omitempty"` // those that wait, in order

	Interactions []Interaction   `json:"interactions,omitempty"` // open, oldest first
	Resolved     []Resolved      `json:"resolved,omitempty"`     // the newest ones
	Grants       []api.Grant     `json:"grants,omitempty"`
	Unsettled    []UnsettledCall `json:"unsettled,omitempty"` // closed as "outcome unknown"; the newest ones
	Usage        api.Usage       `json:"usage"`
}

// Bounds of what a state remembers beyond the current turn.
const (
	maxResolved  = 32
	maxUnsettled = 16
)

// Turn is the current turn.
type Turn struct {
	Run      string       `json:"run"`
	Accepted uint64       `json:"accepted"`
	Rules    int          `json:"rules"`
	Model    api.ModelRef `json:"model"`
	Limits   Limits       `json:"limits"`

	Bytes      int      `json:"bytes,omitempty"`      // of its message in the context
	Compact    bool     `json:"compact,omitempty"`    // it has no message: it summarises and ends
	Guardrails []string `json:"guardrails,omitempty"` // its own
	Addendum   int      `json:"addendum,omitempty"`   // bytes of its instruction addendum

	Cancel       bool      `json:"cancel,omitempty"`
	Calls        int       `json:"calls,omitempty"`    // calls made: answered or lost
	Output       int       `json:"output,omitempty"`   // output tokens charged
	Usage        api.Usage `json:"usage"`              // of the turn, with Auxiliary
	Auxiliary    api.Usage `json:"auxiliary,omitzero"` // of reviews and compactions
	Answer       uint64    `json:"answer,omitempty"`   // event of the last text
	AutoApproved int       `json:"approved,omitempty"` // calls approved by policy
	TakeOvers    int       `json:"takeovers,omitempty"`

	Call       Call       `json:"call"`
	Compaction Compaction `json:"compaction,omitzero"`
	Tools      []ToolCall `json:"tools,omitempty"` // of the last answer, in call order
	Last       uint64     `json:"last,omitempty"`  // event of the last answer
	Stop       string     `json:"stop,omitempty"`  // of the last answer, until the next call begins
}

// Call is the model call under way or due.
type Call struct {
	Attempt  int       `json:"attempt,omitempty"` // attempts begun for this call
	Epoch    uint64    `json:"epoch,omitempty"`   // of the running attempt
	Running  bool      `json:"running,omitempty"`
	Max      int       `json:"max,omitempty"` // output bound of the running attempt
	Closing  bool      `json:"closing,omitempty"`
	Failures int       `json:"failures,omitempty"` // provider failures of this call
	Failure  *Failure  `json:"failure,omitempty"`  // the last one, where no further attempt is made
	RetryAt  time.Time `json:"retry_at,omitzero"`
	// Overflowed: an attempt of this call did not fit, and older history was, or is to be, summarised for it.
	Overflowed bool `json:"overflowed,omitempty"`
}

// Compaction is the summary under way or due.
type Compaction struct {
	Due      bool      `json:"due,omitempty"`     // before the next model call
	Bare     bool      `json:"bare,omitempty"`    // older messages are to lose their files
	Attempt  int       `json:"attempt,omitempty"` // attempts begun in this turn
	Epoch    uint64    `json:"epoch,omitempty"`   // of the running attempt
	Running  bool      `json:"running,omitempty"`
	Plan     Plan      `json:"plan,omitzero"` // of the newest attempt
	Failures int       `json:"failures,omitempty"`
	Shrink   int       `json:"shrink,omitempty"` // times that what was to be summarised did not fit either
	Learnt   int       `json:"learnt,omitempty"` // such times of the turn's earlier summaries
	RetryAt  time.Time `json:"retry_at,omitzero"`
	Done     int       `json:"done,omitempty"`     // in this turn, of those that need not be followed by another
	GivenUp  bool      `json:"given_up,omitempty"` // there is no summary: the next plan takes effect without one
	Hopeless bool      `json:"hopeless,omitempty"` // that has been so in this turn
}

// Shrinks is how often what a summary is shown is halved: a series keeps to what it has learnt.
func (c *Compaction) Shrinks() int { return c.Shrink + c.Learnt }

// finished is what remains of a compaction behind its end.
func (c *Compaction) finished(more bool) Compaction {
	after := Compaction{Attempt: c.Attempt, Done: c.Done, Learnt: c.Shrinks(), Hopeless: c.Hopeless || c.GivenUp}
	if !more {
		after.Done++
	}
	return after
}

// Failure is why a run is to end as failed.
type Failure struct {
	Code      api.Code `json:"code"`
	Message   string   `json:"message"`
	Retryable bool     `json:"retryable,omitempty"`
}

// ToolStatus is where a tool call stands.
type ToolStatus string

const (
	ToolChecking  ToolStatus = "checking"  // the application's own check is to be asked
	ToolReviewing ToolStatus = "reviewing" // the reviewer is to be asked, or is
	ToolReviewed  ToolStatus = "reviewed"  // it has spoken, and its interaction is not opened yet
	ToolAsked     ToolStatus = "asked"     // an approval or a question is open
	ToolReady     ToolStatus = "ready"     // may start
	ToolRunning   ToolStatus = "running"   // started, no outcome
	ToolScreening ToolStatus = "screening" // its body has returned; hooks and guardrails have the output
	ToolUnknown   ToolStatus = "unknown"   // started by a claim that is gone: to be inspected
	ToolAsking    ToolStatus = "asking"    // a person is asked what became of it
	ToolDone      ToolStatus = "done"
)

// ToolCall is one call of the last answer.
type ToolCall struct {
	ID          string     `json:"id"`
	Index       int        `json:"index"` // of the item in the answer
	Name        string     `json:"name"`  // catalogue name, "" if refused as unknown
	Effect      api.Effect `json:"effect,omitempty"`
	Status      ToolStatus `json:"status"`
	Attempt     int        `json:"attempt,omitempty"` // of the newest start
	Epoch       uint64     `json:"epoch,omitempty"`
	Inspections int        `json:"inspections,omitempty"`
	Next        time.Time  `json:"next,omitzero"` // when to inspect again
	// Doubt: an attempt was lost that may have acted, and no inspection has said that it did not.
	Doubt bool `json:"doubt,omitempty"`
	// Approved says who let it pass without a person; Changed that a person has changed its arguments.
	Approved string `json:"approved,omitempty"`
	Changed  bool   `json:"changed,omitempty"`
	Failed   bool   `json:"failed,omitempty"` // with ToolScreening
	// Multiple: it is a question that takes several answers.
	Multiple bool       `json:"multiple,omitempty"`
	Review   ToolReview `json:"review,omitzero"`
}

// ToolReview is where the review of a call stands.
type ToolReview struct {
	Attempt int         `json:"attempt,omitempty"`
	Epoch   uint64      `json:"epoch,omitempty"`
	Running bool        `json:"running,omitempty"`
	Verdict *api.Review `json:"verdict,omitempty"`
}

// Queued is a turn that waits.
type Queued struct {
	Run      string       `json:"run"`
	Accepted uint64       `json:"accepted"`
	Rules    int          `json:"rules"`
	Model    api.ModelRef `json:"model"`
	Limits   Limits       `json:"limits"`

	Compact    bool     `json:"compact,omitempty"`
	Guardrails []string `json:"guardrails,omitempty"`
	Addendum   int      `json:"addendum,omitempty"`
	Bytes      int      `json:"bytes,omitempty"` // of its message in the context

	Files    []HeldFile `json:"files,omitempty"` // of its message
	Inspects string     `json:"inspects,omitempty"`
	Refuses  []string   `json:"refuses,omitempty"`
}

// Interaction is an open one. Its body stands in the event of its number.
type Interaction struct {
	ID     string              `json:"id"`
	Number uint64              `json:"number"`
	Kind   api.InteractionKind `json:"kind"`
	CallID string              `json:"call_id"`
	// Multiple: the question takes several answers.
	Multiple bool `json:"multiple,omitempty"`
}

// Resolved remembers an answer, to tell a repeat from a conflict.
type Resolved struct {
	ID     string `json:"id"`
	Answer string `json:"answer"` // see answerKey
}

// UnsettledCall is a call that was closed without knowing its outcome.
type UnsettledCall struct {
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
	Run     string `json:"run"`
	Attempt int    `json:"attempt"`
	Epoch   uint64 `json:"epoch"`
}

// Clone returns a state that shares nothing that Apply changes.
func (s *State) Clone() *State {
	c := *s
	if s.Turn != nil {
		t := *s.Turn
		t.Tools = slices.Clone(t.Tools)
		c.Turn = &t
	}
	c.Queue = slices.Clone(s.Queue)
	c.Interactions = slices.Clone(s.Interactions)
	c.Resolved = slices.Clone(s.Resolved)
	c.Grants = slices.Clone(s.Grants)
	c.Unsettled = slices.Clone(s.Unsettled)
	return &c
}

func (t *Turn) tool(id string) *ToolCall {
	for i := range t.Tools {
		if t.Tools[i].ID == id {
			return &t.Tools[i]
		}
	}
	return nil
}

// runs reports whether an attempt of a model call is the one that runs; any other is stale.
func (t *Turn) runs(run string, call, attempt int, epoch uint64) bool {
	return t.Run == run && t.Call.Running && t.Calls+1 == call && t.Call.Attempt == attempt && t.Call.Epoch == epoch
}

// reviews and compacts are runs for the other two kinds of calls to a model.
func (t *Turn) reviews(callID string, attempt int, epoch uint64) bool {
	c := t.tool(callID)
	return c != nil && c.Status == ToolReviewing && c.Review.Running && c.Review.Attempt == attempt && c.Review.Epoch == epoch
}

func (t *Turn) compacts(run string, attempt int, epoch uint64) bool {
	c := &t.Compaction
	return t.Run == run && c.Running && c.Attempt == attempt && c.Epoch == epoch
}

// open reports whether a tool call of the last answer has no result yet.
func (t *Turn) open() bool {
	for i := range t.Tools {
		if t.Tools[i].Status != ToolDone {
			return true
		}
	}
	return false
}

// inFlight reports whether an effect has started and has no outcome.
func (t *Turn) inFlight() bool {
	return t.Call.Running || t.Compaction.Running || slices.ContainsFunc(t.Tools, ToolCall.inFlight)
}

// inFlight reports whether something is done about the call whose outcome is waited for, also once the turn is
// cancelled.
func (c ToolCall) inFlight() bool {
	return c.Status == ToolRunning || c.Status == ToolScreening || c.Status == ToolReviewing && c.Review.Running
}

func (s *State) interaction(id string) *Interaction {
	for i := range s.Interactions {
		if s.Interactions[i].ID == id {
			return &s.Interactions[i]
		}
	}
	return nil
}

// asked reports whether an interaction about a call is open.
func (s *State) asked(callID string) bool {
	return slices.ContainsFunc(s.Interactions, func(i Interaction) bool { return i.CallID == callID })
}

func (s *State) granted(tool string) bool {
	return slices.ContainsFunc(s.Grants, func(g api.Grant) bool { return g.Tool == tool })
}

// skipsQuestions reports whether questions are answered as skipped: the session's word, then the agent's.
func (s *State) skipsQuestions() bool {
	if s.SkipQuestions != nil {
		return *s.SkipQuestions
	}
	return s.Agent.SkipQuestions
}

func (a *Agent) byName(name string) *Tool {
	for i := range a.Tools {
		if a.Tools[i].Name == name {
			return &a.Tools[i]
		}
	}
	return nil
}

func (a *Agent) byModelName(name string) *Tool {
	for i := range a.Tools {
		if a.Tools[i].ModelName == name {
			return &a.Tools[i]
		}
	}
	return nil
}
