package modeltestserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Reply is what the server answers, in whatever protocol it was asked. The zero value is an answer without content.
type Reply struct {
	Text string
	// Reasoning comes with the private data that the protocol has for it. Withheld sends that data alone: redacted
	// thinking, a reasoning item without summary, a thought signature without thoughts.
	Reasoning string
	Withheld  bool
	// Calls whose arguments are no JSON object were cut off. They are sent as they are; but Gemini sends a call whole
	// or, with MALFORMED_FUNCTION_CALL or MAX_TOKENS as the reason, not at all.
	Calls []Call
	// Finish is "stop", "tool_calls", "length" or "content_filter" in the protocol's own words, or the raw word.
	// Defaults to what the content says. Of Responses, "failed" ends it with response.failed, with Broken as the error.
	Finish string
	// Chunk is the number of runes that a chunk of text or arguments holds; 0 sends each whole.
	Chunk int
	// Delay is the pause before the answer, Pace that before each chunk.
	Delay time.Duration
	Pace  time.Duration
	// Usage defaults to the request's tokens in, 10 where they were not counted, and one out for each four bytes. Cached tokens are among those in, and
	// reasoning tokens among those out, also where the protocol tells them apart.
	InputTokens, CachedTokens, OutputTokens, ReasoningTokens int

	// Events is a stream as it goes over the wire, in place of the content; see [Reply.Prepared].
	Events []byte

	// Status makes it an error: with Error as the protocol's JSON object, or Body as it is.
	Status int
	Error  Error
	Body   string
	Header map[string]string

	// Wait runs after the content and before the end mark; an error, or the client's going away, cuts the stream.
	// Silent waits for the client's going away.
	Wait   func(context.Context) error
	Silent bool
	// Cut ends the stream after the content, without an end mark. Broken is an error in its place.
	Cut    bool
	Broken *Error
}

// Prepared renders the stream of Chat once, so that a benchmark's server spends no time on it. Pauses, Wait, Silent
// and Cut are lost.
func (r Reply) Prepared() Reply { return r.PreparedFor(Chat, "") }

// PreparedFor is Prepared for any protocol. Private data is made for the model.
func (r Reply) PreparedFor(protocol Protocol, model string) Reply {
	var b bytes.Buffer
	r.Pace, r.Wait, r.Silent, r.Cut = 0, nil, false, false
	out := &stream{ctx: context.Background(), w: &b, sync: func() error { return nil }} // a buffer does not fail
	r.stream(out, Request{Protocol: protocol, Model: model, private: true})
	return Reply{Events: b.Bytes(), Delay: r.Delay}
}

type object = map[string]any

// answer renders a reply in one protocol.
type answer interface {
	stream(*stream)         // everything before the end mark
	broken(*stream, *Error) // an error inside the stream
	end(*stream)
	whole() object // the answer without a stream
}

func (r Reply) answer(req Request) answer {
	r.InputTokens = cmp.Or(r.InputTokens, req.Tokens)
	switch req.Protocol {
	case Responses:
		return newResponsesAnswer(r, req)
	case Messages:
		return newMessagesAnswer(r, req)
	case Gemini:
		return newGeminiAnswer(r, req)
	}
	return &chatAnswer{r}
}

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
		writeJSON(w, r.Status, r.Error.object(req.Protocol, r.Status))
	case r.Events != nil:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(r.Events) // a client that is gone needs no answer
	case !req.Stream:
		writeJSON(w, http.StatusOK, r.answer(req).whole())
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		out := &stream{ctx: ctx, w: w, sync: http.NewResponseController(w).Flush, pace: r.Pace}
		if r.stream(out, req); out.err != nil {
			panic(http.ErrAbortHandler) // the body must not look complete
		}
	}
}

func (r Reply) stream(out *stream, req Request) {
	out.named = req.Protocol == Responses || req.Protocol == Messages
	a := r.answer(req)
	a.stream(out)
	r.pause(out)
	switch {
	case r.Cut:
		out.flush()
		if out.err == nil {
			out.err = errCut
		}
	case r.Broken != nil && !(req.Protocol == Responses && r.Finish == "failed"):
		a.broken(out, r.Broken)
	default:
		a.end(out)
	}
}

func (r Reply) pause(out *stream) {
	if r.Wait == nil && !r.Silent {
		return
	}
	out.flush()
	if r.Wait != nil && out.err == nil {
		out.err = r.Wait(out.ctx)
	}
	if r.Silent && out.err == nil {
		<-out.ctx.Done()
		out.err = out.ctx.Err()
	}
}

// finish is the reason in the protocol's words, of which the raw word is none.
func (r Reply) finish(words map[string]string) string {
	reason := r.Finish
	switch {
	case reason != "":
	case len(r.Calls) > 0:
		reason = "tool_calls"
	default:
		reason = "stop"
	}
	if word, known := words[reason]; known {
		return word
	}
	return reason
}

func (r Reply) tokens() (in, out int) {
	in, out = r.InputTokens, r.OutputTokens
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
	return in, out
}

// newID makes an ID that no other answer has.
func newID(prefix string) string { return prefix + rand.Text() }

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that is gone needs no answer
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
