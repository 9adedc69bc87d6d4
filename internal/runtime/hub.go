package runtime

import (
	"sync"

	"github.com/openworkerai/openworker/api"
)

// subscriberQueue bounds what is kept for a slow subscriber; behind it the journal is read again.
const subscriberQueue = 512

// Hub hands what became durable, and live deltas, to those who watch a session. It holds no history: a
// subscriber that was slow reads the journal from where it is. Safe for concurrent use.
type Hub struct {
	mu       sync.Mutex
	sessions map[string]*topic
	closed   bool
}

type topic struct {
	head uint64 // of what was published or read
	subs map[*Subscription]struct{}
	live map[api.EventType]*liveText // of the attempt that streams
	// announced is the attempt whose model_call_started was published last. A call may stream before that is
	// durable; its text is held back until then, so that it never comes before what it belongs to.
	announced attempt
}

// attempt identifies an attempt of a model call.
type attempt struct {
	run     string
	call    int
	attempt int
	epoch   uint64
}

// liveText is the text of the running attempt so far, for those who join midway.
type liveText struct {
	attempt
	text []byte
}

func (l *liveText) delta(from int) *api.Delta {
	return &api.Delta{Call: l.call, Attempt: l.attempt.attempt, Epoch: l.epoch, From: from, Text: string(l.text[from:])}
}

// NewHub returns an empty hub.
func NewHub() *Hub { return &Hub{sessions: map[string]*topic{}} }

// Subscription is one watcher's queue.
type Subscription struct {
	hub     *Hub
	session string
	wake    chan struct{}

	mu     sync.Mutex
	queue  []Live
	behind bool // the queue overflowed, or something was published elsewhere: read the journal
	closed bool
}

// Live is something that happens now: a journalled event, or a delta.
type Live struct {
	// Gap marks where the queue overflowed: what follows comes behind what the journal has and the watcher has not.
	Gap   bool
	Event api.Event
	Delta *api.Delta // of a delta event
	// Waits: behind this event the session goes on only when somebody acts.
	Waits bool
}

// Subscribe watches a session from now on; first come the deltas of the running attempt so far.
func (h *Hub) Subscribe(session string) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(session)
	s := &Subscription{hub: h, session: session, wake: make(chan struct{}, 1), closed: h.closed}
	if s.closed {
		s.signal()
		h.tidy(session, t)
		return s
	}
	t.subs[s] = struct{}{}
	s.queue = t.soFar()
	return s
}

// soFar are the deltas of the running attempt, in one piece each.
func (t *topic) soFar() []Live {
	var out []Live
	for typ, l := range t.live {
		if l.attempt == t.announced {
			out = append(out, Live{Event: api.Event{Type: typ, Run: l.run}, Delta: l.delta(0)})
		}
	}
	return out
}

func (h *Hub) topic(session string) *topic {
	t := h.sessions[session]
	if t == nil {
		t = &topic{subs: map[*Subscription]struct{}{}, live: map[api.EventType]*liveText{}}
		h.sessions[session] = t
	}
	return t
}

// Watched lists the sessions that somebody watches, with the head that was published last.
func (h *Hub) Watched() map[string]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]uint64{}
	for id, t := range h.sessions {
		if len(t.subs) > 0 {
			out[id] = t.head
		}
	}
	return out
}

// Wants reports whether anybody watches the session, so that events need to be made for it.
func (h *Hub) Wants(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.sessions[session]
	return t != nil && len(t.subs) > 0
}

// Publish hands journalled events to the session's watchers, in order. waits tells whether the session now
// goes on only when somebody acts.
func (h *Hub) Publish(session string, events []api.Event, waits bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.sessions[session]
	if t == nil || len(events) == 0 {
		return
	}
	t.head = max(t.head, events[len(events)-1].Number)
	items := make([]Live, len(events))
	for i, e := range events {
		items[i] = Live{Event: e}
		switch e.Type {
		case api.EventModelCallFinished, api.EventModelCallFailed, api.EventTurnEnded, api.EventSessionDeleted:
			t.settle()
		}
	}
	items[len(items)-1].Waits = waits
	for s := range t.subs {
		s.push(t, items)
	}
	h.tidy(session, t)
}

// settle drops the text of an attempt that is whole now, or void.
func (t *topic) settle() {
	clear(t.live)
	t.announced = attempt{}
}

// Announce tells that an attempt's model_call_started is durable and published: its text may follow.
func (h *Hub) Announce(session, run string, call, n int, epoch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(session)
	t.announced = attempt{run, call, n, epoch}
	if items := t.soFar(); len(items) > 0 {
		for s := range t.subs {
			s.push(t, items)
		}
	}
}

// tidy drops a session that nobody watches and that nothing streams to.
func (h *Hub) tidy(session string, t *topic) {
	if len(t.subs) == 0 && len(t.live) == 0 && t.announced == (attempt{}) {
		delete(h.sessions, session)
	}
}

// Advance tells the session's watchers that the journal has grown to head by another process.
func (h *Hub) Advance(session string, head uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.sessions[session]
	if t == nil || head <= t.head {
		return
	}
	t.head = head
	for s := range t.subs {
		s.fallBehind()
	}
}

// Delta hands a piece of a running attempt to the session's watchers.
func (h *Hub) Delta(session, run string, reasoning bool, d api.Delta) {
	typ := api.EventTextDelta
	if reasoning {
		typ = api.EventReasoningDelta
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(session)
	own := attempt{run, d.Call, d.Attempt, d.Epoch}
	l := t.live[typ]
	if l == nil || l.attempt != own {
		for kind, old := range t.live {
			if old.attempt != own {
				delete(t.live, kind)
			}
		}
		l = &liveText{attempt: own}
		t.live[typ] = l
	}
	from := len(l.text)
	l.text = append(l.text, d.Text...)
	if own != t.announced {
		return
	}
	item := []Live{{Event: api.Event{Type: typ, Run: run}, Delta: l.delta(from)}}
	for s := range t.subs {
		s.push(t, item)
	}
}

// Forget drops the text that is kept of a session: nothing of this process streams to it any more.
func (h *Hub) Forget(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.sessions[session]; t != nil {
		t.settle()
		h.tidy(session, t)
	}
}

func (s *Subscription) push(t *topic, items []Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return
	case len(s.queue)+len(items) > subscriberQueue:
		// Events are read from the journal; the text of the running attempt begins anew, as for who joins midway.
		s.queue, s.behind = append([]Live{{Gap: true}}, t.soFar()...), true
	default:
		s.queue = append(s.queue, items...)
	}
	s.signal()
}

func (s *Subscription) fallBehind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind = true
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Take returns what has come since the last call; behind means that the journal holds more: before the items
// where they begin with a gap, else behind them.
func (s *Subscription) Take() (items []Live, behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, behind = s.queue, s.behind
	s.queue, s.behind = nil, false
	return items, behind
}

// Wake is signalled when Take has something to give, or the subscription was closed.
func (s *Subscription) Wake() <-chan struct{} { return s.wake }

// Closed reports whether Close was called.
func (s *Subscription) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close ends the subscription; any number of calls.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	if t := s.hub.sessions[s.session]; t != nil {
		delete(t.subs, s)
		s.hub.tidy(s.session, t)
	}
	s.hub.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.queue = true, nil
	s.signal()
}

// CloseAll ends every subscription, later ones too: the process is going away.
func (h *Hub) CloseAll() {
	h.mu.Lock()
	h.closed = true
	var all []*Subscription
	for _, t := range h.sessions {
		for s := range t.subs {
			all = append(all, s)
		}
	}
	h.mu.Unlock()
	for _, s := range all {
		s.Close()
	}
}
