package service

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// Events implements api.Service (SE7).
func (s *Service) Events(ctx context.Context, q api.EventQuery) (api.EventPage, error) {
	if err := s.usable(); err != nil {
		return api.EventPage{}, err
	}
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
	if err := s.usable(); err != nil {
		return nil, err
	}
	st := &stream{s: s, q: q, cursor: q.After, limit: maxPage, behind: true}
	if q.Run != "" {
		ref, err := s.Run(ctx, q.Session, q.Run)
		if err != nil {
			return nil, err
		}
		st.cursor = max(q.After, ref.Accepted-1)
		if st.cursor > ref.Accepted {
			switch end, err := s.store.Terminal(ctx, q.Session, q.Run); {
			case err == nil:
				st.done = end.Number <= st.cursor // there is nothing behind a run's end
			case !errors.Is(err, store.ErrNotFound):
				return nil, s.translate(ctx, q.Session, err)
			}
		}
	} else if _, err := s.session(ctx, q.Session); err != nil {
		return nil, err
	}
	if q.After > 0 && !st.done { // behind an event that is not there it would pass over those that come
		row, err := s.store.Session(ctx, q.Session)
		if err != nil {
			return nil, s.translate(ctx, q.Session, err)
		}
		if q.After > row.Head && !row.Deleted {
			return nil, api.Errorf(api.CodeInvalidRequest, "after is %d, and the newest event of session %s is %d; follow after the last event that you have seen of this session",
				q.After, q.Session, row.Head)
		}
	}
	// First watch, then read: nothing can fall in between, and what comes twice has the same number.
	st.sub = s.runtime.Subscribe(q.Session)
	return st, nil
}

// stream is one follower. It reads the journal until it has caught up, then takes what is published; after
// a gap, or when it was too slow, it reads again.
type stream struct {
	s      *Service
	q      api.FollowQuery
	sub    *runtime.Subscription
	cursor uint64 // number of the last event put into buf
	buf    []api.Event
	limit  int            // events to read at once
	held   []runtime.Live // taken already, and behind what is read from the journal
	behind bool           // the journal is to be read up to what is held and published
	moved  bool           // the journal holds more than was published
	over   attempt        // the last one whose end was put into buf
	check  bool           // look whether the run waits
	done   bool
	// deleted: the event that says so was the last.
	deleted bool
}

// attempt names one attempt of a model call.
type attempt struct {
	run           string
	Call, Attempt int
}

// has reports whether a delta is of the attempt, or of one before it in its run: its end has been told.
func (a attempt) has(run string, d *api.Delta) bool {
	return run == a.run && (d.Call < a.Call || d.Call == a.Call && d.Attempt <= a.Attempt)
}

// waitCheck is how often a follower of a run looks whether the run waits for something that no event tells,
// such as a credential.
const waitCheck = time.Second

// Next implements api.EventStream.
func (st *stream) Next(ctx context.Context) (api.Event, error) {
	for {
		for len(st.buf) > 0 {
			e := st.buf[0]
			st.buf[0] = api.Event{} // what was read is not kept
			st.buf = st.buf[1:]
			if st.q.Run != "" && e.Run != st.q.Run {
				continue
			}
			switch {
			case e.Type == api.EventSessionDeleted:
				st.deleted, st.buf = true, nil
			case e.Type == api.EventTurnEnded && st.q.Run != "":
				st.done, st.buf = true, nil
			}
			return e, nil
		}
		if st.deleted { // as a follower is told that reads it a moment later, or in another process
			return api.Event{}, api.Errorf(api.CodeSessionDeleted, "session %s was deleted", st.q.Session)
		}
		if st.done {
			return api.Event{}, io.EOF
		}
		if ctx.Err() != nil { // before anything is looked for and lost
			return api.Event{}, stopped(ctx)
		}
		if err := st.fill(ctx); err != nil {
			return api.Event{}, err
		}
		if len(st.buf) > 0 || st.behind || st.moved || st.held != nil {
			continue // there is more to take, of which no signal tells
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
		var tick <-chan time.Time // whoever follows the session and no run has nothing to look for
		stop := func() bool { return true }
		if st.q.Run != "" {
			timer := time.NewTimer(waitCheck)
			tick, stop = timer.C, timer.Stop
		}
		select {
		case <-st.sub.Wake():
		case <-tick:
			st.check = true
		case <-ctx.Done():
			stop()
			return api.Event{}, stopped(ctx)
		}
		stop()
		if st.sub.Closed() {
			return api.Event{}, api.Errorf(api.CodeClosed, "the stream, or the harness, was closed; follow again after event %d", st.cursor)
		}
	}
}

// fill takes what was published, or reads the journal. A delta stands before its attempt's end wherever the
// end is read, or is left out.
func (st *stream) fill(ctx context.Context) error {
	var page api.EventPage
	if st.behind || st.moved {
		var err error
		if page, err = st.page(ctx); err != nil {
			return err
		}
		st.check = true
	}
	if st.behind {
		st.pushUntil(page.Events, math.MaxUint64)
		st.behind = page.More
		return nil
	}
	items := st.held
	st.held, st.moved = nil, page.More
	if items == nil {
		// Taken only now: what was published before the journal was read stands before what the journal has more.
		var behind bool
		items, behind = st.sub.Take()
		st.moved = st.moved || behind
	}
	for i, item := range items {
		page.Events = st.pushUntil(page.Events, item.Event.Number)
		switch {
		case item.Delta != nil:
			if err := st.delta(item); err != nil {
				return err
			}
		case item.Gap:
			st.behind, st.held = true, items[i+1:]
			return nil
		case item.Event.Number <= st.cursor:
		case item.Event.Number == st.cursor+1:
			st.push(item.Event)
			st.check = st.check || item.Waits
		default:
			st.behind, st.held = true, items[i:]
			return nil
		}
	}
	st.pushUntil(page.Events, math.MaxUint64)
	return nil
}

// Bounds of what a follower reads from the journal at once, and keeps until it is asked for.
const (
	maxPage      = 200
	maxPageBytes = 512 << 10 // of the events' data; a single event may have more
)

// page reads the events behind the cursor. Where they are large it keeps some of them, and reads fewer the next time.
func (st *stream) page(ctx context.Context) (api.EventPage, error) {
	page, err := st.s.Events(ctx, api.EventQuery{Session: st.q.Session, After: st.cursor, Limit: st.limit})
	if err != nil {
		return page, err
	}
	size := 0
	for i, e := range page.Events {
		if size += len(e.Data); size > maxPageBytes && i > 0 {
			page.Events, page.More, st.limit = page.Events[:i], true, i
			return page, nil
		}
	}
	st.limit = min(2*st.limit, maxPage)
	return page, nil
}

func stopped(ctx context.Context) error {
	return api.Errorf(api.CodeCancelled, "the follower stopped waiting: %w", context.Cause(ctx))
}

// pushUntil puts the events below a number into buf and returns the rest.
func (st *stream) pushUntil(events []api.Event, number uint64) []api.Event {
	for len(events) > 0 && events[0].Number < number {
		if events[0].Number == st.cursor+1 {
			st.push(events[0])
		}
		events = events[1:]
	}
	return events
}

func (st *stream) push(e api.Event) {
	st.buf = append(st.buf, e)
	st.cursor = e.Number
	switch e.Type {
	case api.EventModelCallFinished, api.EventModelCallFailed:
		over := attempt{run: e.Run}
		if json.Unmarshal(e.Data, &over) == nil {
			st.over = over
		}
	case api.EventTurnEnded:
		st.over = attempt{run: e.Run, Call: math.MaxInt}
	}
}

func (st *stream) delta(item runtime.Live) error {
	if st.over.has(item.Event.Run, item.Delta) {
		return nil
	}
	data, err := json.Marshal(item.Delta)
	if err != nil {
		return api.Errorf(api.CodeInternal, "a delta cannot be encoded: %w", err)
	}
	e := item.Event
	e.Time, e.Data = time.Now().UTC(), data
	st.buf = append(st.buf, e)
	return nil
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
	if row.ParkedFor(build()) != "" {
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
