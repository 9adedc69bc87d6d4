package openaichat

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// Stream makes one attempt of one call. Its errors are *model.Error; their messages hold the provider's own
// words, at most 600 bytes of them, and never the credential or the value of a header.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	watch, err := wire.NewWatch(ctx, wire.WatchConfig{
		Provider: p.config.Name, Credential: req.Credential, KeyOptional: p.config.KeyOptional, Headers: p.config.Headers,
		Idle: p.config.StreamIdle, AcceptJSON: true,
	})
	if err != nil {
		return model.Response{}, err
	}
	defer watch.Stop()
	a := &attempt{provider: p, watch: watch, req: req, emit: emit}
	if err := a.run(); err != nil {
		failure := watch.Error(err)
		failure.Usage, failure.Received = a.answer.usage, a.answer.received()
		return model.Response{}, failure
	}
	return a.answer.response(p.config.Name, req.Model, a.sent), nil
}

// attempt is one POST and its answer.
type attempt struct {
	provider *Provider
	watch    *wire.Watch
	req      model.Request
	emit     func(model.Delta)
	sent     int // bytes of the request's body
	answer   answer
}

func (a *attempt) run() error {
	resp, err := a.post()
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	reader := a.provider.readers.Get().(*bufio.Reader)
	reader.Reset(resp.Body)
	defer func() {
		reader.Reset(nil)
		a.provider.readers.Put(reader)
	}()
	if isStream(resp, reader) {
		return a.readStream(reader)
	}
	return a.readWhole(resp, reader)
}

func (a *attempt) post() (*http.Response, error) {
	p := a.provider
	body := newPayload(&p.bodies, func(b []byte) []byte { return p.appendRequest(b, a.req) })
	defer body.release()
	a.sent = body.size()
	first, err := body.reader()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(a.watch.Context(), http.MethodPost, p.url, first)
	if err != nil {
		first.Close()
		return nil, err
	}
	req.ContentLength, req.GetBody = int64(a.sent), body.reader
	for name, value := range p.config.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	if a.req.Credential != "" {
		req.Header.Set("Authorization", "Bearer "+a.req.Credential)
	}
	return p.client.Do(req)
}

// isStream reports whether the body is a stream of events, by what it says it is and, where that is not an event
// stream, by how it begins. It reads away the space before that.
func isStream(resp *http.Response, reader *bufio.Reader) bool {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return true
	}
	for {
		first, err := reader.Peek(1)
		if err != nil {
			return false
		}
		switch first[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = reader.Discard(1)
		case '{', '[', '<':
			return false
		default:
			return true
		}
	}
}

func (a *attempt) readStream(reader *bufio.Reader) error {
	stream := wire.NewEvents(reader)
	for !a.answer.done {
		if a.watch.Context().Err() != nil {
			return a.watch.Context().Err()
		}
		data, err := stream.Next()
		switch {
		case err == io.EOF:
			if a.answer.finish == "" {
				return wire.Cut(errors.New("it ended without its end mark"))
			}
			return nil
		case err != nil:
			return err
		}
		switch trimmed := strings.TrimSpace(string(data[:min(len(data), 16)])); trimmed {
		case "":
		case "[DONE]":
			a.answer.done = true
		default:
			if err := a.take(data); err != nil {
				return err
			}
		}
	}
	a.watch.DrainBody(reader)
	if a.answer.finish == "" && a.answer.received() == 0 {
		return wire.Cut(errors.New("it ended before it began"))
	}
	return nil
}

// readWhole reads an answer, or an error, that came as one JSON body although a stream was asked for.
func (a *attempt) readWhole(resp *http.Response, reader *bufio.Reader) error {
	data, err := io.ReadAll(io.LimitReader(reader, wire.MaxLineBytes+1))
	switch {
	case err != nil:
		return err
	case len(data) > wire.MaxLineBytes:
		return wire.ErrAnswerTooLong
	case len(data) == 0:
		return wire.Cut(errors.New("the answer was empty"))
	case wire.LooksHTML(resp, data):
		return wire.Malformed("an HTML page came instead of an answer; check BaseURL")
	}
	if fault := wire.FaultOf(data); fault != nil {
		err := a.watch.Fault(*fault, 0)
		err.Status, err.RetryAfter = resp.StatusCode, wire.RetryAfter(resp.Header, time.Now())
		return err
	}
	if err := a.take(data); err != nil {
		return err
	}
	if a.answer.finish == "" && a.answer.received() == 0 {
		return wire.Malformed("the server's JSON holds neither an answer nor an error")
	}
	return nil
}

// take adds one chunk to the answer, unless it is an error.
func (a *attempt) take(data []byte) error {
	fault, err := a.answer.take(data, a.emit)
	if fault != nil {
		return a.watch.Fault(*fault, a.answer.received())
	}
	return err
}
