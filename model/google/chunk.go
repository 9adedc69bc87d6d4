package google

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// chunk is a piece of an answer on the wire. Of genai's types it keeps what decodes without loss.
type chunk struct {
	Candidates     []candidate      `json:"candidates"`
	PromptFeedback *feedback        `json:"promptFeedback"`
	UsageMetadata  *usageMetadata   `json:"usageMetadata"`
	Error          wire.ErrorObject `json:"error"`
}

type candidate struct {
	Index         int                `json:"index"`
	Content       answerContent      `json:"content"`
	FinishReason  genai.FinishReason `json:"finishReason"`
	FinishMessage string             `json:"finishMessage"`
}

type answerContent struct {
	Parts []answerPart `json:"parts"`
}

type answerPart struct {
	Text             string      `json:"text"`
	Thought          bool        `json:"thought"`
	ThoughtSignature string      `json:"thoughtSignature"`
	FunctionCall     *answerCall `json:"functionCall"`
	// What no request of ours asks for. An answer that has it cannot be taken whole.
	InlineData          *struct{} `json:"inlineData"`
	FileData            *struct{} `json:"fileData"`
	ExecutableCode      *struct{} `json:"executableCode"`
	CodeExecutionResult *struct{} `json:"codeExecutionResult"`
	ToolCall            *struct{} `json:"toolCall"`
	ToolResponse        *struct{} `json:"toolResponse"`
}

// foreign names what the part holds that we did not ask for, "" for nothing.
func (p *answerPart) foreign() string {
	switch {
	case p.InlineData != nil:
		return "inlineData"
	case p.FileData != nil:
		return "fileData"
	case p.ExecutableCode != nil, p.CodeExecutionResult != nil:
		return "executableCode"
	case p.ToolCall != nil, p.ToolResponse != nil:
		return "toolCall"
	}
	return ""
}

type answerCall struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Args         json.RawMessage `json:"args"`
	WillContinue bool            `json:"willContinue"`
}

// arguments are the call's as they came but for white space, "" where there are none.
func (c *answerCall) arguments() string {
	if string(c.Args) == "null" {
		return ""
	}
	var b bytes.Buffer
	_ = json.Compact(&b, c.Args) // it has been decoded
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

type feedback struct {
	BlockReason        genai.BlockedReason `json:"blockReason"`
	BlockReasonMessage string              `json:"blockReasonMessage"`
}

type usageMetadata struct {
	Prompt     wire.Number `json:"promptTokenCount"`        // cached ones included
	Cached     wire.Number `json:"cachedContentTokenCount"` // of the prompt
	ToolUse    wire.Number `json:"toolUsePromptTokenCount"` // beside the prompt
	Candidates wire.Number `json:"candidatesTokenCount"`    // without the thoughts
	Thoughts   wire.Number `json:"thoughtsTokenCount"`
}

func (u *usageMetadata) usage() api.Usage {
	return api.Usage{
		InputTokens:       u.Prompt.Value + u.ToolUse.Value,
		CachedInputTokens: u.Cached.Value,
		OutputTokens:      u.Candidates.Value + u.Thoughts.Value,
		ReasoningTokens:   u.Thoughts.Value,
	}
}
