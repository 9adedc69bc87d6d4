package service_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
)

// acts calls act once a turn, then says what came of it.
func acts() *scripted.Provider {
	return scripted.New(scripted.Config{Script: func(req model.Request, _ int) scripted.Reply {
		last := req.Items[len(req.Items)-1]
		if last.Kind == model.UserItem {
			return scripted.Reply{Calls: []scripted.ToolCall{{Name: "act", Arguments: "{}"}}}
		}
		return scripted.Reply{Text: last.Output}
	}})
}

func act(description string, run func(ctx context.Context, call tool.Call) (string, error)) tool.Tool {
	return tool.Must(tool.New("act", description, func(ctx context.Context, call tool.Call, _ struct{}) (string, error) { return run(ctx, call) }))
}

func says(text string) func(context.Context, tool.Call) (string, error) {
	return func(context.Context, tool.Call) (string, error) { return text, nil }
}

// AG4, AG6: an agent keeps the tools that it was registered with, whatever others of their names come later.
func TestTwoAgentsHaveToolsOfOneNameAndTwoDeclarations(t *testing.T) {
	t.Parallel()
	h := open(t, memstore.New(memstore.Config{}), acts(), never(), act("The first.", says("one")))
	second := act("The second.", says("two"))
	if err := h.Bind(second); err != nil {
		t.Fatal(err)
	}
	other, err := h.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "second", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"},
		Approvals: never(), Tools: []api.ToolDeclaration{second.Declaration()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		agent api.AgentReference
		text  string
	}{{h.agent, "one"}, {other, "two"}, {h.agent, "one"}} {
		ref, err := h.CreateSession(t.Context(), want.agent, api.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r := h.result(h.send(ref.Session, "go", api.TurnOptions{})); r.Text != want.text {
			t.Errorf("%s: %s %q, waits for %v", want.agent.Name, r.Status, r.Text, r.WaitingFor)
		}
	}
}

// AG7: what a body is told is its own.
func TestWhatABodyDoesToItsMetadataIsItsOwn(t *testing.T) {
	t.Parallel()
	h := open(t, memstore.New(memstore.Config{}), acts(), never(), act("Acts.", func(_ context.Context, call tool.Call) (string, error) {
		role := call.Metadata["role"]
		call.Metadata["role"] = "admin"
		return role, nil
	}))
	ref, err := h.CreateSession(t.Context(), h.agent, api.SessionOptions{Metadata: map[string]string{"role": "user"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := h.result(h.send(ref.Session, "go", api.TurnOptions{})); r.Text != "user" {
			t.Errorf("the body was told %q", r.Text)
		}
	}
}

type untimed struct{ tool.Tool }

func (untimed) Timeout() time.Duration { panic("no bound") }

func TestAToolWhoseBoundPanicsHasTheDefault(t *testing.T) {
	t.Parallel()
	h := open(t, memstore.New(memstore.Config{}), acts(), never(), untimed{act("Acts.", says("ok"))})
	if r := h.result(h.send(h.session(), "go", api.TurnOptions{})); r.Text != "ok" {
		t.Errorf("%s %q", r.Status, r.Text)
	}
}

// moody is a provider whose methods do what a test says.
type moody struct {
	*scripted.Provider
	facts  func()
	stream func(ctx context.Context)
	fail   func() error
}

func (m *moody) Facts(name string) (model.Facts, bool) {
	if m.facts != nil {
		m.facts()
	}
	return m.Provider.Facts(name)
}

func (m *moody) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	if m.stream != nil {
		m.stream(ctx)
	}
	if m.fail != nil {
		return model.Response{}, m.fail()
	}
	return m.Provider.Stream(ctx, req, emit)
}

// RU10
func TestAProviderFailsItsCallsAndNotTheProcess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		moody  moody
		status api.RunStatus
	}{
		{"whose facts panic is one of unknown models", moody{facts: func() { panic("facts") }}, api.StatusCompleted},
		{"that panics", moody{stream: func(context.Context) { panic("stream") }}, api.StatusFailed},
		{"that returns a nil pointer as its error", moody{fail: func() error { return (*model.Error)(nil) }}, api.StatusFailed},
		{"that ends its goroutine", moody{stream: func(context.Context) { runtime.Goexit() }}, api.StatusFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.moody.Provider = scripted.New(scripted.Config{})
			h := open(t, memstore.New(memstore.Config{}), &test.moody, never())
			id := h.session()
			if r := h.result(h.send(id, "go", api.TurnOptions{})); r.Status != test.status || r.Status == api.StatusFailed && r.Error.Code != api.CodeProviderError {
				t.Fatalf("the run is %s, %+v", r.Status, r.Error)
			}
			test.moody.stream, test.moody.fail = nil, nil
			if r := h.result(h.send(id, "again", api.TurnOptions{})); r.Status != api.StatusCompleted {
				t.Fatalf("the next one is %s, %+v", r.Status, r.Error)
			}
		})
	}
}

// What ignores that it was told to stop is left behind after its grace, though Close's context never ends.
func TestCloseDoesNotWaitForEverForWhatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	for name, stuck := range map[string]struct {
		provider func(never <-chan struct{}) model.Provider
		cancel   bool
	}{
		"a provider": {provider: func(never <-chan struct{}) model.Provider {
			return &moody{Provider: acts(), stream: func(context.Context) { <-never }}
		}},
		"a tool":                     {provider: func(<-chan struct{}) model.Provider { return acts() }},
		"a tool of a cancelled turn": {provider: func(<-chan struct{}) model.Provider { return acts() }, cancel: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				released := make(chan struct{})
				s, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(),
					Providers: []model.Provider{stuck.provider(released)}, CancelGrace: time.Second, Clock: suitehost.Clock()})
				if err != nil {
					t.Fatal(err)
				}
				body := act("Acts.", func(context.Context, tool.Call) (string, error) { <-released; return "", nil })
				if err := s.Bind(body); err != nil {
					t.Fatal(err)
				}
				ref, err := s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"},
					Approvals: never(), Tools: []api.ToolDeclaration{body.Declaration()}})
				if err != nil {
					t.Fatal(err)
				}
				session, err := s.CreateSession(t.Context(), ref, api.SessionOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Submit(t.Context(), api.Submission{Session: session.Session, Text: "go"}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if stuck.cancel {
					if err := s.Cancel(t.Context(), session.Session, ""); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				began := time.Now()
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("it took %v", took)
				}
				close(released)
			})
		})
	}
}

type secrets func(ctx context.Context) (string, bool, error)

func (f secrets) Credential(ctx context.Context, _ string) (string, bool, error) { return f(ctx) }

// RE5, RU10: the program's callback may do what it likes; the session waits, others go on, and so does this one
// once there is a secret.
func TestWhateverTheCredentialsCallbackDoesOnlyMakesTheTurnWait(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]secrets{
		"it panics":             func(context.Context) (string, bool, error) { panic("vault") },
		"it ends its goroutine": func(context.Context) (string, bool, error) { runtime.Goexit(); return "", false, nil },
		"it fails":              func(context.Context) (string, bool, error) { return "", false, fmt.Errorf("sealed") },
		"it hangs until it is told to stop": func(ctx context.Context) (string, bool, error) {
			<-ctx.Done()
			return "", false, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var good atomic.Bool
				s, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Clock: suitehost.Clock(),
					Providers: []model.Provider{scripted.New(scripted.Config{Credential: true})},
					Credentials: secrets(func(ctx context.Context) (string, bool, error) {
						if good.Load() {
							return "secret", true, nil
						}
						return bad(ctx)
					})})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close(context.Background())
				run := sent(t, s)
				began := time.Now()
				r, err := s.Result(t.Context(), run.Session, run.Run)
				if err != nil || r.Status != api.StatusInterrupted || len(r.WaitingFor) != 1 || r.WaitingFor[0].Code != api.CodeCredentialsMissing {
					t.Fatalf("the run is %+v, %v", r, err)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("to know it took %v", took)
				}
				good.Store(true)
				time.Sleep(15 * time.Second)
				if r, err = s.Result(t.Context(), run.Session, run.Run); err != nil || r.Status != api.StatusCompleted {
					t.Fatalf("then the run is %+v, %v", r, err)
				}
				page, err := s.Events(t.Context(), api.EventQuery{Session: run.Session})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Events {
					if e.Type == api.EventModelCallFailed || strings.Contains(string(e.Data), "secret") {
						t.Errorf("the journal has %s %s", e.Type, e.Data)
					}
				}
			})
		})
	}
}

// A thousand sessions that wait for one credential are one question to the program, not a thousand.
func TestSessionsThatWaitForACredentialAskForItTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		s, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Clock: suitehost.Clock(),
			Providers:   []model.Provider{scripted.New(scripted.Config{Credential: true})},
			Credentials: secrets(func(context.Context) (string, bool, error) { asked.Add(1); return "", false, nil })})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(context.Background())
		ref, err := s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			session, err := s.CreateSession(t.Context(), ref, api.SessionOptions{})
			if err == nil {
				_, err = s.Submit(t.Context(), api.Submission{Session: session.Session, Text: "go"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		asked.Store(0)
		time.Sleep(10 * time.Second)
		if n := asked.Load(); n < 5 || n > 60 {
			t.Errorf("in 10 s it was asked for %d times", n)
		}
	})
}
