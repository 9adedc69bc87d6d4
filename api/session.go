package api

import (
	"encoding/json"
	"strings"
	"time"
)

// SessionReference is a small value without secrets that a program keeps to find its session again
// (SE2). It survives JSON; it is no permission.
type SessionReference struct {
	Store   string `json:"store"`
	Session string `json:"session"`
	Agent   string `json:"agent"`
}

// SessionOptions are the options of a new session (SE1). The zero value is a session with a private
// scratch directory and the agent's own settings.
type SessionOptions struct {
	// Workspace is the working directory that tools are told. Empty: a private scratch directory.
	Workspace string `json:"workspace,omitempty"`
	// Scratch: absent decides by Workspace; true together with Workspace, and false without one, are refused (SE5).
	Scratch             *bool              `json:"scratch,omitempty"`
	Model               *ModelRef          `json:"model,omitempty"`
	AutoApproverContext *string            `json:"autoApproverContext,omitempty"`
	Compaction          *CompactionOptions `json:"compaction,omitempty"`
	AutoSkipQuestions   *bool              `json:"autoSkipQuestions,omitempty"`
	// InitialHistory is a conversation that the session begins with (IM1). It is data: nothing of it is executed, no
	// permission comes with it, and it is stored with the session or not at all. Without items the session begins empty.
	InitialHistory []HistoryImport   `json:"initialHistory,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	Owner          string            `json:"owner,omitempty"`
	// IdempotencyKey makes the creation itself repeatable: the same key and options give the same session.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
}

// Activity is what a session is doing (SE3).
type Activity string

const (
	Idle       Activity = "idle"       // no turn is under way
	Running    Activity = "running"    // a live process works on it; never without a live lease
	Waiting    Activity = "waiting"    // for a person, a credential, a registration or a time
	Recovering Activity = "recovering" // its process is gone or silent and none has taken it over yet
)

// SessionState is a session as its journal and lease say at one moment, the same in every process (SE3).
type SessionState struct {
	Session  string   `json:"session"`
	Agent    string   `json:"agent"`
	Activity Activity `json:"activity"`
	// Run is the current turn's run, "" when idle.
	Run string `json:"run,omitempty"`
	// Holder and LeaseUntil name the process that works on the session, while Activity is running or recovering.
	Holder     string    `json:"holder,omitempty"`
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	// WaitingFor names what keeps a waiting session: an open interaction, or what this process lacks.
	WaitingFor []WaitReason `json:"waitingFor,omitempty"`
	// Interactions are the open ones, oldest first.
	Interactions []Interaction `json:"interactions,omitempty"`
	// UnknownActions are side effects that had started when their process ended and whose outcome is not settled.
	UnknownActions []UnknownAction `json:"unknownActions,omitempty"`
	Timers         []Timer         `json:"timers,omitempty"`
	// Queue holds the runs that wait for the current one, in order.
	Queue     []string          `json:"queue,omitempty"`
	Grants    []Grant           `json:"grants,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	Model     ModelRef          `json:"model"`
	Usage     Usage             `json:"usage"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Owner     string            `json:"owner,omitempty"`
	Created   time.Time         `json:"created"`
	// LastEvent is the number of the newest event; Events with After set to it gives what comes later.
	LastEvent uint64 `json:"lastEvent"`
}

// WaitReason says what a waiting session waits for: an interaction's ID or a time with code "", or a code such as
// credentials_missing with the name of what is missing. Print it as a whole: String has a word for each.
type WaitReason struct {
	Code Code   `json:"code,omitempty"`
	Name string `json:"name,omitempty"`
	// Message says what is missing and what to do, with a code.
	Message     string    `json:"message,omitempty"`
	Interaction string    `json:"interaction,omitempty"`
	Until       time.Time `json:"until,omitzero"`
}

// String says it for a person: "an answer to ID", "the time TIME", or the code and the name.
func (r WaitReason) String() string {
	switch {
	case r.Interaction != "":
		return "an answer to " + r.Interaction
	case r.Code == "" && !r.Until.IsZero():
		return "the time " + r.Until.UTC().Format(time.RFC3339)
	}
	return strings.TrimSpace(string(r.Code) + " " + r.Name)
}

// UnknownAction is a started action without a known outcome (RE3).
type UnknownAction struct {
	CallID  string `json:"callId"`
	Tool    string `json:"tool"`
	Attempt int    `json:"attempt"`
	// Interaction is the open question about it: "" while it is being inspected, and for a call that was
	// closed as unknown, by its turn's cancellation or by OutcomeTellModel. Such a one is listed until its
	// outcome arrives after all (tool_outcome_late) or 16 newer ones have taken its place.
	Interaction string `json:"interaction,omitempty"`
}

// Timer is something that will happen by itself at a time: a retry, an inspection.
type Timer struct {
	Kind string    `json:"kind"`
	Run  string    `json:"run,omitempty"`
	At   time.Time `json:"at"`
}

// Grant is a permission for one tool in one session (AP4).
type Grant struct {
	Tool  string    `json:"tool"`
	Given time.Time `json:"given"`
	By    string    `json:"by,omitempty"`
}

// InteractionKind says what a person is asked.
type InteractionKind string

const (
	InteractionApproval       InteractionKind = "approval"
	InteractionQuestion       InteractionKind = "question"
	InteractionUnknownOutcome InteractionKind = "unknown_outcome"
)

// Interaction is a durable question to a person.
type Interaction struct {
	ID   string          `json:"id"`
	Kind InteractionKind `json:"kind"`
	Run  string          `json:"run"`
	// Call is the action in question; its parts may be withheld.
	Call *InteractionCall `json:"call,omitempty"`
	// Question is what the model asks, with InteractionQuestion.
	Question *Question `json:"question,omitempty"`
	// Review is what a reviewer found before a person was asked (AP5).
	Review *Review `json:"review,omitempty"`
	// Origin says where the action comes from: the session's own agent, or a child.
	Origin string    `json:"origin,omitempty"`
	Asked  time.Time `json:"asked"`
}

// InteractionCall is the tool call that an interaction is about.
type InteractionCall struct {
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"` // JSON text
	Attempt   int    `json:"attempt,omitempty"`
}

// Question is what the model asks a person (AP9). A person may answer with text of their own also where there
// are choices.
type Question struct {
	Text    string   `json:"text"`
	Choices []Choice `json:"choices,omitempty"`
	// Multiple: several answers may be given.
	Multiple bool `json:"multiple,omitempty"`
}

// Choice is one of a question's proposed answers: Label is the answer, Description says more.
type Choice struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// ReviewVerdict is what a reviewer model says about an action.
type ReviewVerdict string

const (
	ReviewAllow  ReviewVerdict = "allow"
	ReviewDeny   ReviewVerdict = "deny"
	ReviewUnsure ReviewVerdict = "unsure" // a person is asked
)

// Review is a reviewer's verdict on an action (AP5). Where there is none, since the reviewer could not be asked
// or did not answer as it must, Verdict is unsure and Code says why: that is no refusal (AP6).
type Review struct {
	Verdict ReviewVerdict `json:"verdict"`
	// Reason is the reviewer's, at most 500 bytes of plain text. A model never sees it.
	Reason string `json:"reason,omitempty"`
	Code   Code   `json:"code,omitempty"`
}

// Decision is an answer's verdict.
type Decision string

const (
	AllowOnce    Decision = "allow"         // approval: this call, with Arguments instead of its own where they are given
	AllowSession Decision = "allow_session" // approval: this tool, for the session
	Deny         Decision = "deny"          // approval: not this call

	OutcomeSucceeded Decision = "succeeded" // unknown outcome: it took effect; Output is its result
	OutcomeFailed    Decision = "failed"    // unknown outcome: it did not, and will not; Reason says why
	OutcomeRetry     Decision = "retry"     // unknown outcome: run it again under the same call ID

	Answered Decision = "answered" // question: Answers says what
	Skipped  Decision = "skipped"  // question: nobody answers it

	// InteractionCancelled is how an interaction is resolved whose turn ended; nobody answers with it.
	InteractionCancelled Decision = "cancelled"
)

// Answer resolves an interaction. The same answer again is a no-op; a different one is already_resolved (AP3).
type Answer struct {
	Decision Decision `json:"decision"`
	// Reason of a denial or failure; passed on to the model, as quoted. At most 32,000 bytes.
	Reason string `json:"reason,omitempty"`
	// Output with OutcomeSucceeded: what the action returned. At most 256,000 bytes.
	Output string `json:"output,omitempty"`
	// Arguments with AllowOnce: a JSON object that the action runs with instead of its own. It must match the tool's
	// schema, and the hard checks are made again with it right before the action starts. At most 256,000 bytes.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Answers with Answered: one, or several where the question allows it. At most 32,000 bytes in all.
	Answers []string `json:"answers,omitempty"`
	// By names who answered, for the journal.
	By string `json:"by,omitempty"`
}

// DeleteOptions say when a session is not to be deleted. The zero value deletes whatever the session does.
type DeleteOptions struct {
	// IdleBefore, unless zero, keeps a session, with session_busy, that a turn is under way in or that was
	// written to at that time or later.
	IdleBefore time.Time `json:"idleBefore,omitzero"`
}

// SessionInfo is one row of a list of sessions.
type SessionInfo struct {
	Reference SessionReference  `json:"reference"`
	Activity  Activity          `json:"activity"`
	Owner     string            `json:"owner,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Created   time.Time         `json:"created"`
	Updated   time.Time         `json:"updated"`
	LastEvent uint64            `json:"lastEvent"`
	Parked    string            `json:"parked,omitempty"` // why the session is set aside
}
