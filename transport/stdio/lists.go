package stdio

import (
	"context"

	"github.com/creachadair/jrpc2"

	"github.com/openworkerai/openworker/api"
)

// maxLists bounds the lists that are made at once.
const maxLists = 4

// list makes a handler of a method of the host whose answer may have megabytes. It begins when the client has taken most of
// what was sent to it before, so that however many lists are asked for, few of them are in memory.
func list[P, R any](c *conn, f func(h Host, ctx context.Context, params P) (R, error)) jrpc2.Handler {
	return ask(c, func(ctx context.Context, h Host, params P) (R, error) {
		var none R
		select {
		case c.lists <- struct{}{}:
			defer func() { <-c.lists }()
		case <-ctx.Done():
			return none, api.Errorf(api.CodeCancelled, "the request was given up: %w", context.Cause(ctx))
		}
		if err := c.lines.Room(ctx); err != nil {
			return none, api.Errorf(api.CodeCancelled, "the request was given up: %w", err)
		}
		return f(h, ctx, params)
	})
}
