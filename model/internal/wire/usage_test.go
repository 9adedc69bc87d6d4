package wire

import (
	"testing"

	"github.com/openworkerai/openworker/api"
)

func TestWhatAServerDoesNotCountIsEstimated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given    api.Usage
		received int
		thought  int
		want     api.Usage
	}{
		"it counts all":                 {api.Usage{InputTokens: 10, CachedInputTokens: 4, OutputTokens: 5, ReasoningTokens: 2}, 40, 8, api.Usage{InputTokens: 10, CachedInputTokens: 4, OutputTokens: 5, ReasoningTokens: 2}},
		"it counts nothing":             {api.Usage{}, 40, 8, api.Usage{InputTokens: 100, OutputTokens: 10, ReasoningTokens: 2, Estimated: true}},
		"it counts the input only":      {api.Usage{InputTokens: 10}, 40, 0, api.Usage{InputTokens: 10, OutputTokens: 10, Estimated: true}},
		"it counts the output only":     {api.Usage{OutputTokens: 5}, 40, 0, api.Usage{InputTokens: 100, OutputTokens: 5, Estimated: true}},
		"the answer is empty":           {api.Usage{InputTokens: 10}, 0, 0, api.Usage{InputTokens: 10}},
		"it counts the cache beside it": {api.Usage{InputTokens: 3, CachedInputTokens: 1000, OutputTokens: 5}, 40, 0, api.Usage{InputTokens: 1000, CachedInputTokens: 1000, OutputTokens: 5}},
		"it counts below zero":          {api.Usage{InputTokens: -1, OutputTokens: -1}, 1, 0, api.Usage{InputTokens: 100, OutputTokens: 1, Estimated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Count(test.given, 400, test.received, test.thought); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
