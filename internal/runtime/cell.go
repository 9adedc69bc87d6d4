package runtime

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// Bounds of the cache of sessions that nothing runs in. Their bytes are counted once in so many times that a
// session comes to rest.
const (
	maxIdleCells = 128
	maxIdleBytes = 32 << 20
	trimEvery    = 32
)

// cell is the shell around one actor: a lock, a timer and the contexts of its running effects. Between
// inputs it holds no goroutine.
type cell struct {
	session string

	mu    sync.Mutex
	actor *Actor
	dead  bool // dropped: whoever holds it looks the session up again
	timer *time.Timer
	runs  map[uint64]context.CancelCauseFunc // by ticket
	used  uint64
	owns  bool
}

// tell delivers an input to a session's actor, making one if need be.
func (r *Runtime) tell(session string, in Input) {
	for {
		if r.deliver(r.cell(session), in) {
			return
		}
	}
}

func (r *Runtime) cell(session string) *cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.cells[session]
	if c == nil {
		c = &cell{session: session, runs: map[uint64]context.CancelCauseFunc{}}
		c.actor = NewActor(session, ActorEnv{
			Process: r.Process, Live: r.live, Request: r.requestOf, Can: r.can, NewID: newID, Jitter: jitter, Parallel: r.cfg.Parallel, Grace: r.cfg.CancelGrace,
		})
		r.cells[session] = c
	}
	r.used++
	c.used = r.used
	return c
}

// existing returns a session's cell if there is one.
func (r *Runtime) existing(session string) *cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cells[session]
}

// all lists the cells that there are.
func (r *Runtime) all() []*cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.cells))
}

// owned lists the cells whose sessions this process holds.
func (r *Runtime) owned() []*cell {
	return slices.DeleteFunc(r.all(), func(c *cell) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.owns
	})
}

// deliver steps an actor and does what it asks. It reports false for a cell that was dropped.
func (r *Runtime) deliver(c *cell, in Input) bool {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return false
	}
	if r.ctx.Err() != nil { // closed: nothing is begun any more
		c.mu.Unlock()
		return true
	}
	owned := c.owns
	acts := c.actor.Step(r.cfg.Clock.Now(), in)
	for _, act := range acts {
		if _, reply := act.(Reply); !reply {
			r.perform(c, act)
		}
	}
	for _, act := range acts { // whoever is told that a turn is cancelled finds its bodies told to stop
		if _, reply := act.(Reply); reply {
			r.perform(c, act)
		}
	}
	c.owns = c.actor.Owns()
	newly := c.owns && !owned
	idle := c.actor.Idle()
	gone := idle && c.actor.gone != nil
	if gone {
		c.dead = true
	}
	c.mu.Unlock()
	switch {
	case gone:
		r.drop(c)
	case idle:
		r.trim()
	case newly:
		r.watch()
	}
	return true
}

// perform does one action. The cell's lock is held: nothing here may wait or step the actor.
func (r *Runtime) perform(c *cell, act Action) {
	switch act := act.(type) {
	case Load:
		r.background(func(ctx context.Context) {
			loaded, err := r.cfg.Store.Load(ctx, c.session, act.Schema)
			r.deliver(c, Loaded{Loaded: loaded, Err: err})
		})
	case ReadTail:
		r.background(func(ctx context.Context) { r.deliver(c, r.readTail(ctx, c.session, act.After)) })
	case ReadTranscript:
		r.background(func(ctx context.Context) {
			records, err := r.cfg.Store.Records(ctx, store.RecordQuery{Session: c.session, Until: act.Until, Items: true})
			r.deliver(c, TranscriptRead{Records: records, Until: act.Until, Err: err})
		})
	case Write:
		r.background(func(ctx context.Context) {
			kind := act.Append.Records[0].Kind
			r.failpoint("append.before/" + kind)
			result, err := r.cfg.Store.Append(ctx, act.Append)
			r.failpoint("append.after/" + kind)
			r.deliver(c, Appended{ID: act.Append.ID, Result: result, Err: err})
		})
	case Start:
		if !r.beginEffect() {
			return // the process is closing; to the actor it runs and never ends
		}
		ctx, cancel := context.WithCancelCause(r.ctx)
		c.runs[act.Ticket] = cancel
		go func() {
			defer r.effects.Done()
			cmd := goneOutcome(act) // stands where a provider or an inspection ends the goroutine
			defer func() {
				c.mu.Lock()
				delete(c.runs, act.Ticket)
				c.mu.Unlock()
				cancel(nil)
				r.deliver(c, Done{Ticket: act.Ticket, Command: cmd})
			}()
			cmd = r.execute(ctx, act)
		}()
	case Stop:
		if cancel := c.runs[act.Ticket]; cancel != nil {
			cancel(ErrStopped)
		}
	case Reply:
		r.mu.Lock()
		ch := r.waiters[act.Waiter]
		r.mu.Unlock()
		if ch != nil {
			ch <- act // buffered, one reply a waiter
		}
	case Publish:
		r.publish(c.session, act)
	case Park:
		r.log.Error("session set aside", "session", c.session, "reason", act.Reason)
		r.background(func(ctx context.Context) {
			if err := r.cfg.Store.Park(ctx, c.session, act.Reason, r.cfg.Build); err != nil {
				r.log.Error("session could not be set aside", "session", c.session, "error", err)
			}
		})
	case SetTimer:
		if c.timer != nil {
			c.timer.Stop()
			c.timer = nil
		}
		if !act.At.IsZero() {
			c.timer = time.AfterFunc(max(act.At.Sub(r.cfg.Clock.Now()), 0), func() { r.deliver(c, Tick{}) })
		}
	}
}

// beginEffect counts an effect that is to start, or reports false: nothing starts in a process that closes,
// least of all what it has just stopped.
func (r *Runtime) beginEffect() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.quiet {
		return false
	}
	r.effects.Add(1)
	return true
}

// can reports whether this process can run a session with the needs. One that closes can run nothing: it
// begins and claims nothing any more.
func (r *Runtime) can(needs []string) bool {
	return !r.quieted() && r.cfg.Registry.Can(needs)
}

// background runs a call into the store. It is not bound to any caller: a caller that leaves must not
// take an append of others with it.
func (r *Runtime) background(f func(ctx context.Context)) {
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		f(context.WithoutCancel(r.ctx))
	}()
}

func (r *Runtime) readTail(ctx context.Context, session string, after uint64) Tail {
	// The row is read first: records that come in between are folded as well, and a claim that moves is
	// seen at the next append.
	row, err := r.cfg.Store.Session(ctx, session)
	if err != nil {
		return Tail{Err: err}
	}
	records, err := r.cfg.Store.Records(ctx, store.RecordQuery{Session: session, After: after})
	return Tail{Session: row, Records: records, Err: err}
}

func (r *Runtime) publish(session string, p Publish) {
	defer func() {
		for _, f := range p.Facts {
			if e, ok := f.Event.(engine.ModelStarted); ok {
				r.hub.Announce(session, e.Run, e.Call, e.Attempt, e.Epoch)
			}
		}
	}()
	if !r.hub.Wants(session) {
		if slices.ContainsFunc(p.Facts, func(f engine.Fact) bool { return engine.IsOutcome(f.Event) }) {
			r.hub.Forget(session) // what streamed is whole now, or void
		}
		return
	}
	events := make([]api.Event, 0, len(p.Facts))
	for _, f := range p.Facts {
		e, err := engine.Public(f)
		if err != nil {
			r.log.Error("event without public form", "session", session, "number", f.Number, "error", err)
			return
		}
		events = append(events, e)
	}
	r.hub.Publish(session, events, engine.Waiting(p.State))
}

// behind reports whether the actor has not folded the journal up to head: most heads that are looked at have
// not moved, and a step costs.
func (c *cell) behind(head uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return head > c.actor.head()
}

func (c *cell) stopAll(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.runs {
		cancel(cause)
	}
}

func (r *Runtime) drop(c *cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cells[c.session] == c {
		delete(r.cells, c.session)
		r.hub.Forget(c.session)
	}
}

// trim drops the caches of idle sessions that were used longest ago, beyond the bounds.
func (r *Runtime) trim() {
	r.mu.Lock()
	if r.rests++; len(r.cells) <= maxIdleCells && r.rests%trimEvery != 0 {
		r.mu.Unlock()
		return
	}
	cells := slices.Collect(maps.Values(r.cells))
	slices.SortFunc(cells, func(a, b *cell) int { return int(int64(b.used) - int64(a.used)) }) // under the lock, which used belongs to
	r.mu.Unlock()
	kept, bytes := 0, 0
	for _, c := range cells {
		c.mu.Lock()
		drop := false
		if c.actor.Idle() {
			kept++
			bytes += c.actor.Bytes()
			drop = kept > maxIdleCells*3/4 || bytes > maxIdleBytes
			c.dead = c.dead || drop
		}
		c.mu.Unlock()
		if drop {
			r.drop(c)
		}
	}
}
