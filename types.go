package openworker

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// The types of package api and the provider interface under one import; package api documents them.
type (
	Provider = model.Provider
	ModelRef = api.ModelRef

	AgentReference    = api.AgentReference
	Approvals         = api.Approvals
	ApprovalMode      = api.ApprovalMode
	Limits            = api.Limits
	BuiltinTools      = api.BuiltinTools
	UnknownOutcome    = api.UnknownOutcome
	CompactionOptions = api.CompactionOptions

	SessionReference   = api.SessionReference
	SessionOptions     = api.SessionOptions
	HistoryImport      = api.HistoryImport
	SessionState       = api.SessionState
	Activity           = api.Activity
	WaitReason         = api.WaitReason
	UnknownAction      = api.UnknownAction
	Timer              = api.Timer
	Grant              = api.Grant
	SessionInfo        = api.SessionInfo
	SessionQuery       = api.SessionQuery
	SessionInteraction = api.SessionInteraction
	InteractionQuery   = api.InteractionQuery
	HistoryItem        = api.HistoryItem
	HistoryPage        = api.HistoryPage
	HistoryQuery       = api.HistoryQuery

	TurnOptions  = api.TurnOptions
	WhenBusy     = api.WhenBusy
	RunReference = api.RunReference
	RunStatus    = api.RunStatus
	Result       = api.Result
	Failure      = api.Failure
	Usage        = api.Usage

	Interaction     = api.Interaction
	InteractionKind = api.InteractionKind
	InteractionCall = api.InteractionCall
	Answer          = api.Answer
	Decision        = api.Decision

	// Error is the one error type; the codes are constants of package api.
	Error = api.Error
	Code  = api.Code
)

// Who decides on a tool call (AP1).
const (
	ApproveAlways = api.ApproveAlways
	ApproveOnly   = api.ApproveOnly
	ApproveAuto   = api.ApproveAuto
	ApproveNever  = api.ApproveNever
)

// What happens to a side effect whose outcome nobody can tell (RE3).
const (
	OutcomeAsk       = api.OutcomeAsk
	OutcomeTellModel = api.OutcomeTellModel
)

// What a session is doing (SE3).
const (
	Idle       = api.Idle
	Running    = api.Running
	Waiting    = api.Waiting
	Recovering = api.Recovering
)

// What happens to a message that meets a running turn (SE4).
const (
	BusyReject    = api.BusyReject
	BusyQueue     = api.BusyQueue
	BusyInterrupt = api.BusyInterrupt
)

// How a run stands (RU2).
const (
	StatusCompleted    = api.StatusCompleted
	StatusInterrupted  = api.StatusInterrupted
	StatusLimitReached = api.StatusLimitReached
	StatusCancelled    = api.StatusCancelled
	StatusFailed       = api.StatusFailed
)

// What a person is asked, and the answers.
const (
	InteractionApproval       = api.InteractionApproval
	InteractionQuestion       = api.InteractionQuestion
	InteractionUnknownOutcome = api.InteractionUnknownOutcome

	AllowOnce    = api.AllowOnce
	AllowSession = api.AllowSession
	Deny         = api.Deny

	OutcomeSucceeded = api.OutcomeSucceeded
	OutcomeFailed    = api.OutcomeFailed
	OutcomeRetry     = api.OutcomeRetry

	InteractionCancelled = api.InteractionCancelled
)

// Targets for errors.Is.
var (
	ErrInvalidRequest      = api.ErrInvalidRequest
	ErrDefinitionConflict  = api.ErrDefinitionConflict
	ErrSubmissionConflict  = api.ErrSubmissionConflict
	ErrUnsupportedOption   = api.ErrUnsupportedOption
	ErrAgentNotFound       = api.ErrAgentNotFound
	ErrSessionNotFound     = api.ErrSessionNotFound
	ErrSessionDeleted      = api.ErrSessionDeleted
	ErrSessionBusy         = api.ErrSessionBusy
	ErrQueueFull           = api.ErrQueueFull
	ErrRunNotFound         = api.ErrRunNotFound
	ErrInteractionNotFound = api.ErrInteractionNotFound
	ErrAlreadyResolved     = api.ErrAlreadyResolved
	ErrCredentialsMissing  = api.ErrCredentialsMissing
	ErrRegistrationMissing = api.ErrRegistrationMissing
	ErrStoreBusy           = api.ErrStoreBusy
	ErrStoreTooNew         = api.ErrStoreTooNew
	ErrClosed              = api.ErrClosed
)

// CodeOf is the code of an error: internal for one that is not ours, "" for nil.
func CodeOf(err error) Code { return api.CodeOf(err) }

// Set returns a pointer to v, for options with three states: nil inherits, a pointer to the zero value
// clears, a pointer to another value sets.
func Set[T any](v T) *T { return &v }

// Data decodes the data of an event, for example Data[openworker.TurnEnded](event) of a turn_ended. An
// event without data gives the zero value.
func Data[T any](event Event) (T, error) {
	var data T
	if len(event.Data) == 0 {
		return data, nil
	}
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return data, api.Errorf(api.CodeInvalidRequest, "the data of event %d (%s) is not a %T: %w", event.Number, event.Type, data, err)
	}
	return data, nil
}
