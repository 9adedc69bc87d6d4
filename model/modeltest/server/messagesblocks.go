package modeltestserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

type messagesMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // text or blocks
}

// messagesBlock is a content block of any type.
type messagesBlock struct {
	Type         string        `json:"type"`
	CacheControl *cacheControl `json:"cache_control"`

	Text *string `json:"text"` // text

	Source *messagesSource `json:"source"` // image, document
	Title  string          `json:"title"`  // document

	ID    string          `json:"id"` // tool_use
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`

	ToolUseID string          `json:"tool_use_id"` // tool_result
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`

	Thinking  *string `json:"thinking"` // thinking
	Signature string  `json:"signature"`

	Data string `json:"data"` // redacted_thinking
}

type messagesSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// maxImage bounds an image, in bytes of base64.
const maxImage = 10 << 20

func messagesBlocks(data json.RawMessage) ([]messagesBlock, error) {
	return stringOrList(data, func(s string) messagesBlock { return messagesBlock{Type: "text", Text: &s} })
}

func (d *messagesDecoder) takeMessages() error {
	if len(d.wire.Messages) == 0 {
		return errors.New("messages: at least one message is required")
	}
	merged, err := mergeRoles(d.wire.Messages)
	if err != nil {
		return err
	}
	for i, m := range merged {
		if err := d.takeMessage(fmt.Sprintf("messages.%d", i), m); err != nil {
			return err
		}
	}
	if err := d.talk.end(d.req); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	for _, m := range d.req.Messages {
		if len(m.Calls) > 0 && len(d.req.Tools) == 0 {
			return errors.New("requests which include `tool_use` or `tool_result` blocks must define tools")
		}
	}
	return nil
}

// messagesTurn is what messages of one role in a row are to the API: one message.
type messagesTurn struct {
	role   string
	blocks []messagesBlock
}

func mergeRoles(messages []messagesMessage) ([]messagesTurn, error) {
	var turns []messagesTurn
	for i, m := range messages {
		if m.Role != "user" && m.Role != "assistant" {
			return nil, fmt.Errorf("messages.%d: unknown role %q", i, m.Role)
		}
		blocks, err := messagesBlocks(m.Content)
		if err != nil {
			return nil, fmt.Errorf("messages.%d: %w", i, err)
		}
		if len(blocks) == 0 {
			return nil, fmt.Errorf("messages.%d: all messages must have non-empty content", i)
		}
		if n := len(turns); n > 0 && turns[n-1].role == m.Role {
			turns[n-1].blocks = append(turns[n-1].blocks, blocks...)
			continue
		}
		turns = append(turns, messagesTurn{m.Role, blocks})
	}
	return turns, nil
}

// takeMessage splits a turn into our messages: the results first, then the rest.
func (d *messagesDecoder) takeMessage(at string, turn messagesTurn) error {
	rest := Message{Role: turn.role}
	begun := false // rest has a block
	for i, block := range turn.blocks {
		at := fmt.Sprintf("%s.content.%d", at, i)
		if block.Type == "tool_result" && turn.role == "user" {
			if begun {
				return fmt.Errorf("%s: a tool_result after other content: tool_use ids were found without tool_result blocks immediately after", at)
			}
			if err := d.takeResult(at, block); err != nil {
				return err
			}
			continue
		}
		begun = true
		if err := d.take(at, block, &rest); err != nil {
			return err
		}
	}
	if !begun {
		return nil
	}
	if last := turn.blocks[len(turn.blocks)-1].Type; turn.role == "assistant" && strings.HasSuffix(last, "thinking") {
		return fmt.Errorf("%s: the final block in an assistant message cannot be `%s`", at, last)
	}
	if err := d.talk.add(rest); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

func (d *messagesDecoder) takeResult(at string, block messagesBlock) error {
	if err := block.only(); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if err := d.mark(at, block.CacheControl); err != nil {
		return err
	}
	result := Message{Role: "tool", ToolCallID: block.ToolUseID, Failed: block.IsError}
	if len(block.Content) > 0 {
		inner, err := messagesBlocks(block.Content)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		isText := bytes.HasPrefix(bytes.TrimSpace(block.Content), []byte(`"`)) // which may be empty, blocks may not
		for i, b := range inner {
			at := fmt.Sprintf("%s.content.%d", at, i)
			switch {
			case isText:
				result.addText(*b.Text)
				continue
			case b.Type != "text" && b.Type != "image" && b.Type != "document":
				return fmt.Errorf("%s: a block of type %q in a tool_result", at, b.Type)
			}
			if err := d.take(at, b, &result); err != nil {
				return err
			}
		}
	}
	if block.IsError && result.Content == "" && len(result.Parts) == 0 {
		return fmt.Errorf("%s: content cannot be empty if `is_error` is true", at)
	}
	if err := d.talk.add(result); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// take adds a block to a message.
func (d *messagesDecoder) take(at string, block messagesBlock, m *Message) error {
	if err := block.only(); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	if err := d.mark(at, block.CacheControl); err != nil {
		return err
	}
	var err error
	switch answer := m.Role == "assistant"; {
	case block.Type == "text":
		err = block.addText(m)
	case block.Type == "image" && !answer:
		err = block.addPart(m, imageTypes...)
	case block.Type == "document" && !answer:
		err = block.addPart(m, "application/pdf")
	case block.Type == "tool_use" && answer:
		err = block.addCall(m)
	case (block.Type == "thinking" || block.Type == "redacted_thinking") && answer:
		err = block.addReasoning(m, d.req.Model)
	default:
		err = fmt.Errorf("a block of type %q in a message of role %q", block.Type, m.Role)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

func (b messagesBlock) addText(m *Message) error {
	switch {
	case b.Text == nil || *b.Text == "":
		return errors.New("text content blocks must be non-empty")
	case strings.TrimSpace(*b.Text) == "" && m.Role != "tool":
		return errors.New("text content blocks must contain non-whitespace text")
	}
	m.addText(*b.Text)
	return nil
}

func (b messagesBlock) addPart(m *Message, allowed ...string) error {
	if b.Source == nil || b.Source.Type != "base64" {
		return errors.New("a source that is not of type base64")
	}
	if b.Type == "image" && len(b.Source.Data) > maxImage {
		return fmt.Errorf("image exceeds 10 MB maximum: %d bytes > %d bytes", len(b.Source.Data), maxImage)
	}
	part, err := newPart(b.Source.MediaType, b.Title, b.Source.Data, allowed...)
	m.Parts = append(m.Parts, part)
	return err
}

func (b messagesBlock) addCall(m *Message) error {
	if !validMessagesID.MatchString(b.ID) {
		return fmt.Errorf("tool_use.id: %q does not match %s", b.ID, validMessagesID)
	}
	m.Calls = append(m.Calls, Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
	return nil
}

func (b messagesBlock) addReasoning(m *Message, model string) error {
	if m.Content != "" || len(m.Calls) > 0 {
		return fmt.Errorf("a %s block after other content", b.Type)
	}
	reasoning := Reasoning{Private: b.Data}
	subject := redacted
	if b.Type == "thinking" {
		if b.Thinking == nil {
			return errors.New("thinking: Field required")
		}
		reasoning = Reasoning{Text: *b.Thinking, Private: b.Signature}
		subject = digest(*b.Thinking)
	}
	issued, err := unseal(Messages, model, reasoning.Private)
	if err == nil && issued != subject {
		err = errors.New("it belongs to other thinking")
	}
	if err != nil {
		return fmt.Errorf("invalid `signature` in `thinking` block: %w", err)
	}
	m.Reasoning = append(m.Reasoning, reasoning)
	return nil
}

// redacted is the subject of the data of redacted thinking.
const redacted = "redacted"

// only refuses fields of other block types.
func (b messagesBlock) only() error {
	own := b
	switch b.Type {
	case "text":
		own = messagesBlock{Text: b.Text, CacheControl: b.CacheControl}
	case "image":
		own = messagesBlock{Source: b.Source, CacheControl: b.CacheControl}
	case "document":
		own = messagesBlock{Source: b.Source, Title: b.Title, CacheControl: b.CacheControl}
	case "tool_use":
		own = messagesBlock{ID: b.ID, Name: b.Name, Input: b.Input, CacheControl: b.CacheControl}
	case "tool_result":
		own = messagesBlock{ToolUseID: b.ToolUseID, Content: b.Content, IsError: b.IsError, CacheControl: b.CacheControl}
	case "thinking":
		own = messagesBlock{Thinking: b.Thinking, Signature: b.Signature}
	case "redacted_thinking":
		own = messagesBlock{Data: b.Data}
	}
	own.Type = b.Type
	given, _ := json.Marshal(b) // plain data always encodes
	taken, _ := json.Marshal(own)
	if !bytes.Equal(given, taken) {
		return fmt.Errorf("a block of type %q has a field of another type, or a cache_control that it cannot have", b.Type)
	}
	return nil
}
