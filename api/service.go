package api

import (
	"context"
	"time"
)

// Service is what every face offers and every client speaks (FA9). All methods may be called
// concurrently. Every error is an *Error. A method that ends with its context ended returns
// context.Cause(ctx) as the cause of an Error of code cancelled and has changed nothing that it has not
// acknowledged; a message once accepted goes on without its caller (RU6).
type Service interface {
	Capabilities(ctx context.Context) (Capabilities, error)

	// RegisterAgent stores a definition, or finds that it is stored already (AG3).
	RegisterAgent(ctx context.Context, owner string, def AgentDefinition) (AgentReference, error)
	Agents(ctx context.Context, q AgentQuery) (AgentPage, error)

	// CreateSession returns once the session is durable (SE1).
	CreateSession(ctx context.Context, agent AgentReference, opts SessionOptions) (SessionReference, error)
	// ResumeSession checks a reference; it creates nothing (SE2). agent is the name the caller expects.
	ResumeSession(ctx context.Context, ref SessionReference, agent string) error
	Sessions(ctx context.Context, q SessionQuery) (SessionPage, error)
	State(ctx context.Context, session string) (SessionState, error)
	// DeleteSession returns once the deletion is durable (SE6); deleting again changes nothing.
	DeleteSession(ctx context.Context, session string, opts DeleteOptions) error

	// Submit returns once the message is durable (RU1).
	Submit(ctx context.Context, sub Submission) (RunReference, error)
	// Run finds a run by its ID.
	Run(ctx context.Context, session, run string) (RunReference, error)
	// Cancel asks a run to end; "" names the current one. It returns once the request is durable (RU5).
	// Cancelling a run that has ended is a no-op.
	Cancel(ctx context.Context, session, run string) error
	// Resolve answers an interaction; it returns once the answer is durable (AP3).
	Resolve(ctx context.Context, session, interaction string, answer Answer) error
	// RevokeGrant takes a session grant back (AP4); it returns once that is durable. Calls that it approved and that have not
	// begun are asked about. Without such a grant nothing changes.
	RevokeGrant(ctx context.Context, session, tool, by string) error
	// Compact accepts a run that summarises older history and ends (CO1). Of the options submissionId, model, whenBusy,
	// compaction and guardrails may be given.
	Compact(ctx context.Context, session string, opts TurnOptions) (RunReference, error)
	// Interactions lists open interactions over all sessions of an owner (SE8).
	Interactions(ctx context.Context, q InteractionQuery) (InteractionPage, error)

	// BeginUpload announces a file, or finds it where it was announced before: then Missing says what is left to send
	// (AT5). The session's uploads that have expired are removed first.
	BeginUpload(ctx context.Context, session string, file UploadRequest) (Upload, error)
	// UploadChunk stores one chunk of a file; it returns once that is durable. The same again is a no-op.
	UploadChunk(ctx context.Context, session, upload string, chunk UploadChunk) error
	// CommitUpload looks at the whole file and seals it; from then on messages may refer to it by its ID. Again is a no-op.
	CommitUpload(ctx context.Context, session, upload string) (Upload, error)

	// Result waits until the run ends or waits for something, or until ctx ends (RU3).
	Result(ctx context.Context, session, run string) (Result, error)
	// Events is a page of journalled events (SE7).
	Events(ctx context.Context, q EventQuery) (EventPage, error)
	// Follow replays every event after q.After once, in order, and goes on live with no gap and no
	// duplicate at the seam; live deltas come in between. Reading never runs anything (RU3). A session that
	// is deleted meanwhile ends it with session_deleted.
	Follow(ctx context.Context, q FollowQuery) (EventStream, error)
	// History is the complete conversation, paged (CO2).
	History(ctx context.Context, q HistoryQuery) (HistoryPage, error)

	// Usage groups token counts by agent and day (SE8).
	Usage(ctx context.Context, q UsageQuery) ([]UsageRow, error)
}

// EventStream delivers events. Next blocks until there is one, the stream's end (io.EOF) or ctx's end.
// It is for one goroutine; Close may be called from any, any number of times.
type EventStream interface {
	Next(ctx context.Context) (Event, error)
	Close() error
}

// Capabilities tell a client what this host can do before it sends anything (FA9).
type Capabilities struct {
	Version string `json:"version"`
	Store   string `json:"store"` // the store's identity, as in references
	// Options lists the optional fields that this host accepts, by their JSON path, for example "session.initialHistory".
	Options   []string `json:"options"`
	Providers []string `json:"providers"`
	// Guardrails and Hooks are the names that are registered in this process.
	Guardrails []string `json:"guardrails,omitempty"`
	Hooks      []string `json:"hooks,omitempty"`
}

// AgentQuery pages through registered agents.
type AgentQuery struct {
	Owner  string `json:"owner,omitempty"`
	Cursor string `json:"cursor,omitempty"`
	Limit  int    `json:"limit,omitempty"` // default 100, at most 1,000
}

// AgentPage is a page of agents; Next is "" on the last one.
type AgentPage struct {
	Agents []AgentDefinition `json:"agents"`
	Next   string            `json:"next,omitempty"`
}

// SessionQuery pages through sessions, newest activity first.
type SessionQuery struct {
	Owner    string    `json:"owner,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Activity Activity  `json:"activity,omitempty"`
	Before   time.Time `json:"before,omitzero"` // last updated before; for retention
	Cursor   string    `json:"cursor,omitempty"`
	Limit    int       `json:"limit,omitempty"`
}

// SessionPage is a page of sessions.
type SessionPage struct {
	Sessions []SessionInfo `json:"sessions"`
	Next     string        `json:"next,omitempty"`
}

// InteractionQuery pages through open interactions.
type InteractionQuery struct {
	Owner  string `json:"owner,omitempty"`
	Cursor string `json:"cursor,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// InteractionPage is a page of open interactions; each carries its session in its ID's beginning.
type InteractionPage struct {
	Interactions []SessionInteraction `json:"interactions"`
	Next         string               `json:"next,omitempty"`
}

// SessionInteraction is an open interaction and the session that it belongs to.
type SessionInteraction struct {
	Session string `json:"session"`
	Interaction
}

// EventQuery pages through a session's journal.
type EventQuery struct {
	Session string `json:"session"`
	After   uint64 `json:"after,omitempty"` // events with greater numbers
	Limit   int    `json:"limit,omitempty"`
}

// EventPage is a page of events. More is true when there are later ones; go on after the last number.
type EventPage struct {
	Events []Event `json:"events"`
	More   bool    `json:"more,omitempty"`
}

// FollowQuery subscribes to a session, or to one run of it.
type FollowQuery struct {
	Session string `json:"session"`
	After   uint64 `json:"after,omitempty"`
	// Run: only this run's events, ending (io.EOF) after the run's terminal event or the one that leaves
	// it waiting. "" follows the session until closed.
	Run string `json:"run,omitempty"`
}

// HistoryQuery pages through a session's conversation.
type HistoryQuery struct {
	Session string `json:"session"`
	Cursor  string `json:"cursor,omitempty"`
	Limit   int    `json:"limit,omitempty"`
}

// HistoryPage is a page of history.
type HistoryPage struct {
	Items []HistoryItem `json:"items"`
	Next  string        `json:"next,omitempty"`
}

// UsageQuery selects usage rows; days are UTC.
type UsageQuery struct {
	Owner string    `json:"owner,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// UsageRow is one agent's usage on one day.
type UsageRow struct {
	Agent string `json:"agent"`
	Day   string `json:"day"` // 2006-01-02
	Turns int64  `json:"turns"`
	Usage
}
