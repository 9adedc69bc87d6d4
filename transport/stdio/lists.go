package stdio

import (
	"context"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// maxMade bounds the lists, and the results, that are made at once.
const maxMade = 4

// list makes a handler of a method of the host whose answer may have megabytes. It begins when the client has taken most of
// what was sent to it before, so that however many lists are asked for, few of them are in memory.
func list[P, R any](c *conn, f func(h Host, ctx context.Context, params P) (R, error)) jrpc2.Handler {
	return ask(c, func(ctx context.Context, h Host, params P) (R, error) {
		place := place{lines: c.lines, of: c.lists}
		defer place.leave()
		if err := place.take(ctx); err != nil {
			var none R
			return none, err
		}
		return f(h, ctx, params)
	})
}

// result waits until a run ends or waits. Its result is made as a list is: that of a run that many wait for may have megabytes
// for each.
func (c *conn) result(ctx context.Context, h Host, run rpc.RunID) (api.Result, error) {
	waiting, done := c.waiting(ctx)
	defer done()
	place := place{lines: c.lines, of: c.results}
	defer place.leave()
	result, err := h.ResultWhen(waiting, run.Session, run.Run, place.take)
	return result, c.ended(ctx, err)
}

// state is how a session stands, which is made as a result is: it has the arguments that somebody is asked about.
func (c *conn) state(ctx context.Context, h Host, p rpc.SessionID) (api.SessionState, error) {
	place := place{lines: c.lines, of: c.results}
	defer place.leave()
	if err := place.take(ctx); err != nil {
		return api.SessionState{}, err
	}
	return h.State(ctx, p.Session)
}

// place is one of those who make a long answer at once.
type place struct {
	lines *rpc.Lines
	of    chan struct{}
	taken bool
}

// take waits for the place, and until the client has taken most of what was sent to it. Again is a no-op.
func (p *place) take(ctx context.Context) error {
	if p.taken {
		return nil
	}
	select {
	case p.of <- struct{}{}:
		p.taken = true
	case <-ctx.Done():
		return api.Errorf(api.CodeCancelled, "the request was given up: %w", context.Cause(ctx))
	}
	if err := p.lines.Room(ctx); err != nil {
		return api.Errorf(api.CodeCancelled, "the request was given up: %w", err)
	}
	return nil
}

func (p *place) leave() {
	if p.taken {
		<-p.of
	}
}
