package service_test

import (
	"context"
	"encoding/json"
	"log/slog"
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
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
)

// deciding runs one turn with one call of a side effect in a service under a false clock, and returns its result, how
// long it took, and how often the body ran.
func deciding(t *testing.T, approvals api.Approvals, change func(*service.Config)) (s *service.Service, run api.RunReference, r api.Result, took time.Duration, ran int) {
	t.Helper()
	started := time.Now()
	s, run, times := begun(t, approvals, change)
	r, err := s.Result(t.Context(), run.Session, run.Run)
	if err != nil {
		t.Fatal(err)
	}
	return s, run, r, time.Since(started), *times
}

// begun begins that turn, and tells how often the body ran once the turn has come to rest.
func begun(t *testing.T, approvals api.Approvals, change func(*service.Config)) (s *service.Service, run api.RunReference, ran *int) {
	t.Helper()
	ran = new(int)
	cfg := service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Clock: suitehost.Clock(),
		Providers: []model.Provider{scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Call("act", "{}"), scripted.Text("ok"))})}}
	change(&cfg)
	s, err := service.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	body := act("Acts.", func(context.Context, tool.Call) (string, error) { *ran++; return "done", nil })
	if err := s.Bind(body); err != nil {
		t.Fatal(err)
	}
	def := api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}, Approvals: approvals, Tools: []api.ToolDeclaration{body.Declaration()}}
	for _, g := range cfg.Guardrails {
		def.Guardrails = append(def.Guardrails, g.Name)
	}
	agent, err := s.RegisterAgent(t.Context(), "", def)
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.CreateSession(t.Context(), agent, api.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = s.Submit(t.Context(), api.Submission{Session: session.Session, Text: "go"}); err != nil {
		t.Fatal(err)
	}
	return s, run, ran
}

// ended closes a service within a false clock.
func ended(t *testing.T, s *service.Service) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Minute) // what was left behind ends with its wait
}

// AP2, AP6: a check that never answers is waited for a bounded time; then the action is not run. The model learns that
// nobody has refused it, and the log why.
func TestACheckThatNeverAnswersLetsNothingRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder // the handler writes one record at a time
		s, run, r, took, ran := deciding(t, never(), func(c *service.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.Deny = func(context.Context, guard.ToolAction) (guard.Verdict, error) {
				time.Sleep(time.Minute) // whatever becomes of its context
				return guard.Allow(), nil
			}
		})
		defer ended(t, s)
		page, err := s.History(t.Context(), api.HistoryQuery{Session: run.Session})
		if err != nil || r.Status != api.StatusCompleted || ran != 0 || took < api.DefaultCheckTimeout || took > api.DefaultCheckTimeout+time.Second {
			t.Fatalf("%+v, %v after %v, ran %d times", r, err, took, ran)
		}
		if got := page.Items[2]; got.Code != api.CodeCheckFailed || !strings.Contains(got.Output, "Nobody has refused it") || strings.Contains(got.Output, "did not answer") {
			t.Errorf("the result is %+v", got)
		}
		if got := log.String(); !strings.Contains(got, "call="+page.Items[2].CallID) || !strings.Contains(got, "did not answer within 10s") {
			t.Errorf("the log has %q", got)
		}
	})
}

// GR2: a guardrail without a bound of its own has one all the same.
func TestAGuardrailThatNeverAnswersLetsNothingPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, r, took, _ := deciding(t, never(), func(c *service.Config) {
			c.Guardrails = []guard.Guardrail{{Name: "g", Points: []guard.Point{guard.ModelInput}, Check: func(context.Context, guard.Unit) (guard.Verdict, error) {
				time.Sleep(time.Minute)
				return guard.Allow(), nil
			}}}
		})
		defer ended(t, s)
		if r.Status != api.StatusFailed || r.Error.Code != api.CodeGuardrailFailed || took < api.DefaultCheckTimeout || took > api.DefaultCheckTimeout+time.Second {
			t.Fatalf("%+v, %+v after %v", r, r.Error, took)
		}
	})
}

// AP5, C27: however a reviewer keeps from answering, all its tries share one deadline; then a person is asked, for as long
// as it takes, and is told why.
func TestAReviewThatComesToNothingLeavesTheCallToAPerson(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		judge   scripted.Reply
		locked  bool // there is no credential for the reviewer
		code    api.Code
		atLeast time.Duration
		atMost  time.Duration
		tries   int
	}{
		"silent":                    {judge: scripted.Reply{Wait: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, code: api.CodeReviewTimeout, atLeast: api.DefaultReviewTime, atMost: api.DefaultReviewTime + time.Second, tries: 1},
		"slow, try after try":       {judge: scripted.Reply{Delay: 12 * time.Second, Err: &model.Error{Kind: model.KindOverloaded, Message: "busy"}}, code: api.CodeReviewTimeout, atLeast: api.DefaultReviewTime, atMost: api.DefaultReviewTime + time.Second, tries: 3},
		"told to come back later":   {judge: scripted.Reply{Err: &model.Error{Kind: model.KindRateLimited, Message: "later", RetryAfter: time.Hour}}, code: api.CodeRateLimited, atMost: time.Second, tries: 1},
		"down":                      {judge: scripted.Reply{Err: &model.Error{Kind: model.KindOverloaded, Message: "503"}}, code: api.CodeProviderOverloaded, atMost: 5 * time.Second, tries: 3},
		"without a credential here": {judge: scripted.Text("never asked"), locked: true, code: api.CodeCredentialsMissing, atMost: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				judge := scripted.New(scripted.Config{Name: "Judge", Credential: true, Script: func(model.Request, int) scripted.Reply { return test.judge }})
				s, run, r, took, ran := deciding(t, api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "Judge", Name: "j"}}, func(c *service.Config) {
					c.Providers = append(c.Providers, judge)
					c.Credentials = secrets(func(context.Context) (string, bool, error) { return "key", !test.locked, nil })
				})
				defer ended(t, s)
				if r.Status != api.StatusInterrupted || len(r.Interactions) != 1 || ran != 0 {
					t.Fatalf("%+v, ran %d times", r, ran)
				}
				in := r.Interactions[0]
				if in.Review == nil || in.Review.Verdict != api.ReviewUnsure || in.Review.Code != test.code || took < test.atLeast || took > test.atMost {
					t.Errorf("after %v the person is asked %+v", took, in.Review)
				}
				if n := judge.Calls(); n != test.tries {
					t.Errorf("the reviewer was asked %d times, want %d", n, test.tries)
				}
				time.Sleep(time.Hour)
				state, err := s.State(t.Context(), run.Session)
				if err != nil || len(state.Interactions) != 1 || state.Activity != api.Waiting {
					t.Fatalf("an hour later the session is %+v, %v", state, err)
				}
				if err := s.Resolve(t.Context(), run.Session, in.ID, api.Answer{Decision: api.AllowOnce}); err != nil {
					t.Fatal(err)
				}
				if r, err := s.Result(t.Context(), run.Session, run.Run); err != nil || r.Status != api.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
			})
		})
	}
}

// LI5, LI6: what a reviewer says it has used is counted once, whatever became of its answer.
func TestTheTokensOfAReviewThatCameToNothingAreCountedOnce(t *testing.T) {
	t.Parallel()
	used := api.Usage{InputTokens: 1000, OutputTokens: 100}
	guessed := api.Usage{OutputTokens: 100, Estimated: true} // of what came before it was cut off
	slow := scripted.Reply{Text: strings.Repeat("x", 300), Wait: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	for name, test := range map[string]struct {
		judge  scripted.Reply
		want   api.Usage
		status api.RunStatus
		code   api.Code
	}{
		"its provider was too slow":                 {slow, guessed, api.StatusInterrupted, api.CodeReviewTimeout},
		"its turn was cancelled":                    {slow, guessed, api.StatusCancelled, api.CodeCancelled},
		"a guardrail looked at it for too long":     {scripted.Reply{Text: `{"verdict":"allow","reason":"x"}`, Usage: used}, used, api.StatusInterrupted, api.CodeReviewTimeout},
		"its answer was no review":                  {scripted.Reply{Text: "fine", Usage: used}, used, api.StatusInterrupted, api.CodeReviewInvalid},
		"its provider failed and said what it cost": {scripted.Reply{Err: &model.Error{Kind: model.KindQuota, Message: "no more", Usage: used}}, used, api.StatusInterrupted, api.CodeQuotaExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, run, ran := begun(t, api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "Judge", Name: "j"}}, func(c *service.Config) {
					c.Providers = append(c.Providers, scripted.New(scripted.Config{Name: "Judge", Script: func(model.Request, int) scripted.Reply { return test.judge }}))
					c.Guardrails = []guard.Guardrail{{Name: "g", Points: []guard.Point{guard.ModelOutput}, Timeout: time.Hour, Check: func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
						if strings.Contains(u.Text, "verdict") {
							<-ctx.Done()
							return guard.Verdict{}, ctx.Err()
						}
						return guard.Allow(), nil
					}}}
				})
				defer ended(t, s)
				if test.status == api.StatusCancelled {
					synctest.Wait() // the reviewer is being asked
					if err := s.Cancel(t.Context(), run.Session, run.Run); err != nil {
						t.Fatal(err)
					}
				}
				r, err := s.Result(t.Context(), run.Session, run.Run)
				if err != nil || r.Status != test.status || r.AuxiliaryUsage != test.want || *ran != 0 {
					t.Errorf("%+v, %v, ran %d times; want %s with %+v", r, err, *ran, test.status, test.want)
				}
				page, err := s.Events(t.Context(), api.EventQuery{Session: run.Session})
				if err != nil {
					t.Fatal(err)
				}
				reviews := 0
				for _, e := range page.Events {
					if e.Type != api.EventReviewFinished {
						continue
					}
					var finished api.ReviewFinished
					if err := json.Unmarshal(e.Data, &finished); err != nil {
						t.Fatal(err)
					}
					if reviews++; finished.Usage != test.want || finished.Review.Code != test.code {
						t.Errorf("the review ended as %+v; want code %s", finished, test.code)
					}
				}
				if reviews != 1 {
					t.Errorf("%d reviews are told", reviews)
				}
			})
		})
	}
}
