package engine_test

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// C50: what a state holds does not grow with the session.
func TestAStateStaysSmallForAThousandTurns(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(always))
	size := func() int { return len(mustSnapshot(t, p.state)) }
	var early int
	for n := range 1000 {
		first := len(p.calls)
		ask := len(p.asks)
		p.play(say("hi"), begin, asksFor("write", "write", "nothing", "read"))
		p.play(decide(ask+1, api.Deny, "no"), decide(ask+2, api.AllowOnce, ""), decide(ask+3, api.AllowOnce, ""), begin)
		p.play(takeOver, cancelCurrent, wait(time.Second))
		if p.state.Turn != nil || len(p.calls) != first+4 {
			t.Fatalf("turn %d is not over", n)
		}
		if n == 99 {
			early = size()
		}
	}
	if late := size(); late > early+300 || late > 8000 {
		t.Errorf("the snapshot is of %d bytes after 100 turns and of %d after 1,000", early, late)
	}
}

// toolTurn plays one whole turn with a tool call.
func toolTurn(b testing.TB, s *engine.State, at time.Time, each func([]engine.Event)) *engine.State {
	do := func(c engine.Command) {
		events, after, err := engine.Decide(s, c, engine.Env{Now: at})
		if err != nil {
			b.Fatal(err)
		}
		s = after
		each(events)
	}
	do(engine.Message{Text: "hi"})
	t := s.Turn
	do(engine.Begin{Effect: engine.Pending(s)[0], Epoch: 1})
	do(engine.ModelDone{Run: t.Run, Call: 1, Attempt: 1, Epoch: 1, Items: []engine.Item{call("read")}, Stop: engine.StopToolCalls})
	tool := engine.Pending(s)[0]
	do(engine.Begin{Effect: tool, Epoch: 1})
	do(engine.ToolOutcome{CallID: tool.CallID, Attempt: 1, Epoch: 1, Output: "out"})
	do(engine.Begin{Effect: engine.Pending(s)[0], Epoch: 1})
	do(engine.ModelDone{Run: t.Run, Call: 2, Attempt: 1, Epoch: 1, Items: []engine.Item{text("done")}, Stop: engine.StopEnd})
	return s
}

func BenchmarkToolTurn(b *testing.B) {
	s := newPlay(b, worker()).state
	b.ReportAllocs()
	for b.Loop() {
		toolTurn(b, s, start, func([]engine.Event) {})
	}
}

func BenchmarkEncodeToolTurn(b *testing.B) {
	var events []engine.Event
	toolTurn(b, newPlay(b, worker()).state, start, func(e []engine.Event) { events = append(events, e...) })
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range events {
			if _, err := engine.Encode(e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// busyState has 4 calls, 32 remembered answers and 16 unsettled calls.
func busyState(b testing.TB) *engine.State {
	p := newPlay(b, worker(always))
	for range 40 {
		ask := len(p.asks)
		p.play(say("hi"), begin, asksFor("write"), decide(ask+1, api.AllowOnce, ""), begin, takeOver, cancelCurrent)
	}
	p.play(say("hi"), begin, asksFor("write", "read", "put", "write"))
	return p.state
}

func BenchmarkClone(b *testing.B) {
	s := busyState(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Clone()
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := busyState(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engine.Snapshot(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFold1000Turns(b *testing.B) {
	p := newPlay(b, worker())
	facts := p.facts
	s := p.state
	for range 1000 {
		s = toolTurn(b, s, start, func(events []engine.Event) {
			for _, e := range events {
				facts = append(facts, engine.Fact{Number: uint64(len(facts)) + 1, Time: start, Event: e})
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engine.Fold(&engine.State{Session: "s"}, facts...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(facts)), "events")
}

func TestDecisionsOnOneStateShareNothing(t *testing.T) {
	t.Parallel()
	fourth := func(a *engine.Agent) {
		a.Tools = append(a.Tools, engine.Tool{Name: "app.more", ModelName: "more", Ask: true})
	}
	p := newPlay(t, worker(always, fourth)).play(say("hi"), begin, asksFor("write", "put", "read", "more"),
		decide(1, api.AllowSession, ""), decide(2, api.AllowSession, ""), decide(3, api.AllowSession, ""))
	by := func(name string) *engine.State {
		_, after, err := engine.Decide(p.state, engine.Answer{Interaction: p.asks[3], Answer: api.Answer{Decision: api.AllowSession, By: name}}, engine.Env{Now: start})
		if err != nil {
			t.Fatal(err)
		}
		return after
	}
	first := by("ann")
	want := mustSnapshot(t, first)
	by("bob")
	if got := mustSnapshot(t, first); got != want {
		t.Errorf("the second decision changed the first's state from\n%s\nto\n%s", want, got)
	}
}
