package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// callbacks are what the runtime may ask this client.
func (c *Client) callbacks() map[string]callback {
	return map[string]callback{
		rpc.MethodRunTool:     answers(api.CodeToolFailed, c.runTool),
		rpc.MethodInspectTool: answers(api.CodeToolFailed, c.inspectTool),
		rpc.MethodCheckText:   answers(api.CodeGuardrailFailed, c.checkText),
		rpc.MethodBeforeModel: answers(api.CodeHookFailed, c.beforeModel),
		rpc.MethodToolResult:  answers(api.CodeHookFailed, c.toolResult),
		rpc.MethodCheckAction: answers(api.CodeCheckFailed, c.checkAction),
		rpc.MethodCredential:  answers(api.CodeCredentialsMissing, c.credential),
	}
}

// errTooLate: the body's time to begin has passed.
var errTooLate = errors.New("the body's time to begin has passed, and it did not begin")

// answers makes a callback of a function of the program's. Errors have the code, their text alone, and nothing of the
// value of a panic.
func answers[P, R any](code api.Code, f func(ctx context.Context, params P) (R, error)) callback {
	return func(ctx context.Context, raw json.RawMessage) (result any, wire *jrpc2.Error) {
		defer func() {
			if x := recover(); x != nil { // its value may hold what the code was shown
				result, wire = nil, rpc.ToError(api.Errorf(code, "it panicked with a value of type %T", x))
			}
		}()
		var params P
		if err := json.Unmarshal(raw, &params); err != nil {
			return nil, rpc.ToError(api.Errorf(api.CodeInternal, "what the runtime asks cannot be read: %w", err))
		}
		out, err := f(ctx, params)
		switch {
		case err == nil:
			return out, nil
		case errors.Is(err, errTooLate):
			return nil, &jrpc2.Error{Code: rpc.TooLate, Message: err.Error()}
		}
		told := api.Errorf(code, "%s", strings.ToValidUTF8(err.Error(), "\ufffd"))
		if of := api.CodeOf(err); of == api.CodeArgumentsInvalid || of == api.CodeToolPanicked || of == api.CodeRegistrationMissing {
			told.Code = of
		}
		return nil, rpc.ToError(told)
	}
}

// runTool runs a body. One whose time to begin has passed does not begin: the session may be another process's by now.
func (c *Client) runTool(ctx context.Context, p rpc.ToolCall) (rpc.ToolOutput, error) {
	t, err := c.toolOf(p)
	if err != nil {
		return rpc.ToolOutput{}, err
	}
	if !p.StartBefore.IsZero() && !time.Now().Before(p.StartBefore) {
		return rpc.ToolOutput{}, errTooLate
	}
	text, err := protect(func() (string, error) { return t.Run(ctx, call(p)) })
	return rpc.ToolOutput{Output: strings.ToValidUTF8(text, "\ufffd")}, err
}

// protect turns a panic of a body's into an error, which the model is told, and the end of its goroutine.
func protect(body func() (string, error)) (out string, err error) {
	done := make(chan struct{})
	err = &panicked{"it ended its goroutine"} // runtime.Goexit lets nothing run but what is deferred
	go func() {
		defer close(done)
		defer func() {
			if x := recover(); x != nil {
				err = &panicked{x}
			}
		}()
		text, failed := body()
		out, err = text, sound(failed)
	}()
	<-done
	return out, err
}

// panicked is a tool's panic.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("the tool panicked: %v", p.value) }
func (p *panicked) Unwrap() error { return &api.Error{Code: api.CodeToolPanicked} }

// sound is an error that can be looked at: the methods of one that is a nil pointer by mistake panic.
func sound(err error) (out error) {
	defer func() {
		if x := recover(); x != nil {
			out = fmt.Errorf("an error of type %T, whose text cannot be had: %v", err, x)
		}
	}()
	if err != nil {
		_ = err.Error()
	}
	return err
}

func (c *Client) inspectTool(ctx context.Context, p rpc.ToolCall) (rpc.Inspection, error) {
	t, err := c.toolOf(p)
	if err != nil {
		return rpc.Inspection{}, err
	}
	inspector, ok := t.(tool.Inspector)
	if !ok {
		return rpc.Inspection{Outcome: string(tool.Unknown)}, nil
	}
	found, err := inspector.Inspect(ctx, call(p))
	return rpc.Inspection{Outcome: strings.ToValidUTF8(string(found.Outcome), "\ufffd"), Output: strings.ToValidUTF8(found.Output, "\ufffd")}, err
}

func (c *Client) toolOf(p rpc.ToolCall) (tool.Tool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tools[p.Handle]
	if !ok {
		return nil, api.Errorf(api.CodeRegistrationMissing, "the tool %q is not bound in this client", p.Tool)
	}
	return t, nil
}

func call(p rpc.ToolCall) tool.Call {
	c := tool.Call{ID: p.CallID, Attempt: p.Attempt, Epoch: p.Epoch, Arguments: p.Arguments, Tool: p.Tool, Session: p.Session, Run: p.Run, Agent: p.Agent,
		Workspace: p.Workspace, Origin: p.Origin, Owner: p.Owner, Metadata: p.Metadata}
	if !p.StartBefore.IsZero() {
		c.StartBefore = func() time.Time { return p.StartBefore }
	}
	return c
}

func about(p rpc.CallContext) guard.Context {
	return guard.Context{Session: p.Session, Run: p.Run, CallID: p.CallID, Agent: p.Agent, Workspace: p.Workspace, Origin: p.Origin, Owner: p.Owner, Metadata: p.Metadata}
}

func verdict(v guard.Verdict) rpc.Verdict {
	// A text that is none is refused as such; a reason is only shown.
	return rpc.Verdict{Action: string(v.Action), Text: v.Text, Reason: strings.ToValidUTF8(v.Reason, "\ufffd")}
}

func (c *Client) checkText(ctx context.Context, p rpc.Unit) (rpc.Verdict, error) {
	g, err := find(c, c.guardrails, "guardrail", p.Guardrail)
	if err != nil {
		return rpc.Verdict{}, err
	}
	v, err := g.Check(ctx, guard.Unit{Context: about(p.CallContext), Point: guard.Point(p.Point), Text: p.Text, Tool: p.Tool, File: p.File})
	return verdict(v), err
}

func (c *Client) beforeModel(ctx context.Context, p rpc.ModelCall) (rpc.Veto, error) {
	h, err := find(c, c.hooks, "hook", p.Hook)
	if err != nil {
		return rpc.Veto{}, err
	}
	err = h.BeforeModel(ctx, guard.ModelCall{Context: about(p.CallContext), Purpose: guard.Purpose(p.Purpose), Provider: p.Provider, Request: modelRequest(p.Request)})
	var veto *guard.VetoError
	if errors.As(err, &veto) {
		return rpc.Veto{Veto: true, Reason: strings.ToValidUTF8(veto.Reason, "\ufffd")}, nil
	}
	return rpc.Veto{}, err
}

func (c *Client) toolResult(ctx context.Context, p rpc.ToolResult) (rpc.ToolOutput, error) {
	h, err := find(c, c.hooks, "hook", p.Hook)
	if err != nil {
		return rpc.ToolOutput{}, err
	}
	text, err := h.ToolResult(ctx, guard.ToolOutput{Context: about(p.CallContext), Tool: p.Tool, Arguments: p.Arguments, Output: p.Output, Code: p.Code})
	return rpc.ToolOutput{Output: strings.ToValidUTF8(text, "\ufffd")}, err
}

func (c *Client) checkAction(ctx context.Context, p rpc.Action) (rpc.Verdict, error) {
	if c.cfg.Deny == nil {
		return rpc.Verdict{}, errors.New("this client has no check of actions")
	}
	v, err := c.cfg.Deny(ctx, guard.ToolAction{Context: about(p.CallContext), Tool: p.Tool, Effect: p.Effect, Arguments: p.Arguments, Changed: p.Changed})
	return verdict(v), err
}

func (c *Client) credential(ctx context.Context, p rpc.CredentialQuery) (rpc.Credential, error) {
	if c.cfg.Credential == nil {
		return rpc.Credential{}, errors.New("this client gives no credentials")
	}
	secret, ok, err := c.cfg.Credential(ctx, p.Provider)
	if err != nil || !ok {
		return rpc.Credential{}, err
	}
	return rpc.Credential{Secret: secret}, nil
}

func find[G any](c *Client, known map[string]G, kind, name string) (G, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := known[name]
	if !ok {
		return g, fmt.Errorf("the %s %q is not registered in this client", kind, name)
	}
	return g, nil
}
