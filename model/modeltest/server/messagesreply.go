package modeltestserver

import "encoding/json"

// messagesAnswer is an answer in Anthropic's Messages.
type messagesAnswer struct {
	Reply
	req Request
	id  string
}

func newMessagesAnswer(r Reply, req Request) *messagesAnswer {
	return &messagesAnswer{Reply: r, req: req, id: newID("msg_")}
}

var messagesStops = map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}

// message is the message with the blocks that it has.
func (a *messagesAnswer) message(content []object, stop any, output int) object {
	return object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.req.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": a.usage(output),
	}
}

func (a *messagesAnswer) usage(output int) object {
	in, _ := a.tokens()
	return object{
		"input_tokens": max(0, in-a.CachedTokens), "cache_creation_input_tokens": 0, "cache_read_input_tokens": a.CachedTokens,
		"cache_creation": object{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  output, "service_tier": "standard",
	}
}

// blocks are the answer's blocks as they are when done.
func (a *messagesAnswer) blocks() []object {
	blocks := []object{}
	switch {
	case a.Withheld:
		blocks = append(blocks, object{"type": "redacted_thinking", "data": seal(Messages, a.req.Model, redacted)})
	case a.Reasoning != "":
		blocks = append(blocks, object{
			"type": "thinking", "thinking": a.Reasoning, "signature": seal(Messages, a.req.Model, digest(a.Reasoning)),
		})
	}
	if a.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": a.Text})
	}
	for _, call := range a.Calls {
		blocks = append(blocks, object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": call.Arguments})
	}
	return blocks
}

func (a *messagesAnswer) whole() object {
	blocks := a.blocks()
	for _, block := range blocks {
		if block["type"] == "tool_use" {
			block["input"] = json.RawMessage(orEmptyObject(block["input"].(string)))
		}
	}
	_, output := a.tokens()
	return a.message(blocks, a.finish(messagesStops), output)
}

// orEmptyObject stands in for arguments that were cut off: without a stream they can't be told.
func orEmptyObject(arguments string) string {
	if isObject([]byte(arguments)) {
		return arguments
	}
	return "{}"
}

func (a *messagesAnswer) stream(out *stream) {
	out.send(object{"type": "message_start", "message": a.message([]object{}, nil, 1)})
	blocks := a.blocks()
	for i, block := range blocks {
		start, deltas := a.deltas(block)
		out.send(object{"type": "content_block_start", "index": i, "content_block": start})
		if i == 0 {
			out.send(object{"type": "ping"})
		}
		for _, delta := range deltas {
			out.chunk(object{"type": "content_block_delta", "index": i, "delta": delta})
		}
		out.send(object{"type": "content_block_stop", "index": i})
	}
}

// deltas splits a block into how it starts and what is then added to it.
func (a *messagesAnswer) deltas(block object) (start object, deltas []object) {
	each := func(kind, field, text string) {
		for _, piece := range pieces(text, a.Chunk) {
			deltas = append(deltas, object{"type": kind, field: piece})
		}
	}
	switch block["type"] {
	case "thinking":
		start = object{"type": "thinking", "thinking": "", "signature": ""}
		each("thinking_delta", "thinking", block["thinking"].(string))
		deltas = append(deltas, object{"type": "signature_delta", "signature": block["signature"]})
	case "text":
		start = object{"type": "text", "text": ""}
		each("text_delta", "text", block["text"].(string))
	case "tool_use":
		start = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": ""})
		each("input_json_delta", "partial_json", block["input"].(string))
	default: // redacted thinking comes whole
		start = block
	}
	return start, deltas
}

func (a *messagesAnswer) broken(out *stream, e *Error) {
	event := e.object(Messages, 0)
	out.send(event)
}

func (a *messagesAnswer) end(out *stream) {
	_, output := a.tokens()
	usage := a.usage(output)
	if a.ReasoningTokens > 0 {
		usage["output_tokens_details"] = object{"thinking_tokens": a.ReasoningTokens}
	}
	out.send(object{
		"type": "message_delta", "delta": object{"stop_reason": a.finish(messagesStops), "stop_sequence": nil}, "usage": usage,
	})
	out.send(object{"type": "message_stop"})
}
