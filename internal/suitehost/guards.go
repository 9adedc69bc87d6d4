package suitehost

import (
	"context"

	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/transport/servicetest"
)

func about(c guard.Context) servicetest.About { return servicetest.About(c) }

func verdict(v servicetest.Verdict) guard.Verdict {
	return guard.Verdict{Action: guard.Action(v.Action), Text: v.Text, Reason: v.Reason}
}

// Guardrails are a world's guardrails.
func Guardrails(w servicetest.World) (out []guard.Guardrail) {
	for _, g := range w.Guardrails {
		made := guard.Guardrail{Name: g.Name, Timeout: g.Timeout, Check: func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
			v, err := g.Check(ctx, servicetest.Unit{About: about(u.Context), Point: string(u.Point), Text: u.Text, Tool: u.Tool})
			return verdict(v), err
		}}
		for _, point := range g.Points {
			made.Points = append(made.Points, guard.Point(point))
		}
		out = append(out, made)
	}
	return out
}

// Hooks are a world's hooks.
func Hooks(w servicetest.World) (out []guard.Hook) {
	for _, h := range w.Hooks {
		made := guard.Hook{Name: h.Name, Timeout: h.Timeout}
		if h.BeforeModel != nil {
			made.BeforeModel = func(ctx context.Context, c guard.ModelCall) error {
				veto, err := h.BeforeModel(ctx, servicetest.ModelCall{About: about(c.Context), Purpose: string(c.Purpose), Provider: c.Provider, Prompt: prompt(c.Request)})
				if veto != "" {
					return guard.Veto(veto)
				}
				return err
			}
		}
		if h.ToolResult != nil {
			made.ToolResult = func(ctx context.Context, r guard.ToolOutput) (string, error) {
				return h.ToolResult(ctx, servicetest.ToolResult{About: about(r.Context), Tool: r.Tool, Arguments: string(r.Arguments), Output: r.Output, Code: r.Code})
			}
		}
		out = append(out, made)
	}
	return out
}

// Deny is a world's own check, nil for one without.
func Deny(w servicetest.World) guard.Deny {
	if w.Deny == nil {
		return nil
	}
	return func(ctx context.Context, a guard.ToolAction) (guard.Verdict, error) {
		v, err := w.Deny(ctx, servicetest.Action{About: about(a.Context), Tool: a.Tool, Effect: a.Effect, Arguments: string(a.Arguments), Changed: a.Changed})
		return verdict(v), err
	}
}
