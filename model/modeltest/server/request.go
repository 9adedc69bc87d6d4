package modeltestserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
)

// Protocol is one of the protocols that the server speaks.
type Protocol string

const (
	Chat      Protocol = "chat"      // OpenAI Chat Completions
	Responses Protocol = "responses" // OpenAI Responses
	Messages  Protocol = "messages"  // Anthropic Messages
	Gemini    Protocol = "gemini"    // Google generateContent
)

// Protocols are all of them.
func Protocols() []Protocol { return []Protocol{Chat, Responses, Messages, Gemini} }

// Request is a decoded request, in one form for all protocols.
type Request struct {
	Number   int // counts the server's requests from 1
	Protocol Protocol
	LastRole string      // of the last message
	Header   http.Header // holds the credential
	Body     []byte

	Model string
	// Messages are the conversation. Its roles are "system" (once, at the start), "user", "assistant" and "tool",
	// whatever the protocol calls them: each result of a tool is a message, each answer is one.
	Messages   []Message
	Tools      []string // their names
	ToolChoice string   // "none", "auto", "required" or a tool's name; "" when none was given
	Stream     bool
	Usage      bool   // stream_options.include_usage; the other protocols always tell it
	MaxTokens  int    // 0 when none was given
	Tokens     int    // by [Config.Window], 0 without one
	CacheKey   string // prompt_cache_key
	CacheMarks int    // the number of Anthropic's cache_control

	// private says that the client wants the encrypted reasoning of Responses.
	private bool
}

// Message is one message of the conversation.
type Message struct {
	Role       string
	Content    string // its texts; one line break is between two
	Parts      []Part
	Reasoning  []Reasoning
	Calls      []Call
	ToolCallID string
	Failed     bool // the result is marked as an error, where the protocol can
}

// Part is an image or a document of a message.
type Part struct {
	MediaType string
	Name      string // of the file, where the protocol has one
	Data      []byte
}

// Reasoning is a piece of an answer's reasoning that came back with the conversation.
type Reasoning struct {
	Text    string
	Private string // encrypted content, signature or thought signature
}

// Call is a tool call.
type Call struct {
	ID        string // of Gemini, which may have none, the call's place where it has none
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

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// decodeBody decodes a request's body.
func decodeBody(body []byte, into any) error {
	if err := decodeStrict(body, into); err != nil {
		return fmt.Errorf("the body is not a request: %w", err)
	}
	return nil
}

// decodeStrict decodes one JSON value in which no unknown field is allowed.
func decodeStrict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("something follows its JSON")
	}
	return nil
}

func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// stringOrList decodes a field that is a string or a list. A string is handed to text.
func stringOrList[T any](data json.RawMessage, text func(string) T) ([]T, error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		return []T{text(s)}, nil
	}
	var list []T
	if err := decodeStrict(data, &list); err != nil {
		return nil, err
	}
	return list, nil
}
