package openworker

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync/atomic"

	"github.com/openworkerai/openworker/api"
)

// Run is the handle on one turn's execution.
type Run struct {
	service   api.Service
	reference RunReference
	seen      atomic.Uint64 // number of the last event that Events has given
	spoken    spoken
}

func newRun(service api.Service, ref RunReference) *Run {
	run := &Run{service: service, reference: ref}
	if ref.Accepted > 0 {
		run.seen.Store(ref.Accepted - 1)
	}
	return run
}

// ID is the run's ID. [Session.OpenRun] finds the run by it.
func (r *Run) ID() string { return r.reference.Run }

// Reference is the run's ID with its place in the journal. Repeated tells that a submission ID was
// accepted before, so that this is the run of then.
func (r *Run) Reference() RunReference { return r.reference }

// Result waits until the run ends or waits for something (status interrupted), or until ctx ends, which
// ends only the waiting. That a turn failed is a result and not an error.
func (r *Run) Result(ctx context.Context) (Result, error) {
	return r.service.Result(ctx, r.reference.Session, r.reference.Run)
}

// Events gives the run's events from turn_accepted on, with text deltas in between, and ends with the
// run's terminal event or with the one that leaves it waiting. The deltas of an answer make up its text: what the
// model said before anybody listened comes in one piece, in front of model_call_finished. Calling it again goes on where the last
// loop stopped, also where the loop was left early; it is for one goroutine at a time. An error ends the
// iteration.
func (r *Run) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		query := api.FollowQuery{Session: r.reference.Session, Run: r.reference.Run, After: r.seen.Load()}
		follow(ctx, r.service, query, &r.seen)(func(e Event, err error) bool {
			if missing, some := r.spoken.missing(e); some && err == nil && !yield(missing, nil) {
				r.seen.Store(e.Number - 1) // the next loop begins with e
				return false
			}
			return yield(e, err)
		})
	}
}

// Cancel asks the run to end, or to leave the queue, and returns once that is durable. A run that has
// ended stays as it is.
func (r *Run) Cancel(ctx context.Context) error {
	return r.service.Cancel(ctx, r.reference.Session, r.reference.Run)
}

// follow opens a stream when it is ranged over and closes it behind the loop. seen, unless nil, is set to
// the number of each event before the loop's body has it.
func follow(ctx context.Context, service api.Service, query api.FollowQuery, seen *atomic.Uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		stream, err := service.Follow(ctx, query)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer func() { _ = stream.Close() }() // it only frees the subscription
		for {
			event, err := stream.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if seen != nil && event.Number > 0 {
				seen.Store(event.Number)
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// Stream is a turn that was sent to be watched.
type Stream struct {
	ctx context.Context // RunStreamed's: it bounds the iteration, like that of a request's body
	run *Run
}

// Run is the handle on the turn.
func (s *Stream) Run() *Run { return s.run }

// Events is [Run.Events] under the context of RunStreamed.
func (s *Stream) Events() iter.Seq2[Event, error] { return s.run.Events(s.ctx) }

// Finish is [Run.Result]; it may be called at any time, also with events left to read.
func (s *Stream) Finish(ctx context.Context) (Result, error) { return s.run.Result(ctx) }
