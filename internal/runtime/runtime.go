package runtime

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// Config configures a Runtime. Zero values take the defaults given.
type Config struct {
	Store    store.Store
	Registry *Registry
	Clock    Clock        // SystemClock
	Logger   *slog.Logger // discards
	// Lease is how long a process may be silent before another takes its sessions over, give or take a
	// quarter. Defaults to 8 s; at least 200 ms.
	Lease       time.Duration
	Poll        time.Duration // between looks for work, defaults to 1 s
	ToolTimeout time.Duration // api.DefaultToolTimeout
	CancelGrace time.Duration // api.DefaultCancelGrace
	Parallel    int           // tool bodies of one session at once, api.DefaultToolParallel
	Build       string        // for parked sessions: tried again by another build
	Host        string        // for people
	PID         int
	// Failpoint, unless nil, is called at named points of every append and effect, for tests that end the
	// process there. CheckRequest, unless nil, sees every request before it is sent.
	Failpoint    func(point string)
	CheckRequest func(model.Request)
}

// Runtime runs sessions in this process.
type Runtime struct {
	cfg Config
	log *slog.Logger
	hub *Hub

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // loops and calls into the store

	leaseMu sync.Mutex
	leaser  *Leaser
	leased  chan struct{} // closed at the first registration's answer
	leaseIn chan LeaseInput

	claimIn chan ClaimInput
	watchIn chan struct{}

	mu      sync.Mutex
	cells   map[string]*cell
	used    uint64
	rests   uint64 // times that a session came to rest
	waiters map[uint64]chan Reply
	waiter  uint64
	quiet   bool          // nothing is begun any more
	closing bool          // and nothing is submitted
	closed  chan struct{} // closed when closing is over; nil before it begins
	effects sync.WaitGroup
}

// New starts a runtime: it registers the process, takes over what dead ones left, and goes on with it.
func New(ctx context.Context, cfg Config) (*Runtime, error) {
	if cfg.Clock == nil {
		cfg.Clock = SystemClock{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Lease == 0 {
		cfg.Lease = 8 * time.Second
	}
	cfg.Lease = max(cfg.Lease, 200*time.Millisecond)
	if cfg.Poll == 0 {
		cfg.Poll = time.Second
	}
	if cfg.ToolTimeout <= 0 {
		cfg.ToolTimeout = api.DefaultToolTimeout
	}
	if cfg.CancelGrace <= 0 {
		cfg.CancelGrace = api.DefaultCancelGrace
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = api.DefaultToolParallel
	}
	r := &Runtime{
		cfg: cfg, log: cfg.Logger, hub: NewHub(), cells: map[string]*cell{}, waiters: map[uint64]chan Reply{},
		leaser:  NewLeaser(store.Process{Host: cfg.Host, PID: cfg.PID}, cfg.Lease, newID),
		leased:  make(chan struct{}),
		leaseIn: make(chan LeaseInput, 16), claimIn: make(chan ClaimInput, 16), watchIn: make(chan struct{}, 1),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	cfg.Registry.OnCredential(func(provider string, err error) {
		if err != nil {
			r.log.Warn("sessions wait for a credential", "provider", provider, "error", err)
			return
		}
		r.Kick()
	})
	r.wg.Go(r.leaseLoop)
	select {
	case <-r.leased:
	case <-ctx.Done():
		r.cancel()
		r.wg.Wait()
		return nil, api.Errorf(api.CodeCancelled, "the start was cancelled: %w", context.Cause(ctx))
	}
	r.leaseMu.Lock()
	registered := r.leaser.Process() != ""
	r.leaseMu.Unlock()
	if !registered {
		// The store cannot be written now. Reading works; the lease loop goes on trying.
		r.log.Warn("the process could not be registered; it reads, and runs nothing until it is")
	}
	r.wg.Go(r.claimLoop)
	r.wg.Go(r.watchLoop)
	return r, nil
}

// Subscribe watches a session from now on, whichever process writes to it.
func (r *Runtime) Subscribe(session string) *Subscription {
	s := r.hub.Subscribe(session)
	r.watch()
	return s
}

// Works reports whether this process is at work on a run: it holds the session, and what comes next of the
// run will be published here.
func (r *Runtime) Works(session, run string) bool {
	c := r.existing(session)
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || !c.actor.Owns() {
		return false
	}
	st := c.actor.State()
	return st.Turn != nil && st.Turn.Run == run && !engine.Waiting(st)
}

// Kick looks for work now: what this process can run may have grown.
func (r *Runtime) Kick() {
	select {
	case r.claimIn <- ClaimKick{}:
	default:
	}
	for _, c := range r.owned() {
		r.deliver(c, Tick{})
	}
}

// Submit brings a command to a session and waits until it is durable, or refused. When ctx ends first the
// command is taken back if that is still possible.
func (r *Runtime) Submit(ctx context.Context, session string, cmd engine.Command) (Reply, error) {
	return r.SubmitWith(ctx, session, cmd, Files{})
}

// SubmitWith is Submit of a message that changes the session's files as it is accepted. store.ErrFileNotFound and
// store.ErrFileQuota refuse it.
func (r *Runtime) SubmitWith(ctx context.Context, session string, cmd engine.Command, files Files) (Reply, error) {
	if ctx.Err() != nil {
		return Reply{}, api.Errorf(api.CodeCancelled, "cancelled before anything was submitted; it may be sent again: %w", context.Cause(ctx))
	}
	ch := make(chan Reply, 1)
	r.mu.Lock()
	if r.closing {
		r.mu.Unlock()
		return Reply{}, api.Errorf(api.CodeClosed, "the harness was closed")
	}
	r.waiter++
	id := r.waiter
	r.waiters[id] = ch
	r.mu.Unlock()
	r.tell(session, Submit{Command: cmd, Waiter: id, Files: files})
	var reply Reply
	select {
	case reply = <-ch:
	case <-ctx.Done():
		r.tell(session, Withdraw{Waiter: id})
		select {
		case reply = <-ch:
		case <-r.ctx.Done():
			reply.Err = api.Errorf(api.CodeClosed, "the harness was closed before the store had answered; look at the session's state")
		}
	case <-r.ctx.Done():
		reply.Err = api.Errorf(api.CodeClosed, "the harness was closed before the store had answered; look at the session's state")
	}
	r.mu.Lock()
	delete(r.waiters, id)
	r.mu.Unlock()
	if errors.Is(reply.Err, errWithdrawn) {
		return Reply{}, api.Errorf(api.CodeCancelled, "cancelled before the input was stored; nothing was submitted, and it may be sent again: %w", context.Cause(ctx))
	}
	return reply, reply.Err
}

// Create stores a new session.
func (r *Runtime) Create(ctx context.Context, session string, cmd engine.Create, c store.Creation) error {
	req, err := Creation(newID(), session, cmd, c, r.cfg.Clock.Now())
	if err != nil {
		return err
	}
	for wait := storeRetry; ; wait = min(2*wait, maxStoreRetry) {
		r.failpoint("append.before/session_created")
		_, err = r.cfg.Store.Append(ctx, req)
		r.failpoint("append.after/session_created")
		if !errors.Is(err, store.ErrFateUnknown) {
			return err
		}
		select { // settle the fate: write it again
		case <-time.After(wait):
		case <-ctx.Done():
			return api.Errorf(api.CodeCancelled, "cancelled while it was unknown whether session %s was stored; create it again under the same IdempotencyKey: %w", session, context.Cause(ctx))
		}
	}
}

// Creation is the append that makes a session.
func Creation(id, session string, cmd engine.Create, c store.Creation, now time.Time) (store.Append, error) {
	events, after, err := engine.Decide(&engine.State{Session: session}, cmd, engine.Env{Now: now})
	if err != nil {
		return store.Append{}, err
	}
	req := store.Append{ID: id, Session: session, Create: &c, Time: after.Time, Index: store.Index{Activity: engine.Activity(after)}}
	facts := make([]engine.Fact, len(events))
	for i, e := range events {
		facts[i] = engine.Fact{Number: uint64(i) + 1, Time: after.Time, Event: e}
	}
	return req, describe(&req, facts, after)
}

// Process is this process's id in the store, "" while it is not registered.
func (r *Runtime) Process() string {
	r.leaseMu.Lock()
	defer r.leaseMu.Unlock()
	return r.leaser.Process()
}

// live reports whether a body may start under a claim of the process.
func (r *Runtime) live(process string) bool {
	r.leaseMu.Lock()
	defer r.leaseMu.Unlock()
	return r.leaser.Live(process, r.cfg.Clock.Boot())
}

// startWithin is for how long from now a body may start under a claim of the process; 0 and less: it may not.
func (r *Runtime) startWithin(process string) time.Duration {
	r.leaseMu.Lock()
	defer r.leaseMu.Unlock()
	return r.leaser.StartWithin(process, r.cfg.Clock.Boot())
}

// Quiesce ends what runs, as Close does, and begins nothing more. What is submitted is accepted still.
func (r *Runtime) Quiesce() {
	r.mu.Lock()
	r.quiet = true
	r.mu.Unlock()
	for _, c := range r.all() {
		c.stopAll(ErrClosing)
	}
}

// quieted reports whether nothing is begun any more.
func (r *Runtime) quieted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet
}

// Close stops: effects are told to stop, outcomes that come within the grace and while ctx lasts are stored,
// the lease is given back. What still ran is recovered by whoever opens the store next.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	closed := r.closed
	if closed == nil {
		r.closed = make(chan struct{})
	}
	r.closing = true
	r.mu.Unlock()
	if closed != nil {
		select {
		case <-closed:
		case <-ctx.Done():
		}
		return nil
	}
	defer close(r.closed)
	r.Quiesce()
	// What ignores that it was told to stop does not hold up the end of the program for ever.
	stop, cancel := context.WithTimeout(ctx, r.cfg.CancelGrace+time.Second)
	if !waitFor(stop, &r.effects) {
		r.log.Warn("closed while bodies ran that do not react to being stopped; what became of them is found out by whoever opens the store next")
	}
	cancel()
	r.settleFlights(ctx)
	r.leaseMu.Lock()
	r.leaser.Step(r.cfg.Clock.Now(), r.cfg.Clock.Boot(), LeaseStop{})
	id := r.leaser.Process()
	r.leaseMu.Unlock()
	r.cancel()
	r.hub.CloseAll()
	waitFor(ctx, &r.wg)
	if id == "" {
		return nil
	}
	returning, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	if err := r.cfg.Store.Unregister(returning, id); err != nil && !errors.Is(err, store.ErrNotFound) {
		return api.Errorf(api.CodeStoreUnavailable, "the lease could not be given back; it ends by itself: %w", err)
	}
	return nil
}

// returnTime bounds the giving back of a lease, which ends by itself all the same.
const returnTime = time.Second

// waitFor reports whether the group ended before the context.
func waitFor(ctx context.Context, wg *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *Runtime) failpoint(name string) {
	if f := r.cfg.Failpoint; f != nil {
		f(name)
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func jitter() float64 { return rand.Float64() }
