package stdio

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// remoteTool is a tool whose body is in the client.
type remoteTool struct {
	conn *conn
	rpc.Tool
}

func (t *remoteTool) Declaration() api.ToolDeclaration { return t.ToolDeclaration }

func (t *remoteTool) Timeout() time.Duration { return time.Duration(t.TimeoutMs) * time.Millisecond }

// startAgain is how long to wait before a body is begun anew that could not begin in time.
const startAgain = 20 * time.Millisecond

// Run has the client run the body. A body that could not begin in time did nothing: it is begun again, as long as the session
// is this process's.
func (t *remoteTool) Run(ctx context.Context, call tool.Call) (string, error) {
	if err := t.conn.unfit(call.Arguments); err != nil {
		return "", &bodyError{text: err.Message, code: err.Code}
	}
	for {
		params := t.call(call)
		if call.StartBefore != nil {
			params.StartBefore = call.StartBefore().UTC()
		}
		var out reply[rpc.ToolOutput]
		err := t.conn.ask(ctx, rpc.MethodRunTool, params.Callback.Callback, params, &out, true)
		var e *jrpc2.Error
		switch {
		case err == nil:
			return out.value.Output, nil
		case errors.Is(err, errNotSent):
			return "", fmt.Errorf("%w: %w", tool.ErrNotStarted, err)
		case errors.Is(err, errGone), errors.Is(err, errUnread):
			return "", fmt.Errorf("%w: %w", tool.ErrUnknownOutcome, err)
		case !errors.As(err, &e):
			return "", err
		case e.Code != rpc.TooLate:
			return "", &bodyError{text: e.Message, code: rpc.FromError(e).Code}
		}
		if err := wait(ctx, startAgain); err != nil {
			return "", fmt.Errorf("%w: the client did not come to begin it: %w", tool.ErrNotStarted, err)
		}
	}
}

// bodyError is a body's error as the model is told it: its text alone, as that of a body in this process.
type bodyError struct {
	text string
	code api.Code
}

func (e *bodyError) Error() string { return e.text }

// Unwrap tells the code, which says what kind of failure it was.
func (e *bodyError) Unwrap() error { return &api.Error{Code: e.code} }

func (t *remoteTool) call(call tool.Call) rpc.ToolCall {
	return rpc.ToolCall{
		CallContext: rpc.CallContext{Callback: rpc.Callback{Callback: t.conn.next("t")}, Session: call.Session, Run: call.Run, CallID: call.ID, Agent: call.Agent, Workspace: call.Workspace,
			Origin: call.Origin, Owner: call.Owner, Metadata: call.Metadata},
		Attempt: call.Attempt, Epoch: call.Epoch, Tool: call.Tool, Handle: t.Handle, Effect: t.Effect, Arguments: call.Arguments,
	}
}

// inspectedTool is a type of its own, so that a tool without an inspection does not look like an Inspector.
type inspectedTool struct{ *remoteTool }

// Inspect asks the client what became of an attempt. Of one with arguments that it would read as others it can say nothing.
func (t *inspectedTool) Inspect(ctx context.Context, call tool.Call) (tool.Inspection, error) {
	if t.conn.unfit(call.Arguments) != nil {
		return tool.Inspection{Outcome: tool.Unknown}, nil
	}
	params := t.call(call)
	var out reply[rpc.Inspection]
	if err := t.conn.ask(ctx, rpc.MethodInspectTool, params.Callback.Callback, params, &out, false); err != nil {
		return tool.Inspection{}, told(err)
	}
	found := tool.Inspection{Outcome: tool.Outcome(out.value.Outcome), Output: out.value.Output}
	switch found.Outcome {
	case tool.Succeeded, tool.Failed, tool.NotStarted, tool.StillRunning, tool.Unknown:
		return found, nil
	}
	return tool.Inspection{}, badAnswer(rpc.MethodInspectTool, fmt.Errorf("its outcome is none of %q, %q, %q, %q and %q", tool.Succeeded, tool.Failed, tool.NotStarted, tool.StillRunning, tool.Unknown))
}

// registerTools binds tools of the client's.
func (c *conn) registerTools(_ context.Context, h Host, p rpc.RegisterTools) error {
	tools := make([]tool.Tool, len(p.Tools))
	for i, t := range p.Tools {
		switch t.Effect {
		case "", api.SideEffect, api.Idempotent, api.ReadOnly:
		default:
			return api.Errorf(api.CodeInvalidTool, "tool %.200q: effect %.80q is not one of %q, %q and %q", t.Name, t.Effect, api.SideEffect, api.Idempotent, api.ReadOnly)
		}
		if _, err := tool.Compile(t.InputSchema); err != nil {
			return api.Errorf(api.CodeInvalidTool, "tool %.200q: %s", t.Name, api.AsError(err).Message)
		}
		if err := checkTimeout(t.TimeoutMs); err != nil {
			return api.Errorf(api.CodeInvalidTool, "tool %.200q: %w", t.Name, err)
		}
		remote := &remoteTool{conn: c, Tool: t}
		tools[i] = remote
		if t.Inspect {
			tools[i] = &inspectedTool{remote}
		}
	}
	return h.Bind(tools...)
}

// maxTimeoutMs bounds times that a client may set: a year.
const maxTimeoutMs = 365 * 24 * 3_600_000

func checkTimeout(ms int64) error {
	if ms < 0 || ms > maxTimeoutMs {
		return api.Errorf(api.CodeInvalidRequest, "timeoutMs is %d; it is from 0, the default, to %d", ms, int64(maxTimeoutMs))
	}
	return nil
}

// context is what a guard is told, over the wire.
func (c *conn) context(g guard.Context) rpc.CallContext {
	return rpc.CallContext{Callback: rpc.Callback{Callback: c.next("g")}, Session: g.Session, Run: g.Run, CallID: g.CallID, Agent: g.Agent, Workspace: g.Workspace, Origin: g.Origin, Owner: g.Owner, Metadata: g.Metadata}
}

func verdict(v rpc.Verdict) guard.Verdict {
	return guard.Verdict{Action: guard.Action(v.Action), Text: v.Text, Reason: v.Reason}
}

// registerGuardrail binds a guardrail of the client's.
func (c *conn) registerGuardrail(_ context.Context, h Host, p rpc.RegisterGuardrail) error {
	if err := checkTimeout(p.TimeoutMs); err != nil {
		return err
	}
	g := guard.Guardrail{Name: p.Name, Timeout: time.Duration(p.TimeoutMs) * time.Millisecond}
	for _, point := range p.Points {
		g.Points = append(g.Points, guard.Point(point))
	}
	g.Check = func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
		params := rpc.Unit{CallContext: c.context(u.Context), Guardrail: p.Name, Point: string(u.Point), Text: u.Text, Tool: u.Tool, File: u.File}
		var out reply[rpc.Verdict]
		err := c.ask(ctx, rpc.MethodCheckText, params.Callback.Callback, params, &out, false)
		return verdict(out.value), told(err)
	}
	return h.BindGuards([]guard.Guardrail{g}, nil)
}

// registerHook binds a hook of the client's.
func (c *conn) registerHook(_ context.Context, h Host, p rpc.RegisterHook) error {
	if err := checkTimeout(p.TimeoutMs); err != nil {
		return err
	}
	hook := guard.Hook{Name: p.Name, Timeout: time.Duration(p.TimeoutMs) * time.Millisecond}
	if p.BeforeModel {
		hook.BeforeModel = func(ctx context.Context, call guard.ModelCall) error {
			params := rpc.ModelCall{CallContext: c.context(call.Context), Hook: p.Name, Purpose: string(call.Purpose), Provider: call.Provider, Request: request(call.Request)}
			var out reply[rpc.Veto]
			if err := c.ask(ctx, rpc.MethodBeforeModel, params.Callback.Callback, params, &out, false); err != nil {
				return told(err)
			}
			if out.value.Veto {
				return guard.Veto(out.value.Reason)
			}
			return nil
		}
	}
	if p.ToolResult {
		hook.ToolResult = func(ctx context.Context, r guard.ToolOutput) (string, error) {
			params := rpc.ToolResult{CallContext: c.context(r.Context), Hook: p.Name, Tool: r.Tool, Arguments: r.Arguments, Output: r.Output, Code: r.Code}
			var out reply[rpc.ToolOutput]
			err := c.ask(ctx, rpc.MethodToolResult, params.Callback.Callback, params, &out, false)
			return out.value.Output, told(err)
		}
	}
	return h.BindGuards(nil, []guard.Hook{hook})
}

// deny is the client's hard check.
func (c *conn) deny(ctx context.Context, a guard.ToolAction) (guard.Verdict, error) {
	if err := c.unfit(a.Arguments); err != nil {
		return guard.Verdict{}, &guard.ArgumentsError{Message: err.Message}
	}
	params := rpc.Action{CallContext: c.context(a.Context), Tool: a.Tool, Effect: a.Effect, Arguments: a.Arguments, Changed: a.Changed}
	var out reply[rpc.Verdict]
	err := c.ask(ctx, rpc.MethodCheckAction, params.Callback.Callback, params, &out, false)
	return verdict(out.value), told(err)
}
