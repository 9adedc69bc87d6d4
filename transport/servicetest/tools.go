package servicetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
)

var toolTests = []test{
	{"RU10 RU8 what a tool does wrong is its result, and the turn goes on", func(s *stage) {
		release := make(chan struct{})
		defer close(release)
		w := World{Model: rounds(calls("fails", "panics", "slow", "stubborn", "huge", "garbled", "empty", "exits"), Answer{Text: "ok"}), Tools: []Tool{
			action("fails", "", func(context.Context, ToolCall) (string, error) { return "half", errors.New("no such file") }),
			action("panics", "", func(context.Context, ToolCall) (string, error) { panic("boom") }),
			action("slow", "", func(ctx context.Context, _ ToolCall) (string, error) { <-ctx.Done(); return "", ctx.Err() }),
			action("stubborn", api.ReadOnly, func(context.Context, ToolCall) (string, error) { <-release; return "too late", nil }),
			action("huge", "", func(context.Context, ToolCall) (string, error) {
				return strings.Repeat("é", api.MaxToolOutputBytes), nil
			}),
			action("garbled", "", func(context.Context, ToolCall) (string, error) { return "a\xff\xfe\x00b", nil }),
			action("empty", "", nothing),
			action("exits", "", func(context.Context, ToolCall) (string, error) { runtime.Goexit(); return "", nil }),
		}}
		for i := range w.Tools {
			w.Tools[i].Timeout = Grace / 2
		}
		s.open(w)
		id := s.session()
		s.say(id, "go")
		got := s.results(id)
		if len(got) != len(w.Tools) {
			s.Fatalf("results are %+v", got)
		}
		for i, want := range []struct {
			code api.Code
			text string
		}{{api.CodeToolFailed, "no such file"}, {api.CodeToolPanicked, "boom"}, {api.CodeToolTimeout, "stopped after"}, {api.CodeToolTimeout, "did not finish"}, {"", "[cut: the output had"}, {"", "a\uFFFD"}, {"", ""}, {api.CodeToolPanicked, "ended its goroutine"}} {
			if got[i].Code != want.code || !strings.Contains(got[i].Output, want.text) || !utf8.ValidString(got[i].Output) || len(got[i].Output) > api.MaxToolOutputBytes {
				s.Errorf("%s ended as %s %.200q (%d bytes)", w.Tools[i].Name, got[i].Code, got[i].Output, len(got[i].Output))
			}
		}
		s.say(id, "and again")
	}},
	{"RU5 RU8 arguments that some provider cannot read are not run, and no later request says them", func(s *stage) {
		for name, arguments := range map[string]string{
			"a key twice": `{"a":1,"a":2}`, "a number that no float64 has": `{"a":1e999}`, "a number just above": `{"a":9e308}`, "a number that becomes 0": `{"a":1e-999}`,
			"cut off": `{"a":`, "a list": `[]`, "too deep": nested(65),
		} {
			for tool, want := range map[string]struct {
				code api.Code
				says string
			}{"act": {api.CodeArgumentsInvalid, "The arguments began: "}, "other": {api.CodeUnknownTool, "there is no tool"}} {
				var prompts asked
				var l ledger
				s.open(World{Model: prompts.by(rounds(Answer{Calls: []Call{{Name: tool, Arguments: arguments}}}, Answer{Text: "ok"})), Tools: []Tool{action("act", "", count1(&l))}})
				id := s.session()
				s.say(id, "go")
				s.say(id, "on")
				results := s.results(id)
				if len(l.all()) > 0 || len(results) == 0 || results[0].Code != want.code || !strings.Contains(results[0].Output, want.says) {
					s.Errorf("%s of %s: run %d times, the result is %+v", name, tool, len(l.all()), results)
				}
				for _, p := range prompts.all()[1:] {
					for _, it := range p.Items {
						if it.Kind == "tool_call" && string(it.Arguments) != "{}" {
							s.Errorf("%s of %s: a later request says %s", name, tool, it.Arguments)
						}
					}
				}
				s.process.Stop()
			}
		}
		s.look()
	}},
	{"RU8 an output at the bound is whole and one byte more is cut", func(s *stage) {
		for _, n := range []int{api.MaxToolOutputBytes - 1, api.MaxToolOutputBytes, api.MaxToolOutputBytes + 1} {
			w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(context.Context, ToolCall) (string, error) {
				return strings.Repeat("x", n), nil
			})}}
			s.open(w)
			id := s.session()
			s.say(id, "go")
			out := s.results(id)[0].Output
			if cut := strings.Contains(out, "[cut:"); cut != (n > api.MaxToolOutputBytes) || !cut && len(out) != n || len(out) > api.MaxToolOutputBytes {
				s.Errorf("of %d bytes %d are kept, cut: %t", n, len(out), cut)
			}
		}
	}},
	{"RU7 C07 calls of one answer run together, bounded, and their results stand in call order", func(s *stage) {
		const n = 7
		g := newGate()
		var now, most atomic.Int32
		names := slices.Repeat([]string{"act"}, n)
		s.open(World{Model: rounds(calls(names...), Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(ctx context.Context, c ToolCall) (string, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			g.pass(ctx, c.ID)
			return c.Arguments, nil
		})}})
		id := s.session()
		run := s.send(id, "go")
		for range Parallel {
			g.await(s)
		}
		for range n { // one leaves, the next one enters
			g.open <- struct{}{}
		}
		s.ends(run, api.StatusCompleted)
		if most.Load() != Parallel {
			s.Errorf("at most %d ran at once, want %d", most.Load(), Parallel)
		}
		for i, r := range s.results(id) {
			if r.Output != fmt.Sprintf(`{"n":%d}`, i) {
				s.Errorf("result %d is %s", i, r.Output)
			}
		}
	}},
	{"RU9 C05 C13 a provider that repeats its call IDs or gives none loses nothing", func(s *stage) {
		var l ledger
		same := Answer{Calls: []Call{{ID: "call_1", Name: "act", Arguments: `{"n":1}`}, {ID: "call_1", Name: "act", Arguments: `{"n":1}`}, {Name: "act", Arguments: `{"n":1}`}, {Name: "act"}}}
		s.open(World{Model: rounds(same, same, Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) {
			return fmt.Sprint(l.add(c.ID)), nil
		})}})
		id := s.session()
		s.say(id, "one")
		s.say(id, "two")
		ids := l.all()
		slices.Sort(ids)
		if len(ids) != 16 || len(slices.Compact(ids)) != 16 {
			s.Fatalf("ran under %v", ids)
		}
	}},
	{"RU8 C18 C40 a call that is malformed, unknown, disabled or cut off is told to the model and never run", func(s *stage) {
		var l ledger
		off := func(d *api.AgentDefinition) {
			d.BuiltinTools = api.BuiltinTools{AskUser: api.Set(false), ReadHistory: api.Set(false)}
		}
		for _, tt := range []struct {
			name   string
			answer Answer
			want   api.Code
		}{
			{"not JSON", Answer{Calls: []Call{{Name: "act", Arguments: `{"n":`}}}, api.CodeArgumentsInvalid},
			{"no object", Answer{Calls: []Call{{Name: "act", Arguments: `[1]`}}}, api.CodeArgumentsInvalid},
			{"not UTF-8", Answer{Calls: []Call{{Name: "act", Arguments: "{\"n\":\"\xff\"}"}}}, api.CodeArgumentsInvalid},
			{"against the schema", Answer{Calls: []Call{{Name: "act", Arguments: `{"n":"one"}`}}}, api.CodeArgumentsInvalid},
			{"an unknown field", Answer{Calls: []Call{{Name: "act", Arguments: `{"m":1}`}}}, api.CodeArgumentsInvalid},
			{"an unknown tool", Answer{Calls: []Call{{Name: "other", Arguments: `{}`}}}, api.CodeUnknownTool},
			{"a name that no provider takes", Answer{Calls: []Call{{Name: "a b\x00", Arguments: `{}`}}}, api.CodeUnknownTool},
			{"a disabled built-in", Answer{Calls: []Call{{Name: "read_history", Arguments: `{}`}}}, api.CodeToolDisabled},
			{"the other built-in, disabled", Answer{Calls: []Call{{Name: "ask_user", Arguments: `{}`}}}, api.CodeToolDisabled},
			{"cut off at the output limit", Answer{Text: "I will", Calls: []Call{{Name: "act", Arguments: `{"n":1}`}, {Name: "act", Arguments: `{"n`}}, Stop: "output_limit"}, api.CodeCallCutOff},
		} {
			if s.process != nil {
				s.process.Stop()
			}
			s.open(World{Model: rounds(tt.answer, Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) { l.add(c.ID); return "", nil })}}, off)
			id := s.session()
			run := s.send(id, "go")
			r := s.ends(run, api.StatusCompleted)
			if r.ModelCalls != 2 {
				s.Errorf("%s: the turn took %d calls", tt.name, r.ModelCalls)
			}
			for _, res := range s.results(id) {
				if res.Code != tt.want || !strings.HasPrefix(res.Output, "Not run") {
					s.Errorf("%s: the result is %s %q, want %s", tt.name, res.Code, res.Output, tt.want)
				}
			}
		}
		if len(l.all()) > 0 {
			s.Fatalf("ran %v", l.all())
		}
	}},
	{"C42 calls are run whatever the provider calls the end", func(s *stage) {
		var l ledger
		a := calls("act")
		a.Stop = "end"
		s.open(World{Model: rounds(a, Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) { l.add(c.ID); return "", nil })}})
		if text := s.say(s.session(), "go"); text != "ok" || len(l.all()) != 1 {
			s.Fatalf("the turn says %q, ran %v", text, l.all())
		}
	}},
	{"BT1 read_history gives the model the conversation in pages and by a search", func(s *stage) {
		type page struct {
			Items []struct{ Type, Text, Call string } `json:"items"`
			Next  string                              `json:"next_cursor"`
		}
		var pages []page
		s.open(World{Model: func(p Prompt) Answer {
			args := map[string]string{"page": `{"limit":1}`, "find": `{"query":"SECRET word"}`, "wrong": `{"cursor":"x"}`, "none": `{"limit":0}`}[p.User]
			if args == "" || p.Round == 1 {
				if p.Round == 1 {
					var got page
					if json.Unmarshal([]byte(p.Items[len(p.Items)-1].Output), &got) == nil {
						pages = append(pages, got)
					}
				}
				return Answer{Text: "noted"}
			}
			return Answer{Calls: []Call{{Name: "read_history", Arguments: args}}}
		}}, func(d *api.AgentDefinition) { d.BuiltinTools.ReadHistory = api.Set(true); asking(d) })
		id := s.session()
		s.say(id, "the secret word is plum")
		s.say(id, "page")
		s.say(id, "find")
		if len(pages) != 2 || len(pages[0].Items) != 1 || pages[0].Next == "" || pages[0].Items[0].Text != "the secret word is plum" ||
			len(pages[1].Items) == 0 || pages[1].Items[0].Type != "user" {
			s.Fatalf("the model was given %+v", pages)
		}
		s.say(id, "wrong")
		s.say(id, "none")
		var codes []api.Code
		for _, r := range s.results(id) {
			codes = append(codes, r.Code)
		}
		if want := []api.Code{"", "", api.CodeArgumentsInvalid, api.CodeArgumentsInvalid}; !slices.Equal(codes, want) {
			s.Errorf("the results have codes %q, want %q", codes, want)
		}
	}},
	{"BT1 the built-in tools are declared where tools are selected and nowhere else unless said", func(s *stage) {
		on, off := api.Set(true), api.Set(false)
		tooled := World{Tools: []Tool{action("a.b", "", nothing)}}
		for _, tt := range []struct {
			name string
			w    World
			set  api.BuiltinTools
			want []string
		}{
			{"with a tool", tooled, api.BuiltinTools{}, []string{"a__b", "ask_user", "read_history"}},
			{"with a tool, both off", tooled, api.BuiltinTools{AskUser: off, ReadHistory: off}, []string{"a__b"}},
			{"with a tool, one off", tooled, api.BuiltinTools{ReadHistory: off}, []string{"a__b", "ask_user"}},
			{"with a tool, the other off", tooled, api.BuiltinTools{AskUser: off}, []string{"a__b", "read_history"}},
			{"without tools", World{}, api.BuiltinTools{}, nil},
			{"without tools, one on", World{}, api.BuiltinTools{ReadHistory: on}, []string{"read_history"}},
			{"without tools, the other on", World{}, api.BuiltinTools{AskUser: on}, []string{"ask_user"}},
		} {
			var got []string
			tt.w.Model = func(p Prompt) Answer { got = p.Tools; return Answer{Text: "ok"} }
			s.open(tt.w, func(d *api.AgentDefinition) {
				d.Name, d.BuiltinTools = strings.NewReplacer(" ", "", ",", "").Replace(tt.name), tt.set
			})
			s.say(s.session(), "hi")
			if !slices.Equal(got, tt.want) {
				s.Errorf("%s: declared are %v, want %v", tt.name, got, tt.want)
			}
			s.process.Stop()
		}
		s.look()
	}},
}
