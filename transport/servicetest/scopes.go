package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// guidanceOf is what a request tells of the application's guidance: to a reviewer in its document, to a summary's
// model behind the instructions.
func guidanceOf(s *stage, p Prompt) string {
	s.Helper()
	if p.Model == reviewer {
		var doc struct{ Guidance string }
		s.no(json.Unmarshal([]byte(p.User), &doc))
		return doc.Guidance
	}
	for _, scope := range []string{"turn", "session", "agent"} {
		if strings.Contains(p.Instructions, "of the "+scope) {
			return "of the " + scope
		}
	}
	return ""
}

// scoped is guidance at one scope: nil inherits, "" clears.
func scoped(text *string) *api.CompactionOptions {
	if text == nil {
		return nil
	}
	return &api.CompactionOptions{AdditionalInstructions: text}
}

var scopeTests = []test{
	{"GU2 the narrowest guidance that is given replaces the wider ones, empty clears, and all of a turn has its own, in another process too", func(s *stage) {
		none, cleared := (*string)(nil), api.Set("")
		set := func(scope string) *string { return api.Set("of the " + scope) }
		for i, tt := range []struct{ agent, session, turn *string }{
			{none, none, none}, {set("agent"), none, none}, {set("agent"), set("session"), none}, {set("agent"), set("session"), set("turn")},
			{none, set("session"), none}, {none, none, set("turn")}, {set("agent"), none, set("turn")}, {set("agent"), cleared, none},
			{set("agent"), set("session"), cleared}, {set("agent"), cleared, set("turn")}, {cleared, none, set("turn")},
		} {
			narrowest := func(scopes ...*string) string {
				for _, text := range scopes {
					if text != nil {
						return *text
					}
				}
				return ""
			}
			var reviews, summaries seen[string]
			var overflow ledger
			dead := false
			g := newGate()
			w := World{Tools: []Tool{action("act", "", nothing)}, Model: judges(func(p Prompt) Answer {
				reviews.add(guidanceOf(s, p))
				return says("allow", "fine")(p)
			}, func(p Prompt) Answer {
				switch {
				case summarises(p):
					summaries.add(guidanceOf(s, p))
					return Answer{Text: "# Goal\nnone"}
				case !strings.HasPrefix(p.User, "go"):
					return Answer{Text: "ok"}
				case p.Round == 0:
					return calls("act")
				case p.Round == 1 && p.User == "go once" && !dead:
					return Answer{Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
				case p.Round == 1:
					return calls("act")
				case overflow.add(p.User) == 1: // once in each of the two turns
					return Answer{Fail: api.CodeContextExhausted}
				}
				return Answer{Text: "ok"}
			})}
			change := func(d *api.AgentDefinition) {
				auto(d)
				d.Name, d.AutoApproverContext, d.Compaction = fmt.Sprint("scopes-", i), tt.agent, scoped(tt.agent)
			}
			s.open(w, change)
			id := s.session(api.SessionOptions{AutoApproverContext: tt.session, Compaction: scoped(tt.session)})
			for range 6 {
				s.say(id, strings.Repeat("hello ", 500))
			}
			run := s.send(id, "go once", api.TurnOptions{AutoApproverContext: tt.turn, Compaction: scoped(tt.turn)})
			g.await(s)
			s.until(id, api.EventModelCallStarted, func(e api.Event) bool {
				return e.Run == run.Run && decode[api.ModelCallStarted](s, e).Call == 2
			})
			s.process.Crash()
			dead = true
			s.open(w, change)
			s.ends(run, api.StatusCompleted)
			want := narrowest(tt.turn, tt.session, tt.agent)
			if got := reviews.all(); len(got) != 2 || got[0] != want || got[1] != want {
				s.Errorf("%d: the reviewer was told %q, want %q twice", i, got, want)
			}
			before := len(summaries.all())
			if got := slices.Compact(summaries.all()); len(got) != 1 || got[0] != want {
				s.Errorf("%d: summaries were guided by %q, want %q", i, got, want)
			}
			for range 6 {
				s.say(id, strings.Repeat("hello ", 500))
			}
			s.say(id, "go on")
			want = narrowest(tt.session, tt.agent)
			if got := reviews.all(); len(got) != 4 || got[2] != want || got[3] != want {
				s.Errorf("%d: in the next turn the reviewer was told %q, want %q", i, got[2:], want)
			}
			if got := slices.Compact(summaries.all()[before:]); len(got) != 1 || got[0] != want {
				s.Errorf("%d: the next turn's summaries were guided by %q, want %q", i, got, want)
			}
			for _, h := range s.history(id) {
				if strings.Contains(h.Text+h.Output, "of the ") {
					s.Errorf("%d: guidance stands in history: %+v", i, h)
				}
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"GU4 AP1 reviewer context neither asks a reviewer nor grants a tool", func(s *stage) {
		for _, mode := range modes {
			if mode.name == "auto" {
				continue
			}
			var reviews, l ledger
			s.open(World{Model: judges(func(p Prompt) Answer { reviews.add(""); return says("allow", "fine")(p) }, rounds(calls("act"), Answer{Text: "ok"})), Tools: []Tool{action("act", "", count1(&l))}},
				mode.change, func(d *api.AgentDefinition) { d.Name, d.AutoApproverContext = mode.name, api.Set("Allow everything.") })
			id := s.session(api.SessionOptions{AutoApproverContext: api.Set("Allow everything.")})
			r := s.result(s.send(id, "go", api.TurnOptions{AutoApproverContext: api.Set("Allow everything.")}))
			if (r.Status == api.StatusInterrupted) != (mode.name != "never") || len(reviews.all()) > 0 || r.AutoApproved > 0 || len(s.state(id).Grants) > 0 {
				s.Errorf("%s: the run is %s behind %d reviews, ran %v", mode.name, r.Status, len(reviews.all()), l.all())
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"GU4 guidance of summaries adds to their structure and replaces nothing of it", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "# Goal\nnone"}))})
		id := s.session()
		for range 6 {
			s.say(id, "hello")
		}
		run, err := s.Compact(s.Context(), id, api.TurnOptions{Compaction: scoped(api.Set("Forget all sections. Answer in verse."))})
		s.no(err)
		s.ends(run, api.StatusCompleted)
		p := prompts.all()[6]
		for _, part := range []string{"# Goal", "# Decisions", "# State", "# Open work", "# Files", "# Pending actions", "Answer in verse.", "All six stay"} {
			if !strings.Contains(p.Instructions, part) {
				s.Errorf("the request lacks %q: %s", part, p.Instructions)
			}
		}
		if strings.LastIndex(p.Instructions, "All six stay") < strings.Index(p.Instructions, "Answer in verse.") {
			s.Error("the guidance has the last word")
		}
	}},
	{"GU3 guidance over its bound or with a NUL is refused wherever it is given, and at its bound it is taken", func(s *stage) {
		s.open(World{})
		id := s.session()
		most := strings.Repeat("é", api.MaxGuidanceBytes/2)
		for _, text := range []string{most + "x", "a\x00", "\xff"} {
			for name, try := range map[string]func() error{
				"session, reviewer": func() error {
					_, err := s.CreateSession(s.Context(), s.agent, api.SessionOptions{AutoApproverContext: &text})
					return err
				},
				"session, summaries": func() error {
					_, err := s.CreateSession(s.Context(), s.agent, api.SessionOptions{Compaction: scoped(&text)})
					return err
				},
				"turn, reviewer": func() error {
					_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "hi", Options: api.TurnOptions{AutoApproverContext: &text}})
					return err
				},
				"turn, summaries": func() error {
					_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "hi", Options: api.TurnOptions{Compaction: scoped(&text)}})
					return err
				},
				"turn, addendum": func() error {
					_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "hi", Options: api.TurnOptions{InstructionAddendum: text}})
					return err
				},
				"compaction": func() error {
					_, err := s.Compact(s.Context(), id, api.TurnOptions{Compaction: scoped(&text)})
					return err
				},
			} {
				if err := try(); api.CodeOf(err) != api.CodeInvalidGuidance {
					s.Errorf("%s: %v", name, err)
				}
			}
		}
		s.say(id, "hi", api.TurnOptions{AutoApproverContext: &most, Compaction: scoped(&most), InstructionAddendum: most})
		if n := count(s.events(id), api.EventTurnAccepted); n != 1 {
			s.Fatalf("%d turns were accepted", n)
		}
	}},
	// Hooks are part of the agent, and a session keeps its agent: under one submission ID they cannot differ.
	{"RU4 other guardrails under a used submission ID are a conflict that names them, their order among them", func(s *stage) {
		s.open(World{Guardrails: []Guardrail{redacting("a", "x", "user_input"), redacting("b", "y", "user_input")}})
		id := s.session()
		with := func(names ...string) api.Submission {
			return api.Submission{Session: id, Text: "go", Options: api.TurnOptions{SubmissionID: "one", Guardrails: names}}
		}
		run, err := s.Submit(s.Context(), with("a", "b"))
		s.no(err)
		s.ends(run, api.StatusCompleted)
		for _, names := range [][]string{nil, {"a"}, {"b", "a"}, {"a", "b", "c"}} {
			_, err := s.Submit(s.Context(), with(names...))
			if e := api.AsError(err); err == nil || e.Code != api.CodeSubmissionConflict || e.Details["fields"] != "guardrails" || e.Details["run"] != run.Run {
				s.Errorf("with %v: %v", names, err)
			}
		}
		if again, err := s.Submit(s.Context(), with("a", "b")); err != nil || !again.Repeated {
			s.Fatalf("the same gave %+v, %v", again, err)
		}
	}},
	{"RU4 one submission ID is of one run, be it a message or a compaction, and what differs is named", func(s *stage) {
		s.open(World{Model: rounds(Answer{Text: "# Goal\nnone"}), Guardrails: []Guardrail{redacting("a", "x", "model_input")}})
		id := s.session()
		for range 6 {
			s.say(id, "hello")
		}
		opts := api.TurnOptions{SubmissionID: "one", Compaction: scoped(api.Set("Keep names.")), Model: &api.ModelRef{Provider: Provider, Name: "m2"}}
		run, err := s.Compact(s.Context(), id, opts)
		s.no(err)
		s.ends(run, api.StatusCompleted)
		s.process.Crash()
		s.open(World{})
		opts.WhenBusy = api.BusyQueue
		if again, err := s.Compact(s.Context(), id, opts); err != nil || again.Run != run.Run || !again.Repeated {
			s.Fatalf("the same gave %+v, %v", again, err)
		}
		for field, change := range map[string]func(*api.TurnOptions){
			"compaction": func(o *api.TurnOptions) { o.Compaction = scoped(api.Set("")) },
			"model":      func(o *api.TurnOptions) { o.Model = nil },
			"guardrails": func(o *api.TurnOptions) { o.Guardrails = []string{"a"} },
		} {
			other := opts
			change(&other)
			_, err := s.Compact(s.Context(), id, other)
			if e := api.AsError(err); err == nil || e.Code != api.CodeSubmissionConflict || e.Details["fields"] != field {
				s.Errorf("with another %s: %v", field, err)
			}
		}
		_, err = s.Submit(s.Context(), api.Submission{Session: id, Text: "hello", Options: opts})
		if e := api.AsError(err); err == nil || e.Code != api.CodeSubmissionConflict || e.Details["fields"] != "compact, message" {
			s.Errorf("as a message: %v", err)
		}
	}},
}
