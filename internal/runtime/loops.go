package runtime

import (
	"context"
	"errors"
	"time"

	"github.com/openworkerai/openworker/store"
)

// leaseLoop drives the Leaser.
func (r *Runtime) leaseLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	first := true
	for {
		var in LeaseInput
		select {
		case <-r.ctx.Done():
			return
		case <-timer.C:
			in = LeaseTick{}
		case in = <-r.leaseIn:
		}
		r.leaseMu.Lock()
		actions := r.leaser.Step(r.cfg.Clock.Now(), r.cfg.Clock.Boot(), in)
		r.leaseMu.Unlock()
		for _, act := range actions {
			switch act := act.(type) {
			case Register:
				r.askLease(func(ctx context.Context) error { return r.cfg.Store.Register(ctx, act.Process) }, act.Process.ID)
			case Renew:
				r.askLease(func(ctx context.Context) error { return r.cfg.Store.Renew(ctx, act.ID, act.Until) }, act.ID)
			case Expire:
				r.log.Warn("no renewal of the lease was confirmed in time; running effects are stopped")
				for _, c := range r.owned() {
					c.stopAll(ErrExpired)
				}
			case Lost:
				r.log.Warn("the process was taken for dead by another one; its sessions go on there")
				for _, c := range r.owned() {
					r.deliver(c, LeaseLost{})
				}
			case Sleep:
				timer.Reset(act.For)
			}
		}
		if _, answer := in.(LeaseAnswer); answer && first {
			first = false
			close(r.leased)
		}
	}
}

func (r *Runtime) askLease(ask func(context.Context) error, id string) {
	r.background(func(ctx context.Context) {
		err := ask(ctx)
		if err != nil && r.ctx.Err() == nil {
			r.log.Warn("the lease could not be renewed", "error", err)
		}
		select {
		case r.leaseIn <- LeaseAnswer{ID: id, Err: err, Fenced: errors.Is(err, store.ErrFenced)}:
		case <-r.ctx.Done():
		}
	})
}

// claimLoop drives the Claimer.
func (r *Runtime) claimLoop() {
	claimer := NewClaimer(r.cfg.Poll)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var in ClaimInput
		select {
		case <-r.ctx.Done():
			return
		case <-timer.C:
			in = ClaimTick{}
		case in = <-r.claimIn:
		}
		for _, act := range claimer.Step(r.cfg.Clock.Now(), in) {
			switch act := act.(type) {
			case Look:
				r.background(func(ctx context.Context) {
					page, err := r.look(ctx)
					select {
					case r.claimIn <- ClaimSeen{Page: page, Err: err}:
					case <-r.ctx.Done():
					}
				})
			case WakeUp:
				r.tell(act.Session, Wake{})
			case LookNext:
				timer.Reset(max(act.At.Sub(r.cfg.Clock.Now()), 10*time.Millisecond))
			}
		}
	}
}

// look fences the dead and lists work.
func (r *Runtime) look(ctx context.Context) (store.WorkPage, error) {
	process := r.Process()
	if process == "" {
		return store.WorkPage{}, nil
	}
	now := r.cfg.Clock.Now()
	fenced, err := r.cfg.Store.Fence(ctx, process, now, Margin(r.cfg.Lease))
	if err != nil {
		r.log.Warn("dead processes could not be looked for", "error", err)
		return store.WorkPage{}, err
	}
	for _, p := range fenced {
		r.log.Info("a process is gone; its sessions are taken over", "process", p)
	}
	page, err := r.cfg.Store.Work(ctx, store.WorkQuery{Now: now, Build: r.cfg.Build, Can: func(need string) bool { return r.cfg.Registry.Can([]string{need}) }, Limit: 256})
	if err != nil {
		r.log.Warn("work could not be looked for", "error", err)
	}
	return page, err
}

// watchPause is the least time between two looks at what other processes have written.
const watchPause = 50 * time.Millisecond

// watch makes the watchLoop look at what there is to watch.
func (r *Runtime) watch() {
	select {
	case r.watchIn <- struct{}{}:
	default:
	}
}

// watchLoop looks, while there is something to watch, at whether other processes have written to it.
func (r *Runtime) watchLoop() {
	var changes <-chan struct{}
	stop := func() {}
	defer func() { stop() }()
	poll := time.NewTicker(r.cfg.Poll)
	defer poll.Stop()
	looked := time.Time{}
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.watchIn:
		case <-changes:
		case <-poll.C:
		}
		// Our own commits wake us too; a process that writes all the time need not look all the time.
		if wait := watchPause - time.Since(looked); wait > 0 {
			select {
			case <-r.ctx.Done():
				return
			case <-time.After(wait):
			}
		}
		looked = time.Now()
		watched := r.hub.Watched()
		for _, c := range r.owned() {
			if _, ok := watched[c.session]; !ok {
				watched[c.session] = 0
			}
		}
		if len(watched) == 0 {
			stop()
			changes, stop = nil, func() {}
			continue
		}
		if changes == nil {
			ctx, cancel := context.WithCancel(r.ctx)
			ch, err := r.cfg.Store.Watch(ctx)
			if err != nil {
				cancel()
				r.log.Warn("the store cannot be watched; it is polled", "error", err)
			} else {
				changes, stop = ch, cancel
			}
		}
		r.moved(watched)
	}
}

// moved tells those concerned about sessions whose heads have moved.
func (r *Runtime) moved(watched map[string]uint64) {
	ids := make([]string, 0, len(watched))
	for id := range watched {
		ids = append(ids, id)
	}
	heads, err := r.cfg.Store.Heads(r.ctx, ids)
	if err != nil {
		return
	}
	for id, head := range heads {
		r.hub.Advance(id, head)
		if c := r.existing(id); c != nil && c.behind(head) {
			r.deliver(c, Moved{Head: head})
		}
	}
	for _, id := range ids {
		if _, there := heads[id]; !there {
			r.hub.Advance(id, ^uint64(0)) // deleted: let its watchers look
			if c := r.existing(id); c != nil {
				r.deliver(c, Moved{Head: ^uint64(0)})
			}
		}
	}
}

// settleFlights waits until no append is under way.
func (r *Runtime) settleFlights(ctx context.Context) {
	for _, c := range r.all() {
		for ctx.Err() == nil {
			c.mu.Lock()
			busy := c.actor.flight != nil && !c.actor.flight.again
			c.mu.Unlock()
			if !busy {
				break
			}
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}
