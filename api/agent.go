package api

import "encoding/json"

// ModelRef names a model of a provider. Provider names are matched without case and stored in one spelling.
type ModelRef struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
}

// IsZero reports whether nothing is named.
func (m ModelRef) IsZero() bool { return m == ModelRef{} }

func (m ModelRef) String() string { return m.Provider + "/" + m.Name }

// Effect says what a repetition of a tool's action would do (RE3). The zero value means [SideEffect].
type Effect string

const (
	// SideEffect must not happen twice: after a crash its outcome is unknown until it is inspected.
	SideEffect Effect = "sideEffect"
	// Idempotent may be repeated under the same call ID without a second effect.
	Idempotent Effect = "idempotent"
	// ReadOnly changes nothing.
	ReadOnly Effect = "readOnly"
)

// Repeatable reports whether an action that may have run can simply be run again.
func (e Effect) Repeatable() bool { return e == Idempotent || e == ReadOnly }

// ToolDeclaration is the part of a tool that belongs to the agent's identity: what the model sees,
// and the declared effect (AG4).
type ToolDeclaration struct {
	// Name is the catalogue name, for example "app.lookup"; the model sees it as "app__lookup" (AG5).
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// InputSchema is a JSON Schema (2020-12) of an object.
	InputSchema json.RawMessage `json:"inputSchema"`
	Effect      Effect          `json:"effect,omitempty"`
}

// ApprovalMode says who decides on a tool call that no hard check and no grant has decided (AP1).
type ApprovalMode string

const (
	ApproveAlways ApprovalMode = "always" // ask a person for each call; the default
	ApproveOnly   ApprovalMode = "only"   // ask for the listed tools, approve the others by application policy
	ApproveAuto   ApprovalMode = "auto"   // a reviewer model decides
	ApproveNever  ApprovalMode = "never"  // no review; hard checks still apply
)

// Approvals is an agent's approval rule. The zero value means ApproveAlways.
type Approvals struct {
	Mode          ApprovalMode `json:"mode,omitempty"`
	Tools         []string     `json:"tools,omitempty"`         // catalogue names, with ApproveOnly
	ReviewerModel *ModelRef    `json:"reviewerModel,omitempty"` // with ApproveAuto
}

// Limits bound a turn (LI1). A nil field takes the agent's value, then the default. Zero and negative
// values are refused.
type Limits struct {
	// MaxModelCalls counts every call of the turn, the closing one included. Default 32.
	MaxModelCalls *int `json:"maxModelCalls,omitempty"`
	// MaxOutputTokens is the output budget of the whole turn, the summary reserve included. Default: none.
	MaxOutputTokens *int `json:"maxOutputTokens,omitempty"`
	// MaxOutputTokensPerCall bounds one working call. Default 8,192, lowered to the model's own maximum.
	MaxOutputTokensPerCall *int `json:"maxOutputTokensPerCall,omitempty"`
	// SummaryTokens bounds the closing call. Default 512.
	SummaryTokens *int `json:"summaryTokens,omitempty"`
}

// BuiltinTools switches the session's own tools (BT1). nil: on when the agent has any tool, off otherwise.
type BuiltinTools struct {
	AskUser     *bool `json:"askUser,omitempty"`
	ReadHistory *bool `json:"readHistory,omitempty"`
}

// UnknownOutcome says what happens to a side effect whose outcome nobody can tell (RE3). The zero value means OutcomeAsk.
type UnknownOutcome string

const (
	OutcomeAsk       UnknownOutcome = "ask"        // a durable interaction for a person; the default
	OutcomeTellModel UnknownOutcome = "tell_model" // a result that says so, and to inspect before any retry
)

// CompactionOptions guide how older history is summarised.
type CompactionOptions struct {
	// AdditionalInstructions: absent inherits, empty clears, at most 32,000 bytes (GU2, GU3).
	AdditionalInstructions *string `json:"additionalInstructions,omitempty"`
}

// AgentDefinition is an agent's immutable definition (AG1). Its identity is the SHA-256 of its
// canonical JSON with defaults left out (AG2), so a field's zero value and its explicit default are the same.
type AgentDefinition struct {
	// Name: 1–128 of A–Z a–z 0–9 . _ -, starting with a letter or digit; unique for an owner (AG3).
	Name         string            `json:"name"`
	Instructions string            `json:"instructions,omitempty"`
	Tools        []ToolDeclaration `json:"tools,omitempty"`
	Approvals    Approvals         `json:"approvals,omitzero"`
	// DefaultModel is used where neither the session nor the turn names a model (RU11).
	DefaultModel        ModelRef           `json:"defaultModel"`
	Limits              Limits             `json:"limits,omitzero"`
	BuiltinTools        BuiltinTools       `json:"builtinTools,omitzero"`
	UnknownOutcome      UnknownOutcome     `json:"unknownOutcome,omitempty"`
	AutoSkipQuestions   bool               `json:"autoSkipQuestions,omitempty"`
	AutoApproverContext *string            `json:"autoApproverContext,omitempty"`
	Compaction          *CompactionOptions `json:"compaction,omitempty"`

	// Not offered by every host: Capabilities.Options tells. A host that lacks one refuses the
	// definition with unsupported_option.
	Guardrails     []string        `json:"guardrails,omitempty"`
	Hooks          []string        `json:"hooks,omitempty"`
	Memory         json.RawMessage `json:"memory,omitempty"`
	Planning       json.RawMessage `json:"planning,omitempty"`
	Scheduling     json.RawMessage `json:"scheduling,omitempty"`
	Delegation     json.RawMessage `json:"delegation,omitempty"`
	Team           json.RawMessage `json:"team,omitempty"`
	WorkspaceTools json.RawMessage `json:"workspaceTools,omitempty"`
	Sandbox        json.RawMessage `json:"sandbox,omitempty"`
}

// AgentReference identifies a registered agent.
type AgentReference struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // hex SHA-256 of the canonical definition
}
