package stdio

import (
	"context"
	"errors"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// errGone is what comes of a callback when the client can answer nothing any more.
var errGone = api.Errorf(api.CodeClosed, "the client is gone that this runs in")

// ask calls the client. name is the callback's, as its parameters have it. When ctx ends the client is told, and ask returns,
// unless patient: then it goes on to wait for the answer.
//
// When the client is gone, nobody knows what came of it, and ask waits for the end of ctx: the host is being closed, and
// ends it, and then stores nothing of it.
func (c *conn) ask(ctx context.Context, method, name string, params, result any, patient bool) error {
	type answer struct {
		response *jrpc2.Response
		err      error
	}
	done := make(chan answer, 1)
	if c.peer.Err() == nil {
		go func() {
			// Its own context never ends: an answer that came to a call that the server has forgotten would be answered
			// itself, as a request without a method.
			response, err := c.server.Callback(context.WithoutCancel(ctx), method, params)
			done <- answer{response, err}
		}()
	}
	ended := ctx.Done()
	for {
		select {
		case a := <-done:
			if a.err == nil {
				return badAnswer(method, a.response.UnmarshalResult(result))
			}
			var told *jrpc2.Error
			switch {
			case errors.As(a.err, &told):
				return told
			case c.peer.Err() == nil && errors.Is(a.err, context.Canceled): // the number that the library takes for this
				return api.Errorf(api.CodeCancelled, "the client gave up %s", method)
			case c.peer.Err() == nil && !errors.Is(a.err, jrpc2.ErrConnClosed) && !errors.Is(a.err, rpc.ErrNotSent):
				return api.Errorf(api.CodeInternal, "%s cannot be asked: %w", method, a.err)
			}
			<-ctx.Done()
			return errGone
		case <-c.peer.Done():
			<-ctx.Done()
			return errGone
		case <-ended:
			ended = nil
			_ = c.server.Notify(ctx, rpc.MethodCancelCallback, rpc.Callback{Callback: name}) // the client may be gone
			if !patient {
				return api.Errorf(api.CodeCancelled, "%s was given up: %w", method, context.Cause(ctx))
			}
		}
	}
}

func badAnswer(method string, err error) error {
	if err == nil {
		return nil
	}
	return api.Errorf(api.CodeInternal, "the client's answer to %s cannot be read: %w", method, err)
}

// told is a client's error as the error of what it stands for.
func told(err error) error {
	var e *jrpc2.Error
	if errors.As(err, &e) {
		return rpc.FromError(e)
	}
	return err
}

// wait waits for a moment, or for the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
