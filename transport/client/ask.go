package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/openworkerai/openworker/api"
)

// ask makes a request and reads its answer.
func ask[R any](ctx context.Context, c *Client, method string, params any) (R, error) {
	var result R
	r, err := c.request(ctx, method, params)
	if err != nil {
		return result, err
	}
	if err := r.wait(ctx, c.conn); err != nil {
		return result, err
	}
	if err := json.Unmarshal(r.result, &result); err != nil {
		return result, api.Errorf(api.CodeInternal, "the runtime's answer to %s cannot be read: %w", method, err)
	}
	return result, nil
}

// tell makes a request whose answer says nothing.
func (c *Client) tell(ctx context.Context, method string, params any) error {
	_, err := ask[struct{}](ctx, c, method, params)
	return err
}

// request sends a request, unless ctx has ended.
func (c *Client) request(ctx context.Context, method string, params any) (*request, error) {
	if ctx.Err() != nil {
		return nil, api.Errorf(api.CodeCancelled, "cancelled before %s was sent: %w", method, context.Cause(ctx))
	}
	r, err := c.conn.begin(method, params)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// wait waits for the answer. When ctx ends, the request is given up, and what the runtime then says of it counts.
func (r *request) wait(ctx context.Context, c *conn) error {
	select {
	case <-r.done:
	case <-ctx.Done():
		c.giveUp(r)
		late := time.NewTimer(settle)
		defer late.Stop()
		select {
		case <-r.done:
		case <-late.C:
			return api.Errorf(api.CodeCancelled, "cancelled, and the runtime did not say within %v what became of it: %w", settle, context.Cause(ctx))
		}
	}
	switch {
	case r.err == nil:
		return nil
	case r.err.Code == api.CodeCancelled && ctx.Err() != nil:
		err := api.Errorf(api.CodeCancelled, "%s (%w)", r.err.Message, context.Cause(ctx))
		err.Details = r.err.Details
		return err
	}
	return r.err
}
