package providers

import (
	"fmt"
	"testing"

	"github.com/openworkerai/openworker/internal/sim"
	"github.com/openworkerai/openworker/model"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// Whatever crashes, repairs and reorderings the simulation comes up with, each of its requests is one that all four
// servers take from their provider. (The simulation's own test asks one of them, over more seeds.)
func TestEveryRequestOfTheSimulationIsTakenByEveryServer(t *testing.T) {
	t.Parallel()
	stage, err := sim.NewStage()
	if err != nil {
		t.Fatal(err)
	}
	server := modeltestserver.NewInMemory(modeltestserver.Config{})
	asked := 0
	ask := func(req model.Request) error {
		for _, s := range subjects() {
			provider, err := s.open(server.Transport())
			if err != nil {
				return err
			}
			at := req
			at.Model, at.Encoded = s.model, nil
			asked++
			if _, err := provider.Stream(t.Context(), at, func(model.Delta) {}); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return nil
	}
	for seed := uint64(1); seed <= 40; seed++ {
		if r := stage.Run(sim.Config{Seed: seed, Asked: ask}); r.Violation != "" {
			t.Errorf("seed %d: %s", seed, r.Violation)
		}
	}
	if refused := server.Refusals(); len(refused) > 0 || asked < 1000 {
		t.Errorf("%d requests, refused: %q", asked, refused)
	}
}
