package servicetest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/openworkerai/openworker/api"
)

// lost is a session whose process crashed while a side effect ran.
type lost struct {
	l       ledger
	crashed atomic.Bool
	g       *gate
	run     api.RunReference
	told    asked
}

// lose runs one call of tool "act" into a crash and opens the next process. inspect may be nil.
func (s *stage) lose(inspect func(context.Context, ToolCall) (string, string, error), change ...func(*api.AgentDefinition)) *lost {
	s.Helper()
	x := &lost{g: newGate()}
	act := action("act", "", func(ctx context.Context, c ToolCall) (string, error) {
		x.l.add(c.ID)
		if !x.crashed.Load() {
			x.g.pass(ctx, c.ID)
			return "", ctx.Err()
		}
		return fmt.Sprintf("attempt %d", c.Attempt), nil
	})
	act.Inspect = inspect
	w := World{Model: x.told.by(then(calls("act"), Answer{Text: "ok"})), Tools: []Tool{act}}
	s.open(w, change...)
	x.run = s.send(s.session(), "go")
	x.g.await(s)
	s.process.Crash()
	x.crashed.Store(true)
	s.open(w, change...)
	return x
}

func tellModel(d *api.AgentDefinition) { d.UnknownOutcome = api.OutcomeTellModel }

var unknownTests = []test{
	{"RE3 C10 an action that may have run is asked about and never run again by itself", func(s *stage) {
		for _, tt := range []struct {
			answer api.Answer
			code   api.Code
			text   string
			runs   int
		}{
			{api.Answer{Decision: api.OutcomeSucceeded, Output: "sent as #7"}, "", "sent as #7", 1},
			{api.Answer{Decision: api.OutcomeFailed, Reason: "never arrived"}, api.CodeToolFailed, "never arrived", 1},
			{api.Answer{Decision: api.OutcomeRetry}, "", "attempt 2", 2},
		} {
			x := s.lose(nil)
			id := x.run.Session
			r := s.ends(x.run, api.StatusInterrupted)
			in := r.Interactions[0]
			if len(r.Interactions) != 1 || in.Kind != api.InteractionUnknownOutcome || in.Call.Name != "act" || in.Call.Attempt != 1 || in.Run != x.run.Run {
				s.Fatalf("asked is %+v", r.Interactions)
			}
			if u := s.state(id).UnknownActions; len(u) != 1 || u[0].Interaction != in.ID || u[0].CallID != in.Call.CallID {
				s.Fatalf("unknown are %+v", u)
			}
			s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}), api.CodeInvalidRequest)
			s.no(s.Resolve(s.Context(), id, in.ID, tt.answer))
			s.no(s.Resolve(s.Context(), id, in.ID, tt.answer))
			s.ends(x.run, api.StatusCompleted)
			got := s.results(id)[0]
			if got.Code != tt.code || !strings.Contains(got.Output, tt.text) || len(x.l.all()) != tt.runs {
				s.Errorf("%s: the result is %+v, the body ran %d times", tt.answer.Decision, got, len(x.l.all()))
			}
			if u := s.state(id).UnknownActions; len(u) > 0 {
				s.Errorf("%s: unknown are %+v", tt.answer.Decision, u)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"RE3 C15 with tell_model the model is told to inspect before it repeats", func(s *stage) {
		x := s.lose(nil, tellModel)
		s.ends(x.run, api.StatusCompleted)
		r := s.results(x.run.Session)[0]
		if r.Code != api.CodeOutcomeUnknown || !strings.Contains(r.Output, "inspect") || strings.Contains(strings.ToLower(r.Output), "try again") || len(x.l.all()) != 1 {
			s.Fatalf("the result is %+v, ran %d", r, len(x.l.all()))
		}
		if u := s.state(x.run.Session).UnknownActions; len(u) != 1 {
			s.Fatalf("unknown are %+v", u)
		}
	}},
	{"RE3 an inspection that can tell settles the action", func(s *stage) {
		for _, tt := range []struct {
			answer, output string
			code           api.Code
			text           string
			runs           int
		}{
			{"succeeded", "sent as #7", "", "sent as #7", 1},
			{"failed", "refused by the bank", api.CodeToolFailed, "refused by the bank", 1},
			{"not_started", "", "", "attempt 2", 2},
		} {
			var ids ledger
			x := s.lose(func(_ context.Context, c ToolCall) (string, string, error) {
				ids.add(fmt.Sprint(c.ID, c.Attempt, c.Arguments))
				return tt.answer, tt.output, nil
			})
			s.ends(x.run, api.StatusCompleted)
			got := s.results(x.run.Session)[0]
			if got.Code != tt.code || got.Output != tt.text || len(x.l.all()) != tt.runs {
				s.Errorf("%s: the result is %+v, the body ran %d times", tt.answer, got, len(x.l.all()))
			}
			if asked := ids.all(); len(asked) != 1 || asked[0] != fmt.Sprint(got.CallID, 1, `{"n":0}`) {
				s.Errorf("%s: inspected were %v", tt.answer, asked)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"RE3 an inspection that cannot tell leaves it to a person, one that fails or says running is asked again", func(s *stage) {
		for _, first := range []string{"running", "error", "panic", "unknown"} {
			var n ledger
			x := s.lose(func(_ context.Context, c ToolCall) (string, string, error) {
				if n.add("") > 1 {
					return "succeeded", "sent", nil
				}
				switch first {
				case "error":
					return "", "", fmt.Errorf("the bank does not answer")
				case "panic":
					panic("boom")
				}
				return first, "", nil
			})
			r := s.result(x.run)
			if first == "unknown" {
				if r.Status != api.StatusInterrupted || r.Interactions[0].Kind != api.InteractionUnknownOutcome {
					s.Fatalf("%s: %+v", first, r)
				}
			} else if r.Status != api.StatusCompleted || s.results(x.run.Session)[0].Output != "sent" {
				s.Fatalf("%s: %+v", first, r)
			}
			if ran := len(x.l.all()); ran != 1 {
				s.Errorf("%s: the body ran %d times", first, ran)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"RE3 a cancel while a person is asked about an action closes the call as unknown", func(s *stage) {
		x := s.lose(nil)
		in := s.ends(x.run, api.StatusInterrupted).Interactions[0]
		s.cancelled(x.run)
		if r := s.results(x.run.Session)[0]; r.Code != api.CodeOutcomeUnknown {
			s.Fatalf("the result is %+v", r)
		}
		s.code(s.Resolve(s.Context(), x.run.Session, in.ID, api.Answer{Decision: api.OutcomeRetry}), api.CodeAlreadyResolved)
	}},
	{"RE3 C20 a question about an action is the same after another crash, and answered by another process", func(s *stage) {
		x := s.lose(nil)
		in := s.ends(x.run, api.StatusInterrupted).Interactions[0]
		s.process.Crash()
		reads := s.store.Open(s.t, World{})
		st, err := reads.State(s.Context(), x.run.Session)
		s.no(err)
		if st.Activity != api.Waiting || len(st.Interactions) != 1 || st.Interactions[0].ID != in.ID {
			s.Fatalf("after the crash: %+v", st)
		}
		s.no(reads.Resolve(s.Context(), x.run.Session, in.ID, api.Answer{Decision: api.OutcomeSucceeded}))
		s.open(World{Model: then(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&x.l))}})
		s.ends(x.run, api.StatusCompleted)
		if len(x.l.all()) != 1 {
			s.Fatalf("ran %v", x.l.all())
		}
	}},
	{"RE3 RU10 a side effect that ignores its time-out may have happened, so a person is asked", func(s *stage) {
		release := make(chan struct{})
		defer close(release)
		act := action("act", "", func(context.Context, ToolCall) (string, error) { <-release; return "", nil })
		act.Timeout = Poll
		s.open(World{Model: then(calls("act"), Answer{Text: "ok"}), Tools: []Tool{act}})
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		if in.Kind != api.InteractionUnknownOutcome || in.Call.Attempt != 1 {
			s.Fatalf("asked is %+v", in)
		}
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.OutcomeFailed, Reason: "it hangs"}))
		s.ends(run, api.StatusCompleted)
		s.say(id, "next")
	}},
	{"RE3 a side effect that reports after its time-out and its grace settles the question itself", func(s *stage) {
		release := make(chan struct{})
		act := action("act", "", func(context.Context, ToolCall) (string, error) { <-release; return "sent at last", nil })
		act.Timeout = Poll
		s.open(World{Model: then(calls("act"), Answer{Text: "ok"}), Tools: []Tool{act}})
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		close(release)
		s.settle("the turn went on", func() bool { return s.state(id).Activity == api.Idle })
		s.ends(run, api.StatusCompleted)
		if r := s.results(id)[0]; r.Output != "sent at last" || r.Code != "" {
			s.Fatalf("the result is %+v", r)
		}
		s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.OutcomeRetry}), api.CodeAlreadyResolved)
	}},
}
