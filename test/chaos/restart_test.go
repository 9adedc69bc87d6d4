//go:build linux

package chaos_test

import (
	"slices"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
)

// A process that died is replaced at once: its lock is free, so nobody waits for its lease to end. The time
// is that from the beginning of Open in the new process to its model request's coming in. A machine that does
// other things besides only adds to it, so the bound is for the quickest; a wait for a lease or for the next look
// for work would be in all of them.
func TestAfterAKillTheNextModelRequestComesAtOnce(t *testing.T) {
	const tries, bound = 20, 50 * time.Millisecond
	var took []time.Duration
	for range tries {
		w := newWorld(t)
		gate := make(chan struct{})
		w.model.hold(gate)
		id := w.create("s")
		run := w.submit(id, "1", "say hello", "")
		w.until("request", func() bool { return len(w.model.requests()) == 1 })
		w.crash()
		began := time.Unix(0, w.victim().opened.Began)
		w.until("second request", func() bool { return len(w.model.requests()) == 2 })
		took = append(took, w.model.requests()[1].at.Sub(began))
		close(gate)
		if r := w.finish(run); r.Status != api.StatusCompleted {
			t.Errorf("%+v", r)
		}
		w.check(id)
		w.close()
	}
	slices.Sort(took)
	t.Logf("from Open to the next model request, %d tries: %v", tries, took)
	if quickest := took[0]; quickest > bound {
		t.Errorf("the quickest of %d restarts took %s, more than %s", tries, quickest, bound)
	}
	if median := took[tries/2]; median > 10*bound {
		t.Errorf("the median of %d restarts is %s: it waited for the next look for work", tries, median)
	}
	if worst := took[tries-1]; worst > 4*time.Second {
		t.Errorf("the slowest of %d restarts took %s: it waited for half a lease", tries, worst)
	}
}
