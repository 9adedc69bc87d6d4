package openaichat

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// The wire types of an answer, whole or in chunks. Fields that servers fill in several ways have types that take
// them all; anything else that is of another type makes the chunk malformed.

type chunk struct {
	Choices []choice   `json:"choices"`
	Usage   *wireUsage `json:"usage"`
	Error   wireError  `json:"error"`
	// What some servers send in place of "error", at the top.
	Object  text `json:"object"`
	Message text `json:"message"`
	Detail  text `json:"detail"`
	Code    text `json:"code"`
	Type    text `json:"type"`
	Groq    *struct {
		Usage *wireUsage `json:"usage"`
		Error wireError  `json:"error"`
	} `json:"x_groq"`
}

type choice struct {
	Index        number    `json:"index"`
	Delta        *message  `json:"delta"`
	Message      *message  `json:"message"`
	FinishReason text      `json:"finish_reason"`
	Error        wireError `json:"error"`
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

// wireError is an error object, or a string in its place.
type wireError struct {
	given   bool
	Message text `json:"message"`
	Type    text `json:"type"`
	Code    text `json:"code"`
}

func (e *wireError) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n', 'f': // null and false
		return nil
	case '{':
		type plain wireError
		err := json.Unmarshal(data, (*plain)(e))
		e.given = true
		return err
	}
	err := e.Message.UnmarshalJSON(data)
	e.given = e.Message != ""
	return err
}

// fault returns the error that the chunk reports, wherever it stands in it.
func (c *chunk) fault() *wireError {
	if c.Error.given {
		return &c.Error
	}
	if c.Groq != nil && c.Groq.Error.given {
		return &c.Groq.Error
	}
	for i := range c.Choices {
		if ch := &c.Choices[i]; ch.Error.given {
			return &ch.Error
		}
	}
	if len(c.Choices) == 0 && c.Usage == nil {
		if c.Object == "error" || c.Type == "error" || c.Message != "" || c.Detail != "" {
			return &wireError{given: true, Message: c.Message + c.Detail, Type: c.Type, Code: c.Code}
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
