package servicetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// reviewer is the name of the model that reviews, where auto is an agent's mode.
const reviewer = "r"

func auto(d *api.AgentDefinition) {
	d.Approvals = api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: Provider, Name: reviewer}}
}

func never(*api.AgentDefinition) {}

// modes are the four ways to decide on a call of the tool act (AP1).
var modes = []struct {
	name   string
	change func(*api.AgentDefinition)
}{{"always", asking}, {"only", only("act")}, {"auto", auto}, {"never", never}}

// judges gives the reviewer's answers by judge, all others by f.
func judges(judge, f func(Prompt) Answer) func(Prompt) Answer {
	return func(p Prompt) Answer {
		if p.Model == reviewer {
			return judge(p)
		}
		return f(p)
	}
}

// says is a reviewer that always gives this verdict.
func says(verdict, reason string) func(Prompt) Answer {
	return func(Prompt) Answer {
		return Answer{Text: fmt.Sprintf(`{"verdict":%q,"reason":%q}`, verdict, reason)}
	}
}

// answer resolves the one open interaction of a session.
func (s *stage) answer(session string, a api.Answer) {
	s.Helper()
	open := s.state(session).Interactions
	if len(open) != 1 {
		s.Fatalf("%d interactions are open: %+v", len(open), open)
	}
	s.no(s.Resolve(s.Context(), session, open[0].ID, a))
}

// seen remembers what a world's callbacks were shown.
type seen[T any] struct {
	mu   sync.Mutex
	list []T
}

func (l *seen[T]) add(v T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, v)
	return len(l.list)
}

func (l *seen[T]) all() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

var (
	allowed = Verdict{Action: "allow"}
	blocked = Verdict{Action: "block", Reason: `not on "Sundays"`}
)

var orderTests = []test{
	{"AP2 the application's denial wins in every mode, and over a grant, and nobody is asked", func(s *stage) {
		for _, mode := range modes {
			for _, granted := range []bool{false, true} {
				var l, reviews ledger
				deny := allowed
				w := World{Model: judges(func(p Prompt) Answer { reviews.add(p.User); return says("unsure", "")(p) }, rounds(calls("act"), Answer{Text: "ok"})),
					Tools: []Tool{action("act", "", count1(&l))}, Deny: func(context.Context, Action) (Verdict, error) { return deny, nil }}
				name := fmt.Sprintf("%s-%t", mode.name, granted)
				s.open(w, mode.change, func(d *api.AgentDefinition) { d.Name = name })
				id := s.session()
				want := 0
				if granted && mode.name != "never" {
					run := s.send(id, "go")
					s.ends(run, api.StatusInterrupted)
					s.answer(id, api.Answer{Decision: api.AllowSession})
					s.ends(run, api.StatusCompleted)
					want = 1
				}
				head, before := s.state(id).LastEvent, len(reviews.all())
				deny = blocked
				s.ends(s.send(id, "go"), api.StatusCompleted)
				results := s.results(id)
				r := results[len(results)-1]
				if r.Code != api.CodeDenied || !strings.Contains(r.Output, `"not on \"Sundays\""`) || !strings.Contains(r.Output, "Do not retry") {
					s.Errorf("%s: the result is %+v", name, r)
				}
				if len(l.all()) != want || len(reviews.all()) != before || count(s.events(id)[head:], api.EventInteractionRequired) != 0 {
					s.Errorf("%s: ran %v, reviewed %v, asked %d times", name, l.all(), reviews.all(), count(s.events(id)[head:], api.EventInteractionRequired))
				}
				s.process.Stop()
			}
		}
		s.look()
	}},
	{"AP2 what the application lets pass goes on to grant and mode, and the journal tells who let it pass", func(s *stage) {
		for _, tt := range []struct {
			mode   string
			change func(*api.AgentDefinition)
			by     string
			asked  bool
		}{
			{"always", asking, "", true}, {"only", only("act"), "", true}, {"auto", auto, "", true},
			{"other", func(d *api.AgentDefinition) {
				d.Approvals = api.Approvals{Mode: api.ApproveOnly, Tools: []string{"ask_user"}}
			}, "policy", false},
			{"never", never, "never", false},
		} {
			s.open(World{Model: judges(says("unsure", "who knows"), rounds(calls("act"), Answer{Text: "ok"})), Tools: []Tool{action("act", "", nothing)},
				Deny: func(context.Context, Action) (Verdict, error) { return allowed, nil }}, tt.change, func(d *api.AgentDefinition) { d.Name = tt.mode })
			id := s.session()
			run := s.send(id, "go")
			if tt.asked {
				s.ends(run, api.StatusInterrupted)
				s.answer(id, api.Answer{Decision: api.AllowSession})
			}
			r := s.ends(run, api.StatusCompleted)
			if policy := map[bool]int{true: 1}[tt.by == "policy"]; r.AutoApproved != policy {
				s.Errorf("%s: %d calls count as approved by policy", tt.mode, r.AutoApproved)
			}
			if d := decode[api.ToolCallChecked](s, s.until(id, api.EventToolCallChecked)); d.ApprovedBy != tt.by {
				s.Errorf("%s: checked as %+v", tt.mode, d)
			}
			if tt.asked {
				s.say(id, "go")
				events := s.events(id)
				last := slices.IndexFunc(events, func(e api.Event) bool {
					return e.Type == api.EventToolCallChecked && decode[api.ToolCallChecked](s, e).ApprovedBy == "grant"
				})
				if last < 0 || count(events, api.EventInteractionRequired) != 1 {
					s.Errorf("%s: the grant covers nothing: %+v", tt.mode, events)
				}
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP2 the application is asked about calls that are known, enabled and valid, and about no other", func(s *stage) {
		var asked seen[string]
		s.open(World{Model: rounds(Answer{Calls: []Call{{Name: "act", Arguments: `{"n":"x"}`}, {Name: "act", Arguments: `{`}, {Name: "other", Arguments: `{}`},
			{Name: "read_history", Arguments: `{}`}, {Name: "act", Arguments: `{"n":4}`}}}, Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)},
			Deny: func(_ context.Context, a Action) (Verdict, error) {
				asked.add(a.Tool + a.Arguments)
				return allowed, nil
			}},
			func(d *api.AgentDefinition) { d.BuiltinTools.ReadHistory = api.Set(false) })
		s.say(s.session(), "go")
		if got := asked.all(); !slices.Equal(got, []string{`act{"n":4}`}) {
			s.Fatalf("asked about %q", got)
		}
	}},
	{"AP2 AP6 RU10 a check of the application's that fails in any way lets nothing run and is nobody's refusal", func(s *stage) {
		for _, tt := range []struct {
			name string
			deny func(context.Context, Action) (Verdict, error)
			own  string // the application's, which is nothing for a model
		}{
			{"error", func(context.Context, Action) (Verdict, error) {
				return allowed, errors.New("no route to the policy server")
			}, "no route"},
			{"panic", func(context.Context, Action) (Verdict, error) { panic("boom") }, "boom"},
			{"none", func(context.Context, Action) (Verdict, error) { return Verdict{}, nil }, "verdict"},
			{"redact", func(context.Context, Action) (Verdict, error) { return Verdict{Action: "redact", Text: "{}"}, nil }, "redact"},
		} {
			for _, mode := range modes {
				var l ledger
				s.open(World{Model: judges(says("allow", "fine"), rounds(calls("act"), Answer{Text: "ok"})), Tools: []Tool{action("act", "", count1(&l))}, Deny: tt.deny},
					mode.change, func(d *api.AgentDefinition) { d.Name = tt.name + mode.name })
				id := s.session()
				s.say(id, "go")
				r := s.results(id)[0]
				if r.Code != api.CodeCheckFailed || !strings.Contains(r.Output, "Nobody has refused it") || strings.Contains(r.Output, tt.own) || strings.Contains(r.Output, "denied") || len(l.all()) > 0 {
					s.Errorf("%s in mode %s: the result is %+v, ran %v", tt.name, mode.name, r, l.all())
				}
				s.process.Stop()
			}
		}
		s.look()
	}},
	{"AP2 AP3 changed arguments are checked again right before the action starts, and that denial is the result", func(s *stage) {
		for _, tt := range []struct {
			name    string
			crash   bool
			verdict Verdict
			err     error
			code    api.Code
			ran     int
		}{
			{"let pass", false, allowed, nil, "", 1},
			{"let pass by another process", true, allowed, nil, "", 1},
			{"denied", false, blocked, nil, api.CodeDenied, 0},
			{"denied by another process", true, blocked, nil, api.CodeDenied, 0},
			{"unable", false, allowed, errors.New("down"), api.CodeCheckFailed, 0},
			{"unable in another process", true, allowed, errors.New("down"), api.CodeCheckFailed, 0},
		} {
			var asked, ran seen[string]
			w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", func(_ context.Context, c ToolCall) (string, error) {
				ran.add(c.Arguments)
				return "done", nil
			})}, Deny: func(_ context.Context, a Action) (Verdict, error) {
				asked.add(fmt.Sprint(a.Arguments, a.Changed))
				if a.Changed {
					return tt.verdict, tt.err
				}
				return allowed, nil
			}}
			name := strings.ReplaceAll(tt.name, " ", "-")
			named := func(d *api.AgentDefinition) { d.Name = name }
			s.open(w, asking, named)
			id := s.session()
			run := s.send(id, "go")
			in := s.ends(run, api.StatusInterrupted).Interactions[0]
			changed := api.Answer{Decision: api.AllowOnce, Arguments: []byte(` { "n" : 7 } `)}
			if tt.crash {
				s.process.Crash()
				s.look()
				s.no(s.Resolve(s.Context(), id, in.ID, changed))
				s.process.Stop()
				s.open(w, asking, named)
			} else {
				s.no(s.Resolve(s.Context(), id, in.ID, changed))
			}
			s.ends(run, api.StatusCompleted)
			r := s.results(id)[0]
			if r.Code != tt.code || len(ran.all()) != tt.ran || tt.ran > 0 && ran.all()[0] != `{"n":7}` {
				s.Errorf("%s: the result is %+v, ran %v", tt.name, r, ran.all())
			}
			if got := asked.all(); !slices.Equal(got, []string{`{"n":0}false`, `{"n":7}true`}) {
				s.Errorf("%s: the application was asked about %q", tt.name, got)
			}
			if started := count(s.events(id), api.EventToolCallStarted); started != tt.ran {
				s.Errorf("%s: %d intents are in the journal", tt.name, started)
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP2 a check that its process did not live to answer is asked again by the next one, and the action runs once", func(s *stage) {
		for _, changed := range []bool{false, true} {
			var l ledger
			g := newGate()
			dead := false
			w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l))},
				Deny: func(ctx context.Context, a Action) (Verdict, error) {
					if a.Changed == changed && !dead {
						g.pass(ctx, a.Tool)
					}
					return allowed, nil
				}}
			named := func(d *api.AgentDefinition) { d.Name = fmt.Sprint("changed-", changed) }
			mode := never
			if changed {
				mode = asking
			}
			s.open(w, mode, named)
			id := s.session()
			run := s.send(id, "go")
			if changed {
				s.ends(run, api.StatusInterrupted)
				s.answer(id, api.Answer{Decision: api.AllowOnce, Arguments: []byte(`{"n":7}`)})
			}
			g.await(s)
			s.process.Crash()
			dead = true
			close(g.open)
			s.open(w, mode, named)
			s.ends(run, api.StatusCompleted)
			if r := s.results(id)[0]; r.Code != "" || len(l.all()) != 1 {
				s.Errorf("changed %t: the result is %+v, ran %v", changed, r, l.all())
			}
			s.process.Stop()
		}
		s.look()
	}},
	{"AP2 AP6 a call that is to be checked is run by no process that lacks the check, and the model is told that nobody has refused it", func(s *stage) {
		var l ledger
		g := newGate()
		w := World{Model: rounds(calls("act", "look"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", count1(&l)), action("look", api.ReadOnly, count1(&l))},
			Deny: func(ctx context.Context, a Action) (Verdict, error) { g.pass(ctx, a.Tool); return allowed, nil }}
		s.open(w, never)
		id := s.session()
		run := s.send(id, "go")
		g.await(s)
		g.await(s)
		s.until(id, api.EventModelCallFinished)
		s.process.Crash()
		close(g.open)
		w.Deny = nil
		s.open(w, never)
		s.ends(run, api.StatusCompleted)
		for _, r := range s.results(id) {
			if r.Code != api.CodeCheckFailed || !strings.Contains(r.Output, "Nobody has refused it") || len(l.all()) > 0 {
				s.Errorf("the result is %+v, ran %v", r, l.all())
			}
		}
		s.say(id, "again") // what this process has the answer of was never to be checked
		if len(l.all()) != 2 {
			s.Errorf("ran %v", l.all())
		}
	}},
	{"AG7 the application's check, guardrails and hooks are told where they are", func(s *stage) {
		var told seen[About]
		w := World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)},
			Deny: func(_ context.Context, a Action) (Verdict, error) { told.add(a.About); return allowed, nil },
			Guardrails: []Guardrail{{Name: "g", Points: []string{"user_input", "model_input", "tool_result", "model_output"},
				Check: func(_ context.Context, u Unit) (Verdict, error) { told.add(u.About); return allowed, nil }}},
			Hooks: []Hook{{Name: "h", BeforeModel: func(_ context.Context, c ModelCall) (string, error) { told.add(c.About); return "", nil },
				ToolResult: func(_ context.Context, r ToolResult) (string, error) { told.add(r.About); return r.Output, nil }}}}
		s.open(w, guarded("g"), hooked("h"))
		id := s.session(api.SessionOptions{Owner: "ann", Metadata: map[string]string{"k": "v"}})
		run := s.send(id, "go")
		s.ends(run, api.StatusCompleted)
		call := s.results(id)[0].CallID
		calls, runs := 0, 0
		for _, a := range told.all() {
			if a.Session != s.reference(id) || a.Agent != s.agent || a.Workspace != s.state(id).Workspace || a.Origin != "agent" || a.Owner != "ann" || a.Metadata["k"] != "v" {
				s.Errorf("told was %+v", a)
			}
			if a.CallID == call {
				calls++
			}
			if a.Run == run.Run {
				runs++
			}
		}
		if n := len(told.all()); calls != 3 || runs != n-1 { // a message is checked before it has a run
			s.Fatalf("of %d calls %d name the run and %d the tool call", n, runs, calls)
		}
	}},
}

func guarded(names ...string) func(*api.AgentDefinition) {
	return func(d *api.AgentDefinition) { d.Guardrails = names }
}

func hooked(names ...string) func(*api.AgentDefinition) {
	return func(d *api.AgentDefinition) { d.Hooks = names }
}
