package servicetest

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openworkerai/openworker/api"
)

var waitTests = []test{
	{"RE8 a session whose agent or tool is not registered here waits, fails nothing, and goes on when it is", func(s *stage) {
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}}
		s.open(w)
		id := s.session()
		s.process.Stop()
		s.process = s.store.Open(s.t, World{Model: w.Model}) // no tool is bound
		s.Service = s.process
		run := s.send(id, "go")
		waits := func(name string) {
			s.Helper()
			r := s.ends(run, api.StatusInterrupted)
			st := s.state(id)
			for _, reasons := range [][]api.WaitReason{r.WaitingFor, st.WaitingFor} {
				if st.Activity != api.Waiting || !slices.ContainsFunc(reasons, func(w api.WaitReason) bool {
					return w.Code == api.CodeRegistrationMissing && strings.HasPrefix(w.Name, name)
				}) {
					s.Fatalf("the session is %s and waits for %+v, want %s", st.Activity, reasons, name)
				}
			}
		}
		waits("agent ")
		s.agent = s.register(s, w)
		waits("tool act")
		s.process.Stop()
		s.open(w)
		s.ends(run, api.StatusCompleted)
	}},
	{"RE5 a turn without a credential waits for it and goes on by itself", func(s *stage) {
		var there atomic.Bool
		s.open(World{Credential: there.Load})
		id := s.session()
		run := s.send(id, "go")
		r := s.ends(run, api.StatusInterrupted)
		if len(r.WaitingFor) != 1 || r.WaitingFor[0].Code != api.CodeCredentialsMissing || !strings.EqualFold(r.WaitingFor[0].Name, Provider) {
			s.Fatalf("the run waits for %+v", r.WaitingFor)
		}
		if st := s.state(id); st.Activity != api.Waiting || st.Run != run.Run || len(s.events(id)) != 2 {
			s.Fatalf("the session is %+v", st)
		}
		there.Store(true)
		s.settle("the turn went on", func() bool { return s.state(id).Activity == api.Idle })
		s.ends(run, api.StatusCompleted)
	}},
	{"RE5 a credential that goes missing in the middle of a turn makes it wait and loses nothing", func(s *stage) {
		var there atomic.Bool
		there.Store(true)
		var l ledger
		g := newGate()
		w := World{Credential: there.Load, Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}}
		w.Tools[0].Run = wait(g, make(chan struct{}, 9))
		s.open(w)
		id := s.session()
		run := s.send(id, "go")
		l.add(g.await(s))
		there.Store(false)
		s.process.Crash()
		s.open(w)
		if r := s.ends(run, api.StatusInterrupted); len(r.WaitingFor) == 0 || r.WaitingFor[0].Code != api.CodeCredentialsMissing {
			s.Fatalf("the run waits for %+v", r.WaitingFor)
		}
		there.Store(true)
		s.until(id, api.EventInteractionRequired)
		s.no(s.Resolve(s.Context(), id, s.state(id).Interactions[0].ID, api.Answer{Decision: api.OutcomeSucceeded}))
		s.ends(run, api.StatusCompleted)
	}},
	{"RE8 a message and a cancel are taken by a process that cannot run the session", func(s *stage) {
		s.open(World{})
		id := s.session()
		s.process.Stop()
		s.look()
		first, second := s.send(id, "one"), s.send(id, "two", queueUp)
		s.ends(first, api.StatusInterrupted)
		s.no(s.Cancel(s.Context(), id, first.Run))
		s.ends(first, api.StatusCancelled)
		s.ends(second, api.StatusInterrupted)
		s.open(World{})
		s.ends(second, api.StatusCompleted)
	}},
	{"RE8 a turn whose provider is known and not configured here waits for it", func(s *stage) {
		s.open(World{}, func(d *api.AgentDefinition) { d.DefaultModel = api.ModelRef{Provider: "anthropic", Name: "m"} })
		id := s.session()
		run := s.send(id, "go")
		r := s.ends(run, api.StatusInterrupted)
		if len(r.WaitingFor) != 1 || r.WaitingFor[0].Code != api.CodeRegistrationMissing || r.WaitingFor[0].Name != "Anthropic" {
			s.Fatalf("the run waits for %+v", r.WaitingFor)
		}
		s.no(s.Cancel(s.Context(), id, ""))
		s.ends(run, api.StatusCancelled)
		if text := s.say(id, "go", api.TurnOptions{Model: &api.ModelRef{Provider: Provider, Name: "m"}}); text != "ok" {
			s.Fatalf("with another model the turn says %q", text)
		}
	}},
}
