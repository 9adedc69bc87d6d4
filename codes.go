package openworker

import "github.com/openworkerai/openworker/api"

// The codes of errors and of failed runs: a closed list (FA8), which docs/errors.md shows with what may be
// sent again and with HTTP statuses.
const (
	CodeInvalidRequest       = api.CodeInvalidRequest       // a field of the request is missing, malformed or out of bounds
	CodeInvalidAgent         = api.CodeInvalidAgent         // the agent definition breaks a rule; the message names the field
	CodeInvalidTool          = api.CodeInvalidTool          // a tool's name, schema or effect is not acceptable
	CodeInvalidLimits        = api.CodeInvalidLimits        // a limit is zero, negative, contradictory or above the model's own maximum
	CodeInvalidGuidance      = api.CodeInvalidGuidance      // a guidance text is over 32,000 bytes, holds a NUL or is not UTF-8
	CodeInvalidWorkspace     = api.CodeInvalidWorkspace     // the workspace is missing, not a directory, or overlaps the state directory
	CodeUnknownProvider      = api.CodeUnknownProvider      // no host knows a provider of that name, and this process has none; the message lists the names that are known
	CodeUnsupportedOption    = api.CodeUnsupportedOption    // this host does not support an option that was given; nothing was done
	CodeDefinitionConflict   = api.CodeDefinitionConflict   // another definition is registered under that name; the message names the fields that differ
	CodeSubmissionConflict   = api.CodeSubmissionConflict   // the submission ID was used for a different submission; the message names what differs
	CodeAgentNotFound        = api.CodeAgentNotFound        // no agent of that name is registered in this store
	CodeSessionNotFound      = api.CodeSessionNotFound      // no such session in this store
	CodeSessionDeleted       = api.CodeSessionDeleted       // the session was deleted
	CodeSessionParked        = api.CodeSessionParked        // the session's journal cannot be folded by this build; it is set aside with its reason
	CodeForeignStore         = api.CodeForeignStore         // the reference belongs to another store
	CodeWrongAgent           = api.CodeWrongAgent           // the session belongs to another agent than the one it was resumed with
	CodeRunNotFound          = api.CodeRunNotFound          // no such run in this session
	CodeInteractionNotFound  = api.CodeInteractionNotFound  // no such interaction in this session
	CodeAlreadyResolved      = api.CodeAlreadyResolved      // the interaction was resolved with a different answer
	CodeSessionBusy          = api.CodeSessionBusy          // a turn is under way; the message names its run
	CodeQueueFull            = api.CodeQueueFull            // the session's queue of messages, or of inputs not yet stored, is full
	CodeCredentialsMissing   = api.CodeCredentialsMissing   // this process has no credential for the provider; the turn waits until it has
	CodeRegistrationMissing  = api.CodeRegistrationMissing  // this process lacks the agent, a tool of it or the provider; the turn waits until a process has them
	CodeProviderError        = api.CodeProviderError        // the provider refused the request; its own message is given
	CodeProviderOverloaded   = api.CodeProviderOverloaded   // the provider is overloaded or failed on its side
	CodeProviderUnreachable  = api.CodeProviderUnreachable  // the provider could not be reached
	CodeRateLimited          = api.CodeRateLimited          // the provider's rate limit was hit
	CodeQuotaExhausted       = api.CodeQuotaExhausted       // the provider's account has no quota left
	CodeAuthenticationFailed = api.CodeAuthenticationFailed // the provider refused the credential
	CodeModelNotFound        = api.CodeModelNotFound        // the provider does not know the model
	CodeRequestTooLarge      = api.CodeRequestTooLarge      // the request is larger than the provider or its edge accepts
	CodeContextExhausted     = api.CodeContextExhausted     // the conversation does not fit the model's window
	CodeStreamCut            = api.CodeStreamCut            // the provider's stream ended without its end mark, or stood still for too long
	CodeContentFiltered      = api.CodeContentFiltered      // the provider's content filter stopped the answer
	CodeCallLost             = api.CodeCallLost             // the process that made the model call ended before the answer was stored; the call counts
	CodeRecoveryExhausted    = api.CodeRecoveryExhausted    // three take-overs brought no progress; the run was ended
	CodeArgumentsInvalid     = api.CodeArgumentsInvalid     // the model's arguments do not parse or do not match the tool's schema
	CodeUnknownTool          = api.CodeUnknownTool          // the model called a tool that the agent does not have
	CodeToolDisabled         = api.CodeToolDisabled         // the model called a built-in tool that is off for this agent
	CodeCallCutOff           = api.CodeCallCutOff           // the answer was cut off at its output limit, so its tool calls were not run
	CodeToolFailed           = api.CodeToolFailed           // the tool returned an error
	CodeToolPanicked         = api.CodeToolPanicked         // the tool panicked; the process lives on
	CodeToolTimeout          = api.CodeToolTimeout          // the tool did not finish in time
	CodeDenied               = api.CodeDenied               // a person or a rule denied the action
	CodeCancelled            = api.CodeCancelled            // the turn was cancelled, or the caller stopped waiting: then send again with the same submission ID to learn whether it was accepted
	CodeOutcomeUnknown       = api.CodeOutcomeUnknown       // the action had started when its process ended; whether it took effect is not known
	CodeOutputLost           = api.CodeOutputLost           // the action returned, and its process ended before hooks and guardrails had looked at the output
	CodeCheckFailed          = api.CodeCheckFailed          // the application's own check of the action failed, so it was not run; nobody has refused it
	CodeReviewTimeout        = api.CodeReviewTimeout        // the reviewer did not answer in time; a person is asked
	CodeReviewInvalid        = api.CodeReviewInvalid        // the reviewer's answer is not of the form that it must have, or the action is too large to review; a person is asked
	CodeGuardrailBlocked     = api.CodeGuardrailBlocked     // a guardrail blocked the text; the message names it and gives its reason
	CodeGuardrailFailed      = api.CodeGuardrailFailed      // a guardrail failed, did not answer in time, or the text is over 128,000 bytes; what it guards did not pass
	CodeGuardrailMissing     = api.CodeGuardrailMissing     // a guardrail that is in force is not registered in this process
	CodeHookVetoed           = api.CodeHookVetoed           // a before-model hook refused the request; the message gives its reason
	CodeHookFailed           = api.CodeHookFailed           // a hook failed or did not answer in time
	CodeUnsupportedMedia     = api.CodeUnsupportedMedia     // the file is of a kind that is not taken, is damaged, is not what it is said to be, or the model does not take its kind; the message names it
	CodeAttachmentTooLarge   = api.CodeAttachmentTooLarge   // a file, or the files of a message together, are over a bound, ours or the model's own; the message names it
	CodeAttachmentQuota      = api.CodeAttachmentQuota      // the session keeps as many files, or as many bytes of them, as it may; files that were sent stay, so use a new session
	CodeAttachmentNotFound   = api.CodeAttachmentNotFound   // the session has no such file: it was never uploaded, its upload was not committed or has expired, or a guardrail's redaction took its place; send it again
	CodeUploadConflict       = api.CodeUploadConflict       // bytes or a description of a file differ from those that came before, or from what was announced
	CodeUninspectableContent = api.CodeUninspectableContent // a guardrail is in force that cannot look into a file, since it is no text; the message names both
	CodeInvalidHistory       = api.CodeInvalidHistory       // the conversation to import breaks a rule; the message names the item and the rule, and no session was made
	CodeStoreBusy            = api.CodeStoreBusy            // another process holds the store's write lock; nothing was written
	CodeStoreFull            = api.CodeStoreFull            // the disk that holds the store is full; nothing was written
	CodeStoreReadOnly        = api.CodeStoreReadOnly        // the store cannot be written by this process
	CodeStoreCorrupt         = api.CodeStoreCorrupt         // the store is damaged; restore a back-up
	CodeStoreTooNew          = api.CodeStoreTooNew          // the store was written by a newer version, which this build must not touch
	CodeStoreUnsupported     = api.CodeStoreUnsupported     // the store is on a file system, or of a kind, that cannot keep the guarantees
	CodeStoreUnavailable     = api.CodeStoreUnavailable     // the store could not be reached or read
	CodeClosed               = api.CodeClosed               // the harness or the stream was closed
	CodeRuntimeNotFound      = api.CodeRuntimeNotFound      // a client cannot start the runtime: its program is not there, not for this machine, or does not start
	CodeRuntimeExited        = api.CodeRuntimeExited        // the runtime that a client had started ended; open the same state directory again, and what was under way goes on
	CodeIncompatibleVersion  = api.CodeIncompatibleVersion  // client and runtime speak no common version of the protocol; install matching versions
	CodeFrameTooLarge        = api.CodeFrameTooLarge        // a line is longer than 1,048,576 bytes, or a message of several lines than its bound; it was not read
	CodeInternal             = api.CodeInternal             // a fault of ours; please report it with the message
)

// Targets for errors.Is, one for each code that a call can return; errors.Is(err, ErrSessionBusy) holds for
// every error of code session_busy. How a turn failed is not an error but in [Result].Error, by its Code.
var (
	ErrInvalidRequest       = api.ErrInvalidRequest
	ErrInvalidAgent         = api.ErrInvalidAgent
	ErrInvalidTool          = api.ErrInvalidTool
	ErrInvalidLimits        = api.ErrInvalidLimits
	ErrInvalidGuidance      = api.ErrInvalidGuidance
	ErrInvalidWorkspace     = api.ErrInvalidWorkspace
	ErrUnknownProvider      = api.ErrUnknownProvider
	ErrUnsupportedOption    = api.ErrUnsupportedOption
	ErrDefinitionConflict   = api.ErrDefinitionConflict
	ErrSubmissionConflict   = api.ErrSubmissionConflict
	ErrAgentNotFound        = api.ErrAgentNotFound
	ErrSessionNotFound      = api.ErrSessionNotFound
	ErrSessionDeleted       = api.ErrSessionDeleted
	ErrSessionParked        = api.ErrSessionParked
	ErrForeignStore         = api.ErrForeignStore
	ErrWrongAgent           = api.ErrWrongAgent
	ErrRunNotFound          = api.ErrRunNotFound
	ErrInteractionNotFound  = api.ErrInteractionNotFound
	ErrAlreadyResolved      = api.ErrAlreadyResolved
	ErrSessionBusy          = api.ErrSessionBusy
	ErrQueueFull            = api.ErrQueueFull
	ErrCredentialsMissing   = api.ErrCredentialsMissing
	ErrRegistrationMissing  = api.ErrRegistrationMissing
	ErrArgumentsInvalid     = api.ErrArgumentsInvalid
	ErrGuardrailBlocked     = api.ErrGuardrailBlocked
	ErrGuardrailFailed      = api.ErrGuardrailFailed
	ErrGuardrailMissing     = api.ErrGuardrailMissing
	ErrUnsupportedMedia     = api.ErrUnsupportedMedia
	ErrAttachmentTooLarge   = api.ErrAttachmentTooLarge
	ErrAttachmentQuota      = api.ErrAttachmentQuota
	ErrAttachmentNotFound   = api.ErrAttachmentNotFound
	ErrUploadConflict       = api.ErrUploadConflict
	ErrUninspectableContent = api.ErrUninspectableContent
	ErrInvalidHistory       = api.ErrInvalidHistory
	ErrCancelled            = api.ErrCancelled
	ErrStoreBusy            = api.ErrStoreBusy
	ErrStoreFull            = api.ErrStoreFull
	ErrStoreReadOnly        = api.ErrStoreReadOnly
	ErrStoreCorrupt         = api.ErrStoreCorrupt
	ErrStoreTooNew          = api.ErrStoreTooNew
	ErrStoreUnsupported     = api.ErrStoreUnsupported
	ErrStoreUnavailable     = api.ErrStoreUnavailable
	ErrClosed               = api.ErrClosed
	ErrRuntimeNotFound      = api.ErrRuntimeNotFound
	ErrRuntimeExited        = api.ErrRuntimeExited
	ErrIncompatibleVersion  = api.ErrIncompatibleVersion
	ErrFrameTooLarge        = api.ErrFrameTooLarge
	ErrInternal             = api.ErrInternal
)

// CodeOf is the code of an error: internal for one that is not ours, "" for nil.
func CodeOf(err error) Code { return api.CodeOf(err) }
