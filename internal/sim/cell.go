package sim

import (
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// cell is the shell around one actor, as the runtime's cell is.
type cell struct {
	p       *process
	session string
	actor   *runtime.Actor
	timer   *task
	runs    map[uint64]*effect
	order   []*effect
	owns    bool
	writing bool
	dropped bool
	riding  []store.NewFile // by a plant
}

// tell delivers an input to a session's actor, making one if need be.
func (p *process) tell(session string, in runtime.Input) {
	c := p.cells[session]
	if c == nil {
		w := p.w
		c = &cell{p: p, session: session, runs: map[uint64]*effect{}}
		c.actor = runtime.NewActor(session, runtime.ActorEnv{
			Process: p.leaser.Process, Live: func(id string) bool { return p.leaser.Live(id, p.boot()) }, Can: p.can, Request: w.stage.request, NewID: func() string { return w.newID("x") }, Jitter: w.rng.Float64,
			Parallel: 1 + w.rng.IntN(3), Grace: cancelGrace, SnapshotEvery: p.every,
		})
		p.cells[session] = c
		p.order = append(p.order, c)
	}
	c.deliver(in)
}

func (c *cell) drop() {
	c.dropped = true
	delete(c.p.cells, c.session)
	c.p.order = slices.DeleteFunc(c.p.order, func(o *cell) bool { return o == c })
	if c.timer != nil {
		c.timer.off = true
	}
}

// deliver steps an actor and does what it asks.
func (c *cell) deliver(in runtime.Input) {
	w := c.p.w
	if c.p.dead || c.p.closed || c.dropped {
		return
	}
	w.actorSteps++
	if w.cfg.Trace != nil {
		w.log("%s/%s <- %s", c.p.name, c.session, briefInput(in))
	}
	for _, act := range c.actor.Step(c.p.wall(), in) {
		if w.cfg.Trace != nil {
			w.log("%s/%s -> %s", c.p.name, c.session, briefAction(act))
		}
		c.perform(act)
	}
	c.owns = c.actor.Owns()
	s := w.sessions[c.session]
	// (A lost denial would be noticed here first; what is to be seen is that the call does not run.)
	if state := c.actor.State(); state != nil && s.state != nil && state.Head == s.state.Head && w.chance(0.1) && w.cfg.Plant != PlantDenialLost {
		s.sameState(c.p.name+" holds", state)
	}
	if c.actor.Idle() && s.deleted {
		c.drop()
	}
}

func (c *cell) perform(act runtime.Action) {
	p, w := c.p, c.p.w
	switch act := act.(type) {
	case runtime.Load:
		p.call("load "+c.session, false, func() func() {
			loaded, err := w.disk.load(p, c.session, act.Schema)
			return func() { c.deliver(runtime.Loaded{Loaded: loaded, Err: err}) }
		})
	case runtime.ReadTail:
		// The row is read first, the records behind it a moment later.
		p.call("read the row of "+c.session, false, func() func() {
			row, err := w.disk.session(c.session)
			return func() {
				if err != nil {
					c.deliver(runtime.Tail{Err: err})
					return
				}
				p.call("read the tail of "+c.session, false, func() func() {
					records, err := w.disk.records(store.RecordQuery{Session: c.session, After: act.After})
					return func() { c.deliver(runtime.Tail{Session: row, Records: records, Err: err}) }
				})
			}
		})
	case runtime.ReadTranscript:
		p.call("read the transcript of "+c.session, false, func() func() {
			records, err := w.disk.records(store.RecordQuery{Session: c.session, Until: act.Until, Items: true})
			return func() { c.deliver(runtime.TranscriptRead{Records: records, Until: act.Until, Err: err}) }
		})
	case runtime.Write:
		c.writing = true
		if c.riding != nil {
			act = c.ride(act)
		}
		p.call("append to "+c.session, true, func() func() {
			result, err := w.disk.append(p, act.Append)
			return func() {
				c.writing = false
				c.deliver(runtime.Appended{ID: act.Append.ID, Result: result, Err: err})
			}
		})
	case runtime.Start:
		if p.closing {
			return
		}
		e := &effect{c: c, start: act, key: act.Effect.Key()}
		c.runs[act.Ticket] = e
		c.order = append(c.order, e)
		w.after(p, w.delay(), "begin "+e.key, e.begin)
	case runtime.Stop:
		if e := c.runs[act.Ticket]; e != nil {
			e.stop(runtime.ErrStopped)
		}
	case runtime.Reply:
		if w.cfg.Plant == PlantRefusedRides && act.Err != nil {
			c.riding = append(c.riding, p.brought[act.Waiter]...)
		}
		answered := p.waiters[act.Waiter]
		delete(p.waiters, act.Waiter)
		if answered == nil {
			w.fail("%s: waiter %d of %s is answered twice", p.name, act.Waiter, c.session)
		}
		w.after(p, w.delay(), "reply", func() { answered(act) })
	case runtime.Publish:
		if !p.hub.Wants(c.session) {
			return
		}
		events := make([]api.Event, len(act.Facts))
		for i, f := range act.Facts {
			e, err := engine.Public(f)
			if err != nil {
				w.fail("event %d has no public form: %v", f.Number, err)
			}
			events[i] = e
		}
		p.hub.Publish(c.session, events, engine.Waiting(act.State))
	case runtime.Park:
		w.fail("%s sets session %s aside: %s", p.name, c.session, act.Reason)
	case runtime.SetTimer:
		if c.timer != nil {
			c.timer.off = true
			c.timer = nil
		}
		if !act.At.IsZero() {
			c.timer = w.after(p, max(act.At.Sub(p.wall()), 0), "tick "+c.session, func() { c.deliver(runtime.Tick{}) })
		}
	}
}

func (c *cell) stopAll(cause error) {
	for _, e := range slices.Clone(c.order) {
		e.stop(cause)
	}
}
