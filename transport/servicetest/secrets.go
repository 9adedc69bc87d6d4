package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// stores reports whether anything that is stored holds a text: each file, and what a reader is told of the sessions.
func (s *stage) stores(text string) (where []string) {
	s.Helper()
	if dir := s.store.Files(); dir != "" {
		s.no(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // a process at work removes files of its own
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if bytes.Contains(data, []byte(text)) {
				where = append(where, d.Name())
			}
			return err
		}))
	}
	for _, id := range s.sessions {
		data, err := json.Marshal([]any{s.events(id), s.history(id), s.state(id)})
		s.no(err)
		if bytes.Contains(data, []byte(text)) {
			where = append(where, "session "+id)
		}
	}
	return where
}

const (
	secret = "hunter2-correct-horse"
	plain  = "staple-battery"
)

var secretTests = []test{
	{"GR3 what a guardrail of the user's input redacted is found nowhere that is stored, whatever it came with", func(s *stage) {
		note := Tool{ToolDeclaration: api.ToolDeclaration{Name: "note", InputSchema: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`)}}
		var ran seen[string]
		note.Run = func(_ context.Context, c ToolCall) (string, error) { ran.add(c.Arguments); return "", nil }
		lost := action("lost", "", func(ctx context.Context, _ ToolCall) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		w := World{Model: func(p Prompt) Answer {
			switch first, _, _ := strings.Cut(p.User, " "); first {
			case "note":
				return rounds(Answer{Calls: []Call{{Name: "note", Arguments: `{"text":"a"}`}}}, Answer{Text: "ok"})(p)
			case "ask":
				return asks(`{"question":"Why?"}`)(p)
			case "lost":
				return rounds(calls("lost"), Answer{Text: "ok"})(p)
			}
			return Answer{Text: "ok"}
		}, Tools: []Tool{note, lost}, Guardrails: []Guardrail{redacting("g", secret, "user_input")}}
		mode := only("note")
		s.open(w, mode, guarded("g"))
		id := s.session()
		text := fmt.Sprintf("%s and %s", secret, plain)
		s.say(id, "hello "+text, api.TurnOptions{SubmissionID: "one"})
		for _, a := range []api.Answer{
			{Decision: api.Deny, Reason: text},
			{Decision: api.AllowOnce, Arguments: []byte(`{"text":"` + text + `"}`)},
			{Decision: api.AllowOnce, Arguments: []byte(`{"text":"\u0068` + text[1:] + `"}`)}, // the same text to whoever reads JSON
			{Decision: api.AllowOnce, Reason: text},
		} {
			run := s.send(id, "note "+text)
			s.ends(run, api.StatusInterrupted)
			in := s.state(id).Interactions[0].ID
			s.no(s.Resolve(s.Context(), id, in, a))
			s.no(s.Resolve(s.Context(), id, in, a))
			s.ends(run, api.StatusCompleted)
		}
		if got := ran.all(); len(got) != 3 || got[0] != `{"text":"[x] and staple-battery"}` || got[1] != got[0] {
			s.Errorf("it ran with %q", got)
		}
		for _, a := range []api.Answer{{Decision: api.Answered, Answers: []string{text}}, {Decision: api.Skipped, Reason: text}} {
			run := s.send(id, "ask "+text)
			s.ends(run, api.StatusInterrupted)
			s.answer(id, a)
			s.ends(run, api.StatusCompleted)
		}
		for _, a := range []api.Answer{{Decision: api.OutcomeSucceeded, Output: text}, {Decision: api.OutcomeFailed, Reason: text}} {
			run := s.send(id, "lost "+text)
			s.until(id, api.EventToolCallStarted, func(e api.Event) bool { return e.Run == run.Run })
			s.process.Crash()
			s.open(w, mode, guarded("g"))
			s.ends(run, api.StatusInterrupted)
			s.answer(id, a)
			s.ends(run, api.StatusCompleted)
		}
		look := func(when string) {
			s.Helper()
			if where := s.stores(secret); len(where) > 0 {
				s.Errorf("%s the secret stands in %v", when, where)
			}
			if len(s.stores(plain)) == 0 {
				s.Errorf("%s the search finds nothing at all", when)
			}
		}
		look("with the process at work")
		s.process.Stop()
		s.look()
		look("behind its end")
	}},
	{"GR3 GR1 what a guardrail blocked, or took from a result or an answer, is found nowhere that is stored", func(s *stage) {
		block := redacting("b", secret, "user_input")
		redact := block.Check
		block.Check = func(ctx context.Context, u Unit) (Verdict, error) {
			if v, err := redact(ctx, u); v.Action != "redact" {
				return v, err
			}
			return blocked, nil
		}
		s.open(World{Model: rounds(calls("act"), Answer{Reasoning: "they said " + secret, Text: secret + " and " + plain}), Tools: []Tool{action("act", "", func(context.Context, ToolCall) (string, error) {
			return secret + " and " + plain, nil
		})}, Guardrails: []Guardrail{block, redacting("out", secret, "tool_result", "model_output")}}, guarded("b", "out"), asking)
		id := s.session()
		_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: secret, Options: api.TurnOptions{SubmissionID: "one"}})
		s.code(err, api.CodeGuardrailBlocked)
		if strings.Contains(err.Error(), secret) {
			s.Errorf("the refusal repeats it: %v", err)
		}
		run := s.send(id, "go")
		in := s.ends(run, api.StatusInterrupted).Interactions[0]
		head := s.state(id).LastEvent
		s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Deny, Reason: secret}), api.CodeGuardrailBlocked)
		if s.state(id).LastEvent != head {
			s.Error("the answer that was blocked is stored")
		}
		s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}))
		if r := s.ends(run, api.StatusCompleted); r.Text != "[x] and "+plain || s.results(id)[0].Output != "[x] and "+plain {
			s.Errorf("the run says %q, the result is %+v", r.Text, s.results(id)[0])
		}
		s.process.Stop()
		s.look()
		if where := s.stores(secret); len(where) > 0 {
			s.Errorf("it stands in %v", where)
		}
		if len(s.stores(plain)) == 0 {
			s.Error("the search finds nothing at all")
		}
	}},
	{"GR3 AP3 an answer is looked at by the guardrails of the turn that asked, also when it is sent again behind that turn's end", func(s *stage) {
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}, Guardrails: []Guardrail{redacting("t", secret, "user_input")}}, asking)
		id := s.session()
		run := s.send(id, "go", api.TurnOptions{Guardrails: []string{"t"}})
		in := s.ends(run, api.StatusInterrupted).Interactions[0].ID
		deny := api.Answer{Decision: api.Deny, Reason: secret}
		s.no(s.Resolve(s.Context(), id, in, deny))
		s.ends(run, api.StatusCompleted)
		s.no(s.Resolve(s.Context(), id, in, deny))
		other := s.send(id, "go")
		s.ends(other, api.StatusInterrupted)
		s.no(s.Resolve(s.Context(), id, in, deny))
		s.answer(id, api.Answer{Decision: api.Deny, Reason: plain}) // that turn has no guardrail
		s.ends(other, api.StatusCompleted)
		if where := s.stores(secret); len(where) > 0 {
			s.Errorf("it stands in %v", where)
		}
	}},
	{"GR1 GR4 what an action reports after its turn was cancelled, or to an inspection, is looked at as well", func(s *stage) {
		for _, tt := range []struct {
			name    string
			inspect bool
		}{{"late", false}, {"inspected", true}} {
			out := make(chan struct{})
			begun := make(chan struct{}, 1)
			act := action("act", "", func(ctx context.Context, _ ToolCall) (string, error) {
				begun <- struct{}{}
				<-out // it takes its time, whatever it is told
				return secret + " and " + plain, nil
			})
			if tt.inspect {
				act.Inspect = func(context.Context, ToolCall) (string, string, error) {
					return "succeeded", secret + " and " + plain, nil
				}
			}
			w := World{Model: then(calls("act"), Answer{Text: "ok"}), Tools: []Tool{act}, Guardrails: []Guardrail{redacting("g", secret, "tool_result")}}
			change := func(d *api.AgentDefinition) { d.Name, d.Guardrails = tt.name, []string{"g"} }
			s.open(w, change)
			id := s.session()
			run := s.send(id, "go")
			<-begun
			s.until(id, api.EventToolCallStarted)
			if tt.inspect {
				s.process.Crash()
				close(out)
				s.open(w, change)
				s.ends(run, api.StatusCompleted)
				if r := s.results(id)[0]; r.Output != "[x] and "+plain || r.Code != "" {
					s.Errorf("the result is %+v", r)
				}
			} else {
				s.no(s.Cancel(s.Context(), id, run.Run))
				s.ends(run, api.StatusCancelled)
				close(out)
				late := decode[api.ToolCallFinished](s, s.until(id, api.EventToolOutcomeLate))
				if late.Output != "[x] and "+plain {
					s.Errorf("the late outcome is %+v", late)
				}
				s.say(id, "next")
			}
			if where := s.stores(secret); len(where) > 0 {
				s.Errorf("%s: it stands in %v", tt.name, where)
			}
			s.process.Stop()
		}
		s.look()
	}},
}
