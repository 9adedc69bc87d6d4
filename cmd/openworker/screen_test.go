package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

func event(t *testing.T, kind openworker.EventType, data any) openworker.Event {
	t.Helper()
	encoded, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return openworker.Event{Number: 1, Type: kind, Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Data: encoded}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	delta := func(attempt, from int, text string) openworker.Event {
		return event(t, api.EventTextDelta, api.Delta{Call: 1, Attempt: attempt, Epoch: 1, From: from, Text: text})
	}
	started := func(attempt int) openworker.Event {
		return event(t, api.EventModelCallStarted, api.ModelCallStarted{Call: 1, Attempt: attempt, Epoch: 1})
	}
	finished := func(attempt int, text string, calls ...api.RequestCall) openworker.Event {
		return event(t, api.EventModelCallFinished, api.ModelCallFinished{Call: 1, Attempt: attempt, Text: text, Calls: calls})
	}
	tests := []struct {
		name   string
		events []openworker.Event
		want   string
	}{
		{"an answer that streams", []openworker.Event{started(1), delta(1, 0, "Hel"), delta(1, 3, "lo"), finished(1, "Hello")}, "Hello\n"},
		{"an answer without deltas", []openworker.Event{finished(1, "Hello")}, "Hello\n"},
		{"deltas that were missed are made up for", []openworker.Event{started(1), delta(1, 0, "Hel"), delta(1, 7, "rld"), finished(1, "Hello world")}, "Hello world\n"},
		{"one who joins midway is given the text so far again", []openworker.Event{started(1), delta(1, 0, "Hel"), delta(1, 0, "Hello "), delta(1, 6, "world"), finished(1, "Hello world")}, "Hello world\n"},
		{"a failed attempt's text is void", []openworker.Event{
			started(1), delta(1, 0, "Hel"),
			event(t, api.EventModelCallFailed, api.ModelCallFailed{Attempt: 1, Code: api.CodeStreamCut, Message: "cut"}),
			started(2), delta(2, 0, "Good day"), finished(2, "Good day"),
		}, "Hel\n(that attempt failed, its text is void)\nattempt 1 failed: stream_cut: cut\nGood day\n"},
		{"another attempt begins anew", []openworker.Event{started(1), delta(1, 0, "Hel"), started(2), delta(2, 0, "Good day"), finished(2, "Good day")}, "Hel\nGood day\n"},
		{"calls and their results", []openworker.Event{
			finished(1, "Let me see.", api.RequestCall{Name: "a.look", Arguments: "{\n  \"x\": 1\n}"}, api.RequestCall{Name: "none", Arguments: "{}", Code: api.CodeUnknownTool}),
			event(t, api.EventToolCallStarted, api.ToolCallStarted{Name: "a.look", Attempt: 1}),
			event(t, api.EventToolCallFinished, api.ToolCallFinished{Output: "seen"}),
		}, "Let me see.\n→ a.look { \"x\": 1 }\n→ none {} (not run: unknown_tool)\n← seen\n"},
		{"a question is no JSON", []openworker.Event{finished(1, "", api.RequestCall{Name: "ask_user", Arguments: `{"question": "Which?", "choices": [{"label": "red"}]}`})}, "→ ask_user “Which?”\n"},
		{"an answer that streams before it is announced waits for what came first", []openworker.Event{
			delta(1, 0, "Hel"), event(t, api.EventToolCallFinished, api.ToolCallFinished{Output: "seen"}), delta(1, 3, "lo"), started(1), finished(1, "Hello"),
		}, "← seen\nHello\n"},
		{"what a lost attempt said before it was announced is not shown", []openworker.Event{delta(1, 0, "Hel"), started(2), finished(2, "Good day")}, "Good day\n"},
		{"one's own message is there already", []openworker.Event{event(t, api.EventTurnAccepted, api.TurnAccepted{Text: "hi"})}, ""},
		{"what guardrails did to one's own message", []openworker.Event{event(t, api.EventTurnAccepted, api.TurnAccepted{Text: "hi", Guardrails: []api.GuardVerdict{{Name: "g", Point: "user_input", Action: "redact"}}})},
			"the guardrail g redacted the message\n"},
		{"what guardrails did to the answer", []openworker.Event{finished(1, "Hello"), event(t, api.EventModelCallFinished, api.ModelCallFinished{Call: 2, Attempt: 1, Text: "Bye", Guardrails: []api.GuardVerdict{{Name: "g", Point: "model_output", Action: "redact"}}})},
			"Hello\nBye\nthe guardrail g redacted the answer\n"},
		{"a failed turn says why", []openworker.Event{event(t, api.EventTurnEnded, api.TurnEnded{Status: api.StatusFailed,
			Error: &api.Failure{Code: api.CodeQuotaExhausted, Message: "pay first"}})}, "the turn failed: quota_exhausted: pay first\n"},
		{"a model cannot steer the terminal", []openworker.Event{started(1), delta(1, 0, "a\x1b]0;title\x07b\n\tc"), finished(1, "a\x1b]0;title\x07b\n\tc")}, "a]0;titleb\n\tc\n"},
		{"nor with a call or an error", []openworker.Event{
			finished(1, "", api.RequestCall{Name: "a\x1b[2J", Arguments: "{}", Code: api.CodeUnknownTool}),
			event(t, api.EventTurnEnded, api.TurnEnded{Status: api.StatusFailed, Error: &api.Failure{Code: api.CodeQuotaExhausted, Message: "no\x1b[2J\u202e"}}),
		}, "→ a[2J {} (not run: unknown_tool)\nthe turn failed: quota_exhausted: no[2J\n"},
		{"an event of a later version is passed over", []openworker.Event{event(t, "moon_phase", "full")}, ""},
		{"data of another shape is passed over", []openworker.Event{event(t, api.EventTextDelta, "x")}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			s := &screen{out: &out}
			for _, e := range tt.events {
				s.event(e)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryEventHasALine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 100)
	tests := []struct {
		event openworker.Event
		want  string
	}{
		{event(t, api.EventModelCallFailed, api.ModelCallFailed{Attempt: 2, Code: api.CodeRateLimited, Message: "slow down", RetryAt: time.Date(2026, 1, 1, 12, 0, 2, 0, time.UTC)}),
			"attempt 2 failed: rate_limited: slow down; again in 2s"},
		{event(t, api.EventModelCallFailed, api.ModelCallFailed{Attempt: 1, Code: api.CodeCallLost, Message: "gone"}), "attempt 1 failed: call_lost: gone; it is asked again"},
		{event(t, api.EventTurnEnded, api.TurnEnded{Status: api.StatusCancelled, ModelCalls: 1, Usage: api.Usage{InputTokens: 2, OutputTokens: 3, Estimated: true}}),
			"cancelled, 1 model calls, about 2 tokens in, about 3 out"},
		{event(t, api.EventTurnEnded, api.TurnEnded{Status: api.StatusFailed, ModelCalls: 1, Error: &api.Failure{Code: api.CodeQuotaExhausted, Message: "pay"}}),
			"failed, 1 model calls, 0 tokens in, 0 out: quota_exhausted: pay"},
		{event(t, api.EventCancelRequested, api.CancelRequested{Reason: "by hand"}), "by hand"},
		{event(t, api.EventToolCallFinished, api.ToolCallFinished{Code: api.CodeToolPanicked, Output: "it broke"}), "← tool_panicked: it broke"},
		{event(t, api.EventToolOutcomeLate, api.ToolCallFinished{Output: "after all"}), "came after the turn had ended: after all"},
		{event(t, api.EventToolCallLost, api.ToolCallLost{Again: true}), "the process died inside it; it is repeatable and runs again"},
		{event(t, api.EventToolCallInspected, api.ToolCallInspected{Answer: "running"}), "the tool looked: running"},
		{event(t, api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{Name: "pay", Arguments: "{}"}}),
			"approval i1 of pay {}"},
		{event(t, api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionQuestion}), "question i1"},
		{event(t, api.EventInteractionResolved, api.InteractionResolved{Decision: api.Deny, By: "ada", Reason: "no"}), "deny by ada: no"},
		{event(t, api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionQuestion, Question: &api.Question{Text: "Which?"}, Call: &api.InteractionCall{Name: "ask_user"}}), "question i1 “Which?”"},
		{event(t, api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{Name: "pay", Arguments: "{}"}, Review: &api.Review{Verdict: api.ReviewUnsure, Code: api.CodeReviewTimeout}}),
			"approval i1 of pay {}; the reviewer could not be asked: review_timeout"},
		{event(t, api.EventInteractionResolved, api.InteractionResolved{Decision: api.Deny, By: "reviewer", Review: &api.Review{Verdict: api.ReviewDeny, Reason: "too much"}}), "deny by reviewer: too much"},
		{event(t, api.EventInteractionResolved, api.InteractionResolved{Decision: api.AllowOnce, By: "ada", Arguments: []byte(`{"a":1}`)}), `allow with {"a":1} by ada`},
		{event(t, api.EventInteractionResolved, api.InteractionResolved{Decision: api.Answered, Answers: []string{"red", "blue"}}), "answered “red, blue”"},
		{event(t, api.EventTurnAccepted, api.TurnAccepted{Kind: "compaction"}), "compaction"},
		{event(t, api.EventTurnAccepted, api.TurnAccepted{Text: "hi", Content: []api.AcceptedBlock{{Type: api.BlockText, Text: "hi"}, {Type: api.BlockImage, Name: "a\x1b[2J\n\u202e.png", ID: "s-a1", MediaType: "image/png", Size: 2048}}}),
			"“hi” + a[2J .png (image/png, 2.0 KiB)"},
		{event(t, api.EventTurnAccepted, api.TurnAccepted{Content: []api.AcceptedBlock{{Type: api.BlockDocument, Name: "a.pdf", MediaType: "application/pdf", Size: 1}}}), "a.pdf (application/pdf, 1 byte)"},
		{event(t, api.EventHistoryImported, api.HistoryImported{Items: []api.ImportedItem{{Type: "user", Text: "hi\x1b[2J"}}}), "user “hi[2J”"},
		{event(t, api.EventHistoryImported, api.HistoryImported{Items: []api.ImportedItem{
			{Type: "assistant", Text: "wait"}, {Type: "tool_call", CallID: "c1", Name: "look", Arguments: "{}"}, {Type: "tool_result", CallID: "c1", Output: "a\nb"}}}),
			"assistant “wait”, called look {}, ← a b"},
		{event(t, api.EventTurnAccepted, api.TurnAccepted{Text: "hi", Guardrails: []api.GuardVerdict{{Name: "g", Point: "user_input", Action: "redact", Reason: "a name"}}}), "“hi”; the guardrail g redacted the message: a name"},
		{event(t, api.EventModelCallFinished, api.ModelCallFinished{Text: "hi", Guardrails: []api.GuardVerdict{{Name: "g", Point: "model_output", Action: "redact"}}}), "“hi”; the guardrail g redacted the answer"},
		{event(t, api.EventToolCallFinished, api.ToolCallFinished{Code: api.CodeGuardrailFailed, Output: "withheld", Guardrails: []api.GuardVerdict{{Name: "g", Point: "tool_result", Action: "fail", Reason: "too slow"}}}),
			"← guardrail_failed: withheld; the guardrail g gave no verdict on what the tool returned: too slow"},
		{event(t, api.EventToolCallChecked, api.ToolCallChecked{CallID: "c1"}), "the application's own check lets c1 pass"},
		{event(t, api.EventToolCallReturned, api.ToolCallReturned{CallID: "c1"}), "hooks and guardrails look at what c1 returned"},
		{event(t, api.EventReviewStarted, api.ReviewStarted{CallID: "c1", Attempt: 1, Model: api.ModelRef{Provider: "P", Name: "m"}}), "P/m, of c1, attempt 1"},
		{event(t, api.EventReviewFinished, api.ReviewFinished{CallID: "c1", Review: api.Review{Verdict: api.ReviewUnsure, Code: api.CodeReviewTimeout, Reason: "30 s"}}), "unsure: review_timeout: 30 s"},
		{event(t, api.EventReviewFinished, api.ReviewFinished{CallID: "c1", Again: true}), "the process died while the reviewer was asked; it is asked again"},
		{event(t, api.EventGrantRevoked, api.GrantRevoked{Tool: "pay"}), "pay"},
		{event(t, api.EventCompactionStarted, api.CompactionStarted{Items: 3, Tokens: 1200}), "older history is summarised: 3 items, of ~1.2k tokens"},
		{event(t, api.EventCompactionFailed, api.CompactionFailed{Attempt: 1, Code: api.CodeRateLimited, Message: "slow down"}), "attempt 1 at a summary failed: rate_limited: slow down"},
		{event(t, api.EventCompactionFinished, api.CompactionFinished{Tokens: 300}), "the model is sent ~300 tokens now; the history stays whole"},
		{event(t, api.EventModelCallFinished, api.ModelCallFinished{Text: long, Stop: "output_limit"}), "“" + long[:120] + "…”, (output_limit)"},
		{event(t, "moon_phase", "full"), ""},
	}
	for _, tt := range tests {
		t.Run(string(tt.event.Type), func(t *testing.T) {
			t.Parallel()
			line := eventLine(tt.event, "now", false)
			if want := "    1  now  " + string(tt.event.Type); !strings.HasPrefix(line, want) {
				t.Errorf("the line %q does not begin with %q", line, want)
			}
			if !strings.HasSuffix(line, "  "+tt.want) || strings.Contains(line, "\n") {
				t.Errorf("the line is %q, want %q", line, tt.want)
			}
		})
	}
}

func TestColoursAreLeftOutWhenTheyAreNotWanted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		m    Main
		want string
	}{
		{Main{Color: true}, "\x1b[31mx\x1b[0m"},
		{Main{}, "x"},
		{Main{Color: true, noColor: true}, "x"},
		{Main{Color: true, json: true}, "x"},
	}
	for _, tt := range tests {
		if got := tt.m.paint().red("x"); got != tt.want {
			t.Errorf("%+v: %q", tt.m, got)
		}
	}
}
