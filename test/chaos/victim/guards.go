package main

import (
	"context"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/test/chaos"
)

// guards are what an application adds to decide on texts and actions.
type guards struct {
	guardrails []guard.Guardrail
	hooks      []guard.Hook
	deny       guard.Deny
}

// newGuards makes those that are named. Each is a point, too, at which the process can end.
func newGuards(list string, reach func(string)) (g guards, err error) {
	for name := range strings.SplitSeq(list, ",") {
		look := func(where guard.Point, old, replacement string) {
			g.guardrails = append(g.guardrails, guard.Guardrail{Name: name, Points: []guard.Point{where}, Check: func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
				reach("guard." + name)
				if text := strings.ReplaceAll(u.Text, old, replacement); text != u.Text {
					return guard.Redact(text, "it is not for everybody"), nil
				}
				return guard.Allow(), nil
			}})
		}
		switch name {
		case "":
		case "deny":
			g.deny = func(_ context.Context, action guard.ToolAction) (guard.Verdict, error) {
				reach("guard.deny")
				if strings.Contains(string(action.Arguments), chaos.Forbidden) {
					return guard.Block("that is " + chaos.Forbidden), nil
				}
				return guard.Allow(), nil
			}
		case "mark":
			g.hooks = append(g.hooks, guard.Hook{Name: name, ToolResult: func(_ context.Context, r guard.ToolOutput) (string, error) {
				reach("guard.mark")
				return r.Output + " (marked)", nil
			}})
		case "veil":
			look(guard.ToolResult, "marked", "veiled")
		case "secret":
			look(guard.UserInput, chaos.Secret, "[removed]")
		default:
			return g, api.Errorf(api.CodeInvalidRequest, "there is no guard %q", name)
		}
	}
	return g, nil
}

// names are those of the guardrails.
func (g guards) names() (names []string) {
	for _, r := range g.guardrails {
		names = append(names, r.Name)
	}
	return names
}

func (g guards) hookNames() (names []string) {
	for _, h := range g.hooks {
		names = append(names, h.Name)
	}
	return names
}
