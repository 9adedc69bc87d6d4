package chatui

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

func TestDecisionsOfNobodyAreQuietLines(t *testing.T) {
	t.Parallel()
	accepted := happening{api.EventTurnAccepted, api.TurnAccepted{Text: "go"}}
	required := func(change func(*api.InteractionRequired)) happening {
		d := approval("i1")
		change(&d)
		return happening{api.EventInteractionRequired, d}
	}
	asked := required(func(d *api.InteractionRequired) {
		d.Kind, d.Question = api.InteractionQuestion, &api.Question{Text: "Which colour?"}
	})
	allowed := &api.Review{Verdict: api.ReviewAllow, Reason: "it only reads"}
	tests := []struct {
		name   string
		events []happening
		want   string
	}{
		{"the reviewer allows", []happening{
			{api.EventReviewStarted, api.ReviewStarted{CallID: "c1", Attempt: 1}}, {api.EventReviewFinished, api.ReviewFinished{CallID: "c1", Attempt: 1, Review: *allowed}},
			required(func(d *api.InteractionRequired) { d.Review = allowed }), {api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.AllowOnce, By: "reviewer", Review: allowed}},
		}, "  the reviewer allowed once: pay: it only reads"},
		{"the reviewer denies", []happening{
			required(func(*api.InteractionRequired) {}), {api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.Deny, By: "reviewer", Review: &api.Review{Verdict: api.ReviewDeny}}},
		}, "  the reviewer denied: pay"},
		{"a person who is called reviewer is one", []happening{
			required(func(*api.InteractionRequired) {}), {api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.Deny, By: "reviewer"}},
		}, "  answered elsewhere, denied: pay, by reviewer"},
		{"a review that was lost", []happening{{api.EventReviewFinished, api.ReviewFinished{CallID: "c1", Attempt: 1, Again: true}}}, "  the process died while the reviewer was asked; it is asked again"},
		{"a question that the agent skips", []happening{asked, {api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.Skipped, By: "agent"}}},
			"  skipped, since this agent skips questions: Which colour?"},
		{"a question that somebody else answers", []happening{asked, {api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.Answered, By: "bob", Answers: []string{"red", "blue"}}}},
			"  answered elsewhere: Which colour? → red, blue, by bob"},
		{"a permission that is taken back", []happening{{api.EventGrantRevoked, api.GrantRevoked{Tool: "pay", By: "bob"}}}, "  asked about again: pay, by bob"},
		{"what a guardrail did to the message", []happening{{api.EventTurnAccepted, api.TurnAccepted{Text: "my card is ████", Guardrails: []api.GuardVerdict{{Name: "sensitive", Point: "user_input", Action: "redact", Reason: "redacted card: 1"}}}}},
			"> my card is ████\n\n  the guardrail sensitive redacted the message: card: 1"},
		{"what a guardrail did to a result", []happening{
			{api.EventModelCallFinished, finished(1, "", api.RequestCall{CallID: "c1", Name: "look", Arguments: "{}"})},
			{api.EventToolCallFinished, api.ToolCallFinished{CallID: "c1", Code: api.CodeGuardrailBlocked, Output: "withheld", Guardrails: []api.GuardVerdict{{Name: "sensitive", Point: "tool_result", Action: "block"}}}},
		}, "  the guardrail sensitive blocked what the tool returned\n● look() ✗\n  └ guardrail_blocked: withheld"},
		{"a guardrail that failed on the answer", []happening{{api.EventModelCallFailed, api.ModelCallFailed{Attempt: 1, Code: api.CodeGuardrailFailed, Message: "too large", Guardrails: []api.GuardVerdict{{Name: "g", Point: "model_output", Action: "fail", Reason: "it is too large"}}}}},
			"  the guardrail g gave no verdict on the answer: it is too large"},
		{"a summary", []happening{
			{api.EventCompactionStarted, api.CompactionStarted{Attempt: 1, Items: 40, Tokens: 7200}},
			{api.EventCompactionFailed, api.CompactionFailed{Attempt: 1, Code: api.CodeProviderOverloaded, Message: "busy", RetryAt: time.Date(2026, 1, 1, 12, 0, 4, 0, time.UTC)}},
			{api.EventCompactionStarted, api.CompactionStarted{Attempt: 2, Items: 1, Tokens: 7200}},
			{api.EventCompactionFinished, api.CompactionFinished{Attempt: 2, Items: 40, Tokens: 900}},
		}, "  older history is summarised: 40 items, of ~7.2k tokens\n  attempt 1 at a summary failed, again in 2.0s: provider_overloaded: busy\n  older history is summarised: 1 item, of ~7.2k tokens\n" +
			"  the model is sent ~900 tokens now; the history stays whole"},
		{"items that are only shortened", []happening{{api.EventCompactionStarted, api.CompactionStarted{Attempt: 1, ItemBytes: 4000, Tokens: 7200}}}, "  long items are shortened for the model to 4.0k bytes, of ~7.2k tokens"},
		{"a summary that was asked for", []happening{{api.EventTurnAccepted, api.TurnAccepted{Kind: "compaction"}}, {api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted}}}, "  there was nothing to summarise"},
		{"a summary that was asked for, and made", []happening{{api.EventTurnAccepted, api.TurnAccepted{Kind: "compaction"}}, {api.EventCompactionStarted, api.CompactionStarted{Items: 2, Tokens: 50}},
			{api.EventCompactionFinished, api.CompactionFinished{Tokens: 20}}, {api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted}}},
			"  older history is summarised: 2 items, of ~50 tokens\n  the model is sent ~20 tokens now; the history stays whole"},
		{"a summary that was asked for and taken back", []happening{accepted, {api.EventTurnAccepted, api.TurnAccepted{Kind: "compaction", Queued: true}}, {api.EventTurnEnded, api.TurnEnded{Status: api.StatusCancelled}}},
			"> go\n\n  a queued message was taken back: /compact"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			for _, h := range tt.events {
				s.tell(h.kind, h.data)
			}
			if diff := cmp.Diff(tt.want, s.scrollback()); diff != "" {
				t.Error(diff)
			}
			if len(s.cards) > 0 {
				t.Errorf("%d cards are left", len(s.cards))
			}
		})
	}
}

func TestAReviewerIsNamedOnTheCardThatItLeftOpen(t *testing.T) {
	t.Parallel()
	for want, review := range map[string]api.Review{
		"the reviewer is unsure: who is Bob?": {Verdict: api.ReviewUnsure, Reason: "who is\nBob?"},
		"the reviewer could not be asked":     {Verdict: api.ReviewUnsure, Code: api.CodeReviewTimeout, Reason: "no answer within 30 s; this and that was tried"},
		"the reviewer gave no verdict":        {Verdict: api.ReviewUnsure, Code: api.CodeReviewInvalid},
	} {
		s := newStage(t, nil)
		d := approval("i1")
		d.Review = &review
		s.tell(api.EventInteractionRequired, d)
		if live := s.live(); !strings.Contains(live, "│ "+want+"\n│ May it call pay?") {
			t.Errorf("it is\n%s", live)
		}
		s.Update(ctrl('o')) // all of it
		if code := string(review.Code); !strings.Contains(s.scrollback(), strings.TrimSuffix("  "+want+": "+code, ": ")) || !strings.Contains(s.scrollback(), "  pay") {
			t.Errorf("unfolded it is\n%s", s.scrollback())
		}
	}
}

func TestTheStatusLineSaysWhoIsAsked(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	steps := []struct {
		happening
		want string
	}{
		{happening{api.EventTurnAccepted, api.TurnAccepted{Text: "hi"}}, "working"},
		{happening{api.EventCompactionStarted, api.CompactionStarted{Attempt: 1, Items: 4}}, "summarising older history"},
		{happening{api.EventCompactionFailed, api.CompactionFailed{Attempt: 1, Code: api.CodeRateLimited, RetryAt: s.now.Add(10 * time.Second)}}, "summarising older history"},
		{happening{api.EventCompactionFinished, api.CompactionFinished{Attempt: 2, Usage: api.Usage{InputTokens: 1500, OutputTokens: 20}}}, "1.5k tokens in, 20 out"},
		{happening{api.EventReviewStarted, api.ReviewStarted{CallID: "c1", Attempt: 1}}, "asking the reviewer"},
		{happening{api.EventReviewFinished, api.ReviewFinished{CallID: "c1", Attempt: 1, Usage: api.Usage{InputTokens: 500, OutputTokens: 5}}}, "working"},
	}
	for _, step := range steps {
		s.tell(step.kind, step.data)
		if !strings.Contains(s.live(), step.want) {
			t.Errorf("after %s the live area is\n%s\nwant %q", step.kind, s.live(), step.want)
		}
	}
	if want := (api.Usage{InputTokens: 2000, OutputTokens: 25}); s.usage != want {
		t.Errorf("the session's usage is %+v", s.usage)
	}
}

func TestPermissionsAreListedAndTakenBack(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	s := newStage(t, func(o *Options) { o.Conversation = f })
	ask := func(line string) {
		if cmd := s.command(line); cmd != nil {
			s.Update(cmd())
		}
		s.Update(frameMsg{})
	}
	ask("/grants")
	f.state.Grants = []api.Grant{{Tool: "pay", By: "ada"}}
	ask("/grants")
	want := "  nobody has allowed a tool for the whole session\n\n  always allowed in this session; /grants revoke TOOL takes it back:\n  pay, by ada"
	if diff := cmp.Diff(want, s.scrollback()); diff != "" {
		t.Error(diff)
	}
	ask("/grants revoke pay")
	if got := get(t, f.revoked); got != "pay" {
		t.Errorf("%q is revoked", got)
	}
	for line, said := range map[string]string{
		"/grants revoke":   "/grants revoke TOOL takes one back",
		"/grants drop pay": "/grants revoke TOOL takes one back",
	} {
		ask(line)
		if live := s.live(); !strings.Contains(live, said) || len(f.revoked) > 0 {
			t.Errorf("%s: it is\n%s", line, live)
		}
	}
	ask("/grants revoke fly ") // which is no error, and is said
	if got := get(t, f.revoked); got != "fly" || !strings.Contains(s.scrollback(), `  there is no permission for "fly"; /grants lists`) {
		t.Errorf("%q is revoked\n%s", got, s.scrollback())
	}
}

func TestASummaryIsAskedFor(t *testing.T) {
	t.Parallel()
	none := newStage(t, func(o *Options) { o.Conversation = newFake("") })
	if cmd := none.command("/compact"); cmd != nil || !strings.Contains(none.scrollback(), "nothing to summarise") {
		t.Errorf("without a session: %s", none.scrollback())
	}
	f := newFake("s1")
	s := newStage(t, func(o *Options) { o.Conversation = f })
	if msg := s.command("/compact")(); msg != (compactMsg{}) || get(t, f.compact) != "id" {
		t.Errorf("%#v", msg)
	}
	s.Update(compactMsg{err: api.Errorf(api.CodeSessionBusy, "a turn is under way")})
	if got := s.scrollback(); !strings.Contains(got, "error: session_busy: a turn is under way") {
		t.Errorf("%s", got)
	}
}
