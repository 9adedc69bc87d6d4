package modeltestserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Reply is what the server answers. The zero value is an answer without content.
type Reply struct {
	Text      string
	Reasoning string
	Calls     []Call
	// Finish is the finish_reason. Defaults to what the content says.
	Finish string
	// Chunk is the number of runes that a chunk of text or arguments holds; 0 sends each whole.
	Chunk int
	// Delay is the pause before the answer, Pace that before each chunk.
	Delay time.Duration
	Pace  time.Duration
	// Usage defaults to 10 tokens in and one out for each four bytes.
	InputTokens, OutputTokens int

	// Events is a stream as it goes over the wire, in place of the content; see [Reply.Prepared].
	Events []byte

	// Status makes it an error: with Error as its JSON object, or Body as it is.
	Status int
	Error  Error
	Body   string
	Header map[string]string

	// Wait runs after the content and before the end mark; an error, or the client's going away, cuts the stream.
	Wait func(context.Context) error
	// Cut ends the stream after the content, without an end mark. Broken is an error object in its place.
	Cut    bool
	Broken *Error
}

// Error is an error object.
type Error struct {
	Code    string `json:"code,omitempty"`
	Type    string `json:"type,omitempty"`
	Message string `json:"message"`
}

// Prepared renders the stream once, so that a benchmark's server spends no time on it. Pauses, Wait and Cut are lost.
func (r Reply) Prepared() Reply {
	var b bytes.Buffer
	r.Pace, r.Wait, r.Cut = 0, nil, false
	_ = r.writeStream(context.Background(), &b, func() error { return nil }) // a buffer does not fail
	return Reply{Events: b.Bytes(), Delay: r.Delay}
}

type object = map[string]any

func (r Reply) write(ctx context.Context, w http.ResponseWriter, req Request) {
	if wait(ctx, r.Delay) != nil {
		return
	}
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	switch {
	case r.Status != 0 && r.Body != "":
		w.WriteHeader(r.Status)
		fmt.Fprint(w, r.Body)
	case r.Status != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.Status)
		_ = json.NewEncoder(w).Encode(object{"error": r.Error})
	case !req.Stream:
		r.writeWhole(w)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Events != nil {
			_, _ = w.Write(r.Events) // a client that is gone needs no answer
			return
		}
		if r.writeStream(ctx, w, http.NewResponseController(w).Flush) != nil {
			panic(http.ErrAbortHandler) // the body must not look complete
		}
	}
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	Reply{Status: status, Error: Error{Type: kind, Code: kind, Message: message}}.write(context.Background(), w, Request{})
}

func (r Reply) writeWhole(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	message := object{"role": "assistant", "content": r.Text}
	if r.Reasoning != "" {
		message["reasoning_content"] = r.Reasoning
	}
	var calls []object
	for _, call := range r.Calls {
		calls = append(calls, object{"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": call.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	_ = json.NewEncoder(w).Encode(object{
		"object": "chat.completion", "choices": []object{{"index": 0, "message": message, "finish_reason": r.finish()}}, "usage": r.usage(),
	})
}

// writeStream writes events. Without a pace all of them go out in as few writes as the buffer allows.
func (r Reply) writeStream(ctx context.Context, w io.Writer, flush func() error) error {
	send := func(delta object, finish any) error {
		if err := wait(ctx, r.Pace); err != nil {
			return err
		}
		err := writeEvent(w, object{"object": "chat.completion.chunk", "choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}})
		if err == nil && r.Pace > 0 {
			err = flush()
		}
		return err
	}
	if err := r.writeContent(send); err != nil {
		return err
	}
	if r.Wait != nil {
		if err := flush(); err != nil {
			return err
		}
		if err := r.Wait(ctx); err != nil {
			return err
		}
	}
	switch {
	case r.Cut:
		if err := flush(); err != nil {
			return err
		}
		return errCut
	case r.Broken != nil:
		return writeEvent(w, object{"error": r.Broken})
	}
	if err := send(object{}, r.finish()); err != nil {
		return err
	}
	if err := writeEvent(w, object{"object": "chat.completion.chunk", "choices": []object{}, "usage": r.usage()}); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "data: [DONE]\n\n")
	return err
}

func (r Reply) writeContent(send func(object, any) error) error {
	for _, piece := range pieces(r.Reasoning, r.Chunk) {
		if err := send(object{"reasoning_content": piece}, nil); err != nil {
			return err
		}
	}
	for _, piece := range pieces(r.Text, r.Chunk) {
		if err := send(object{"content": piece}, nil); err != nil {
			return err
		}
	}
	for i, call := range r.Calls {
		head := object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""}}
		if err := send(object{"tool_calls": []object{head}}, nil); err != nil {
			return err
		}
		for _, piece := range pieces(call.Arguments, r.Chunk) {
			part := object{"index": i, "function": object{"arguments": piece}}
			if err := send(object{"tool_calls": []object{part}}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeEvent(w io.Writer, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "data: %s\n\n", encoded)
	return err
}

func (r Reply) finish() string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (r Reply) usage() object {
	in, out := r.InputTokens, r.OutputTokens
	if in == 0 {
		in = 10
	}
	if out == 0 {
		size := len(r.Text) + len(r.Reasoning)
		for _, call := range r.Calls {
			size += len(call.Name) + len(call.Arguments)
		}
		out = (size + 3) / 4
	}
	return object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

// pieces cuts text into parts of size runes, or leaves it whole where size is 0.
func pieces(text string, size int) []string {
	runes := []rune(text)
	var out []string
	for len(runes) > 0 {
		n := len(runes)
		if size > 0 {
			n = min(n, size)
		}
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}
