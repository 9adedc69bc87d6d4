package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// What comes of a callback that has no answer.
var (
	errGone    = errors.New("the client is gone that this runs in")
	errNotSent = errors.New("the client was not asked")
	errUnread  = errors.New("the client's answer cannot be read")
)

// post is a callback on its way: sent, or given up before that, and never both. So a client is never told to cancel what it
// has not been asked yet, and is asked nothing whose asker has been told already that it is given up.
type post struct {
	ctx   context.Context
	state atomic.Int32
	owed  bool // given up, and not answered yet; under conn's lock
}

const (
	posted = 1 + iota
	givenUp
)

// postOf finds the callback that a message asks for, by its name, which is what the parameters begin with; nil if it is none.
func (c *conn) postOf(message []byte) *post {
	const begin = `"params":{"callback":"`
	head := message[:min(len(message), 256)]
	at := bytes.Index(head, []byte(begin))
	if at < 0 {
		return nil
	}
	name, _, _ := bytes.Cut(head[at+len(begin):], []byte(`"`))
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.posts[string(name)]
}

// send sends the callback unless it was given up, or callback/cancel, which has the same name and comes behind it.
func (p *post) send(lines *rpc.Lines, message []byte) error {
	if p.ctx.Err() != nil {
		p.state.CompareAndSwap(0, givenUp)
	}
	if p.state.Load() == posted {
		return lines.Send(message)
	}
	if !p.state.CompareAndSwap(0, posted) {
		return errNotSent
	}
	err := lines.Send(message)
	if err != nil {
		p.state.Store(givenUp)
	}
	return err
}

// ask calls the client. name is the callback's, as its parameters have it. When ctx ends the client is told, and ask returns,
// unless patient: then it goes on to wait for the answer. errNotSent says that the client was not asked.
//
// When the client is gone, nobody knows what came of it: errGone. By then the host has been told to stop what runs.
func (c *conn) ask(ctx context.Context, method, name string, params, result any, patient bool) error {
	type answer struct {
		response *jrpc2.Response
		err      error
	}
	done := make(chan answer, 1)
	p := &post{ctx: ctx}
	c.mu.Lock()
	c.posts[name] = p
	c.mu.Unlock()
	go func() {
		// Its own context does not end while an answer may come: one that came to a call that the server has forgotten
		// would be answered itself, as a request without a method.
		calling, forget := context.WithCancel(context.WithoutCancel(ctx))
		defer forget()
		response, err := c.server.Callback(calling, method, params)
		c.settled(name, p)
		done <- answer{response, err}
	}()
	ended, gone := ctx.Done(), c.peer.Done()
	if patient {
		gone = nil // the server ends soon, and then it is known whether the answer had come
	}
	for {
		select {
		case a := <-done:
			if a.err == nil {
				return badAnswer(method, a.response.UnmarshalResult(result))
			}
			var told *jrpc2.Error
			switch {
			case errors.As(a.err, &told) && told.Code == rpc.Unread:
				return fmt.Errorf("%s: %w: %w", method, errUnread, rpc.FromError(told))
			case errors.As(a.err, &told):
				return told
			case p.state.Load() != posted:
				c.settle(ctx, patient)
				return errNotSent
			case c.peer.Err() != nil:
				c.settle(ctx, patient)
				return errGone
			case errors.Is(a.err, context.Canceled), errors.Is(a.err, context.DeadlineExceeded): // the numbers that the library takes for these
				return api.Errorf(api.CodeCancelled, "the client gave up %s", method)
			}
			return api.Errorf(api.CodeInternal, "%s cannot be asked: %w", method, a.err)
		case <-gone:
			c.settle(ctx, patient)
			return errGone
		case <-ended:
			ended = nil
			c.owe(name, p)
			if !p.state.CompareAndSwap(0, givenUp) && p.state.Load() == posted {
				_ = c.server.Notify(ctx, rpc.MethodCancelCallback, rpc.Callback{Callback: name}) // the client may be gone
			}
			if !patient {
				return api.Errorf(api.CodeCancelled, "%s was given up: %w", method, context.Cause(ctx))
			}
		}
	}
}

// maxOwed bounds the callbacks that were given up and are not answered: each is kept until it is.
const maxOwed = 16_384

// owe counts a callback that is given up. A client that leaves too many of them without an answer is one that never answers.
func (c *conn) owe(name string, p *post) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.posts[name] != p || c.quieting {
		return
	}
	p.owed = true
	if c.owed++; c.owed <= maxOwed {
		return
	}
	select {
	case c.broken <- api.Errorf(api.CodeInvalidRequest, "%d callbacks of the runtime were given up and never answered; answer each by its id, also one that %s names", c.owed, rpc.MethodCancelCallback):
	default:
	}
}

// settled forgets a callback that has ended.
func (c *conn) settled(name string, p *post) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.posts, name)
	if p.owed {
		c.owed--
	}
}

// settle waits until the host has told everything to stop that it runs, which the end of the client leads to: so nobody takes
// the end of the client for an answer.
func (c *conn) settle(ctx context.Context, patient bool) {
	quiet := c.quiet
	if patient {
		quiet = nil // what is asked runs, so its own end comes
	}
	select {
	case <-ctx.Done():
	case <-quiet:
	}
}

func badAnswer(method string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %w", method, errUnread, err)
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
