package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

func only(tools ...string) func(*api.AgentDefinition) {
	return func(d *api.AgentDefinition) { d.Approvals = api.Approvals{Mode: api.ApproveOnly, Tools: tools} }
}

// permutations of 0 … n-1.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := 0; i <= len(p); i++ {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

var approvalTests = []test{
	{"AP1 the modes ask for every call, for listed ones, or for none, and tell who let a call pass", func(s *stage) {
		for _, tt := range []struct {
			mode   string
			change func(*api.AgentDefinition)
			asked  []string
			by     []string
			policy int
		}{
			{"always", asking, []string{"act", "look"}, []string{"", ""}, 0},
			{"only", only("act"), []string{"act"}, []string{"", "policy"}, 1},
			{"never", func(*api.AgentDefinition) {}, nil, []string{"never", "never"}, 0},
		} {
			s.open(World{Model: rounds(calls("act", "look"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing), action("look", api.ReadOnly, nothing)}},
				tt.change, func(d *api.AgentDefinition) { d.Name = tt.mode })
			id := s.session()
			run := s.send(id, "go")
			r := s.result(run)
			var names []string
			for _, in := range r.Interactions {
				names = append(names, in.Call.Name)
				s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce, By: "ann"}))
			}
			if !slices.Equal(names, tt.asked) {
				s.Errorf("%s asks for %v", tt.mode, names)
			}
			if r = s.ends(run, api.StatusCompleted); r.AutoApproved != tt.policy {
				s.Errorf("%s: %d calls count as approved by policy", tt.mode, r.AutoApproved)
			}
			for i, c := range decode[api.ModelCallFinished](s, s.until(id, api.EventModelCallFinished)).Calls {
				if c.ApprovedBy != tt.by[i] {
					s.Errorf("%s: call %d was let pass by %q", tt.mode, i, c.ApprovedBy)
				}
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP3 C11 C25 an answer is final: the same again is no matter, another is refused, and the answer alone wakes the run", func(s *stage) {
		var l ledger
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))}}
		s.open(w, asking)
		other := s.store.Open(s.t, World{}) // it cannot run the session, and can answer
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		s.code(s.Resolve(s.Context(), id, id+"-i99", api.Answer{Decision: api.AllowOnce}), api.CodeInteractionNotFound)
		s.code(s.Resolve(s.Context(), id, "", api.Answer{Decision: api.AllowOnce}), api.CodeInteractionNotFound)
		for _, d := range []api.Decision{"", "yes", api.OutcomeRetry, api.OutcomeSucceeded, api.InteractionCancelled} {
			s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: d}), api.CodeInvalidRequest)
		}
		s.no(other.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce, By: "ann"}))
		again := func() {
			s.Helper()
			for _, p := range []api.Service{s, other} {
				s.no(p.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce, By: "bob"}))
				s.code(p.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Deny}), api.CodeAlreadyResolved)
				s.code(p.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce, Reason: "other"}), api.CodeAlreadyResolved)
			}
		}
		again()
		s.ends(run, api.StatusCompleted)
		again()
		for range 40 { // long ago: beyond what a state remembers
			r := s.send(id, "again")
			s.no(s.Resolve(s.Context(), id, s.ends(r, api.StatusInterrupted).Interactions[0].ID, api.Answer{Decision: api.Deny, Reason: "no"}))
			s.ends(r, api.StatusCompleted)
		}
		again()
		if len(l.all()) != 1 {
			s.Fatalf("ran %v", l.all())
		}
		d := decode[api.InteractionResolved](s, s.until(id, api.EventInteractionResolved))
		if d.ID != in.ID || d.Decision != api.AllowOnce || d.By != "ann" {
			s.Fatalf("resolved as %+v", d)
		}
	}},
	{"AP6 a denial tells the model the person's reason as quoted and not to get round it", func(s *stage) {
		var l ledger
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))}}, asking)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Deny, Reason: `not "today"`}))
		s.ends(run, api.StatusCompleted)
		r := s.results(id)[0]
		if r.Code != api.CodeDenied || !strings.Contains(r.Output, `not \"today\"`) || !strings.Contains(r.Output, "Do not retry") || len(l.all()) > 0 {
			s.Fatalf("the result is %+v, ran %v", r, l.all())
		}
	}},
	{"AP4 a grant covers the tool for the session, survives a crash and is listed; other tools and sessions ask on", func(s *stage) {
		var l ledger
		w := World{Model: func(p Prompt) Answer { return rounds(calls(strings.Fields(p.User)...), Answer{Text: "ok"})(p) },
			Tools: []Tool{action("act", "", count1(&l)), action("other", "", count1(&l))}}
		s.open(w, asking)
		id := s.session()
		run := s.send(id, "act")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowSession, By: "ann"}))
		s.ends(run, api.StatusCompleted)
		s.say(id, "act act")
		s.process.Crash()
		s.open(w, asking)
		s.say(id, "act")
		if g := s.state(id).Grants; len(g) != 1 || g[0].Tool != "act" || g[0].By != "ann" || g[0].Given.IsZero() {
			s.Fatalf("granted are %+v", g)
		}
		s.ends(s.send(id, "other"), api.StatusInterrupted)
		s.ends(s.send(s.session(), "act"), api.StatusInterrupted)
		if n := len(l.all()); n != 4 {
			s.Fatalf("%d calls ran", n)
		}
	}},
	{"AP8 C22 C20 C21 three calls, one free and two gated, in any order of answers with a crash between, run once each", func(s *stage) {
		for _, order := range permutations(3) {
			var l ledger
			// A fourth gated call keeps the answers from being the last, so that each order has one in the middle.
			w := World{Model: rounds(calls("free", "act", "act", "act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l)), action("free", "", count1(&l))}}
			s.open(w, only("act"))
			id := s.session()
			run := s.send(id, "go")
			before := s.ends(run, api.StatusInterrupted).Interactions
			if len(before) != 3 {
				s.Fatalf("asked are %+v", before)
			}
			for n, i := range order {
				s.process.Crash()
				s.open(w, only("act"))
				st := s.state(id)
				if len(st.Interactions) != 3-n {
					s.Fatalf("order %v: after %d answers and a restart %d are open", order, n, len(st.Interactions))
				}
				for _, in := range st.Interactions {
					if !slices.ContainsFunc(before, func(b api.Interaction) bool { return b.ID == in.ID && *b.Call == *in.Call && b.Asked.Equal(in.Asked) }) {
						s.Errorf("interaction %+v was not there before", in)
					}
				}
				s.no(s.Resolve(s.Context(), id, before[i].ID, api.Answer{Decision: []api.Decision{api.AllowOnce, api.Deny}[i%2]}))
				if n < 2 { // approved ones need not wait for the others
					s.ends(run, api.StatusInterrupted)
					s.settle("the approved call ran", func() bool {
						done := 0
						for _, in := range order[:n+1] {
							done += 1 - in%2
						}
						return len(l.all()) == 1+done
					})
				}
			}
			s.ends(run, api.StatusCompleted)
			ran := l.all()
			slices.Sort(ran)
			if len(ran) != 3 || len(slices.Compact(ran)) != 3 {
				s.Fatalf("order %v: ran %v", order, ran)
			}
			codes := fmt.Sprint(s.results(id)[0].Code, s.results(id)[1].Code, s.results(id)[2].Code, s.results(id)[3].Code)
			if codes != "denied" {
				s.Errorf("order %v: the results have the codes %q", order, codes)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"C24 an answer stays given when the model call behind it fails", func(s *stage) {
		var l ledger
		s.open(World{Model: func(p Prompt) Answer {
			switch {
			case p.User == "again":
				return Answer{Text: "ok"}
			case p.Round == 0:
				return calls("act")
			}
			return Answer{Fail: api.CodeProviderError}
		}, Tools: []Tool{action("act", "", count1(&l))}}, asking)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}))
		s.ends(run, api.StatusFailed)
		st := s.state(id)
		if st.Activity != api.Idle || len(st.Interactions) > 0 || len(l.all()) != 1 {
			s.Fatalf("%+v, ran %v", st, l.all())
		}
		s.say(id, "again")
	}},
	{"C26 C28 a request for an answer survives two crashes and a change of client, and its call stands in history once", func(s *stage) {
		var l ledger
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))}}
		s.open(w, asking)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		s.process.Crash()
		s.open(w, asking)
		s.ends(run, api.StatusInterrupted)
		s.process.Crash()
		reads := s.store.Open(s.t, World{})
		s.no(reads.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}))
		if st, err := reads.State(s.Context(), id); err != nil || st.Activity == api.Idle || st.Activity == api.Running {
			s.Fatalf("with nobody to run it the session is %v, %v", st.Activity, err)
		}
		s.open(w, asking)
		s.ends(run, api.StatusCompleted)
		if n := len(s.history(id)); n != 4 || len(l.all()) != 1 {
			s.Fatalf("the history has %d items, ran %v", n, l.all())
		}
	}},
	{"C27 an approval waits for as long as it takes, whatever time-outs the tool has", func(s *stage) {
		var l ledger
		act := action("act", "", func(ctx context.Context, c ToolCall) (string, error) { l.add(c.ID); return "", ctx.Err() })
		act.Timeout = Poll
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{act}}
		s.open(w, asking)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		head := s.state(id).LastEvent
		ctx, cancel := context.WithTimeout(s.Context(), Lease/4)
		defer cancel()
		stream, err := s.Follow(ctx, api.FollowQuery{Session: id, After: head})
		s.no(err)
		_, err = stream.Next(ctx)
		s.code(err, api.CodeCancelled) // nothing happens by itself
		s.no(stream.Close())
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}))
		s.ends(run, api.StatusCompleted)
		if r := s.results(id)[0]; r.Code != "" {
			s.Fatalf("the result is %+v", r)
		}
	}},
}
