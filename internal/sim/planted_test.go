package sim_test

import (
	"testing"

	"github.com/openworkerai/openworker/internal/sim"
)

// Each guarantee is broken on purpose, and the simulation must notice: what it cannot see it does not check.
func TestPlanted(t *testing.T) {
	t.Parallel()
	const most = 3000
	s := stage(t)
	for _, plant := range sim.Plants() {
		t.Run(string(plant), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= most; seed++ {
				if r := s.Run(sim.Config{Seed: seed, Plant: plant}); r.Violation != "" {
					t.Logf("%s: caught by seed %d: %s", plant, seed, r.Violation)
					return
				}
			}
			t.Fatalf("%s: not caught by %d seeds", plant, most)
		})
	}
}
