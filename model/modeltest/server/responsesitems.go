package modeltestserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// responsesItem is an item of the input, of any type.
type responsesItem struct {
	Type   string  `json:"type"`
	ID     *string `json:"id"`
	Status string  `json:"status"`

	Role    string          `json:"role"`    // message
	Content json.RawMessage `json:"content"` // message: text or parts; reasoning: reasoning texts
	Phase   string          `json:"phase"`

	Summary          []responsesPart `json:"summary"` // reasoning
	EncryptedContent *string         `json:"encrypted_content"`

	CallID    string          `json:"call_id"` // function_call, function_call_output
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// responsesPart is a part of an item's content, of any type.
type responsesPart struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Refusal     string            `json:"refusal"`
	Annotations []json.RawMessage `json:"annotations"`
	Logprobs    []json.RawMessage `json:"logprobs"`
	ImageURL    string            `json:"image_url"`
	Detail      string            `json:"detail"`
	Filename    string            `json:"filename"`
	FileData    string            `json:"file_data"`
}

// responsesInput puts the items of one answer together to one message.
type responsesInput struct {
	talk      *conversation
	model     string
	ids       map[string]bool
	answer    *Message // the answer that is under way
	reasoning string   // a reasoning item that waits for what it led to
}

func (r *Request) takeResponsesInput(instructions string, items []responsesItem) error {
	in := &responsesInput{talk: newConversation(validName), model: r.Model, ids: map[string]bool{}}
	if instructions != "" {
		if err := in.talk.add(Message{Role: "system", Content: instructions}); err != nil {
			return err
		}
	}
	for i, item := range items {
		if err := in.add(item); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if err := in.endAnswer(); err != nil {
		return fmt.Errorf("input ends: %w", err)
	}
	return in.talk.end(r)
}

func (in *responsesInput) add(item responsesItem) error {
	if !slices.Contains([]string{"", "in_progress", "completed", "incomplete"}, item.Status) {
		return fmt.Errorf("unknown status %q", item.Status)
	}
	if item.Type == "" {
		item.Type = "message"
	}
	answers := item.Type == "reasoning" || item.Type == "function_call" || item.Type == "message" && item.Role == "assistant"
	if !answers {
		if err := in.endAnswer(); err != nil {
			return err
		}
	} else if in.answer == nil {
		in.answer = &Message{Role: "assistant"}
	}
	switch item.Type {
	case "message":
		return in.addMessage(item)
	case "reasoning":
		return in.addReasoning(item)
	case "function_call":
		return in.addCall(item)
	case "function_call_output":
		return in.addOutput(item)
	}
	return fmt.Errorf("unknown item type %q", item.Type)
}

// endAnswer hands the answer that is under way to the conversation.
func (in *responsesInput) endAnswer() error {
	if in.reasoning != "" {
		return fmt.Errorf("item %q of type 'reasoning' was provided without its required following item", in.reasoning)
	}
	answer := in.answer
	if answer == nil {
		return nil
	}
	in.answer = nil
	return in.talk.add(*answer)
}

func (in *responsesInput) addMessage(item responsesItem) error {
	if err := item.only("message"); err != nil {
		return err
	}
	role, known := map[string]string{"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}[item.Role]
	if !known {
		return fmt.Errorf("unknown role %q", item.Role)
	}
	message := Message{Role: role}
	types := []string{"input_text", "input_image", "input_file"}
	if item.Role == "assistant" {
		in.reasoning = ""
		types = []string{"output_text", "refusal"}
		if err := in.checkID(item, "msg_"); err != nil {
			return err
		}
	} else if item.ID != nil && item.Role == "user" {
		if err := in.checkID(item, "msg_"); err != nil {
			return err
		}
	}
	if err := takeResponsesParts(&message, item.Content, types); err != nil {
		return err
	}
	if item.Role != "assistant" {
		return in.talk.add(message)
	}
	if message.Content == "" {
		return errors.New("the assistant's content is empty")
	}
	in.answer.addText(message.Content)
	return nil
}

func takeResponsesParts(m *Message, content json.RawMessage, types []string) error {
	if len(content) == 0 {
		return errors.New("no content or output")
	}
	parts, err := stringOrList(content, func(s string) responsesPart { return responsesPart{Type: types[0], Text: s} })
	if err != nil {
		return err
	}
	for i, p := range parts {
		var part Part
		var err error
		switch {
		case !slices.Contains(types, p.Type):
			return fmt.Errorf("content[%d]: invalid value %q, supported are %q", i, p.Type, types)
		case p.Type == "input_text" || p.Type == "output_text":
			m.addText(p.Text)
			continue
		case p.Type == "refusal":
			m.addText(p.Refusal)
			continue
		case p.Type == "input_image":
			if !slices.Contains([]string{"", "low", "high", "auto", "original"}, p.Detail) {
				return fmt.Errorf("content[%d]: unknown detail %q", i, p.Detail)
			}
			part, err = newDataURL(p.ImageURL, "", imageTypes...)
		case p.Filename == "":
			return fmt.Errorf("content[%d]: file_data without filename", i)
		default:
			part, err = newDataURL(p.FileData, p.Filename, "application/pdf")
		}
		if err != nil {
			return fmt.Errorf("content[%d]: %w", i, err)
		}
		m.Parts = append(m.Parts, part)
	}
	return nil
}

func (in *responsesInput) addReasoning(item responsesItem) error {
	if err := item.only("reasoning"); err != nil {
		return err
	}
	if err := in.checkID(item, "rs_"); err != nil {
		return err
	}
	id := ""
	if item.ID != nil {
		id = *item.ID
	}
	if item.Summary == nil {
		return errors.New("a reasoning item without summary")
	}
	if item.EncryptedContent == nil {
		return fmt.Errorf("item with id %q not found: nothing is stored, and it has no encrypted_content", id)
	}
	subject, err := unseal(Responses, in.model, *item.EncryptedContent)
	if err == nil && item.ID != nil && subject != id {
		err = fmt.Errorf("it belongs to item %q", subject)
	}
	if err != nil {
		return fmt.Errorf("the encrypted content of item %q could not be verified: %w", id, err)
	}
	in.reasoning = subject
	var texts []string
	for _, part := range item.Summary {
		if part.Type != "summary_text" {
			return fmt.Errorf("a summary part of type %q", part.Type)
		}
		texts = append(texts, part.Text)
	}
	in.answer.Reasoning = append(in.answer.Reasoning, Reasoning{Text: strings.Join(texts, "\n"), Private: *item.EncryptedContent})
	return nil
}

func (in *responsesInput) addCall(item responsesItem) error {
	if err := item.only("function_call"); err != nil {
		return err
	}
	if err := in.checkID(item, "fc_"); err != nil {
		return err
	}
	if len(item.CallID) > 64 || item.Arguments == nil {
		return fmt.Errorf("call_id %q is longer than 64 or arguments is missing", item.CallID)
	}
	in.reasoning = ""
	in.answer.Calls = append(in.answer.Calls, Call{ID: item.CallID, Name: item.Name, Arguments: *item.Arguments})
	return nil
}

func (in *responsesInput) addOutput(item responsesItem) error {
	if err := item.only("function_call_output"); err != nil {
		return err
	}
	if err := in.checkID(item, "fc"); err != nil {
		return err
	}
	message := Message{Role: "tool", ToolCallID: item.CallID}
	if err := takeResponsesParts(&message, item.Output, []string{"input_text", "input_image", "input_file"}); err != nil {
		return err
	}
	return in.talk.add(message)
}

// checkID checks the item's own ID, which may be absent.
func (in *responsesInput) checkID(item responsesItem, prefix string) error {
	if item.ID == nil {
		return nil
	}
	id := *item.ID
	switch {
	case !strings.HasPrefix(id, prefix) || len(id) > 64:
		return fmt.Errorf("invalid id %q: expected one that begins with %q, of 64 characters at most", id, prefix)
	case in.ids[id]:
		return fmt.Errorf("duplicate item id %q", id)
	}
	in.ids[id] = true
	return nil
}

// only refuses fields of other item types.
func (item responsesItem) only(kind string) error {
	has := map[string]bool{
		"role":              item.Role != "",
		"phase":             item.Phase != "",
		"content":           item.Content != nil,
		"summary":           item.Summary != nil,
		"encrypted_content": item.EncryptedContent != nil,
		"call_id":           item.CallID != "",
		"name":              item.Name != "",
		"arguments":         item.Arguments != nil,
		"output":            item.Output != nil,
	}
	own := map[string][]string{
		"message":              {"role", "phase", "content"},
		"reasoning":            {"content", "summary", "encrypted_content"},
		"function_call":        {"call_id", "name", "arguments"},
		"function_call_output": {"call_id", "output"},
	}[kind]
	for field, given := range has {
		if given && !slices.Contains(own, field) {
			return fmt.Errorf("unknown parameter %q of an item of type %s", field, kind)
		}
	}
	return nil
}
