package api

import (
	"encoding/json"
	"time"
)

// Event is one public event (RU3). Journalled events have numbers from 1, gap-free in a session. Live
// events (the delta types) have number 0 and carry the attempt they belong to; they are not stored.
type Event struct {
	Number uint64          `json:"number,omitempty"`
	Type   EventType       `json:"type"`
	Time   time.Time       `json:"time"`
	Run    string          `json:"run,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// EventType is a kind of event. Clients pass unknown kinds through.
type EventType string

// Journalled events. The comment names the data type.
const (
	EventSessionCreated      EventType = "session_created"       // SessionCreated
	EventSessionTakenOver    EventType = "session_taken_over"    // SessionTakenOver
	EventSessionDeleted      EventType = "session_deleted"       // none
	EventTurnAccepted        EventType = "turn_accepted"         // TurnAccepted
	EventTurnStarted         EventType = "turn_started"          // none: a queued turn begins
	EventCancelRequested     EventType = "turn_cancel_requested" // CancelRequested
	EventTurnEnded           EventType = "turn_ended"            // TurnEnded: the run's terminal event
	EventModelCallStarted    EventType = "model_call_started"    // ModelCallStarted
	EventModelCallFailed     EventType = "model_call_failed"     // ModelCallFailed: this attempt's deltas are void
	EventModelCallFinished   EventType = "model_call_finished"   // ModelCallFinished
	EventToolCallStarted     EventType = "tool_call_started"     // ToolCallStarted
	EventToolCallFinished    EventType = "tool_call_finished"    // ToolCallFinished
	EventToolCallLost        EventType = "tool_call_lost"        // ToolCallLost: its process ended before its outcome was stored
	EventToolCallInspected   EventType = "tool_call_inspected"   // ToolCallInspected
	EventToolOutcomeLate     EventType = "tool_outcome_late"     // ToolCallFinished
	EventInteractionRequired EventType = "interaction_required"  // InteractionRequired
	EventInteractionResolved EventType = "interaction_resolved"  // InteractionResolved
)

// Live events.
const (
	EventTextDelta      EventType = "text_delta"      // Delta
	EventReasoningDelta EventType = "reasoning_delta" // Delta
)

// SessionCreated is the data of session_created.
type SessionCreated struct {
	Agent     string            `json:"agent"`
	Digest    string            `json:"digest"`
	Workspace string            `json:"workspace,omitempty"`
	Owner     string            `json:"owner,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// SessionTakenOver is the data of session_taken_over: another process goes on.
type SessionTakenOver struct {
	Epoch   uint64 `json:"epoch"`
	From    string `json:"from,omitempty"`
	Process string `json:"process,omitempty"`
}

// TurnAccepted is the data of turn_accepted.
type TurnAccepted struct {
	Text         string   `json:"text"`
	Queued       bool     `json:"queued,omitempty"`
	SubmissionID string   `json:"submission_id,omitempty"`
	Model        ModelRef `json:"model"`
}

// CancelRequested is the data of turn_cancel_requested.
type CancelRequested struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// TurnEnded is the data of turn_ended.
type TurnEnded struct {
	Status RunStatus `json:"status"`
	// Answer is the number of the model_call_finished event with the run's last text, 0 if there is none.
	Answer       uint64   `json:"answer,omitempty"`
	Error        *Failure `json:"error,omitempty"`
	Usage        Usage    `json:"usage"`
	ModelCalls   int      `json:"model_calls"`
	AutoApproved int      `json:"auto_approved,omitempty"`
}

// ModelCallStarted is the data of model_call_started.
type ModelCallStarted struct {
	Call            int      `json:"call"`    // 1 for the turn's first
	Attempt         int      `json:"attempt"` // 1 for the call's first
	Epoch           uint64   `json:"epoch"`
	Model           ModelRef `json:"model"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	Closing         bool     `json:"closing,omitempty"`
}

// ModelCallFailed is the data of model_call_failed.
type ModelCallFailed struct {
	Call    int    `json:"call"`
	Attempt int    `json:"attempt"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// RetryAt is when the next attempt may start; zero when there is none.
	RetryAt time.Time `json:"retry_at,omitzero"`
	Usage   Usage     `json:"usage,omitzero"`
}

// ModelCallFinished is the data of model_call_finished.
type ModelCallFinished struct {
	Call    int           `json:"call"`
	Attempt int           `json:"attempt"`
	Text    string        `json:"text,omitempty"`
	Calls   []RequestCall `json:"calls,omitempty"`
	Stop    string        `json:"stop"` // "end", "tool_calls", "output_limit" or "filtered"
	Usage   Usage         `json:"usage"`
}

// RequestCall is one tool call that the model asked for.
type RequestCall struct {
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Code is why the call is not run, "" when it may be.
	Code Code `json:"code,omitempty"`
	// ApprovedBy is "policy", "grant" or "never" where no person is asked, "" where one is.
	ApprovedBy string `json:"approved_by,omitempty"`
}

// ToolCallLost is the data of tool_call_lost. Again is true when the action is repeatable and runs again
// under the same call ID; otherwise its outcome is unknown until it is settled (RE3).
type ToolCallLost struct {
	CallID  string `json:"call_id"`
	Attempt int    `json:"attempt"`
	Again   bool   `json:"again,omitempty"`
}

// ToolCallStarted is the data of tool_call_started: the intent, durable before a side effect's body runs.
type ToolCallStarted struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Attempt int    `json:"attempt"`
	Epoch   uint64 `json:"epoch"`
}

// ToolCallFinished is the data of tool_call_finished.
type ToolCallFinished struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Output  string `json:"output"`
	// Code is why there is no output of the tool's own, "" after a success.
	Code Code `json:"code,omitempty"`
}

// ToolCallInspected is the data of tool_call_inspected.
type ToolCallInspected struct {
	CallID  string    `json:"call_id"`
	Attempt int       `json:"attempt"`
	Answer  string    `json:"answer"` // succeeded, failed, not_started, running, unknown
	Again   time.Time `json:"again,omitzero"`
}

// InteractionRequired is the data of interaction_required.
type InteractionRequired struct {
	ID     string           `json:"id"`
	Kind   InteractionKind  `json:"kind"`
	Call   *InteractionCall `json:"call,omitempty"`
	Origin string           `json:"origin,omitempty"`
}

// InteractionResolved is the data of interaction_resolved. Decision is an answer's, or "cancelled".
type InteractionResolved struct {
	ID       string   `json:"id"`
	Decision Decision `json:"decision"`
	By       string   `json:"by,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// Delta is the data of text_delta and reasoning_delta. A client drops the text that it has when any of
// call, attempt and epoch changes. From is the byte offset of Text in the attempt's text so far.
type Delta struct {
	Call    int    `json:"call"`
	Attempt int    `json:"attempt"`
	Epoch   uint64 `json:"epoch"`
	From    int    `json:"from"`
	Text    string `json:"text"`
}
