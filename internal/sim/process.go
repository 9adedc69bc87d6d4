package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// process is a simulated process: the machines of one, and the shell around them.
type process struct {
	w       *world
	name    string
	dead    bool
	closing bool          // effects end, and none begins
	closed  bool          // no machine takes a step any more
	paused  time.Duration // until then it takes no step; its clocks go on
	poor    bool          // it lacks the agents for good: it reads and sends only
	lacks   bool          // for the moment
	guards  bool          // it has the application's hooks and guardrails
	old     bool          // a build whose state has another shape
	skew    time.Duration // of its wall clock
	every   uint64        // events between snapshots

	leaser     *runtime.Leaser
	claimer    *runtime.Claimer
	hub        *runtime.Hub
	leaseTimer *task
	claimTimer *task
	registered []string // every id that it asked for

	cells   map[string]*cell
	order   []*cell
	waiters map[uint64]func(runtime.Reply)
	waiter  uint64
	brought map[uint64][]store.NewFile // by waiter: new files, where a plant wants them
}

// newProcess starts one, unless there are many already.
func (w *world) newProcess() {
	if len(w.live()) < 4 {
		w.startProcess()
	}
}

func (w *world) startProcess() {
	p := &process{w: w, name: fmt.Sprintf("p%d", len(w.procs)+1), cells: map[string]*cell{}, waiters: map[uint64]func(runtime.Reply){}, brought: map[uint64][]store.NewFile{}, hub: runtime.NewHub(),
		poor: w.faulty(0.1), guards: !w.faulty(0.2), old: w.chance(0.3), skew: w.upTo(w.lease / 8), every: pick(w, []uint64{1, 4, 16, 1000})}
	p.leaser = runtime.NewLeaser(store.Process{Host: p.name}, w.lease, func() string {
		id := w.newID(p.name + "-")
		p.registered = append(p.registered, id)
		return id
	})
	p.claimer = runtime.NewClaimer(w.poll)
	w.procs = append(w.procs, p)
	w.log("%s starts (poor %t, guards %t, old %t)", p.name, p.poor, p.guards, p.old)
	p.leaseIn(runtime.LeaseTick{})
	w.after(p, w.delay(), "first look", func() { p.claimIn(runtime.ClaimTick{}) }).forever = true
	p.watch()
}

// wall and boot are the process's clocks. They go on while it is paused.
func (p *process) wall() time.Time     { return origin.Add(p.w.now + p.skew) }
func (p *process) boot() time.Duration { return p.w.now }

func (p *process) can(needs []string) bool {
	return !p.poor && !p.lacks && !p.closing && (p.guards || !lacks(needs))
}

// call makes a call into the store: it is served some time later, and its answer comes later still. A
// write that was handed over is served although its process has stopped, or even died.
func (p *process) call(name string, write bool, serve func() (answer func())) *task {
	w := p.w
	owner := p
	if write && w.faulty(0.3) {
		owner = nil
	}
	var t *task
	t = w.after(owner, w.delay(), name, func() {
		answer := serve()
		a := w.after(p, w.delay(), name+" answered", answer)
		a.forever, a.call = t.forever, true
	})
	t.outlives, t.call = write, true
	return t
}

// leaseIn drives the Leaser, as the runtime's lease loop does.
func (p *process) leaseIn(in runtime.LeaseInput) {
	w := p.w
	for _, act := range p.leaser.Step(p.wall(), p.boot(), in) {
		switch act := act.(type) {
		case runtime.Register:
			p.askLease("register", act.Process.ID, func() error { return w.disk.register(act.Process) })
		case runtime.Renew:
			p.askLease("renew", act.ID, func() error { return w.disk.renew(act.ID, act.Until) })
		case runtime.Expire:
			w.saw("expired lease")
			w.log("%s: its lease was not renewed in time", p.name)
			for _, c := range p.owned() {
				c.stopAll(runtime.ErrExpired)
			}
		case runtime.Lost:
			w.saw("fenced process")
			w.log("%s: it was fenced", p.name)
			for _, c := range p.owned() {
				c.deliver(runtime.LeaseLost{})
			}
		case runtime.Sleep:
			if p.leaseTimer != nil {
				p.leaseTimer.off = true
			}
			p.leaseTimer = w.after(p, act.For, "lease tick", func() { p.leaseIn(runtime.LeaseTick{}) })
			p.leaseTimer.forever = true
		}
	}
}

func (p *process) askLease(what, id string, ask func() error) {
	p.call(what+" "+id, true, func() func() {
		err := ask()
		return func() { p.leaseIn(runtime.LeaseAnswer{ID: id, Err: err, Fenced: errors.Is(err, store.ErrFenced)}) }
	}).forever = true
}

// claimIn drives the Claimer, as the runtime's claim loop does.
func (p *process) claimIn(in runtime.ClaimInput) {
	w := p.w
	for _, act := range p.claimer.Step(p.wall(), in) {
		switch act := act.(type) {
		case runtime.Look:
			p.look()
		case runtime.WakeUp:
			p.tell(act.Session, runtime.Wake{})
		case runtime.LookNext:
			if p.claimTimer != nil {
				p.claimTimer.off = true
			}
			p.claimTimer = w.after(p, max(act.At.Sub(p.wall()), 10*time.Millisecond), "look tick", func() { p.claimIn(runtime.ClaimTick{}) })
			p.claimTimer.forever = true
		}
	}
}

// look fences the dead and lists work.
func (p *process) look() {
	w := p.w
	self := p.leaser.Process()
	if self == "" {
		w.after(p, w.delay(), "looked without a lease", func() { p.claimIn(runtime.ClaimSeen{}) }).forever = true
		return
	}
	now := p.wall()
	p.call("fence", true, func() func() {
		fenced, err := w.disk.fence(self, now)
		return func() {
			if len(fenced) > 0 {
				w.log("%s: fenced %v", p.name, fenced)
			}
			if err != nil {
				p.claimIn(runtime.ClaimSeen{Err: err})
				return
			}
			p.call("work", false, func() func() {
				page, err := w.disk.work(store.WorkQuery{Now: now, Build: p.build(), Can: func(need string) bool { return p.can([]string{need}) }, Limit: 256})
				return func() { p.claimIn(runtime.ClaimSeen{Page: page, Err: err}) }
			}).forever = true
		}
	}).forever = true
}

func (p *process) build() string {
	if p.old {
		return "old"
	}
	return "new"
}

// watch looks from time to time at whether other processes have written, as the runtime's watch loop does.
func (p *process) watch() {
	w := p.w
	w.after(p, w.upTo(w.poll), "watch", func() {
		watched := p.hub.Watched()
		var ids []string
		for _, s := range w.order {
			c := p.cells[s.id]
			if _, ok := watched[s.id]; ok || c != nil && c.owns {
				ids = append(ids, s.id)
			}
		}
		if len(ids) > 0 {
			p.call("heads", false, func() func() {
				heads, err := w.disk.heads(ids)
				return func() { p.moved(ids, heads, err) }
			}).forever = true
		}
		p.watch()
	}).forever = true
}

func (p *process) moved(ids []string, heads map[string]uint64, err error) {
	if err != nil {
		return
	}
	for _, id := range ids {
		head, there := heads[id]
		if !there {
			head = ^uint64(0)
		}
		p.hub.Advance(id, head)
		if c := p.cells[id]; c != nil && c.actor.State() != nil && head > c.actor.State().Head {
			c.deliver(runtime.Moved{Head: head})
		}
	}
}

// submit brings a command to a session by this process.
func (p *process) submit(session string, in runtime.Submit, answered func(runtime.Reply)) uint64 {
	p.waiter++
	in.Waiter = p.waiter
	p.waiters[p.waiter] = answered
	if p.w.cfg.Plant == PlantRefusedRides {
		p.brought[p.waiter] = in.Files.New
	}
	p.tell(session, in)
	return in.Waiter
}

func (p *process) owned() []*cell {
	var out []*cell
	for _, c := range p.order {
		if c.owns {
			out = append(out, c)
		}
	}
	return out
}

// crash ends a process at once. What it had handed over may still land, now or later.
func (w *world) crash() {
	all := w.live()
	if len(all) == 0 {
		return
	}
	p := pick(w, all)
	if other := w.deciding(); other != nil && w.chance(0.4) {
		p = other
	} else if other, _ := w.sideEffect(w.chance(0.8)); other != nil {
		p = other
	} else if w.chance(0.7) {
		return // rather in the middle of something
	}
	w.kill(p)
	if len(w.live()) == 0 || w.chance(0.6) {
		w.newProcess()
	}
}

func (w *world) kill(p *process) {
	w.log("%s crashes", p.name)
	w.saw("crash")
	for _, t := range w.tasks {
		if t.p == p && t.outlives && w.chance(0.5) {
			t.p = nil
			t.at = max(t.at, w.now) + w.delay()
		}
	}
	p.dead = true
	w.ledger.died(p)
	if w.chance(0.7) { // its lock on this machine is free, which proves its death; else only its lease ends
		for _, id := range p.registered {
			w.disk.mem.Kill(id)
		}
	}
}

// pause stops a process for a while, maybe for longer than its lease.
func (w *world) pause() {
	p := w.someone()
	if p == nil {
		return
	}
	if other, _ := w.sideEffect(w.chance(0.3)); other != nil {
		p = other
	} else if w.chance(0.7) {
		return
	}
	p.paused = w.now + w.upTo(pick(w, []time.Duration{w.lease / 8, w.lease / 2, 2 * w.lease, 4 * w.lease}))
	w.log("%s is stopped until %v", p.name, p.paused)
}

// sideEffect finds a process, and the session, in which the body of a side effect runs (begun), or between its
// intent and its body.
func (w *world) sideEffect(begun bool) (*process, string) {
	for _, p := range w.procs {
		if p.dead || p.closing || p.paused > w.now {
			continue
		}
		for _, c := range p.order {
			for _, e := range c.order {
				if e.begun == begun && e.start.Effect.Kind == engine.ToolEffect && !e.start.Effect.Repeatable {
					return p, c.session
				}
			}
		}
	}
	return nil, ""
}

// deciding finds a process that is at something which the journal does not know yet, or not of its end: a check, a
// review, a look at an output, a summary.
func (w *world) deciding() *process {
	return w.anyone(func(p *process) bool {
		return slices.ContainsFunc(p.order, func(c *cell) bool {
			return slices.ContainsFunc(c.order, func(e *effect) bool {
				switch e.start.Effect.Kind {
				case engine.CheckEffect, engine.ReviewEffect, engine.ScreenEffect, engine.CompactEffect:
					return e.begun
				}
				return false
			})
		})
	})
}

// change takes or gives a process what it needs to run sessions.
func (w *world) change() {
	if p := w.someone(); p != nil {
		p.lacks = true
		w.log("%s lacks something", p.name)
		w.after(p, w.upTo(w.lease), "it is back", p.learn)
	}
}

// learn gives back what was taken for the moment.
func (p *process) learn() {
	if p.lacks {
		p.lacks = false
		p.kick()
	}
}

func (p *process) kick() {
	p.claimIn(runtime.ClaimKick{})
	for _, c := range p.owned() {
		c.deliver(runtime.Tick{})
	}
}

// forget drops the caches of idle sessions.
func (w *world) forget() {
	p := w.someone()
	if p == nil {
		return
	}
	for _, c := range slices.Clone(p.order) {
		if c.actor.Idle() {
			c.drop()
		}
	}
}

// closeOne closes a process in good order, or in a hurry.
func (w *world) closeOne() {
	p := w.someone()
	if p == nil || len(w.live()) < 2 {
		return
	}
	w.log("%s closes", p.name)
	p.closing = true
	for _, c := range slices.Clone(p.order) {
		c.stopAll(runtime.ErrClosing)
	}
	patience := w.now + w.upTo(2*cancelGrace)
	var wait func()
	wait = func() {
		if p.busy() && w.now < patience {
			w.after(p, 50*time.Millisecond, "closing", wait)
			return
		}
		p.leaser.Step(p.wall(), p.boot(), runtime.LeaseStop{})
		p.closed = true
		id := p.leaser.Process()
		p.call("unregister", true, func() func() {
			if id != "" {
				_ = w.disk.mem.Unregister(w.disk.ctx(), id)
			}
			return func() {
				w.saw("closed process")
				w.log("%s is closed", p.name)
				p.dead = true
				w.ledger.died(p)
			}
		})
	}
	wait()
}

// busy reports whether effects run or an append is under way.
func (p *process) busy() bool {
	for _, c := range p.order {
		if len(c.runs) > 0 || c.writing {
			return true
		}
	}
	return false
}
