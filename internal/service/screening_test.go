package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
)

// secret is a text that has another spelling in JSON.
const secret = `pa"ss&w<ord>9`

// hides is a guardrail that takes the secret out.
func hides(points ...guard.Point) guard.Guardrail {
	return guard.Guardrail{Name: "g", Points: points, Check: func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if !strings.Contains(u.Text, secret) {
			return guard.Allow(), nil
		}
		return guard.Redact(strings.ReplaceAll(u.Text, secret, "[gone]"), "secret"), nil
	}}
}

// screened is a session under one guardrail.
type screened struct {
	*host
	session  string
	provider *scripted.Provider
	log      *bytes.Buffer
}

// screening opens a session with a tool "act" that runs body, under a guardrail, within a false clock or not.
func screening(t *testing.T, g guard.Guardrail, script func(model.Request, int) scripted.Reply, body tool.Tool, change func(*service.Config, *api.AgentDefinition)) *screened {
	t.Helper()
	w := &screened{log: &bytes.Buffer{}, provider: scripted.New(scripted.Config{Script: script, Facts: map[string]model.Facts{"m": {Window: 100_000, MaxOutputTokens: 8_000}}})}
	cfg := service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Providers: []model.Provider{w.provider}, Guardrails: []guard.Guardrail{g},
		Logger: slog.New(slog.NewTextHandler(w.log, nil)), CancelGrace: 50 * time.Millisecond, Clock: suitehost.Clock()}
	def := api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}, Approvals: never(), Guardrails: []string{"g"},
		BuiltinTools: api.BuiltinTools{ReadHistory: api.Set(true), AskUser: api.Set(true)}, Tools: []api.ToolDeclaration{body.Declaration()}}
	if change != nil {
		change(&cfg, &def)
	}
	s, err := service.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ended(t, s) })
	if err := s.Bind(body); err != nil {
		t.Fatal(err)
	}
	w.host = &host{Service: s, t: t, store: cfg.Store}
	if w.agent, err = s.RegisterAgent(t.Context(), "", def); err != nil {
		t.Fatal(err)
	}
	w.session = w.host.session()
	return w
}

func (w *screened) run(text string) api.Result {
	w.t.Helper()
	return w.result(w.send(w.session, text, api.TurnOptions{}))
}

// told is all that models were sent.
func (w *screened) told() string {
	var b strings.Builder
	for _, r := range w.provider.Requests() {
		b.WriteString(r.Instructions)
		for _, it := range r.Items {
			b.WriteString(it.Text + it.Output + "\n")
		}
	}
	return b.String()
}

// outputs are the results that models were sent.
func (w *screened) outputs() (out []string) {
	for _, r := range w.provider.Requests() {
		for _, it := range r.Items {
			if it.Kind == model.ToolResultItem && !slices.Contains(out, it.Output) {
				out = append(out, it.Output)
			}
		}
	}
	return out
}

// stored reports whether a text is in the journal.
func (w *screened) stored(text string) bool {
	w.t.Helper()
	records, err := w.store.Records(w.t.Context(), store.RecordQuery{Session: w.session, Items: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.ContainsFunc(records, func(r store.Record) bool { return strings.Contains(string(r.Data), text) })
}

// once calls a tool in the first round of each turn, reviews what it is asked to review, and else is done.
func once(name, arguments string) func(model.Request, int) scripted.Reply {
	return func(r model.Request, _ int) scripted.Reply {
		switch {
		case strings.HasPrefix(r.Instructions, "You review"):
			return scripted.Text(`{"verdict":"allow","reason":"it is fine"}`)
		case scripted.Round(r) == 0 && len(r.Tools) > 0:
			return scripted.Call(name, arguments)
		}
		return scripted.Text("done")
	}
}

// GR1, GR2, CO1: guardrails bound each text, and not all of a conversation together.
func TestASessionUnderAGuardrailGoesOnHoweverLongItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := screening(t, hides(guard.ModelInput), func(model.Request, int) scripted.Reply { return scripted.Text("ok") }, act("Acts.", says("")), nil)
		for i := range 55 { // the window holds fewer
			if r := w.run(strings.Repeat("some words here ", 437)); r.Status != api.StatusCompleted {
				t.Fatalf("turn %d: %+v", i, r.Error)
			}
		}
		summaries := 0
		for _, r := range w.provider.Requests() {
			if strings.HasPrefix(r.Instructions, "You summarise") {
				summaries++
			}
		}
		run, err := w.Compact(t.Context(), w.session, api.TurnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r := w.result(run); r.Status != api.StatusCompleted || summaries == 0 {
			t.Errorf("%+v behind %d summaries", r.Error, summaries)
		}
	})
}

// GR1, AP5, CO1, BT1: what is redacted for the agent's model is redacted for everybody, whatever form it is shown in.
func TestARedactionHoldsInAReviewInASummaryAndInHistory(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(model.Request, int) scripted.Reply{
		"a review":            once("act", "{}"),
		"a summary":           func(model.Request, int) scripted.Reply { return scripted.Text("ok") },
		"a page of history":   once("read_history", "{}"),
		"a search of history": once("read_history", `{"query":"password"}`),
		"a search for it":     once("read_history", `{"query":"pa\"ss"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := screening(t, hides(guard.ModelInput), script, act("Acts.", says("found "+secret)), func(c *service.Config, def *api.AgentDefinition) {
					def.Approvals = api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "Scripted", Name: "m"}}
				})
				for range 6 {
					if r := w.run("the password is " + secret + strings.Repeat(" and more", 900)); r.Status != api.StatusCompleted {
						t.Fatalf("%+v, %+v", r, r.Error)
					}
				}
				run, err := w.Compact(t.Context(), w.session, api.TurnOptions{})
				if err != nil {
					t.Fatal(err)
				}
				w.result(run)
				told := w.told()
				for _, s := range []string{secret, `pa\"ss`, `ord>9`, `ord\u003e9`} {
					if at := strings.Index(told, s); at >= 0 {
						t.Errorf("%s was sent: %.200q", s, told[max(0, at-100):])
					}
				}
				if !strings.Contains(told, "[gone]") {
					t.Error("nothing was redacted")
				}
			})
		})
	}
}

// AP5: an allow counts where the action was shown as it is, whatever was redacted around it.
func TestAnAllowCountsIfTheActionItselfWasShownAsItIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments string
		status    api.RunStatus
	}{
		"with a secret in the conversation": {`{"to":"x"}`, api.StatusCompleted},
		"with a secret in the action":       {`{"to":"pa\"ss\u0026w<ord>9"}`, api.StatusInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				type letter struct {
					To string `json:"to"`
				}
				body := tool.Must(tool.New("act", "Acts.", func(context.Context, tool.Call, letter) (string, error) { return "done", nil }))
				w := screening(t, hides(guard.ModelInput), once("act", test.arguments), body, func(c *service.Config, def *api.AgentDefinition) {
					def.Approvals = api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "Scripted", Name: "m"}}
				})
				if r := w.run("the password is " + secret); r.Status != test.status {
					t.Errorf("%+v, %+v", r, r.Error)
				}
			})
		})
	}
}

// GR2: what would be refused at each later request is not taken.
func TestWhatAGuardrailCouldNeverLookAtIsNotTaken(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("xy", 70_000)
	goes := func(t *testing.T, w *screened) {
		t.Helper()
		if r := w.run("hello again"); r.Status != api.StatusCompleted {
			t.Errorf("the next turn: %+v", r.Error)
		}
		if strings.Contains(w.told(), "xyxyxy") {
			t.Error("it was sent")
		}
	}
	refused := func(t *testing.T, err error, code api.Code, words ...string) {
		t.Helper()
		for _, word := range append(words, "140000 bytes") {
			if api.CodeOf(err) != code || !strings.Contains(err.Error(), word) {
				t.Errorf("%v does not say %s, %s", err, code, word)
			}
		}
	}
	quiet := func(model.Request, int) scripted.Reply { return scripted.Text("ok") }
	t.Run("a message", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := screening(t, hides(guard.ModelInput), quiet, act("Acts.", says("")), nil)
			_, err := w.Submit(t.Context(), api.Submission{Session: w.session, Text: large})
			refused(t, err, api.CodeGuardrailFailed, "the message", "guardrail g")
			goes(t, w)
		})
	})
	t.Run("a result", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := screening(t, hides(guard.ModelInput), once("act", "{}"), act("Acts.", says(large)), nil)
			if r := w.run("go"); r.Status != api.StatusCompleted {
				t.Errorf("%+v", r.Error)
			}
			if out := w.outputs(); len(out) != 1 || !strings.Contains(out[0], "withheld") || !strings.Contains(out[0], "140000 bytes") || !strings.Contains(out[0], "guardrail_failed") {
				t.Errorf("the model is told %.300q", out)
			}
			if w.stored("xyxyxy") {
				t.Error("it is stored")
			}
			goes(t, w)
		})
	})
	t.Run("instructions", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := screening(t, hides(guard.ModelInput), quiet, act("Acts.", says("")), nil)
			def := api.AgentDefinition{Name: "b", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}, Instructions: large, Guardrails: []string{"g"}}
			_, err := w.RegisterAgent(t.Context(), "", def)
			refused(t, err, api.CodeInvalidAgent, "instructions", "model_input")
			def.Guardrails = nil
			if _, err := w.RegisterAgent(t.Context(), "", def); err != nil {
				t.Errorf("without the guardrail: %v", err)
			}
		})
	})
	t.Run("a person's output", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w, id := unknown(t, hides(guard.ModelInput), nil)
			err := w.Resolve(t.Context(), w.session, id, api.Answer{Decision: api.OutcomeSucceeded, Output: large})
			refused(t, err, api.CodeGuardrailFailed, "the output")
			if err := w.Resolve(t.Context(), w.session, id, api.Answer{Decision: api.OutcomeSucceeded, Output: "paid"}); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a page of history that is too large for one is given in several", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			const part = 60_000
			w := screening(t, hides(guard.ModelInput, guard.ToolResult), func(r model.Request, _ int) scripted.Reply {
				if scripted.Round(r) == 0 && scripted.LastUser(r) == "read" {
					return scripted.Call("read_history", "{}")
				}
				return scripted.Text("ok")
			}, act("Acts.", says("")), nil)
			w.run(strings.Repeat(`"`, part))
			w.run(strings.Repeat(`\`, part) + "end")
			w.run("read")
			out := w.outputs()
			var page struct {
				Items []struct{ Text string }
				Next  string `json:"next_cursor"`
			}
			if len(out) != 1 || json.Unmarshal([]byte(out[0]), &page) != nil || len(page.Items) == 0 || page.Next == "" || !strings.HasPrefix(page.Items[0].Text, `""""`) {
				t.Errorf("the model is given %.200q", out)
			}
		})
	})
}

// unknown is a session with an action of which nobody knows whether it took effect.
func unknown(t *testing.T, g guard.Guardrail, change func(*service.Config, *api.AgentDefinition)) (w *screened, interaction string) {
	t.Helper()
	w = screening(t, g, once("act", "{}"), tool.Must(tool.New("act", "Acts.", func(context.Context, tool.Call, struct{}) (string, error) {
		time.Sleep(time.Second) // whatever becomes of its context
		return "", errors.New("too late to matter")
	}, tool.Options{Timeout: 100 * time.Millisecond})), change)
	r := w.run("go")
	if len(r.Interactions) != 1 {
		t.Fatalf("%+v, %+v", r, r.Error)
	}
	return w, r.Interactions[0].ID
}

// GR1, AP3: what a person says that a tool has returned is a result of that tool.
func TestAnOutputThatAPersonGivesIsLookedAtAsTheToolsResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var units []guard.Unit
		g := hides(guard.ToolResult)
		check := g.Check
		g.Check = func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
			units = append(units, u)
			return check(ctx, u)
		}
		w, id := unknown(t, g, nil)
		units = nil
		if err := w.Resolve(t.Context(), w.session, id, api.Answer{Decision: api.OutcomeSucceeded, Output: "token " + secret}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		if len(units) == 0 || units[0].Tool != "act" || units[0].Point != guard.ToolResult || units[0].CallID == "" || units[0].Run == "" {
			t.Errorf("the guardrail saw %+v", units)
		}
		if out := strings.Join(w.outputs(), "\n"); !strings.Contains(out, "token [gone]") || w.stored("ord>9") {
			t.Errorf("the model is told %q", out)
		}
	})
}

// AP9: redactions make no answer larger than one may be.
func TestAnswersThatGrowBeyondTheirBoundByRedactionAreNotTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		grows := guard.Guardrail{Name: "g", Points: []guard.Point{guard.UserInput}, Check: func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
			return guard.Redact(u.Text+strings.Repeat("y", 16_000), "r"), nil
		}}
		w := screening(t, grows, once("ask_user", `{"question":"Which?","multiple":true}`), act("Acts.", says("")), nil)
		r := w.run("go")
		if len(r.Interactions) != 1 {
			t.Fatalf("%+v, %+v", r, r.Error)
		}
		id := r.Interactions[0].ID
		err := w.Resolve(t.Context(), w.session, id, api.Answer{Decision: api.Answered, Answers: []string{"a", "b"}})
		if api.CodeOf(err) != api.CodeGuardrailFailed || !strings.Contains(err.Error(), "32002 bytes") {
			t.Errorf("got %v", err)
		}
		if err := w.Resolve(t.Context(), w.session, id, api.Answer{Decision: api.Answered, Answers: []string{"a"}}); err != nil {
			t.Error(err)
		}
	})
}

// GR2: what fails closed says so to the model with a name and a code, and with no word of what it was shown.
func TestAFailureOfAGuardrailTellsTheModelNothingOfWhatItSaw(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(u guard.Unit) (guard.Verdict, error){
		"a panic":   func(u guard.Unit) (guard.Verdict, error) { panic("cannot handle " + u.Text) },
		"an action": func(u guard.Unit) (guard.Verdict, error) { return guard.Verdict{Action: guard.Action(u.Text)}, nil },
		"an error":  func(u guard.Unit) (guard.Verdict, error) { return guard.Verdict{}, fmt.Errorf("POST %s: 503", u.Text) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := guard.Guardrail{Name: "g", Points: []guard.Point{guard.ToolResult}, Check: func(_ context.Context, u guard.Unit) (guard.Verdict, error) { return check(u) }}
				w := screening(t, g, once("act", "{}"), act("Acts.", says("s3cret")), nil)
				w.run("go")
				if out := strings.Join(w.outputs(), "\n"); strings.Contains(out, "s3cret") || !strings.Contains(out, "guardrail g let nothing pass (guardrail_failed)") {
					t.Errorf("the model is told %q", out)
				}
				if w.stored("s3cret") != (name == "an error") { // which the verdict keeps, as documented
					t.Error("what is stored is another matter")
				}
			})
		})
	}
}

// RE3, GR1: the time that guardrails take is not the inspection's, and what a tool's error says is not the log's.
func TestAnInspectionIsLookedAtInTheGuardrailsOwnTimeAndIsNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := guard.Guardrail{Name: "g", Points: []guard.Point{guard.ToolResult}, Check: func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
			select {
			case <-time.After(400 * time.Millisecond):
				return guard.Allow(), nil
			case <-ctx.Done():
				return guard.Verdict{}, ctx.Err()
			}
		}}
		asked := 0
		body := tool.Must(tool.New("act", "Acts.", func(context.Context, tool.Call, struct{}) (string, error) {
			time.Sleep(2 * time.Second)
			return "", errors.New("too late to matter")
		}, tool.Options{Timeout: 600 * time.Millisecond, Inspect: func(context.Context, tool.Call) (tool.Inspection, error) {
			if asked++; asked == 1 {
				return tool.Inspection{}, errors.New("GET /?token=s3cret: 503")
			}
			time.Sleep(400 * time.Millisecond)
			return tool.Inspection{Outcome: tool.Succeeded, Output: "paid 42"}, nil
		}}))
		w := screening(t, g, once("act", "{}"), body, nil)
		if r := w.run("go"); r.Status != api.StatusCompleted {
			t.Errorf("%+v, %+v", r, r.Error)
		}
		if out := w.outputs(); len(out) != 1 || out[0] != "paid 42" {
			t.Errorf("the model is told %q", out)
		}
		if log := w.log.String(); !strings.Contains(log, "inspection failed") || strings.Contains(log, "s3cret") {
			t.Errorf("the log is %s", log)
		}
	})
}

// GR1: what was registered does not change with what the caller does to it.
func TestAGuardrailLooksWhereItWasRegisteredToLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		points := []guard.Point{guard.UserInput}
		w := screening(t, hides(points...), func(model.Request, int) scripted.Reply { return scripted.Text("ok") }, act("Acts.", says("")), nil)
		points[0] = guard.ModelOutput
		w.run("it is " + secret)
		if w.stored("ord>9") || !w.stored("[gone]") {
			t.Error("the message is stored as it was")
		}
	})
}
