package service

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// Events implements api.Service (SE7).
func (s *Service) Events(ctx context.Context, q api.EventQuery) (api.EventPage, error) {
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return api.EventPage{}, err
	}
	if _, err := s.session(ctx, q.Session); err != nil {
		return api.EventPage{}, err
	}
	facts, err := s.read(ctx, store.RecordQuery{Session: q.Session, After: q.After, Limit: limit + 1})
	if err != nil {
		return api.EventPage{}, err
	}
	page := api.EventPage{Events: []api.Event{}}
	for _, f := range facts {
		if len(page.Events) == limit {
			page.More = true
			break
		}
		e, err := engine.Public(f)
		if err != nil {
			return api.EventPage{}, api.Errorf(api.CodeInternal, "event %d of session %s has no public form: %w", f.Number, q.Session, err)
		}
		page.Events = append(page.Events, e)
	}
	return page, nil
}

// Follow implements api.Service (RU3).
func (s *Service) Follow(ctx context.Context, q api.FollowQuery) (api.EventStream, error) {
	if q.Run != "" {
		ref, err := s.Run(ctx, q.Session, q.Run)
		if err != nil {
			return nil, err
		}
		q.After = max(q.After, ref.Accepted-1)
	} else if _, err := s.session(ctx, q.Session); err != nil {
		return nil, err
	}
	// First watch, then read: nothing can fall in between, and what comes twice has the same number.
	return &stream{s: s, q: q, sub: s.runtime.Subscribe(q.Session), cursor: q.After, behind: true}, nil
}

// stream is one follower. It reads the journal until it has caught up, then takes what is published; after
// a gap, or when it was too slow, it reads again.
type stream struct {
	s      *Service
	q      api.FollowQuery
	sub    *runtime.Subscription
	cursor uint64 // number of the last event put into buf
	buf    []api.Event
	behind bool
	check  bool // look whether the run waits
	done   bool
}

// waitCheck is how often a follower of a run looks whether the run waits for something that no event tells,
// such as a credential.
const waitCheck = time.Second

// Next implements api.EventStream.
func (st *stream) Next(ctx context.Context) (api.Event, error) {
	for {
		for len(st.buf) > 0 {
			e := st.buf[0]
			st.buf = st.buf[1:]
			if st.q.Run != "" && e.Run != st.q.Run {
				continue
			}
			if e.Type == api.EventTurnEnded && st.q.Run != "" || e.Type == api.EventSessionDeleted {
				st.done, st.buf = true, nil
			}
			return e, nil
		}
		if st.done {
			return api.Event{}, io.EOF
		}
		if err := st.fill(ctx); err != nil {
			return api.Event{}, err
		}
		if len(st.buf) > 0 || st.behind {
			continue
		}
		if st.q.Run != "" && st.check {
			st.check = false
			waits, err := st.s.waits(ctx, st.q.Session, st.cursor)
			if err != nil {
				return api.Event{}, err
			}
			if waits {
				return api.Event{}, io.EOF
			}
		}
		timer := time.NewTimer(waitCheck)
		select {
		case <-st.sub.Wake():
		case <-timer.C:
			st.check = true
		case <-ctx.Done():
			timer.Stop()
			return api.Event{}, api.Errorf(api.CodeCancelled, "the follower stopped waiting: %w", context.Cause(ctx))
		}
		timer.Stop()
		if st.sub.Closed() {
			return api.Event{}, api.Errorf(api.CodeClosed, "the stream, or the harness, was closed; follow again after event %d", st.cursor)
		}
	}
}

// fill takes what was published, or reads the journal.
func (st *stream) fill(ctx context.Context) error {
	if st.behind {
		page, err := st.s.Events(ctx, api.EventQuery{Session: st.q.Session, After: st.cursor, Limit: 200})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			st.push(e)
		}
		st.behind = page.More
		st.check = true
		return nil
	}
	items, behind := st.sub.Take()
	for _, item := range items {
		switch {
		case item.Delta != nil:
			e := item.Event
			e.Time = time.Now().UTC()
			data, err := json.Marshal(item.Delta)
			if err != nil {
				return api.Errorf(api.CodeInternal, "a delta cannot be encoded: %w", err)
			}
			e.Data = data
			st.buf = append(st.buf, e)
		case item.Event.Number <= st.cursor:
		case item.Event.Number == st.cursor+1:
			st.push(item.Event)
			st.check = st.check || item.Waits
		default:
			behind = true
		}
	}
	st.behind = st.behind || behind
	return nil
}

func (st *stream) push(e api.Event) {
	st.buf = append(st.buf, e)
	st.cursor = e.Number
}

// Close implements api.EventStream.
func (st *stream) Close() error {
	st.sub.Close()
	return nil
}

// waits reports whether a session whose events were seen up to head goes on only when somebody acts.
func (s *Service) waits(ctx context.Context, session string, head uint64) (bool, error) {
	row, err := s.store.Session(ctx, session)
	if err != nil {
		return false, s.translate(ctx, session, err)
	}
	if row.Deleted {
		return false, api.Errorf(api.CodeSessionDeleted, "session %s was deleted", session)
	}
	if row.Parked != "" {
		return false, api.Errorf(api.CodeSessionParked, "session %s is set aside: %s", session, row.Parked)
	}
	if row.Head != head {
		return false, nil
	}
	if row.Index.Due.IsZero() {
		return true, nil
	}
	own := row.Holder == s.runtime.Process()
	if row.Holder != "" && !row.HolderGone && !own || row.Index.Due.After(time.Now()) {
		return false, nil
	}
	return len(s.registry.Missing(ctx, row.Index.Needs)) > 0, nil
}
