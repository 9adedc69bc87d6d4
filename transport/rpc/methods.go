package rpc

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Version is the newest version of the protocol that this build speaks, and Versions are all of them. A version gains
// optional fields and new methods; whatever else changes makes a new one.
const Version = 1

// Versions are the versions that this build speaks, newest first.
func Versions() []int { return []int{Version} }

// Method is one method of the protocol.
type Method struct {
	Name string
	// FromRuntime: the runtime calls it and the client answers. Else it is the other way round.
	FromRuntime bool
	// Params and Result are the types of what it carries. Result is nil for a notification, which has no answer.
	Params, Result reflect.Type
}

func call[P, R any](name string) Method {
	return Method{Name: name, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R]()}
}

func callback[P, R any](name string) Method {
	m := call[P, R](name)
	m.FromRuntime = true
	return m
}

// Methods are all methods, in the order of the documentation. The notification rpc/part is the lines' own (see [Part]).
func Methods() []Method {
	return []Method{
		call[Initialize, Initialized](MethodInitialize),
		call[Empty, Empty](MethodShutdown),
		call[Empty, api.Capabilities](MethodCapabilities),
		call[SetCredential, Empty](MethodSetCredential),
		call[RegisterTools, Empty](MethodRegisterTools),
		call[RegisterGuardrail, Empty](MethodRegisterGuardrail),
		call[RegisterHook, Empty](MethodRegisterHook),
		call[RegisterAgent, api.AgentReference](MethodRegisterAgent),
		call[api.AgentQuery, api.AgentPage](MethodAgents),
		call[CreateSession, api.SessionReference](MethodCreateSession),
		call[ResumeSession, Empty](MethodResumeSession),
		call[api.SessionQuery, api.SessionPage](MethodSessions),
		call[SessionID, api.SessionState](MethodState),
		call[DeleteSession, Empty](MethodDeleteSession),
		call[Compact, api.RunReference](MethodCompact),
		call[api.Submission, api.RunReference](MethodSubmit),
		call[api.Submission, TurnResult](MethodRunTurn),
		call[RunID, api.RunReference](MethodRun),
		call[RunID, Empty](MethodCancel),
		call[RunID, api.Result](MethodResult),
		call[Resolve, Empty](MethodResolve),
		call[api.InteractionQuery, api.InteractionPage](MethodInteractions),
		call[RevokeGrant, Empty](MethodRevokeGrant),
		call[BeginUpload, api.Upload](MethodBeginUpload),
		call[Chunk, Empty](MethodUploadChunk),
		call[UploadID, api.Upload](MethodCommitUpload),
		call[api.EventQuery, api.EventPage](MethodEvents),
		call[api.FollowQuery, Subscription](MethodSubscribe),
		call[Next, Batch](MethodNext),
		call[Subscription, Empty](MethodUnsubscribe),
		call[api.HistoryQuery, api.HistoryPage](MethodHistory),
		call[api.UsageQuery, UsageRows](MethodUsage),
		{Name: MethodCancelRequest, Params: reflect.TypeFor[CancelRequest]()},

		callback[ToolCall, ToolOutput](MethodRunTool),
		callback[ToolCall, Inspection](MethodInspectTool),
		callback[Unit, Verdict](MethodCheckText),
		callback[ModelCall, Veto](MethodBeforeModel),
		callback[ToolResult, ToolOutput](MethodToolResult),
		callback[Action, Verdict](MethodCheckAction),
		callback[CredentialQuery, Credential](MethodCredential),
		{Name: MethodCancelCallback, FromRuntime: true, Params: reflect.TypeFor[Callback]()},
	}
}

// The methods' names. Those of the second group are the runtime's to call.
const (
	MethodInitialize        = "initialize"
	MethodShutdown          = "shutdown" // stops work as the end of standard input does, and answers when it is done
	MethodCapabilities      = "capabilities"
	MethodSetCredential     = "credential/set" // of credentials that came with initialize
	MethodRegisterTools     = "tool/register"
	MethodRegisterGuardrail = "guardrail/register"
	MethodRegisterHook      = "hook/register"
	MethodRegisterAgent     = "agent/register"
	MethodAgents            = "agent/list"
	MethodCreateSession     = "session/create"
	MethodResumeSession     = "session/resume"
	MethodSessions          = "session/list"
	MethodState             = "session/state"
	MethodDeleteSession     = "session/delete"
	MethodCompact           = "session/compact"
	MethodSubmit            = "turn/submit"
	MethodRunTurn           = "turn/run" // turn/submit and run/result in one; given up behind the acceptance, its error has the detail run
	MethodRun               = "run/get"
	MethodCancel            = "run/cancel"
	MethodResult            = "run/result" // waits until the run ends or waits
	MethodResolve           = "interaction/resolve"
	MethodInteractions      = "interaction/list"
	MethodRevokeGrant       = "grant/revoke"
	MethodBeginUpload       = "upload/begin"
	MethodUploadChunk       = "upload/chunk"
	MethodCommitUpload      = "upload/commit"
	MethodEvents            = "event/list"
	MethodSubscribe         = "event/subscribe"
	MethodNext              = "event/next" // waits for an event
	MethodUnsubscribe       = "event/unsubscribe"
	MethodHistory           = "history/list"
	MethodUsage             = "usage/list"
	MethodCancelRequest     = "rpc/cancel" // a notification
	MethodPart              = "rpc/part"   // a notification, of both sides

	MethodRunTool     = "tool/run"
	MethodInspectTool = "tool/inspect"
	MethodCheckText   = "guardrail/check"
	MethodBeforeModel = "hook/beforeModel"
	MethodToolResult  = "hook/toolResult"
	MethodCheckAction = "action/check" // the application's own hard check, Options.Deny in Go
	MethodCredential  = "credential/get"

	MethodCancelCallback = "callback/cancel" // a notification
)

// Empty carries nothing.
type Empty struct{}

// Initialize is the first request of a connection, and is made once. Any other before it is invalid_request.
type Initialize struct {
	// ProtocolVersions are those that the client speaks. Without one in common: incompatible_version.
	ProtocolVersions []int      `json:"protocolVersions"`
	Client           ClientInfo `json:"client"`
	// Credentials say where secrets for providers come from. Absent: memory, without any.
	Credentials *Credentials `json:"credentials,omitempty"`
	// Providers are speakers to models beside those that the runtime is configured with, or instead of one of the same name.
	Providers []Provider `json:"providers,omitempty"`
	// ActionCheck: the client has a hard check of its own, and action/check is called before each action.
	ActionCheck bool `json:"actionCheck,omitempty"`
	// ScratchDir holds the sessions' private workspaces. Absent: the user's cache directory.
	ScratchDir string `json:"scratchDir,omitempty"`
	// DoubleNumbers: the client's numbers are doubles, as those of JavaScript. A call whose arguments have an integer that
	// no double holds, or a number out of their range, is then refused with arguments_invalid before the client is asked to
	// run or to check it.
	DoubleNumbers bool `json:"doubleNumbers,omitempty"`
}

// ClientInfo names a client, for logs.
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// CredentialSource says where secrets come from (RE5).
type CredentialSource string

const (
	CredentialsMemory      CredentialSource = "memory"      // Secrets, and what credential/set adds; gone with the process
	CredentialsEnvironment CredentialSource = "environment" // the runtime's environment, for example OPENAI_API_KEY
	CredentialsFile        CredentialSource = "file"        // File, a JSON object of secrets by provider with mode 0600
	CredentialsCallback    CredentialSource = "callback"    // credential/get is called before each model call
)

// Credentials say where secrets for providers come from.
type Credentials struct {
	Source  CredentialSource  `json:"source"`
	Secrets map[string]string `json:"secrets,omitempty"` // by provider, with memory
	File    string            `json:"file,omitempty"`    // with file: its path
}

// Provider is a speaker to models.
type Provider struct {
	Name string `json:"name"`
	// Protocol is "openai-chat", "openai-responses", "anthropic" or "google".
	Protocol string            `json:"protocol"`
	BaseURL  string            `json:"baseURL"`
	Headers  map[string]string `json:"headers,omitempty"`
	// KeyOptional: the server may need no credential, so that turns do not wait for one.
	KeyOptional bool `json:"keyOptional,omitempty"`
}

// Initialized answers initialize.
type Initialized struct {
	ProtocolVersion int              `json:"protocolVersion"`
	Runtime         ClientInfo       `json:"runtime"`
	Capabilities    api.Capabilities `json:"capabilities"`
	// MaxFrameBytes bounds a line, and MaxMessageBytes a message of several.
	MaxFrameBytes   int `json:"maxFrameBytes"`
	MaxMessageBytes int `json:"maxMessageBytes"`
}

// SetCredential sets a provider's secret, "" to remove it.
type SetCredential struct {
	Provider string `json:"provider"`
	Secret   string `json:"secret"`
}

// RegisterTools makes tools available whose bodies run in the client. Later ones replace earlier ones that declare the
// same.
type RegisterTools struct {
	Tools []Tool `json:"tools"`
}

// Tool is a tool of the client's.
type Tool struct {
	api.ToolDeclaration
	// TimeoutMs bounds one attempt; 0 is the runtime's default.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// Inspect: tool/inspect may be called (RE3).
	Inspect bool `json:"inspect,omitempty"`
	// Handle comes back with each call of this tool. By it a client tells apart two that have one name and declare different
	// things, for agents that were registered with the one and the other (AG4).
	Handle string `json:"handle,omitempty"`
}

// RegisterGuardrail makes a guardrail of the client's available. Its name must be new.
type RegisterGuardrail struct {
	Name      string   `json:"name"`
	Points    []string `json:"points"` // user_input, model_input, tool_result, model_output
	TimeoutMs int64    `json:"timeoutMs,omitempty"`
}

// RegisterHook makes a hook of the client's available, with at least one of the two functions. Its name must be new.
type RegisterHook struct {
	Name        string `json:"name"`
	BeforeModel bool   `json:"beforeModel,omitempty"`
	ToolResult  bool   `json:"toolResult,omitempty"`
	TimeoutMs   int64  `json:"timeoutMs,omitempty"`
}

// RegisterAgent stores a definition, or finds that it is stored already.
type RegisterAgent struct {
	Owner      string              `json:"owner,omitempty"`
	Definition api.AgentDefinition `json:"definition"`
}

// CreateSession creates a session.
type CreateSession struct {
	Agent   api.AgentReference `json:"agent"`
	Options api.SessionOptions `json:"options,omitzero"`
}

// ResumeSession checks a reference.
type ResumeSession struct {
	Reference api.SessionReference `json:"reference"`
	Agent     string               `json:"agent"` // the name that the caller expects
}

// SessionID names a session.
type SessionID struct {
	Session string `json:"session"`
}

// DeleteSession deletes a session.
type DeleteSession struct {
	Session string            `json:"session"`
	Options api.DeleteOptions `json:"options,omitzero"`
}

// Compact summarises the older part of a session's history.
type Compact struct {
	Session string          `json:"session"`
	Options api.TurnOptions `json:"options,omitzero"`
}

// TurnResult is what a turn came to.
type TurnResult struct {
	Run    api.RunReference `json:"run"`
	Result api.Result       `json:"result"`
}

// RunID names a run. To run/cancel an absent run is the current one.
type RunID struct {
	Session string `json:"session"`
	Run     string `json:"run,omitempty"`
}

// Resolve answers an interaction.
type Resolve struct {
	Session     string     `json:"session"`
	Interaction string     `json:"interaction"`
	Answer      api.Answer `json:"answer"`
}

// RevokeGrant takes a session grant back.
type RevokeGrant struct {
	Session string `json:"session"`
	Tool    string `json:"tool"`
	By      string `json:"by,omitempty"`
}

// BeginUpload announces a file.
type BeginUpload struct {
	Session string            `json:"session"`
	File    api.UploadRequest `json:"file"`
}

// UploadID names an upload.
type UploadID struct {
	Session string `json:"session"`
	Upload  string `json:"upload"`
}

// Chunk is a part of a file: 262,144 bytes, the last one the rest. Data is base64 in JSON.
type Chunk struct {
	Session string          `json:"session"`
	Upload  string          `json:"upload"`
	Chunk   api.UploadChunk `json:"chunk"`
}

// Subscription names what event/subscribe began. At most 1,024 are open at once in a connection.
type Subscription struct {
	Subscription string `json:"subscription"`
}

// Next asks for the next events of a subscription, one request at a time. It waits until there is one.
type Next struct {
	Subscription string `json:"subscription"`
	// Max bounds the events of the answer; 0 is 256, which is the most.
	Max int `json:"max,omitempty"`
}

// Batch is the next events of a subscription. With End it is over, and needs no event/unsubscribe.
type Batch struct {
	Events []api.Event `json:"events"`
	End    bool        `json:"end,omitempty"`
}

// UsageRows are the rows of usage.
type UsageRows struct {
	Rows []api.UsageRow `json:"rows"`
}

// CancelRequest gives up a request of the client's, by its id. Its answer still comes, mostly the error cancelled. What an
// event/next that was given up had fetched is lost to its subscription: end that one, and begin another behind the last event.
type CancelRequest struct {
	ID json.RawMessage `json:"id"`
}

// Callback is in the parameters of each request of the runtime, and names it while it is under way. Alone it is those of
// callback/cancel: nobody waits for the answer any more, and what runs for it should end. A tool's answer is still wanted.
type Callback struct {
	Callback string `json:"callback"`
}

// CallContext is what every callback of an application is told (AG7).
type CallContext struct {
	Callback
	Session   api.SessionReference `json:"session"`
	Run       string               `json:"run,omitempty"`
	CallID    string               `json:"callId,omitempty"`
	Agent     api.AgentReference   `json:"agent"`
	Workspace string               `json:"workspace,omitempty"`
	Origin    string               `json:"origin,omitempty"`
	Owner     string               `json:"owner,omitempty"`
	Metadata  map[string]string    `json:"metadata,omitempty"`
}

// ToolCall is a call of a tool, to be run or to be inspected.
type ToolCall struct {
	CallContext
	// CallID is in the context, and the same in every attempt: the idempotency key.
	Attempt   int             `json:"attempt"`
	Epoch     uint64          `json:"epoch"`
	Tool      string          `json:"tool"` // catalogue name
	Handle    string          `json:"handle,omitempty"`
	Effect    api.Effect      `json:"effect"`
	Arguments json.RawMessage `json:"arguments"`
	// StartBefore is until when the body may begin, absent for no bound and to inspect. A client that gets to it later
	// answers too_late, and has not begun; the runtime looks whether the session is still its own, and asks again.
	StartBefore time.Time `json:"startBefore,omitzero"`
}

// ToolOutput is what a tool returned, or what stands for it.
type ToolOutput struct {
	Output string `json:"output"`
}

// Inspection is what became of an attempt: succeeded or failed, with Output; not_started, running, unknown.
type Inspection struct {
	Outcome string `json:"outcome"`
	Output  string `json:"output,omitempty"`
}

// Unit is a text that a guardrail looks at.
type Unit struct {
	CallContext
	Guardrail string `json:"guardrail"`
	Point     string `json:"point"`
	Text      string `json:"text"`
	Tool      string `json:"tool,omitempty"` // of a tool's result
	File      string `json:"file,omitempty"` // the text file's name
}

// Verdict is a guardrail's: allow, redact with Text, block.
type Verdict struct {
	Action string `json:"action"`
	Text   string `json:"text,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// ModelCall is a request on its way to a model (GR4).
type ModelCall struct {
	CallContext
	Hook     string       `json:"hook"`
	Purpose  string       `json:"purpose"` // turn, review, compaction
	Provider string       `json:"provider"`
	Request  ModelRequest `json:"request"`
}

// ModelRequest is the whole of it, without its credential.
type ModelRequest struct {
	Model           string      `json:"model"`
	Instructions    string      `json:"instructions,omitempty"`
	Items           []ModelItem `json:"items"`
	Tools           []ModelTool `json:"tools,omitempty"`
	NoTools         bool        `json:"noTools,omitempty"`
	MaxOutputTokens int         `json:"maxOutputTokens,omitempty"`
}

// ModelTool is what a model is told of a tool.
type ModelTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// ModelItem is one item of the conversation.
type ModelItem struct {
	Type      string          `json:"type"` // user, assistant, reasoning, tool_call, tool_result
	Text      string          `json:"text,omitempty"`
	Parts     []ModelPart     `json:"parts,omitempty"`
	CallID    string          `json:"callId,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Output    string          `json:"output,omitempty"`
	Failed    bool            `json:"failed,omitempty"`
}

// ModelPart is a piece of a user's item: a text, or a file where MediaType is set.
type ModelPart struct {
	Text      string `json:"text,omitempty"` // of a text file its content
	Name      string `json:"name,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	ID        string `json:"id,omitempty"`
	Size      int64  `json:"size,omitempty"`
	Data      []byte `json:"data,omitempty"` // of an image or a PDF, base64 in JSON
}

// Veto is a hook's answer: with Veto the request is refused.
type Veto struct {
	Veto   bool   `json:"veto,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// ToolResult is a tool's result on its way to model and journal.
type ToolResult struct {
	CallContext
	Hook      string          `json:"hook"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Output    string          `json:"output"`
	Code      api.Code        `json:"code,omitempty"` // "" for a success
}

// Action is a call that the application's hard check looks at (AP2).
type Action struct {
	CallContext
	Tool      string          `json:"tool"`
	Effect    api.Effect      `json:"effect"`
	Arguments json.RawMessage `json:"arguments"`
	Changed   bool            `json:"changed,omitempty"` // the arguments are a person's
}

// CredentialQuery asks for a provider's secret.
type CredentialQuery struct {
	Callback
	Provider string `json:"provider"`
}

// Credential is a secret; "" if there is none.
type Credential struct {
	Secret string `json:"secret"`
}
