package modeltestserver

import (
	"encoding/json"
	"fmt"
)

// geminiAnswer is an answer in Google's generateContent. Its stream is a row of partial answers, the last of which
// tells the reason.
type geminiAnswer struct {
	Reply
	req Request
	id  string
	cut *Call // a call whose arguments are no object: it is not sent
}

func newGeminiAnswer(r Reply, req Request) *geminiAnswer {
	a := &geminiAnswer{Reply: r, req: req, id: newID("")}
	a.Calls = nil
	for _, call := range r.Calls {
		if !isObject([]byte(call.Arguments)) {
			a.cut = &call
			break
		}
		a.Calls = append(a.Calls, call)
	}
	return a
}

var geminiStops = map[string]string{"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}

// parts are the answer's parts. Thoughts come first; their signature is on the first call or on the end of the text.
func (a *geminiAnswer) parts() []object {
	var parts []object
	if !a.Withheld {
		for _, piece := range pieces(a.Reasoning, a.Chunk) {
			parts = append(parts, object{"text": piece, "thought": true})
		}
	}
	for _, piece := range pieces(a.Text, a.Chunk) {
		parts = append(parts, object{"text": piece})
	}
	for i, call := range a.Calls {
		inner := object{"name": call.Name, "args": json.RawMessage(call.Arguments)}
		if call.ID != "" {
			inner["id"] = call.ID
		}
		part := object{"functionCall": inner}
		if i == 0 && (a.thought() || signingModel.MatchString(a.req.Model)) {
			part["thoughtSignature"] = a.signature()
		}
		parts = append(parts, part)
	}
	return parts
}

func (a *geminiAnswer) thought() bool { return a.Reasoning != "" || a.Withheld }

func (a *geminiAnswer) signature() string { return seal(Gemini, a.req.Model, a.id) }

// last is the part at the end of an answer without calls.
func (a *geminiAnswer) last() []object {
	if len(a.Calls) > 0 || a.Text == "" && !a.thought() {
		return nil
	}
	part := object{"text": ""}
	if a.thought() {
		part["thoughtSignature"] = a.signature()
	}
	return []object{part}
}

func (a *geminiAnswer) response(parts []object, finish string) object {
	in, out := a.tokens()
	candidate := object{"index": 0}
	if len(parts) > 0 {
		candidate["content"] = object{"role": "model", "parts": parts}
	}
	usage := object{"promptTokenCount": in, "totalTokenCount": in}
	if a.CachedTokens > 0 {
		usage["cachedContentTokenCount"] = a.CachedTokens
	}
	if finish != "" {
		candidate["finishReason"] = finish
		if finish == "MALFORMED_FUNCTION_CALL" && a.cut != nil {
			candidate["finishMessage"] = fmt.Sprintf("Malformed function call: %s(%s", a.cut.Name, a.cut.Arguments)
		}
		usage["candidatesTokenCount"], usage["totalTokenCount"] = out-a.ReasoningTokens, in+out
		if a.ReasoningTokens > 0 {
			usage["thoughtsTokenCount"] = a.ReasoningTokens
		}
	}
	return object{
		"candidates": []object{candidate}, "usageMetadata": usage, "modelVersion": a.req.Model, "responseId": a.id,
	}
}

func (a *geminiAnswer) whole() object {
	if a.blocked() {
		return a.block()
	}
	return a.response(append(a.parts(), a.last()...), a.reason())
}

func (a *geminiAnswer) stream(out *stream) {
	for _, part := range a.parts() {
		out.chunk(a.response([]object{part}, ""))
	}
}

func (a *geminiAnswer) broken(out *stream, e *Error) { out.send(e.object(Gemini, 0)) }

func (a *geminiAnswer) end(out *stream) {
	if a.blocked() {
		out.send(a.block())
		return
	}
	out.send(a.response(a.last(), a.reason()))
}

func (a *geminiAnswer) reason() string {
	if a.cut != nil && a.Finish == "" {
		return "MALFORMED_FUNCTION_CALL"
	}
	return a.finish(geminiStops)
}

// blocked says that the prompt was refused: there is a reason, but no candidate.
func (a *geminiAnswer) blocked() bool {
	return a.Finish == "content_filter" && a.Text == "" && a.Reasoning == "" && len(a.Calls) == 0
}

func (a *geminiAnswer) block() object {
	in, _ := a.tokens()
	return object{
		"promptFeedback": object{"blockReason": "SAFETY"}, "usageMetadata": object{"promptTokenCount": in, "totalTokenCount": in},
		"modelVersion": a.req.Model, "responseId": a.id,
	}
}
