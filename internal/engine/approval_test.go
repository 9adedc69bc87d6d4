package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func TestApprovals(t *testing.T) {
	t.Parallel()
	asked := func(tools ...string) []move { return []move{say("hi"), begin, asksFor(tools...)} }
	tell(t, []story{
		{
			name:     "AP1 mode always asks for every call",
			agent:    worker(always),
			given:    []move{say("hi"), begin},
			when:     asksFor("write", "read"),
			events:   []string{"model_finished 1/1 tool_calls c1:ask c2:ask", "interaction_required i1 approval c1", "interaction_required i2 approval c2"},
			activity: "waiting",
		},
		{
			name:     "AP1 mode never asks for none",
			given:    []move{say("hi"), begin},
			when:     asksFor("write"),
			events:   []string{"model_finished 1/1 tool_calls c1:never"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP1 C22 mode only asks for the listed, and policy lets the others pass, which is counted",
			agent:    worker(only),
			given:    []move{say("hi"), begin},
			when:     asksFor("free", "write", "write"),
			events:   []string{"model_finished 1/1 tool_calls c1:policy c2:ask c3:ask", "interaction_required i1 approval c2", "interaction_required i2 approval c3"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.state.Turn.AutoApproved; got != 1 {
					t.Errorf("auto-approved %d, want 1", got)
				}
			},
		},
		{
			name:     "a built-in that acts on the session only needs no approval",
			agent:    worker(always),
			given:    []move{say("hi"), begin},
			when:     asksFor("read_history"),
			events:   []string{"model_finished 1/1 tool_calls c1:builtin"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP2 a call that cannot run is refused before anybody is asked",
			agent:    worker(always),
			given:    []move{say("hi"), begin},
			when:     asksFor("nothing", "ask_user"),
			events:   []string{"model_finished 1/1 tool_calls c1:unknown_tool c2:tool_disabled"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 C25 an answer alone lets the call start",
			agent:    worker(always),
			given:    asked("write"),
			when:     decide(1, api.AllowOnce, ""),
			events:   []string{"interaction_resolved i1 allow"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 C26 the answer stands after a restart",
			agent:    worker(always),
			given:    then(asked("write"), takeOver, decide(1, api.AllowOnce, ""), takeOver),
			when:     begin,
			events:   []string{"tool_started c1/1 app.write"},
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP6 a denial is the call's result",
			agent:    worker(always),
			given:    asked("write"),
			when:     decide(1, api.Deny, "not today"),
			events:   []string{"interaction_resolved i1 deny", "tool_finished c1/0 denied"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				out := p.events[1].(engine.ToolFinished).Output
				if !strings.Contains(out, `"not today"`) || !strings.Contains(out, "Do not retry") {
					t.Errorf("the model is told %q", out)
				}
			},
		},
		{
			name:     "AP4 a session grant lets this call and later ones pass",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.AllowSession, ""), begin, returns(1, "ok"), begin),
			when:     asksFor("write", "read"),
			events:   []string{"model_finished 2/1 tool_calls c2:grant c3:ask", "interaction_required i2 approval c3"},
			pending:  []string{"tool c2/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				want := []api.Grant{{Tool: "app.write", Given: start, By: "ann"}}
				if diff := cmp.Diff(want, p.state.Grants); diff != "" {
					t.Errorf("grants (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "AP4 a grant survives into the next turn, and is there once",
			agent:    worker(always),
			given:    then(asked("write", "write"), decide(1, api.AllowSession, ""), decide(2, api.AllowSession, ""), begin, returns(1, "ok"), returns(2, "ok"), begin, says("done"), say("again"), begin),
			when:     asksFor("write"),
			events:   []string{"model_finished 1/1 tool_calls c3:grant"},
			pending:  []string{"tool c3/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if n := len(p.state.Grants); n != 1 {
					t.Errorf("%d grants, want 1", n)
				}
			},
		},
		{
			name:     "AP8 a grant does not answer for a call that is asked about already",
			agent:    worker(always),
			given:    asked("write", "write"),
			when:     decide(2, api.AllowSession, ""),
			events:   []string{"interaction_resolved i2 allow_session"},
			pending:  []string{"tool c2/1"},
			due:      "+0s",
			activity: "active",
			check:    open("i1"),
		},
		{
			name:     "AP8 C22 an approved call need not wait for the others",
			agent:    worker(always),
			given:    then(asked("write", "write", "write"), decide(3, api.AllowOnce, "")),
			when:     begin,
			events:   []string{"tool_started c3/1 app.write"},
			pending:  []string{"tool c3/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    open("i1", "i2"),
		},
		{
			name:     "AP8 C22 one denied, one done, the last answer and outcome lead to the next call",
			agent:    worker(always),
			given:    then(asked("write", "write", "write"), decide(3, api.AllowOnce, ""), begin, decide(1, api.Deny, ""), takeOver, inspected(3, engine.InspectedSucceeded, "did it"), decide(2, api.AllowOnce, ""), begin),
			when:     returns(2, "ok"),
			events:   []string{"tool_finished c2/1"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 C11 the same answer again changes nothing",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.Deny, "no")),
			when:     decide(1, api.Deny, "no"),
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:  "AP3 the same answer of somebody else changes nothing",
			agent: worker(always),
			given: then(asked("write"), decide(1, api.AllowOnce, "")),
			when: func(p *play) {
				p.do(engine.Answer{Interaction: p.asks[0], Answer: api.Answer{Decision: api.AllowOnce, By: "bob"}})
			},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 C11 a different answer is refused",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.Deny, "no")),
			when:     decide(1, api.AllowOnce, ""),
			code:     api.CodeAlreadyResolved,
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 C11 the same decision for another reason is a different answer",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.Deny, "no")),
			when:     decide(1, api.Deny, "never"),
			code:     api.CodeAlreadyResolved,
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C11 an answer after the run's end is told what it was resolved as",
			agent:    worker(always),
			given:    then(asked("write"), cancelCurrent),
			when:     decide(1, api.AllowOnce, ""),
			code:     api.CodeAlreadyResolved,
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if !strings.Contains(p.err.Error(), `"cancelled"`) {
					t.Errorf("the refusal %v does not say that it was cancelled", p.err)
				}
			},
		},
		{
			name:     "C11 the same answer after the run's end is a no-op too",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.Deny, "no"), begin, says("well")),
			when:     decide(1, api.Deny, "no"),
			activity: "idle",
		},
		{
			name:     "C11 nobody answers with cancelled",
			agent:    worker(always),
			given:    asked("write"),
			when:     decide(1, api.InteractionCancelled, ""),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "C20 an answer to an unknown interaction is refused",
			agent:    worker(always),
			given:    asked("write"),
			when:     do(engine.Answer{Interaction: "s-i99", Answer: api.Answer{Decision: api.AllowOnce}}),
			code:     api.CodeInteractionNotFound,
			activity: "waiting",
		},
		{
			name:     "an approval is not answered like a question about an outcome",
			agent:    worker(always),
			given:    asked("write"),
			when:     decide(1, api.OutcomeRetry, ""),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "C24 a provider's failure after the answer leaves the answer alone",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.Deny, ""), begin),
			when:     fails(api.CodeProviderOverloaded, true),
			events:   []string{"model_failed 2/1 provider_overloaded again +250ms"},
			pending:  []string{"model 2/2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
			check:    open(),
		},
		{
			name:     "C10 the approval is consumed once: after a crash the action is unknown, not approved again",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.AllowOnce, ""), begin),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_lost c1/1"},
			pending:  []string{"inspect c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C13 C22 each call of two pauses has an approval of its own",
			agent:    worker(always),
			given:    then(asked("write"), decide(1, api.AllowOnce, ""), begin, returns(1, "ok"), begin),
			when:     asksFor("write"),
			events:   []string{"model_finished 2/1 tool_calls c2:ask", "interaction_required i2 approval c2"},
			activity: "waiting",
		},
	})
}

// open checks which interactions are open.
func open(want ...string) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		var got []string
		for _, in := range p.state.Interactions {
			got = append(got, p.short(in.ID+"\x00"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("open interactions (-want +got):\n%s", diff)
		}
	}
}

// AP3: who reads the journal takes these names for no person's.
func TestNobodyAnswersInTheNameOfWhatDecidesWithoutAPerson(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent  engine.Agent
		asks   engine.Item
		answer api.Answer
	}{
		"an approval": {worker(always), call("write"), api.Answer{Decision: api.AllowOnce}},
		"a grant":     {worker(always), call("write"), api.Answer{Decision: api.AllowSession}},
		"a question":  {worker(asking), askUser(colours), api.Answer{Decision: api.Skipped}},
	} {
		p := newPlay(t, test.agent).play(say("hi"), begin, reply(engine.StopToolCalls, test.asks))
		for _, by := range []string{engine.ByReviewer, engine.ByAgent, engine.ByGrant} {
			test.answer.By = by
			if p.do(engine.Answer{Interaction: p.asks[0], Answer: test.answer}); api.CodeOf(p.err) != api.CodeInvalidRequest || !strings.Contains(p.err.Error(), by) {
				t.Errorf("%s by %q: %v, want invalid_request that names it", name, by, p.err)
			}
			open("i1")(t, p)
		}
		test.answer.By = "reviewer 2"
		p.must(engine.Answer{Interaction: p.asks[0], Answer: test.answer})
		open()(t, p)
	}
}

// C22: three calls, of which two are gated, answered in each order, with a restart at each point: each runs once.
func TestGatedCallsRunOnceInAnyOrderOfAnswersAndRestarts(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		for restart := range 6 {
			t.Run(fmt.Sprintf("answers %v, restart at %d", order, restart), func(t *testing.T) {
				t.Parallel()
				p := newPlay(t, worker(only)).play(say("hi"), begin, asksFor("free", "write", "write"))
				ran := map[string]int{}
				point := 0
				step := func() {
					if point++; point == restart {
						p.play(takeOver)
					}
					p.play(begin)
					for _, e := range p.events {
						started := e.(engine.ToolStarted)
						ran[started.CallID]++
						p.must(engine.ToolOutcome{CallID: started.CallID, Attempt: started.Attempt, Epoch: started.Epoch, Output: "ok"})
					}
				}
				step()
				for _, ask := range order {
					p.play(decide(ask, api.AllowOnce, ""))
					step()
				}
				want := map[string]int{p.calls[0]: 1, p.calls[1]: 1, p.calls[2]: 1}
				if diff := cmp.Diff(want, ran); diff != "" {
					t.Errorf("runs of each call (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"model 2/1"}, pending(p)); diff != "" {
					t.Errorf("pending (-want +got):\n%s", diff)
				}
			})
		}
	}
}
