package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	running := func(tools ...string) []move { return []move{say("hi"), begin, asksFor(tools...), begin} }
	tell(t, []story{
		{
			name:     "RU5 cancelling an idle session does nothing",
			when:     cancelCurrent,
			activity: "idle",
		},
		{
			name:     "RU5 before the first call, the run ends at once",
			given:    []move{say("hi")},
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 during a model call, the wish is recorded and the call not wanted any more",
			given:    []move{say("hi"), begin},
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 the run ends when the model call has",
			given:    []move{say("hi"), begin, cancelCurrent},
			when:     fails(api.CodeCancelled, false, func(e *engine.ModelError) { e.Cancelled = true }),
			events:   []string{"model_failed 1/1 cancelled lost", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 a failure that may pass is not tried again",
			given:    []move{say("hi"), begin, cancelCurrent},
			when:     fails(api.CodeStreamCut, true),
			events:   []string{"model_failed 1/1 stream_cut", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "C02 RU5 an answer that came all the same is kept, and each of its calls has a result",
			agent:    worker(only),
			given:    []move{say("hi"), begin, cancelCurrent},
			when:     asksFor("free", "write", "nothing"),
			events:   []string{"model_finished 1/1 tool_calls c1:policy c2:ask c3:unknown_tool", "tool_finished c1/0 cancelled", "tool_finished c2/0 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 while a retry is waited for, the run ends at once",
			given:    []move{say("hi"), begin, fails(api.CodeStreamCut, true)},
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 while a person is asked, the question is closed and the call has a result",
			agent:    worker(always),
			given:    []move{say("hi"), begin, asksFor("write", "write"), decide(2, api.AllowOnce, "")},
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "interaction_resolved i1 cancelled", "tool_finished c1/0 cancelled", "tool_finished c2/0 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "C02 RU5 while two tools run, both are waited for",
			given:    running("write", "read"),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C02 RU5 the first outcome is kept, the second still waited for",
			given:    append(running("write", "read"), cancelCurrent),
			when:     returns(2, "late but there"),
			events:   []string{"tool_finished c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C02 RU5 the last outcome ends the run",
			given:    append(running("write", "read"), cancelCurrent, returns(2, "x")),
			when:     outcome(1, "stopped", api.CodeCancelled),
			events:   []string{"tool_finished c1/1 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 what runs is waited for while what has not begun is closed",
			given:    append([]move{say("hi"), begin, asksFor("write", "write")}, func(p *play) { p.must(engine.Begin{Effect: engine.Pending(p.state)[0], Epoch: 1}) }),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c2/0 cancelled"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a second cancel adds nothing",
			given:    append(running("write"), cancelCurrent),
			when:     cancelCurrent,
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 no intent is recorded after a cancel",
			given:    append(running("write"), cancelCurrent),
			when:     do(engine.Begin{Effect: engine.Effect{Kind: engine.ModelEffect, Run: "s-r2", Call: 2, Attempt: 1}, Epoch: 1}),
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a body that does not stop in time counts as unknown",
			given:    append(running("write"), cancelCurrent),
			when:     overdue(1),
			events:   []string{"tool_finished c1/1 outcome_unknown", "turn_ended r1 cancelled"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				want := []engine.UnsettledCall{{CallID: p.calls[0], Tool: "app.write", Run: p.runs[0], Attempt: 1, Epoch: 1}}
				if diff := cmp.Diff(want, p.state.Unsettled); diff != "" {
					t.Errorf("unsettled (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "a read that does not stop in time changed nothing",
			given:    append(running("read"), cancelCurrent),
			when:     overdue(1),
			events:   []string{"tool_finished c1/1 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "no body is overdue in a turn that goes on",
			given:    running("write"),
			when:     overdue(1),
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "no body is overdue that has returned",
			given:    append(running("write", "write"), cancelCurrent, returns(1, "x")),
			when:     overdue(1),
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a late outcome of an overdue body is a fact of its own",
			given:    append(running("write"), cancelCurrent, overdue(1)),
			when:     returnsOf(1, 1, 1, "it was done"),
			events:   []string{"tool_late c1/1"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if len(p.state.Unsettled) != 0 {
					t.Errorf("still unsettled: %+v", p.state.Unsettled)
				}
			},
		},
		{
			name:     "C07 a late outcome that comes twice is taken once",
			given:    append(running("write"), cancelCurrent, overdue(1), returnsOf(1, 1, 1, "it was done")),
			when:     returnsOf(1, 1, 1, "it was done"),
			activity: "idle",
		},
		{
			name:     "a late outcome of another attempt is dropped",
			given:    append(running("write"), cancelCurrent, overdue(1)),
			when:     returnsOf(1, 2, 1, "?"),
			activity: "idle",
		},
		{
			name:     "a late outcome of another claim is dropped",
			given:    append(running("write"), cancelCurrent, overdue(1)),
			when:     returnsOf(1, 1, 2, "?"),
			activity: "idle",
		},
		{
			name:     "C07 an outcome that comes twice is taken once",
			given:    append(running("write", "read"), returns(1, "a")),
			when:     returns(1, "b"),
			pending:  []string{"tool c2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C07 an outcome of another attempt is dropped",
			given:    running("write"),
			when:     returnsOf(1, 2, 1, "?"),
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE4 an outcome of another claim is dropped",
			given:    running("write"),
			when:     returnsOf(1, 1, 2, "?"),
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "an outcome of a call that never began is dropped",
			given:    []move{say("hi"), begin, asksFor("write")},
			when:     returnsOf(1, 0, 0, "?"),
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "an outcome of an unknown call is dropped",
			given:    running("write"),
			when:     do(engine.ToolOutcome{CallID: "s-c99-1", Attempt: 1, Epoch: 1}),
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a tool's failure is its result, and the model goes on",
			given:    running("write"),
			when:     outcome(1, "boom", api.CodeToolPanicked),
			events:   []string{"tool_finished c1/1 tool_panicked"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 cancelling a queued run takes it from the queue and leaves the current one",
			given:    []move{say("hi"), queued("second"), queued("third")},
			when:     cancelRun(2),
			events:   []string{"turn_ended r2 cancelled"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check:    queueIs("r3"),
		},
		{
			name:     "RU5 cancelling a run that is over does nothing",
			given:    []move{say("hi"), begin, says("done"), say("next")},
			when:     cancelRun(1),
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 the queue goes on after a cancel",
			given:    []move{say("hi"), queued("second")},
			when:     cancelRun(1),
			events:   []string{"cancel_requested r1 by ", "turn_ended r1 cancelled", "turn_started r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 an action whose outcome is asked about is closed as unknown",
			given:    append(running("write"), takeOver, inspected(1, engine.InspectedUnknown, "")),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "interaction_resolved i1 cancelled", "tool_finished c1/1 outcome_unknown", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 an action that is being inspected is closed as unknown",
			given:    append(running("write"), takeOver),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c1/1 outcome_unknown", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 an action that a person let run again is closed as unknown, since the first attempt may have acted",
			given:    append(running("write"), takeOver, inspected(1, engine.InspectedUnknown, ""), decide(1, api.OutcomeRetry, "")),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c1/1 outcome_unknown", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 a repeatable action that was lost may have acted",
			given:    append(running("put"), takeOver),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c1/1 outcome_unknown", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 an action that is known not to have started did not run",
			given:    append(running("write"), takeOver, inspected(1, engine.InspectedNotStarted, "")),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c1/1 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "a lost read did not change anything, and what comes after it is not told as interrupted",
			given:    append([]move{say("hi"), begin, asksFor("read", "write")}, func(p *play) { p.must(engine.Begin{Effect: engine.Pending(p.state)[0], Epoch: 1}) }, takeOver),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c1/1 cancelled", "tool_finished c2/0 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				read, write := p.events[1].(engine.ToolFinished), p.events[2].(engine.ToolFinished)
				if !strings.Contains(read.Output, "interrupted") || !strings.Contains(write.Output, "did not run") {
					t.Errorf("the model is told %q and %q", read.Output, write.Output)
				}
			},
		},
	})
}

func TestInterruptedBodies(t *testing.T) {
	t.Parallel()
	stop := func(n int, notStarted bool) move {
		return func(p *play) {
			c := p.tool(n)
			p.do(engine.Interrupted{CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch, NotStarted: notStarted})
		}
	}
	running := func(tool string) []move { return []move{say("hi"), begin, asksFor(tool), begin} }
	tell(t, []story{
		{
			name: "RE3 a side effect that did not come back is inspected like after a crash", given: running("write"), when: stop(1, false),
			events: []string{"tool_lost c1/1"}, pending: []string{"inspect c1/1"}, due: "+0s", activity: "active",
		},
		{
			name: "RE3 one that never started may start", given: running("write"), when: stop(1, true),
			events: []string{"tool_lost c1/1 again"}, pending: []string{"tool c1/2"}, due: "+0s", activity: "active",
		},
		{
			name: "RU5 one that never started is told as not run when the turn is cancelled", given: append(running("write"), stop(1, true)), when: cancelCurrent,
			events: []string{"cancel_requested r1 by ann", "tool_finished c1/1 cancelled", "turn_ended r1 cancelled"}, activity: "idle",
		},
		{
			name:  "RU5 unless an attempt before it may have acted",
			given: append(running("write"), takeOver, inspected(1, engine.InspectedUnknown, ""), decide(1, api.OutcomeRetry, ""), begin, stop(1, true)), when: cancelCurrent,
			events: []string{"cancel_requested r1 by ann", "tool_finished c1/2 outcome_unknown", "turn_ended r1 cancelled"}, activity: "idle",
		},
		{
			name: "RE3 a repeatable one runs again", given: running("put"), when: stop(1, false),
			events: []string{"tool_lost c1/1 again"}, pending: []string{"tool c1/2"}, due: "+0s", activity: "active",
		},
		{
			name: "RU5 in a cancelled turn it is closed as unknown", given: append(running("write"), cancelCurrent), when: stop(1, false),
			events: []string{"tool_lost c1/1", "tool_finished c1/1 outcome_unknown", "turn_ended r1 cancelled"}, activity: "idle",
		},
		{
			name: "an interruption of a body that has returned is dropped", given: append(running("write"), returns(1, "x")),
			when:    func(p *play) { p.do(engine.Interrupted{CallID: p.calls[0], Attempt: 1, Epoch: 1}) },
			pending: []string{"model 2/1"}, due: "+0s", activity: "active",
		},
		{
			name: "an interruption of another claim is dropped", given: running("write"),
			when:    func(p *play) { p.do(engine.Interrupted{CallID: p.calls[0], Attempt: 1, Epoch: 2, NotStarted: true}) },
			pending: []string{"tool c1/1 runs"}, due: "+0s", activity: "active",
		},
		{
			name: "an interruption in an idle session is dropped", when: do(engine.Interrupted{CallID: "s-c4-1", Attempt: 1, Epoch: 1}), activity: "idle",
		},
	})
}

func TestTheTextForAnUnknownOutcomeSaysToInspectFirst(t *testing.T) { // C15
	t.Parallel()
	for name, moves := range map[string][]move{
		"after a crash":         {takeOver, inspected(1, engine.InspectedNone, "")},
		"after a cancel":        {cancelCurrent, overdue(1)},
		"after both":            {takeOver, cancelCurrent},
		"after a crash, failed": {takeOver, takeOver, takeOver},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, worker(tellModel)).play(say("hi"), begin, asksFor("write"), begin).play(moves...)
			for _, e := range p.events {
				if f, ok := e.(engine.ToolFinished); ok {
					if f.Code != api.CodeOutcomeUnknown || !strings.Contains(f.Output, "Do not repeat it before you have inspected") {
						t.Errorf("got %s: %q", f.Code, f.Output)
					}
					return
				}
			}
			t.Errorf("no result among %v", p.lines(p.events))
		})
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(wait(-time.Hour), say("hi"))
	if !p.state.Time.Equal(start) {
		t.Errorf("an event of %v follows one of %v", p.state.Time, start)
	}
	p.play(wait(time.Hour+time.Second+1234*time.Microsecond), begin)
	if want := start.Add(time.Second + time.Millisecond); p.state.Time != want {
		t.Errorf("the time is %v, want %v, in the millisecond that stores keep", p.state.Time, want)
	}
}
