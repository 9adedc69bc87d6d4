package openworker

import (
	"context"
	"encoding/json"

	"github.com/openworkerai/openworker/api"
)

// AgentDefinition is api.AgentDefinition with tools that have bodies. Its identity is the digest of what
// the model sees and how the agent is run (AG2, AG4); a tool's body is no part of it.
type AgentDefinition struct {
	// Name: 1–128 of A–Z a–z 0–9 . _ -, starting with a letter or digit.
	Name         string
	Instructions string
	// Tools are what the model may call. Two names that are one to the model are refused (AG5).
	Tools []Tool
	// Approvals says who decides on a call. Defaults to asking a person for each.
	Approvals Approvals
	// DefaultModel is used where neither the session nor the turn names a model (RU11). It is required.
	DefaultModel ModelRef
	// Limits bound each turn (LI1).
	Limits Limits
	// BuiltinTools switches the session's own tools; by default they are on when there are Tools.
	BuiltinTools BuiltinTools
	// UnknownOutcome says what happens to a side effect whose outcome nobody can tell. Defaults to OutcomeAsk.
	UnknownOutcome UnknownOutcome
	// AutoSkipQuestions answers the model's questions as skipped, so that nobody has to be there.
	AutoSkipQuestions bool
	// AutoApproverContext tells the reviewer of ApproveAuto facts and rules of the application, and Compaction says what
	// summaries of older history are to keep. A session and a turn may replace them, each for itself (GU2).
	AutoApproverContext *string
	Compaction          *CompactionOptions
	// Guardrails and Hooks are in force for every turn, in this order, by the names of [Options].
	Guardrails []string
	Hooks      []string

	// What follows is for later versions: this one refuses a definition that sets any of it, with
	// unsupported_option.
	Memory         json.RawMessage
	Planning       json.RawMessage
	Scheduling     json.RawMessage
	Delegation     json.RawMessage
	Team           json.RawMessage
	WorkspaceTools json.RawMessage
	Sandbox        json.RawMessage
}

// contract is the definition as it is stored.
func (d AgentDefinition) contract() api.AgentDefinition {
	var declarations []api.ToolDeclaration
	for _, t := range d.Tools {
		declarations = append(declarations, t.Declaration())
	}
	return api.AgentDefinition{
		Name:                d.Name,
		Instructions:        d.Instructions,
		Tools:               declarations,
		Approvals:           d.Approvals,
		DefaultModel:        d.DefaultModel,
		Limits:              d.Limits,
		BuiltinTools:        d.BuiltinTools,
		UnknownOutcome:      d.UnknownOutcome,
		AutoSkipQuestions:   d.AutoSkipQuestions,
		AutoApproverContext: d.AutoApproverContext,
		Compaction:          d.Compaction,
		Guardrails:          d.Guardrails,
		Hooks:               d.Hooks,
		Memory:              d.Memory,
		Planning:            d.Planning,
		Scheduling:          d.Scheduling,
		Delegation:          d.Delegation,
		Team:                d.Team,
		WorkspaceTools:      d.WorkspaceTools,
		Sandbox:             d.Sandbox,
	}
}

// Agent is a registered agent.
type Agent struct {
	harness   *Harness
	reference AgentReference
}

// Reference is the agent's name and the digest of its definition.
func (a *Agent) Reference() AgentReference { return a.reference }

// NewSession returns once the session is durable. Without options it has a private scratch directory, which
// is made now, and the agent's settings.
//
// Errors: invalid_request, invalid_workspace, invalid_guidance, unsupported_option; invalid_history, with the details item
// (from 0) and rule, for a conversation of [InitialHistory] that breaks one; unknown_provider for a
// Model whose provider is neither in this process nor OpenAI, Anthropic or Google. One of those that this
// process lacks is accepted, and so is an agent's: turns wait, with registration_missing in
// Result.WaitingFor, for a process that has it. submission_conflict for an IdempotencyKey that made a
// session with other options.
func (a *Agent) NewSession(ctx context.Context, opts ...SessionOptions) (*Session, error) {
	options, err := one("SessionOptions", opts)
	if err != nil {
		return nil, err
	}
	ref, err := a.harness.service.CreateSession(ctx, a.reference, options)
	if err != nil {
		return nil, err
	}
	return &Session{service: a.harness.service, reference: ref}, nil
}

// ResumeSession finds a session of this agent by its reference; nothing is created (SE2). Work that the
// session had under way goes on by itself: look at [Session.State] before sending anything.
//
// Errors: invalid_request for an incomplete reference, foreign_store, session_not_found, session_deleted,
// session_parked, wrong_agent.
func (a *Agent) ResumeSession(ctx context.Context, ref SessionReference) (*Session, error) {
	if err := complete(ref); err != nil {
		return nil, err
	}
	if err := a.harness.service.ResumeSession(ctx, ref, a.reference.Name); err != nil {
		return nil, err
	}
	return &Session{service: a.harness.service, reference: ref}, nil
}
