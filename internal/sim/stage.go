package sim

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
)

// Stage holds what all histories have in common: agents and tools. It does not change, and histories on one
// stage may run at once.
type Stage struct {
	registry *runtime.Registry
	agents   []engine.Agent
	tools    map[string]toolKind // by catalogue name
	schema   *tool.Schema        // of every tool that acts
	fixed    int                 // about the bytes of a request beside the conversation
	blobs    []*blob             // what people attach
}

// toolKind is a tool as the world knows it.
type toolKind struct {
	effect   api.Effect
	inspects bool
}

const (
	provider   = "Sim"
	modelName  = "sim-1"     // nobody knows its window
	smallModel = "sim-small" // everybody does
	reviewer   = "sim-judge"
	question   = "ask_user"
)

// smallWindow is that of the small model, in tokens: a few answers with their results fit.
const smallWindow = 4_000

// What an application registers with a process that has it all.
const (
	agentHook      = "clean"   // of an agent's definition
	agentGuardrail = "secrets" // too
	turnGuardrail  = "extra"   // that a message may name
)

// Times that the shell of a process would be configured with.
const (
	toolTimeout = 30 * time.Second
	cancelGrace = 3 * time.Second
)

// NewStage sets the stage.
func NewStage() (*Stage, error) {
	s := &Stage{registry: runtime.NewRegistry(nil, nil, runtime.Guards{}, time.Now), tools: map[string]toolKind{
		"app.pay":  {api.SideEffect, true},
		"app.mail": {api.SideEffect, false},
		"app.put":  {api.Idempotent, true},
		"app.look": {api.ReadOnly, false},
	}}
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	compiled, err := tool.Compile(schema)
	if err != nil {
		return nil, err
	}
	s.schema, s.blobs = compiled, newBlobs()
	var declared []api.ToolDeclaration
	var known []engine.Tool
	for _, name := range []string{"app.pay", "app.mail", "app.put", "app.look"} {
		declared = append(declared, api.ToolDeclaration{Name: name, Description: "Acts.", InputSchema: schema, Effect: s.tools[name].effect})
		modelName, err := tool.ModelName(name)
		if err != nil {
			return nil, err
		}
		known = append(known, engine.Tool{Name: name, ModelName: modelName, Effect: s.tools[name].effect})
		s.fixed += len(name) + len(schema) + 64
	}
	asks := api.ToolDeclaration{Name: question, Description: "Asks.", Effect: api.ReadOnly, InputSchema: json.RawMessage(
		`{"type":"object","properties":{"question":{"type":"string"},"multiple":{"type":"boolean"}},"required":["question"],"additionalProperties":false}`)}
	declarations := append(slices.Clone(declared), asks)
	s.fixed += len(asks.InputSchema) + 64
	for _, a := range []struct {
		name    string
		mode    api.ApprovalMode
		unknown api.UnknownOutcome
		limits  api.Limits
		model   string // defaults to the one of an unknown window
		guarded bool   // it has a hook and a guardrail that see what tools return
		skips   bool   // it skips questions
	}{
		{name: "free", mode: api.ApproveNever, unknown: api.OutcomeAsk, limits: api.Limits{MaxModelCalls: api.Set(8)}},
		{name: "told", mode: api.ApproveNever, unknown: api.OutcomeTellModel, limits: api.Limits{MaxModelCalls: api.Set(5), MaxOutputTokens: api.Set(900), MaxOutputTokensPerCall: api.Set(300), SummaryTokens: api.Set(50)}},
		{name: "asked", mode: api.ApproveAlways, unknown: api.OutcomeAsk, limits: api.Limits{MaxModelCalls: api.Set(4)}, skips: true},
		{name: "some", mode: api.ApproveOnly, unknown: api.OutcomeAsk, limits: api.Limits{MaxModelCalls: api.Set(6), MaxOutputTokens: api.Set(400), MaxOutputTokensPerCall: api.Set(200), SummaryTokens: api.Set(40)}},
		{name: "once", mode: api.ApproveNever, unknown: api.OutcomeAsk, limits: api.Limits{MaxModelCalls: api.Set(1)}},
		{name: "reviewed", mode: api.ApproveAuto, unknown: api.OutcomeAsk, limits: api.Limits{MaxModelCalls: api.Set(6)}},
		{name: "guarded", mode: api.ApproveOnly, unknown: api.OutcomeTellModel, limits: api.Limits{MaxModelCalls: api.Set(6)}, guarded: true},
		{name: "small", mode: api.ApproveOnly, unknown: api.OutcomeAsk, limits: api.Limits{MaxModelCalls: api.Set(8), MaxOutputTokensPerCall: api.Set(500)}, model: smallModel},
		{name: "all", mode: api.ApproveAuto, unknown: api.OutcomeAsk, limits: api.Limits{MaxModelCalls: api.Set(8), MaxOutputTokensPerCall: api.Set(500)}, model: smallModel, guarded: true, skips: true},
	} {
		digest := "digest-" + a.name
		agent := engine.Agent{Name: a.name, Digest: digest, Model: api.ModelRef{Provider: provider, Name: cmp.Or(a.model, modelName)}, Limits: a.limits, Mode: a.mode,
			UnknownOutcome: a.unknown, SkipQuestions: a.skips}
		if a.mode == api.ApproveAuto {
			agent.Reviewer = api.ModelRef{Provider: provider, Name: reviewer}
		}
		if a.guarded {
			agent.Guardrails, agent.Hooks = []string{agentGuardrail}, []string{agentHook}
		}
		for n, t := range known {
			t.Ask = a.mode == api.ApproveAlways || a.mode == api.ApproveOnly && n%2 == 0
			agent.Tools = append(agent.Tools, t)
		}
		agent.Tools = append(agent.Tools, engine.Tool{Name: question, ModelName: question, Effect: api.ReadOnly, Free: true, Question: true})
		def := api.AgentDefinition{Name: a.name, Instructions: "You act.", Tools: declared, DefaultModel: agent.Model, Limits: a.limits}
		if err := s.registry.Register(api.AgentReference{Name: a.name, Digest: digest}, def, declarations); err != nil {
			return nil, err
		}
		s.agents = append(s.agents, agent)
	}
	return s, nil
}

// kind finds a tool by the name that the model uses.
func (s *Stage) kind(a engine.Agent, modelName string) (string, toolKind) {
	for _, t := range a.Tools {
		if t.ModelName == modelName {
			return t.Name, s.tools[t.Name]
		}
	}
	return "", toolKind{}
}

// facts are what is known of a model.
func (s *Stage) facts(ref api.ModelRef) model.Facts {
	if ref.Name == smallModel {
		return model.Facts{Window: smallWindow, Refused: []string{model.TypePDF}}
	}
	return model.Facts{}
}

// request is what actors are told of requests.
func (s *Stage) request(_ string, ref api.ModelRef) runtime.RequestFacts {
	return runtime.RequestFacts{Fixed: s.fixed, Window: s.facts(ref).Window}
}

// blob finds what has a hash.
func (s *Stage) blob(sum string) *blob {
	for _, b := range s.blobs {
		switch {
		case b.sum == sum:
			return b
		case b.redacted != nil && b.redacted.sum == sum:
			return b.redacted
		}
	}
	return &blob{}
}
