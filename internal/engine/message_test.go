package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	full := times(api.MaxQueuedTurns, queued("more"))
	tell(t, []story{
		{
			name:     "SE4 a message to an idle session begins a turn",
			when:     say("hi"),
			events:   []string{"turn_accepted r1"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "SE4 a message to a busy session is refused and the run named",
			given:    []move{say("hi")},
			when:     say("again"),
			code:     api.CodeSessionBusy,
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				var e *api.Error
				if !errors.As(p.err, &e) || e.Details["run"] != p.runs[0] {
					t.Errorf("the refusal %v does not name run %s", p.err, p.runs[0])
				}
			},
		},
		{
			name:     "SE4 a queued message waits for its turn",
			given:    []move{say("hi"), begin},
			when:     queued("next"),
			events:   []string{"turn_accepted r2 queued"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "SE4 a queued message to an idle session begins at once",
			when:     queued("hi"),
			events:   []string{"turn_accepted r1"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "SE4 the queue goes on in order when a turn ends",
			given:    []move{say("hi"), queued("second"), queued("third"), begin},
			when:     says("done"),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed", "turn_started r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check:    queueIs("r3"),
		},
		{
			name:     "SE4 an interrupt cancels the current turn and goes ahead of the queue",
			given:    []move{say("hi"), queued("second"), begin},
			when:     interrupt("now"),
			events:   []string{"turn_accepted r3 queued front", "cancel_requested r1 by interrupt"},
			due:      "+0s",
			activity: "active",
			check:    queueIs("r3", "r2"),
		},
		{
			name:  "SE4 an interrupt where nothing is in flight hands over at once",
			agent: worker(always),
			given: []move{say("hi"), begin, asksFor("write")},
			when:  interrupt("now"),
			events: []string{"turn_accepted r2 queued front", "cancel_requested r1 by interrupt", "interaction_resolved i1 cancelled",
				"tool_finished c1/0 cancelled", "turn_ended r1 cancelled", "turn_started r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a second interrupt asks for no second cancel",
			given:    []move{say("hi"), begin, interrupt("now")},
			when:     interrupt("no, this"),
			events:   []string{"turn_accepted r3 queued front"},
			due:      "+0s",
			activity: "active",
			check:    queueIs("r3", "r2"),
		},
		{
			name:     "SE4 a full queue refuses a message",
			given:    []move{say("hi"), full},
			when:     queued("one too many"),
			code:     api.CodeQueueFull,
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "SE4 a full queue refuses an interrupt too, and nothing is cancelled",
			given:    []move{say("hi"), full},
			when:     interrupt("now"),
			code:     api.CodeQueueFull,
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "an unknown way of being busy is refused",
			given:    []move{say("hi")},
			when:     say("again", busy("perhaps")),
			code:     api.CodeInvalidRequest,
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a deleted session takes no message",
			given:    []move{remove},
			when:     say("hi"),
			code:     api.CodeSessionDeleted,
			activity: "idle",
		},
		{
			name:     "RU11 a turn without any model is refused",
			agent:    worker(func(a *engine.Agent) { a.Model = api.ModelRef{} }),
			when:     say("hi"),
			code:     api.CodeInvalidRequest,
			activity: "idle",
		},
		{
			name:     "RU11 the turn's model comes before the agent's",
			when:     say("hi", func(m *engine.Message) { m.Model = api.ModelRef{Provider: "Q", Name: "n"} }),
			events:   []string{"turn_accepted r1"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				want := []string{"agent:d1", "provider:Q", "rules:2"}
				if diff := cmp.Diff(want, engine.Needs(p.state)); diff != "" {
					t.Errorf("needs (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "only a new session is created",
			when:     do(engine.Create{}),
			code:     api.CodeInternal,
			activity: "idle",
		},
		{
			name:     "the next message after a completed turn begins anew",
			given:    []move{say("hi"), begin, says("hello")},
			when:     say("again"),
			events:   []string{"turn_accepted r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
	})
}

func TestAMessageIsTheFirstThingOnlyAfterACreation(t *testing.T) {
	t.Parallel()
	s := &engine.State{Session: "s"}
	if _, _, err := engine.Decide(s, engine.Message{Text: "hi"}, engine.Env{Now: start}); api.CodeOf(err) != api.CodeInternal {
		t.Errorf("a message to a session that was not created gave %v", err)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	tell(t, []story{
		{
			name:     "SE6 deleting an idle session ends it",
			when:     remove,
			events:   []string{"session_deleted"},
			activity: "idle",
		},
		{
			name:     "SE6 deleting a session with work, a queue and a question leaves nothing to do",
			agent:    worker(always),
			given:    []move{say("hi"), queued("next"), begin, asksFor("write", "write"), decide(1, api.AllowOnce, ""), begin},
			when:     remove,
			events:   []string{"session_deleted"},
			activity: "idle",
		},
		{
			name:     "SE6 retention deletes what has been idle for long enough",
			given:    []move{say("hi"), begin, says("done")},
			when:     do(engine.Delete{IdleBefore: start.Add(time.Millisecond)}),
			events:   []string{"session_deleted"},
			activity: "idle",
		},
		{
			name:     "SE6 retention keeps what was written at its time or later",
			given:    []move{say("hi"), begin, says("done")},
			when:     do(engine.Delete{IdleBefore: start}),
			code:     api.CodeSessionBusy,
			activity: "idle",
		},
		{
			name:     "SE6 retention keeps a turn that waits for a person, however long",
			agent:    worker(always),
			given:    []move{say("hi"), begin, asksFor("write")},
			when:     do(engine.Delete{IdleBefore: start.Add(time.Hour)}),
			code:     api.CodeSessionBusy,
			activity: "waiting",
		},
		{
			name:     "a deleted session is not deleted again",
			given:    []move{remove},
			when:     remove,
			code:     api.CodeSessionDeleted,
			activity: "idle",
		},
	})
}

func queueIs(want ...string) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		var got []string
		for _, q := range p.state.Queue {
			got = append(got, p.short(q.Run+"\x00"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("queue (-want +got):\n%s", diff)
		}
	}
}

// SE4: whoever forgot an open question is told of it, since the run does not end by itself.
func TestASessionThatWaitsForAPersonSaysForWhat(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(always)).play(say("hi"), begin, asksFor("write"))
	p.do(engine.Message{Text: "more"})
	if api.CodeOf(p.err) != api.CodeSessionBusy || api.AsError(p.err).Details["interaction"] != p.asks[0] || !strings.Contains(p.err.Error(), p.asks[0]) {
		t.Errorf("it says %v, details %v; the question is %s", p.err, api.AsError(p.err).Details, p.asks[0])
	}
}
