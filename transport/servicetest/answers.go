package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openworkerai/openworker/api"
)

// answered is a world with one approval open; ran gets the arguments that the action ran with.
func (s *stage) asked(ran *seen[string]) (session string, run api.RunReference, in api.Interaction) {
	s.Helper()
	s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) {
		ran.add(c.Arguments)
		return "done", nil
	})}}, asking)
	session = s.session()
	run = s.send(session, "go")
	return session, run, s.ends(run, api.StatusInterrupted).Interactions[0]
}

var answerTests = []test{
	{"AP3 an answer with changed arguments runs the action with them, once, and history tells both", func(s *stage) {
		var ran seen[string]
		id, run, in := s.asked(&ran)
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce, Arguments: []byte(`{"n": 12345678901234567890}`), By: "ann"}))
		s.ends(run, api.StatusCompleted)
		if got := ran.all(); !slices.Equal(got, []string{`{"n":12345678901234567890}`}) {
			s.Fatalf("it ran with %q", got)
		}
		d := decode[api.InteractionResolved](s, s.until(id, api.EventInteractionResolved))
		if d.ID != in.ID || d.Decision != api.AllowOnce || string(d.Arguments) != `{"n":12345678901234567890}` || d.By != "ann" {
			s.Errorf("the answer reads %+v", d)
		}
		for _, h := range s.history(id) {
			if want := map[string]string{"tool_call": `{"n":0}`, "tool_result": `{"n":12345678901234567890}`}[h.Type]; h.Arguments != want {
				s.Errorf("history has %+v, want the arguments %s", h, want)
			}
		}
		for _, tt := range []struct {
			name string
			a    api.Answer
			want api.Code
		}{
			{"the same in another spelling", api.Answer{Decision: api.AllowOnce, Arguments: []byte(" {\"n\":12345678901234567890}\n"), By: "bob"}, ""},
			{"the call's own arguments", api.Answer{Decision: api.AllowOnce}, api.CodeAlreadyResolved},
			{"null, which is none", api.Answer{Decision: api.AllowOnce, Arguments: []byte("null")}, api.CodeAlreadyResolved},
			{"a number that a float could not tell apart", api.Answer{Decision: api.AllowOnce, Arguments: []byte(`{"n":12345678901234567891}`)}, api.CodeAlreadyResolved},
			{"arguments that the schema refuses", api.Answer{Decision: api.AllowOnce, Arguments: []byte(`{"n":"seven"}`)}, api.CodeAlreadyResolved},
			{"a denial", api.Answer{Decision: api.Deny}, api.CodeAlreadyResolved},
		} {
			if err := s.Resolve(s.Context(), id, in.ID, tt.a); api.CodeOf(err) != tt.want {
				s.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
		}
		if n := count(s.events(id), api.EventInteractionResolved); n != 1 || len(ran.all()) != 1 {
			s.Errorf("%d answers are stored, it ran %d times", n, len(ran.all()))
		}
	}},
	{"AP3 changed arguments that cannot be taken are refused by name, store nothing and leave the question open", func(s *stage) {
		var ran seen[string]
		id, run, in := s.asked(&ran)
		head := s.state(id).LastEvent
		deep := strings.Repeat(`{"n":`, 200) + "1" + strings.Repeat("}", 200)
		for _, tt := range []struct {
			name, arguments string
			decision        api.Decision
			want            api.Code
		}{
			{"against the schema", `{"n":"seven"}`, api.AllowOnce, api.CodeArgumentsInvalid},
			{"an unknown field", `{"m":7}`, api.AllowOnce, api.CodeArgumentsInvalid},
			{"a key twice", `{"n":1,"n":2}`, api.AllowOnce, api.CodeArgumentsInvalid},
			{"a list", `[7]`, api.AllowOnce, api.CodeArgumentsInvalid},
			{"a number", `7`, api.AllowOnce, api.CodeArgumentsInvalid},
			{"cut off", `{"n":7`, api.AllowOnce, api.CodeArgumentsInvalid},
			{"two values", `{"n":7}{"n":8}`, api.AllowOnce, api.CodeArgumentsInvalid},
			{"too deep", deep, api.AllowOnce, api.CodeArgumentsInvalid},
			{"not UTF-8", "{\"n\":\"\xff\"}", api.AllowOnce, api.CodeInvalidRequest},
			{"a NUL", "{\"n\":7}\x00", api.AllowOnce, api.CodeInvalidRequest},
			{"one byte over the bound", `{"n":7` + strings.Repeat(" ", api.MaxToolOutputBytes-len(`{"n":7}`)+1) + `}`, api.AllowOnce, api.CodeInvalidRequest},
			{"for the whole session", `{"n":7}`, api.AllowSession, api.CodeInvalidRequest},
			{"with a denial", `{"n":7}`, api.Deny, api.CodeInvalidRequest},
		} {
			err := s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: tt.decision, Arguments: json.RawMessage(tt.arguments)})
			s.code(err, tt.want)
			if tt.want == api.CodeArgumentsInvalid && (!strings.Contains(err.Error(), "stays open: ") || strings.Contains(err.Error(), "call again")) {
				s.Errorf("%s: a person is told what a model is: %v", tt.name, err)
			}
			if st := s.state(id); st.LastEvent != head || len(st.Interactions) != 1 || len(ran.all()) > 0 {
				s.Fatalf("%s: the refusal left %+v, ran %v", tt.name, st, ran.all())
			}
		}
		for _, unknown := range []string{id + "-i99", id + "-i1", in.ID + " ", "x"} {
			s.code(s.Resolve(s.Context(), id, unknown, api.Answer{Decision: api.AllowOnce, Arguments: []byte(`{"n":7}`)}), api.CodeInteractionNotFound)
		}
		widest := `{"n":7` + strings.Repeat(" ", api.MaxToolOutputBytes-len(`{"n":7}`)) + `}`
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce, Arguments: []byte(widest)}))
		s.ends(run, api.StatusCompleted)
		if got := ran.all(); !slices.Equal(got, []string{`{"n":7}`}) {
			s.Fatalf("it ran with %.100q", got)
		}
	}},
	{"AP3 changed arguments belong to an approval and to no other question", func(s *stage) {
		s.open(World{Model: rounds(Answer{Calls: []Call{{Name: "ask_user", Arguments: `{"question":"Why?"}`}}}, Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}})
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		for _, d := range []api.Decision{api.Answered, api.Skipped, api.AllowOnce} {
			s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: d, Arguments: []byte(`{"question":"How?"}`), Answers: []string{"a"}}), api.CodeInvalidRequest)
		}
		s.answer(id, api.Answer{Decision: api.Skipped})
		s.ends(run, api.StatusCompleted)
	}},
	{"AP3 C22 calls of one answer are changed, denied and allowed each on its own, over a crash after each answer", func(s *stage) {
		for _, order := range permutations(3) {
			var ran seen[string]
			w := World{Model: rounds(calls("act", "act", "act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) {
				ran.add(c.Arguments)
				return c.Arguments, nil
			})}}
			s.open(w, asking)
			id := s.session()
			run := s.send(id, "go")
			ins := s.ends(run, api.StatusInterrupted).Interactions
			answers := []api.Answer{{Decision: api.AllowOnce, Arguments: []byte(`{"n":10}`)}, {Decision: api.Deny, Reason: "no"}, {Decision: api.AllowOnce}}
			for n, i := range order {
				s.no(s.Resolve(s.Context(), id, ins[i].ID, answers[i]))
				if n < 2 {
					s.settle("what was allowed has run", func() bool {
						return len(ran.all()) == len(slices.DeleteFunc(slices.Clone(order[:n+1]), func(i int) bool { return i == 1 }))
					})
					s.settle("its result is stored", func() bool { return count(s.events(id), api.EventToolCallFinished) == n+1 })
					s.process.Crash()
					s.open(w, asking)
					s.ends(run, api.StatusInterrupted)
				}
			}
			s.ends(run, api.StatusCompleted)
			var got []string
			for _, r := range s.results(id) {
				got = append(got, fmt.Sprint(r.Code, r.Output[:min(len(r.Output), 8)]))
			}
			if want := []string{`{"n":10}`, "deniedA person", `{"n":2}`}; !slices.Equal(got, want) || len(ran.all()) != 2 {
				s.Errorf("order %v: the results are %q, ran %v", order, got, ran.all())
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"C11 an answer to a question of a cancelled turn is told that it came too late", func(s *stage) {
		var ran seen[string]
		id, run, in := s.asked(&ran)
		s.no(s.Cancel(s.Context(), id, run.Run))
		s.ends(run, api.StatusCancelled)
		s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}), api.CodeAlreadyResolved)
		for _, arguments := range []string{`{"n":7}`, `{"n":"seven"}`, `{"m":7}`} { // it is too late for any, also for those that fit nothing
			s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce, Arguments: []byte(arguments)}), api.CodeAlreadyResolved)
		}
		if len(ran.all()) > 0 {
			s.Fatalf("ran with %v", ran.all())
		}
	}},
	{"C10 AP3 an approval is used up by the start of its action: behind a crash the outcome is asked about, and a retry runs what was approved", func(s *stage) {
		var asked, ran seen[string]
		var dead atomic.Bool
		g := newGate()
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Deny: func(_ context.Context, a Action) (Verdict, error) {
			asked.add(fmt.Sprint(a.Arguments, a.Changed))
			return allowed, nil
		}, Tools: []Tool{action("act", "", func(ctx context.Context, c ToolCall) (string, error) {
			ran.add(fmt.Sprint(c.Arguments, c.Attempt))
			if !dead.Load() {
				g.pass(ctx, "act")
			}
			return "done", ctx.Err()
		})}}
		s.open(w, asking)
		id := s.session()
		run := s.send(id, "go")
		approval := s.ends(run, api.StatusInterrupted).Interactions[0]
		allow := api.Answer{Decision: api.AllowOnce, Arguments: []byte(`{"n":7}`)}
		s.no(s.Resolve(s.Context(), id, approval.ID, allow))
		g.await(s)
		s.process.Crash()
		dead.Store(true)
		s.open(w, asking)
		r := s.ends(run, api.StatusInterrupted)
		if len(r.Interactions) != 1 || r.Interactions[0].Kind != api.InteractionUnknownOutcome || r.Interactions[0].ID == approval.ID || r.Interactions[0].Call.CallID != approval.Call.CallID {
			s.Fatalf("asked are %+v", r.Interactions)
		}
		s.no(s.Resolve(s.Context(), id, approval.ID, allow)) // told before, and nothing comes of it
		s.code(s.Resolve(s.Context(), id, r.Interactions[0].ID, allow), api.CodeInvalidRequest)
		s.answer(id, api.Answer{Decision: api.OutcomeRetry})
		s.ends(run, api.StatusCompleted)
		if got := ran.all(); !slices.Equal(got, []string{`{"n":7}1`, `{"n":7}2`}) {
			s.Errorf("it ran as %q", got)
		}
		if got := asked.all(); len(got) < 3 || got[0] != `{"n":0}false` || got[1] != `{"n":7}true` || got[2] != `{"n":7}true` {
			s.Errorf("the application was asked about %q", got)
		}
		if n := count(s.events(id), api.EventInteractionRequired); n != 2 {
			s.Errorf("%d questions were put", n)
		}
	}},
}
