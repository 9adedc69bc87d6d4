package openworker

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// The types of the contract, which package api declares, under this package's import: "go doc
// github.com/openworkerai/openworker/api Answer" shows an Answer's fields.
type (
	// Provider speaks to models; packages model/openaichat and model/scripted have some.
	Provider = model.Provider
	// ModelRef names a model as a provider, in any case, and a name, as the provider spells it.
	ModelRef = api.ModelRef

	// AgentReference is an agent's name and the digest of its definition.
	AgentReference = api.AgentReference
	// Approvals says who decides on an agent's tool calls: a mode, with tools for ApproveOnly.
	Approvals = api.Approvals
	// ApprovalMode is one of the Approve constants; "" means ApproveAlways.
	ApprovalMode = api.ApprovalMode
	// Limits bound a turn; nil fields inherit, [Set] sets one: Limits{MaxModelCalls: Set(3)}.
	Limits = api.Limits
	// BuiltinTools switches the session's own tools; nil means on for an agent that has tools.
	BuiltinTools = api.BuiltinTools
	// UnknownOutcome is OutcomeAsk or OutcomeTellModel; "" means OutcomeAsk.
	UnknownOutcome = api.UnknownOutcome
	// CompactionOptions guide how older history is summarised.
	CompactionOptions = api.CompactionOptions

	// SessionReference is what a program keeps to find its session again: a small JSON value.
	SessionReference = api.SessionReference
	// SessionOptions are the options of [Agent.NewSession].
	SessionOptions = api.SessionOptions
	// HistoryImport is one item of an imported conversation; the Import constants say which fields belong to which type.
	HistoryImport = api.HistoryImport
	// Part is what comes behind a message's text: an *Attachment, a ContentBlock or TurnOptions.
	Part = api.MessagePart
	// Attachment is a file on its way into a session; AttachmentFromFile and AttachmentFromBytes make one.
	Attachment = api.Attachment
	// ContentBlock is a block of a message; TextBlock, TextDocument and the method Block of an Upload make some, and a
	// history has them.
	ContentBlock = api.ContentBlock
	// BlockType is one of the Block constants.
	BlockType = api.BlockType
	// Source is where the bytes of a block's file are.
	Source = api.Source
	// SourceType is one of the Source constants.
	SourceType = api.SourceType
	// Upload is a file in a session, stored or on its way; its method Block sends it.
	Upload = api.Upload
	// UploadState is how far an upload is: one of the Upload constants.
	UploadState = api.UploadState
	// UploadRequest announces a file to [Harness.Service], for an upload in pieces of your own.
	UploadRequest = api.UploadRequest
	// UploadChunk is one of those pieces.
	UploadChunk = api.UploadChunk
	// SessionState is what [Session.State] tells: activity, run, open interactions, what is waited for.
	SessionState = api.SessionState
	// Activity is what a session does: one of the Activity constants.
	Activity = api.Activity
	// WaitReason says what a waiting session waits for: an interaction, a time, or something that is missing, by code.
	WaitReason = api.WaitReason
	// UnknownAction is a side effect that had started and whose outcome is not known.
	UnknownAction = api.UnknownAction
	// Timer is something that a session will do by itself at a time, such as a retry.
	Timer = api.Timer
	// Grant is a permission for one tool in one session, given with AllowSession.
	Grant = api.Grant
	// SessionInfo is one session in a list.
	SessionInfo = api.SessionInfo
	// SessionQuery selects sessions for [Harness.Sessions]; the zero value selects all without an owner.
	SessionQuery = api.SessionQuery
	// SessionInteraction is an open interaction with the session that it belongs to.
	SessionInteraction = api.SessionInteraction
	// InteractionQuery selects interactions for [Harness.Interactions], by owner.
	InteractionQuery = api.InteractionQuery
	// HistoryItem is one item of a conversation: a message, a call, a result.
	HistoryItem = api.HistoryItem
	// HistoryPage is a page of a conversation, with where the next one begins.
	HistoryPage = api.HistoryPage
	// HistoryQuery is what [Harness.Service] takes for a page of history.
	HistoryQuery = api.HistoryQuery

	// TurnOptions hold for one message: submission ID, model, limits, what to do with a busy session.
	TurnOptions = api.TurnOptions
	// WhenBusy is one of the Busy constants; "" means BusyReject.
	WhenBusy = api.WhenBusy
	// RunReference names a run and the place in the journal where it begins.
	RunReference = api.RunReference
	// RunStatus is how a run stands: one of the Status constants.
	RunStatus = api.RunStatus
	// Result is how a run ended, or what it waits for.
	Result = api.Result
	// Failure is why a run failed: a code and a message.
	Failure = api.Failure
	// Usage counts tokens.
	Usage = api.Usage

	// Interaction is a durable question to a person; [Session.Resolve] answers it.
	Interaction = api.Interaction
	// InteractionKind says what is asked: one of the Interaction constants. It tells which decisions fit.
	InteractionKind = api.InteractionKind
	// InteractionCall is the tool call that an interaction is about.
	InteractionCall = api.InteractionCall
	// Question is what the model asks, with InteractionQuestion.
	Question = api.Question
	// Choice is one of the answers that a question proposes.
	Choice = api.Choice
	// Review is a reviewer's verdict on an action.
	Review = api.Review
	// ReviewVerdict is one of the Review constants.
	ReviewVerdict = api.ReviewVerdict
	// Answer resolves an interaction: a decision, with what belongs to it.
	Answer = api.Answer
	// Decision is an answer's verdict; which ones fit depends on the interaction's kind.
	Decision = api.Decision

	// Error is the one error type: every error of this package has a code, a message and perhaps details.
	Error = api.Error
	// Code is one of the Code constants.
	Code = api.Code
)

// Who decides on a tool call (AP1).
const (
	ApproveAlways = api.ApproveAlways // a person is asked for each call, unless the session holds a grant; the default
	ApproveOnly   = api.ApproveOnly   // a person is asked for the tools that Approvals lists, the others are approved by policy
	ApproveAuto   = api.ApproveAuto   // the model that Approvals.ReviewerModel names decides, and a person where it is not sure
	ApproveNever  = api.ApproveNever  // nobody is asked
)

// What happens to a side effect whose outcome nobody can tell (RE3).
const (
	OutcomeAsk       = api.OutcomeAsk       // a person is asked, by an interaction of kind unknown_outcome; the default
	OutcomeTellModel = api.OutcomeTellModel // the model is told, and to look before any retry
)

// What a session is doing (SE3).
const (
	ActivityIdle       = api.Idle       // no turn is under way
	ActivityRunning    = api.Running    // a live process works on it
	ActivityWaiting    = api.Waiting    // it waits for a person, a credential, a registration or a time; see WaitingFor
	ActivityRecovering = api.Recovering // its process is gone or silent, and none has taken it over yet
)

// What happens to a message that meets a running turn (SE4).
const (
	BusyReject    = api.BusyReject    // it is refused with session_busy, which names the run; the default
	BusyQueue     = api.BusyQueue     // it runs after the turn and whatever is queued before it
	BusyInterrupt = api.BusyInterrupt // the turn is cancelled, and it runs next, ahead of the queue
)

// How a run stands (RU2). All but interrupted are ends.
const (
	StatusCompleted    = api.StatusCompleted    // the model ended its answer
	StatusInterrupted  = api.StatusInterrupted  // it waits: Interactions and WaitingFor say for what; the same run goes on
	StatusLimitReached = api.StatusLimitReached // calls or tokens ran out, and the model closed the turn
	StatusCancelled    = api.StatusCancelled    // somebody cancelled it
	StatusFailed       = api.StatusFailed       // Error says why
)

// What a person is asked.
const (
	InteractionApproval       = api.InteractionApproval       // may this call run; AllowOnce, AllowSession or Deny
	InteractionQuestion       = api.InteractionQuestion       // a question of the model; Answered or Skipped
	InteractionUnknownOutcome = api.InteractionUnknownOutcome // what became of this action; OutcomeSucceeded, OutcomeFailed or OutcomeRetry
)

// What a person answers.
const (
	AllowOnce    = api.AllowOnce    // approval: this call may run, with Answer.Arguments instead of its own where they are given
	AllowSession = api.AllowSession // approval: this call and later ones of its tool in this session may run
	Deny         = api.Deny         // approval: this call may not run; the model is told Reason

	Answered = api.Answered // question: Answers is what the model is told
	Skipped  = api.Skipped  // question: nobody answers it

	OutcomeSucceeded = api.OutcomeSucceeded // unknown outcome: it took effect, and Output is its result
	OutcomeFailed    = api.OutcomeFailed    // unknown outcome: it did not take effect, and will not; Reason says why
	OutcomeRetry     = api.OutcomeRetry     // unknown outcome: run it again under the same call ID

	InteractionCancelled = api.InteractionCancelled // how one is resolved whose turn ended, in the journal; nobody answers with it
)

// What a reviewer model says about an action (AP5).
const (
	ReviewAllow  = api.ReviewAllow  // the action runs
	ReviewDeny   = api.ReviewDeny   // it does not, and the model is told so
	ReviewUnsure = api.ReviewUnsure // a person is asked; Review.Code says whether the reviewer could not be asked
)

// The kinds of content blocks, and where a file's bytes may be.
const (
	BlockText     = api.BlockText     // a text, in Text
	BlockImage    = api.BlockImage    // PNG, JPEG, GIF or WebP that does not move
	BlockDocument = api.BlockDocument // PDF, or text in UTF-8

	SourceBase64     = api.SourceBase64     // Data is standard base64
	SourceText       = api.SourceText       // Data is the text itself; of documents
	SourceAttachment = api.SourceAttachment // ID names a file that was uploaded to the session
)

// How far an upload is.
const (
	UploadOpen      = api.UploadOpen      // chunks may be sent
	UploadCommitted = api.UploadCommitted // a message may refer to it until it expires
	UploadAccepted  = api.UploadAccepted  // a message refers to it, and it lives as long as the session
)

// The types of items of an imported conversation.
const (
	ImportUser       = api.ImportUser       // what the user said, in Text
	ImportAssistant  = api.ImportAssistant  // what the model said, in Text
	ImportToolCall   = api.ImportToolCall   // a call of a tool: CallID, Name, Arguments
	ImportToolResult = api.ImportToolResult // its result: CallID, Output
)

// TextBlock is a block of text.
func TextBlock(text string) ContentBlock { return api.TextBlock(text) }

// TextDocument is a text file whose content is at hand. It counts as a file, and not as text of the message.
func TextDocument(name, text string) ContentBlock { return api.TextDocument(name, text) }

// Set returns a pointer to v, for optional fields: nil inherits, a pointer sets. An empty text that is set
// clears what is inherited; a limit that is set to 0 or less is refused with invalid_limits.
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
