package servicetest

import (
	"context"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// granting opens a world and a session that holds a grant for act.
func (s *stage) granting(w World) string {
	s.Helper()
	s.open(w, asking)
	id := s.session()
	run := s.send(id, "act")
	s.ends(run, api.StatusInterrupted)
	s.answer(id, api.Answer{Decision: api.AllowSession, By: "ann"})
	s.ends(run, api.StatusCompleted)
	return id
}

// acts calls the tools that the user names, in one answer.
func acts(p Prompt) Answer {
	return rounds(calls(strings.Fields(p.User)...), Answer{Text: "ok"})(p)
}

var grantTests = []test{
	{"AP4 AP2 a grant covers valid arguments only", func(s *stage) {
		var l ledger
		id := s.granting(World{Model: func(p Prompt) Answer {
			if p.User == "wrong" {
				return rounds(Answer{Calls: []Call{{Name: "act", Arguments: `{"n":"x"}`}}}, Answer{Text: "ok"})(p)
			}
			return acts(p)
		}, Tools: []Tool{action("act", "", count1(&l))}})
		s.say(id, "wrong")
		if r := s.results(id)[1]; r.Code != api.CodeArgumentsInvalid || len(l.all()) != 1 {
			s.Fatalf("the result is %+v, ran %v", r, l.all())
		}
	}},
	{"AP4 a grant that is revoked covers nothing any more, also after a crash; revoking again is no matter", func(s *stage) {
		var l ledger
		w := World{Model: acts, Tools: []Tool{action("act", "", count1(&l)), action("other", "", count1(&l))}}
		id := s.granting(w)
		reads := s.store.Open(s.t, World{}) // it cannot run the session, and can revoke
		s.no(reads.RevokeGrant(s.Context(), id, "act", "bob"))
		d := decode[api.GrantRevoked](s, s.until(id, api.EventGrantRevoked))
		if d.Tool != "act" || d.By != "bob" || len(s.state(id).Grants) > 0 {
			s.Fatalf("revoked as %+v, granted are %+v", d, s.state(id).Grants)
		}
		head := s.state(id).LastEvent
		s.no(s.RevokeGrant(s.Context(), id, "act", "bob"))
		s.no(s.RevokeGrant(s.Context(), id, "other", "bob"))
		for _, tool := range []string{"", "x", "act ", strings.Repeat("t", 5000)} {
			s.code(s.RevokeGrant(s.Context(), id, tool, "bob"), api.CodeInvalidRequest)
		}
		s.code(s.RevokeGrant(s.Context(), id, "act", "a\x00"), api.CodeInvalidRequest)
		s.code(s.RevokeGrant(s.Context(), "nobody", "act", "bob"), api.CodeSessionNotFound)
		if now := s.state(id).LastEvent; now != head {
			s.Fatalf("events %d to %d came of what changed nothing", head+1, now)
		}
		s.process.Crash()
		s.open(w, asking)
		s.ends(s.send(id, "act"), api.StatusInterrupted)
		if len(l.all()) != 1 {
			s.Fatalf("ran %v", l.all())
		}
		s.answer(id, api.Answer{Decision: api.AllowSession})
		s.settle("the new grant is listed", func() bool { return len(s.state(id).Grants) == 1 })
	}},
	{"AP4 a call that a grant approved and that has not begun is asked about once it is revoked; those that run go on", func(s *stage) {
		var l ledger
		g := newGate()
		w := World{Model: acts, Tools: []Tool{action("act", "", count1(&l)), action("hold", "", func(ctx context.Context, c ToolCall) (string, error) {
			g.pass(ctx, c.ID)
			return "done", ctx.Err()
		})}}
		id := s.granting(w)
		first := s.send(id, "hold")
		s.ends(first, api.StatusInterrupted)
		s.answer(id, api.Answer{Decision: api.AllowSession})
		g.await(s)
		g.open <- struct{}{}
		s.ends(first, api.StatusCompleted)
		run := s.send(id, "hold hold hold act act")
		for range Parallel { // as many as run at once: the others have to wait
			g.await(s)
		}
		s.no(s.RevokeGrant(s.Context(), id, "act", ""))
		if open := s.state(id).Interactions; len(open) != 2 || open[0].Call.Name != "act" || open[0].Call.Arguments != `{"n":3}` {
			s.Fatalf("asked about are %+v", open)
		}
		close(g.open)
		r := s.ends(run, api.StatusInterrupted)
		s.no(s.Resolve(s.Context(), id, r.Interactions[0].ID, api.Answer{Decision: api.Deny}))
		s.no(s.Resolve(s.Context(), id, r.Interactions[1].ID, api.Answer{Decision: api.AllowOnce}))
		s.ends(run, api.StatusCompleted)
		results := s.results(id)
		if n := len(results); len(l.all()) != 2 || results[n-2].Code != api.CodeDenied || results[n-1].Code != "" || results[n-3].Output != "done" {
			s.Fatalf("ran %v, the results are %+v", l.all(), results)
		}
	}},
}
