package sim_test

import (
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/openworkerai/openworker/internal/sim"
)

// number reads a number from the environment.
func number(t *testing.T, name string) (uint64, bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s is %q; give a number", name, text)
	}
	return n, true
}

func stage(t *testing.T) *sim.Stage {
	t.Helper()
	s, err := sim.NewStage()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSim plays histories. OPENWORKER_SIM_SEEDS says how many, OPENWORKER_SIM_SEED plays one with a trace.
func TestSim(t *testing.T) {
	s := stage(t)
	if seed, ok := number(t, "OPENWORKER_SIM_SEED"); ok {
		result := s.Run(sim.Config{Seed: seed, Trace: func(line string) { fmt.Println(line) }})
		fmt.Printf("seed %d: %+v\n", seed, result)
		if result.Violation != "" {
			t.Fatal(result.Violation)
		}
		return
	}
	seeds, many := number(t, "OPENWORKER_SIM_SEEDS")
	if !many {
		seeds = 500
	}
	seen, steps := map[string]int{}, 0
	failed := 0
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // a history leaves nothing behind
	strict := newStrict(t)
	began := time.Now()
	told := began
	for seed := uint64(1); seed <= seeds; seed++ {
		r := s.Run(sim.Config{Seed: seed, Asked: strict.ask})
		if r.Violation != "" {
			failed++
			t.Errorf("seed %d: %s", seed, r.Violation)
			if failed >= 10 {
				seeds = seed
			}
		}
		steps += r.Steps
		for what, n := range r.Seen {
			seen[what] += n
		}
		if many && time.Since(told) > 5*time.Second {
			told = time.Now()
			fmt.Printf("%d of %d seeds, %d failed, %.0f a second\n", seed, seeds, failed, float64(seed)/time.Since(began).Seconds())
		}
	}
	fmt.Printf("sim: %d passed, %d failed, %.0f seeds a second, %d steps\n", int(seeds)-failed, failed, float64(seeds)/time.Since(began).Seconds(), steps)
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%9d %s", seen[what], what)
	}
	if seeds < 300 || failed > 0 {
		return
	}
	must := mustSee
	if seeds >= 5000 {
		must = append(slices.Clone(mustSee), mustSeeOften...)
	}
	for _, what := range must {
		if seen[what] == 0 {
			t.Errorf("no history of %d had this: %s", seeds, what)
		}
	}
}

// mustSee is what some history must meet, or the simulation has become blind to it.
var mustSee = []string{
	"turn_accepted", "turn_started", "cancel_requested", "turn_ended", "model_started", "model_failed", "model_finished",
	"tool_started", "tool_finished", "tool_lost", "tool_inspected", "interaction_required", "interaction_resolved",
	"taken_over", "session_deleted", "inspected as not_started", "inspected as running",
	"side effect", "body not started", "crash", "closed process", "expired lease", "fenced process", "snapshot",
	"unknown fate", "late landing", "repeated append", "moved head", "fenced append", "lost claim", "taken receipt",
}

// mustSeeOften is rarer: some history of many must meet it.
var mustSeeOften = []string{"tool_late", "inspected as unknown", "outcome that jumped"}
