package sim_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/internal/sim"
)

// Each guarantee is broken on purpose, and the simulation must notice: what it cannot see it does not check.
func TestPlanted(t *testing.T) {
	t.Parallel()
	const most = 3000
	s := stage(t)
	// What is broken is to be told by its name, where something else may notice it too.
	because := map[sim.Plant]string{
		sim.PlantApprovalTwice:     "which was resolved as",
		sim.PlantApprovalShared:    "nobody has said that it may be run again",
		sim.PlantDenialLost:        "denied",
		sim.PlantBatchCut:          "keeps their results",
		sim.PlantFileUnchecked:     "which is not accepted",
		sim.PlantAcceptedDiscarded: "of an accepted message is gone",
		sim.PlantRefusedRides:      "accepts, adds and discards the files",
		sim.PlantGhosts:            "but it met",
		sim.PlantAcceptLost:        `which is not accepted (there true, "sealed")`,
	}
	for _, plant := range sim.Plants() {
		t.Run(string(plant), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= most; seed++ {
				if r := s.Run(sim.Config{Seed: seed, Plant: plant}); r.Violation != "" && strings.Contains(r.Violation, because[plant]) {
					if sound := s.Run(sim.Config{Seed: seed}); sound.Violation != "" {
						t.Fatalf("seed %d fails without a planted fault: %s", seed, sound.Violation)
					}
					t.Logf("%s: caught by seed %d: %s", plant, seed, r.Violation)
					return
				}
			}
			t.Fatalf("%s: not caught by %d seeds", plant, most)
		})
	}
}

// A seed that failed is of use only if it fails again in the same way.
func TestASeedPlaysTheSameHistoryAgain(t *testing.T) {
	t.Parallel()
	s := stage(t)
	for seed := uint64(1); seed <= 30; seed++ {
		play := func() []string {
			var lines []string
			s.Run(sim.Config{Seed: seed, Trace: func(line string) { lines = append(lines, line) }})
			return lines
		}
		if diff := cmp.Diff(play(), play()); diff != "" {
			t.Fatalf("seed %d (-first +second):\n%s", seed, diff)
		}
	}
}
