package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// C10: the whole story with real processes and a real SIGKILL.
func TestDemo(t *testing.T) {
	t.Parallel()
	got := newPlace(t).ok("", "demo")
	for _, text := range []string{"kill -9", "died inside send_invoice", "session_taken_over", "tool_call_lost", "✓ Sent once"} {
		if !strings.Contains(got.out, text) {
			t.Errorf("it does not say %q: %s", text, got.out)
		}
	}
	var s story
	if err := json.Unmarshal([]byte(newPlace(t).ok("", "demo", "--json").out), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Ledger) != 1 || s.Result.Text != "Done: the invoice over 420 EUR was sent to Ada." || len(s.Problems) != 0 || s.Killed == 0 {
		t.Errorf("%+v", s)
	}
}

// The demo says so when an action did not happen exactly once.
func TestJudge(t *testing.T) {
	t.Parallel()
	started := func(call string) openworker.Event {
		return event(t, api.EventToolCallStarted, api.ToolCallStarted{CallID: call, Name: "send_invoice"})
	}
	takenOver := event(t, api.EventSessionTakenOver, api.SessionTakenOver{})
	tests := []struct {
		name   string
		events []openworker.Event
		ledger []string
		status openworker.RunStatus
		want   []string
	}{
		{"once", []openworker.Event{started("c1"), takenOver}, []string{"c1"}, api.StatusCompleted, nil},
		{"twice", []openworker.Event{started("c1"), takenOver, started("c1")}, []string{"c1", "c1"}, api.StatusCompleted,
			[]string{"the ledger has 2 lines", "the journal has 2 attempts"}},
		{"never", []openworker.Event{started("c1"), takenOver}, nil, api.StatusCompleted, []string{"the ledger has 0 lines"}},
		{"another call's", []openworker.Event{started("c1"), takenOver}, []string{"c2"}, api.StatusCompleted, []string{`the ledger has call "c2", the journal "c1"`}},
		{"without a second process", []openworker.Event{started("c1")}, []string{"c1"}, api.StatusCompleted, []string{"no second process took over"}},
		{"and the turn failed", []openworker.Event{started("c1"), takenOver}, []string{"c1"}, api.StatusFailed, []string{`the turn's status is "failed"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := story{Events: tt.events, Result: openworker.Result{Status: tt.status}}
			for _, call := range tt.ledger {
				s.Ledger = append(s.Ledger, entry{CallID: call})
			}
			if diff := cmp.Diff(tt.want, s.judge()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnUnknownOutcomeIsAskedWithItsThreeAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		typed string
		want  openworker.Answer
	}{
		{"s\nit is number 7\n", openworker.Answer{Decision: api.OutcomeSucceeded, Output: "it is number 7"}},
		{"F\nthe bank says no\n", openworker.Answer{Decision: api.OutcomeFailed, Reason: "the bank says no"}},
		{"x\nr\n", openworker.Answer{Decision: api.OutcomeRetry}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q", tt.typed), func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			talk := &talk{m: &Main{Stdout: &out}, lines: readLines(strings.NewReader(tt.typed), &out)}
			got, err := talk.ask(t.Context(), openworker.Interaction{Kind: api.InteractionUnknownOutcome, Call: &api.InteractionCall{CallID: "c7", Name: "pay", Arguments: `{"to":"Ada"}`}})
			if err != nil {
				t.Fatal(err)
			}
			got.By = "" // whoever runs the test
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(out.String(), `the process died inside pay {"to":"Ada"} (call c7), and whether it acted is not known`) {
				t.Errorf("the question is %q", out.String())
			}
		})
	}
}
