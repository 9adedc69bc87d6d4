package api

import "time"

// WhenBusy says what happens to a message that meets a running turn (SE4). The zero value means BusyReject.
type WhenBusy string

const (
	BusyReject    WhenBusy = "reject"    // session_busy names the run; the default
	BusyQueue     WhenBusy = "queue"     // runs after the current turn and those queued before it
	BusyInterrupt WhenBusy = "interrupt" // cancels the current turn and runs next, ahead of the queue
)

// TurnOptions hold for one turn. The zero value inherits everything.
type TurnOptions struct {
	// SubmissionID makes a send repeatable (RU4): the same ID with the same message and options gives the
	// same run, with anything changed submission_conflict. At most 256 bytes. IdempotencyKey is another
	// name for it.
	SubmissionID   string `json:"submissionId,omitempty"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	// InstructionAddendum goes with every model call of this turn and ends with it (GU1). At most 32,000 bytes.
	InstructionAddendum string             `json:"instructionAddendum,omitempty"`
	Model               *ModelRef          `json:"model,omitempty"`
	Limits              Limits             `json:"limits,omitzero"`
	WhenBusy            WhenBusy           `json:"whenBusy,omitempty"`
	AutoApproverContext *string            `json:"autoApproverContext,omitempty"`
	Compaction          *CompactionOptions `json:"compaction,omitempty"`
	// Guardrails are added to the agent's, by their registered names (GR1).
	Guardrails []string `json:"guardrails,omitempty"`
}

// Submission is one message to a session: Text, or Content.
type Submission struct {
	Session string `json:"session"`
	// Text is a message without files: 1 to 256,000 bytes of UTF-8 without NUL.
	Text string `json:"text,omitempty"`
	// Content is a message of blocks, whose order is kept (AT1): 1 to 32 of them. An empty list is no message; nil is one of Text.
	Content []ContentBlock `json:"content,omitzero"`
	Options TurnOptions    `json:"options,omitzero"`
}

// RunReference names a run. Its ID begins with its session's.
type RunReference struct {
	Session string `json:"session"`
	Run     string `json:"run"`
	// Accepted is the number of the run's turn_accepted event: Events after it are the run's own.
	Accepted uint64 `json:"accepted"`
	// Repeated is true when the submission ID had been accepted before.
	Repeated bool `json:"repeated,omitempty"`
}

// RunStatus is how a run stands (RU2). Interrupted is not an end.
type RunStatus string

const (
	StatusCompleted    RunStatus = "completed"
	StatusInterrupted  RunStatus = "interrupted"
	StatusLimitReached RunStatus = "limit_reached"
	StatusCancelled    RunStatus = "cancelled"
	StatusFailed       RunStatus = "failed"
)

// Result is a run's result, or where it stands while it waits (RU2).
type Result struct {
	Run    string    `json:"run"`
	Status RunStatus `json:"status"`
	// Text is the last answer's text, Content the same in the form that messages have.
	Text    string         `json:"text"`
	Content []ContentBlock `json:"content,omitempty"`
	// Interactions are the open ones, with StatusInterrupted.
	Interactions []Interaction `json:"interactions,omitempty"`
	// WaitingFor says what else keeps an interrupted run, for example credentials_missing.
	WaitingFor []WaitReason `json:"waitingFor,omitempty"`
	// Error tells why, with StatusFailed.
	Error *Failure `json:"error,omitempty"`

	// Usage is all that the turn used; AuxiliaryUsage is the part of it that reviewer and compaction calls used, which
	// the turn's limits do not count (LI6).
	Usage          Usage `json:"usage"`
	AuxiliaryUsage Usage `json:"auxiliaryUsage,omitzero"`
	// ModelCalls counts the turn's calls, lost and closing ones included.
	ModelCalls int `json:"modelCalls"`
	// AutoApproved counts the calls that application policy approved.
	AutoApproved int `json:"auto_approved"`
}

// Failure is why a run failed.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Retryable: what failed passes by itself, as a model's server that is overloaded does. What the program's own code
	// did, as with hook_failed, is not so, though the same message may do better in another turn.
	Retryable bool `json:"retryable"`
}

// Usage counts tokens. Estimated is true when a part of it is ours and not the provider's, for example
// after a call that was lost in a crash.
type Usage struct {
	InputTokens       int64 `json:"inputTokens"`
	CachedInputTokens int64 `json:"cachedInputTokens,omitempty"`
	OutputTokens      int64 `json:"outputTokens"`
	ReasoningTokens   int64 `json:"reasoningTokens,omitempty"`
	Estimated         bool  `json:"estimated,omitempty"`
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
		Estimated:         u.Estimated || v.Estimated,
	}
}

// HistoryItem is one item of a session's complete conversation, in the order in which the model sees it.
type HistoryItem struct {
	// Type: "user", "assistant", "reasoning", "tool_call", "tool_result", "notice" or "summary".
	Type  string    `json:"type"`
	Event uint64    `json:"event"` // number of the event that holds it
	Run   string    `json:"run,omitempty"`
	Time  time.Time `json:"time"`
	Text  string    `json:"text,omitempty"`
	// Content are the blocks of a message with content, in their order, files by reference; Text has its texts.
	Content   []ContentBlock `json:"content,omitempty"`
	CallID    string         `json:"callId,omitempty"` // of an imported call, the one that it was given with
	Name      string         `json:"name,omitempty"`
	Arguments string         `json:"arguments,omitempty"` // JSON text as the model gave it; of a result, what a person changed it to
	Output    string         `json:"output,omitempty"`
	Code      Code           `json:"code,omitempty"` // of a result that is not the tool's own
}
