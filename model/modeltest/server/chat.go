package modeltestserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

type chatRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Tools               []chatTool      `json:"tools"`
	ToolChoice          string          `json:"tool_choice"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	PromptCacheKey      string          `json:"prompt_cache_key"`
	User                string          `json:"user"`
	Temperature         json.RawMessage `json:"temperature"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"` // null, text or parts
	ToolCalls        []chatCall      `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	Reasoning        string          `json:"reasoning"`
	ReasoningContent string          `json:"reasoning_content"`
}

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL *struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	} `json:"image_url"`
	File *struct {
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
	} `json:"file"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// DecodeChat decodes the body of a Chat Completions request and says what a strict server would refuse it for.
func DecodeChat(body []byte) (Request, error) {
	req := Request{Protocol: Chat, Body: body}
	var wire chatRequest
	if err := decodeBody(body, &wire); err != nil {
		return req, err
	}
	req.Model, req.ToolChoice, req.Stream, req.CacheKey = wire.Model, wire.ToolChoice, wire.Stream, wire.PromptCacheKey
	req.Usage = wire.StreamOptions != nil && wire.StreamOptions.IncludeUsage
	if err := req.takeChatHead(wire); err != nil {
		return req, err
	}
	talk := newConversation(validName)
	for i, m := range wire.Messages {
		if err := m.addTo(talk); err != nil {
			return req, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return req, talk.end(&req)
}

func (r *Request) takeChatHead(wire chatRequest) error {
	if wire.Model == "" {
		return errors.New("no model")
	}
	if wire.StreamOptions != nil && !wire.Stream {
		return errors.New("stream_options without stream")
	}
	for _, limit := range []*int{wire.MaxTokens, wire.MaxCompletionTokens} {
		if limit == nil {
			continue
		}
		if *limit < 1 || r.MaxTokens > 0 {
			return errors.New("the output limit is below 1 or is given twice")
		}
		r.MaxTokens = *limit
	}
	for _, tool := range wire.Tools {
		name := tool.Function.Name
		if tool.Type != "function" || !validName.MatchString(name) || slices.Contains(r.Tools, name) {
			return fmt.Errorf("tool %q is no function, has a bad name or is there twice", name)
		}
		if !isObject(tool.Function.Parameters) {
			return fmt.Errorf("tool %q: parameters is not a JSON object", name)
		}
		r.Tools = append(r.Tools, name)
	}
	if wire.ToolChoice != "" && len(wire.Tools) == 0 {
		return errors.New("tool_choice without tools")
	}
	return nil
}

func (m chatMessage) addTo(talk *conversation) error {
	out := Message{Role: m.Role, ToolCallID: m.ToolCallID}
	if m.Role == "developer" {
		out.Role = "system"
	}
	if len(m.Content) > 0 && string(m.Content) != "null" {
		parts, err := stringOrList(m.Content, func(s string) chatPart { return chatPart{Type: "text", Text: s} })
		if err != nil {
			return err
		}
		for _, part := range parts {
			if err := part.addTo(&out); err != nil {
				return err
			}
		}
	} else if m.Role != "assistant" {
		return fmt.Errorf("role %q without content", m.Role)
	}
	if m.Role != "assistant" && len(m.ToolCalls) > 0 || m.Role != "tool" && m.ToolCallID != "" {
		return fmt.Errorf("role %q has fields of another role", m.Role)
	}
	for _, text := range []string{m.Reasoning, m.ReasoningContent} {
		if text != "" {
			out.Reasoning = append(out.Reasoning, Reasoning{Text: text})
		}
	}
	for _, call := range m.ToolCalls {
		if call.Type != "function" {
			return fmt.Errorf("call %q is no function", call.ID)
		}
		out.Calls = append(out.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return talk.add(out)
}

func (p chatPart) addTo(m *Message) error {
	var part Part
	var err error
	switch {
	case p.Type == "text" && p.ImageURL == nil && p.File == nil:
		m.addText(p.Text)
		return nil
	case m.Role != "user":
		return fmt.Errorf("a part of type %q in a message of role %q", p.Type, m.Role)
	case p.Type == "image_url" && p.ImageURL != nil:
		part, err = newDataURL(p.ImageURL.URL, "", imageTypes...)
	case p.Type == "file" && p.File != nil:
		if p.File.Filename == "" {
			return errors.New("a file without filename")
		}
		part, err = newDataURL(p.File.FileData, p.File.Filename, "application/pdf")
	default:
		return fmt.Errorf("unknown part type %q", p.Type)
	}
	m.Parts = append(m.Parts, part)
	return err
}
