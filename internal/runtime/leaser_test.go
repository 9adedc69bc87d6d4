package runtime

import (
	"errors"
	"testing"
	"time"

	"github.com/openworkerai/openworker/store"
)

// act returns the first action of a type.
func act[A LeaseAction](actions []LeaseAction) (a A, ok bool) {
	for _, x := range actions {
		if a, ok = x.(A); ok {
			return a, true
		}
	}
	return a, false
}

// registered returns a leaser of an 8 s lease whose registration was sent at boot 100 s.
func registered(t *testing.T) (l *Leaser, wall time.Time, boot time.Duration) {
	t.Helper()
	wall, boot = time.Unix(1000, 0), 100*time.Second
	l = NewLeaser(store.Process{}, 8*time.Second, func() string { return "p" })
	r, ok := act[Register](l.Step(wall, boot, LeaseTick{}))
	if !ok || !r.Process.LeaseUntil.Equal(wall.Add(8*time.Second)) || l.Process() != "" || l.Live("p", boot) {
		t.Fatalf("the first step asked for %+v", r)
	}
	// The answer takes its time; what counts is when the question was sent.
	l.Step(wall.Add(time.Second), boot+time.Second, LeaseAnswer{ID: "p"})
	return l, wall, boot
}

func TestALeaseIsUsableUntilItsMarginAfterTheRenewalWasSent(t *testing.T) {
	t.Parallel()
	l, _, boot := registered(t)
	if !l.Live("p", boot+6*time.Second-1) {
		t.Error("not usable within the lease less its margin")
	}
	if l.Live("p", boot+6*time.Second) {
		t.Error("usable in the margin")
	}
}

func TestBodiesStopWhenNoRenewalIsConfirmedInTimeAndMayStartAgainOnceOneIs(t *testing.T) {
	t.Parallel()
	l, wall, boot := registered(t)
	renew, ok := act[Renew](l.Step(wall.Add(2*time.Second), boot+2*time.Second, LeaseTick{}))
	if !ok || renew.ID != "p" {
		t.Fatal("no renewal after a quarter of the lease")
	}
	l.Step(wall.Add(3*time.Second), boot+3*time.Second, LeaseAnswer{ID: "p", Err: errors.New("the store is busy")})
	actions := l.Step(wall.Add(6*time.Second), boot+6*time.Second, LeaseTick{})
	if _, ok := act[Expire](actions); !ok {
		t.Fatalf("bodies go on in the margin: %v", actions)
	}
	if _, ok := act[Renew](actions); !ok {
		t.Fatalf("the renewal is not tried again: %v", actions)
	}
	if _, twice := act[Expire](l.Step(wall.Add(7*time.Second), boot+7*time.Second, LeaseTick{})); twice {
		t.Error("told to stop twice")
	}
	l.Step(wall.Add(7*time.Second), boot+7*time.Second, LeaseAnswer{ID: "p"})
	if !l.Live("p", boot+7*time.Second) {
		t.Error("not usable after a confirmed renewal")
	}
}

func TestAFencedProcessLosesEverythingAndRegistersAnew(t *testing.T) {
	t.Parallel()
	l, wall, boot := registered(t)
	l.Step(wall.Add(2*time.Second), boot+2*time.Second, LeaseTick{})
	actions := l.Step(wall.Add(2*time.Second), boot+2*time.Second, LeaseAnswer{ID: "p", Err: store.ErrFenced, Fenced: true})
	if _, ok := act[Lost](actions); !ok || l.Process() != "" || l.Live("p", boot+2*time.Second) {
		t.Fatalf("a fenced process goes on: %v", actions)
	}
	if _, ok := act[Register](actions); !ok {
		t.Fatalf("it does not register anew: %v", actions)
	}
}
