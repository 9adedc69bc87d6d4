package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/store/sqlite"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/servicetest"
)

func TestTheServiceOnAStoreInMemory(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, servicetest.Host{
		New: func(*testing.T) servicetest.Store {
			st := memstore.New(memstore.Config{ID: "store-1"})
			return &processes{open: func(t *testing.T) *mortal { return &mortal{Store: st, kill: st.Kill} }}
		},
		Around: synctest.Test,
	})
}

func TestTheServiceOnSQLite(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, servicetest.Host{
		New: func(t *testing.T) servicetest.Store {
			dir := t.TempDir()
			return &processes{files: dir, open: func(t *testing.T) *mortal {
				st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = st.Close() })
				return &mortal{Store: st, kill: func(string) { _ = st.Close() }}
			}}
		},
	})
}

// processes opens services on one store.
type processes struct {
	open  func(t *testing.T) *mortal
	files string
}

// Files implements servicetest.Store.
func (p *processes) Files() string { return p.files }

// Open implements servicetest.Store.
func (p *processes) Open(t *testing.T, w servicetest.World) servicetest.Process {
	t.Helper()
	m := p.open(t)
	started := time.Now()
	cfg := service.Config{
		Store: m, ScratchDir: t.TempDir(), Lease: servicetest.Lease, Poll: servicetest.Poll, CancelGrace: servicetest.Grace, ToolParallel: servicetest.Parallel,
		Clock:     clock{started},
		Providers: []model.Provider{provider(w)}, Guardrails: guardrails(w), Hooks: hooks(w), Deny: deny(w),
		CheckRequest: func(r model.Request) {
			if err := model.Check(r); err != nil {
				t.Errorf("a request breaks the rules: %v", err)
			}
		},
	}
	if w.Credential != nil {
		cfg.Credentials = credential(w.Credential)
	}
	s, err := service.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	running := &process{Service: s, t: t, mortal: m}
	t.Cleanup(running.Stop)
	for _, tl := range w.Tools {
		if err := s.Bind(bind(tl)); err != nil {
			t.Fatal(err)
		}
	}
	return running
}

// clock is the test's own: under synctest the machine's boot clock would stand still.
type clock struct{ started time.Time }

func (c clock) Now() time.Time      { return time.Now() }
func (c clock) Boot() time.Duration { return time.Since(c.started) }

type process struct {
	*service.Service
	t      *testing.T
	mortal *mortal
	once   sync.Once
}

func (p *process) Stop() {
	p.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		if err := p.Close(ctx); err != nil && !p.mortal.dead.Load() {
			p.t.Error(err)
		}
		if took := time.Since(begun); took > 4*time.Second && !p.mortal.dead.Load() {
			p.t.Errorf("the service took %v to close", took)
		}
	})
}

func (p *process) Crash() { p.mortal.crash() }

// mortal is a process's connection to its store: after the crash nothing is written through it any more.
type mortal struct {
	store.Store
	kill func(id string)
	mu   sync.Mutex
	ids  []string
	dead atomic.Bool
}

func (m *mortal) crash() {
	m.dead.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.ids {
		m.kill(id)
	}
}

func (m *mortal) gone() error {
	if m.dead.Load() {
		return api.Errorf(api.CodeStoreUnavailable, "the process has crashed")
	}
	return nil
}

func (m *mortal) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	if err := m.gone(); err != nil {
		return store.Appended{}, err
	}
	return m.Store.Append(ctx, a)
}

func (m *mortal) Register(ctx context.Context, p store.Process) error {
	if err := m.gone(); err != nil {
		return err
	}
	m.mu.Lock()
	m.ids = append(m.ids, p.ID)
	m.mu.Unlock()
	return m.Store.Register(ctx, p)
}

func (m *mortal) Renew(ctx context.Context, id string, until time.Time) error {
	if err := m.gone(); err != nil {
		return err
	}
	return m.Store.Renew(ctx, id, until)
}

func (m *mortal) Unregister(ctx context.Context, id string) error {
	if err := m.gone(); err != nil {
		return err
	}
	return m.Store.Unregister(ctx, id)
}

func (m *mortal) Fence(ctx context.Context, self string, now time.Time, margin time.Duration) ([]string, error) {
	if err := m.gone(); err != nil {
		return nil, err
	}
	return m.Store.Fence(ctx, self, now, margin)
}

type credential func() bool

func (c credential) Credential(context.Context, string) (string, bool, error) {
	return "secret", c(), nil
}

// provider adapts a world's model.
func provider(w servicetest.World) model.Provider {
	facts := map[string]model.Facts{}
	for _, name := range []string{"m", "m2", "m3"} {
		if f, ok := w.Facts[name]; ok || w.ModelMax > 0 || w.Window > 0 {
			facts[name] = model.Facts{MaxOutputTokens: w.ModelMax, Window: w.Window, Refused: f.Refused,
				MaxImageBytes: f.MaxImageBytes, MaxPDFBytes: f.MaxPDFBytes, MaxFilesBytes: f.MaxFilesBytes,
				MaxImageSide: f.MaxImageSide, ManyImages: f.ManyImages, MaxImageSideMany: f.MaxImageSideMany}
		}
	}
	return scripted.New(scripted.Config{
		Name: servicetest.Provider, Facts: facts, Credential: w.Credential != nil, Forget: true,
		Script: func(req model.Request, _ int) scripted.Reply {
			if w.Model == nil {
				return scripted.Text("ok")
			}
			return reply(w.Model(prompt(req)))
		},
	})
}

func prompt(req model.Request) servicetest.Prompt {
	p := servicetest.Prompt{Model: req.Model, Instructions: req.Instructions, NoTools: req.NoTools, Max: req.MaxOutputTokens,
		Round: scripted.Round(req)}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, t.Name)
	}
	for _, it := range req.Items {
		item := servicetest.Item{Kind: string(it.Kind), Text: it.Text, CallID: it.CallID, Name: it.Name,
			Arguments: string(it.Arguments), Output: it.Output, Failed: it.Failed}
		var texts []string
		for _, part := range it.Parts {
			item.Parts = append(item.Parts, servicetest.Part{Text: part.Text, Name: part.Name, MediaType: part.MediaType, ID: part.ID, Size: part.Size, Data: part.Data})
			if part.Text != "" {
				texts = append(texts, part.Text)
			}
		}
		if it.Kind == model.UserItem && len(it.Parts) > 0 {
			p.User = strings.Join(texts, "\n\n")
		} else if it.Kind == model.UserItem {
			p.User = it.Text
		}
		p.Items = append(p.Items, item)
	}
	return p
}

func reply(a servicetest.Answer) scripted.Reply {
	r := scripted.Reply{Reasoning: a.Reasoning, Text: a.Text, Stop: model.StopReason(a.Stop), Usage: a.Usage, Panic: a.Panic}
	for _, c := range a.Calls {
		r.Calls = append(r.Calls, scripted.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if a.Wait != nil {
		r.Wait = func(ctx context.Context) error {
			a.Wait(ctx)
			return ctx.Err()
		}
	}
	if a.Fail != "" {
		r.Err = failure(a)
	}
	return r
}

// failure is a provider's error of a code.
func failure(a servicetest.Answer) error {
	for _, kind := range []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindUnreachable, model.KindCut, model.KindContext, model.KindTooLarge,
		model.KindQuota, model.KindAuth, model.KindNotFound, model.KindRefused} {
		if e := (&model.Error{Kind: kind, Message: "the provider's own words", RetryAfter: a.RetryAfter}); e.Code() == a.Fail {
			return e
		}
	}
	return fmt.Errorf("no provider error has code %s", a.Fail)
}

// body adapts a tool of the suite.
type body struct{ servicetest.Tool }

func bind(t servicetest.Tool) tool.Tool {
	if t.Inspect != nil {
		return inspector{body{t}}
	}
	return body{t}
}

func (b body) Declaration() api.ToolDeclaration { return b.ToolDeclaration }
func (b body) Timeout() time.Duration           { return b.Tool.Timeout }

func (b body) Run(ctx context.Context, c tool.Call) (string, error) {
	return b.Tool.Run(ctx, call(c))
}

func call(c tool.Call) servicetest.ToolCall {
	return servicetest.ToolCall{ID: c.ID, Attempt: c.Attempt, Arguments: string(json.RawMessage(c.Arguments)), Tool: c.Tool, Session: c.Session, Run: c.Run,
		Agent: c.Agent, Workspace: c.Workspace, Origin: c.Origin, Owner: c.Owner, Metadata: c.Metadata}
}

type inspector struct{ body }

func (i inspector) Inspect(ctx context.Context, c tool.Call) (tool.Inspection, error) {
	answer, output, err := i.Tool.Inspect(ctx, call(c))
	return tool.Inspection{Outcome: tool.Outcome(answer), Output: output}, err
}
