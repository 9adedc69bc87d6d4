package runtime

import (
	"time"

	"github.com/openworkerai/openworker/store"
)

// Leaser is the machine of the process's lease. A process has one lease; its sessions name the process.
// Renewal does not depend on the goroutines that work.
//
// Two clocks: wall is what the store compares between processes, boot is one that also counts while the
// machine sleeps, and tells this process how long ago its last confirmed renewal was sent.
type Leaser struct {
	host  store.Process // what to register as; its ID is made anew each time
	lease time.Duration
	newID func() string

	id        string // "" while not registered
	asking    string // id that is being registered
	sent      time.Duration
	confirmed time.Duration // boot time at which the last confirmed renewal was sent
	renewing  bool
	expired   bool // the bodies were told to stop: no renewal was confirmed in time
	next      time.Duration
	stopping  bool
}

// Margin is the part of a lease that is left unused: nobody starts a body in it, and a take-over waits
// for it behind the lease's end.
func Margin(lease time.Duration) time.Duration { return lease / 4 }

// NewLeaser returns a machine that registers at its first Step.
func NewLeaser(host store.Process, lease time.Duration, newID func() string) *Leaser {
	return &Leaser{host: host, lease: lease, newID: newID}
}

// LeaseInput is something that a Leaser is told.
type LeaseInput interface{ leaseInput() }

// LeaseTick says that time went by. LeaseAnswer brings the result of a registration or a renewal; Fenced
// says that the store refuses the process for good.
type (
	LeaseTick   struct{}
	LeaseAnswer struct {
		ID     string
		Err    error
		Fenced bool
	}
	LeaseStop struct{}
)

func (LeaseTick) leaseInput()   {}
func (LeaseAnswer) leaseInput() {}
func (LeaseStop) leaseInput()   {}

// LeaseAction is something that a Leaser wants done.
type LeaseAction interface{ leaseAction() }

// Register and Renew ask the store; Expire says that bodies must stop since no renewal was confirmed in
// time; Lost says that the process was fenced and every claim of it is gone; Sleep asks for a LeaseTick.
type (
	Register struct{ Process store.Process }
	Renew    struct {
		ID    string
		Until time.Time
	}
	Expire struct{}
	Lost   struct{}
	Sleep  struct{ For time.Duration }
)

func (Register) leaseAction() {}
func (Renew) leaseAction()    {}
func (Expire) leaseAction()   {}
func (Lost) leaseAction()     {}
func (Sleep) leaseAction()    {}

// Step takes an input at a time on both clocks.
func (l *Leaser) Step(wall time.Time, boot time.Duration, in LeaseInput) []LeaseAction {
	var out []LeaseAction
	switch in := in.(type) {
	case LeaseStop:
		l.stopping = true
		return nil
	case LeaseAnswer:
		switch {
		case l.asking != "" && in.ID == l.asking:
			l.renewing = false
			if in.Err == nil {
				l.id, l.confirmed, l.expired = l.asking, l.sent, false
			}
			l.asking = ""
		case in.ID != l.id || l.id == "":
		case in.Fenced:
			l.id, l.renewing = "", false
			out = append(out, Lost{})
			l.next = boot
		default:
			l.renewing = false
			if in.Err == nil {
				l.confirmed, l.expired = l.sent, false
			}
		}
	case LeaseTick:
	}
	if l.stopping {
		return out
	}
	if l.id != "" && !l.expired && !l.Live(l.id, boot) {
		l.expired = true
		out = append(out, Expire{})
	}
	if !l.renewing && boot >= l.next {
		l.renewing, l.sent, l.next = true, boot, boot+l.lease/4
		if l.id == "" {
			l.asking = l.newID()
			p := l.host
			p.ID, p.LeaseUntil = l.asking, wall.Add(l.lease)
			out = append(out, Register{Process: p})
		} else {
			out = append(out, Renew{ID: l.id, Until: wall.Add(l.lease)})
		}
	}
	wait := l.next - boot
	if l.id != "" && !l.expired {
		wait = min(wait, l.confirmed+l.lease-Margin(l.lease)-boot)
	}
	return append(out, Sleep{For: max(wait, 10*time.Millisecond)})
}

// Process is the registered id, "" while there is none.
func (l *Leaser) Process() string { return l.id }

// Live reports whether a body may start now under a claim of the process: the last confirmed renewal of
// that process's lease is younger than lease − margin. The claims of an id that was fenced stay dead when the
// process has registered under another one; once it stops nothing may start.
func (l *Leaser) Live(process string, boot time.Duration) bool {
	return l.StartWithin(process, boot) > 0
}

// StartWithin is for how long Live goes on to hold if nothing is renewed; 0 and less where it does not.
func (l *Leaser) StartWithin(process string, boot time.Duration) time.Duration {
	if process == "" || process != l.id || l.stopping {
		return 0
	}
	return l.lease - Margin(l.lease) - (boot - l.confirmed)
}
