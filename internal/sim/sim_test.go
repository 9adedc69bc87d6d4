package sim_test

import (
	"fmt"
	"os"
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
	var sum sim.Result
	failed := 0
	began := time.Now()
	told := began
	for seed := uint64(1); seed <= seeds; seed++ {
		r := s.Run(sim.Config{Seed: seed})
		if r.Violation != "" {
			failed++
			t.Errorf("seed %d: %s", seed, r.Violation)
			if failed >= 10 {
				seeds = seed
			}
		}
		sum.Steps, sum.Events, sum.Turns, sum.Bodies = sum.Steps+r.Steps, sum.Events+r.Events, sum.Turns+r.Turns, sum.Bodies+r.Bodies
		sum.Crashes, sum.TakeOvers = sum.Crashes+r.Crashes, sum.TakeOvers+r.TakeOvers
		if many && time.Since(told) > 5*time.Second {
			told = time.Now()
			fmt.Printf("%d of %d seeds, %d failed, %.0f a second\n", seed, seeds, failed, float64(seed)/time.Since(began).Seconds())
		}
	}
	took := time.Since(began)
	fmt.Printf("sim: %d passed, %d failed, %.0f seeds a second; %d steps, %d events, %d turns, %d side effects, %d crashes, %d take-overs\n",
		int(seeds)-failed, failed, float64(seeds)/took.Seconds(), sum.Steps, sum.Events, sum.Turns, sum.Bodies, sum.Crashes, sum.TakeOvers)
}
