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

// Journalled events. The comment names the data type, and when the event is written.
const (
	EventSessionCreated      EventType = "session_created"       // SessionCreated: the session is there, and its agent is fixed
	EventHistoryImported     EventType = "history_imported"      // HistoryImported: a part of the conversation that the session began with
	EventSessionTakenOver    EventType = "session_taken_over"    // SessionTakenOver: another process goes on with the session, or is to
	EventSessionDeleted      EventType = "session_deleted"       // none: the last event; what came before it is removed
	EventTurnAccepted        EventType = "turn_accepted"         // TurnAccepted: a message is durable; a repeated submission adds none
	EventTurnStarted         EventType = "turn_started"          // none: a queued turn begins
	EventCancelRequested     EventType = "turn_cancel_requested" // CancelRequested: the turn is to end; turn_ended says that it has
	EventTurnEnded           EventType = "turn_ended"            // TurnEnded: the run's terminal event
	EventModelCallStarted    EventType = "model_call_started"    // ModelCallStarted: an attempt's intent, before the model is asked
	EventModelCallFailed     EventType = "model_call_failed"     // ModelCallFailed: this attempt's deltas are void
	EventModelCallFinished   EventType = "model_call_finished"   // ModelCallFinished: a whole answer, with the calls that it asks for
	EventToolCallStarted     EventType = "tool_call_started"     // ToolCallStarted: an attempt's intent; a side effect's function runs once it is durable
	EventToolCallFinished    EventType = "tool_call_finished"    // ToolCallFinished: a call's one result, also where it was denied; a call that model_call_finished has with a code ends there
	EventToolCallLost        EventType = "tool_call_lost"        // ToolCallLost: its process ended before its outcome was stored
	EventToolCallInspected   EventType = "tool_call_inspected"   // ToolCallInspected: an inspection settled nothing, or found that the attempt did not begin
	EventToolOutcomeLate     EventType = "tool_outcome_late"     // ToolCallFinished: a function returned after its call was closed as unknown
	EventInteractionRequired EventType = "interaction_required"  // InteractionRequired: a person is asked; a review that decides has the pair too
	EventInteractionResolved EventType = "interaction_resolved"  // InteractionResolved: the answer is durable, or the turn was cancelled around it
	EventToolCallChecked     EventType = "tool_call_checked"     // ToolCallChecked: the application's own check let it pass
	EventToolCallReturned    EventType = "tool_call_returned"    // ToolCallReturned: hooks and guardrails have its output now
	EventReviewStarted       EventType = "review_started"        // ReviewStarted: an attempt's intent, before the reviewer model is asked
	EventReviewFinished      EventType = "review_finished"       // ReviewFinished: its verdict, or why there is none
	EventGrantRevoked        EventType = "grant_revoked"         // GrantRevoked: later calls of the tool are decided on as before the grant
	EventCompactionStarted   EventType = "compaction_started"    // CompactionStarted: an attempt's intent, before a model is asked for a summary
	EventCompactionFailed    EventType = "compaction_failed"     // CompactionFailed: no summary; another attempt may follow
	EventCompactionFinished  EventType = "compaction_finished"   // CompactionFinished: from here on the model gets the summary for the older part
)

// Live events.
const (
	EventTextDelta      EventType = "text_delta"      // Delta: a piece of an answer, as it comes
	EventReasoningDelta EventType = "reasoning_delta" // Delta: a piece of a model's reasoning, as it comes
)

// SessionCreated is the data of session_created.
type SessionCreated struct {
	Agent     string            `json:"agent"`
	Digest    string            `json:"digest"`
	Workspace string            `json:"workspace,omitempty"`
	Owner     string            `json:"owner,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// HistoryImported is the data of history_imported: a message, or an answer with its calls and their results, that was
// given when the session was created (IM1). Nothing of it was executed here.
type HistoryImported struct {
	Items []ImportedItem `json:"items"`
}

// ImportedItem is one imported item; see [HistoryImport].
type ImportedItem struct {
	Type      string `json:"type"`
	Text      string `json:"text,omitempty"`
	CallID    string `json:"call_id,omitempty"` // as it was given
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"` // JSON text
	Output    string `json:"output,omitempty"`
}

// SessionTakenOver is the data of session_taken_over: another process goes on, or is to: then Process is "", and the one
// that held the session lacks what the turn needs.
type SessionTakenOver struct {
	Epoch   uint64 `json:"epoch"`
	From    string `json:"from,omitempty"`
	Process string `json:"process,omitempty"`
}

// TurnAccepted is the data of turn_accepted.
type TurnAccepted struct {
	// Text is the message; of one with content its text blocks, joined by empty lines.
	Text string `json:"text"`
	// Content are the blocks of a message with content, files by reference (AT6).
	Content []AcceptedBlock `json:"content,omitempty"`
	// Kind is "" for a message and "compaction" for a run that only summarises (CO1).
	Kind         string   `json:"kind,omitempty"`
	Queued       bool     `json:"queued,omitempty"`
	SubmissionID string   `json:"submission_id,omitempty"`
	Model        ModelRef `json:"model"`
	// Guardrails says what guardrails did to the text before it was stored.
	Guardrails []GuardVerdict `json:"guardrails,omitempty"`
}

// AcceptedBlock is a block of an accepted message: a text, or a stored file.
type AcceptedBlock struct {
	Type      BlockType `json:"type"`
	Text      string    `json:"text,omitempty"`
	Name      string    `json:"name,omitempty"`
	ID        string    `json:"id,omitempty"` // of the attachment
	MediaType string    `json:"media_type,omitempty"`
	Size      int64     `json:"size,omitempty"`   // in bytes
	SHA256    string    `json:"sha256,omitempty"` // of the bytes, in hex
}

// GuardVerdict is what a guardrail said that did not simply allow (GR1).
type GuardVerdict struct {
	Name  string `json:"name"`
	Point string `json:"point"` // user_input, model_input, tool_result or model_output
	// Action is "redact" or "block", or "fail" where the guardrail gave no verdict and the check failed closed.
	Action string `json:"action"`
	Reason string `json:"reason,omitempty"`
	// File is the name of the file that it is about, "" for another text.
	File string `json:"file,omitempty"`
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
	Answer uint64   `json:"answer,omitempty"`
	Error  *Failure `json:"error,omitempty"`
	Usage  Usage    `json:"usage"`
	// AuxiliaryUsage is the part of Usage that reviewer and compaction calls used.
	AuxiliaryUsage Usage `json:"auxiliary_usage,omitzero"`
	ModelCalls     int   `json:"model_calls"`
	AutoApproved   int   `json:"auto_approved,omitempty"`
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
	RetryAt    time.Time      `json:"retry_at,omitzero"`
	Usage      Usage          `json:"usage,omitzero"`
	Guardrails []GuardVerdict `json:"guardrails,omitempty"`
}

// ModelCallFinished is the data of model_call_finished.
type ModelCallFinished struct {
	Call    int           `json:"call"`
	Attempt int           `json:"attempt"`
	Text    string        `json:"text,omitempty"`
	Calls   []RequestCall `json:"calls,omitempty"`
	Stop    string        `json:"stop"` // "end", "tool_calls", "output_limit" or "filtered"
	Usage   Usage         `json:"usage"`
	// Guardrails says what guardrails did to the request or to this answer.
	Guardrails []GuardVerdict `json:"guardrails,omitempty"`
}

// RequestCall is one tool call that the model asked for.
type RequestCall struct {
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Code is why the call is not run, for example arguments_invalid, "" when it may be. That is its result: no
	// tool_call_finished follows.
	Code Code `json:"code,omitempty"`
	// ApprovedBy is "policy", "grant", "never", "builtin" or "permission" where nobody is asked, "" where a person or
	// the reviewer is, or where the application's own check comes first (tool_call_checked says it then).
	ApprovedBy string `json:"approved_by,omitempty"`
}

// ToolCallChecked is the data of tool_call_checked: the application's own check let the call pass (AP2).
// ApprovedBy is as in RequestCall.
type ToolCallChecked struct {
	CallID     string `json:"call_id"`
	ApprovedBy string `json:"approved_by,omitempty"`
}

// ToolCallReturned is the data of tool_call_returned: the body has returned, and hooks or guardrails look at its
// output, which is not stored yet. When the process ends before they are done, that output is lost.
type ToolCallReturned struct {
	CallID  string `json:"call_id"`
	Attempt int    `json:"attempt"`
	Failed  bool   `json:"failed,omitempty"`
}

// ReviewStarted is the data of review_started: the reviewer model is asked about a call (AP5).
type ReviewStarted struct {
	CallID  string   `json:"call_id"`
	Attempt int      `json:"attempt"`
	Epoch   uint64   `json:"epoch"`
	Model   ModelRef `json:"model"`
}

// ReviewFinished is the data of review_finished. Unless it is followed by another attempt, or its turn was cancelled
// meanwhile, its interaction follows at once, also where nobody is asked.
type ReviewFinished struct {
	CallID  string `json:"call_id"`
	Attempt int    `json:"attempt"`
	Review  Review `json:"review"`
	// Again: the attempt was lost with its process, and another follows.
	Again bool  `json:"again,omitempty"`
	Usage Usage `json:"usage"`
}

// GrantRevoked is the data of grant_revoked.
type GrantRevoked struct {
	Tool string `json:"tool"`
	By   string `json:"by,omitempty"`
}

// CompactionStarted is the data of compaction_started: older items are summarised (CO1).
type CompactionStarted struct {
	Attempt int      `json:"attempt"`
	Epoch   uint64   `json:"epoch"`
	Model   ModelRef `json:"model"`
	// Items is how many items of the context are summarised, a summary before this one counted as one; 0 where long items
	// are only shortened.
	Items int `json:"items"`
	// ItemBytes is what longer items of the rest are shortened to for the model, 0 for no bound.
	ItemBytes int `json:"item_bytes,omitempty"`
	// Tokens is an estimate of the context's size before.
	Tokens int `json:"tokens"`
}

// CompactionFailed is the data of compaction_failed: this attempt gave no summary.
type CompactionFailed struct {
	Attempt int       `json:"attempt"`
	Code    Code      `json:"code"`
	Message string    `json:"message"`
	RetryAt time.Time `json:"retry_at,omitzero"` // when the next attempt may start; zero when there is none
	// GivenUp: no further attempt is made and the run goes on. The items are left out for the model, and a word of the
	// host that says so stands in their place: compaction_finished follows with it.
	GivenUp    bool           `json:"given_up,omitempty"`
	Usage      Usage          `json:"usage,omitzero"`
	Guardrails []GuardVerdict `json:"guardrails,omitempty"`
}

// CompactionFinished is the data of compaction_finished. Summary stands for the items from then on; the complete
// history stays readable. Without Items and ItemBytes nothing could be made smaller, and the call is tried as it is.
type CompactionFinished struct {
	// Attempt is the one that gave the summary; 0 where no model did: items were only shortened, or, with Items, left
	// out after a compaction_failed that was given up.
	Attempt int    `json:"attempt"`
	Summary string `json:"summary,omitempty"`
	Items   int    `json:"items"`
	// ItemBytes is as in CompactionStarted.
	ItemBytes int   `json:"item_bytes,omitempty"`
	Tokens    int   `json:"tokens"` // an estimate of the context's size after
	Usage     Usage `json:"usage"`
	// Guardrails says what guardrails did to the request or to the summary.
	Guardrails []GuardVerdict `json:"guardrails,omitempty"`
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
	Code       Code           `json:"code,omitempty"`
	Guardrails []GuardVerdict `json:"guardrails,omitempty"`
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
	ID       string           `json:"id"`
	Kind     InteractionKind  `json:"kind"`
	Call     *InteractionCall `json:"call,omitempty"`
	Question *Question        `json:"question,omitempty"`
	Origin   string           `json:"origin,omitempty"`
	Review   *Review          `json:"review,omitempty"`
}

// InteractionResolved is the data of interaction_resolved. Decision is an answer's, or "cancelled".
//
// By is "reviewer" where the reviewer decided, "grant" where a grant was given while it was asked, and "agent" where
// the agent skips questions.
type InteractionResolved struct {
	ID        string          `json:"id"`
	Decision  Decision        `json:"decision"`
	By        string          `json:"by,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // what a person changed the call's to
	Answers   []string        `json:"answers,omitempty"`
	Review    *Review         `json:"review,omitempty"`
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
