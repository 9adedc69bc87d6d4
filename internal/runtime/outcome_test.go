package runtime

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
)

// What a provider says of itself is bounded before it is stored: a message, and counts that would give tokens
// back to the budget or run over (LI1).
func TestWhatAProviderSaysIsBounded(t *testing.T) {
	t.Parallel()
	absurd := api.Usage{InputTokens: -5, CachedInputTokens: math.MinInt64, OutputTokens: math.MaxInt64, ReasoningTokens: 7}
	bounded := api.Usage{OutputTokens: 1 << 40, ReasoningTokens: 7}
	start := Start{Effect: engine.Effect{Kind: engine.ModelEffect, Run: "s1-r1", Call: 1, Attempt: 1}}
	done := ModelOutcome(&Agent{}, start, model.Response{Usage: absurd}, nil, nil, 100).(engine.ModelDone)
	if diff := cmp.Diff(bounded, done.Usage); diff != "" {
		t.Errorf("an answer's usage: %s", diff)
	}
	for name, test := range map[string]struct {
		err  error
		size int
		says string
	}{
		"a message of megabytes":   {&model.Error{Kind: model.KindRefused, Message: strings.Repeat("é", 1<<20), Usage: absurd}, maxFailureText + 10, "éé"},
		"one that is not UTF-8":    {&model.Error{Kind: model.KindRefused, Message: "a\xff"}, 10, "a\uFFFD"},
		"none at all":              {&model.Error{Kind: model.KindRefused}, 200, "without a message"},
		"an error that is foreign": {errors.New("boom"), 10, "boom"},
	} {
		fail := ModelOutcome(&Agent{}, start, model.Response{}, test.err, nil, 100).(engine.ModelError)
		if len(fail.Message) > test.size || !strings.Contains(fail.Message, test.says) {
			t.Errorf("%s: %d bytes that begin with %.60q", name, len(fail.Message), fail.Message)
		}
		if u := fail.Usage; u.InputTokens < 0 || u.CachedInputTokens < 0 || u.OutputTokens > 1<<40 {
			t.Errorf("%s: the usage is %+v", name, u)
		}
	}
}

// What a provider's filter stopped would be stopped again; a summary that was cut short may go better.
func TestWhyThereIsNoSummary(t *testing.T) {
	t.Parallel()
	start := Start{Effect: engine.Effect{Kind: engine.CompactEffect, Run: "s1-r1", Attempt: 1}}
	spent := api.Usage{InputTokens: 7, OutputTokens: 3}
	for name, test := range map[string]struct {
		stop      model.StopReason
		code      api.Code
		retryable bool
	}{
		"a filter":              {model.StopFiltered, api.CodeContentFiltered, false},
		"nothing but reasoning": {model.StopOutputLimit, api.CodeStreamCut, true},
	} {
		got := SummaryOutcome(start, model.Response{Stop: test.stop, Usage: spent}, nil, nil, nil, 100).(engine.CompactError)
		if got.Code != test.code || got.Retryable != test.retryable || got.Usage != spent {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

type brokenError struct{ text *string }

func (e brokenError) Error() string { return *e.text }

// RU10
func TestAnErrorThatPanicsFailsItsCall(t *testing.T) {
	t.Parallel()
	start := Start{Effect: engine.Effect{Kind: engine.ToolEffect, CallID: "s1-c3-1", Attempt: 1}}
	for _, broken := range []error{(*model.Error)(nil), (*api.Error)(nil), brokenError{}, fmt.Errorf("wrapped: %w", (*model.Error)(nil))} {
		_, err := Protect(func() (string, error) { return "", broken })
		out := ToolOutcome(start, ToolEnd{Err: err}).(engine.ToolOutcome)
		if out.Code != api.CodeToolFailed || !strings.Contains(out.Output, "cannot be had") {
			t.Errorf("%T: %+v", broken, out)
		}
	}
	if _, err := Protect(func() (string, error) { return "", errors.ErrUnsupported }); err != errors.ErrUnsupported {
		t.Errorf("a good error became %v", err)
	}
}
