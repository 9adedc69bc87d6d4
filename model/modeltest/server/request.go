package modeltestserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
)

// Request is a decoded request.
type Request struct {
	Number   int         // counts the server's requests from 1
	LastRole string      // of the last message
	Header   http.Header // holds the credential
	Body     []byte

	Model      string
	Messages   []Message
	Tools      []string // their names
	ToolChoice string   // "" when none was given
	Stream     bool
	Usage      bool // stream_options.include_usage
	MaxTokens  int  // 0 when none was given
}

// Message is one message of the conversation.
type Message struct {
	Role       string
	Content    string
	Calls      []Call
	ToolCallID string
}

// Call is a tool call.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// LastUser is the text of the last message of the user.
func (r Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Content
		}
	}
	return ""
}

type wireRequest struct {
	Model               string          `json:"model"`
	Messages            []wireMessage   `json:"messages"`
	Tools               []wireTool      `json:"tools"`
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

type wireMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ToolCalls        []wireCall `json:"tool_calls"`
	ToolCallID       string     `json:"tool_call_id"`
	Reasoning        string     `json:"reasoning"`
	ReasoningContent string     `json:"reasoning_content"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Decode decodes a request's body and says what a strict server would refuse it for.
func Decode(body []byte) (Request, error) {
	var wire wireRequest
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return Request{Body: body}, fmt.Errorf("the body is not a request: %w", err)
	}
	if decoder.More() {
		return Request{Body: body}, errors.New("something follows the request's JSON")
	}
	req := Request{
		Body: body, Model: wire.Model, ToolChoice: wire.ToolChoice, Stream: wire.Stream,
		Usage: wire.StreamOptions != nil && wire.StreamOptions.IncludeUsage,
	}
	if err := req.takeHead(wire); err != nil {
		return req, err
	}
	return req, req.takeMessages(wire.Messages)
}

func (r *Request) takeHead(wire wireRequest) error {
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

func (r *Request) takeMessages(messages []wireMessage) error {
	if len(messages) == 0 {
		return errors.New("no messages")
	}
	var due []string // calls whose results must come next
	seen := map[string]bool{}
	first := true // no message but the system's has come
	for i, m := range messages {
		if m.Role != "tool" && len(due) > 0 {
			return fmt.Errorf("messages[%d]: role %q where the result of call %s must stand", i, m.Role, due[0])
		}
		if m.Role != "assistant" && (m.Content == nil || len(m.ToolCalls) > 0) || m.Role != "tool" && m.ToolCallID != "" {
			return fmt.Errorf("messages[%d]: role %q has no content or has fields of another role", i, m.Role)
		}
		switch m.Role {
		case "system", "developer":
			if i > 0 {
				return fmt.Errorf("messages[%d]: role %q is not at the start", i, m.Role)
			}
		case "user":
			if *m.Content == "" {
				return fmt.Errorf("messages[%d]: the user's content is empty", i)
			}
		case "assistant":
			if first {
				return fmt.Errorf("messages[%d]: the assistant speaks first", i)
			}
			if len(m.ToolCalls) == 0 && (m.Content == nil || *m.Content == "") {
				return fmt.Errorf("messages[%d]: neither content nor tool_calls", i)
			}
			for _, call := range m.ToolCalls {
				if err := checkCall(call, seen); err != nil {
					return fmt.Errorf("messages[%d]: %w", i, err)
				}
				due = append(due, call.ID)
			}
		case "tool":
			if len(due) == 0 || due[0] != m.ToolCallID {
				return fmt.Errorf("messages[%d]: result of call %q, due are %q", i, m.ToolCallID, due)
			}
			due = due[1:]
		default:
			return fmt.Errorf("messages[%d]: unknown role %q", i, m.Role)
		}
		first = first && m.Role != "user"
		r.Messages = append(r.Messages, m.message())
		r.LastRole = m.Role
	}
	if len(due) > 0 {
		return fmt.Errorf("the messages end before call %s has its result", due[0])
	}
	if r.LastRole != "user" && r.LastRole != "tool" {
		return fmt.Errorf("the last message has role %q: nothing is left to answer", r.LastRole)
	}
	return nil
}

func checkCall(call wireCall, seen map[string]bool) error {
	switch {
	case call.Type != "function" || !validName.MatchString(call.Function.Name):
		return fmt.Errorf("call %q is no function or has a bad name", call.ID)
	case call.ID == "" || seen[call.ID]:
		return fmt.Errorf("call ID %q is empty or was there before", call.ID)
	case !isObject([]byte(call.Function.Arguments)):
		return fmt.Errorf("the arguments of call %q are not a JSON object", call.ID)
	}
	seen[call.ID] = true
	return nil
}

func (m wireMessage) message() Message {
	out := Message{Role: m.Role, ToolCallID: m.ToolCallID}
	if m.Content != nil {
		out.Content = *m.Content
	}
	for _, call := range m.ToolCalls {
		out.Calls = append(out.Calls, Call{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return out
}

func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}
