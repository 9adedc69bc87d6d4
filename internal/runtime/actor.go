package runtime

import (
	"errors"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// Bounds of an actor.
const (
	maxQueuedInputs = 1024 // commands that wait in memory for one session
	maxBatch        = 64   // commands decided into one append
	snapshotEvery   = 128  // events between snapshots
	storeRetry      = 100 * time.Millisecond
	maxStoreRetry   = 2 * time.Second
	cannotRunRetry  = time.Second
	longWait        = 10 * time.Second // for a time: longer than this, and the session is not held meanwhile
)

// Actor is the machine of one session: it folds the journal, turns commands into appends and starts the
// effects that the state asks for. One actor a session and process; Step is not safe for concurrent use.
//
// At most one append of a session is in flight; what arrives meanwhile is decided together into the next.
// base is the state as of what is known to be durable, spec the same with the append in flight on top.
type Actor struct {
	session string
	env     ActorEnv

	loaded  bool
	loading bool
	gone    error // the session cannot be used: why

	holder     string // process that holds the session, as last seen
	holderGone bool   // and it is fenced or unregistered
	epoch      uint64
	claim      string // ours, "" while we do not hold the session

	base, spec *engine.State
	lastSnap   uint64
	queue      []*input
	flight     *flight
	wanted     bool // the session is due and nobody live holds it
	// Reads of the journal, numbered: an answer that stores nothing is given only after a read that began
	// behind its question, since another process may have changed the session.
	reflow                bool // the tail is being read
	readsBegun, readsDone uint64
	headMisses            int
	backoff               time.Duration
	retryAt               time.Time
	timer                 time.Time

	running    map[string]*running
	outputs    map[string]engine.Returned // by call: what bodies returned that hooks and guardrails are to see
	tickets    uint64                     // starts so far
	transcript transcriptCache

	out []Action
	now time.Time
}

// ActorEnv is what an actor may ask of its process. Its functions are called from Step.
type ActorEnv struct {
	// Process is the process's id, "" while it has none. Live reports whether the lease of a process of
	// that id may be used now: then it may claim, and begin what must not happen twice.
	Process func() string
	Live    func(process string) bool
	// Request tells of an agent's requests to a model. nil: nothing is known, and nothing is summarised before a provider
	// says that it must be.
	Request func(digest string, m api.ModelRef) RequestFacts
	// Can reports whether this process can run a session with the needs.
	Can func(needs []string) bool
	// NewID makes a random identifier; Jitter a number in [0,1).
	NewID  func() string
	Jitter func() float64
	// Parallel bounds the tool bodies of one session that run at once; Grace is what a cancelled one gets.
	Parallel int
	Grace    time.Duration
	// SnapshotEvery is the number of events between snapshots. Defaults to 128.
	SnapshotEvery uint64
}

// RequestFacts tell of requests: their bytes beside the conversation, the model's window in tokens, 0 if unknown,
// and the bytes of the agent's own guidance for summaries.
type RequestFacts struct{ Fixed, Window, Guidance int }

// input is a command on its way into the journal.
type input struct {
	cmd     engine.Command
	files   Files
	waiter  uint64   // 0: nobody waits
	reads   uint64   // the first read that began after the command came
	refused error    // what the newest decision said, told once it is known to stand
	late    bool     // an outcome that came after its call was closed: a new fact, from whoever knows it
	effect  *running // that it is the outcome of, nil for other commands
	alone   bool     // of the messages that the store may refuse, at most this one goes into an append
	first   uint64   // number of its first event in the append in flight
	events  int
}

// submission is the submission ID of a message, "" for one without and for other commands.
func (i *input) submission() string {
	m, _ := i.cmd.(engine.Message)
	return m.SubmissionID
}

// refer reports whether it is a message that refers to stored files.
func (i *input) refers() bool {
	m, ok := i.cmd.(engine.Message)
	return ok && m.Content != nil
}

// flight is the append that is under way.
type flight struct {
	req     store.Append
	inputs  []*input
	facts   []engine.Fact
	after   *engine.State // base with facts folded
	claims  bool
	again   bool // it waits to be written again: its fate is unknown
	unknown bool // the fate of a try of it was unknown
}

// running is an effect that this process has started.
type running struct {
	ticket    uint64
	effect    engine.Effect
	epoch     uint64
	cancelled bool
	graceEnds time.Time
	overdue   bool // its grace is over; it counts as ended
	done      bool // its outcome is here and waits to be stored: it must not start again
}

// NewActor returns the machine of a session; it loads by itself at the first Step.
func NewActor(session string, env ActorEnv) *Actor {
	if env.SnapshotEvery == 0 {
		env.SnapshotEvery = snapshotEvery
	}
	return &Actor{session: session, env: env, running: map[string]*running{}, outputs: map[string]engine.Returned{}}
}

// Step takes an input at a time and returns what is to be done.
func (a *Actor) Step(now time.Time, in Input) []Action {
	a.now, a.out = now, nil
	if !now.Before(a.retryAt) {
		a.retryAt = time.Time{}
	}
	switch in := in.(type) {
	case Submit:
		a.submit(in)
	case Loaded:
		a.onLoaded(in)
	case Tail:
		a.onTail(in)
	case Appended:
		a.onAppended(in)
	case Done:
		a.onDone(in)
	case TranscriptRead:
		a.onTranscript(in)
	case Moved:
		if a.loaded && in.Head > a.head() && a.flight == nil {
			a.readTail()
		}
	case Wake:
		a.wanted = true
		if a.loaded && a.flight == nil {
			a.readTail()
		}
	case LeaseLost:
		a.lose()
	case Late:
		if a.gone == nil {
			a.queue = append(a.queue, &input{cmd: in.Outcome, late: true})
		}
	case Withdraw:
		a.withdraw(in.Waiter)
	case Tick:
		a.overdue()
		if a.claim != "" && !a.env.Live(a.holder) {
			a.readTail() // who took the session over meanwhile may have been read without its row
		}
	}
	if a.gone == nil {
		if !a.loaded {
			a.load()
		} else {
			a.pump()
		}
	}
	a.schedule()
	return a.out
}

// Idle reports whether the actor can be dropped without losing anything but its cache.
func (a *Actor) Idle() bool {
	return a.claim == "" && a.flight == nil && len(a.queue) == 0 && len(a.running) == 0 && !a.loading && !a.reflow && !a.transcript.reading
}

// Bytes estimates the memory of the actor's cache.
func (a *Actor) Bytes() int { return 4096 + a.transcript.bytes() }

// State returns the durable state, or nil before it was loaded. The caller must not change it.
func (a *Actor) State() *engine.State { return a.base }

// Owns reports whether this process holds the session.
func (a *Actor) Owns() bool { return a.claim != "" }

func (a *Actor) head() uint64 {
	if a.base == nil {
		return 0
	}
	return a.base.Head
}

func (a *Actor) do(x Action) { a.out = append(a.out, x) }

func (a *Actor) reply(i *input, r Reply) {
	if i.waiter != 0 {
		r.Waiter = i.waiter
		a.do(r)
	}
}

func (a *Actor) submit(in Submit) {
	i := &input{cmd: in.Command, files: in.Files, waiter: in.Waiter, reads: a.readsBegun + 1}
	switch {
	case a.gone != nil:
		a.reply(i, Reply{Err: a.gone})
	case len(a.queue) >= maxQueuedInputs && engine.RoleOf(in.Command) == engine.Input:
		a.reply(i, Reply{Err: api.Errorf(api.CodeQueueFull, "%d inputs of session %s wait to be stored already; send again shortly", len(a.queue), a.session)})
	default:
		a.queue = append(a.queue, i)
	}
}

// withdraw takes a command back whose caller has gone, if it is not on its way to the store yet (RU6).
func (a *Actor) withdraw(waiter uint64) {
	for n, i := range a.queue {
		if i.waiter == waiter {
			a.queue = append(a.queue[:n:n], a.queue[n+1:]...)
			a.reply(i, Reply{Err: errWithdrawn})
			return
		}
	}
}

// errWithdrawn answers a command that was taken back before anything was stored.
var errWithdrawn = errors.New("runtime: withdrawn before it was stored")

// load reads the session.
func (a *Actor) load() {
	if a.loading || a.now.Before(a.retryAt) || len(a.queue) == 0 && !a.wanted {
		return
	}
	a.loading = true
	a.readsBegun++
	a.do(Load{Schema: engine.SnapshotSchema()})
}

func (a *Actor) onLoaded(in Loaded) {
	a.loading = false
	if in.Err != nil {
		a.loadFailed(in.Err)
		return
	}
	row := in.Loaded.Session
	state := &engine.State{Session: a.session}
	if snap := in.Loaded.Snapshot; snap != nil {
		restored, err := engine.Restore(snap.Data)
		if err != nil {
			a.park(err)
			return
		}
		state, a.lastSnap = restored, snap.Head
	}
	facts, err := decodeAll(in.Loaded.Records)
	if err == nil {
		state, err = engine.Fold(state, facts...)
	}
	if err != nil {
		a.park(err)
		return
	}
	a.loaded, a.backoff, a.retryAt = true, 0, time.Time{}
	a.base, a.spec = state, state
	a.epoch, a.holder, a.holderGone = row.Epoch, row.Holder, row.HolderGone
	a.readsDone = a.readsBegun
	if in.Loaded.Snapshot == nil {
		a.transcript.build(facts)
	}
}

func (a *Actor) loadFailed(err error) {
	var e error
	switch {
	case errors.Is(err, store.ErrNotFound):
		e = api.Errorf(api.CodeSessionNotFound, "there is no session %q in this store", a.session)
	case errors.Is(err, store.ErrDeleted):
		e = api.Errorf(api.CodeSessionDeleted, "session %s was deleted", a.session)
	default:
		// The store failed. Whoever waits is told; what must not be lost (outcomes) stays and is tried again.
		a.refuseInputs(err)
		a.backOff()
		return
	}
	a.end(e)
}

// park sets a session aside that cannot be folded.
func (a *Actor) park(err error) {
	a.do(Park{Reason: err.Error()})
	a.end(api.Errorf(api.CodeSessionParked, "session %s cannot be read by this build and is set aside: %w", a.session, err))
}

// end gives everybody the reason why the session cannot be used.
func (a *Actor) end(err error) {
	a.gone = err
	a.claim = ""
	if f := a.flight; f != nil {
		a.queue, a.flight = append(f.inputs, a.queue...), nil
	}
	for _, i := range a.queue {
		a.reply(i, Reply{Err: err})
	}
	a.queue = nil
	a.cancelAll()
}

// refuseInputs tells those who wait that the store failed; outcomes stay.
func (a *Actor) refuseInputs(err error) {
	keep := a.queue[:0]
	for _, i := range a.queue {
		if engine.RoleOf(i.cmd) == engine.Input {
			a.reply(i, Reply{Err: err})
			continue
		}
		keep = append(keep, i)
	}
	a.queue = keep
}

func (a *Actor) backOff() {
	a.backoff = min(max(a.backoff*2, storeRetry), maxStoreRetry)
	a.retryAt = a.now.Add(a.backoff)
}

// lose drops the claim: the process was fenced. Outcomes of effects of that claim can never be appended.
func (a *Actor) lose() {
	if a.claim == "" && (a.flight == nil || !a.flight.claims) {
		return
	}
	a.claim = ""
	a.cancelAll()
	clear(a.outputs)
	keep := a.queue[:0]
	for _, i := range a.queue {
		if engine.RoleOf(i.cmd) == engine.Input {
			keep = append(keep, i)
		}
	}
	a.queue = keep
	if a.flight == nil && a.loaded {
		a.spec = a.base
		a.readTail()
	}
}

// dropStale forgets what was decided or done under a claim that is gone. Decided under the next one it would name the
// epoch of before, and what it lets begin would never be started.
func (a *Actor) dropStale() {
	keep := a.queue[:0]
	for _, i := range a.queue {
		if engine.RoleOf(i.cmd) == engine.Input || i.late {
			keep = append(keep, i)
			continue
		}
		a.resolved(i)
	}
	a.queue = keep
}

// schedule sets the timer for the earliest thing that happens by itself.
func (a *Actor) schedule() {
	next := time.Time{}
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	at(a.retryAt)
	for _, r := range a.running {
		if !r.overdue && !r.done {
			at(r.graceEnds)
		}
	}
	if a.loaded && a.gone == nil && a.claim != "" && a.flight == nil {
		for _, e := range engine.Pending(a.base) {
			if !e.Started && e.NotBefore.After(a.now) {
				at(e.NotBefore)
			}
		}
		if engine.Underived(a.base) || !a.env.Can(engine.Needs(a.base)) || !a.env.Live(a.holder) {
			at(a.now.Add(cannotRunRetry))
		}
	}
	if !next.IsZero() && !next.After(a.now) {
		next = a.now.Add(time.Millisecond)
	}
	if !next.Equal(a.timer) {
		a.timer = next
		a.do(SetTimer{At: next})
	}
}
