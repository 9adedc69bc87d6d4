package openaichat

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

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
	Index        number           `json:"index"`
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
}

// fragment is a piece of a call, or a whole one.
type fragment struct {
	Index    number `json:"index"`
	ID       text   `json:"id"`
	Function struct {
		Name      text `json:"name"`
		Arguments text `json:"arguments"`
	} `json:"function"`
}

type wireUsage struct {
	Prompt        number `json:"prompt_tokens"`
	Completion    number `json:"completion_tokens"`
	CacheHit      number `json:"prompt_cache_hit_tokens"` // where there are no details
	PromptDetails struct {
		Cached number `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning number `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *wireUsage) usage() api.Usage {
	return api.Usage{
		InputTokens:       u.Prompt.value,
		CachedInputTokens: max(u.PromptDetails.Cached.value, u.CacheHit.value),
		OutputTokens:      u.Completion.value,
		ReasoningTokens:   u.CompletionDetails.Reasoning.value,
	}
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

// number takes an integer, a float without a fraction or a string of digits; given is false for null and
// absence. Negative and absurd ones are 0.
type number struct {
	value int64
	given bool
}

func (n *number) UnmarshalJSON(data []byte) error {
	if data[0] == 'n' {
		return nil
	}
	f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1<<53 {
		return nil
	}
	n.value, n.given = int64(f), true
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
