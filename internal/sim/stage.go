package sim

import (
	"encoding/json"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/tool"
)

// Stage holds what all histories have in common: agents and tools. It does not change, and histories on one
// stage may run at once.
type Stage struct {
	registry *runtime.Registry
	agents   []engine.Agent
	tools    map[string]toolKind // by catalogue name
}

// toolKind is a tool as the world knows it.
type toolKind struct {
	effect   api.Effect
	inspects bool
}

const (
	provider  = "Sim"
	modelName = "sim-1"
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
	var declared []api.ToolDeclaration
	var known []engine.Tool
	for _, name := range []string{"app.pay", "app.mail", "app.put", "app.look"} {
		declared = append(declared, api.ToolDeclaration{Name: name, Description: "Acts.", InputSchema: schema, Effect: s.tools[name].effect})
		modelName, err := tool.ModelName(name)
		if err != nil {
			return nil, err
		}
		known = append(known, engine.Tool{Name: name, ModelName: modelName, Effect: s.tools[name].effect})
	}
	for _, a := range []struct {
		name    string
		mode    api.ApprovalMode
		unknown api.UnknownOutcome
		limits  api.Limits
	}{
		{"free", api.ApproveNever, api.OutcomeAsk, api.Limits{MaxModelCalls: api.Set(8)}},
		{"told", api.ApproveNever, api.OutcomeTellModel, api.Limits{MaxModelCalls: api.Set(5), MaxOutputTokens: api.Set(900), MaxOutputTokensPerCall: api.Set(300), SummaryTokens: api.Set(50)}},
		{"asked", api.ApproveAlways, api.OutcomeAsk, api.Limits{MaxModelCalls: api.Set(4)}},
		{"some", api.ApproveOnly, api.OutcomeAsk, api.Limits{MaxModelCalls: api.Set(6), MaxOutputTokens: api.Set(400), MaxOutputTokensPerCall: api.Set(200), SummaryTokens: api.Set(40)}},
		{"once", api.ApproveNever, api.OutcomeAsk, api.Limits{MaxModelCalls: api.Set(1)}},
	} {
		digest := "digest-" + a.name
		agent := engine.Agent{Name: a.name, Digest: digest, Model: api.ModelRef{Provider: provider, Name: modelName}, Limits: a.limits, Mode: a.mode, UnknownOutcome: a.unknown}
		for n, t := range known {
			t.Ask = a.mode == api.ApproveAlways || a.mode == api.ApproveOnly && n%2 == 0
			agent.Tools = append(agent.Tools, t)
		}
		def := api.AgentDefinition{Name: a.name, Instructions: "You act.", Tools: declared, DefaultModel: agent.Model, Limits: a.limits}
		if err := s.registry.Register(api.AgentReference{Name: a.name, Digest: digest}, def, declared); err != nil {
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
