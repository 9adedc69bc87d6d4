//go:build linux

package chaos_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// scenario is what a client does, one step behind the other, with one session, which it returns.
type scenario struct {
	name string
	args []string
	// deaths are the points at which the first victims die in each run, so that what follows is a recovery.
	deaths []string
	act    func(w *world) (session string)
	// among picks the points to die at from those that a victim reached, in order; nil picks all.
	among func(reached []string) []string
	// accept looks at an end that depends on what a kill comes before; nil: it must be that of the undisturbed run.
	accept func(w *world, session string, got ending)
}

// scenarios are spread over the protocols of the providers, so that each meets the strict server with what a death
// leaves behind.
func scenarios() []scenario {
	all := []scenario{
		{name: "a text turn", act: func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "say hello", ""))
			return id
		}},
		{name: "parallel tools of every effect class", act: func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "work shop", ""))
			return id
		}},
		{name: "the recovery of a side effect that can be inspected", deaths: []string{"tool.after#1"}, act: func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "work shop", ""))
			return id
		}},
		{name: "an unknown outcome that a person settles", deaths: []string{"tool.after#1"}, act: func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "mail letter", ""))
			return id
		}},
		{name: "an action that its process died right before", deaths: []string{"tool.before#1"}, act: func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "mail letter", ""))
			return id
		}},
		{name: "approvals", args: []string{"-approvals", "always"}, act: func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "work shop", ""))
			return id
		}},
		{name: "approvals with a crash before and after each answer", args: []string{"-approvals", "always"}, act: func(w *world) string {
			id := w.create("s")
			run := w.submit(id, "1", "pay bill", "")
			for _, in := range w.result(run).Interactions {
				w.crash()
				w.answer(id, in)
			}
			w.crash()
			w.finish(run)
			return id
		}},
		{name: "a queue of three messages", act: func(w *world) string {
			id := w.create("s")
			w.submit(id, "1", "slow one", api.BusyQueue)
			w.submit(id, "2", "mail two", api.BusyQueue)
			w.submit(id, "3", "say three", api.BusyQueue)
			for _, run := range w.runs {
				w.finish(run)
			}
			return id
		}},
		{name: "an interruption", accept: (*world).checkCancelled, act: func(w *world) string {
			id := w.create("s")
			w.submit(id, "1", "slow one", "")
			w.submit(id, "2", "say two", api.BusyInterrupt)
			for _, run := range w.runs {
				w.finish(run)
			}
			return id
		}},
		{name: "a cancel within a tool", accept: (*world).checkCancelled, act: func(w *world) string {
			id := w.create("s")
			run := w.submit(id, "1", "pump water", "")
			w.until("effect of the pump", func() bool { return len(w.ledger()) > 0 })
			w.cancel(run)
			w.finish(run)
			w.finish(w.submit(id, "2", "say more", api.BusyQueue))
			return id
		}},
	}
	protocols := modeltestserver.Protocols()
	for i := range all {
		protocol := protocols[i%len(protocols)]
		all[i].name += " at " + string(protocol)
		all[i].args = append(all[i].args, "-protocol", string(protocol))
	}
	return all
}

func TestAKillAtAnyPointLosesNothingAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	killEverywhere(t, scenarios())
}

// killEverywhere runs each scenario once undisturbed, and then once for each point that it reached with a kill there.
func killEverywhere(t *testing.T, all []scenario) {
	t.Helper()
	var killed, missed atomic.Int64
	t.Run("scenario", func(t *testing.T) {
		for _, sc := range all {
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				want, points := record(t, sc)
				if len(points) < 5 {
					t.Fatalf("only the points %v were reached", points)
				}
				for _, p := range points {
					t.Run(p.String(), func(t *testing.T) {
						t.Parallel()
						// What runs in parallel reaches a point more or less often; a point that was missed is tried again.
						for range 10 {
							if sc.killAt(t, p, want) {
								killed.Add(1)
								return
							}
						}
						missed.Add(1)
					})
				}
			})
		}
	})
	t.Logf("killed at %d points; %d were not reached again", killed.Load(), missed.Load())
	if missed.Load()*20 > killed.Load() {
		t.Errorf("too many points were missed: %d of %d", missed.Load(), missed.Load()+killed.Load())
	}
}

// point is the place of a kill: which of a run's victims dies, and where.
type point struct {
	victim int
	at     string
}

func (p point) String() string { return fmt.Sprintf("victim %d at %s", p.victim, p.at) }

// record runs a scenario without a disturbance of its own and lists the points that it reaches.
func record(t *testing.T, sc scenario) (ending, []point) {
	t.Helper()
	w := newWorld(t, sc.args...)
	const most = 8
	dir := t.TempDir()
	trace := func(victim int) string { return filepath.Join(dir, fmt.Sprint(victim)) }
	for i := range most {
		args := []string{"-trace", trace(i)}
		if i < len(sc.deaths) {
			args = append(args, "-kill", sc.deaths[i])
		}
		w.next = append(w.next, args)
	}
	session := sc.act(w)
	// What is asked from here on reaches no points: it only reads.
	var points []point
	for i := len(sc.deaths); i < most; i++ {
		data, err := os.ReadFile(trace(i))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		reached := strings.Fields(string(data))
		if sc.among != nil {
			reached = sc.among(reached)
		}
		for _, at := range reached {
			// Of a commit's points the one inside the transaction is not a point of the append, too.
			if !strings.HasPrefix(at, "commit.") || strings.HasPrefix(at, "commit.before") {
				points = append(points, point{i, at})
			}
		}
	}
	end := w.check(session)
	w.close()
	if w.deaths < len(sc.deaths) {
		t.Fatalf("%d victims died, %d should have", w.deaths, len(sc.deaths))
	}
	return end, points
}

// killAt runs a scenario with a kill at a point and reports whether the point was reached.
func (sc scenario) killAt(t *testing.T, p point, want ending) bool {
	t.Helper()
	w := newWorld(t, sc.args...)
	for i := range p.victim + 1 {
		var args []string
		switch {
		case i < len(sc.deaths):
			args = []string{"-kill", sc.deaths[i]}
		case i == p.victim:
			args = []string{"-kill", p.at}
		}
		w.next = append(w.next, args)
	}
	session := sc.act(w)
	got := w.check(session)
	if sc.accept != nil {
		sc.accept(w, session, got)
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the end differs from that of an undisturbed run (-want +got):\n%s\njournal:\n%s", diff, w.timeline(session))
	}
	w.close()
	return w.suicides > len(sc.deaths)
}

// checkCancelled: each run ended in one of the ways that a person would accept, and the last one completed.
func (w *world) checkCancelled(_ string, got ending) {
	w.t.Helper()
	for i, r := range got.Results {
		status, _, _ := strings.Cut(r, " ")
		ok := []string{string(api.StatusCompleted)}
		if i < len(got.Results)-1 {
			ok = append(ok, string(api.StatusCancelled))
		}
		if !slices.Contains(ok, status) {
			w.t.Errorf("run %d ended as %q; any of %v is right", i+1, r, ok)
		}
	}
}
