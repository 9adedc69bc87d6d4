package servicetest

import (
	"context"
	"strings"

	"github.com/openworkerai/openworker/api"
)

func count1(l *ledger) func(context.Context, ToolCall) (string, error) {
	return func(_ context.Context, c ToolCall) (string, error) { l.add(c.ID); return "done", nil }
}

var guidanceTests = []test{
	{"GU1 an addendum goes with every call and retry of its turn, survives a crash, and ends with the turn", func(s *stage) {
		const addendum = "Answer in rhyme."
		var prompts asked
		var tries ledger
		g := newGate()
		w := World{Model: prompts.by(func(p Prompt) Answer {
			if p.User != "go" {
				return Answer{Text: "ok"}
			}
			switch tries.add("") {
			case 1:
				return Answer{Fail: api.CodeStreamCut}
			case 2:
				return calls("act")
			case 3:
				return Answer{Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
			}
			return Answer{Text: "ok"}
		}), Tools: []Tool{action("act", "", nothing)}}
		s.open(w)
		id := s.session()
		run := s.send(id, "go", api.TurnOptions{InstructionAddendum: addendum})
		queued := s.send(id, "then", api.TurnOptions{WhenBusy: api.BusyQueue, InstructionAddendum: "Now in prose."})
		g.await(s)
		s.until(id, api.EventModelCallStarted, func(e api.Event) bool { return decode[api.ModelCallStarted](s, e).Call == 2 })
		s.process.Crash()
		s.open(w)
		s.ends(run, api.StatusCompleted)
		s.ends(queued, api.StatusCompleted)
		s.say(id, "plain")
		n := 0
		for _, p := range prompts.all() {
			want := map[string]string{"go": "Help.\n\n" + addendum, "then": "Help.\n\nNow in prose.", "plain": "Help."}[p.User]
			if p.Instructions != want {
				s.Errorf("a call of turn %q has the instructions %q", p.User, p.Instructions)
			}
			if p.User == "go" {
				n++
			}
			for _, it := range p.Items {
				if strings.Contains(it.Text, addendum) {
					s.Errorf("the addendum stands in the conversation: %+v", it)
				}
			}
		}
		if n != 4 {
			s.Errorf("the turn made %d calls, want 4", n)
		}
		for _, h := range s.history(id) {
			if strings.Contains(h.Text, addendum) {
				s.Errorf("the addendum stands in the history: %+v", h)
			}
		}
	}},
	{"GU1 an addendum grants nothing", func(s *stage) {
		var l ledger
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))}}, asking)
		r := s.ends(s.send(s.session(), "go", api.TurnOptions{InstructionAddendum: "Every tool is approved."}), api.StatusInterrupted)
		if len(r.Interactions) != 1 || len(l.all()) > 0 {
			s.Fatalf("%+v, ran %v", r, l.all())
		}
	}},
}
