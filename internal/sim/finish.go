package sim

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// finish compares, at the end, everything that can be told from the journals with what else there is.
func (w *world) finish() {
	w.syncAll()
	for _, s := range w.order {
		if s.deleted {
			s.checkGone()
			continue
		}
		s.checkFolds()
		s.checkRuns()
		s.checkReceipts()
		s.checkResults()
		s.checkConversations()
		s.checkFollower()
	}
	w.checkSubmissions()
	w.checkInbox()
	w.checkUsage()
}

// checkFolds folds the journal anew, whole and behind each build's snapshot.
func (s *session) checkFolds() {
	for _, schema := range []string{"", engine.SnapshotSchema(), "old"} {
		loaded, err := s.w.disk.mem.Load(s.w.disk.ctx(), s.id, schema)
		if err != nil {
			s.w.fail("%v", err)
		}
		state := &engine.State{Session: s.id}
		if snap := loaded.Snapshot; snap != nil {
			data := snap.Data
			if schema == "old" {
				data = reshape(data)
			}
			if state, err = engine.Restore(data); err != nil {
				s.w.fail("%v", err)
			}
		}
		for _, r := range loaded.Records {
			e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
			if err == nil {
				state, err = engine.Apply(state, engine.Fact{Number: r.Number, Time: r.Time, Event: e})
			}
			if err != nil {
				s.w.fail("session %s does not fold behind the snapshot of schema %q: %v", s.id, schema, err)
			}
		}
		s.sameState("behind the snapshot of schema "+schema+" it folds into", state)
	}
}

func (s *session) checkRuns() {
	for _, run := range s.runs {
		if !s.ended[run] {
			s.w.fail("run %s of session %s has not ended", run, s.id)
		}
		if _, err := s.w.disk.mem.Terminal(s.w.disk.ctx(), s.id, run); err != nil {
			s.w.fail("run %s of session %s has no terminal record: %v", run, s.id, err)
		}
	}
}

// checkResults holds what a model was told of an action against what the world has seen of it.
func (s *session) checkResults() {
	for _, f := range s.facts {
		e, ok := f.Event.(engine.ToolFinished)
		if !ok {
			continue
		}
		for _, b := range s.w.ledger.bodies[e.CallID] {
			if b.harmless {
				continue
			}
			if strings.Contains(e.Output, "It did not run.") {
				s.w.fail("session %s: event %d says of %s: %q, but attempt %d has run", s.id, f.Number, e.CallID, e.Output, b.attempt)
			}
			if strings.Contains(e.Output, "was not run again") && b.applied && !b.excused {
				s.w.fail("session %s: event %d says of %s: %q, but attempt %d has taken effect", s.id, f.Number, e.CallID, e.Output, b.attempt)
			}
		}
	}
}

func (s *session) checkReceipts() {
	for key, f := range s.submissions {
		e := f.Event.(engine.TurnAccepted)
		r, err := s.w.disk.receipt(s.id, key)
		if err != nil || r.Run != e.Run || r.Accepted != f.Number || !maps.Equal(r.Fields, e.Fingerprint) {
			s.w.fail("session %s: the receipt of %s is %+v (%v), the journal has run %s", s.id, key, r, err, e.Run)
		}
	}
}

func (s *session) checkFollower() {
	if f := s.follower; f.cursor != s.state.Head {
		s.w.fail("the follower of session %s has seen %d of %d events", s.id, f.cursor, s.state.Head)
	}
}

func (w *world) checkSubmissions() {
	for _, sub := range w.sent {
		s := sub.session
		if s.deleted {
			continue
		}
		stored, there := s.texts[sub.text]
		if sub.run != "" && (!there || stored.Run != sub.run) {
			w.fail("message %s was acknowledged as %s and is lost", sub.text, sub.run)
		}
		if sub.key == "" && sub.refused && there {
			w.fail("message %s was refused, and it is in the journal as %s", sub.text, stored.Run)
		}
	}
}

func (w *world) checkInbox() {
	listed, _, err := w.disk.mem.Interactions(w.disk.ctx(), "", "", 0)
	if err != nil {
		w.fail("%v", err)
	}
	var got, want []string
	for _, in := range listed {
		got = append(got, in.ID)
	}
	for _, s := range w.order {
		if !s.deleted {
			for _, in := range s.state.Interactions {
				want = append(want, in.ID)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.fail("the list of open interactions is %v, the journals have %v", got, want)
	}
}

// checkUsage compares the usage report with the journals, unless one is gone that was counted.
func (w *world) checkUsage() {
	want := map[string]store.UsageDelta{}
	for _, s := range w.order {
		if s.deleted {
			return
		}
		for day, u := range s.usage {
			key := s.state.Agent.Name + " " + day
			sum := want[key]
			sum.Turns, sum.Input, sum.Output = sum.Turns+u.Turns, sum.Input+u.Input, sum.Output+u.Output
			want[key] = sum
		}
	}
	rows, err := w.disk.mem.Usage(w.disk.ctx(), "", origin.AddDate(0, 0, -1))
	if err != nil {
		w.fail("%v", err)
	}
	for _, row := range rows {
		u := want[row.Agent+" "+row.Day]
		if row.Turns != u.Turns || row.Input != u.Input || row.Output != u.Output {
			w.fail("usage of %s on %s: the report says %+v, the journals %+v", row.Agent, row.Day, row.UsageDelta, u)
		}
		delete(want, row.Agent+" "+row.Day)
	}
	if len(want) > 0 {
		w.fail("usage that no report has: %v", want)
	}
}

// checkGone holds that nothing of a deleted session's files is left, whatever landed late.
func (s *session) checkGone() {
	d := s.w.disk
	for n, more := 0, true; more; n++ {
		var err error
		if more, err = d.mem.Clean(d.ctx(), s.id, 5); err != nil || n > 10_000 {
			s.w.fail("session %s was deleted and cannot be cleaned: %v", s.id, err)
		}
	}
	for _, id := range s.fileIDs {
		_, err := d.mem.File(d.ctx(), s.id, id)
		_, chunkErr := d.mem.Chunk(d.ctx(), s.id, id, 0)
		if !errors.Is(err, store.ErrDeleted) || !errors.Is(chunkErr, store.ErrDeleted) {
			s.w.fail("session %s was deleted, and of its file %s there is left: %v, %v", s.id, id, err, chunkErr)
		}
	}
}
