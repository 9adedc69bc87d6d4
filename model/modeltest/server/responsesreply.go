package modeltestserver

import (
	"maps"
	"slices"
	"time"
)

// responsesAnswer is an answer in the Responses protocol. The stream and the whole answer are made of the same items.
type responsesAnswer struct {
	Reply
	req    Request
	id     string
	number int      // of the next event
	output []object // the items that are done
}

func newResponsesAnswer(r Reply, req Request) *responsesAnswer {
	return &responsesAnswer{Reply: r, req: req, id: newID("resp_")}
}

// items are the answer's items as they are when done, in the order in which they come.
func (a *responsesAnswer) items() []object {
	var items []object
	if a.Reasoning != "" || a.Withheld {
		id := newID("rs_")
		item := object{"id": id, "type": "reasoning", "summary": []object{}}
		if !a.Withheld {
			item["summary"] = []object{{"type": "summary_text", "text": a.Reasoning}}
		}
		if a.req.private {
			item["encrypted_content"] = seal(Responses, a.req.Model, id)
		}
		items = append(items, item)
	}
	if a.Text != "" {
		items = append(items, object{
			"id": newID("msg_"), "type": "message", "role": "assistant", "status": "completed", "content": []object{outputText(a.Text)},
		})
	}
	for _, call := range a.Calls {
		items = append(items, object{
			"id": newID("fc_"), "type": "function_call", "status": "completed",
			"call_id": call.ID, "name": call.Name, "arguments": call.Arguments,
		})
	}
	if n := len(items); n > 0 && a.status() == "incomplete" && items[n-1]["status"] != nil {
		items[n-1]["status"] = "incomplete"
	}
	return items
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}, "logprobs": []object{}}
}

func (a *responsesAnswer) whole() object {
	a.output = a.items()
	return a.response(a.status())
}

func (a *responsesAnswer) stream(out *stream) {
	a.emit(out, "response.created", object{"response": a.response("in_progress")})
	a.emit(out, "response.in_progress", object{"response": a.response("in_progress")})
	for i, item := range a.items() {
		a.emit(out, "response.output_item.added", object{"output_index": i, "item": begun(item)})
		at := object{"output_index": i, "item_id": item["id"]}
		switch item["type"] {
		case "reasoning":
			a.streamSummary(out, at, item["summary"].([]object))
		case "message":
			a.streamText(out, at)
		case "function_call":
			arguments := item["arguments"].(string)
			for _, piece := range pieces(arguments, a.Chunk) {
				a.emitChunk(out, "response.function_call_arguments.delta", with(at, object{"delta": piece}))
			}
			a.emit(out, "response.function_call_arguments.done", with(at, object{"arguments": arguments}))
		}
		a.emit(out, "response.output_item.done", object{"output_index": i, "item": item})
		a.output = append(a.output, item)
	}
}

// begun is the item as it is announced: without its content.
func begun(item object) object {
	item = maps.Clone(item)
	switch item["type"] {
	case "reasoning":
		item["summary"] = []object{}
	case "message":
		item["status"], item["content"] = "in_progress", []object{}
	case "function_call":
		item["status"], item["arguments"] = "in_progress", ""
	}
	return item
}

func (a *responsesAnswer) streamSummary(out *stream, at object, parts []object) {
	for i, part := range parts {
		at := with(at, object{"summary_index": i})
		a.emit(out, "response.reasoning_summary_part.added", with(at, object{"part": object{"type": "summary_text", "text": ""}}))
		for _, piece := range pieces(part["text"].(string), a.Chunk) {
			a.emitChunk(out, "response.reasoning_summary_text.delta", with(at, object{"delta": piece}))
		}
		a.emit(out, "response.reasoning_summary_text.done", with(at, object{"text": part["text"]}))
		a.emit(out, "response.reasoning_summary_part.done", with(at, object{"part": part}))
	}
}

func (a *responsesAnswer) streamText(out *stream, at object) {
	at = with(at, object{"content_index": 0})
	a.emit(out, "response.content_part.added", with(at, object{"part": outputText("")}))
	for _, piece := range pieces(a.Text, a.Chunk) {
		a.emitChunk(out, "response.output_text.delta", with(at, object{"delta": piece, "logprobs": []object{}}))
	}
	a.emit(out, "response.output_text.done", with(at, object{"text": a.Text, "logprobs": []object{}}))
	a.emit(out, "response.content_part.done", with(at, object{"part": outputText(a.Text)}))
}

func (a *responsesAnswer) broken(out *stream, e *Error) {
	var code any
	if e.Code != "" {
		code = e.Code
	}
	a.emit(out, "error", object{"code": code, "message": e.Message, "param": nil})
}

func (a *responsesAnswer) end(out *stream) {
	status := a.status()
	a.emit(out, "response."+status, object{"response": a.response(status)})
}

// status is how the response ends: completed, incomplete or failed.
func (a *responsesAnswer) status() string {
	switch a.finish(nil) {
	case "stop", "tool_calls":
		return "completed"
	case "failed":
		return "failed"
	}
	return "incomplete"
}

func (a *responsesAnswer) response(status string) object {
	response := object{
		"id": a.id, "object": "response", "created_at": time.Now().Unix(), "status": status, "background": false, "model": a.req.Model,
		"output": slices.Clone(a.output), "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{},
		"parallel_tool_calls": true, "previous_response_id": nil, "store": false, "text": object{"format": object{"type": "text"}},
		"tool_choice": "auto", "tools": []object{}, "truncation": "disabled", "usage": nil, "max_output_tokens": nil,
		"reasoning": object{"effort": nil, "summary": nil}, "temperature": 1, "top_p": 1, "service_tier": "default", "user": nil,
	}
	if a.output == nil {
		response["output"] = []object{}
	}
	if a.req.MaxTokens > 0 {
		response["max_output_tokens"] = a.req.MaxTokens
	}
	switch status {
	case "in_progress":
		return response
	case "incomplete":
		reason := a.finish(map[string]string{"length": "max_output_tokens"})
		response["incomplete_details"] = object{"reason": reason}
	case "failed":
		e := Error{Code: "server_error", Message: "The server had an error while processing your request."}
		if a.Broken != nil {
			e = *a.Broken
		}
		response["error"] = object{"code": e.Code, "message": e.Message}
		return response
	}
	in, out := a.tokens()
	response["usage"] = object{
		"input_tokens": in, "input_tokens_details": object{"cached_tokens": a.CachedTokens},
		"output_tokens": out, "output_tokens_details": object{"reasoning_tokens": a.ReasoningTokens}, "total_tokens": in + out,
	}
	return response
}

func (a *responsesAnswer) emit(out *stream, kind string, fields object) {
	out.send(a.event(kind, fields))
}

func (a *responsesAnswer) emitChunk(out *stream, kind string, fields object) {
	out.chunk(a.event(kind, fields))
}

func (a *responsesAnswer) event(kind string, fields object) object {
	event := with(fields, object{"type": kind, "sequence_number": a.number})
	a.number++
	return event
}

func with(fields, more object) object {
	out := maps.Clone(fields)
	maps.Copy(out, more)
	return out
}
