package modeltestserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Window is a model's window and what of it a request wants, in tokens.
type Window struct {
	Tokens int // of the request
	Limit  int // of the request and its answer together; 0 is none
}

// frameBytes is what the frame of a message or of a call counts for beside its texts.
const frameBytes = 12

// TextBytes is the size of all that a model reads of the request: texts, reasoning with its private data, calls, results,
// the declarations of tools as they came, and the frames of messages. Files are not among it.
func (r Request) TextBytes() int {
	var wire struct {
		Tools json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(r.Body, &wire) // one that was not decoded has no tools
	size := len(wire.Tools)
	for _, m := range r.Messages {
		size += frameBytes + len(m.Content)
		for _, part := range m.Reasoning {
			size += len(part.Text) + len(part.Private)
		}
		for _, call := range m.Calls {
			size += frameBytes + len(call.Name) + len(call.Arguments)
		}
	}
	return size
}

// overflows reports whether a request wants more than its window has.
func (w Window) overflows(r Request) bool { return w.Limit > 0 && w.Tokens+r.MaxTokens > w.Limit }

// writeOverflow answers a request that is too much, in the words of the protocol's owner.
func writeOverflow(w http.ResponseWriter, r Request, window Window) {
	input, output, limit := window.Tokens, r.MaxTokens, window.Limit
	e := Error{Code: "context_length_exceeded"}
	switch {
	case r.Protocol == Responses:
		e.Message = "Your input exceeds the context window of this model. Please adjust your input and try again."
	case r.Protocol == Messages && input > limit:
		e.Message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", input, limit)
	case r.Protocol == Messages:
		e.Message = fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", input, output, limit)
	case r.Protocol == Gemini:
		e.Message = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", input, limit)
	default:
		e.Message = fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
			limit, input+output, input, output)
	}
	writeError(w, r.Protocol, http.StatusBadRequest, e)
}
