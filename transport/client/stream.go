package client

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Follow implements api.Service. The stream fetches events as it is read: one that is not read holds up nothing
// else. It is over with its first error but those of the reader's own ctx.
func (c *Client) Follow(ctx context.Context, q api.FollowQuery) (api.EventStream, error) {
	r, err := c.request(ctx, rpc.MethodSubscribe, q)
	if err != nil {
		return nil, err
	}
	if err := r.wait(ctx, c.conn); err != nil {
		go func() { // of an answer that comes after all
			<-r.done
			var sub rpc.Subscription
			if json.Unmarshal(r.result, &sub) == nil {
				c.unsubscribe(sub)
			}
		}()
		return nil, err
	}
	s := &stream{client: c, closed: make(chan struct{})}
	if err := json.Unmarshal(r.result, &s.sub); err != nil {
		return nil, api.Errorf(api.CodeInternal, "the runtime's answer to %s cannot be read: %w", rpc.MethodSubscribe, err)
	}
	return s, nil
}

// unsubscribe ends a subscription, and waits for nothing.
func (c *Client) unsubscribe(sub rpc.Subscription) {
	_, _ = c.conn.begin(rpc.MethodUnsubscribe, sub) // it goes with the connection too
}

type stream struct {
	client *Client
	sub    rpc.Subscription
	once   sync.Once
	closed chan struct{}

	// Of the reading goroutine.
	events []api.Event
	fetch  *request // under way; it outlasts a reader whose ctx ends, so that no event is lost with it
	over   error
}

// Next implements api.EventStream.
func (s *stream) Next(ctx context.Context) (api.Event, error) {
	for len(s.events) == 0 {
		if s.over != nil {
			return api.Event{}, s.over
		}
		if err := s.more(ctx); err != nil {
			return api.Event{}, err
		}
	}
	e := s.events[0]
	s.events = s.events[1:]
	return e, nil
}

// more fetches events, or what ends the stream. Its error is of the reader alone.
func (s *stream) more(ctx context.Context) error {
	select {
	case <-s.closed:
		return errStreamClosed()
	default:
	}
	if s.fetch == nil {
		fetch, err := s.client.request(ctx, rpc.MethodNext, rpc.Next{Subscription: s.sub.Subscription})
		if err != nil {
			return err
		}
		s.fetch = fetch
	}
	select {
	case <-s.fetch.done:
	case <-s.closed:
		return errStreamClosed()
	case <-ctx.Done():
		return api.Errorf(api.CodeCancelled, "the follower stopped waiting: %w", context.Cause(ctx))
	}
	var batch rpc.Batch
	switch r := s.fetch; {
	case r.err != nil:
		s.over = r.err
	default:
		if err := json.Unmarshal(r.result, &batch); err != nil {
			s.over = api.Errorf(api.CodeInternal, "the runtime's answer to %s cannot be read: %w", rpc.MethodNext, err)
		} else if batch.End {
			s.over = io.EOF
		}
	}
	s.events, s.fetch = batch.Events, nil
	return nil
}

func errStreamClosed() error {
	return api.Errorf(api.CodeClosed, "the stream was closed; follow again after the last event")
}

// Close implements api.EventStream. It returns nil.
func (s *stream) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.client.unsubscribe(s.sub)
	})
	return nil
}
