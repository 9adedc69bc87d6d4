package sim

import (
	"errors"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// follower watches one session as a client does: it reads the journal until it has caught up, then takes
// what is published; after a gap it reads again. When its process dies it goes on at another one.
type follower struct {
	s       *session
	p       *process
	sub     *runtime.Subscription
	cursor  uint64
	behind  bool
	reading bool
}

// followers lets each of them look.
func (w *world) followers() {
	for _, s := range w.order {
		s.follower.look()
	}
}

func (f *follower) look() {
	w := f.s.w
	if f.reading || f.s.deleted {
		return
	}
	if f.p == nil || f.p.dead || f.p.closing {
		p := w.someone()
		if p == nil {
			return
		}
		f.p, f.sub, f.behind = p, p.hub.Subscribe(f.s.id), true
	}
	if f.p.paused > w.now {
		return
	}
	items, behind := f.sub.Take()
	f.behind = f.behind || behind
	for _, item := range items {
		switch {
		case item.Event.Number == 0: // a gap: no text is streamed here
			f.behind = true
		case item.Event.Number <= f.cursor:
		case item.Event.Number == f.cursor+1 && !f.behind:
			f.see(item.Event)
		default:
			f.behind = true
		}
	}
	if f.behind {
		f.read()
	}
}

// read catches up with the journal.
func (f *follower) read() {
	w, p, after := f.s.w, f.p, f.cursor
	f.reading = true
	w.after(nil, w.delay(), "follow "+f.s.id, func() {
		f.reading = false
		if f.p != p || f.cursor != after {
			return
		}
		records, err := w.disk.records(store.RecordQuery{Session: f.s.id, After: after, Limit: 20})
		if err != nil {
			if w.calm && !errors.Is(err, store.ErrDeleted) {
				w.fail("a follower cannot read: %v", err)
			}
			return
		}
		for _, r := range records {
			e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
			if err != nil {
				w.fail("%v", err)
			}
			event, err := engine.Public(engine.Fact{Number: r.Number, Time: r.Time, Event: e})
			if err != nil {
				w.fail("%v", err)
			}
			f.see(event)
		}
		f.behind = len(records) == 20
		f.look()
	})
}

// see takes the next event. It must be the journal's.
func (f *follower) see(e api.Event) {
	w := f.s.w
	if e.Number != f.cursor+1 {
		w.fail("a follower of %s sees event %d behind %d", f.s.id, e.Number, f.cursor)
	}
	f.cursor = e.Number
	if f.s.deleted {
		return
	}
	if e.Number > uint64(len(f.s.facts)) {
		w.fail("a follower of %s sees event %d, which is not durable", f.s.id, e.Number)
	}
	want, err := engine.Public(f.s.facts[e.Number-1])
	if err != nil {
		w.fail("%v", err)
	}
	if e.Type != want.Type || e.Run != want.Run || !e.Time.Equal(want.Time) || string(e.Data) != string(want.Data) {
		w.fail("a follower of %s sees event %d as %s %s, but it is %s %s", f.s.id, e.Number, e.Type, e.Data, want.Type, want.Data)
	}
}
