package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Bind makes tools available whose bodies run here; sessions that waited for them go on (RE8). A later tool replaces an
// earlier one that declares the same; one of the same name that declares something else stands beside it, for the
// agents that declare that. Errors are invalid_tool, and then none is bound.
func (c *Client) Bind(tools ...tool.Tool) error {
	var register rpc.RegisterTools
	bodies := map[string]tool.Tool{}
	for i, t := range tools {
		if t == nil {
			return api.Errorf(api.CodeInvalidTool, "tool %d of %d is nil; leave it out, or look at the error of what was to make it", i+1, len(tools))
		}
		_, inspect := t.(tool.Inspector)
		declared := rpc.Tool{ToolDeclaration: t.Declaration(), TimeoutMs: milliseconds(timeout(t)), Inspect: inspect}
		declared.Handle = handle(declared.ToolDeclaration)
		bodies[declared.Handle] = t
		register.Tools = append(register.Tools, declared)
	}
	// Before they are registered, since the runtime may call them at once.
	c.mu.Lock()
	before := map[string]tool.Tool{}
	for h, t := range bodies {
		before[h], c.tools[h] = c.tools[h], t
	}
	c.mu.Unlock()
	err := c.tell(context.Background(), rpc.MethodRegisterTools, register) // it ends with the connection
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for h, t := range before {
		if c.tools[h] = t; t == nil {
			delete(c.tools, h)
		}
	}
	return err
}

// handle names a declaration in this connection.
func handle(d api.ToolDeclaration) string {
	text, _ := json.Marshal(d) // what cannot be told is refused where it is sent
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// timeout is a tool's own bound; that of one which panics is the default, as in one process.
func timeout(t tool.Tool) (d time.Duration) {
	defer func() {
		if recover() != nil {
			d = 0
		}
	}()
	return max(t.Timeout(), 0)
}

// milliseconds rounds up, so that a bound does not become none.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return int64(d)
	}
	return int64((d-1)/time.Millisecond) + 1
}

// BindGuards registers guardrails and hooks that run here; agents and turns that name them go on (RE8). Names must be new. Errors
// are invalid_request: those that stand before the one that is refused are registered then.
func (c *Client) BindGuards(guardrails []guard.Guardrail, hooks []guard.Hook) error {
	for _, g := range guardrails {
		if g.Check == nil {
			return api.Errorf(api.CodeInvalidRequest, "guardrail %.200q has no Check", g.Name)
		}
		register := rpc.RegisterGuardrail{Name: g.Name, TimeoutMs: milliseconds(g.Timeout)}
		for _, p := range g.Points {
			register.Points = append(register.Points, string(p))
		}
		if err := bindGuard(c, c.guardrails, "guardrail", g.Name, g, rpc.MethodRegisterGuardrail, register); err != nil {
			return err
		}
	}
	for _, h := range hooks {
		register := rpc.RegisterHook{Name: h.Name, BeforeModel: h.BeforeModel != nil, ToolResult: h.ToolResult != nil, TimeoutMs: milliseconds(h.Timeout)}
		if err := bindGuard(c, c.hooks, "hook", h.Name, h, rpc.MethodRegisterHook, register); err != nil {
			return err
		}
	}
	return nil
}

// bindGuard registers one. It can be found before it is registered, since the runtime may call it at once.
func bindGuard[G any](c *Client, known map[string]G, kind, name string, g G, method string, register any) error {
	c.mu.Lock()
	_, taken := known[name]
	if !taken {
		known[name] = g
	}
	c.mu.Unlock()
	if taken {
		return api.Errorf(api.CodeInvalidRequest, "the name %.200q is taken by another %s of this client; choose a new one", name, kind)
	}
	err := c.tell(context.Background(), method, register) // it ends with the connection
	if err != nil {
		c.mu.Lock()
		delete(known, name)
		c.mu.Unlock()
	}
	return err
}
