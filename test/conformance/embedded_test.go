package conformance_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/transport/rpc"
)

// embedded is the Go package in this process.
type embedded struct {
	app         *application
	harness     *openworker.Harness
	credentials *openworker.MemoryCredentials

	mu     sync.Mutex
	agents map[string]*openworker.Agent
}

func newEmbedded(app *application) face { return &embedded{app: app} }

func (e *embedded) open(ctx context.Context, h host) error {
	e.agents = map[string]*openworker.Agent{}
	e.credentials = openworker.NewMemoryCredentials(e.app.scenario.Credentials)
	options := openworker.Options{StateDir: h.state, ScratchDir: h.scratch, Credentials: e.credentials, CancelGrace: 100 * time.Millisecond}
	for _, p := range h.providers {
		provider, err := openaichat.New(openaichat.Config{Name: p.Name, BaseURL: p.BaseURL, KeyOptional: p.KeyOptional})
		if err != nil {
			return err
		}
		options.Providers = append(options.Providers, provider)
	}
	if rules := e.app.scenario.ActionCheck; rules != nil {
		options.Deny = func(ctx context.Context, a openworker.ToolAction) (openworker.Verdict, error) {
			v, err := e.app.judge(ctx, rules, string(a.Arguments))
			return v.guard(), err
		}
	}
	var err error
	e.harness, err = openworker.Open(ctx, options)
	return err
}

func (e *embedded) register(what registration) error {
	var guardrails []openworker.Guardrail
	for _, g := range what.guardrails {
		own := openworker.Guardrail{Name: g.Name, Timeout: time.Duration(g.TimeoutMs) * time.Millisecond}
		for _, p := range g.Points {
			own.Points = append(own.Points, openworker.GuardPoint(p))
		}
		own.Check = func(ctx context.Context, u openworker.Unit) (openworker.Verdict, error) {
			v, err := e.app.judge(ctx, g.Rules, u.Text)
			return v.guard(), err
		}
		guardrails = append(guardrails, own)
	}
	var hooks []openworker.Hook
	for _, h := range what.hooks {
		own := openworker.Hook{Name: h.Name, Timeout: time.Duration(h.TimeoutMs) * time.Millisecond}
		if h.BeforeModel != nil {
			own.BeforeModel = func(ctx context.Context, c openworker.ModelCall) error {
				v, err := e.app.judge(ctx, h.BeforeModel, texts(c.Request))
				if err == nil && v.action == "block" {
					err = openworker.Veto(v.reason)
				}
				return err
			}
		}
		if h.ToolResult != nil {
			own.ToolResult = func(ctx context.Context, r openworker.ToolOutput) (string, error) {
				return e.app.changed(ctx, h.Name, r.Output)
			}
		}
		hooks = append(hooks, own)
	}
	if err := e.harness.BindGuards(guardrails, hooks); err != nil {
		return err
	}
	for name, t := range what.tools {
		if err := e.harness.Bind(e.tool(name, t)); err != nil {
			return err
		}
	}
	return nil
}

func (v verdict) guard() openworker.Verdict {
	return openworker.Verdict{Action: guard.Action(v.action), Text: v.text, Reason: v.reason}
}

// texts are what a model is sent, as one text.
func texts(r model.Request) string {
	out := []string{r.Instructions}
	for _, i := range r.Items {
		out = append(out, i.Text, string(i.Arguments), i.Output)
		for _, p := range i.Parts {
			out = append(out, p.Text, string(p.Data))
		}
	}
	return strings.Join(out, "\n")
}

// embeddedTool is a scenario's tool; inspectedTool one that can be inspected.
type embeddedTool struct {
	app  *application
	name string
	tool
}

type inspectedTool struct{ *embeddedTool }

func (e *embedded) tool(name string, t tool) openworker.Tool {
	own := &embeddedTool{e.app, name, t}
	if t.Inspect != nil {
		return inspectedTool{own}
	}
	return own
}

func (t *embeddedTool) Declaration() api.ToolDeclaration {
	return api.ToolDeclaration{Name: t.name, Description: t.Description, InputSchema: t.schema(), Effect: t.Effect}
}

func (t *embeddedTool) Timeout() time.Duration { return time.Duration(t.TimeoutMs) * time.Millisecond }

func (t *embeddedTool) call(c openworker.ToolCall) call {
	return call{Tool: c.Tool, Arguments: c.Arguments, CallID: c.ID, Attempt: c.Attempt, Session: c.Session.Session, Run: c.Run, Agent: c.Agent.Name,
		Workspace: c.Workspace, Origin: c.Origin, Owner: c.Owner, Metadata: c.Metadata}
}

func (t *embeddedTool) Run(ctx context.Context, c openworker.ToolCall) (string, error) {
	return t.app.run(ctx, t.call(c))
}

func (t inspectedTool) Inspect(_ context.Context, c openworker.ToolCall) (openworker.Inspection, error) {
	found := t.app.inspect(t.call(c))
	return openworker.Inspection{Outcome: openworker.Outcome(found.Outcome), Output: found.Output}, nil
}

func (e *embedded) close(ctx context.Context) error { return e.harness.Close(ctx) }

// kill leaves the process as it is: what is in it is only told to stop.
func (e *embedded) kill() error { return e.harness.Close(context.Background()) }

func (e *embedded) end() error {
	if e.harness == nil {
		return nil
	}
	if err := e.harness.Close(context.Background()); !errors.Is(err, openworker.ErrClosed) {
		return err
	}
	return nil
}

// agent registers a definition, with the bodies of its tools.
func (e *embedded) agent(ctx context.Context, p rpc.RegisterAgent) (any, error) {
	d := p.Definition
	own := openworker.AgentDefinition{Name: d.Name, Instructions: d.Instructions, Approvals: d.Approvals, DefaultModel: d.DefaultModel, Limits: d.Limits, BuiltinTools: d.BuiltinTools,
		UnknownOutcome: d.UnknownOutcome, AutoSkipQuestions: d.AutoSkipQuestions, AutoApproverContext: d.AutoApproverContext, Compaction: d.Compaction, Guardrails: d.Guardrails, Hooks: d.Hooks,
		Memory: d.Memory, Planning: d.Planning, Scheduling: d.Scheduling, Delegation: d.Delegation, Team: d.Team, WorkspaceTools: d.WorkspaceTools, Sandbox: d.Sandbox}
	for _, t := range d.Tools {
		own.Tools = append(own.Tools, e.tool(t.Name, e.app.scenario.Tools[t.Name]))
	}
	a, err := e.harness.Agent(ctx, own)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.agents[d.Name] = a
	e.mu.Unlock()
	return a.Reference(), nil
}

// named finds an agent that was registered in this process, or is in the store.
func (e *embedded) named(ctx context.Context, name string) (*openworker.Agent, error) {
	e.mu.Lock()
	a := e.agents[name]
	e.mu.Unlock()
	if a != nil {
		return a, nil
	}
	return e.harness.StoredAgent(ctx, name)
}

// call does what a method of the protocol does, with the package's own functions.
func (e *embedded) call(ctx context.Context, method string, with any) (any, error) {
	none := struct{}{}
	switch method {
	case rpc.MethodCapabilities:
		return e.harness.Service().Capabilities(ctx)
	case rpc.MethodSetCredential:
		return given(with, func(p rpc.SetCredential) (any, error) { e.credentials.Set(p.Provider, p.Secret); return none, nil })
	case rpc.MethodRegisterAgent:
		return given(with, func(p rpc.RegisterAgent) (any, error) { return e.agent(ctx, p) })
	case rpc.MethodAgents:
		return given(with, func(q api.AgentQuery) (any, error) { return e.harness.Service().Agents(ctx, q) })
	case rpc.MethodCreateSession:
		return given(with, func(p rpc.CreateSession) (any, error) {
			a, err := e.named(ctx, p.Agent.Name)
			if err != nil {
				return nil, err
			}
			s, err := a.NewSession(ctx, p.Options)
			if err != nil {
				return nil, err
			}
			return s.Reference(), nil
		})
	case rpc.MethodResumeSession:
		return given(with, func(p rpc.ResumeSession) (any, error) {
			a, err := e.named(ctx, p.Agent)
			if err != nil {
				return nil, err
			}
			_, err = a.ResumeSession(ctx, p.Reference)
			return none, err
		})
	case rpc.MethodSessions:
		return given(with, func(q api.SessionQuery) (any, error) {
			sessions, err := collect(e.harness.Sessions(ctx, q))
			return api.SessionPage{Sessions: sessions}, err
		})
	case rpc.MethodInteractions:
		return given(with, func(q api.InteractionQuery) (any, error) {
			open, err := collect(e.harness.Interactions(ctx, q))
			return api.InteractionPage{Interactions: open}, err
		})
	case rpc.MethodUsage:
		return given(with, func(q api.UsageQuery) (any, error) {
			rows, err := e.harness.Service().Usage(ctx, q)
			return rpc.UsageRows{Rows: rows}, err
		})
	}
	return e.sessionCall(ctx, method, with)
}

// sessionCall does what a method about one session does.
func (e *embedded) sessionCall(ctx context.Context, method string, with any) (any, error) {
	named, _ := with.(map[string]any)
	id, _ := named["session"].(string)
	s, err := e.harness.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	none := struct{}{}
	switch method {
	case rpc.MethodState:
		return s.State(ctx)
	case rpc.MethodDeleteSession:
		return none, s.Delete(ctx)
	case doCompact:
		return given(with, func(p rpc.Compact) (any, error) { return s.Compact(ctx, p.Options) })
	case rpc.MethodSubmit:
		return given(with, func(p message) (any, error) { return p.send(ctx, s) })
	case rpc.MethodRun:
		return given(with, func(p rpc.RunID) (any, error) {
			r, err := s.OpenRun(ctx, p.Run)
			if err != nil {
				return nil, err
			}
			return r.Reference(), nil
		})
	case rpc.MethodCancel:
		return given(with, func(p rpc.RunID) (any, error) {
			if p.Run == "" {
				return none, s.Cancel(ctx)
			}
			r, err := s.OpenRun(ctx, p.Run)
			if err != nil {
				return nil, err
			}
			return none, r.Cancel(ctx)
		})
	case rpc.MethodResult:
		return given(with, func(p rpc.RunID) (any, error) {
			r, err := s.OpenRun(ctx, p.Run)
			if err != nil {
				return nil, err
			}
			return r.Result(ctx)
		})
	case rpc.MethodResolve:
		return given(with, func(p rpc.Resolve) (any, error) { return none, s.Resolve(ctx, p.Interaction, p.Answer) })
	case rpc.MethodRevokeGrant:
		return given(with, func(p rpc.RevokeGrant) (any, error) { return none, s.RevokeGrant(ctx, p.Tool, p.By) })
	case rpc.MethodHistory:
		return given(with, func(q api.HistoryQuery) (any, error) { return s.HistoryPage(ctx, q.Cursor, q.Limit) })
	case rpc.MethodEvents:
		return given(with, func(q api.EventQuery) (any, error) { return e.harness.Service().Events(ctx, q) })
	case rpc.MethodBeginUpload:
		return given(with, func(p rpc.BeginUpload) (any, error) { return e.harness.Service().BeginUpload(ctx, p.Session, p.File) })
	case rpc.MethodUploadChunk:
		return given(with, func(p rpc.Chunk) (any, error) {
			return none, e.harness.Service().UploadChunk(ctx, p.Session, p.Upload, p.Chunk)
		})
	case rpc.MethodCommitUpload:
		return given(with, func(p rpc.UploadID) (any, error) { return e.harness.Service().CommitUpload(ctx, p.Session, p.Upload) })
	case doUpload:
		return given(with, func(p upload) (any, error) {
			data, err := base64.StdEncoding.DecodeString(p.Data)
			if err != nil {
				return nil, err
			}
			return s.Upload(ctx, &openworker.Attachment{Name: p.Name, MediaType: p.MediaType, Data: data})
		})
	}
	return nil, fmt.Errorf("there is no step %q", method)
}

// follow reads events until the stream ends or until says so.
func (e *embedded) follow(ctx context.Context, q api.FollowQuery, until func(api.Event) bool) error {
	s, err := e.harness.Session(ctx, q.Session)
	if err != nil {
		return err
	}
	events := s.Events(ctx, q.After)
	if q.Run != "" {
		r, err := s.OpenRun(ctx, q.Run)
		if err != nil {
			return err
		}
		events = r.Events(ctx)
	}
	for event, err := range events {
		if err != nil {
			return err
		}
		if until(event) {
			return nil
		}
	}
	return nil
}

// send is a message by way of Session.Send: a text, files and blocks behind it.
func (m message) send(ctx context.Context, s *openworker.Session) (any, error) {
	parts := []openworker.Part{m.Options}
	for _, block := range m.Content {
		parts = append(parts, block)
	}
	for _, file := range m.Attach {
		data, err := base64.StdEncoding.DecodeString(file.Data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, &openworker.Attachment{Name: file.Name, MediaType: file.MediaType, Data: data})
	}
	run, err := s.Send(ctx, m.Text, parts...)
	if err != nil {
		return nil, err
	}
	return run.Reference(), nil
}

// given gives a function its arguments, strictly decoded.
func given[P any](with any, do func(P) (any, error)) (any, error) {
	p, err := into[P](with)
	if err != nil {
		return nil, api.Errorf(api.CodeUnsupportedOption, "the step's arguments: %w", err)
	}
	return do(p)
}

func collect[T any](list func(func(T, error) bool)) ([]T, error) {
	out := []T{}
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return slices.Clip(out), nil
}
