package modeltestserver

import "fmt"

// chatAnswer is an answer in Chat Completions.
type chatAnswer struct{ Reply }

func (a *chatAnswer) whole() object {
	message := object{"role": "assistant", "content": a.Text}
	if a.Reasoning != "" {
		message["reasoning_content"] = a.Reasoning
	}
	var calls []object
	for _, call := range a.Calls {
		calls = append(calls, object{"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": call.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return object{
		"object": "chat.completion", "choices": []object{{"index": 0, "message": message, "finish_reason": a.finish(nil)}}, "usage": a.usage(),
	}
}

func chatChunk(delta object, finish any) object {
	return object{"object": "chat.completion.chunk", "choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}
}

func (a *chatAnswer) stream(out *stream) {
	for _, piece := range pieces(a.Reasoning, a.Chunk) {
		out.chunk(chatChunk(object{"reasoning_content": piece}, nil))
	}
	for _, piece := range pieces(a.Text, a.Chunk) {
		out.chunk(chatChunk(object{"content": piece}, nil))
	}
	for i, call := range a.Calls {
		head := object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""}}
		out.chunk(chatChunk(object{"tool_calls": []object{head}}, nil))
		for _, piece := range pieces(call.Arguments, a.Chunk) {
			part := object{"index": i, "function": object{"arguments": piece}}
			out.chunk(chatChunk(object{"tool_calls": []object{part}}, nil))
		}
	}
}

func (a *chatAnswer) broken(out *stream, e *Error) { out.send(e.object(Chat, 0)) }

func (a *chatAnswer) end(out *stream) {
	out.chunk(chatChunk(object{}, a.finish(nil)))
	out.send(object{"object": "chat.completion.chunk", "choices": []object{}, "usage": a.usage()})
	if out.err == nil {
		_, out.err = fmt.Fprint(out.w, "data: [DONE]\n\n")
	}
}

func (a *chatAnswer) usage() object {
	in, out := a.tokens()
	usage := object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
	if a.CachedTokens > 0 {
		usage["prompt_tokens_details"] = object{"cached_tokens": a.CachedTokens}
	}
	if a.ReasoningTokens > 0 {
		usage["completion_tokens_details"] = object{"reasoning_tokens": a.ReasoningTokens}
	}
	return usage
}
