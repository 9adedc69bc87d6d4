package runtime_test

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
)

// counting counts how often it is asked for facts.
type counting struct {
	*scripted.Provider
	asked map[string]int
}

func (c counting) Facts(name string) (model.Facts, bool) {
	if c.asked[name]++; name == "broken" {
		panic("no table")
	}
	return model.Facts{Window: 1000 * len(name)}, true
}

// A table of models takes a while to look up, and decisions want to know a window each time.
func TestAProviderIsAskedOnceForTheFactsOfAModel(t *testing.T) {
	t.Parallel()
	table := counting{Provider: scripted.New(scripted.Config{}), asked: map[string]int{}}
	registry := runtime.NewRegistry([]model.Provider{table}, nil, runtime.Guards{}, time.Now)
	provider, _ := registry.Provider("scripted")
	for range 3 {
		for name, want := range map[string]int{"a": 1000, "bb": 2000, "broken": 0} {
			if facts, ok := provider.Facts(name); facts.Window != want || ok != (want > 0) || table.asked[name] != 1 {
				t.Errorf("of %s it tells %+v, %t; asked %d times", name, facts, ok, table.asked[name])
			}
		}
	}
}
