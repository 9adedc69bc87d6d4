//go:build linux

package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// Kills at named points are where somebody thought of them. These are where nobody did: half of them at any
// time, half within the writes and syncs of a commit.
func TestAKillAtARandomMomentLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	act := func(w *world) string {
		id := w.create("s")
		w.submit(id, "1", "work shop", api.BusyQueue)
		w.submit(id, "2", "mail letter", api.BusyQueue)
		w.submit(id, "3", "pay bill", api.BusyQueue)
		for _, run := range w.runs {
			w.finish(run)
		}
		return id
	}
	protocols := modeltestserver.Protocols()
	at := func(i uint64) []string { return []string{"-protocol", string(protocols[i%uint64(len(protocols))])} }
	var want []ending
	for i := range protocols {
		undisturbed := newWorld(t, at(uint64(i))...)
		want = append(want, undisturbed.check(act(undisturbed)))
		undisturbed.close()
	}
	const seeds = 50
	killed := 0
	t.Run("seed", func(t *testing.T) {
		for seed := range uint64(seeds) {
			chance := rand.New(rand.NewPCG(seed, 1))
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				w := newWorld(t, at(seed)...)
				for range 1 + chance.IntN(2) {
					kill := fmt.Sprintf("commit.begun#1+%s", 1+time.Duration(chance.IntN(int(60*time.Millisecond))))
					if seed/4%2 == 0 { // else each protocol would have but one kind
						kill = fmt.Sprintf("commit.before#%d+%s", 1+chance.IntN(20), 1+time.Duration(chance.IntN(int(time.Millisecond))))
					}
					w.next = append(w.next, []string{"-kill", kill})
				}
				session := act(w)
				if diff := cmp.Diff(want[seed%uint64(len(want))], w.check(session)); diff != "" {
					t.Errorf("the end differs from that of an undisturbed run (-want +got):\n%s\njournal:\n%s", diff, w.timeline(session))
				}
				w.close()
				killed += w.suicides
			})
		}
	})
	t.Logf("%d kills in %d runs", killed, seeds)
	if killed < seeds {
		t.Errorf("only %d kills in %d runs", killed, seeds)
	}
}
