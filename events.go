package openworker

import "github.com/openworkerai/openworker/api"

// Event is one public event; see the constants for its types, and [Data] for what it holds.
type (
	Event     = api.Event
	EventType = api.EventType
)

// Journalled events, and the two live ones that have no number. Each names the type of its data.
const (
	EventSessionCreated      = api.EventSessionCreated      // SessionCreated
	EventSessionTakenOver    = api.EventSessionTakenOver    // SessionTakenOver
	EventSessionDeleted      = api.EventSessionDeleted      // none
	EventTurnAccepted        = api.EventTurnAccepted        // TurnAccepted
	EventTurnStarted         = api.EventTurnStarted         // none
	EventCancelRequested     = api.EventCancelRequested     // CancelRequested
	EventTurnEnded           = api.EventTurnEnded           // TurnEnded
	EventModelCallStarted    = api.EventModelCallStarted    // ModelCallStarted
	EventModelCallFailed     = api.EventModelCallFailed     // ModelCallFailed
	EventModelCallFinished   = api.EventModelCallFinished   // ModelCallFinished
	EventToolCallStarted     = api.EventToolCallStarted     // ToolCallStarted
	EventToolCallFinished    = api.EventToolCallFinished    // ToolCallFinished
	EventToolCallLost        = api.EventToolCallLost        // ToolCallLost
	EventToolCallInspected   = api.EventToolCallInspected   // ToolCallInspected
	EventToolOutcomeLate     = api.EventToolOutcomeLate     // ToolCallFinished
	EventInteractionRequired = api.EventInteractionRequired // InteractionRequired
	EventInteractionResolved = api.EventInteractionResolved // InteractionResolved
	EventTextDelta           = api.EventTextDelta           // Delta
	EventReasoningDelta      = api.EventReasoningDelta      // Delta
)

// The data of events.
type (
	SessionCreated      = api.SessionCreated
	SessionTakenOver    = api.SessionTakenOver
	TurnAccepted        = api.TurnAccepted
	CancelRequested     = api.CancelRequested
	TurnEnded           = api.TurnEnded
	ModelCallStarted    = api.ModelCallStarted
	ModelCallFailed     = api.ModelCallFailed
	ModelCallFinished   = api.ModelCallFinished
	RequestCall         = api.RequestCall
	ToolCallStarted     = api.ToolCallStarted
	ToolCallFinished    = api.ToolCallFinished
	ToolCallLost        = api.ToolCallLost
	ToolCallInspected   = api.ToolCallInspected
	InteractionRequired = api.InteractionRequired
	InteractionResolved = api.InteractionResolved
	Delta               = api.Delta
)
