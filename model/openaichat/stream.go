package openaichat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openworkerai/openworker/model"
)

// drainTime is how long an attempt waits for the body's end after [DONE], so that the connection can be used again.
const drainTime = 50 * time.Millisecond

var errIdle = errors.New("the stream stood still")

// Stream makes one attempt of one call. Its errors are *model.Error; their messages hold the provider's own
// words, at most 600 bytes of them, and never the credential or the value of a header.
func (p *Provider) Stream(ctx context.Context, req model.Request, emit func(model.Delta)) (model.Response, error) {
	a := &attempt{provider: p, ctx: ctx, req: req, emit: emit}
	if err := a.run(); err != nil {
		err.Usage, err.Received = a.answer.usage, a.answer.received()
		finish(err, req.Credential, p.config.Headers)
		return model.Response{}, err
	}
	return a.answer.response(p.config.Name, req.Model, a.sent), nil
}

// attempt is one POST and its answer.
type attempt struct {
	provider *Provider
	ctx      context.Context // the caller's
	req      model.Request
	emit     func(model.Delta)

	call     context.Context // of the request: ends also when the server is silent
	cancel   context.CancelCauseFunc
	watchdog *time.Timer
	sent     int // bytes of the request's body
	answer   answer
}

func (a *attempt) run() *model.Error {
	if a.ctx.Err() != nil {
		return a.failed(a.ctx.Err(), nil)
	}
	if err := a.checkCredential(); err != nil {
		return err
	}
	a.call, a.cancel = context.WithCancelCause(a.ctx)
	defer a.cancel(nil)
	a.watchdog = time.AfterFunc(a.provider.config.StreamIdle, func() { a.cancel(errIdle) })
	defer a.watchdog.Stop()

	resp, err := a.post()
	if err != nil {
		return a.failed(err, unreachable)
	}
	body := &watchedBody{ReadCloser: resp.Body, attempt: a}
	defer body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		start, err := io.ReadAll(io.LimitReader(body, maxErrorBytes))
		if err != nil && a.call.Err() != nil {
			return a.failed(err, cut)
		}
		return statusError(resp, start)
	}
	reader := a.provider.readers.Get().(*bufio.Reader)
	reader.Reset(body)
	defer func() {
		reader.Reset(nil)
		a.provider.readers.Put(reader)
	}()
	if isStream(resp, reader) {
		return a.readStream(reader)
	}
	return a.readWhole(resp, reader)
}

func (a *attempt) checkCredential() *model.Error {
	if a.req.Credential == "" {
		if a.provider.config.KeyOptional {
			return nil
		}
		return &model.Error{Kind: model.KindAuth, Message: "no credential was given for " + a.provider.config.Name}
	}
	for i := range len(a.req.Credential) {
		if c := a.req.Credential[i]; c < ' ' || c == 0x7f {
			return &model.Error{Kind: model.KindAuth, Message: "the credential holds a line break or another control character"}
		}
	}
	return nil
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
	req, err := http.NewRequestWithContext(a.call, http.MethodPost, p.url, first)
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

// watchedBody lets the watchdog run while a read waits, and only then: a slow consumer is no silent server.
type watchedBody struct {
	io.ReadCloser
	attempt *attempt
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.attempt.watchdog.Reset(b.attempt.provider.config.StreamIdle)
	n, err := b.ReadCloser.Read(p)
	b.attempt.watchdog.Stop()
	return n, err
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

func (a *attempt) readStream(reader *bufio.Reader) *model.Error {
	stream := events{r: reader}
	for !a.answer.done {
		if a.ctx.Err() != nil {
			return a.failed(a.ctx.Err(), nil)
		}
		data, err := stream.next()
		switch {
		case err == io.EOF:
			if a.answer.finish == "" {
				return cut(errors.New("it ended without its end mark"))
			}
			return nil
		case err != nil:
			return a.failed(err, cut)
		}
		switch trimmed := strings.TrimSpace(string(data[:min(len(data), 16)])); trimmed {
		case "":
		case "[DONE]":
			a.answer.done = true
		default:
			if err := a.answer.take(data, a.emit); err != nil {
				return err
			}
		}
	}
	a.drain(reader)
	if a.answer.finish == "" && a.answer.received() == 0 {
		return cut(errors.New("it ended before it began"))
	}
	return nil
}

// drain reads the rest of a body that has said that it is done.
func (a *attempt) drain(reader *bufio.Reader) {
	timer := time.AfterFunc(drainTime, func() { a.cancel(nil) })
	defer timer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(reader, 64<<10))
}

// readWhole reads an answer, or an error, that came as one JSON body although a stream was asked for.
func (a *attempt) readWhole(resp *http.Response, reader *bufio.Reader) *model.Error {
	data, err := io.ReadAll(io.LimitReader(reader, maxLineBytes+1))
	switch {
	case err != nil:
		return a.failed(err, cut)
	case len(data) > maxLineBytes:
		return malformed(errAnswerTooLong.Error())
	case len(data) == 0:
		return cut(errors.New("the answer was empty"))
	case looksHTML(resp, data):
		return malformed("an HTML page came instead of an answer; check BaseURL")
	}
	if fault := faultOf(data); fault != nil {
		err := a.answer.classify(fault)
		err.Status, err.RetryAfter = resp.StatusCode, retryAfter(resp.Header, time.Now())
		return err
	}
	if err := a.answer.take(data, a.emit); err != nil {
		return err
	}
	if a.answer.finish == "" && a.answer.received() == 0 {
		return malformed("the server's JSON holds neither an answer nor an error")
	}
	return nil
}

// failed tells why reading or connecting failed: the caller's context, silence, a bound, or else what otherwise says.
func (a *attempt) failed(err error, otherwise func(error) *model.Error) *model.Error {
	switch {
	case a.ctx.Err() != nil:
		return &model.Error{Kind: model.KindCancelled, Message: "the call was cancelled", Cause: context.Cause(a.ctx)}
	case context.Cause(a.call) == errIdle:
		return cut(fmt.Errorf("nothing came for %v", a.provider.config.StreamIdle))
	case errors.Is(err, errLineTooLong) || errors.Is(err, errStreamTooLong):
		return malformed(err.Error())
	}
	var inner *url.Error // repeats the address, which the message has no room for
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return otherwise(err)
}

func cut(cause error) *model.Error {
	return &model.Error{Kind: model.KindCut, Message: clean("the stream broke off: " + cause.Error()), Cause: cause}
}
