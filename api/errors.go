package api

import (
	"errors"
	"fmt"
)

// Code names one kind of failure. The list is closed (FA8): see [Codes].
type Code string

// The codes, by what went wrong. [Codes] has the meaning of each.
const (
	// What the caller sent.
	CodeInvalidRequest     Code = "invalid_request"
	CodeInvalidAgent       Code = "invalid_agent"
	CodeInvalidTool        Code = "invalid_tool"
	CodeInvalidLimits      Code = "invalid_limits"
	CodeInvalidGuidance    Code = "invalid_guidance"
	CodeInvalidWorkspace   Code = "invalid_workspace"
	CodeUnknownProvider    Code = "unknown_provider"
	CodeUnsupportedOption  Code = "unsupported_option"
	CodeDefinitionConflict Code = "definition_conflict"
	CodeSubmissionConflict Code = "submission_conflict"

	// What it named.
	CodeAgentNotFound       Code = "agent_not_found"
	CodeSessionNotFound     Code = "session_not_found"
	CodeSessionDeleted      Code = "session_deleted"
	CodeSessionParked       Code = "session_parked"
	CodeForeignStore        Code = "foreign_store"
	CodeWrongAgent          Code = "wrong_agent"
	CodeRunNotFound         Code = "run_not_found"
	CodeInteractionNotFound Code = "interaction_not_found"
	CodeAlreadyResolved     Code = "already_resolved"

	// The state it met.
	CodeSessionBusy         Code = "session_busy"
	CodeQueueFull           Code = "queue_full"
	CodeCredentialsMissing  Code = "credentials_missing"
	CodeRegistrationMissing Code = "registration_missing"

	// How a turn ended.
	CodeProviderError        Code = "provider_error"
	CodeProviderOverloaded   Code = "provider_overloaded"
	CodeProviderUnreachable  Code = "provider_unreachable"
	CodeRateLimited          Code = "rate_limited"
	CodeQuotaExhausted       Code = "quota_exhausted"
	CodeAuthenticationFailed Code = "authentication_failed"
	CodeModelNotFound        Code = "model_not_found"
	CodeRequestTooLarge      Code = "request_too_large"
	CodeContextExhausted     Code = "context_exhausted"
	CodeStreamCut            Code = "stream_cut"
	CodeContentFiltered      Code = "content_filtered"
	CodeCallLost             Code = "call_lost"
	CodeRecoveryExhausted    Code = "recovery_exhausted"

	// How a tool call ended without a result of its own.
	CodeArgumentsInvalid Code = "arguments_invalid"
	CodeUnknownTool      Code = "unknown_tool"
	CodeToolDisabled     Code = "tool_disabled"
	CodeCallCutOff       Code = "call_cut_off"
	CodeToolFailed       Code = "tool_failed"
	CodeToolPanicked     Code = "tool_panicked"
	CodeToolTimeout      Code = "tool_timeout"
	CodeDenied           Code = "denied"
	CodeCancelled        Code = "cancelled"
	CodeOutcomeUnknown   Code = "outcome_unknown"
	CodeOutputLost       Code = "output_lost"
	CodeCheckFailed      Code = "check_failed"

	// What a reviewer, a guardrail or a hook came to.
	CodeReviewTimeout    Code = "review_timeout"
	CodeReviewInvalid    Code = "review_invalid"
	CodeGuardrailBlocked Code = "guardrail_blocked"
	CodeGuardrailFailed  Code = "guardrail_failed"
	CodeGuardrailMissing Code = "guardrail_missing"
	CodeHookVetoed       Code = "hook_vetoed"
	CodeHookFailed       Code = "hook_failed"

	CodeUnsupportedMedia     Code = "unsupported_media"
	CodeAttachmentTooLarge   Code = "attachment_too_large"
	CodeAttachmentQuota      Code = "attachment_quota_exceeded"
	CodeAttachmentNotFound   Code = "attachment_not_found"
	CodeUploadConflict       Code = "upload_conflict"
	CodeUninspectableContent Code = "uninspectable_content"
	CodeInvalidHistory       Code = "invalid_history"

	// The store and the host.
	CodeStoreBusy        Code = "store_busy"
	CodeStoreFull        Code = "store_full"
	CodeStoreReadOnly    Code = "store_read_only"
	CodeStoreCorrupt     Code = "store_corrupt"
	CodeStoreTooNew      Code = "store_too_new"
	CodeStoreUnsupported Code = "store_unsupported"
	CodeStoreUnavailable Code = "store_unavailable"
	CodeClosed           Code = "closed"

	// The connection of a client and its runtime.
	CodeRuntimeNotFound     Code = "runtime_not_found"
	CodeRuntimeExited       Code = "runtime_exited"
	CodeIncompatibleVersion Code = "incompatible_version"
	CodeFrameTooLarge       Code = "frame_too_large"

	CodeInternal Code = "internal"
)

// Error is the one error type of every face. Compare by code: errors.Is(err, api.ErrSessionBusy).
type Error struct {
	// Code is stable; programs branch on it.
	Code Code `json:"code"`
	// Message says what was wrong with which input and what to do next. It is for people and may change.
	Message string `json:"message"`
	// Details holds the values that a program may want, for example "run" with session_busy.
	Details map[string]string `json:"details,omitempty"`

	cause error
}

// Errorf makes an error of the code. A %w operand becomes the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// With returns the error with one detail added. It changes the receiver; use it while building.
func (e *Error) With(key, value string) *Error {
	if e.Details == nil {
		e.Details = map[string]string{}
	}
	e.Details[key] = value
	return e
}

func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Message
}

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Unwrap returns the cause, which never crosses a process boundary.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether the same request may succeed later, unchanged.
func (e *Error) Retryable() bool { return codeInfo[e.Code].Retryable }

// CodeOf returns the code of err: CodeInternal for an error that is not one of ours, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// AsError returns err as an *Error; an error that is not one of ours becomes CodeInternal.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeInternal, Message: err.Error(), cause: err}
}

// Targets for errors.Is, one for each code that a method of [Service] returns as its error.
var (
	ErrInvalidRequest       = &Error{Code: CodeInvalidRequest}
	ErrInvalidAgent         = &Error{Code: CodeInvalidAgent}
	ErrInvalidTool          = &Error{Code: CodeInvalidTool}
	ErrInvalidLimits        = &Error{Code: CodeInvalidLimits}
	ErrInvalidGuidance      = &Error{Code: CodeInvalidGuidance}
	ErrInvalidWorkspace     = &Error{Code: CodeInvalidWorkspace}
	ErrUnknownProvider      = &Error{Code: CodeUnknownProvider}
	ErrUnsupportedOption    = &Error{Code: CodeUnsupportedOption}
	ErrDefinitionConflict   = &Error{Code: CodeDefinitionConflict}
	ErrSubmissionConflict   = &Error{Code: CodeSubmissionConflict}
	ErrAgentNotFound        = &Error{Code: CodeAgentNotFound}
	ErrSessionNotFound      = &Error{Code: CodeSessionNotFound}
	ErrSessionDeleted       = &Error{Code: CodeSessionDeleted}
	ErrSessionParked        = &Error{Code: CodeSessionParked}
	ErrForeignStore         = &Error{Code: CodeForeignStore}
	ErrWrongAgent           = &Error{Code: CodeWrongAgent}
	ErrRunNotFound          = &Error{Code: CodeRunNotFound}
	ErrInteractionNotFound  = &Error{Code: CodeInteractionNotFound}
	ErrAlreadyResolved      = &Error{Code: CodeAlreadyResolved}
	ErrSessionBusy          = &Error{Code: CodeSessionBusy}
	ErrQueueFull            = &Error{Code: CodeQueueFull}
	ErrCredentialsMissing   = &Error{Code: CodeCredentialsMissing}
	ErrRegistrationMissing  = &Error{Code: CodeRegistrationMissing}
	ErrArgumentsInvalid     = &Error{Code: CodeArgumentsInvalid}
	ErrGuardrailBlocked     = &Error{Code: CodeGuardrailBlocked}
	ErrGuardrailFailed      = &Error{Code: CodeGuardrailFailed}
	ErrGuardrailMissing     = &Error{Code: CodeGuardrailMissing}
	ErrUnsupportedMedia     = &Error{Code: CodeUnsupportedMedia}
	ErrAttachmentTooLarge   = &Error{Code: CodeAttachmentTooLarge}
	ErrAttachmentQuota      = &Error{Code: CodeAttachmentQuota}
	ErrAttachmentNotFound   = &Error{Code: CodeAttachmentNotFound}
	ErrUploadConflict       = &Error{Code: CodeUploadConflict}
	ErrUninspectableContent = &Error{Code: CodeUninspectableContent}
	ErrInvalidHistory       = &Error{Code: CodeInvalidHistory}
	ErrCancelled            = &Error{Code: CodeCancelled}
	ErrStoreBusy            = &Error{Code: CodeStoreBusy}
	ErrStoreFull            = &Error{Code: CodeStoreFull}
	ErrStoreReadOnly        = &Error{Code: CodeStoreReadOnly}
	ErrStoreCorrupt         = &Error{Code: CodeStoreCorrupt}
	ErrStoreTooNew          = &Error{Code: CodeStoreTooNew}
	ErrStoreUnsupported     = &Error{Code: CodeStoreUnsupported}
	ErrStoreUnavailable     = &Error{Code: CodeStoreUnavailable}
	ErrClosed               = &Error{Code: CodeClosed}
	ErrRuntimeNotFound      = &Error{Code: CodeRuntimeNotFound}
	ErrRuntimeExited        = &Error{Code: CodeRuntimeExited}
	ErrIncompatibleVersion  = &Error{Code: CodeIncompatibleVersion}
	ErrFrameTooLarge        = &Error{Code: CodeFrameTooLarge}
	ErrInternal             = &Error{Code: CodeInternal}
)
