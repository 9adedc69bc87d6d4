package openai

import (
	"encoding/json"
	"maps"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// appendItems appends each item with a comma after it. items begin and end where answers do.
func (p *Provider) appendItems(b []byte, name string, items []model.Item) []byte {
	for i := range items {
		switch item := &items[i]; item.Kind {
		case model.UserItem:
			b = appendUser(b, item)
		case model.AssistantItem:
			b = appendParam(b, p.assistantParam(name, item))
		case model.ToolCallItem:
			b = appendParam(b, responses.ResponseInputItemParamOfFunctionCall(string(item.Arguments), item.CallID, item.Name))
		case model.ToolResultItem: // a failure is told by its text: the API has no flag
			result := responses.ResponseInputItemParamOfFunctionCallOutput(item.Output)
			result.OfFunctionCallOutput.CallID = param.NewOpt(item.CallID)
			b = appendParam(b, result)
		case model.ReasoningItem:
			if data := p.private(name, item); isReasoning(data) && leadsOn(items[i+1:]) {
				b = append(append(b, data...), ',')
			}
		}
	}
	return b
}

func appendParam(b []byte, item responses.ResponseInputItemUnionParam) []byte {
	data, _ := item.MarshalJSON() // it holds strings, which cannot fail
	return append(append(b, data...), ',')
}

func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		return b[:len(b)-1]
	}
	return b
}

// leadsOn reports whether reasoning before items has led to something: to text or a call of the same answer.
func leadsOn(items []model.Item) bool {
	for i := range items {
		switch items[i].Kind {
		case model.AssistantItem, model.ToolCallItem:
			return true
		case model.ReasoningItem:
		default:
			return false
		}
	}
	return false
}

// private is the item's data if this provider gave it for this model (C08).
func (p *Provider) private(name string, item *model.Item) json.RawMessage {
	if own := item.Private; own != nil && own.Provider == p.config.Name && own.Model == name {
		return own.Data
	}
	return nil
}

// isReasoning reports whether data is an item that the API takes back. What another version kept, or another provider
// of the same name, may be anything.
func isReasoning(data json.RawMessage) bool {
	var item struct {
		Type    string  `json:"type"`
		ID      string  `json:"id"`
		Summary *[]part `json:"summary"`
		Content []part  `json:"content"`
		Sealed  string  `json:"encrypted_content"`
	}
	return json.Unmarshal(data, &item) == nil && item.Type == typeReasoning && item.Summary != nil && (item.Sealed != "" || len(item.Content) > 0)
}

// reasoningData is what is kept of a reasoning item: all of it that the API takes back, which refuses the status.
// An item that holds neither sealed nor open reasoning could only be looked up, and nothing is stored: nil.
func reasoningData(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	maps.DeleteFunc(fields, func(name string, value json.RawMessage) bool { return name == "status" || string(value) == "null" })
	if sealed, open := string(fields["encrypted_content"]), string(fields["content"]); (sealed == "" || sealed == `""`) && (open == "" || open == "[]") {
		return nil
	}
	if fields["summary"] == nil {
		fields["summary"] = json.RawMessage(`[]`)
	}
	data, _ := json.Marshal(fields) // values that were decoded encode again
	return model.MendJSON(data)
}

// phase is what is kept of a message: whether the model meant it as a comment or as its answer. Models from gpt-5.3-codex
// on work worse without.
type phase struct {
	Phase string `json:"phase"`
}

func (p *Provider) assistantParam(name string, item *model.Item) responses.ResponseInputItemUnionParam {
	message := responses.ResponseInputItemParamOfMessage(item.Text, responses.EasyInputMessageRoleAssistant)
	message.OfMessage.Type = responses.EasyInputMessageTypeMessage
	var kept phase
	if data := p.private(name, item); data != nil && json.Unmarshal(data, &kept) == nil && (kept.Phase == "commentary" || kept.Phase == "final_answer") {
		message.OfMessage.Phase = responses.EasyInputMessagePhase(kept.Phase)
	}
	return message
}

// appendUser appends a message of text and files in the user's order (AT2). It is written by hand: the SDK's types hold
// a file as a string of base64, of which an encoder makes copy after copy.
func appendUser(b []byte, item *model.Item) []byte {
	b = append(b, `{"content":`...)
	if len(item.Parts) == 0 {
		b = wire.AppendString(b, item.Text)
	} else {
		b = append(b, '[')
		for i := range item.Parts {
			b = append(appendPart(b, &item.Parts[i]), ',')
		}
		b[len(b)-1] = ']'
	}
	return append(b, `,"role":"user","type":"message"},`...)
}

func appendPart(b []byte, part *model.Part) []byte {
	switch {
	case part.IsImage():
		b = append(b, `{"detail":"auto","image_url":`...)
		return append(wire.AppendDataURL(b, part), `,"type":"input_image"}`...)
	case part.IsPDF():
		b = append(b, `{"file_data":`...)
		b = append(wire.AppendDataURL(b, part), `,"filename":`...)
		return append(wire.AppendPDFName(b, part), `,"type":"input_file"}`...)
	}
	b = append(b, `{"text":`...)
	return append(wire.AppendText(b, part), `,"type":"input_text"}`...)
}
