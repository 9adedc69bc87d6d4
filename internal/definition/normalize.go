package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
)

// maxDescriptionBytes bounds the description of a tool.
const maxDescriptionBytes = 32_000

// Normalize checks a definition and returns the one form of its meaning. providers are the names that the
// host knows, in their one spelling. The argument is not changed.
//
// An explicit default is the same as an absent option, also where the default adapts: a
// maxOutputTokensPerCall of 8,192 is lowered to a smaller model's own maximum like an absent one.
//
// Errors: invalid_agent, invalid_tool, invalid_limits, invalid_guidance, unknown_provider,
// unsupported_option. The message names the field.
func Normalize(def api.AgentDefinition, providers []string) (api.AgentDefinition, error) {
	if err := checkAgentName(def.Name); err != nil {
		return def, err
	}
	if err := checkText(api.CodeInvalidAgent, "instructions", def.Instructions, api.MaxInstructionsBytes); err != nil {
		return def, err
	}
	if err := refuseUnsupported(def); err != nil {
		return def, err
	}
	var err error
	if def.DefaultModel, err = CheckModel("defaultModel", def.DefaultModel, providers); err != nil {
		return def, err
	}
	if def.Tools, err = normalizeTools(def.Tools); err != nil {
		return def, err
	}
	def.BuiltinTools = normalizeBuiltins(def.BuiltinTools, len(def.Tools) > 0)
	if def.Approvals, err = normalizeApprovals(def, providers); err != nil {
		return def, err
	}
	if def.Guardrails, err = checkNames(api.CodeInvalidAgent, "guardrails", def.Guardrails); err != nil {
		return def, err
	}
	if def.Hooks, err = checkNames(api.CodeInvalidAgent, "hooks", def.Hooks); err != nil {
		return def, err
	}
	if err := CheckLimits("limits", def.Limits, 0); err != nil {
		return def, err
	}
	def.Limits = withoutDefaults(def.Limits)
	switch def.UnknownOutcome {
	case "", api.OutcomeTellModel:
	case api.OutcomeAsk:
		def.UnknownOutcome = ""
	default:
		return def, api.Errorf(api.CodeInvalidAgent, "unknownOutcome %q is not one of %q and %q",
			short(string(def.UnknownOutcome)), api.OutcomeAsk, api.OutcomeTellModel)
	}
	if def.AutoApproverContext, err = agentGuidance("autoApproverContext", def.AutoApproverContext); err != nil {
		return def, err
	}
	if def.Compaction != nil {
		text, err := agentGuidance("compaction.additionalInstructions", def.Compaction.AdditionalInstructions)
		if err != nil {
			return def, err
		}
		def.Compaction = nil
		if text != nil {
			def.Compaction = &api.CompactionOptions{AdditionalInstructions: text}
		}
	}
	return withoutEmptyLists(def), nil
}

func checkAgentName(name string) error {
	if name == "" {
		return api.Errorf(api.CodeInvalidAgent, "name is missing: an agent needs a name, which is its identity")
	}
	return checkName(api.CodeInvalidAgent, "name", name)
}

// checkName checks a name of an agent, a guardrail or a hook (AG3).
func checkName(code api.Code, field, name string) error {
	if name == "" || len(name) > api.MaxNameBytes {
		return api.Errorf(code, "%s %q is %d bytes long; from 1 to %d are allowed", field, short(name), len(name), api.MaxNameBytes)
	}
	for i, r := range name {
		alnum := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", r)) {
			return api.Errorf(code, "%s %q holds %q at byte %d; a name is A–Z a–z 0–9 . _ - and starts with a letter or digit", field, short(name), r, i)
		}
	}
	return nil
}

// checkNames checks the names of guardrails or hooks. Whether they are registered is the process's question.
func checkNames(code api.Code, field string, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if len(names) > api.MaxGuardrails {
		return nil, api.Errorf(code, "%s: %d are named; at most %d are allowed", field, len(names), api.MaxGuardrails)
	}
	for i, name := range names {
		if err := checkName(code, fmt.Sprintf("%s[%d]", field, i), name); err != nil {
			return nil, err
		}
		if slices.Contains(names[:i], name) {
			return nil, api.Errorf(code, "%s names %q twice", field, name)
		}
	}
	return slices.Clone(names), nil
}

// refuseUnsupported refuses the options that this host knows and does not offer (FA9). An empty list, null
// and false say the same as leaving the option out.
func refuseUnsupported(def api.AgentDefinition) error {
	for _, option := range []struct {
		name string
		set  bool
	}{
		{"memory", isSet(def.Memory)},
		{"planning", isSet(def.Planning)},
		{"scheduling", isSet(def.Scheduling)},
		{"delegation", isSet(def.Delegation)},
		{"team", isSet(def.Team)},
		{"workspaceTools", isSet(def.WorkspaceTools)},
		{"sandbox", isSet(def.Sandbox)},
	} {
		if option.set {
			return unsupported(option.name, "it is not part of this version")
		}
	}
	return nil
}

func isSet(option []byte) bool {
	text := strings.TrimSpace(string(option))
	return text != "" && text != "null" && text != "false"
}

func unsupported(option, why string) error {
	return api.Errorf(api.CodeUnsupportedOption, "this host does not support the option %s: %s; leave it out", option, why).With("option", option)
}

func withoutEmptyLists(def api.AgentDefinition) api.AgentDefinition {
	def.Memory, def.Planning, def.Scheduling = nil, nil, nil
	def.Delegation, def.Team, def.WorkspaceTools, def.Sandbox = nil, nil, nil, nil
	return def
}

func normalizeTools(tools []api.ToolDeclaration) ([]api.ToolDeclaration, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	if len(tools) > api.MaxAgentTools {
		return nil, api.Errorf(api.CodeInvalidAgent, "tools: %d are selected; at most %d are allowed", len(tools), api.MaxAgentTools)
	}
	byModelName := map[string]string{AskUser: AskUser, ReadHistory: ReadHistory}
	normal := make([]api.ToolDeclaration, 0, len(tools))
	for _, t := range tools {
		modelName, err := ModelName(t.Name)
		if err != nil {
			return nil, err
		}
		switch other, taken := byModelName[modelName]; {
		case taken && IsBuiltin(modelName):
			return nil, api.Errorf(api.CodeInvalidTool, "tool %q has the name of a built-in tool; give it another", t.Name)
		case taken && other == t.Name:
			return nil, api.Errorf(api.CodeInvalidTool, "tool %q is selected twice", t.Name)
		case taken:
			return nil, api.Errorf(api.CodeInvalidTool, "tools %q and %q are both %q to the model; rename one", other, t.Name, modelName)
		}
		byModelName[modelName] = t.Name
		if err := checkText(api.CodeInvalidTool, "the description of tool "+t.Name, t.Description, maxDescriptionBytes); err != nil {
			return nil, err
		}
		switch t.Effect {
		case "", api.Idempotent, api.ReadOnly:
		case api.SideEffect:
			t.Effect = ""
		default:
			return nil, api.Errorf(api.CodeInvalidTool, "tool %q: effect %q is not one of %q, %q and %q",
				t.Name, short(string(t.Effect)), api.SideEffect, api.Idempotent, api.ReadOnly)
		}
		if _, err := tool.Compile(t.InputSchema); err != nil {
			return nil, api.Errorf(api.CodeInvalidTool, "tool %q: %s", t.Name, api.AsError(err).Message)
		}
		if _, err := canonical(t.InputSchema); err != nil {
			return nil, api.Errorf(api.CodeInvalidTool, "tool %q: the input schema has no canonical JSON form: %w", t.Name, err)
		}
		t.InputSchema = slices.Clone(t.InputSchema) // as given: a model reads the properties in their order
		normal = append(normal, t)
	}
	return normal, nil
}

// ModelName is the name under which the model knows a catalogue name: "app.lookup" is "app__lookup" (AG5).
func ModelName(name string) (string, error) { return tool.ModelName(name) }

func normalizeApprovals(def api.AgentDefinition, providers []string) (api.Approvals, error) {
	a := def.Approvals
	if len(a.Tools) > 0 && a.Mode != api.ApproveOnly {
		return a, api.Errorf(api.CodeInvalidAgent, "approvals.tools is given with mode %q; it belongs to mode %q", short(string(a.Mode)), api.ApproveOnly)
	}
	if a.ReviewerModel != nil && a.Mode != api.ApproveAuto {
		return a, api.Errorf(api.CodeInvalidAgent, "approvals.reviewerModel is given with mode %q; it belongs to mode %q", short(string(a.Mode)), api.ApproveAuto)
	}
	switch a.Mode {
	case "", api.ApproveAlways:
		return api.Approvals{}, nil
	case api.ApproveNever:
		return api.Approvals{Mode: a.Mode}, nil
	case api.ApproveAuto:
		if a.ReviewerModel == nil {
			return a, api.Errorf(api.CodeInvalidAgent, "approvals.reviewerModel is missing: mode %q needs a reviewer", a.Mode)
		}
		reviewer, err := CheckModel("approvals.reviewerModel", *a.ReviewerModel, providers)
		return api.Approvals{Mode: a.Mode, ReviewerModel: &reviewer}, err
	case api.ApproveOnly:
	default:
		return a, api.Errorf(api.CodeInvalidAgent, "approvals.mode %q is not one of %q, %q, %q and %q",
			short(string(a.Mode)), api.ApproveAlways, api.ApproveOnly, api.ApproveAuto, api.ApproveNever)
	}
	if len(a.Tools) == 0 {
		return a, api.Errorf(api.CodeInvalidAgent, "approvals.tools is empty: mode %q needs the tools that ask; mode %q asks for none", api.ApproveOnly, api.ApproveNever)
	}
	selected := map[string]bool{}
	for _, t := range append(Builtins(def), def.Tools...) {
		selected[t.Name] = true
	}
	listed := map[string]bool{}
	for _, name := range a.Tools {
		if !selected[name] {
			return a, api.Errorf(api.CodeInvalidAgent, "approvals.tools names %q, which is no tool of this agent", short(name))
		}
		if listed[name] {
			return a, api.Errorf(api.CodeInvalidAgent, "approvals.tools names %q twice", name)
		}
		listed[name] = true
	}
	return api.Approvals{Mode: a.Mode, Tools: append([]string(nil), a.Tools...)}, nil
}
