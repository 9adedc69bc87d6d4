package servicetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// asks is a turn that puts a question and then says what it was told.
func asks(arguments string) func(Prompt) Answer {
	return rounds(Answer{Calls: []Call{{Name: "ask_user", Arguments: arguments}}}, Answer{Text: "ok"})
}

func asker(d *api.AgentDefinition) { d.BuiltinTools.AskUser = api.Set(true) }

const choices = `{"question":"Which one?","choices":[{"label":"red","description":"as blood"},{"label":"blue"}],"multiple":%t}`

var questionTests = []test{
	{"AP9 a question has its text and choices, and takes one of them, several where it says so, or a person's own words", func(s *stage) {
		for _, tt := range []struct {
			name     string
			multiple bool
			answers  []string
			want     string
		}{
			{"one", false, []string{"blue"}, `{"answers":["blue"]}`},
			{"several", true, []string{"red", "blue"}, `{"answers":["red","blue"]}`},
			{"own", false, []string{`neither, "thanks" <b>`}, `{"answers":["neither, \"thanks\" <b>"]}`},
			{"both", true, []string{"red", "and green\nif there is"}, `{"answers":["red","and green\nif there is"]}`},
		} {
			s.open(World{Model: asks(fmt.Sprintf(choices, tt.multiple))}, asker, func(d *api.AgentDefinition) { d.Name = tt.name })
			id := s.session()
			run := s.send(id, "go")
			in := s.ends(run, api.StatusInterrupted).Interactions[0]
			want := api.Question{Text: "Which one?", Choices: []api.Choice{{Label: "red", Description: "as blood"}, {Label: "blue"}}, Multiple: tt.multiple}
			if q := in.Question; in.Kind != api.InteractionQuestion || q == nil || q.Text != want.Text || !slices.Equal(q.Choices, want.Choices) || q.Multiple != tt.multiple {
				s.Errorf("%s: asked is %+v", tt.name, in)
			}
			s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Answered, Answers: tt.answers, By: "ann"}))
			s.ends(run, api.StatusCompleted)
			if r := s.results(id)[0]; r.Output != tt.want || r.Code != "" {
				s.Errorf("%s: the result is %+v, want %s", tt.name, r, tt.want)
			}
			d := decode[api.InteractionResolved](s, s.until(id, api.EventInteractionResolved))
			if d.Decision != api.Answered || !slices.Equal(d.Answers, tt.answers) || d.By != "ann" {
				s.Errorf("%s: resolved as %+v", tt.name, d)
			}
			s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Answered, Answers: tt.answers}))
			s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Answered, Answers: append([]string{"x"}, tt.answers...)}), api.CodeAlreadyResolved)
			s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Skipped}), api.CodeAlreadyResolved)
			s.process.Stop()
		}
		s.look()
	}},
	{"AP9 an answer that does not fit a question is refused and leaves it open", func(s *stage) {
		s.open(World{Model: asks(fmt.Sprintf(choices, false))}, asker)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		half := strings.Repeat("x", api.MaxAnswersBytes/2)
		for name, a := range map[string]api.Answer{
			"nothing": {Decision: api.Answered}, "an approval": {Decision: api.AllowOnce}, "a grant": {Decision: api.AllowSession}, "a denial": {Decision: api.Deny},
			"several": {Decision: api.Answered, Answers: []string{"red", "blue"}}, "an empty one": {Decision: api.Answered, Answers: []string{" "}},
			"a NUL": {Decision: api.Answered, Answers: []string{"a\x00"}}, "not UTF-8": {Decision: api.Answered, Answers: []string{"\xff"}},
			"one byte too many": {Decision: api.Answered, Answers: []string{half + half + "x"}}, "skipped with an answer": {Decision: api.Skipped, Answers: []string{"red"}},
		} {
			if err := s.Resolve(s.Context(), id, in.ID, a); api.CodeOf(err) != api.CodeInvalidRequest {
				s.Errorf("%s: %v", name, err)
			}
		}
		if st := s.state(id); len(st.Interactions) != 1 {
			s.Fatalf("the session is %+v", st)
		}
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Answered, Answers: []string{half + half}}))
		s.ends(run, api.StatusCompleted)
	}},
	{"AP9 a question takes so many answers, and no guardrail is asked about one more", func(s *stage) {
		var looks ledger
		s.open(World{Model: asks(fmt.Sprintf(choices, true)), Guardrails: []Guardrail{{Name: "g", Points: []string{"user_input"}, Check: func(_ context.Context, u Unit) (Verdict, error) {
			looks.add(u.Text)
			return allowed, nil
		}}}}, asker, guarded("g"))
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		answers := make([]string, api.MaxAnswers+1)
		for i := range answers {
			answers[i] = fmt.Sprint("answer ", i)
		}
		before := len(looks.all())
		s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Answered, Answers: answers}), api.CodeInvalidRequest)
		if got := len(looks.all()); got != before || len(s.state(id).Interactions) != 1 {
			s.Errorf("a guardrail was asked about %d texts of what is refused", got-before)
		}
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Answered, Answers: answers[1:]}))
		s.ends(run, api.StatusCompleted)
		if got := len(looks.all()) - before; got != api.MaxAnswers {
			s.Errorf("the guardrail was asked about %d texts", got)
		}
	}},
	{"AP9 C26 a question is answered once, by a process that cannot run it, over two crashes", func(s *stage) {
		w := World{Model: asks(`{"question":"Why?"}`)}
		s.open(w, asker)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		s.process.Crash()
		s.open(w, asker)
		if again := s.ends(run, api.StatusInterrupted).Interactions[0]; again.ID != in.ID || again.Question == nil || again.Question.Text != "Why?" {
			s.Fatalf("asked is %+v", again)
		}
		s.process.Crash()
		s.look()
		page, err := s.Interactions(s.Context(), api.InteractionQuery{})
		s.no(err)
		if len(page.Interactions) != 1 || page.Interactions[0].Session != id || page.Interactions[0].Question == nil || page.Interactions[0].Question.Text != "Why?" {
			s.Fatalf("the inbox has %+v", page.Interactions)
		}
		s.answer(id, api.Answer{Decision: api.Answered, Answers: []string{"because"}})
		s.process.Stop()
		s.open(w, asker)
		s.ends(run, api.StatusCompleted)
		if r := s.results(id); len(r) != 1 || r[0].Output != `{"answers":["because"]}` {
			s.Fatalf("the results are %+v", r)
		}
	}},
	{"AP9 a person skips a question, with a reason or without, and the turn goes on", func(s *stage) {
		for _, reason := range []string{"", `ask "later"`} {
			s.open(World{Model: asks(`{"question":"Why?"}`)}, asker)
			id := s.session()
			run := s.send(id, "go")
			s.ends(run, api.StatusInterrupted)
			s.answer(id, api.Answer{Decision: api.Skipped, Reason: reason, By: "ann"})
			s.ends(run, api.StatusCompleted)
			r := s.results(id)[0]
			if r.Code != "" || !strings.Contains(r.Output, "skipped") || strings.Contains(r.Output, "reason") != (reason != "") || reason != "" && !strings.Contains(r.Output, `ask \"later\"`) {
				s.Errorf("reason %q: the result is %+v", reason, r)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP9 GU2 autoSkipQuestions skips at once, the session's before the agent's, and is no approval setting", func(s *stage) {
		for _, tt := range []struct {
			name    string
			agent   bool
			session *bool
			skips   bool
		}{
			{"neither", false, nil, false}, {"agent", true, nil, true}, {"session", false, api.Set(true), true},
			{"overridden", true, api.Set(false), false}, {"both", true, api.Set(true), true},
		} {
			var l ledger
			s.open(World{Model: func(p Prompt) Answer {
				if p.User == "act" {
					return acts(p)
				}
				return asks(`{"question":"Why?"}`)(p)
			}, Tools: []Tool{action("act", "", count1(&l))}}, asking, func(d *api.AgentDefinition) { d.Name, d.AutoSkipQuestions = tt.name, tt.agent })
			id := s.session(api.SessionOptions{AutoSkipQuestions: tt.session})
			run := s.send(id, "go")
			if r := s.result(run); (r.Status == api.StatusCompleted) != tt.skips {
				s.Errorf("%s: the run is %s", tt.name, r.Status)
			}
			if tt.skips {
				asked := decode[api.InteractionRequired](s, s.until(id, api.EventInteractionRequired))
				d := decode[api.InteractionResolved](s, s.until(id, api.EventInteractionResolved))
				if asked.Question == nil || asked.Question.Text != "Why?" || d.ID != asked.ID || d.Decision != api.Skipped || d.By != "agent" {
					s.Errorf("%s: asked is %+v, resolved as %+v", tt.name, asked, d)
				}
				if r := s.results(id)[0]; r.Code != "" || !strings.Contains(r.Output, "skipped") {
					s.Errorf("%s: the result is %+v", tt.name, r)
				}
				s.ends(s.send(id, "act"), api.StatusInterrupted)
			}
			if len(l.all()) > 0 {
				s.Errorf("%s: ran %v", tt.name, l.all())
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP9 AP2 in every mode a question is put without an approval, and the application's check may forbid it", func(s *stage) {
		for _, mode := range modes {
			deny := allowed
			s.open(World{Model: judges(says("deny", "x"), asks(`{"question":"Why?"}`)), Tools: []Tool{action("act", "", nothing)},
				Deny: func(_ context.Context, a Action) (Verdict, error) {
					if a.Tool != "ask_user" {
						s.Errorf("asked about %q", a.Tool)
					}
					return deny, nil
				}}, mode.change, func(d *api.AgentDefinition) { d.Name = mode.name })
			id := s.session()
			run := s.send(id, "go")
			if in := s.ends(run, api.StatusInterrupted).Interactions; len(in) != 1 || in[0].Kind != api.InteractionQuestion || in[0].Question == nil || in[0].Question.Text != "Why?" {
				s.Errorf("%s: asked is %+v", mode.name, in)
			}
			s.answer(id, api.Answer{Decision: api.Answered, Answers: []string{"so"}})
			s.ends(run, api.StatusCompleted)
			deny = blocked
			s.say(id, "go")
			if r := s.results(id)[1]; r.Code != api.CodeDenied {
				s.Errorf("%s: the result is %+v", mode.name, r)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP9 RU8 a question that is none is told to the model and put to nobody", func(s *stage) {
		for _, arguments := range []string{`{}`, `{"question":""}`, `{"question":"Why?","choices":["a"]}`, `{"question":"Why?","multiple":"yes"}`, `{"question":"` + strings.Repeat("x", 8001) + `"}`} {
			s.open(World{Model: asks(arguments)}, asker)
			id := s.session()
			s.say(id, "go")
			if r := s.results(id)[0]; r.Code != api.CodeArgumentsInvalid || count(s.events(id), api.EventInteractionRequired) > 0 {
				s.Errorf("%.60s: the result is %+v", arguments, r)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP9 RU5 an open question of a cancelled turn is closed, and the next turn works", func(s *stage) {
		s.open(World{Model: then(Answer{Calls: []Call{{Name: "ask_user", Arguments: `{"question":"Why?"}`}}})}, asker)
		id := s.session()
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		s.cancelled(run)
		s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Answered, Answers: []string{"late"}}), api.CodeAlreadyResolved)
	}},
}
