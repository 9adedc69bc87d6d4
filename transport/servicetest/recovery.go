package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openworkerai/openworker/api"
)

var recoveryTests = []test{
	{"RE2 RE7 a model call that a crash interrupted is made again and counts; recorded answers and results are not asked for again", func(s *stage) {
		var l ledger
		var prompts asked
		var hold atomic.Bool
		g := newGate()
		hold.Store(true)
		w := World{Model: prompts.by(func(p Prompt) Answer {
			if p.Round == 0 {
				return used(7, calls("act"))
			}
			return used(5, Answer{Text: "ok", Wait: func(ctx context.Context) {
				if hold.Load() {
					g.pass(ctx, "model")
				}
			}})
		}), Tools: []Tool{action("act", "", count1(&l))}}
		s.open(w)
		id := s.session()
		run := s.send(id, "go", limited(api.Limits{MaxOutputTokensPerCall: api.Set(100)}))
		g.await(s)
		s.until(id, api.EventModelCallStarted, func(e api.Event) bool { return decode[api.ModelCallStarted](s, e).Call == 2 })
		s.process.Crash()
		hold.Store(false)
		s.open(w)
		r := s.ends(run, api.StatusCompleted)
		if r.ModelCalls != 3 || !r.Usage.Estimated || r.Usage.OutputTokens != 7+100+5 || len(l.all()) != 1 {
			s.Fatalf("the result is %+v, ran %v", r, l.all())
		}
		first := 0
		for _, p := range prompts.all() {
			if p.Round == 0 {
				first++
			}
		}
		if first != 1 {
			s.Fatalf("the first answer was asked for %d times", first)
		}
		lost := decode[api.ModelCallFailed](s, s.until(id, api.EventModelCallFailed))
		if lost.Code != api.CodeCallLost || lost.Usage.OutputTokens != 100 {
			s.Fatalf("the lost call reads %+v", lost)
		}
	}},
	{"RE3 C10 C12 of parallel calls at a crash the finished keeps its result, the repeatable runs again under its ID, the rest goes on", func(s *stage) {
		var l ledger
		var crashed atomic.Bool
		g := newGate()
		hang := func(ctx context.Context, c ToolCall) (string, error) {
			n := l.add(c.Tool + " " + c.ID)
			if !crashed.Load() {
				g.pass(ctx, c.Tool)
				return "", ctx.Err()
			}
			return fmt.Sprintf("run %d attempt %d", n, c.Attempt), nil
		}
		w := World{Model: rounds(calls("fast", "again", "look", "fast"), Answer{Text: "ok"}), Tools: []Tool{
			action("fast", "", func(_ context.Context, c ToolCall) (string, error) {
				return fmt.Sprint(l.add(c.Tool + " " + c.ID)), nil
			}),
			action("again", api.Idempotent, hang), action("look", api.ReadOnly, hang),
		}}
		s.open(w)
		id := s.session()
		run := s.send(id, "go")
		g.await(s)
		g.await(s)
		s.settle("the fast ones have their results", func() bool { return count(s.events(id), api.EventToolCallFinished) == 2 })
		s.process.Crash()
		crashed.Store(true)
		s.open(w)
		s.ends(run, api.StatusCompleted)
		var got []string
		for _, r := range s.results(id) {
			got = append(got, r.Output)
		}
		if want := []string{"1", "run 2 attempt 2", "run 2 attempt 2", "1"}; !slices.Equal(got, want) {
			s.Fatalf("the results are %q, want %q", got, want)
		}
		lost := decode[api.ToolCallLost](s, s.until(id, api.EventToolCallLost))
		if !lost.Again || lost.Attempt != 1 {
			s.Fatalf("a lost call reads %+v", lost)
		}
	}},
	{"RE7 C17 three take-overs without progress fail the run with what happened", func(s *stage) {
		g := newGate()
		w := World{Model: then(Answer{Wait: func(ctx context.Context) { g.pass(ctx, "model") }})}
		s.open(w)
		id := s.session()
		run := s.send(id, "go")
		for range api.MaxTakeOvers {
			g.await(s)
			s.until(id, api.EventModelCallStarted, func(e api.Event) bool { return s.state(id).Activity == api.Running })
			s.settle("the intent is durable", func() bool {
				e := s.events(id)
				return e[len(e)-1].Type == api.EventModelCallStarted
			})
			s.process.Crash()
			s.open(w)
		}
		r := s.ends(run, api.StatusFailed)
		if r.Error.Code != api.CodeRecoveryExhausted || !strings.Contains(r.Error.Message, "take-over") {
			s.Fatalf("the run failed as %+v", r.Error)
		}
		s.say(id, "next")
	}},
	{"RE1 a turn goes on behind a clean stop, in the middle of a model call and of tools of each effect", func(s *stage) {
		for _, what := range []string{"model", "act", "again", "look"} {
			var l ledger
			var stopped atomic.Bool
			g := newGate()
			hang := func(ctx context.Context, c ToolCall) (string, error) {
				l.add(c.ID)
				if !stopped.Load() {
					g.pass(ctx, c.Tool)
					return "", ctx.Err()
				}
				return "done", nil
			}
			w := World{Model: func(p Prompt) Answer {
				if p.Round == 0 && what != "model" {
					return calls(what)
				}
				return Answer{Text: "ok", Wait: func(ctx context.Context) {
					if what == "model" && !stopped.Load() {
						g.pass(ctx, "model")
					}
				}}
			}, Tools: []Tool{action("act", "", hang), action("again", api.Idempotent, hang), action("look", api.ReadOnly, hang)}}
			s.open(w)
			id := s.session()
			run := s.send(id, "go")
			g.await(s)
			s.process.Stop()
			stopped.Store(true)
			before := len(l.all())
			if what != "model" && before != 1 {
				s.Fatalf("%s: until it had stopped the body ran %d times", what, before)
			}
			s.open(w)
			r := s.result(run)
			if what == "act" {
				if r.Status != api.StatusInterrupted || r.Interactions[0].Kind != api.InteractionUnknownOutcome {
					s.Fatalf("a side effect that was stopped: %+v", r)
				}
				s.no(s.Resolve(s.Context(), id, r.Interactions[0].ID, api.Answer{Decision: api.OutcomeSucceeded, Output: "done"}))
				r = s.result(run)
			}
			if r.Status != api.StatusCompleted {
				s.Fatalf("%s: %+v", what, r)
			}
			if n := len(l.all()); what == "act" && n != 1 || (what == "again" || what == "look") && n != 2 {
				s.Fatalf("%s: the body ran %d times", what, n)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"RE4 C16 C54 work that a dead process left is taken up once by one of many that start", func(s *stage) {
		var prompts asked
		var hold atomic.Bool
		hold.Store(true)
		g := newGate()
		w := World{Model: prompts.by(func(p Prompt) Answer {
			return Answer{Text: "ok", Wait: func(ctx context.Context) {
				if hold.Load() {
					g.pass(ctx, "model")
				}
			}}
		})}
		s.open(w)
		var runs []api.RunReference
		for range 6 {
			runs = append(runs, s.send(s.session(), "go"))
			g.await(s)
		}
		s.process.Crash()
		hold.Store(false)
		for range 4 {
			p := s.store.Open(s.t, w)
			s.register(p, w)
			s.Service = p
		}
		for _, r := range runs {
			s.ends(r, api.StatusCompleted)
			if n := count(s.events(r.Session), api.EventSessionTakenOver); n != 1 {
				s.Errorf("session %s was taken over %d times", r.Session, n)
			}
		}
		if n := len(prompts.all()); n != 12 {
			s.Fatalf("the model was called %d times, want 12", n)
		}
	}},
	{"RE4 two processes with one agent send to one session and each turn runs once", func(s *stage) {
		var l ledger
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))}}
		s.open(w)
		other := s.store.Open(s.t, w)
		s.register(other, w)
		ids := []string{s.session(), s.session(), s.session()}
		for i := range 30 {
			run, err := []api.Service{s, other}[i%2].Submit(s.Context(), api.Submission{Session: ids[i%3], Text: fmt.Sprint(i), Options: queueUp})
			s.no(err)
			if i%5 == 0 {
				s.ends(run, api.StatusCompleted)
			}
		}
		for _, id := range ids {
			s.settle("the turns ended", func() bool { return s.state(id).Activity == api.Idle })
			if n := len(s.turns(id)); n != 10 {
				s.Errorf("session %s had %d turns", id, n)
			}
		}
		ran := l.all()
		slices.Sort(ran)
		if len(ran) != 30 || len(slices.Compact(ran)) != 30 {
			s.Fatalf("%d calls ran", len(ran))
		}
	}},
	{"SE3 C32 C33 a session is running under a live process only", func(s *stage) {
		w, g := busy()
		s.open(w)
		reads := s.store.Open(s.t, World{})
		id := s.session()
		run := s.send(id, "hold")
		g.await(s)
		s.until(id, api.EventModelCallStarted)
		for _, p := range []api.Service{s, reads} {
			st, err := p.State(s.Context(), id)
			s.no(err)
			if st.Activity != api.Running || st.Run != run.Run || st.Holder == "" || st.LeaseUntil.IsZero() {
				s.Fatalf("the running session is %+v", st)
			}
		}
		s.process.Crash()
		s.settle("the session runs no more", func() bool {
			st, err := reads.State(s.Context(), id)
			s.no(err)
			page, err := reads.Sessions(s.Context(), api.SessionQuery{Activity: api.Running})
			s.no(err)
			return st.Activity == api.Waiting && st.WaitingFor[0].Code == api.CodeRegistrationMissing && len(page.Sessions) == 0
		})
		close(g.open)
		s.open(w)
		s.ends(run, api.StatusCompleted)
		if st := s.state(id); st.Activity != api.Idle || st.Run != "" || st.Holder != "" {
			s.Fatalf("the idle session is %+v", st)
		}
	}},
	{"C14 going on after a cancel repeats nothing that was done", func(s *stage) {
		var l ledger
		g := newGate()
		s.open(World{Model: then(calls("act"), Answer{Wait: func(ctx context.Context) { g.pass(ctx, "model") }}), Tools: []Tool{action("act", "", count1(&l))}})
		id := s.session()
		run := s.send(id, "go")
		g.await(s)
		s.cancelled(run)
		if r := s.results(id); len(r) != 1 || r[0].Output != "done" || len(l.all()) != 1 {
			s.Fatalf("results %+v, ran %v", r, l.all())
		}
	}},
	{"RE7 take-overs of a turn that waits for a person count for nothing", func(s *stage) {
		var l ledger
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))}}
		s.open(w, asking)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		for range api.MaxTakeOvers + 2 {
			s.process.Crash()
			s.open(w, asking)
			s.ends(run, api.StatusInterrupted)
		}
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}))
		s.ends(run, api.StatusCompleted)
		if len(l.all()) != 1 {
			s.Fatalf("ran %v", l.all())
		}
	}},
}
