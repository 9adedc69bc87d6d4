package agentfile

import (
	"encoding/json"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
)

// fields are the functions for the fields of a map.
type fields = map[string]func(*document.Value)

// unsupported are the fields that an agent has and that this version refuses.
var unsupported = []string{"memory", "planning", "scheduling", "delegation", "team", "workspaceTools", "sandbox"}

// definition's parts, by the way that their values are read.

func (r *reader) text(set func(*api.AgentDefinition, string)) func(*document.Value) {
	return func(v *document.Value) {
		if text, ok := r.Text(v); ok {
			r.add(v, func(def *api.AgentDefinition) { set(def, text) })
		}
	}
}

func (r *reader) number(set func(*api.AgentDefinition, *int)) func(*document.Value) {
	return func(v *document.Value) {
		if n, ok := r.Int(v); ok {
			r.add(v, func(def *api.AgentDefinition) { set(def, &n) })
		}
	}
}

func (r *reader) flag(set func(*api.AgentDefinition, *bool)) func(*document.Value) {
	return func(v *document.Value) {
		if b, ok := r.Bool(v); ok {
			r.add(v, func(def *api.AgentDefinition) { set(def, &b) })
		}
	}
}

func (r *reader) any(set func(*api.AgentDefinition, json.RawMessage)) func(*document.Value) {
	return func(v *document.Value) {
		r.add(v, func(def *api.AgentDefinition) { set(def, v.JSON()) })
	}
}

func (r *reader) read() {
	root := r.Root
	if root.Kind == document.Map && root.At("tools") != nil && root.At("tools").Kind != document.Null {
		r.selected(root.At("tools")) // first, since others speak of them
	}
	r.Map(root, fields{
		"name":         r.text(func(def *api.AgentDefinition, text string) { def.Name = text }),
		"instructions": r.text(func(def *api.AgentDefinition, text string) { def.Instructions = text }),
		"tools":        func(*document.Value) {},
		"approvals":    r.approvals,
		"defaultModel": func(v *document.Value) {
			if m, ok := r.model(v); ok {
				r.add(v, func(def *api.AgentDefinition) { def.DefaultModel = m })
			}
		},
		"limits": func(v *document.Value) {
			r.Map(v, fields{
				"maxModelCalls":          r.number(func(def *api.AgentDefinition, n *int) { def.Limits.MaxModelCalls = n }),
				"maxOutputTokens":        r.number(func(def *api.AgentDefinition, n *int) { def.Limits.MaxOutputTokens = n }),
				"maxOutputTokensPerCall": r.number(func(def *api.AgentDefinition, n *int) { def.Limits.MaxOutputTokensPerCall = n }),
				"summaryTokens":          r.number(func(def *api.AgentDefinition, n *int) { def.Limits.SummaryTokens = n }),
			})
		},
		"builtinTools": func(v *document.Value) {
			r.Map(v, fields{
				"askUser":     r.flag(func(def *api.AgentDefinition, b *bool) { def.BuiltinTools.AskUser = b }),
				"readHistory": r.flag(func(def *api.AgentDefinition, b *bool) { def.BuiltinTools.ReadHistory = b }),
			})
		},
		"unknownOutcome":      r.text(func(def *api.AgentDefinition, text string) { def.UnknownOutcome = api.UnknownOutcome(text) }),
		"autoSkipQuestions":   r.flag(func(def *api.AgentDefinition, b *bool) { def.AutoSkipQuestions = *b }),
		"autoApproverContext": r.text(func(def *api.AgentDefinition, text string) { def.AutoApproverContext = &text }),
		"compaction": func(v *document.Value) {
			r.Map(v, fields{"additionalInstructions": r.text(func(def *api.AgentDefinition, text string) {
				def.Compaction = &api.CompactionOptions{AdditionalInstructions: &text}
			})})
		},
		"guardrails": func(v *document.Value) {
			names := r.named(v, "guardrail", r.host.Guardrails)
			r.add(v, func(def *api.AgentDefinition) { def.Guardrails = names })
		},
		"hooks": func(v *document.Value) {
			names := r.named(v, "hook", r.host.Hooks)
			r.add(v, func(def *api.AgentDefinition) { def.Hooks = names })
		},
		"memory":         r.any(func(def *api.AgentDefinition, data json.RawMessage) { def.Memory = data }),
		"planning":       r.any(func(def *api.AgentDefinition, data json.RawMessage) { def.Planning = data }),
		"scheduling":     r.any(func(def *api.AgentDefinition, data json.RawMessage) { def.Scheduling = data }),
		"delegation":     r.any(func(def *api.AgentDefinition, data json.RawMessage) { def.Delegation = data }),
		"team":           r.any(func(def *api.AgentDefinition, data json.RawMessage) { def.Team = data }),
		"workspaceTools": r.any(func(def *api.AgentDefinition, data json.RawMessage) { def.WorkspaceTools = data }),
		"sandbox":        r.any(func(def *api.AgentDefinition, data json.RawMessage) { def.Sandbox = data }),
	}, unsupported...)
	if m := root.At("defaultModel"); root.Kind != document.Map && root.Kind != document.Null {
		return
	} else if m == nil || m.Kind == document.Null {
		r.Fault(root, api.CodeInvalidAgent, "defaultModel is missing; write for example defaultModel: OpenAI/gpt-5-mini")
	}
}

func (r *reader) approvals(v *document.Value) {
	var a api.Approvals
	valid := true
	modes := []api.ApprovalMode{api.ApproveAlways, api.ApproveOnly, api.ApproveAuto, api.ApproveNever}
	if text, ok := v.IsText(); ok && slices.Contains(modes, api.ApprovalMode(text)) {
		r.Fault(v, api.CodeInvalidRequest, "must be a map of fields and is text; write {mode: %s}", text)
		return
	}
	r.Map(v, fields{
		"mode": func(v *document.Value) {
			text, ok := r.Text(v)
			a.Mode, valid = api.ApprovalMode(text), valid && ok
			if ok && !slices.Contains(modes, a.Mode) {
				r.Fault(v, api.CodeInvalidAgent, "is %q; write %s, %s, %s or %s", text, api.ApproveAlways, api.ApproveOnly, api.ApproveAuto, api.ApproveNever)
				valid = false
			}
		},
		"tools": func(v *document.Value) {
			var ok bool
			a.Tools, ok = r.Texts(v)
			valid = valid && ok
		},
		"reviewerModel": func(v *document.Value) {
			m, ok := r.model(v)
			a.ReviewerModel, valid = &m, valid && ok
		},
	})
	if valid && v.Kind == document.Map {
		r.add(v, func(def *api.AgentDefinition) { def.Approvals = a })
	}
}
