package stdio

import (
	"context"
	"maps"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// ask makes a handler of a method of the host.
func ask[P, R any](c *conn, f func(ctx context.Context, h Host, params P) (R, error)) jrpc2.Handler {
	return method(func(ctx context.Context, params P) (R, error) {
		host, err := c.opened(ctx)
		if err != nil {
			var none R
			return none, err
		}
		return f(ctx, host, params)
	})
}

// tell makes a handler of a method of the host that answers nothing.
func tell[P any](c *conn, f func(ctx context.Context, h Host, params P) error) jrpc2.Handler {
	return ask(c, func(ctx context.Context, h Host, params P) (rpc.Empty, error) { return rpc.Empty{}, f(ctx, h, params) })
}

// handlers are the methods that a client may call.
func (c *conn) handlers() map[string]jrpc2.Handler {
	return map[string]jrpc2.Handler{
		rpc.MethodInitialize: method(c.initialize),
		rpc.MethodShutdown: method(func(ctx context.Context, _ rpc.Empty) (rpc.Empty, error) {
			return rpc.Empty{}, c.closeHost(ctx, time.Now().Add(c.cfg.Grace))
		}),
		rpc.MethodCancelRequest: method(c.cancelRequest),
		rpc.MethodCapabilities:  ask(c, func(ctx context.Context, h Host, _ rpc.Empty) (api.Capabilities, error) { return h.Capabilities(ctx) }),

		rpc.MethodSetCredential:     tell(c, c.setCredential),
		rpc.MethodRegisterTools:     tell(c, c.registerTools),
		rpc.MethodRegisterGuardrail: tell(c, c.registerGuardrail),
		rpc.MethodRegisterHook:      tell(c, c.registerHook),
		rpc.MethodRegisterAgent: ask(c, func(ctx context.Context, h Host, p rpc.RegisterAgent) (api.AgentReference, error) {
			return h.RegisterAgent(ctx, p.Owner, p.Definition)
		}),
		rpc.MethodAgents: list(c, Host.Agents),

		rpc.MethodCreateSession: ask(c, func(ctx context.Context, h Host, p rpc.CreateSession) (api.SessionReference, error) {
			return h.CreateSession(ctx, p.Agent, p.Options)
		}),
		rpc.MethodResumeSession: tell(c, func(ctx context.Context, h Host, p rpc.ResumeSession) error {
			return h.ResumeSession(ctx, p.Reference, p.Agent)
		}),
		rpc.MethodSessions: list(c, Host.Sessions),
		rpc.MethodState:    ask(c, c.state),
		rpc.MethodDeleteSession: tell(c, func(ctx context.Context, h Host, p rpc.DeleteSession) error {
			return h.DeleteSession(ctx, p.Session, p.Options)
		}),
		rpc.MethodCompact: ask(c, func(ctx context.Context, h Host, p rpc.Compact) (api.RunReference, error) {
			return h.Compact(ctx, p.Session, p.Options)
		}),

		rpc.MethodSubmit: ask(c, func(ctx context.Context, h Host, sub api.Submission) (api.RunReference, error) {
			return h.Submit(ctx, sub)
		}),
		rpc.MethodRunTurn: ask(c, c.runTurn),
		rpc.MethodRun: ask(c, func(ctx context.Context, h Host, p rpc.RunID) (api.RunReference, error) {
			return h.Run(ctx, p.Session, p.Run)
		}),
		rpc.MethodCancel: tell(c, func(ctx context.Context, h Host, p rpc.RunID) error { return h.Cancel(ctx, p.Session, p.Run) }),
		rpc.MethodResult: ask(c, c.result),
		rpc.MethodResolve: tell(c, func(ctx context.Context, h Host, p rpc.Resolve) error {
			return h.Resolve(ctx, p.Session, p.Interaction, p.Answer)
		}),
		rpc.MethodInteractions: list(c, Host.Interactions),
		rpc.MethodRevokeGrant: tell(c, func(ctx context.Context, h Host, p rpc.RevokeGrant) error {
			return h.RevokeGrant(ctx, p.Session, p.Tool, p.By)
		}),

		rpc.MethodBeginUpload: ask(c, func(ctx context.Context, h Host, p rpc.BeginUpload) (api.Upload, error) {
			return h.BeginUpload(ctx, p.Session, p.File)
		}),
		rpc.MethodUploadChunk: tell(c, func(ctx context.Context, h Host, p rpc.Chunk) error {
			return h.UploadChunk(ctx, p.Session, p.Upload, p.Chunk)
		}),
		rpc.MethodCommitUpload: ask(c, func(ctx context.Context, h Host, p rpc.UploadID) (api.Upload, error) {
			return h.CommitUpload(ctx, p.Session, p.Upload)
		}),

		rpc.MethodEvents:      list(c, Host.Events),
		rpc.MethodSubscribe:   ask(c, c.subscribe),
		rpc.MethodNext:        ask(c, c.nextEvents),
		rpc.MethodUnsubscribe: tell(c, c.unsubscribe),
		rpc.MethodHistory:     list(c, Host.History),
		rpc.MethodUsage: list(c, func(h Host, ctx context.Context, q api.UsageQuery) (rpc.UsageRows, error) {
			rows, err := h.Usage(ctx, q)
			return rpc.UsageRows{Rows: append([]api.UsageRow{}, rows...)}, err
		}),
	}
}

// runTurn submits a message and waits for the result of its run. An error behind the acceptance names the run.
func (c *conn) runTurn(ctx context.Context, h Host, sub api.Submission) (rpc.TurnResult, error) {
	run, err := h.Submit(ctx, sub)
	if err != nil {
		return rpc.TurnResult{}, err
	}
	result, err := c.result(ctx, h, rpc.RunID{Session: run.Session, Run: run.Run})
	if err != nil {
		told := *api.AsError(err) // the error may be one for all
		told.Details = maps.Clone(told.Details)
		return rpc.TurnResult{}, told.With("run", run.Run)
	}
	return rpc.TurnResult{Run: run, Result: result}, nil
}

// cancelRequest gives up a request of the client's. The server is not told: it would take the ID for free again, and refuse to
// begin what it has not begun yet.
func (c *conn) cancelRequest(_ context.Context, p rpc.CancelRequest) (rpc.Empty, error) {
	c.mu.Lock()
	cancel := c.cancels[string(p.ID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return rpc.Empty{}, nil
}
