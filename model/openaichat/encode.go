package openaichat

import (
	"encoding/json"
	"strconv"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// appendRequest appends the body of a request. Written by hand: it is done anew for the whole history at each
// call, and reflection takes ten times as long.
func (p *Provider) appendRequest(b []byte, req model.Request) []byte {
	if room := wire.Room(req.Items); room > cap(b)-len(b) {
		b = append(make([]byte, 0, len(b)+room), b...)
	}
	b = append(b, `{"model":`...)
	b = wire.AppendString(b, req.Model)
	b = append(b, `,"stream":true`...)
	if _, given := p.config.ExtraBody["stream_options"]; !given {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	if req.MaxOutputTokens > 0 {
		b = append(b, ',')
		b = wire.AppendString(b, p.config.MaxTokensField)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(req.MaxOutputTokens), 10)
	}
	if p.config.SessionField != "" && req.Session != "" {
		b = append(b, ',')
		b = wire.AppendString(b, p.config.SessionField)
		b = append(b, ':')
		b = wire.AppendString(b, req.Session)
	}
	b = appendTools(b, req)
	b = append(b, p.extra...)
	b = append(b, `,"messages":[`...)
	return append(p.appendMessages(b, req), `]}`...)
}

func appendTools(b []byte, req model.Request) []byte {
	if len(req.Tools) == 0 {
		return b
	}
	b = append(b, `,"tools":[`...)
	for i, tool := range req.Tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","function":{"name":`...)
		b = wire.AppendString(b, tool.Name)
		if tool.Description != "" {
			b = append(b, `,"description":`...)
			b = wire.AppendString(b, tool.Description)
		}
		b = append(b, `,"parameters":`...)
		b = append(b, wire.ObjectSchema(tool.InputSchema)...)
		b = append(b, `}}`...)
	}
	b = append(b, ']')
	if req.NoTools {
		b = append(b, `,"tool_choice":"none"`...)
	}
	return b
}

// appendMessages appends each message with a comma after it, and takes the last comma away.
func (p *Provider) appendMessages(b []byte, req model.Request) []byte {
	if req.Instructions != "" {
		b = append(b, `{"role":"system","content":`...)
		b = wire.AppendString(b, req.Instructions)
		b = append(b, `},`...)
	}
	b = req.Encoded.Append(b, model.Form("chat", p.config.Name, req.Model), req.Items, func(b []byte, items []model.Item) []byte { return p.appendItems(b, req.Model, items) })
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return b
}

func (p *Provider) appendItems(b []byte, name string, items []model.Item) []byte {
	for i := 0; i < len(items); {
		switch item := &items[i]; item.Kind {
		case model.UserItem:
			b = append(b, `{"role":"user","content":`...)
			if len(item.Parts) > 0 {
				b = appendParts(b, item.Parts)
			} else {
				b = wire.AppendString(b, item.Text)
			}
			b = append(b, `},`...)
			i++
		case model.ToolResultItem:
			b = append(b, `{"role":"tool","tool_call_id":`...)
			b = wire.AppendString(b, item.CallID)
			b = append(b, `,"content":`...)
			b = wire.AppendString(b, item.Output)
			b = append(b, `},`...)
			i++
		default:
			n := answerLen(items[i:])
			b = p.appendAnswer(b, name, items[i:i+n])
			i += n
		}
	}
	return b
}

// appendParts appends text and files in their order (AT2).
func appendParts(b []byte, parts []model.Part) []byte {
	b = append(b, '[')
	for i := range parts {
		switch part := &parts[i]; {
		case part.IsImage():
			b = append(b, `{"type":"image_url","image_url":{"url":`...)
			b = append(wire.AppendDataURL(b, part), `}},`...)
		case part.IsPDF():
			b = append(b, `{"type":"file","file":{"filename":`...)
			b = wire.AppendPDFName(b, part)
			b = append(b, `,"file_data":`...)
			b = append(wire.AppendDataURL(b, part), `}},`...)
		default:
			b = append(b, `{"type":"text","text":`...)
			b = append(wire.AppendText(b, part), `},`...)
		}
	}
	b[len(b)-1] = ']'
	return b
}

// answerLen is the number of items at the start that one answer gave.
func answerLen(items []model.Item) int {
	n := 1
	for n < len(items) && items[n].Kind != model.UserItem && items[n].Kind != model.ToolResultItem {
		n++
	}
	return n
}

// appendAnswer appends the assistant's message: the protocol has one for text, reasoning and calls together. An
// answer of reasoning alone has no message that servers accept and is left out.
func (p *Provider) appendAnswer(b []byte, name string, items []model.Item) []byte {
	texts, calls := 0, 0
	for i := range items {
		switch items[i].Kind {
		case model.AssistantItem:
			texts++
		case model.ToolCallItem:
			calls++
		}
	}
	if texts+calls == 0 {
		return b
	}
	b = append(b, `{"role":"assistant","content":`...)
	if texts == 0 {
		b = append(b, `null`...)
	} else {
		b = appendJoined(b, items, func(item *model.Item) bool { return item.Kind == model.AssistantItem })
	}
	if field := p.reasoningField(name, items); field != "" {
		b = append(b, ',')
		b = wire.AppendString(b, field)
		b = append(b, ':')
		b = appendJoined(b, items, func(item *model.Item) bool { return item.Kind == model.ReasoningItem })
	}
	if calls > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i := range items {
			if item := &items[i]; item.Kind == model.ToolCallItem {
				b = append(b, `{"id":`...)
				b = wire.AppendString(b, item.CallID)
				b = append(b, `,"type":"function","function":{"name":`...)
				b = wire.AppendString(b, item.Name)
				b = append(b, `,"arguments":`...)
				b = wire.AppendString(b, item.Arguments)
				b = append(b, `}},`...)
			}
		}
		b[len(b)-1] = ']'
	}
	return append(b, `},`...)
}

// appendJoined appends the texts of the wanted items as one string, a line break between two.
func appendJoined(b []byte, items []model.Item, want func(*model.Item) bool) []byte {
	b = append(b, '"')
	first := true
	for i := range items {
		if !want(&items[i]) {
			continue
		}
		if !first {
			b = append(b, `\n`...)
		}
		first = false
		b = wire.AppendEscaped(b, items[i].Text)
	}
	return append(b, '"')
}

// private is what we keep beside reasoning: the field in which the server gave it.
type private struct {
	Field string `json:"field"`
}

// reasoningField tells the field in which the reasoning of these items goes back, "" when it does not: it is of
// another provider or model, came in no such field, or is configured away.
func (p *Provider) reasoningField(name string, items []model.Item) string {
	if p.config.DropReasoning {
		return ""
	}
	field := ""
	for i := range items {
		if items[i].Kind != model.ReasoningItem {
			continue
		}
		own := items[i].Private
		if own == nil || own.Provider != p.config.Name || own.Model != name {
			return ""
		}
		var kept private
		if json.Unmarshal(own.Data, &kept) != nil || (kept.Field != fieldReasoning && kept.Field != fieldReasoningContent) {
			return ""
		}
		field = kept.Field
	}
	return field
}
