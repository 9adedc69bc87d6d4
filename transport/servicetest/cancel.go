package servicetest

import (
	"context"
	"errors"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// cancelled cancels a run and holds what is left against what the next turn needs: that it runs at all is
// the proof, since every request is checked.
func (s *stage) cancelled(run api.RunReference) api.Result {
	s.Helper()
	s.no(s.Cancel(s.Context(), run.Session, run.Run))
	r := s.ends(run, api.StatusCancelled)
	s.no(s.Cancel(s.Context(), run.Session, run.Run)) // behind the end it is a no-op
	s.no(s.Cancel(s.Context(), run.Session, ""))
	if text := s.say(run.Session, "next"); text != "fine" {
		s.Fatalf("the next turn says %q", text)
	}
	if s.ends(run, api.StatusCancelled).Run != run.Run {
		s.Fatal("the end has changed")
	}
	return r
}

// then answers the turn "next" with "fine" and all others with the answers.
func then(answers ...Answer) func(Prompt) Answer {
	return func(p Prompt) Answer {
		if p.User == "next" {
			return Answer{Text: "fine"}
		}
		return rounds(answers...)(p)
	}
}

var cancelTests = []test{
	{"RU5 a cancel while the answer streams ends the run and the next turn works", func(s *stage) {
		g := newGate()
		s.open(World{Model: then(Answer{Text: "one two three", Wait: func(ctx context.Context) { g.pass(ctx, "model") }})})
		run := s.send(s.session(), "go")
		g.await(s)
		r := s.cancelled(run)
		if r.ModelCalls != 1 || !r.Usage.Estimated || r.Error != nil {
			s.Fatalf("the cancelled run counts %+v", r)
		}
	}},
	{"RU5 C02 a cancel while two tools run leaves a result for each before the session is ready again", func(s *stage) {
		g, stopped := newGate(), make(chan struct{}, 2)
		s.open(World{Model: then(calls("act", "act")), Tools: []Tool{action("act", "", wait(g, stopped))}})
		id := s.session()
		run := s.send(id, "go")
		g.await(s)
		g.await(s)
		s.cancelled(run)
		results := s.results(id)
		if len(results) != 2 {
			s.Fatalf("results are %+v", results)
		}
		for _, r := range results {
			if r.Code != api.CodeCancelled {
				s.Errorf("a call ended as %+v", r)
			}
		}
	}},
	{"RU5 a tool that ignores its cancellation is closed as unknown after its grace, and what it says later is told", func(s *stage) {
		g := make(chan struct{})
		entered := make(chan struct{}, 1)
		var last Prompt
		got := make(chan struct{}, 8)
		s.open(World{Model: func(p Prompt) Answer {
			if p.User == "after" {
				last = p
				got <- struct{}{}
				return Answer{Text: "thanks"}
			}
			return then(calls("act", "look"))(p)
		}, Tools: []Tool{
			action("act", "", func(context.Context, ToolCall) (string, error) { entered <- struct{}{}; <-g; return "it was sent", nil }),
			action("look", api.ReadOnly, func(context.Context, ToolCall) (string, error) { <-g; return "", nil }),
		}})
		id := s.session()
		run := s.send(id, "go")
		<-entered
		s.until(id, api.EventToolCallStarted, func(e api.Event) bool { return decode[api.ToolCallStarted](s, e).Name == "look" })
		s.cancelled(run)
		results := s.results(id)
		if len(results) != 2 || results[0].Code != api.CodeOutcomeUnknown || !strings.Contains(results[0].Output, "inspect") || results[1].Code != api.CodeCancelled {
			s.Fatalf("results are %+v", results)
		}
		if u := s.state(id).UnknownActions; len(u) != 1 || u[0].CallID != results[0].CallID || u[0].Tool != "act" {
			s.Fatalf("unknown are %+v", u)
		}
		close(g)
		s.until(id, api.EventToolOutcomeLate)
		if u := s.state(id).UnknownActions; len(u) != 0 {
			s.Fatalf("unknown are still %+v", u)
		}
		s.ends(s.send(id, "after"), api.StatusCompleted)
		<-got
		told := false
		for _, it := range last.Items {
			told = told || it.Kind == "user" && strings.Contains(it.Text, results[0].CallID) && strings.Contains(it.Text, "it was sent")
		}
		if !told {
			s.Fatalf("the next turn was not told: %+v", last.Items)
		}
	}},
	{"RU5 a tool that ends well although it was cancelled keeps its result", func(s *stage) {
		g := newGate()
		s.open(World{Model: then(calls("act")), Tools: []Tool{action("act", "", func(ctx context.Context, c ToolCall) (string, error) {
			g.pass(ctx, c.ID)
			return "sent", nil
		})}})
		id := s.session()
		run := s.send(id, "go")
		g.await(s)
		s.cancelled(run)
		if r := s.results(id)[0]; r.Code != "" || r.Output != "sent" {
			s.Fatalf("the result is %+v", r)
		}
	}},
	{"RU5 a cancel while an approval is open closes it and runs nothing", func(s *stage) {
		var l ledger
		s.open(World{Model: then(calls("act", "act")), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) { l.add(c.ID); return "", nil })}}, asking)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions
		s.cancelled(run)
		if len(s.state(id).Interactions) != 0 || len(l.all()) != 0 {
			s.Fatalf("open are %v, ran %v", s.state(id).Interactions, l.all())
		}
		e := s.until(id, api.EventInteractionResolved)
		if d := decode[api.InteractionResolved](s, e); d.ID != in[0].ID || d.Decision != api.InteractionCancelled {
			s.Fatalf("resolved as %+v", d)
		}
	}},
	{"RU5 a cancel while a retry waits ends the run at once", func(s *stage) {
		s.open(World{Model: then(Answer{Fail: api.CodeRateLimited, RetryAfter: patience * 2})})
		id := s.session()
		run := s.send(id, "go")
		s.until(id, api.EventModelCallFailed)
		st := s.state(id)
		if st.Activity != api.Waiting || len(st.Timers) != 1 || st.Timers[0].Kind != "retry" || st.Timers[0].Run != run.Run {
			s.Fatalf("the state is %+v", st)
		}
		s.cancelled(run)
	}},
	{"RU5 a cancel that races the end leaves one end", func(s *stage) {
		s.open(World{Model: then(calls("act"), Answer{Text: "done"}), Tools: []Tool{action("act", "", nothing)}})
		id := s.session()
		for range 20 {
			run := s.send(id, "go", queueUp)
			done := make(chan error)
			go func() { done <- s.Cancel(s.Context(), id, run.Run) }()
			if r := s.result(run); r.Status != api.StatusCompleted && r.Status != api.StatusCancelled {
				s.Fatalf("the run is %+v", r)
			}
			s.no(<-done)
		}
		s.say(id, "next")
	}},
	{"RU5 cancelled by another process than the one that runs", func(s *stage) {
		g, stopped := newGate(), make(chan struct{}, 1)
		s.open(World{Model: then(calls("act")), Tools: []Tool{action("act", "", wait(g, stopped))}})
		other := s.store.Open(s.t, World{})
		id := s.session()
		run := s.send(id, "go")
		g.await(s)
		s.no(other.Cancel(s.Context(), id, ""))
		s.ends(run, api.StatusCancelled)
		<-stopped
		s.say(id, "next")
	}},
	{"RU5 RE3 a cancel of a turn whose process crashed in a tool closes the call as unknown", func(s *stage) {
		g := newGate()
		w := World{Model: then(calls("act")), Tools: []Tool{action("act", "", wait(g, make(chan struct{}, 9)))}}
		s.open(w)
		id := s.session()
		run := s.send(id, "go")
		g.await(s)
		s.process.Crash()
		other := s.store.Open(s.t, World{})
		s.no(other.Cancel(s.Context(), id, run.Run))
		s.open(w)
		s.ends(run, api.StatusCancelled)
		if r := s.results(id); len(r) != 1 || r[0].Code != api.CodeOutcomeUnknown {
			s.Fatalf("results are %+v", r)
		}
		s.say(id, "next")
	}},
	{"C03 a session that was killed in a tool, went on for three turns and was killed again is whole", func(s *stage) {
		g := newGate()
		w := World{Model: then(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", wait(g, make(chan struct{}, 9)))}}
		s.open(w)
		id := s.session()
		for range 2 {
			s.send(id, "go")
			g.await(s)
			s.process.Crash()
			s.open(w)
			in := s.until(id, api.EventInteractionRequired, func(e api.Event) bool { return len(s.state(id).Interactions) == 1 })
			if in.Run != s.state(id).Run {
				continue
			}
			s.no(s.Resolve(s.Context(), id, s.state(id).Interactions[0].ID, api.Answer{Decision: api.OutcomeSucceeded, Output: "it did"}))
			s.settle("the turn ended", func() bool { return s.state(id).Activity == api.Idle })
			for range 3 {
				s.say(id, "next")
			}
		}
	}},
	{"C04 a message that interrupts a turn whose process died before its tools closes their calls first", func(s *stage) {
		w := World{Model: then(calls("act", "act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}}
		s.open(w, asking)
		id := s.session()
		run := s.send(id, "go")
		s.ends(run, api.StatusInterrupted)
		s.process.Crash()
		s.open(w, asking)
		s.ends(s.send(id, "next", interrupt), api.StatusCompleted)
		items := s.history(id)
		var kinds []string
		for _, h := range items {
			kinds = append(kinds, h.Type)
		}
		if got := strings.Join(kinds, " "); got != "user tool_call tool_call tool_result tool_result user assistant" {
			s.Fatalf("the history is %s", got)
		}
	}},
	{"RU6 whoever stops waiting stops nothing", func(s *stage) {
		w, g := busy()
		s.open(w)
		run := s.send(s.session(), "hold")
		g.await(s)
		ctx, cancel := context.WithCancelCause(s.Context())
		gone := errors.New("gone")
		cancel(gone)
		_, err := s.Result(ctx, run.Session, run.Run)
		s.code(err, api.CodeCancelled)
		stream, err := s.Follow(s.Context(), api.FollowQuery{Session: run.Session, Run: run.Run})
		s.no(err)
		for err == nil {
			_, err = stream.Next(ctx)
		}
		s.code(err, api.CodeCancelled)
		s.no(stream.Close())
		close(g.open)
		s.ends(run, api.StatusCompleted)
	}},
}
