package openaichat

import (
	"bytes"
	"encoding/json"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// The wire types of an answer, whole or in chunks. Fields that servers fill in several ways have types that take
// them all; anything else that is of another type makes the chunk malformed.

type chunk struct {
	Choices []choice         `json:"choices"`
	Usage   *wireUsage       `json:"usage"`
	Error   wire.ErrorObject `json:"error"`
	// What some servers send in place of "error", at the top.
	Object  text `json:"object"`
	Message text `json:"message"`
	Detail  text `json:"detail"`
	Code    text `json:"code"`
	Type    text `json:"type"`
	Groq    *struct {
		Usage *wireUsage       `json:"usage"`
		Error wire.ErrorObject `json:"error"`
	} `json:"x_groq"`
}

type choice struct {
	Index        wire.Number      `json:"index"`
	Delta        *message         `json:"delta"`
	Message      *message         `json:"message"`
	FinishReason text             `json:"finish_reason"`
	Error        wire.ErrorObject `json:"error"`
}

type message struct {
	Content          content    `json:"content"`
	Refusal          text       `json:"refusal"`
	ReasoningContent text       `json:"reasoning_content"`
	Reasoning        text       `json:"reasoning"`
	ToolCalls        []fragment `json:"tool_calls"`
	FunctionCall     *function  `json:"function_call"` // the one call that an answer had before tool_calls
}

// fragment is a piece of a call, or a whole one.
type fragment struct {
	Index    wire.Number `json:"index"`
	ID       text        `json:"id"`
	Function function    `json:"function"`
}

type function struct {
	Name      text `json:"name"`
	Arguments text `json:"arguments"`
}

type wireUsage struct {
	Prompt        wire.Number `json:"prompt_tokens"`
	Completion    wire.Number `json:"completion_tokens"`
	Total         wire.Number `json:"total_tokens"`
	CacheHit      wire.Number `json:"prompt_cache_hit_tokens"` // where there are no details
	PromptDetails struct {
		Cached wire.Number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// counts reports whether anything was counted. Some servers give zeros with the chunks that have no count.
func (u *wireUsage) counts() bool { return u != nil && u.Prompt.Value+u.Completion.Value > 0 }

func (u *wireUsage) usage() api.Usage {
	out := api.Usage{
		InputTokens:       u.Prompt.Value,
		CachedInputTokens: max(u.PromptDetails.Cached.Value, u.CacheHit.Value),
		OutputTokens:      u.Completion.Value,
		ReasoningTokens:   u.CompletionDetails.Reasoning.Value,
	}
	// xAI counts reasoning beside the completion, which only the total tells.
	if reasoning := out.ReasoningTokens; reasoning > 0 && u.Total.Value == out.InputTokens+out.OutputTokens+reasoning {
		out.OutputTokens += reasoning
	}
	return out
}

// fault returns the error that the chunk reports, wherever it stands in it.
func (c *chunk) fault() *wire.Fault {
	if c.Error.Given {
		return &c.Error.Fault
	}
	if c.Groq != nil && c.Groq.Error.Given {
		return &c.Groq.Error.Fault
	}
	for i := range c.Choices {
		if ch := &c.Choices[i]; ch.Error.Given {
			return &ch.Error.Fault
		}
	}
	if len(c.Choices) == 0 && c.Usage == nil {
		if c.Object == "error" || c.Type == "error" || c.Message != "" || c.Detail != "" {
			return &wire.Fault{Message: string(c.Message + c.Detail), Type: string(c.Type), Code: string(c.Code)}
		}
	}
	return nil
}

// text takes a string; null is "", and any other value is its own JSON, as with arguments that are an object.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case 'n':
		return nil
	}
	*t = text(data)
	return nil
}

// content takes a string, null, or a list of parts, of which those of text and of thinking count.
type content struct {
	text      string
	reasoning string
}

func (c *content) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &c.text)
	case 'n':
		return nil
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     text    `json:"text"`
		Thinking content `json:"thinking"`
	}
	if data[0] == '{' {
		data = bytes.Join([][]byte{{'['}, data, {']'}}, nil)
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		c.text += string(part.Text)
		c.reasoning += part.Thinking.text
	}
	return nil
}
