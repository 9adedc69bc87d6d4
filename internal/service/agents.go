package service

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/definition"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/tool"
)

// RegisterAgent implements api.Service (AG3).
func (s *Service) RegisterAgent(ctx context.Context, owner string, def api.AgentDefinition) (api.AgentReference, error) {
	if err := s.usable(); err != nil {
		return api.AgentReference{}, err
	}
	def, err := definition.Normalize(def, s.providers())
	if err != nil {
		return api.AgentReference{}, err
	}
	// Those that are not here may be in another process, where its runs fail.
	if here, _ := s.registry.Guardrails(def.Guardrails, nil); policy.Fit(here, guard.ModelInput, def.Instructions).Err != nil {
		return api.AgentReference{}, api.Errorf(api.CodeInvalidAgent, "agent %q has instructions of %d bytes, and its guardrails for %s check at most %d; shorten them, or do without the guardrail",
			def.Name, len(def.Instructions), guard.ModelInput, api.MaxGuardedBytes)
	}
	ref := api.AgentReference{Name: def.Name, Digest: definition.Digest(def)}
	data, err := json.Marshal(def)
	if err != nil {
		return api.AgentReference{}, api.Errorf(api.CodeInvalidAgent, "agent %q cannot be stored as JSON: %w", def.Name, err)
	}
	stored, _, err := s.store.PutAgent(ctx, store.Agent{Owner: owner, Name: def.Name, Digest: ref.Digest, Definition: data, Created: time.Now()})
	if err != nil {
		return api.AgentReference{}, s.translate(ctx, "", err)
	}
	if stored.Digest != ref.Digest {
		var other api.AgentDefinition
		if err := json.Unmarshal(stored.Definition, &other); err != nil {
			return api.AgentReference{}, api.Errorf(api.CodeStoreCorrupt, "the stored definition of agent %q cannot be read: %w", def.Name, err)
		}
		fields := strings.Join(definition.Diff(other, def), ", ")
		return api.AgentReference{}, api.Errorf(api.CodeDefinitionConflict,
			"agent %q is registered with another definition; what differs: %s. A definition never changes: give the new one a new name", def.Name, fields).With("fields", fields)
	}
	if err := s.registry.Register(ref, def, append(def.Tools, definition.Builtins(def)...)); err != nil {
		return api.AgentReference{}, err
	}
	s.runtime.Kick()
	return ref, nil
}

// Agents implements api.Service.
func (s *Service) Agents(ctx context.Context, q api.AgentQuery) (api.AgentPage, error) {
	if err := s.usable(); err != nil {
		return api.AgentPage{}, err
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return api.AgentPage{}, err
	}
	rows, next, err := s.store.Agents(ctx, q.Owner, q.Cursor, limit)
	if err != nil {
		return api.AgentPage{}, s.translate(ctx, "", err)
	}
	page := api.AgentPage{Agents: []api.AgentDefinition{}, Next: next}
	for _, row := range rows {
		var def api.AgentDefinition
		if err := json.Unmarshal(row.Definition, &def); err != nil {
			return api.AgentPage{}, api.Errorf(api.CodeStoreCorrupt, "the stored definition of agent %q cannot be read: %w", row.Name, err)
		}
		page.Agents = append(page.Agents, def)
	}
	return page, nil
}

// agent finds the definition that a new session is to have.
func (s *Service) agent(ctx context.Context, owner string, ref api.AgentReference) (store.Agent, api.AgentDefinition, error) {
	var row store.Agent
	var err error
	if ref.Digest != "" {
		row, err = s.store.AgentByDigest(ctx, ref.Digest)
	} else {
		row, err = s.store.Agent(ctx, owner, ref.Name)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && ref.Name != "" && row.Name != ref.Name {
		return row, api.AgentDefinition{}, api.Errorf(api.CodeAgentNotFound, "no agent %q is registered in this store; register it first", ref.Name)
	}
	if err != nil {
		return row, api.AgentDefinition{}, s.translate(ctx, "", err)
	}
	var def api.AgentDefinition
	if err := json.Unmarshal(row.Definition, &def); err != nil {
		return row, def, api.Errorf(api.CodeStoreCorrupt, "the stored definition of agent %q cannot be read: %w", row.Name, err)
	}
	return row, def, nil
}

// agentFacts is the part of a definition that decisions depend on.
func agentFacts(digest string, def api.AgentDefinition) (engine.Agent, error) {
	a := engine.Agent{Name: def.Name, Digest: digest, Model: def.DefaultModel, Limits: def.Limits, Mode: def.Approvals.Mode, UnknownOutcome: def.UnknownOutcome,
		SkipQuestions: def.AutoSkipQuestions, Guardrails: def.Guardrails, Hooks: def.Hooks}
	if def.Approvals.ReviewerModel != nil {
		a.Reviewer = *def.Approvals.ReviewerModel
	}
	if a.Mode == "" {
		a.Mode = api.ApproveAlways
	}
	if a.UnknownOutcome == "" {
		a.UnknownOutcome = api.OutcomeAsk
	}
	listed := map[string]bool{}
	for _, name := range def.Approvals.Tools {
		listed[name] = true
	}
	add := func(d api.ToolDeclaration, builtin, disabled bool) error {
		name, err := tool.ModelName(d.Name)
		if err != nil {
			return err
		}
		t := engine.Tool{Name: d.Name, ModelName: name, Effect: d.Effect, Free: builtin, Question: builtin && d.Name == definition.AskUser, Disabled: disabled}
		if t.Effect == "" {
			t.Effect = api.SideEffect
		}
		t.Ask = !builtin && (a.Mode == api.ApproveAlways || a.Mode == api.ApproveOnly && listed[d.Name])
		a.Tools = append(a.Tools, t)
		return nil
	}
	on := map[string]bool{}
	for _, d := range def.Tools {
		if err := add(d, false, false); err != nil {
			return a, err
		}
	}
	for _, d := range definition.Builtins(def) {
		on[d.Name] = true
		if err := add(d, true, false); err != nil {
			return a, err
		}
	}
	for _, name := range []string{definition.ReadHistory, definition.AskUser} {
		if !on[name] {
			if err := add(api.ToolDeclaration{Name: name, Effect: api.ReadOnly}, true, true); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

func pageLimit(limit int) (int, error) {
	switch {
	case limit < 0 || limit > api.MaxPage:
		return 0, api.Errorf(api.CodeInvalidRequest, "limit is %d; use 1 to %d, or 0 for %d", limit, api.MaxPage, api.DefaultPage)
	case limit == 0:
		return api.DefaultPage, nil
	}
	return limit, nil
}
