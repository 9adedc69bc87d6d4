package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// AP5: mode auto.
func TestReviews(t *testing.T) {
	t.Parallel()
	due := func(tools ...string) []move { return []move{say("hi"), begin, asksFor(tools...)} }
	running := then(due("write"), begin)
	grantedMeanwhile := then(due("write", "write"), begin, begin, reviewed(1, verdict(api.ReviewUnsure)), decide(1, api.AllowSession, ""))
	tell(t, []story{
		{
			name:     "AP5 every call that the checks and grants leave open is reviewed, and nobody is asked",
			agent:    worker(auto),
			given:    []move{say("hi"), begin},
			when:     asksFor("write", "free", "read", "read_history"),
			events:   []string{"model_finished 1/1 tool_calls c1:review c2:review c3:review c4:builtin"},
			pending:  []string{"review c1/1", "review c2/1", "review c3/1", "tool c4/1"},
			due:      "+0s",
			activity: "active",
			check:    autoApproved(0),
		},
		{
			name:     "AP7 a privileged action is not for the reviewer",
			agent:    worker(auto, privileged),
			given:    []move{say("hi"), begin},
			when:     asksFor("spawn", "make_agent"),
			events:   []string{"model_finished 1/1 tool_calls c1:ask c2:denied", "interaction_required i1 approval c1"},
			activity: "waiting",
		},
		{
			name:     "AP9 a question is not for the reviewer",
			agent:    worker(auto, asking),
			given:    []move{say("hi"), begin},
			when:     asksFor("ask_user"),
			events:   []string{"model_finished 1/1 tool_calls c1:ask", "interaction_required i1 question c1"},
			activity: "waiting",
		},
		{
			name:     "AP4 a granted call is not reviewed",
			agent:    worker(auto),
			given:    then(running, reviewed(1, verdict(api.ReviewUnsure)), decide(1, api.AllowSession, ""), begin, returns(1, "ok"), begin),
			when:     asksFor("write"),
			events:   []string{"model_finished 2/1 tool_calls c2:grant"},
			pending:  []string{"tool c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a review begins with its intent, by the reviewer's model",
			agent:    worker(auto),
			given:    due("write"),
			when:     begin,
			events:   []string{"review_started c1/1"},
			pending:  []string{"review c1/1 runs"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.events[0].(engine.ReviewStarted).Model; got != (api.ModelRef{Provider: "R", Name: "judge"}) {
					t.Errorf("reviewed by %v", got)
				}
			},
		},
		{
			name:     "AP3 AP5 an allowed call runs, and has its pair of interaction events",
			agent:    worker(auto),
			given:    running,
			when:     reviewed(1, verdict(api.ReviewAllow)),
			events:   []string{"review_finished c1/1 allow", "interaction_required i1 approval c1 reviewed allow", "interaction_resolved i1 allow by reviewer"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				autoApproved(0)(t, p) // RU2: a reviewer's verdict is no policy
				want := api.Review{Verdict: api.ReviewAllow, Reason: "the reviewer's secret"}
				if diff := cmp.Diff(&want, p.events[2].(engine.InteractionResolved).Review); diff != "" {
					t.Errorf("the review of the pair (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "AP5 AP6 a denied call has its pair and its result, which leaves out the reviewer's reason",
			agent:    worker(auto),
			given:    running,
			when:     reviewed(1, verdict(api.ReviewDeny)),
			events:   []string{"review_finished c1/1 deny", "interaction_required i1 approval c1 reviewed deny", "interaction_resolved i1 deny by reviewer", "tool_finished c1/0 denied"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				outputIs("Do not retry it and do not try to reach the same effect in another way")(t, p)
				if out := p.events[3].(engine.ToolFinished).Output; strings.Contains(out, "secret") {
					t.Errorf("the model is told %q", out)
				}
				if got := p.events[0].(engine.ReviewFinished).Review.Reason; got != "the reviewer's secret" {
					t.Errorf("the journal holds the reason %q", got)
				}
			},
		},
		{
			name:     "AP5 an unsure reviewer leaves it to a person, who sees the review and the arguments",
			agent:    worker(auto),
			given:    running,
			when:     reviewed(1, verdict(api.ReviewUnsure)),
			events:   []string{"review_finished c1/1 unsure", "interaction_required i1 approval c1 reviewed unsure"},
			activity: "waiting",
			check: func(t *testing.T, p *play) {
				open("i1")(t, p)
				if got := p.events[1].(engine.InteractionRequired); got.Arguments != `{"a":1}` || got.Review.Reason != "the reviewer's secret" {
					t.Errorf("the person sees %+v", got)
				}
			},
		},
		{
			name:     "AP5 AP6 a reviewer that cannot be asked is no refusal: a person decides, and is told why",
			agent:    worker(auto),
			given:    running,
			when:     reviewed(1, api.Review{Verdict: api.ReviewUnsure, Code: api.CodeProviderOverloaded}),
			events:   []string{"review_finished c1/1 unsure provider_overloaded", "interaction_required i1 approval c1 reviewed unsure"},
			activity: "waiting",
		},
		{
			name:     "AP4 AP2 a grant that is given while the reviewer is asked covers the call that it denies",
			agent:    worker(auto),
			given:    grantedMeanwhile,
			when:     reviewed(2, verdict(api.ReviewDeny)),
			events:   []string{"review_finished c2/1 deny", "interaction_required i2 approval c2 reviewed deny", "interaction_resolved i2 allow by grant"},
			pending:  []string{"tool c1/1", "tool c2/1"},
			due:      "+0s",
			activity: "active",
			check:    open(),
		},
		{
			name:     "AP4 AP2 it covers the call of which the reviewer is unsure",
			agent:    worker(auto),
			given:    grantedMeanwhile,
			when:     reviewed(2, verdict(api.ReviewUnsure)),
			events:   []string{"review_finished c2/1 unsure", "interaction_required i2 approval c2 reviewed unsure", "interaction_resolved i2 allow by grant"},
			pending:  []string{"tool c1/1", "tool c2/1"},
			due:      "+0s",
			activity: "active",
			check:    open(),
		},
		{
			name:     "AP4 AP2 it covers the call that the reviewer allows as well",
			agent:    worker(auto),
			given:    grantedMeanwhile,
			when:     reviewed(2, verdict(api.ReviewAllow)),
			events:   []string{"review_finished c2/1 allow", "interaction_required i2 approval c2 reviewed allow", "interaction_resolved i2 allow by grant"},
			pending:  []string{"tool c1/1", "tool c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP4 a call that it covers so and that has not begun is asked about when it is revoked",
			agent:    worker(auto),
			given:    then(grantedMeanwhile, reviewed(2, verdict(api.ReviewUnsure))),
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write", "interaction_required i3 approval c2 reviewed unsure"},
			pending:  []string{"tool c1/1"}, // a person has allowed it
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP4 or denied, where the reviewer had denied it",
			agent:    worker(auto),
			given:    then(grantedMeanwhile, reviewed(2, verdict(api.ReviewDeny))),
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write", "interaction_required i3 approval c2 reviewed deny", "interaction_resolved i3 deny by reviewer", "tool_finished c2/0 denied"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP4 a grant that is revoked before the verdict covers nothing",
			agent:    worker(auto),
			given:    then(grantedMeanwhile, revoke("app.write")),
			when:     reviewed(2, verdict(api.ReviewDeny)),
			events:   []string{"review_finished c2/1 deny", "interaction_required i2 approval c2 reviewed deny", "interaction_resolved i2 deny by reviewer", "tool_finished c2/0 denied"},
			pending:  []string{"tool c1/1"}, // a person has allowed it
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP5 a verdict that nobody knows is unsure",
			agent:    worker(auto),
			given:    running,
			when:     reviewed(1, verdict("perhaps")),
			events:   []string{"review_finished c1/1 unsure", "interaction_required i1 approval c1 reviewed unsure"},
			activity: "waiting",
		},
		{
			name:     "AP3 the person's answer behind a review lets it run",
			agent:    worker(auto),
			given:    then(running, reviewed(1, verdict(api.ReviewUnsure))),
			when:     decide(1, api.AllowOnce, ""),
			events:   []string{"interaction_resolved i1 allow"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
			check:    autoApproved(0),
		},
		{
			name:     "AP6 the person's denial behind a review is passed on with the person's reason only",
			agent:    worker(auto),
			given:    then(running, reviewed(1, verdict(api.ReviewUnsure))),
			when:     decide(1, api.Deny, "not on fridays"),
			events:   []string{"interaction_resolved i1 deny", "tool_finished c1/0 denied"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check:    outputIs(`"not on fridays"`),
		},
		{
			name:     "AP3 nobody answers what the reviewer has decided",
			agent:    worker(auto),
			given:    then(running, reviewed(1, verdict(api.ReviewAllow))),
			when:     decide(1, api.Deny, ""),
			code:     api.CodeAlreadyResolved,
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP8 calls are reviewed side by side, and an allowed one waits for no other",
			agent:    worker(auto),
			given:    then(due("write", "put"), begin),
			when:     reviewed(2, verdict(api.ReviewAllow)),
			events:   []string{"review_finished c2/1 allow", "interaction_required i1 approval c2 reviewed allow", "interaction_resolved i1 allow by reviewer"},
			pending:  []string{"review c1/1 runs", "tool c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 a review that was lost in a take-over is charged as estimated, and made again",
			agent:    worker(auto),
			given:    running,
			when:     takeOver,
			events:   []string{"taken_over 2", "review_finished c1/1 unsure call_lost lost"},
			pending:  []string{"review c1/2"},
			due:      "+0s",
			activity: "active",
			check:    auxiliary(api.Usage{OutputTokens: api.MaxReviewTokens, Estimated: true}),
		},
		{
			name:  "a review that was lost decides nothing when it comes late",
			agent: worker(auto),
			given: then(running, takeOver, begin),
			when: func(p *play) {
				p.do(engine.Reviewed{CallID: p.calls[0], Attempt: 1, Epoch: 1, Review: verdict(api.ReviewAllow)})
			},
			pending:  []string{"review c1/2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a review that did not begin is nobody's loss",
			agent:    worker(auto),
			given:    due("write"),
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"review c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a second verdict of one review changes nothing",
			agent:    worker(auto),
			given:    then(running, reviewed(1, verdict(api.ReviewUnsure))),
			when:     reviewed(1, verdict(api.ReviewAllow)),
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "a review that the host gave up counts for nothing and is made again",
			agent:    worker(auto),
			given:    running,
			when:     reviewCancelled(1),
			events:   []string{"review_finished c1/1 unsure cancelled lost"},
			pending:  []string{"review c1/2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a cancel waits for a review that runs, and asks for none that does not",
			agent:    worker(auto),
			given:    then(due("write", "put"), func(p *play) { p.must(engine.Begin{Effect: engine.Pending(p.state)[0], Epoch: 1}) }),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c2/0 cancelled"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := engine.Begun(p.state); len(got) != 1 || got[0].Kind != engine.ReviewEffect || got[0].CallID != p.calls[0] {
					t.Errorf("begun %+v", got)
				}
			},
		},
		{
			name:     "RU5 a review that is given up for a cancel ends the call and the run",
			agent:    worker(auto),
			given:    then(running, cancelCurrent),
			when:     reviewCancelled(1),
			events:   []string{"review_finished c1/1 unsure cancelled lost", "tool_finished c1/0 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 a verdict behind the cancel lets nothing run, and its usage counts",
			agent:    worker(auto),
			given:    then(running, cancelCurrent),
			when:     reviewed(1, verdict(api.ReviewAllow)),
			events:   []string{"review_finished c1/1 allow", "tool_finished c1/0 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if diff := cmp.Diff(reviewUsage, p.events[2].(engine.TurnEnded).Auxiliary); diff != "" {
					t.Errorf("auxiliary usage (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "LI6 a review is counted in the usage and not in the turn's budget",
			agent:    worker(auto, limited(limits(0, 50, 40, 5))),
			given:    running,
			when:     reviewed(1, verdict(api.ReviewAllow)),
			events:   []string{"review_finished c1/1 allow", "interaction_required i1 approval c1 reviewed allow", "interaction_resolved i1 allow by reviewer"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				auxiliary(reviewUsage)(t, p)
				want := api.Usage{InputTokens: 107, OutputTokens: 30}
				if got := p.state.Turn; got.Output != 10 || got.Usage != want || p.state.Usage != want || got.Calls != 1 {
					t.Errorf("output %d, usage %+v, of the session %+v, calls %d", got.Output, got.Usage, p.state.Usage, got.Calls)
				}
			},
		},
	})
}

// A process that stored the bare verdict and ended leaves the rest to whoever folds it.
func TestAVerdictIsCarriedOutByWhoeverFoldsIt(t *testing.T) {
	t.Parallel()
	for v, want := range map[api.ReviewVerdict][]string{
		api.ReviewAllow:  {"interaction_required i1 approval c1 reviewed allow", "interaction_resolved i1 allow by reviewer"},
		api.ReviewDeny:   {"interaction_required i1 approval c1 reviewed deny", "interaction_resolved i1 deny by reviewer", "tool_finished c1/0 denied"},
		api.ReviewUnsure: {"interaction_required i1 approval c1 reviewed unsure"},
	} {
		p := newPlay(t, worker(auto)).play(say("hi"), begin, asksFor("write"), begin)
		bare := engine.ReviewFinished{Run: p.runs[0], CallID: p.calls[0], Attempt: 1, Epoch: 1, Review: verdict(v), Usage: reviewUsage}
		after, err := engine.Apply(p.state, engine.Fact{Number: p.state.Head + 1, Time: p.state.Time, Event: bare})
		if err != nil {
			t.Fatal(err)
		}
		if !engine.Underived(after) || engine.Activity(after) != engine.ActivityActive || len(engine.Pending(after)) != 0 {
			t.Errorf("%s: behind the bare verdict underived is %t, activity %s, pending %v", v, engine.Underived(after), engine.Activity(after), engine.Pending(after))
		}
		p.append(p.state.Time, bare)
		p.state = after
		p.play(advance)
		if diff := cmp.Diff(want, p.lines(p.events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", v, diff)
		}
	}
}

// RU5: whoever follows a session is not told that a review begins again where its turn is being cancelled.
func TestOnlyAReviewThatIsMadeAgainSaysSo(t *testing.T) {
	t.Parallel()
	running := []move{say("hi"), begin, asksFor("write"), begin}
	for name, test := range map[string]struct {
		moves []move
		again bool
	}{
		"a review that was lost in a take-over":    {then(running, takeOver), true},
		"a review that was given up for a cancel":  {then(running, cancelCurrent, reviewCancelled(1)), false},
		"a review that has come to its verdict":    {then(running, reviewed(1, verdict(api.ReviewUnsure))), false},
		"a verdict that came behind a cancel":      {then(running, cancelCurrent, reviewed(1, verdict(api.ReviewAllow))), false},
		"a review whose provider did not serve it": {then(running, reviewed(1, api.Review{Verdict: api.ReviewUnsure, Code: api.CodeRateLimited})), false},
	} {
		p := newPlay(t, worker(auto)).play(test.moves...)
		told := 0
		for _, fact := range p.facts {
			e, err := engine.Public(fact)
			if err != nil {
				t.Fatal(err)
			}
			if e.Type != api.EventReviewFinished {
				continue
			}
			var finished api.ReviewFinished
			if err := json.Unmarshal(e.Data, &finished); err != nil {
				t.Fatal(err)
			}
			if told++; finished.Again != test.again {
				t.Errorf("%s is told as %s", name, e.Data)
			}
		}
		if told != 1 {
			t.Errorf("%s: %d ends are told", name, told)
		}
	}
}

// auxiliary checks what was used beside the turn's own budget.
func auxiliary(want api.Usage) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		if diff := cmp.Diff(want, p.state.Turn.Auxiliary); diff != "" {
			t.Errorf("auxiliary usage (-want +got):\n%s", diff)
		}
	}
}
