package servicetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openworkerai/openworker/api"
)

var hookTests = []test{
	{"GR4 hooks give what stands for a tool's result, one after the other, then guardrails see it, and then model and journal", func(s *stage) {
		var told seen[ToolResult]
		var prompts asked
		add := func(name string) Hook {
			return Hook{Name: name, ToolResult: func(_ context.Context, r ToolResult) (string, error) {
				told.add(r)
				return r.Output + " " + name, nil
			}}
		}
		s.open(World{Model: prompts.by(rounds(calls("act", "fails"), Answer{Text: "ok"})), Tools: []Tool{
			action("act", "", func(context.Context, ToolCall) (string, error) { return "out", nil }),
			action("fails", "", func(context.Context, ToolCall) (string, error) { return "half", errors.New("no disk") }),
		}, Hooks: []Hook{add("a"), add("b"), add("unused")}, Guardrails: []Guardrail{redacting("g", "a", "tool_result")}}, hooked("b", "a"), guarded("g"))
		id := s.session()
		s.say(id, "go")
		for i, want := range []struct {
			name, output string
			code         api.Code
		}{{"act", "out b [x]", ""}, {"fails", "no disk b [x]", api.CodeToolFailed}} {
			r := s.results(id)[i]
			if r.Output != want.output || r.Code != want.code || prompts.all()[1].Items[3+i].Output != want.output {
				s.Errorf("the result of %s is %+v", want.name, r)
			}
			n := 0
			for _, h := range told.all() {
				if h.Tool == want.name && h.Arguments == fmt.Sprintf(`{"n":%d}`, i) && h.Code == want.code && h.CallID == r.CallID {
					n++
				}
			}
			if n != 2 {
				s.Errorf("the hooks were told %+v", told.all())
			}
		}
	}},
	{"GR2 RU10 a hook that fails in any way withholds the result, and the model is told that the action was carried out", func(s *stage) {
		for name, hook := range map[string]func(context.Context, ToolResult) (string, error){
			"error": func(_ context.Context, r ToolResult) (string, error) { return r.Output, errors.New("down") },
			"panic": func(context.Context, ToolResult) (string, error) { panic("boom") },
			"slow":  func(ctx context.Context, r ToolResult) (string, error) { <-ctx.Done(); return r.Output, nil },
		} {
			var l ledger
			s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) {
				l.add(c.ID)
				return "the s3cret word", nil
			})}, Hooks: []Hook{{Name: "h", Timeout: Grace / 4, ToolResult: hook}}}, hooked("h"), func(d *api.AgentDefinition) { d.Name = name })
			id := s.session()
			s.say(id, "go")
			r := s.results(id)[0]
			if r.Code != api.CodeHookFailed || strings.Contains(r.Output, "s3cret") || strings.Contains(r.Output, "down") || strings.Contains(r.Output, "boom") || !strings.Contains(r.Output, "carried out") || !strings.Contains(r.Output, "Do not repeat") || len(l.all()) != 1 {
				s.Errorf("%s: the result is %+v, ran %v", name, r, l.all())
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"GR4 RE2 RE3 a crash between an action and the look at its output loses the output of a side effect, and repeats what can be repeated", func(s *stage) {
		for _, tt := range []struct {
			effect  api.Effect
			by      string
			runs    int
			code    api.Code
			output  string
			attempt int
		}{
			{api.SideEffect, "hook", 1, api.CodeOutputLost, "took effect", 1},
			{api.Idempotent, "hook", 2, "", "run 2 seen", 2},
			{api.ReadOnly, "hook", 2, "", "run 2 seen", 2},
			{api.SideEffect, "guardrail", 1, api.CodeOutputLost, "Do not repeat", 1},
			{api.ReadOnly, "guardrail", 2, "", "run 2 seen", 2},
		} {
			var l ledger
			var dead atomic.Bool
			g := newGate()
			look := func(ctx context.Context, text string) string {
				if !dead.Load() {
					g.pass(ctx, "look")
				}
				return text + " seen"
			}
			w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", tt.effect, func(_ context.Context, c ToolCall) (string, error) {
				return fmt.Sprint("run ", l.add(c.ID)), nil
			})}, Hooks: []Hook{{Name: "h", Timeout: patience, ToolResult: func(ctx context.Context, r ToolResult) (string, error) { return look(ctx, r.Output), nil }}},
				Guardrails: []Guardrail{{Name: "g", Points: []string{"tool_result"}, Timeout: patience, Check: func(ctx context.Context, u Unit) (Verdict, error) {
					return Verdict{Action: "redact", Text: look(ctx, u.Text)}, nil
				}}}}
			watched := func(d *api.AgentDefinition) {
				if d.Name = fmt.Sprint(tt.effect, "-", tt.by); tt.by == "hook" {
					d.Hooks = []string{"h"}
				} else {
					d.Guardrails = []string{"g"}
				}
			}
			s.open(w, watched)
			id := s.session()
			run := s.send(id, "go")
			g.await(s)
			if d := decode[api.ToolCallReturned](s, s.until(id, api.EventToolCallReturned)); d.Attempt != 1 || d.Failed {
				s.Errorf("the return reads %+v", d)
			}
			s.process.Crash()
			dead.Store(true)
			close(g.open)
			s.open(w, watched)
			s.ends(run, api.StatusCompleted)
			r := s.results(id)[0]
			if r.Code != tt.code || !strings.Contains(r.Output, tt.output) || len(l.all()) != tt.runs || count(s.events(id), api.EventToolCallStarted) != tt.attempt {
				s.Errorf("%s behind a %s: the result is %+v, ran %v", tt.effect, tt.by, r, l.all())
			}
			if count(s.events(id), api.EventInteractionRequired) > 0 {
				s.Errorf("%s behind a %s: a person is asked", tt.effect, tt.by)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"GR4 GU1 a hook sees each request as it is sent: addendum, redactions, results", func(s *stage) {
		var told seen[ModelCall]
		var prompts asked
		s.open(World{Model: prompts.by(rounds(calls("act"), Answer{Text: "ok"})), Tools: []Tool{action("act", "", func(context.Context, ToolCall) (string, error) { return "result", nil })},
			Guardrails: []Guardrail{redacting("g", "s3cret", "model_input")},
			Hooks:      []Hook{{Name: "h", BeforeModel: func(_ context.Context, c ModelCall) (string, error) { told.add(c); return "", nil }}}}, hooked("h"), guarded("g"))
		s.say(s.session(), "a s3cret", api.TurnOptions{InstructionAddendum: "Rhyme."})
		calls := told.all()
		if len(calls) != 2 || len(prompts.all()) != 2 {
			s.Fatalf("told were %+v", calls)
		}
		for i, c := range calls {
			if p := prompts.all()[i]; c.Purpose != "turn" || c.Provider != Provider || fmt.Sprint(c.Prompt) != fmt.Sprint(p) || c.Prompt.Instructions != "Help.\n\nRhyme." || c.Prompt.User != "a [x]" {
				s.Errorf("told was %+v, sent %+v", c, p)
			}
		}
		if last := calls[1].Prompt.Items; last[len(last)-1].Output != "result" {
			s.Errorf("told was %+v", last)
		}
	}},
	{"GR4 GR2 RU10 a hook that vetoes or fails ends the run before the model is called, and the next turn works", func(s *stage) {
		for _, tt := range []struct {
			name string
			hook func(context.Context, ModelCall) (string, error)
			code api.Code
			says string
		}{
			{"veto", func(context.Context, ModelCall) (string, error) { return "too late in the day", nil }, api.CodeHookVetoed, "too late in the day"},
			{"error", func(context.Context, ModelCall) (string, error) { return "", errors.New("down") }, api.CodeHookFailed, "down"},
			{"panic", func(context.Context, ModelCall) (string, error) { panic("boom") }, api.CodeHookFailed, "it panicked"},
			{"slow", func(ctx context.Context, _ ModelCall) (string, error) { <-ctx.Done(); return "", nil }, api.CodeHookFailed, "did not answer"},
		} {
			var l ledger
			var prompts asked
			s.open(World{Model: prompts.by(func(p Prompt) Answer {
				if p.User == "next" {
					return Answer{Text: "fine"}
				}
				return rounds(calls("act"), Answer{Text: "ok"})(p)
			}), Tools: []Tool{action("act", "", count1(&l))}, Hooks: []Hook{{Name: "h", Timeout: Grace / 4, BeforeModel: func(ctx context.Context, c ModelCall) (string, error) {
				if c.Prompt.User == "next" || c.Prompt.Round == 0 {
					return "", nil
				}
				return tt.hook(ctx, c)
			}}}}, hooked("h"), func(d *api.AgentDefinition) { d.Name = tt.name })
			id := s.session()
			r := s.ends(s.send(id, "go"), api.StatusFailed)
			if r.Error.Code != tt.code || !strings.Contains(r.Error.Message, "hook h") || !strings.Contains(r.Error.Message, tt.says) || len(prompts.all()) != 1 || len(l.all()) != 1 {
				s.Errorf("%s: %+v behind %d calls", tt.name, r.Error, len(prompts.all()))
			}
			if text := s.say(id, "next"); text != "fine" {
				s.Errorf("%s: the next turn says %q", tt.name, text)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"GR4 GR1 hooks and guardrails see what reviewers and summaries are asked, too, and their refusal leaves the call to a person", func(s *stage) {
		var purposes seen[string]
		veto := ""
		s.open(World{Model: judges(says("allow", "fine"), func(p Prompt) Answer {
			if summarises(p) {
				return Answer{Text: "# Goal\nnone"}
			}
			return acts(p)
		}), Tools: []Tool{action("act", "", nothing)}, Hooks: []Hook{{Name: "h", BeforeModel: func(_ context.Context, c ModelCall) (string, error) {
			purposes.add(c.Purpose + " " + c.Prompt.Model)
			if c.Purpose == "review" {
				return veto, nil
			}
			return "", nil
		}}}}, auto, hooked("h"))
		id := s.session()
		s.say(id, "act")
		if got := purposes.all(); !slices.Equal(got, []string{"turn m", "review r", "turn m"}) {
			s.Fatalf("told were %q", got)
		}
		for range 6 {
			s.say(id, "nothing")
		}
		run, err := s.Compact(s.Context(), id, api.TurnOptions{})
		s.no(err)
		s.ends(run, api.StatusCompleted)
		if got := purposes.all(); got[len(got)-1] != "compaction m" {
			s.Fatalf("told were %q", got)
		}
		veto = "not today"
		in := s.ends(s.send(id, "act"), api.StatusInterrupted).Interactions[0]
		if in.Review.Code != api.CodeHookVetoed || in.Review.Verdict != api.ReviewUnsure {
			s.Fatalf("asked is %+v", in.Review)
		}
	}},
	{"RE8 GR2 a session whose guardrail or hook this process lacks waits for it by name, fails nothing, and goes on where it is", func(s *stage) {
		for _, tt := range []struct {
			name   string
			change func(*api.AgentDefinition)
			turn   api.TurnOptions
			lacks  func(*World)
			submit api.Code
		}{
			{"guardrail g", guarded("g"), api.TurnOptions{}, func(w *World) { w.Guardrails = w.Guardrails[1:] }, api.CodeGuardrailMissing},
			{"guardrail t", guarded("g"), api.TurnOptions{Guardrails: []string{"t"}}, func(w *World) { w.Guardrails = w.Guardrails[:1] }, api.CodeGuardrailMissing},
			{"hook h", hooked("h"), api.TurnOptions{}, func(w *World) { w.Hooks = nil }, ""},
		} {
			var l ledger
			w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))},
				Guardrails: []Guardrail{redacting("g", "x", points...), redacting("t", "x", points...)},
				Hooks:      []Hook{{Name: "h", ToolResult: func(_ context.Context, r ToolResult) (string, error) { return r.Output, nil }}}}
			named := func(d *api.AgentDefinition) {
				d.Name, d.Approvals = strings.ReplaceAll(tt.name, " ", "-"), api.Approvals{}
			}
			s.open(w, tt.change, named)
			id := s.session()
			run := s.send(id, "go", tt.turn)
			in := s.ends(run, api.StatusInterrupted).Interactions[0]
			s.process.Stop()
			less := w
			tt.lacks(&less)
			s.open(less, tt.change, named)
			if tt.submit != "" {
				// What nobody has looked at is not taken: not as a message, not as an answer's text.
				queued := tt.turn
				queued.WhenBusy = api.BusyQueue
				_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "next", Options: queued})
				s.code(err, tt.submit)
				s.code(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.Deny, Reason: "because"}), tt.submit)
			}
			s.no(s.Resolve(s.Context(), id, in.ID, api.Answer{Decision: api.AllowOnce}))
			r := s.ends(run, api.StatusInterrupted)
			if !slices.ContainsFunc(r.WaitingFor, func(w api.WaitReason) bool { return w.Code == api.CodeRegistrationMissing && w.Name == tt.name }) || len(l.all()) > 0 {
				s.Errorf("%s: the run waits for %+v, ran %v", tt.name, r.WaitingFor, l.all())
			}
			s.process.Stop()
			s.open(w, tt.change, named)
			s.ends(run, api.StatusCompleted)
			if len(l.all()) != 1 {
				s.Errorf("%s: ran %v", tt.name, l.all())
			}
			s.process.Stop()
		}
		s.look()
	}},
}
