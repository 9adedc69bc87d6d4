package servicetest

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/openworkerai/openworker/api"
)

// journalled leaves out live events.
func journalled(events []api.Event) []api.Event {
	var out []api.Event
	for _, e := range events {
		if e.Number > 0 {
			out = append(out, e)
		}
	}
	return out
}

// reader assembles text from deltas as a client does, and complains where they do not fit.
type reader struct {
	s    *stage
	last api.Delta
	text string
	void bool // the attempt has ended
}

func (r *reader) take(e api.Event) {
	r.s.Helper()
	switch e.Type {
	case api.EventTextDelta:
		d := decode[api.Delta](r.s, e)
		if d.Call != r.last.Call || d.Attempt != r.last.Attempt || d.Epoch != r.last.Epoch {
			r.text, r.void = "", false
		}
		if r.void {
			r.s.Errorf("a delta of call %d attempt %d comes behind its end", d.Call, d.Attempt)
		}
		if d.From > len(r.text) {
			r.s.Errorf("a delta begins at %d, there are %d bytes", d.From, len(r.text))
			d.From = len(r.text)
		}
		r.text, r.last = r.text[:d.From]+d.Text, d
	case api.EventModelCallFailed:
		r.text, r.void = "", true
	case api.EventModelCallFinished:
		if d := decode[api.ModelCallFinished](r.s, e); r.last.Call == d.Call && r.last.Attempt == d.Attempt && r.text != d.Text {
			r.s.Errorf("the deltas of call %d come to %d bytes, its text has %d", d.Call, len(r.text), len(d.Text))
		}
		r.void = true
	}
}

var streamTests = []test{
	{"RU3 C31 a follower from any number gets every later event once, in order, while the run goes on", func(s *stage) {
		g := newGate()
		s.open(World{Model: rounds(calls("act", "act"), Answer{Text: "a b c", Wait: func(ctx context.Context) { g.pass(ctx, "model") }}), Tools: []Tool{action("act", "", nothing)}})
		other := s.store.Open(s.t, World{})
		id := s.session()
		s.send(id, "go")
		g.await(s)
		s.until(id, api.EventModelCallStarted, func(e api.Event) bool { return decode[api.ModelCallStarted](s, e).Call == 2 })
		head := s.state(id).LastEvent
		var wg sync.WaitGroup
		got := make([][]api.Event, 2*(head+1))
		ready := make(chan struct{}, len(got))
		for i := range got {
			stream, err := []api.Service{s, other}[i%2].Follow(s.Context(), api.FollowQuery{Session: id, After: uint64(i / 2)})
			s.no(err)
			wg.Go(func() {
				defer stream.Close()
				ready <- struct{}{}
				for {
					e, err := stream.Next(s.Context())
					if err != nil {
						s.Error(err)
						return
					}
					got[i] = append(got[i], e)
					if e.Type == api.EventTurnEnded {
						return
					}
				}
			})
		}
		for range got {
			<-ready
		}
		close(g.open)
		wg.Wait()
		all := s.events(id)
		for i := range got {
			if !reflect.DeepEqual(journalled(got[i]), all[i/2:]) {
				s.Errorf("after %d a follower got %d events, the journal has %d", i/2, len(journalled(got[i])), len(all)-i/2)
			}
		}
	}},
	{"RU3 a follower of a run ends with the run, and one that comes later too", func(s *stage) {
		s.open(World{})
		id := s.session()
		first := s.send(id, "one")
		s.ends(first, api.StatusCompleted)
		second := s.send(id, "two")
		s.ends(second, api.StatusCompleted)
		for _, after := range []uint64{0, first.Accepted - 1, first.Accepted} {
			events := journalled(s.drain(api.FollowQuery{Session: id, Run: first.Run, After: after}))
			if last := events[len(events)-1]; last.Type != api.EventTurnEnded || last.Run != first.Run {
				s.Errorf("after %d it ends with %s of %s", after, last.Type, last.Run)
			}
			for _, e := range events {
				if e.Run != first.Run {
					s.Errorf("after %d it brings event %d of run %q", after, e.Number, e.Run)
				}
			}
		}
		// Behind the run's end there is nothing more, whatever the session does by then.
		w, g := busy()
		s.open(w, func(d *api.AgentDefinition) { d.Name = "holds" })
		third := s.session()
		run := s.send(third, "quick")
		s.ends(run, api.StatusCompleted)
		end := s.state(third).LastEvent
		s.send(third, "hold")
		g.await(s)
		for _, after := range []uint64{end, end + 1, end + 1000} {
			if events := s.drain(api.FollowQuery{Session: third, Run: run.Run, After: after}); len(events) > 0 {
				s.Errorf("after %d, behind the end, it brings %+v", after, events)
			}
		}
		close(g.open)
		s.settle("the second turn ended", func() bool { return s.state(third).Activity == api.Idle })
	}},
	{"RU2 RU3 a run's stream and result stop where it waits, and go on when it does", func(s *stage) {
		s.open(World{Model: rounds(calls("act"), calls("act"), Answer{Text: "done"}), Tools: []Tool{action("act", "", nothing)}}, asking)
		id := s.session()
		run := s.send(id, "go")
		after := uint64(0)
		var seen []api.Event
		for range 2 {
			events := journalled(s.drain(api.FollowQuery{Session: id, Run: run.Run, After: after}))
			if last := events[len(events)-1]; last.Type != api.EventInteractionRequired {
				s.Fatalf("the stream stops at %s", last.Type)
			}
			seen, after = append(seen, events...), events[len(events)-1].Number
			r := s.ends(run, api.StatusInterrupted)
			if len(r.Interactions) != 1 || len(r.WaitingFor) != 1 || r.WaitingFor[0].Interaction != r.Interactions[0].ID {
				s.Fatalf("the result is %+v", r)
			}
			if again := s.drain(api.FollowQuery{Session: id, Run: run.Run, After: after}); len(again) > 0 {
				s.Fatalf("a follower of a waiting run gets %+v", again)
			}
			s.no(s.Resolve(s.Context(), id, r.Interactions[0].ID, api.Answer{Decision: api.AllowOnce}))
			// Until somebody has gone on, the run may still look as if it waited: the answer is durable, so it does not.
		}
		if r := s.ends(run, api.StatusCompleted); r.Text != "done" || r.ModelCalls != 3 {
			s.Fatalf("the result is %+v", r)
		}
		seen = append(seen, journalled(s.drain(api.FollowQuery{Session: id, Run: run.Run, After: after}))...)
		if want := s.events(id)[1:]; !reflect.DeepEqual(seen, want) {
			s.Fatalf("the parts come to %d events, the run has %d", len(seen), len(want))
		}
	}},
	{"RU3 many followers and one that comes midway read the same text by its offsets", func(s *stage) {
		g := newGate()
		text := strings.Repeat("zwölf Boxkämpfer jagen ", 40)
		s.open(World{Model: func(p Prompt) Answer {
			return Answer{Reasoning: "hm hm", Text: text, Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
		}})
		id := s.session()
		var followers, whole sync.WaitGroup
		follow := func() {
			stream, err := s.Follow(s.Context(), api.FollowQuery{Session: id})
			s.no(err)
			whole.Add(1)
			followers.Go(func() {
				defer stream.Close()
				r, done := &reader{s: s}, sync.OnceFunc(whole.Done)
				defer done()
				for {
					e, err := stream.Next(s.Context())
					if err != nil {
						s.Error(err)
						return
					}
					if r.take(e); r.text == text {
						done()
					}
					if e.Type == api.EventTurnEnded {
						break
					}
				}
				if r.text != text {
					s.Errorf("a follower has read %d bytes of %d", len(r.text), len(text))
				}
			})
		}
		for range 50 {
			follow()
		}
		s.send(id, "go")
		g.await(s)
		for range 10 {
			follow()
		}
		whole.Wait() // who came midway too has all of it before the end
		close(g.open)
		followers.Wait()
	}},
	{"RU3 a follower that is slower than any queue misses no event and no text", func(s *stage) {
		g := newGate()
		text := strings.Repeat("word ", 3000)
		s.open(World{Model: func(p Prompt) Answer {
			if p.User != "long" {
				return Answer{Text: "ok"}
			}
			return Answer{Text: text, Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
		}})
		id := s.session()
		stream, err := s.Follow(s.Context(), api.FollowQuery{Session: id})
		s.no(err)
		defer stream.Close()
		var got []api.Event
		r := &reader{s: s}
		next := func() api.Event {
			s.Helper()
			ctx, cancel := s.waiting()
			defer cancel()
			e, err := stream.Next(ctx)
			s.no(err)
			if r.take(e); e.Number > 0 {
				got = append(got, e)
			}
			return e
		}
		next() // from now on it takes what is published, and does not look
		for range 150 {
			s.say(id, "short")
		}
		s.send(id, "long")
		g.await(s)
		for r.text != text {
			next()
		}
		close(g.open)
		long := s.state(id).Run
		for {
			if e := next(); e.Type == api.EventTurnEnded && (long == "" || e.Run == long) {
				break
			}
		}
		s.settle("the turn ended", func() bool { return s.state(id).Activity == api.Idle })
		if all := s.events(id); !reflect.DeepEqual(got, all) {
			s.Fatalf("the follower has %d events, the journal %d", len(got), len(all))
		}
	}},
	{"RU3 C37 the deltas of an attempt that is discarded are announced as void, and none comes behind an end", func(s *stage) {
		tries := &ledger{}
		s.open(World{Model: func(p Prompt) Answer {
			if tries.add("") == 1 {
				return Answer{Text: "half of the", Fail: api.CodeStreamCut}
			}
			return Answer{Text: "the whole text"}
		}})
		id := s.session()
		stream, err := s.Follow(s.Context(), api.FollowQuery{Session: id})
		s.no(err)
		defer stream.Close()
		if _, err := stream.Next(s.Context()); err != nil { // it has caught up before the turn begins
			s.Fatal(err)
		}
		s.send(id, "go")
		r := &reader{s: s}
		halves := 0
		for {
			ctx, cancel := s.waiting()
			e, err := stream.Next(ctx)
			cancel()
			s.no(err)
			if e.Type == api.EventModelCallFailed {
				if r.text != "half of the" || decode[api.ModelCallFailed](s, e).Attempt != 1 {
					s.Errorf("before the failure there was %q", r.text)
				}
				halves++
			}
			if r.take(e); e.Type == api.EventTurnEnded {
				break
			}
		}
		if r.text != "the whole text" || r.last.Attempt != 2 || halves != 1 {
			s.Fatalf("read %q of attempt %d, failures %d", r.text, r.last.Attempt, halves)
		}
	}},
	{"RU3 an answer that nobody watched leaves nothing for who comes later", func(s *stage) {
		s.open(World{Model: func(p Prompt) Answer { return Answer{Text: "the text of " + p.User} }})
		id := s.session()
		run := s.send(id, "one")
		s.settle("the turn ended", func() bool { return s.state(id).Activity == api.Idle })
		for _, e := range s.drain(api.FollowQuery{Session: id, Run: run.Run}) {
			if e.Number == 0 {
				s.Errorf("a live event of a run that has ended: %+v", e)
			}
		}
	}},
	{"RU3 C30 a follower reads on across a crash, with one end and no gap", func(s *stage) {
		g := newGate()
		w := World{Model: func(p Prompt) Answer {
			return Answer{Text: "a b", Wait: func(ctx context.Context) { g.pass(ctx, "model") }}
		}}
		s.open(w)
		reads := s.store.Open(s.t, World{})
		id := s.session()
		stream, err := reads.Follow(s.Context(), api.FollowQuery{Session: id})
		s.no(err)
		defer stream.Close()
		run := s.send(id, "go")
		g.await(s)
		s.process.Crash()
		s.open(w)
		g.await(s)
		close(g.open)
		s.ends(run, api.StatusCompleted)
		var got []api.Event
		for len(got) == 0 || got[len(got)-1].Type != api.EventTurnEnded {
			ctx, cancel := s.waiting()
			e, err := stream.Next(ctx)
			cancel()
			s.no(err)
			if e.Number > 0 {
				got = append(got, e)
			}
		}
		if want := s.events(id); !reflect.DeepEqual(got, want) {
			s.Fatalf("the follower has %d events, the journal %d", len(got), len(want))
		}
		if count(got, api.EventSessionTakenOver) != 1 || count(got, api.EventTurnEnded) != 1 {
			s.Fatalf("the journal tells of %d take-overs and %d ends", count(got, api.EventSessionTakenOver), count(got, api.EventTurnEnded))
		}
	}},
	{"RU3 a stream that is closed, or whose service stops, ends with closed", func(s *stage) {
		s.open(World{})
		id := s.session()
		for _, end := range []func(api.EventStream){func(e api.EventStream) { _ = e.Close(); _ = e.Close() }, func(api.EventStream) { s.process.Stop() }} {
			stream, err := s.Follow(s.Context(), api.FollowQuery{Session: id, After: 1})
			s.no(err)
			done := make(chan error)
			go func() {
				_, err := stream.Next(s.Context())
				done <- err
			}()
			end(stream)
			if err := <-done; !errors.Is(err, io.EOF) {
				s.code(err, api.CodeClosed)
			} else {
				s.Error("the stream ends as if that were its end")
			}
		}
		_, err := s.Submit(s.Context(), api.Submission{Session: id, Text: "hi"})
		s.code(err, api.CodeClosed)
		s.open(World{})
	}},
	{"RU3 reading runs nothing", func(s *stage) {
		s.open(World{})
		id := s.session()
		s.say(id, "hi")
		head := s.state(id).LastEvent
		reads := s.store.Open(s.t, World{})
		for range 3 {
			stream, err := reads.Follow(s.Context(), api.FollowQuery{Session: id})
			s.no(err)
			for range head {
				_, err := stream.Next(s.Context())
				s.no(err)
			}
			s.no(stream.Close())
			_, err = reads.History(s.Context(), api.HistoryQuery{Session: id})
			s.no(err)
		}
		if now := s.state(id).LastEvent; now != head {
			s.Fatalf("reading has added events %d to %d", head+1, now)
		}
	}},
	{"SE7 events and history come in pages of any size", func(s *stage) {
		s.open(World{Model: rounds(calls("act", "act", "act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}})
		id := s.session()
		s.say(id, "one")
		s.say(id, "two")
		events, items := s.events(id), s.history(id)
		for limit := 1; limit <= len(events)+1; limit++ {
			var e []api.Event
			for after, more := uint64(0), true; more; {
				page, err := s.Events(s.Context(), api.EventQuery{Session: id, After: after, Limit: limit})
				s.no(err)
				if len(page.Events) > limit || page.More && len(page.Events) != limit {
					s.Fatalf("a page of %d has %d events", limit, len(page.Events))
				}
				e = append(e, page.Events...)
				after, more = e[len(e)-1].Number, page.More
			}
			var h []api.HistoryItem
			for q := (api.HistoryQuery{Session: id, Limit: limit}); ; {
				page, err := s.History(s.Context(), q)
				s.no(err)
				h = append(h, page.Items...)
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			if !reflect.DeepEqual(e, events) || !reflect.DeepEqual(h, items) {
				s.Fatalf("in pages of %d: %d events of %d, %d items of %d", limit, len(e), len(events), len(h), len(items))
			}
		}
		page, err := s.Events(s.Context(), api.EventQuery{Session: id, After: 1 << 62})
		s.no(err)
		if len(page.Events) > 0 || page.More {
			s.Fatalf("behind the end there are %v", page)
		}
	}},
}
