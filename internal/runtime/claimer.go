package runtime

import (
	"time"

	"github.com/openworkerai/openworker/store"
)

// Claimer is the machine that looks for work which nobody live holds. A session is not claimed by looking:
// its actor claims it in an append, so two processes that see the same work race there, and one wins.
type Claimer struct {
	interval time.Duration
	looking  bool
	next     time.Time
	again    bool // something changed while it looked
}

// NewClaimer returns a machine that looks at its first Step and at least once an interval.
func NewClaimer(interval time.Duration) *Claimer { return &Claimer{interval: interval} }

// ClaimInput is something that a Claimer is told: time went by; look now, since something changed; what a look found.
type ClaimInput interface{ claimInput() }

type (
	ClaimTick struct{}
	ClaimKick struct{}
	ClaimSeen struct {
		Page store.WorkPage
		Err  error
	}
)

func (ClaimTick) claimInput() {}
func (ClaimKick) claimInput() {}
func (ClaimSeen) claimInput() {}

// ClaimAction is something that a Claimer wants done: fence the dead and list work; wake a session's actor; a tick.
type ClaimAction interface{ claimAction() }

type (
	Look     struct{}
	WakeUp   struct{ Session string }
	LookNext struct{ At time.Time }
)

func (Look) claimAction()     {}
func (WakeUp) claimAction()   {}
func (LookNext) claimAction() {}

// Step takes an input at a time.
func (c *Claimer) Step(now time.Time, in ClaimInput) []ClaimAction {
	var out []ClaimAction
	switch in := in.(type) {
	case ClaimKick:
		c.again = true
	case ClaimSeen:
		c.looking = false
		c.next = now.Add(c.interval)
		if in.Err == nil {
			for _, w := range in.Page.Work {
				out = append(out, WakeUp{Session: w.Session})
			}
			if n := in.Page.Next; !n.IsZero() && n.Before(c.next) {
				c.next = n
			}
		}
	case ClaimTick:
	}
	if !c.looking && (c.again || !now.Before(c.next)) {
		c.looking, c.again = true, false
		out = append(out, Look{})
	}
	return append(out, LookNext{At: c.next})
}
