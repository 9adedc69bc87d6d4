package stdio

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Bounds of what is fetched at once.
const (
	maxBatch      = 256
	maxBatchBytes = rpc.MaxFrameBytes / 2 // of the events' data, about; a single event may have more
)

// subscription is a stream of events that the client fetches from. Nothing is read before it is asked for, so that one that is
// not read costs nothing and stands still alone.
type subscription struct {
	stream api.EventStream
	ctx    context.Context // ends with the subscription, and closes the stream
	cancel context.CancelFunc

	busy sync.Mutex // one fetch at a time
}

// subscribe begins a stream.
func (c *conn) subscribe(ctx context.Context, h Host, q api.FollowQuery) (rpc.Subscription, error) {
	var none rpc.Subscription
	stream, err := h.Follow(ctx, q)
	if err != nil {
		return none, err
	}
	s := &subscription{stream: stream}
	s.ctx, s.cancel = context.WithCancel(c.waits)
	context.AfterFunc(s.ctx, func() { _ = stream.Close() }) // it only frees the stream
	name := c.next("s")
	c.mu.Lock()
	full := len(c.subscriptions) == maxSubscriptions
	if !full && !c.closed {
		c.subscriptions[name] = s
	}
	closed := c.closed
	c.mu.Unlock()
	if full || closed {
		s.cancel()
		if closed {
			return none, errClosing
		}
		return none, api.Errorf(api.CodeQueueFull, "%d subscriptions are open in this connection; end some with %s", maxSubscriptions, rpc.MethodUnsubscribe)
	}
	return rpc.Subscription{Subscription: name}, nil
}

// nextEvents waits for events and returns what has come together.
func (c *conn) nextEvents(ctx context.Context, _ Host, p rpc.Next) (rpc.Batch, error) {
	c.mu.Lock()
	s := c.subscriptions[p.Subscription]
	c.mu.Unlock()
	switch {
	case s == nil:
		return rpc.Batch{}, noSubscription(p.Subscription)
	case p.Max < 0 || p.Max > maxBatch:
		return rpc.Batch{}, api.Errorf(api.CodeInvalidRequest, "max is %d; it is from 1 to %d, or 0 for that", p.Max, maxBatch)
	case !s.busy.TryLock():
		return rpc.Batch{}, api.Errorf(api.CodeInvalidRequest, "another %s of subscription %q is under way; fetch from it one at a time", rpc.MethodNext, p.Subscription)
	}
	defer s.busy.Unlock()
	limit := p.Max
	if limit == 0 {
		limit = maxBatch
	}
	waiting, done := c.waiting(ctx)
	defer done()
	defer context.AfterFunc(s.ctx, done)()
	if err := c.lines.Room(waiting); err != nil { // what is fetched while nothing is read would be kept
		return rpc.Batch{}, c.ended(ctx, api.Errorf(api.CodeCancelled, "the wait for events was given up; they are there for the next %s", rpc.MethodNext))
	}
	event, err := s.stream.Next(waiting)
	switch {
	case errors.Is(err, io.EOF):
		c.forget(p.Subscription)
		return rpc.Batch{Events: []api.Event{}, End: true}, nil
	case err != nil && ctx.Err() != nil:
		return rpc.Batch{}, api.Errorf(api.CodeCancelled, "the wait for events was given up; they are there for the next %s", rpc.MethodNext)
	case err != nil && s.ctx.Err() != nil:
		return rpc.Batch{}, c.ended(ctx, api.Errorf(api.CodeCancelled, "the subscription was ended"))
	case err != nil:
		c.forget(p.Subscription)
		return rpc.Batch{}, err
	}
	batch := rpc.Batch{Events: []api.Event{event}}
	now, cancel := context.WithCancel(waiting)
	cancel() // what has come together, and no more
	for size := len(event.Data); len(batch.Events) < limit && size < maxBatchBytes; size += len(event.Data) + 128 {
		if event, err = s.stream.Next(now); err != nil {
			break // an end is told by the next fetch
		}
		batch.Events = append(batch.Events, event)
	}
	return batch, nil
}

// unsubscribe ends a subscription. One that is over already, or never was, is fine.
func (c *conn) unsubscribe(_ context.Context, _ Host, p rpc.Subscription) error {
	if p.Subscription == "" {
		return noSubscription("")
	}
	c.forget(p.Subscription)
	return nil
}

func noSubscription(name string) error {
	return api.Errorf(api.CodeInvalidRequest, "there is no subscription %.80q in this connection; begin one with %s", name, rpc.MethodSubscribe)
}

func (c *conn) forget(name string) {
	c.mu.Lock()
	s := c.subscriptions[name]
	delete(c.subscriptions, name)
	c.mu.Unlock()
	if s != nil {
		s.cancel()
	}
}

// waiting is the context of a request that may wait for long: the end of the connection ends it.
func (c *conn) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.waits, cancel)
	return waiting, func() {
		stop()
		cancel()
	}
}

// ended is the error of such a request: closed where it was the connection that ended, and not the request.
func (c *conn) ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && c.waits.Err() != nil {
		return errClosing
	}
	return err
}
