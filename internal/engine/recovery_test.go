package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func TestTakeOver(t *testing.T) {
	t.Parallel()
	running := func(tools ...string) []move { return []move{say("hi"), begin, asksFor(tools...), begin} }
	tell(t, []story{
		{
			name:     "an idle session is taken over with no more to it",
			when:     takeOver,
			events:   []string{"taken_over 2"},
			activity: "idle",
		},
		{
			name:     "C04 a turn that had not begun goes on",
			given:    []move{say("hi")},
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 a model call is lost and the next one made",
			given:    []move{say("hi"), begin},
			when:     takeOver,
			events:   []string{"taken_over 2", "model_failed 1/1 call_lost lost"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE2 the lost call's answer is not taken any more",
			given:    []move{say("hi"), begin, takeOver},
			when:     do(engine.ModelDone{Run: "s-r2", Call: 1, Attempt: 1, Epoch: 1, Stop: engine.StopEnd}),
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI5 a retry's time stands",
			given:    []move{say("hi"), begin, fails(api.CodeStreamCut, true)},
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"model 1/2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
		},
		{
			name:     "RE2 C04 calls of a recorded answer go on without asking the model again",
			given:    []move{say("hi"), begin, asksFor("write")},
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C10 RE3 a started side effect is unknown and is inspected, not run",
			given:    running("write"),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_lost c1/1"},
			pending:  []string{"inspect c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE3 a started repeatable action runs again under the same call ID",
			given:    running("put", "read"),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_lost c1/1 again", "tool_lost c2/1 again"},
			pending:  []string{"tool c1/2", "tool c2/2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C12 C14 a finished call's result stays, one that had not started goes on",
			given:    append([]move{say("hi"), begin, asksFor("write", "write")}, func(p *play) { p.must(engine.Begin{Effect: engine.Pending(p.state)[0], Epoch: 1}) }, returns(1, "a")),
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"tool c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C14 all results are there: the model is called next, nothing is repeated",
			given:    append(running("write"), returns(1, "a")),
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a cancelled turn ends with its lost model call",
			given:    []move{say("hi"), begin, cancelCurrent},
			when:     takeOver,
			events:   []string{"taken_over 2", "model_failed 1/1 call_lost lost", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 a cancelled turn ends with its lost action told as unknown",
			given:    append(running("write", "read"), cancelCurrent),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_lost c1/1", "tool_lost c2/1 again", "tool_finished c1/1 outcome_unknown", "tool_finished c2/1 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "C17 RE7 three take-overs without progress fail the run, and its calls have results",
			given:    append(running("put", "write"), takeOver, begin, takeOver, begin),
			when:     takeOver,
			events:   []string{"taken_over 4", "tool_lost c1/3 again", "tool_finished c1/3 outcome_unknown", "tool_finished c2/1 outcome_unknown", "turn_ended r1 failed recovery_exhausted"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				end := p.events[len(p.events)-1].(engine.TurnEnded)
				if !strings.Contains(end.Message, "3 take-overs") || !strings.Contains(end.Message, "dead") || end.Retryable {
					t.Errorf("the end: %+v", end)
				}
			},
		},
		{
			name:     "C17 RE7 so it is for a model call that kills its process",
			given:    []move{say("hi"), queued("next"), begin, takeOver, begin, takeOver, begin},
			when:     takeOver,
			events:   []string{"taken_over 4", "model_failed 3/1 call_lost lost", "turn_ended r1 failed recovery_exhausted", "turn_started r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a cancelled turn that is taken over the third time ends as cancelled",
			given:    append(running("put"), takeOver, begin, takeOver, begin, cancelCurrent),
			when:     takeOver,
			events:   []string{"taken_over 4", "tool_lost c1/3 again", "tool_finished c1/3 outcome_unknown", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RE7 and for what kills its process before any intent",
			given:    []move{say("hi"), takeOver, takeOver},
			when:     takeOver,
			events:   []string{"taken_over 4", "turn_ended r1 failed recovery_exhausted"},
			activity: "idle",
		},
		{
			name:     "RE7 an answer is progress",
			given:    []move{say("hi"), takeOver, takeOver, begin, asksFor("write"), takeOver},
			when:     takeOver,
			events:   []string{"taken_over 5"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 a result is progress",
			given:    append(running("put", "put"), takeOver, begin, takeOver, begin, returns(2, "x")),
			when:     takeOver,
			events:   []string{"taken_over 4", "tool_lost c1/3 again"},
			pending:  []string{"tool c1/4"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 a person's answer is progress",
			given:    append(running("write", "write"), takeOver, inspected(1, engine.InspectedUnknown, ""), takeOver, decide(1, api.OutcomeFailed, "")),
			when:     takeOver,
			events:   []string{"taken_over 4"},
			pending:  []string{"inspect c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C20 C27 a turn that waits for a person outlives any number of restarts",
			agent:    worker(always),
			given:    []move{say("hi"), begin, asksFor("write"), times(10, takeOver)},
			when:     takeOver,
			events:   []string{"taken_over 12"},
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "RE3 an outcome that comes after all settles an action that was lost, in place of the inspection",
			given:    append(running("write"), takeOver),
			when:     returnsOf(1, 1, 1, "done"),
			events:   []string{"tool_finished c1/1"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE3 an outcome that comes after all closes the question about it",
			given:    append(running("write"), takeOver, inspected(1, engine.InspectedUnknown, "")),
			when:     returnsOf(1, 1, 1, "done"),
			events:   []string{"interaction_resolved i1 cancelled", "tool_finished c1/1"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE4 an outcome of the attempt before is dropped once the next has begun",
			given:    append(running("put"), takeOver, begin),
			when:     returnsOf(1, 1, 1, "old"),
			pending:  []string{"tool c1/2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a late outcome is told to the next turn, also while one is under way",
			agent:    worker(tellModel),
			given:    append(running("write"), takeOver, inspected(1, engine.InspectedNone, "")),
			when:     returnsOf(1, 1, 1, "done"),
			events:   []string{"tool_late c1/1"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
	})
}

func TestInspections(t *testing.T) {
	t.Parallel()
	lost := []move{say("hi"), begin, asksFor("write"), begin, takeOver}
	then := func(more ...move) []move { return append(lost[:len(lost):len(lost)], more...) }
	runs := func(n int) move { return times(n, inspected(1, engine.InspectedRunning, ""), wait(time.Minute)) }
	next := []string{"model 2/1"}
	tell(t, []story{
		{
			name: "RE3 succeeded: its output is the result", given: then(), when: inspected(1, engine.InspectedSucceeded, "did it"),
			events: []string{"tool_inspected c1/1 succeeded", "tool_finished c1/1"}, pending: next, due: "+0s", activity: "active",
		},
		{
			name: "RE3 failed: the result is a failure", given: then(), when: inspected(1, engine.InspectedFailed, "no such file"),
			events: []string{"tool_inspected c1/1 failed", "tool_finished c1/1 tool_failed"}, pending: next, due: "+0s", activity: "active",
		},
		{
			name: "RE3 not started: the action may start", given: then(), when: inspected(1, engine.InspectedNotStarted, ""),
			events: []string{"tool_inspected c1/1 not_started"}, pending: []string{"tool c1/2"}, due: "+0s", activity: "active",
		},
		{
			name: "RE3 running: it is asked again later", given: then(), when: inspected(1, engine.InspectedRunning, ""),
			events: []string{"tool_inspected c1/1 running again +250ms"}, pending: []string{"inspect c1/1 +250ms"}, due: "+250ms", activity: "waiting",
			check: func(t *testing.T, p *play) {
				if timers := engine.Timers(p.state); len(timers) != 1 || timers[0].Kind != "inspect" {
					t.Errorf("timers: %+v", timers)
				}
			},
		},
		{
			name: "RE3 running, the last time but one", given: then(runs(api.MaxInspections - 2)), when: inspected(1, engine.InspectedRunning, ""),
			events: []string{"tool_inspected c1/1 running again +30s"}, pending: []string{"inspect c1/1 +30s"}, due: "+30s", activity: "waiting",
		},
		{
			name: "RE3 running for too long: a person is asked", given: then(runs(api.MaxInspections - 1)), when: inspected(1, engine.InspectedRunning, ""),
			events: []string{"tool_inspected c1/1 running", "interaction_required i1 unknown_outcome c1"}, activity: "waiting",
		},
		{
			name: "RE3 unknown: a person is asked", given: then(), when: inspected(1, engine.InspectedUnknown, ""),
			events: []string{"tool_inspected c1/1 unknown", "interaction_required i1 unknown_outcome c1"}, activity: "waiting",
		},
		{
			name: "RE3 no inspection: a person is asked", given: then(), when: inspected(1, engine.InspectedNone, ""),
			events: []string{"interaction_required i1 unknown_outcome c1"}, activity: "waiting",
		},
		{
			name: "RE3 an answer out of the list counts as unknown", given: then(), when: inspected(1, "dunno", ""),
			events: []string{"tool_inspected c1/1 dunno", "interaction_required i1 unknown_outcome c1"}, activity: "waiting",
		},
		{
			name: "C15 RE3 tell_model: the model hears that the outcome is unknown", agent: worker(tellModel), given: then(), when: inspected(1, engine.InspectedUnknown, ""),
			events: []string{"tool_inspected c1/1 unknown", "tool_finished c1/1 outcome_unknown"}, pending: next, due: "+0s", activity: "active",
		},
		{
			name: "RE3 an inspection of another attempt is dropped", given: then(), when: func(p *play) {
				p.do(engine.Inspected{CallID: p.calls[0], Attempt: 2, Answer: engine.InspectedNotStarted})
			},
			pending: []string{"inspect c1/1"}, due: "+0s", activity: "active",
		},
		{
			name: "RE3 an inspection of an action that is settled is dropped", given: then(inspected(1, engine.InspectedSucceeded, "x")), when: inspected(1, engine.InspectedNotStarted, ""),
			pending: next, due: "+0s", activity: "active",
		},
		{
			name: "RE3 an inspection of an action that runs is dropped", given: lost[:4:4], when: inspected(1, engine.InspectedNotStarted, ""),
			pending: []string{"tool c1/1 runs"}, due: "+0s", activity: "active",
		},
		{
			name: "RE3 an inspection of a run that is over is dropped", given: then(cancelCurrent), when: do(engine.Inspected{CallID: "s-c4-1", Attempt: 1, Answer: engine.InspectedNotStarted}),
			activity: "idle",
		},
	})
}

func TestAnswersAboutUnknownOutcomes(t *testing.T) {
	t.Parallel()
	asked := []move{say("hi"), begin, asksFor("write"), begin, takeOver, inspected(1, engine.InspectedNone, "")}
	then := func(more ...move) []move { return append(asked[:len(asked):len(asked)], more...) }
	next := []string{"model 2/1"}
	output := func(want string) func(*testing.T, *play) {
		return func(t *testing.T, p *play) {
			t.Helper()
			if got := p.events[1].(engine.ToolFinished).Output; !strings.Contains(got, want) {
				t.Errorf("the model is told %q, want %q in it", got, want)
			}
		}
	}
	tell(t, []story{
		{
			name: "RE3 succeeded with its output", given: asked, when: decide(1, api.OutcomeSucceeded, "order 7"),
			events: []string{"interaction_resolved i1 succeeded", "tool_finished c1/1"}, pending: next, due: "+0s", activity: "active", check: output("order 7"),
		},
		{
			name: "RE3 failed, with the reason quoted", given: asked, when: decide(1, api.OutcomeFailed, "not in the list"),
			events: []string{"interaction_resolved i1 failed", "tool_finished c1/1 tool_failed"}, pending: next, due: "+0s", activity: "active", check: output(`"not in the list"`),
		},
		{
			name: "RE3 retry: the action may run again, as its next attempt", given: asked, when: decide(1, api.OutcomeRetry, ""),
			events: []string{"interaction_resolved i1 retry"}, pending: []string{"tool c1/2"}, due: "+0s", activity: "active",
		},
		{
			name: "RE3 a retry that is lost is unknown again, and asked about anew", given: then(decide(1, api.OutcomeRetry, ""), begin, takeOver), when: inspected(1, engine.InspectedNone, ""),
			events: []string{"interaction_required i2 unknown_outcome c1"}, activity: "waiting",
		},
		{
			name: "C11 the answer to the first question is not the second's", given: then(decide(1, api.OutcomeRetry, ""), begin, takeOver, inspected(1, engine.InspectedNone, "")), when: decide(1, api.OutcomeRetry, ""),
			activity: "waiting", check: open("i2"),
		},
		{
			name: "an unknown outcome is not approved", given: asked, when: decide(1, api.AllowOnce, ""),
			code: api.CodeInvalidRequest, activity: "waiting",
		},
		{
			name: "C11 succeeded with another output is a different answer", given: then(decide(1, api.OutcomeSucceeded, "a")), when: decide(1, api.OutcomeSucceeded, "b"),
			code: api.CodeAlreadyResolved, pending: next, due: "+0s", activity: "active",
		},
		{
			name: "RE3 the attempt's own outcome beats the retry that has not begun", given: then(decide(1, api.OutcomeRetry, "")), when: returnsOf(1, 1, 1, "done"),
			events: []string{"tool_finished c1/1"}, pending: next, due: "+0s", activity: "active",
		},
	})
}

// A bare outcome is an outcome's own event without what follows from it. Whoever folds it derives the rest.
func TestWhatABareOutcomeLeavesOpenIsDerivedByTheNextDecision(t *testing.T) {
	t.Parallel()
	bare := func(c func(*play) engine.Command) move {
		return func(p *play) {
			events, after, err := engine.Decide(p.state, c(p), engine.Env{Now: p.now})
			if err != nil {
				p.t.Fatal(err)
			}
			fact := engine.Fact{Number: p.state.Head + 1, Time: after.Time, Event: events[0]}
			if p.state, err = engine.Fold(p.state, fact); err != nil {
				p.t.Fatal(err)
			}
			p.append(after.Time, events[0])
		}
	}
	answer := func(stop string, items ...engine.Item) move {
		return bare(func(p *play) engine.Command { return p.modelDone(stop, 10, items...) })
	}
	failure := func(retryable bool) move {
		return bare(func(p *play) engine.Command {
			return engine.ModelError{Run: p.state.Turn.Run, Call: 1, Attempt: 1, Epoch: 1, Code: api.CodeProviderError, Retryable: retryable}
		})
	}
	asked := []move{say("hi"), begin}
	then := func(more ...move) []move { return append(asked[:2:2], more...) }
	tell(t, []story{
		{
			name: "a text ends the turn", given: then(answer(engine.StopEnd, text("hello"))), when: advance,
			events: []string{"turn_ended r1 completed"}, activity: "idle",
		},
		{
			name: "refused calls are settled, approvals asked for", agent: worker(only), given: then(answer(engine.StopToolCalls, call("nothing"), call("write"), call("free"))), when: advance,
			events: []string{"interaction_required i1 approval c2"}, pending: []string{"tool c3/1"}, due: "+0s", activity: "active",
		},
		{
			name: "refused calls alone lead to the next call", given: then(answer(engine.StopToolCalls, call("nothing"))), when: advance,
			pending: []string{"model 2/1"}, due: "+0s", activity: "active",
		},
		{
			name: "a failure for good fails the run", given: then(failure(false)), when: advance,
			events: []string{"turn_ended r1 failed provider_error"}, activity: "idle",
		},
		{
			name: "a failure that may pass waits", given: then(failure(true)), when: advance,
			pending: []string{"model 1/2 +250ms"}, due: "+250ms", activity: "waiting",
		},
		{
			name: "a filtered answer fails the run, and its call does not run", given: then(answer(engine.StopFiltered, call("write"))), when: advance,
			events: []string{"turn_ended r1 failed content_filtered"}, activity: "idle",
		},
		{
			name: "the last result of a spent budget ends the turn", agent: worker(limited(limits(0, 1000, 0, 100))),
			given: then(costly(1000, engine.StopToolCalls, call("read")), begin, bare(func(p *play) engine.Command {
				return engine.ToolOutcome{CallID: p.calls[0], Attempt: 1, Epoch: 1}
			})),
			when: advance, events: []string{"turn_ended r1 limit_reached"}, activity: "idle",
		},
		{
			name: "a take-over derives it too", given: then(queued("next"), answer(engine.StopEnd, text("hello"))), when: takeOver,
			events: []string{"taken_over 2", "turn_ended r1 completed", "turn_started r2"}, pending: []string{"model 1/1"}, due: "+0s", activity: "active",
		},
		{
			name: "a cancel comes before the failure", given: then(failure(false)), when: cancelCurrent,
			events: []string{"cancel_requested r1 by ann", "turn_ended r1 cancelled"}, activity: "idle",
		},
		{
			name: "nothing follows from a settled state", given: []move{say("hi")}, when: advance,
			pending: []string{"model 1/1"}, due: "+0s", activity: "active",
		},
	})
	for name, given := range map[string][]move{
		"an answer":      then(answer(engine.StopEnd, text("hello"))),
		"an open call":   then(answer(engine.StopToolCalls, call("write"))),
		"a final error":  then(failure(false)),
		"a cut call":     then(answer(engine.StopFiltered, call("write"))),
		"a closed queue": then(queued("next"), answer(engine.StopEnd, text("hello"))),
	} {
		t.Run("a session behind "+name+" is due at once and calls no model", func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, worker(always)).play(given...)
			if got := pending(p); len(got) != 0 || due(p) != "+0s" || !engine.Underived(p.state) {
				t.Errorf("pending %v, due %q", got, due(p))
			}
		})
	}
}
