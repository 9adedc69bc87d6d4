package servicetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// busy is a world whose model holds each turn whose message is "hold" until the gate opens.
func busy() (World, *gate) {
	g := newGate()
	return World{Model: func(p Prompt) Answer {
		a := Answer{Text: "re: " + p.User}
		if p.User == "hold" {
			a.Wait = func(ctx context.Context) { g.pass(ctx, "model") }
		}
		return a
	}}, g
}

var (
	queueUp   = api.TurnOptions{WhenBusy: api.BusyQueue}
	interrupt = api.TurnOptions{WhenBusy: api.BusyInterrupt}
)

// turns are the texts of the accepted messages in the order in which their turns ran.
func (s *stage) turns(session string) []string {
	s.Helper()
	var out []string
	for _, h := range s.history(session) {
		if h.Type == "user" {
			out = append(out, h.Text)
		}
	}
	return out
}

var queueTests = []test{
	{"SE4 C35 of two messages at once one runs and the other is told which", func(s *stage) {
		w, g := busy()
		s.open(w)
		other := s.store.Open(s.t, World{})
		id := s.session()
		var wg sync.WaitGroup
		runs, errs := make([]api.RunReference, 8), make([]error, 8)
		for i := range runs {
			wg.Go(func() {
				runs[i], errs[i] = []api.Service{s, other}[i%2].Submit(s.Context(), api.Submission{Session: id, Text: "hold"})
			})
		}
		wg.Wait()
		won := slices.Index(errs, nil)
		if won < 0 {
			s.Fatalf("none was taken: %v", errs)
		}
		for i, err := range errs {
			if i == won {
				continue
			}
			s.code(err, api.CodeSessionBusy)
			if e := api.AsError(err); e.Details["run"] != runs[won].Run {
				s.Errorf("%v names run %q, under way is %s", err, e.Details["run"], runs[won].Run)
			}
		}
		close(g.open)
		s.ends(runs[won], api.StatusCompleted)
	}},
	{"SE4 queued messages run in order, an interrupting one ahead of them, and a full queue says so", func(s *stage) {
		w, g := busy()
		s.open(w)
		id := s.session()
		first := s.send(id, "hold")
		g.await(s)
		var runs []api.RunReference
		for i := range api.MaxQueuedTurns - 2 {
			runs = append(runs, s.send(id, fmt.Sprint("queued ", i), queueUp))
		}
		ahead := s.send(id, "ahead", interrupt)
		s.ends(first, api.StatusCancelled)
		s.ends(ahead, api.StatusCompleted)
		for _, r := range runs {
			s.ends(r, api.StatusCompleted)
		}
		want := []string{"hold", "ahead"}
		for i := range runs {
			want = append(want, fmt.Sprint("queued ", i))
		}
		if got := s.turns(id); !slices.Equal(got, want) {
			s.Fatalf("the turns ran as %q", got)
		}

		last := s.send(id, "hold")
		g.await(s)
		for i := range api.MaxQueuedTurns {
			s.send(id, fmt.Sprint("more ", i), queueUp)
		}
		if st := s.state(id); len(st.Queue) != api.MaxQueuedTurns || st.Run != last.Run || st.Activity != api.Running {
			s.Fatalf("%d wait behind %q (%s)", len(st.Queue), st.Run, st.Activity)
		}
		for _, o := range []api.TurnOptions{queueUp, interrupt} {
			_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "one too many", Options: o})
			s.code(err, api.CodeQueueFull)
		}
		if st := s.state(id); st.Run != last.Run || len(st.Queue) != api.MaxQueuedTurns {
			s.Fatal("the refused interrupt has changed something")
		}
		close(g.open)
		s.settle("the queue ran", func() bool { return s.state(id).Activity == api.Idle })
	}},
	{"SE4 RU5 a queued run is cancelled without a trace in the conversation", func(s *stage) {
		w, g := busy()
		s.open(w)
		id := s.session()
		first, second, third := s.send(id, "hold"), s.send(id, "second", queueUp), s.send(id, "third", queueUp)
		g.await(s)
		s.no(s.Cancel(s.Context(), id, second.Run))
		s.no(s.Cancel(s.Context(), id, second.Run))
		s.ends(second, api.StatusCancelled)
		if q := s.state(id).Queue; !slices.Equal(q, []string{third.Run}) {
			s.Fatalf("queued are %v", q)
		}
		close(g.open)
		s.ends(first, api.StatusCompleted)
		s.ends(third, api.StatusCompleted)
		if got := s.turns(id); !slices.Equal(got, []string{"hold", "third"}) {
			s.Fatalf("the turns are %q", got)
		}
	}},
	{"SE4 an interrupting message closes the open interactions of the turn that it ends", func(s *stage) {
		var l ledger
		w := World{Model: func(p Prompt) Answer {
			if p.User == "act" && p.Round == 0 {
				return calls("act", "act")
			}
			return Answer{Text: "ok"}
		}, Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) { l.add(c.ID); return "", nil })}}
		s.open(w, asking)
		id := s.session()
		first := s.send(id, "act")
		open := s.ends(first, api.StatusInterrupted).Interactions
		next := s.send(id, "something else", interrupt)
		s.ends(next, api.StatusCompleted)
		s.ends(first, api.StatusCancelled)
		for _, in := range open {
			s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}), api.CodeAlreadyResolved)
		}
		for _, r := range s.results(id) {
			if r.Code != api.CodeCancelled {
				s.Errorf("a call ended as %+v", r)
			}
		}
		if len(l.all()) > 0 {
			s.Fatalf("ran %v", l.all())
		}
	}},
	{"SE4 a queue goes on behind a turn that waits for a person, and tells so to who waits for it", func(s *stage) {
		w := World{Model: func(p Prompt) Answer {
			if p.User == "act" && p.Round == 0 {
				return calls("act")
			}
			return Answer{Text: "ok"}
		}, Tools: []Tool{action("act", "", nothing)}}
		s.open(w, asking)
		id := s.session()
		first, second := s.send(id, "act"), s.send(id, "then", queueUp)
		in := s.ends(first, api.StatusInterrupted).Interactions[0]
		if r := s.ends(second, api.StatusInterrupted); len(r.WaitingFor) != 1 || r.WaitingFor[0].Interaction != in.ID {
			s.Fatalf("the queued run waits for %+v", r)
		}
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Deny}))
		s.ends(first, api.StatusCompleted)
		s.ends(second, api.StatusCompleted)
	}},
	{"SE4 RE1 a queue survives a crash in its order", func(s *stage) {
		w, g := busy()
		s.open(w)
		id := s.session()
		runs := []api.RunReference{s.send(id, "hold"), s.send(id, "a", queueUp), s.send(id, "b", queueUp), s.send(id, "c", queueUp)}
		g.await(s)
		s.process.Crash()
		close(g.open)
		s.open(w)
		for _, r := range runs {
			s.ends(r, api.StatusCompleted)
		}
		if got := s.turns(id); !slices.Equal(got, []string{"hold", "a", "b", "c"}) {
			s.Fatalf("the turns ran as %q", got)
		}
	}},
}
