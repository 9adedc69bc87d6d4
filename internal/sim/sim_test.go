package sim_test

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
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
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // a history leaves nothing behind
	all := &tally{t: t, seen: map[string]int{}, seeds: seeds, tells: many, began: time.Now()}
	all.told = all.began
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		strict := newStrict(t)
		players.Go(func() {
			for seed, more := all.next(); more; seed, more = all.next() {
				cfg := sim.Config{Seed: seed}
				if seed%4 == 1 {
					cfg.Asked = strict.ask // which costs as much as all the rest
				}
				all.add(seed, s.Run(cfg))
			}
		})
	}
	players.Wait()
	seen, failed := all.seen, all.failed
	seeds = all.played
	fmt.Printf("sim: %d passed, %d failed, %.0f seeds a second, %d steps\n", int(seeds)-failed, failed, float64(seeds)/time.Since(all.began).Seconds(), all.steps)
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

// tally hands out seeds and adds up what came of them.
type tally struct {
	t     *testing.T
	seeds uint64
	tells bool
	began time.Time

	mu            sync.Mutex
	last, played  uint64
	steps, failed int
	seen          map[string]int
	told          time.Time
}

// next is the next seed, unless enough have failed.
func (a *tally) next() (uint64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == a.seeds || a.failed >= 10 {
		return 0, false
	}
	a.last++
	return a.last, true
}

func (a *tally) add(seed uint64, r sim.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Violation != "" {
		a.failed++
		a.t.Errorf("seed %d: %s", seed, r.Violation)
	}
	a.played++
	a.steps += r.Steps
	for what, n := range r.Seen {
		a.seen[what] += n
	}
	if a.tells && time.Since(a.told) > 5*time.Second {
		a.told = time.Now()
		fmt.Printf("%d of %d seeds, %d failed, %.0f a second\n", a.played, a.seeds, a.failed, float64(a.played)/time.Since(a.began).Seconds())
	}
}

// mustSee is what some history must meet, or the simulation has become blind to it.
var mustSee = []string{
	"turn_accepted", "turn_started", "cancel_requested", "turn_ended", "model_started", "model_failed", "model_finished",
	"tool_started", "tool_finished", "tool_lost", "tool_inspected", "interaction_required", "interaction_resolved",
	"taken_over", "session_deleted", "inspected as not_started", "inspected as running",
	"side effect", "body not started", "crash", "closed process", "expired lease", "fenced process", "snapshot",
	"unknown fate", "late landing", "repeated append", "moved head", "fenced append", "lost claim", "taken receipt",
	"tool_checked", "tool_returned", "review_started", "review_finished", "grant_revoked",
	"compaction_started", "compaction_failed", "compaction_finished", "wish for a summary", "request that was too long",
	"reviewed as allow", "reviewed as deny", "reviewed as unsure", "reviewer's allow", "reviewer's deny",
	"answer allow", "answer allow_session", "answer deny", "answer answered", "answer skipped", "answer that came second",
	"changed arguments", "changed arguments that no tool takes", "call that the application denied", "missing guardrail",
	"output that was redacted", "output that was blocked", "lost output",
	"history_imported", "upload", "late file", "file that is gone", "file that is not there", "file that is not to be sent", "upload that was too much",
	"message with text/plain", "message with image/png", "message with application/pdf", "redacted file", "append without its files",
	"append with too many files", "request with files", "files that were too large", "files that were left out", "day",
}

// mustSeeOften is rarer: some history of many must meet it.
var mustSeeOften = []string{"tool_late", "inspected as unknown", "outcome that jumped", "items that were shortened", "items that nobody summarised",
	"review that took too long", "guardrail that failed", "answer retry"}
