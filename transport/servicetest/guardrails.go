package servicetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

var points = []string{"user_input", "model_input", "tool_result", "model_output"}

// redacting replaces a text wherever it stands.
func redacting(name, secret string, at ...string) Guardrail {
	return Guardrail{Name: name, Points: at, Check: func(_ context.Context, u Unit) (Verdict, error) {
		if !strings.Contains(u.Text, secret) {
			return allowed, nil
		}
		return Verdict{Action: "redact", Text: strings.ReplaceAll(u.Text, secret, "[x]"), Reason: "private"}, nil
	}}
}

// through lets a text pass one point of a turn under guardrails of the agent's and of the turn. It returns what came
// out, the code of what stopped it, and what guardrails are recorded to have said.
func (s *stage) through(point, text string, agent, turn []string, registered ...Guardrail) (out string, code api.Code, said []api.GuardVerdict) {
	s.Helper()
	if s.process != nil {
		s.process.Stop()
	}
	var prompts asked
	user, answer := "go", Answer{Text: "ok"}
	switch point {
	case "user_input", "model_input":
		user = text
	case "model_output":
		answer.Text = text
	}
	s.open(World{Model: prompts.by(func(p Prompt) Answer {
		if point == "tool_result" && p.Round == 0 {
			return calls("act")
		}
		return answer
	}), Tools: []Tool{action("act", "", func(context.Context, ToolCall) (string, error) { return text, nil })}, Guardrails: registered},
		guarded(agent...), func(d *api.AgentDefinition) { d.Name = fmt.Sprint("agent-", len(s.sessions)) })
	id := s.session()
	run, err := s.Submit(s.Context(), api.Submission{Session: id, Text: user, Options: api.TurnOptions{Guardrails: turn}})
	if err != nil {
		if st := s.state(id); st.LastEvent != 1 || len(prompts.all()) > 0 {
			s.Errorf("a message that was refused left %+v", st)
		}
		return "", api.CodeOf(err), nil
	}
	r := s.result(run)
	if r.Error != nil {
		code = r.Error.Code
	}
	for _, e := range s.events(id) {
		var data struct{ Guardrails []api.GuardVerdict }
		if len(e.Data) > 0 {
			s.no(json.Unmarshal(e.Data, &data))
		}
		said = append(said, data.Guardrails...)
	}
	switch point {
	case "user_input":
		out = decode[api.TurnAccepted](s, s.until(id, api.EventTurnAccepted)).Text
	case "model_input":
		if prompts := prompts.all(); len(prompts) > 0 {
			out = prompts[0].User
		}
		if h := s.history(id)[0]; h.Text != text {
			s.Errorf("what only the model is not to see stands in history as %.100q", h.Text)
		}
	case "tool_result":
		result := s.results(id)[0]
		out, code = result.Output, result.Code
	case "model_output":
		out = r.Text
	}
	return out, code, said
}

var guardrailTests = []test{
	{"GR1 at each point a guardrail lets a text pass, puts another in its place, or lets nothing pass, and the journal tells", func(s *stage) {
		for _, point := range points {
			for _, tt := range []struct {
				name    string
				verdict Verdict
				out     string
				code    api.Code
			}{
				{"allow", allowed, "the s3cret word", ""},
				{"redact", Verdict{Action: "redact", Text: "the [x] word", Reason: "private"}, "the [x] word", ""},
				{"block", Verdict{Action: "block", Reason: "private"}, "", api.CodeGuardrailBlocked},
			} {
				out, code, said := s.through(point, "the s3cret word", []string{"g"}, nil, Guardrail{Name: "g", Points: []string{point}, Check: func(_ context.Context, u Unit) (Verdict, error) {
					if u.Point != point {
						s.Errorf("asked at %s", u.Point)
					}
					if point == "tool_result" && u.Tool != "act" {
						s.Errorf("asked about a result of %q", u.Tool)
					}
					if u.Text != "the s3cret word" { // the instructions, say
						return allowed, nil
					}
					return tt.verdict, nil
				}})
				if code != tt.code || tt.out != "" && out != tt.out || strings.Contains(out, "s3cret") != (tt.name == "allow") {
					s.Errorf("%s at %s: %q, code %q", tt.name, point, out, code)
				}
				want := api.GuardVerdict{Name: "g", Point: point, Action: tt.name, Reason: "private"}
				recorded := tt.name != "allow" && (tt.name != "block" || point != "user_input")
				if recorded && !slices.Contains(said, want) || !recorded && len(said) > 0 {
					s.Errorf("%s at %s: recorded are %+v", tt.name, point, said)
				}
			}
		}
		s.process.Stop()
		s.look()
	}},
	{"GR2 RU10 at each point whatever a guardrail does that is no verdict lets nothing pass", func(s *stage) {
		release := make(chan struct{})
		defer close(release)
		for _, point := range points {
			for name, check := range map[string]func(context.Context, Unit) (Verdict, error){
				"an error":          func(context.Context, Unit) (Verdict, error) { return allowed, errors.New("down") },
				"a panic":           func(context.Context, Unit) (Verdict, error) { panic("boom") },
				"an end":            func(context.Context, Unit) (Verdict, error) { runtime.Goexit(); return allowed, nil },
				"nothing":           func(context.Context, Unit) (Verdict, error) { return Verdict{}, nil },
				"an unknown action": func(context.Context, Unit) (Verdict, error) { return Verdict{Action: "pass"}, nil },
				"too late":          func(ctx context.Context, _ Unit) (Verdict, error) { <-ctx.Done(); return allowed, nil },
				"never":             func(context.Context, Unit) (Verdict, error) { <-release; return allowed, nil },
				"a redaction too long": func(context.Context, Unit) (Verdict, error) {
					return Verdict{Action: "redact", Text: strings.Repeat("x", 128_001)}, nil
				},
				"a redaction not text": func(context.Context, Unit) (Verdict, error) { return Verdict{Action: "redact", Text: "\xff"}, nil },
			} {
				out, code, said := s.through(point, "the s3cret word", []string{"g"}, nil, Guardrail{Name: "g", Points: []string{point}, Timeout: Grace / 4, Check: check})
				if code != api.CodeGuardrailFailed || strings.Contains(out, "s3cret") {
					s.Errorf("%s at %s: %q, code %q", name, point, out, code)
				}
				if point != "user_input" && (len(said) == 0 || said[0].Action != "fail" || said[0].Name != "g") {
					s.Errorf("%s at %s: recorded are %+v", name, point, said)
				}
			}
		}
		s.process.Stop()
		s.look()
	}},
	{"GR2 at each point a text of 128,000 bytes is checked, and one byte more passes nowhere, unseen", func(s *stage) {
		for _, point := range points {
			for size, want := range map[int]api.Code{api.MaxGuardedBytes: "", api.MaxGuardedBytes + 1: api.CodeGuardrailFailed} {
				most := 0
				text := strings.Repeat("é", size/2) + strings.Repeat("x", size%2)
				out, code, _ := s.through(point, text, []string{"g"}, nil, Guardrail{Name: "g", Points: []string{point}, Check: func(_ context.Context, u Unit) (Verdict, error) {
					most = max(most, len(u.Text))
					return allowed, nil
				}})
				if code != want || want == "" && (out != text || most != size) || want != "" && (strings.Contains(out, "éé") || most > api.MaxGuardedBytes) {
					s.Errorf("%d bytes at %s: %d bytes came out with code %q, %d were shown", size, point, len(out), code, most)
				}
			}
		}
		s.process.Stop()
		s.look()
	}},
	{"GR1 the agent's guardrails look first, then the turn's, in order, each at what the one before let pass, and each once", func(s *stage) {
		for _, point := range points {
			mark := func(name string) Guardrail {
				return Guardrail{Name: name, Points: points, Check: func(_ context.Context, u Unit) (Verdict, error) {
					if u.Point != point || !strings.HasPrefix(u.Text, "text") {
						return allowed, nil
					}
					return Verdict{Action: "redact", Text: u.Text + name}, nil
				}}
			}
			if out, code, _ := s.through(point, "text ", []string{"b", "a"}, []string{"c", "a"}, mark("a"), mark("b"), mark("c"), mark("unused")); out != "text bac" || code != "" {
				s.Errorf("at %s: %q, code %q", point, out, code)
			}
			stop := mark("a")
			stop.Check = func(_ context.Context, u Unit) (Verdict, error) {
				if u.Text == "text" {
					return blocked, nil
				}
				return allowed, nil
			}
			b := mark("b")
			b.Check = func(_ context.Context, u Unit) (Verdict, error) {
				if u.Text == "text" {
					s.Errorf("at %s: what was blocked is shown to the next one", point)
				}
				return allowed, nil
			}
			if _, code, _ := s.through(point, "text", []string{"a", "b"}, nil, stop, b); code != api.CodeGuardrailBlocked {
				s.Errorf("at %s: code %q", point, code)
			}
		}
		s.process.Stop()
		s.look()
	}},
	{"GR1 a turn's guardrails hold for all of that turn, also behind a crash, and for no other", func(s *stage) {
		g := newGate()
		dead := false
		var prompts asked
		w := World{Model: prompts.by(func(p Prompt) Answer {
			if p.Round == 0 {
				return calls("act")
			}
			return Answer{Text: "the s3cret word", Wait: func(ctx context.Context) {
				if !dead && strings.HasPrefix(p.User, "go") {
					g.pass(ctx, "model")
				}
			}}
		}), Tools: []Tool{action("act", "", func(context.Context, ToolCall) (string, error) { return "s3cret", nil })}, Guardrails: []Guardrail{redacting("g", "s3cret", "model_input", "tool_result", "model_output")}}
		s.open(w)
		id := s.session()
		run := s.send(id, "go s3cret", api.TurnOptions{Guardrails: []string{"g"}})
		g.await(s)
		s.until(id, api.EventModelCallStarted, func(e api.Event) bool { return decode[api.ModelCallStarted](s, e).Call == 2 })
		s.process.Crash()
		dead = true
		s.open(w)
		if r := s.ends(run, api.StatusCompleted); r.Text != "the [x] word" || s.results(id)[0].Output != "[x]" {
			s.Fatalf("the turn says %q, the results are %+v", r.Text, s.results(id))
		}
		for _, p := range prompts.all() {
			if text := fmt.Sprint(p.Items); strings.Contains(text, "s3cret") && strings.HasPrefix(p.User, "go") {
				s.Errorf("the model was sent %s", text)
			}
		}
		if text := s.say(id, "plain"); text != "the s3cret word" || s.results(id)[1].Output != "s3cret" {
			s.Fatalf("the next turn says %q", text)
		}
	}},
	{"GR3 RU4 C28 a message is checked once: not for a repeat, not behind a crash, and when it is queued before it is", func(s *stage) {
		var seen ledger
		g := newGate()
		w := World{Model: func(p Prompt) Answer {
			return Answer{Text: "ok", Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
		}, Guardrails: []Guardrail{{Name: "g", Points: []string{"user_input"}, Check: func(_ context.Context, u Unit) (Verdict, error) {
			seen.add(u.Text)
			return Verdict{Action: "redact", Text: u.Text + "!"}, nil
		}}}}
		s.open(w, guarded("g"))
		id := s.session()
		once := api.TurnOptions{SubmissionID: "one", InstructionAddendum: "Be brief."}
		run := s.send(id, "hello", once)
		g.await(s)
		queued := s.send(id, "then", queueUp)
		for range 3 {
			if again := s.send(id, "hello", once); again.Run != run.Run || !again.Repeated {
				s.Errorf("the repeat gave %+v", again)
			}
		}
		_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "hello!", Options: once})
		s.code(err, api.CodeSubmissionConflict) // compared is what was sent
		s.process.Crash()
		close(g.open)
		s.open(w, guarded("g"))
		s.ends(run, api.StatusCompleted)
		s.ends(queued, api.StatusCompleted)
		if got := seen.all(); !slices.Equal(got, []string{"hello", "then"}) {
			s.Fatalf("checked were %q", got)
		}
		if h := s.history(id); h[0].Text != "hello!" || h[2].Text != "then!" {
			s.Fatalf("history is %+v", h)
		}
	}},
	{"GR3 C46 a message that is blocked leaves no event and no receipt, and no model is called", func(s *stage) {
		var prompts asked
		s.open(World{Model: prompts.by(rounds(Answer{Text: "ok"})), Guardrails: []Guardrail{{Name: "g", Points: []string{"user_input"}, Check: func(_ context.Context, u Unit) (Verdict, error) {
			if strings.Contains(u.Text, "s3cret") {
				return blocked, nil
			}
			return allowed, nil
		}}}}, guarded("g"))
		id := s.session()
		_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "s3cret", Options: api.TurnOptions{SubmissionID: "one"}})
		s.code(err, api.CodeGuardrailBlocked)
		if !strings.Contains(err.Error(), "guardrail g") || !strings.Contains(err.Error(), "Sundays") || s.state(id).LastEvent != 1 || len(prompts.all()) > 0 {
			s.Fatalf("%v left %+v", err, s.state(id))
		}
		if run := s.send(id, "plain", api.TurnOptions{SubmissionID: "one"}); run.Repeated {
			s.Fatal("it left a receipt")
		} else {
			s.ends(run, api.StatusCompleted)
		}
	}},
	{"GR1 while an answer is to be checked no part of it is shown live", func(s *stage) {
		for _, tt := range []struct {
			name        string
			agent, turn []string
			live        bool
		}{{"none", nil, nil, true}, {"input", []string{"in"}, nil, true}, {"output", []string{"out"}, nil, false}, {"turn", nil, []string{"out"}, false}} {
			g := newGate()
			s.open(World{Model: rounds(Answer{Reasoning: "I think so", Text: "one two three", Wait: func(ctx context.Context) { g.pass(ctx, "model") }}),
				Guardrails: []Guardrail{redacting("in", "x", "user_input", "model_input", "tool_result"), redacting("out", "x", "model_output")}},
				guarded(tt.agent...), func(d *api.AgentDefinition) { d.Name = tt.name })
			id := s.session()
			ctx, cancel := s.waiting()
			stream, err := s.Follow(ctx, api.FollowQuery{Session: id, After: s.state(id).LastEvent})
			s.no(err)
			s.send(id, "go", api.TurnOptions{Guardrails: tt.turn})
			g.await(s) // all of the answer has come
			s.until(id, api.EventModelCallStarted)
			pieces := 0
			for short, stop := context.WithTimeout(ctx, Lease/4); ; {
				e, err := stream.Next(short)
				if err != nil {
					s.code(err, api.CodeCancelled)
					stop()
					break
				}
				if e.Number == 0 {
					pieces++
				}
			}
			close(g.open)
			for ended := false; !ended; {
				e, err := stream.Next(ctx)
				s.no(err)
				if e.Number == 0 {
					pieces++
				}
				ended = e.Type == api.EventTurnEnded
			}
			if (pieces > 0) != tt.live {
				s.Errorf("%s: %d pieces were shown", tt.name, pieces)
			}
			s.no(stream.Close())
			cancel()
			s.process.Stop()
		}
		s.look()
	}},
	{"C47 an answer that is blocked ends the run and leaves what tools did in history, and the next turn works", func(s *stage) {
		var l ledger
		s.open(World{Model: func(p Prompt) Answer {
			if p.User == "next" {
				return Answer{Text: "fine"}
			}
			return rounds(calls("act"), used(9, Answer{Text: "the s3cret word"}))(p)
		}, Tools: []Tool{action("act", "", count1(&l))}, Guardrails: []Guardrail{{Name: "g", Points: []string{"model_output"}, Check: func(_ context.Context, u Unit) (Verdict, error) {
			if strings.Contains(u.Text, "s3cret") {
				return blocked, nil
			}
			return allowed, nil
		}}}}, guarded("g"))
		id := s.session()
		r := s.ends(s.send(id, "go"), api.StatusFailed)
		if r.Error.Code != api.CodeGuardrailBlocked || r.Usage.OutputTokens < 9 || strings.Contains(r.Text, "s3cret") {
			s.Errorf("the result is %+v, %+v", r, r.Error)
		}
		if h := s.history(id); len(h) != 3 || h[2].Output != "done" || len(l.all()) != 1 {
			s.Errorf("history is %+v", h)
		}
		if text := s.say(id, "next"); text != "fine" {
			s.Errorf("the next turn says %q", text)
		}
	}},
}
