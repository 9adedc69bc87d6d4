package spec

import (
	"reflect"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Kinds says that a type's fields depend on the value of one of them, By. Fields that no kind names belong to all.
type Kinds struct {
	By    string
	Kinds []Kind
}

// Kind is one kind of a type: its values of By, and the fields that only some kinds have. Those without "?" must be there.
type Kind struct {
	Name   string // of the kind as a type of its own; "" for none
	Values []string
	Fields []string
}

// kinds are the types whose fields depend on a kind.
var kinds = map[string]Kinds{
	"ContentBlock": {By: "type", Kinds: []Kind{
		{Name: "TextBlock", Values: []string{"text"}, Fields: []string{"text"}},
		{Name: "ImageBlock", Values: []string{"image"}, Fields: []string{"name", "source"}},
		{Name: "DocumentBlock", Values: []string{"document"}, Fields: []string{"name", "source"}},
	}},
	"Source": {By: "type", Kinds: []Kind{
		{Name: "Base64Source", Values: []string{"base64"}, Fields: []string{"mediaType?", "data"}},
		{Name: "TextSource", Values: []string{"text"}, Fields: []string{"mediaType?", "data"}},
		{Name: "AttachmentSource", Values: []string{"attachment"}, Fields: []string{"id", "mediaType?", "size?", "sha256?"}},
	}},
	"HistoryImport": {By: "type", Kinds: []Kind{
		{Name: "UserImport", Values: []string{"user"}, Fields: []string{"text"}},
		{Name: "AssistantImport", Values: []string{"assistant"}, Fields: []string{"text"}},
		{Name: "ToolCallImport", Values: []string{"tool_call"}, Fields: []string{"callId", "name", "arguments"}},
		{Name: "ToolResultImport", Values: []string{"tool_result"}, Fields: []string{"callId", "output"}},
	}},
	"Answer": {By: "decision", Kinds: []Kind{
		{Values: []string{"allow"}, Fields: []string{"arguments?"}},
		{Values: []string{"allow_session"}},
		{Values: []string{"deny"}, Fields: []string{"reason?"}},
		{Values: []string{"succeeded"}, Fields: []string{"output?"}},
		{Values: []string{"failed"}, Fields: []string{"reason?"}},
		{Values: []string{"retry"}},
		{Values: []string{"answered"}, Fields: []string{"answers"}},
		{Values: []string{"skipped"}},
	}},
	"Interaction":         interactionKinds("ApprovalInteraction", "QuestionInteraction", "UnknownOutcomeInteraction"),
	"SessionInteraction":  interactionKinds("", "", ""),
	"InteractionRequired": interactionKinds("", "", ""),
	"Credentials": {By: "source", Kinds: []Kind{
		{Values: []string{"memory"}, Fields: []string{"secrets?"}},
		{Values: []string{"environment"}},
		{Values: []string{"file"}, Fields: []string{"file"}},
		{Values: []string{"callback"}},
	}},
	"Verdict": {By: "action", Kinds: []Kind{
		{Values: []string{"allow"}},
		{Values: []string{"redact"}, Fields: []string{"text", "reason?"}},
		{Values: []string{"block"}, Fields: []string{"reason?"}},
	}},
	"Inspection": {By: "outcome", Kinds: []Kind{
		{Values: []string{"succeeded", "failed"}, Fields: []string{"output?"}},
		{Values: []string{"not_started", "running", "unknown"}},
	}},
}

func interactionKinds(approval, question, outcome string) Kinds {
	return Kinds{By: "kind", Kinds: []Kind{
		{Name: approval, Values: []string{"approval"}},
		{Name: question, Values: []string{"question"}, Fields: []string{"question"}},
		{Name: outcome, Values: []string{"unknown_outcome"}},
	}}
}

// open are the types of strings that a later version may add values to. Clients pass those through.
var open = map[string]bool{"Code": true, "EventType": true}

// raw says what a json.RawMessage holds where it cannot be just any JSON.
var raw = map[string]*Schema{
	"ToolDeclaration.inputSchema": {Type: "object"},
	"ModelTool.inputSchema":       {Type: "object"},
	"HistoryImport.arguments":     {Type: "object"},
	"Answer.arguments":            {Type: "object"},
	"ToolCall.arguments":          {Type: "object"},
	"Action.arguments":            {Type: "object"},
	"CancelRequest.id":            {AnyOf: []*Schema{{Type: "string"}, {Type: "integer"}}},
}

// words are what fields may hold that are plain strings in Go. Those of a list hold for its items.
var words = map[string][]string{
	"HistoryItem.type":         {"user", "assistant", "reasoning", "tool_call", "tool_result", "notice", "summary"},
	"ImportedItem.type":        {"user", "assistant", "tool_call", "tool_result"},
	"HistoryImport.type":       {"user", "assistant", "tool_call", "tool_result"},
	"ModelItem.type":           {"user", "assistant", "reasoning", "tool_call", "tool_result"},
	"ModelCall.purpose":        {"turn", "review", "compaction"},
	"ModelCallFinished.stop":   {"end", "tool_calls", "output_limit", "filtered"},
	"ToolCallInspected.answer": {"succeeded", "failed", "not_started", "running", "unknown"},
	"GuardVerdict.point":       {"user_input", "model_input", "tool_result", "model_output"},
	"GuardVerdict.action":      {"redact", "block", "fail"},
	"Unit.point":               {"user_input", "model_input", "tool_result", "model_output"},
	"RegisterGuardrail.points": {"user_input", "model_input", "tool_result", "model_output"},
	"Verdict.action":           {"allow", "redact", "block"},
	"Inspection.outcome":       {"succeeded", "failed", "not_started", "running", "unknown"},
	"Provider.protocol":        {"openai-chat", "openai-responses", "anthropic", "google"},
}

// bounds are those that a client has to know to send what is taken.
func bounds() []Bound {
	return []Bound{
		{"maxFrameBytes", "A line, without its newline.", rpc.MaxFrameBytes},
		{"maxMessageBytes", "A message of several lines.", rpc.MaxMessageBytes},
		{"maxTextBytes", "A message of a user that is a text.", api.MaxMessageBytes},
		{"maxBlocks", "The blocks of a user's message with content.", api.MaxBlocks},
		{"maxBlockTextBytes", "The text blocks of such a message together.", api.MaxBlockTextBytes},
		{"maxFileBytes", "A file.", api.MaxFileBytes},
		{"maxMessageFileBytes", "The files of a message together.", api.MaxMessageFileBytes},
		{"maxFileNameBytes", "The name of a file.", api.MaxFileNameBytes},
		{"uploadChunkBytes", "A chunk of an upload: each but the last has as many.", api.UploadChunkBytes},
		{"maxToolOutputBytes", "What a tool returns; the rest is cut off with a mark.", api.MaxToolOutputBytes},
		{"maxAgentTools", "The tools of an agent.", api.MaxAgentTools},
		{"maxPage", "The rows of a page.", api.MaxPage},
	}
}

// eventData are the types that the comments of the types of events name.
func eventData() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, t := range []reflect.Type{
		reflect.TypeFor[api.SessionCreated](), reflect.TypeFor[api.HistoryImported](), reflect.TypeFor[api.SessionTakenOver](),
		reflect.TypeFor[api.TurnAccepted](), reflect.TypeFor[api.CancelRequested](), reflect.TypeFor[api.TurnEnded](),
		reflect.TypeFor[api.ModelCallStarted](), reflect.TypeFor[api.ModelCallFailed](), reflect.TypeFor[api.ModelCallFinished](),
		reflect.TypeFor[api.ToolCallStarted](), reflect.TypeFor[api.ToolCallFinished](), reflect.TypeFor[api.ToolCallLost](),
		reflect.TypeFor[api.ToolCallInspected](), reflect.TypeFor[api.ToolCallChecked](), reflect.TypeFor[api.ToolCallReturned](),
		reflect.TypeFor[api.InteractionRequired](), reflect.TypeFor[api.InteractionResolved](), reflect.TypeFor[api.GrantRevoked](),
		reflect.TypeFor[api.ReviewStarted](), reflect.TypeFor[api.ReviewFinished](), reflect.TypeFor[api.CompactionStarted](),
		reflect.TypeFor[api.CompactionFailed](), reflect.TypeFor[api.CompactionFinished](), reflect.TypeFor[api.Delta](),
	} {
		types[t.Name()] = t
	}
	return types
}
