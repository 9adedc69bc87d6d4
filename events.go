package openworker

import "github.com/openworkerai/openworker/api"

type (
	// Event is one public event of a session. Number is 0 for the live ones, which are not stored; [Data]
	// decodes what it holds.
	Event = api.Event
	// EventType is one of the Event constants, or one that a later version adds: pass those through.
	EventType = api.EventType
)

// The types of events, each with the type of its data. The last two are live only.
const (
	EventSessionCreated      = api.EventSessionCreated      // SessionCreated: always number 1
	EventSessionTakenOver    = api.EventSessionTakenOver    // SessionTakenOver: another process goes on
	EventSessionDeleted      = api.EventSessionDeleted      // none: the last event of a subscription
	EventHistoryImported     = api.EventHistoryImported     // HistoryImported: a part of the conversation that the session begins with
	EventTurnAccepted        = api.EventTurnAccepted        // TurnAccepted: the message is durable
	EventTurnStarted         = api.EventTurnStarted         // none: a queued turn begins
	EventCancelRequested     = api.EventCancelRequested     // CancelRequested: the turn will end
	EventTurnEnded           = api.EventTurnEnded           // TurnEnded: the run's terminal event
	EventModelCallStarted    = api.EventModelCallStarted    // ModelCallStarted: an attempt at a model call begins
	EventModelCallFailed     = api.EventModelCallFailed     // ModelCallFailed: this attempt's deltas are void
	EventModelCallFinished   = api.EventModelCallFinished   // ModelCallFinished: the answer is stored
	EventToolCallStarted     = api.EventToolCallStarted     // ToolCallStarted: the intent, before the tool runs
	EventToolCallFinished    = api.EventToolCallFinished    // ToolCallFinished: the outcome is stored
	EventToolCallLost        = api.EventToolCallLost        // ToolCallLost: its process ended before its outcome was stored
	EventToolCallInspected   = api.EventToolCallInspected   // ToolCallInspected: what an inspection found
	EventToolOutcomeLate     = api.EventToolOutcomeLate     // ToolCallFinished: of a call that its turn ended without
	EventInteractionRequired = api.EventInteractionRequired // InteractionRequired: a person is asked
	EventInteractionResolved = api.EventInteractionResolved // InteractionResolved: answered, or closed with its turn
	EventToolCallChecked     = api.EventToolCallChecked     // ToolCallChecked: the application's own check let the call pass
	EventToolCallReturned    = api.EventToolCallReturned    // ToolCallReturned: hooks and guardrails have its output
	EventReviewStarted       = api.EventReviewStarted       // ReviewStarted: the reviewer is asked about a call
	EventReviewFinished      = api.EventReviewFinished      // ReviewFinished: its verdict, or why there is none
	EventGrantRevoked        = api.EventGrantRevoked        // GrantRevoked: a session grant was taken back
	EventCompactionStarted   = api.EventCompactionStarted   // CompactionStarted: older history is summarised
	EventCompactionFailed    = api.EventCompactionFailed    // CompactionFailed: this attempt gave no summary
	EventCompactionFinished  = api.EventCompactionFinished  // CompactionFinished: the summary stands for the items from now on
	EventTextDelta           = api.EventTextDelta           // Delta: a piece of the answer's text
	EventReasoningDelta      = api.EventReasoningDelta      // Delta: a piece of the model's reasoning
)

// The data of events.
type (
	SessionCreated      = api.SessionCreated      // data of session_created: agent, workspace, owner, metadata
	SessionTakenOver    = api.SessionTakenOver    // data of session_taken_over: from which process to which
	HistoryImported     = api.HistoryImported     // data of history_imported: a message, or an answer with its calls and results
	ImportedItem        = api.ImportedItem        // one item of it
	TurnAccepted        = api.TurnAccepted        // data of turn_accepted: the message and its model
	AcceptedBlock       = api.AcceptedBlock       // one block of its content: a text, or what is known of a file
	CancelRequested     = api.CancelRequested     // data of turn_cancel_requested: by whom and why
	TurnEnded           = api.TurnEnded           // data of turn_ended: status, usage and failure of the run
	ModelCallStarted    = api.ModelCallStarted    // data of model_call_started: which call, which attempt
	ModelCallFailed     = api.ModelCallFailed     // data of model_call_failed: why, and when it is tried again
	ModelCallFinished   = api.ModelCallFinished   // data of model_call_finished: text, calls and usage of an answer
	RequestCall         = api.RequestCall         // one tool call that an answer asks for
	ToolCallStarted     = api.ToolCallStarted     // data of tool_call_started: which call, which attempt
	ToolCallFinished    = api.ToolCallFinished    // data of tool_call_finished and tool_outcome_late: the output, and a code where it failed
	ToolCallLost        = api.ToolCallLost        // data of tool_call_lost: which call, which attempt
	ToolCallInspected   = api.ToolCallInspected   // data of tool_call_inspected: what was found
	InteractionRequired = api.InteractionRequired // data of interaction_required: what is asked about which call
	InteractionResolved = api.InteractionResolved // data of interaction_resolved: the decision and who made it
	ToolCallChecked     = api.ToolCallChecked     // data of tool_call_checked: who decides on the call now
	ToolCallReturned    = api.ToolCallReturned    // data of tool_call_returned: which call, which attempt
	ReviewStarted       = api.ReviewStarted       // data of review_started: which call, which model
	ReviewFinished      = api.ReviewFinished      // data of review_finished: the verdict
	GrantRevoked        = api.GrantRevoked        // data of grant_revoked: which tool, by whom
	CompactionStarted   = api.CompactionStarted   // data of compaction_started: how much is summarised
	CompactionFailed    = api.CompactionFailed    // data of compaction_failed: why, and when it is tried again
	CompactionFinished  = api.CompactionFinished  // data of compaction_finished: the summary
	GuardVerdict        = api.GuardVerdict        // what a guardrail said that did not simply allow
	Delta               = api.Delta               // data of the live events: text, with the call and attempt that it belongs to
)
