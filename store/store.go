package store

import (
	"context"
	"time"
)

// Store keeps journals. All methods may be called concurrently. Reads see committed data only.
type Store interface {
	// ID is the store's identity: random, made with the store, kept for its life.
	ID() string
	// WriteFormat is the journal format that builds may write (see ADR on formats).
	WriteFormat() int

	Journal
	Files
	Processes
	Catalogue
	Lists

	// Watch reports that other connections or processes may have changed the store. The channel holds at
	// most one pending signal; a signal may be spurious, and a missed one is possible: polling is the truth.
	// It watches until ctx ends; the channel is never closed.
	Watch(ctx context.Context) (<-chan struct{}, error)
	// Heads returns the heads of the given sessions; unknown and deleted ones are absent.
	Heads(ctx context.Context, sessions []string) (map[string]uint64, error)

	Close() error
}

// Journal is the part of a store that sessions live in.
type Journal interface {
	// Append commits an append or nothing. Errors: [ErrHeadMoved], [ErrFenced], [ErrClaimed],
	// [ErrReceiptTaken], [ErrFileNotFound], [ErrFileQuota], [ErrNotFound], [ErrDeleted], [ErrExists], [ErrFateUnknown], or an *api.Error of a
	// store code, after which nothing was written. The context bounds the wait only: an append that was
	// handed over may commit after its context ended, and then the error is ErrFateUnknown.
	Append(ctx context.Context, a Append) (Appended, error)
	// Load reads a session, its newest snapshot of the given schema ("" for none) and the records behind
	// the snapshot, all from one moment. ErrNotFound, ErrDeleted.
	Load(ctx context.Context, session, schema string) (Loaded, error)
	// Session reads a session's row. ErrNotFound; a deleted session's row has Deleted set.
	Session(ctx context.Context, session string) (Session, error)
	// Records reads journal records in order of number.
	Records(ctx context.Context, q RecordQuery) ([]Record, error)
	// Terminal finds the record with Terminal set of a run. ErrNotFound.
	Terminal(ctx context.Context, session, run string) (Record, error)
	// Receipt finds what a submission ID was used for. ErrNotFound.
	Receipt(ctx context.Context, session, key string) (Receipt, error)
	// Park sets a session aside with a reason: it is not offered as work to this build again. "" unparks, and so does an
	// append that jumps over nothing, since whoever makes it has read the session. One build at a time: the last counts.
	Park(ctx context.Context, session, reason, build string) error
	// Clean removes at most limit rows of a deleted session, and reports whether anything is left. The last call leaves a
	// tombstone of the id. Cleaning again is a no-op; a session that was not deleted is refused. Files may go with the
	// deletion already; their bytes go as [Files.Discard] says.
	Clean(ctx context.Context, session string, limit int) (more bool, err error)
	// Deleted lists at most limit deleted sessions that Clean has not finished, so that a process which died
	// between the two leaves nothing behind.
	Deleted(ctx context.Context, limit int) ([]string, error)
}

// Record is one journal event as stored. The store does not look into Data.
type Record struct {
	Number  uint64
	Time    time.Time // millisecond precision
	Kind    string
	Version int
	Run     string // "" for a session's own events
	// Item is set where the event holds a part of the conversation.
	Item bool
	// Terminal is set on a run's terminal event.
	Terminal bool
	// Append is the ID of the append that wrote the record.
	Append string
	Data   []byte
}

// Append is one transaction on one session.
type Append struct {
	// ID is unique to the append. Writing the same append again is how an unknown fate is settled: if a
	// record behind Known carries ID, the append had committed, and Append answers as it did then with
	// Repeated set. This check comes before every other.
	ID      string
	Session string
	// Known is the head that the appender had folded. Unless AnyHead, the session's head must equal it.
	Known uint64
	// AnyHead appends behind whatever came since Known; Appended.Tail returns what was jumped over. For
	// outcomes only. When records were jumped over, the store sets the work row due at once (at Time)
	// instead of taking Index, and ignores Release and Snapshot, which were made without those records.
	AnyHead bool
	// Fence must match the session's epoch and claim, and its holder must not be fenced, unless nil.
	Fence *Fence
	// Claim takes the session for a process in this append, unless nil. Not together with Fence.
	Claim *Claim
	// Release gives the session up in this append: nobody holds it then.
	Release bool
	// Create makes the session; Known must be 0. ErrExists if the id, or the creation key, is taken.
	Create *Creation
	// Delete marks the session deleted, raises the epoch and ends its claim.
	Delete bool

	Time    time.Time // stamped on every record
	Records []Record  // Number, Time and Append are set by the store
	// Receipts are written with the records; a taken key fails the append with ErrReceiptTaken.
	Receipts []Receipt
	// Index is the work row after this append.
	Index Index
	// Opened and Closed are the interactions that this append opens and closes (by ID).
	Opened []Interaction
	Closed []string
	// Usage adds to the session's usage of a day.
	Usage []UsageDelta
	// Files are files that the records refer to. Accept names those that are stored: each must be accepted already, or
	// sealed and not expired at Time, else ErrFileNotFound. Discard names files that are removed unless an append has
	// accepted them, this one included. New ones are written, and before them those go that have expired at Time; they
	// must not be more than FileQuota has left once the discarded and the expired are gone, else ErrFileQuota. These
	// checks come behind all others.
	Accept    []string
	Discard   []string
	Files     []NewFile
	FileQuota FileQuota
	// Snapshot replaces the session's snapshot, unless nil.
	Snapshot *Snapshot
}

// Fence is the right of one claim to append: it is valid while nobody else has claimed the session.
type Fence struct {
	Epoch uint64
	Claim string // random
}

// Claim takes a session. It is granted if the session's epoch is Epoch and its holder is From; a From
// other than "" must be a process that is fenced or gone. The new epoch is Epoch+1. Otherwise ErrClaimed.
// Process must be registered and not fenced, else ErrFenced.
type Claim struct {
	Process string
	Claim   string // random, new for each claim
	Epoch   uint64
	From    string
}

// Creation is what a new session's row needs.
type Creation struct {
	Owner    string
	Agent    string // name
	Digest   string // of the definition
	Metadata map[string]string
	// Key, unless "", makes the creation repeatable within (Owner, Agent); Fingerprint is what a repeat is compared with.
	Key         string
	Fingerprint string
}

// Index is the work row: a pure function of the state behind the append.
type Index struct {
	// Due is when the session next needs a process; zero: never by itself.
	Due time.Time
	// Needs are the things that a process must have to run the session, sorted.
	Needs []string
	// Activity is "idle", "active" or "waiting", for lists.
	Activity string
}

// Receipt records that a submission ID was accepted.
type Receipt struct {
	Key      string
	Run      string
	Accepted uint64            // number of the turn_accepted record
	Fields   map[string]string // field → keyed digest
}

// Interaction is an open interaction, for lists over sessions.
type Interaction struct {
	ID   string
	Data []byte // the public form, JSON
}

// UsageDelta adds to a session's usage of a day (UTC, 2006-01-02).
type UsageDelta struct {
	Day                              string
	Turns                            int64
	Input, Cached, Output, Reasoning int64
	Estimated                        bool
}

// Snapshot is a droppable cache of the folded state.
type Snapshot struct {
	Schema string // hash of the state's shape; another schema's snapshot is ignored
	Head   uint64 // the last record folded in
	Data   []byte
}

// Appended is what an append did, or, with ErrHeadMoved, ErrFenced and ErrClaimed, what it met.
type Appended struct {
	// First and Head are the numbers of the append's first and last record; with an error First is 0 and Head
	// the session's head.
	First, Head uint64
	// Tail holds the records of others between Known and First (with an error: behind Known).
	Tail []Record
	// Epoch and Holder of the session now.
	Epoch  uint64
	Holder string
	// Repeated is set when this append had committed before.
	Repeated bool
}

// Session is a session's row.
type Session struct {
	ID         string
	Owner      string
	Agent      string
	Digest     string
	Metadata   map[string]string
	Head       uint64
	Epoch      uint64
	Claim      string
	Holder     string // process, "" when nobody holds it
	HolderGone bool   // the holder is fenced or no longer registered
	LeaseUntil time.Time
	Index      Index
	Created    time.Time
	Updated    time.Time
	Deleted    bool
	// Parked is why ParkedBuild has set the session aside, "" if none has. It says nothing for other builds.
	Parked, ParkedBuild string
}

// ParkedFor is why a build has set the session aside, "" if it has not.
func (s Session) ParkedFor(build string) string {
	if s.ParkedBuild != build {
		return ""
	}
	return s.Parked
}

// Loaded is a session as one read saw it.
type Loaded struct {
	Session  Session
	Snapshot *Snapshot
	Records  []Record
}

// RecordQuery selects records of a session.
type RecordQuery struct {
	Session string
	After   uint64 // numbers greater than this
	Until   uint64 // numbers up to this; 0: no bound
	Items   bool   // only records with Item set
	Limit   int    // 0: no bound
}

// Processes is the part of a store that leases live in. A process has one lease; its sessions name it.
type Processes interface {
	// Register adds a process. ErrExists if the id is taken.
	Register(ctx context.Context, p Process) error
	// Renew extends a lease. ErrFenced if the process was fenced or is not registered: it must then drop
	// everything and register anew under another id.
	Renew(ctx context.Context, id string, until time.Time) error
	// Unregister removes a process that holds nothing; one that still holds sessions is fenced instead.
	Unregister(ctx context.Context, id string) error
	// Fence fences each other process that is proven dead, or whose lease ended more than margin before
	// now, and returns those that it fenced. A fenced process never gets its lease back, so whoever comes
	// after may take over its sessions.
	Fence(ctx context.Context, self string, now time.Time, margin time.Duration) ([]string, error)
	// Work lists sessions that are due, that nobody live holds, that are not parked for this build and
	// whose needs are all in Can; the longest due first, the older session first where equal. Its cost grows with the sessions that have work, not with all that exist.
	Work(ctx context.Context, q WorkQuery) (WorkPage, error)
}

// Process is one registered process.
type Process struct {
	ID         string
	LeaseUntil time.Time
	Host       string // for people
	PID        int
	Address    string // internal address for live deltas, "" for none
}

// WorkQuery asks for work.
type WorkQuery struct {
	Now   time.Time
	Build string
	Can   func(need string) bool
	Limit int
}

// WorkPage lists claimable sessions and says when the next one that this query would list falls due: always
// later than Now, zero for none.
type WorkPage struct {
	Work []Work
	Next time.Time
}

// Work is one claimable session.
type Work struct {
	Session string
	Holder  string // "" or a fenced process
	Due     time.Time
}

// Catalogue is the part of a store that agent definitions live in.
type Catalogue interface {
	// PutAgent stores a definition unless one stands under (Owner, Name); it returns the one that stands
	// there, and whether it was made now.
	PutAgent(ctx context.Context, a Agent) (Agent, bool, error)
	// Agent finds a definition by name. ErrNotFound.
	Agent(ctx context.Context, owner, name string) (Agent, error)
	// AgentByDigest finds a definition by digest. ErrNotFound.
	AgentByDigest(ctx context.Context, digest string) (Agent, error)
}

// Agent is a stored definition.
type Agent struct {
	Owner      string
	Name       string
	Digest     string
	Definition []byte
	Created    time.Time
}

// Lists is the part of a store that people look at. A page is full or the last, and the last has the
// cursor ""; cursors are opaque, and one that a store did not make is refused as invalid_request. A limit
// of 0 is no bound. The owner "" stands for all owners, but for Agents, where it is an owner like any other.
type Lists interface {
	Agents(ctx context.Context, owner, cursor string, limit int) ([]Agent, string, error)
	// Sessions lists sessions, newest activity first; deleted ones are left out.
	Sessions(ctx context.Context, q SessionQuery) ([]Session, string, error)
	// Interactions lists open interactions, oldest first.
	Interactions(ctx context.Context, owner, cursor string, limit int) ([]SessionInteraction, string, error)
	// Usage sums usage by agent and day, in order of day and agent. It outlives the sessions that it came from.
	Usage(ctx context.Context, owner string, since time.Time) ([]Usage, error)
	// CreationKey finds the session that a creation key made. ErrNotFound.
	CreationKey(ctx context.Context, owner, agent, key string) (session, fingerprint string, err error)
}

// SessionQuery selects sessions.
type SessionQuery struct {
	Owner    string // "" for all
	Agent    string
	Activity string    // of Index, "" for all
	Before   time.Time // last updated before
	Cursor   string
	Limit    int
}

// SessionInteraction is an open interaction with its session.
type SessionInteraction struct {
	Session string
	Interaction
}

// Usage is one row of a usage report.
type Usage struct {
	Agent string
	UsageDelta
}
