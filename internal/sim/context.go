package sim

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// spend adds what calls to models used, and holds what a run is told at its end against the sum.
func (s *session) spend(f engine.Fact) {
	add := func(run string, u api.Usage, aside bool) {
		s.spent[run] = s.spent[run].Add(u)
		if aside {
			s.aside[run] = s.aside[run].Add(u)
		}
	}
	switch e := f.Event.(type) {
	case engine.ModelFinished:
		add(e.Run, e.Usage, false)
	case engine.ModelFailed:
		add(e.Run, e.Usage, false)
	case engine.ReviewFinished:
		add(e.Run, e.Usage, true)
	case engine.CompactionFailed:
		add(e.Run, e.Usage, true)
		s.givenUp[e.Run] = e.GivenUp
	case engine.CompactionFinished:
		add(e.Run, e.Usage, true)
	case engine.TurnEnded:
		if e.Usage != s.spent[e.Run] || e.Auxiliary != s.aside[e.Run] {
			s.w.fail("session %s: run %s is told to have used %+v, %+v of it aside; its calls used %+v, %+v of it aside",
				s.id, e.Run, e.Usage, e.Auxiliary, s.spent[e.Run], s.aside[e.Run])
		}
		if e.AutoApproved != s.approved[e.Run] {
			s.w.fail("session %s: run %s is told that policy approved %d calls; it approved %d", s.id, e.Run, e.AutoApproved, s.approved[e.Run])
		}
	}
}

// converse folds a fact into the conversation. A compaction must leave of it what its plan says.
func (s *session) converse(f engine.Fact) {
	e, compacted := f.Event.(engine.CompactionFinished)
	if !compacted {
		s.transcript.Apply(f)
		return
	}
	before := slices.Clone(s.transcript.Context(0))
	s.parts(f, e.Plan, before)
	s.transcript.Apply(f)
	s.keeps(f, e, before, s.transcript.Context(0))
	key := summaryKey(e.Run, e.Attempt, e.Epoch)
	left := e.Attempt == 0 && e.Plan.Items > 0
	if left && !s.givenUp[e.Run] {
		s.w.fail("session %s: event %d leaves %d items out, and no summary of them was given up", s.id, f.Number, e.Plan.Items)
	}
	s.givenUp[e.Run] = false
	if left {
		s.w.saw("items that nobody summarised")
		return
	}
	if e.Attempt == 0 {
		if e.Plan.Bare {
			s.w.saw("files that were left out")
		} else {
			s.w.saw("items that were shortened")
		}
		return
	}
	if !reflect.DeepEqual(e.Plan, s.plans[key]) {
		s.w.fail("session %s: event %d puts the plan %+v into effect; what was begun is %+v", s.id, f.Number, e.Plan, s.plans[key])
	}
	if !slices.Contains(s.w.ledger.asked[key], s.requests[key]) {
		s.w.fail("session %s: event %d is a summary of something else than its plan leaves out", s.id, f.Number)
	}
	if s.transcript.Context(0)[0].Text != e.Summary {
		s.w.fail("session %s: the summary of event %d is not what the model is to see", s.id, f.Number)
	}
}

// cutOf is where a plan parts the entries.
func cutOf(p engine.Plan, entries []engine.Entry) int {
	switch {
	case p.Items == 0:
		return 0
	case p.Keep == 0:
		return len(entries)
	}
	return slices.IndexFunc(entries, func(e engine.Entry) bool { return e.Number == p.Keep && e.Kind != engine.EntrySummary })
}

// parts holds that a plan parts neither an answer nor a batch of calls from their results.
func (s *session) parts(f engine.Fact, p engine.Plan, entries []engine.Entry) {
	cut := cutOf(p, entries)
	if cut < 0 {
		s.w.fail("session %s: event %d keeps what comes from event %d on, which is not in the conversation", s.id, f.Number, p.Keep)
	}
	open := map[string]bool{}
	for i := range entries[:cut] {
		switch e := &entries[i]; e.Kind {
		case engine.EntryCall:
			open[e.CallID] = true
		case engine.EntryResult:
			if !e.Open {
				delete(open, e.CallID)
			}
		}
	}
	answer := func(e engine.Entry) bool {
		return e.Kind != engine.EntryResult && e.Kind != engine.EntryUser && e.Kind != engine.EntryNotice
	}
	switch {
	case len(open) > 0:
		s.w.fail("session %s: event %d summarises %d calls and keeps their results", s.id, f.Number, len(open))
	case cut > 0 && cut < len(entries) && entries[cut].Kind == engine.EntryResult:
		s.w.fail("session %s: event %d parts a batch of calls before the result of %s", s.id, f.Number, entries[cut].CallID)
	case cut > 0 && cut < len(entries) && answer(entries[cut-1]) && answer(entries[cut]) && entries[cut-1].Number == entries[cut].Number:
		s.w.fail("session %s: event %d parts the answer of event %d", s.id, f.Number, entries[cut].Number)
	}
}

// keeps holds that what a model sees behind a compaction is the summary, the current message and the rest.
func (s *session) keeps(f engine.Fact, e engine.CompactionFinished, before, after []engine.Entry) {
	cut, current := cutOf(e.Plan, before), -1
	for i := range before {
		if before[i].Kind == engine.EntryUser && before[i].Run == e.Run {
			current = i
		}
	}
	var want []engine.Entry
	if e.Plan.Items > 0 {
		want = append(want, engine.Entry{Kind: engine.EntrySummary, Number: f.Number, Text: e.Summary})
		left := cut
		if current >= 0 && current < cut {
			want = append(want, before[current])
			left--
		}
		if left != e.Plan.Items {
			s.w.fail("session %s: event %d leaves %d items out and tells of %d", s.id, f.Number, left, e.Plan.Items)
		}
	}
	for i, kept := range before[cut:] {
		if cut+i != current && kept.Content != nil && !slices.Contains(e.Plan.Files, kept.Number) { // it stays without its files
			kept.Text, kept.Content = kept.Described(), nil
		}
		want = append(want, kept)
	}
	if e.Plan.Bare && len(e.Plan.Files) > 0 {
		s.w.fail("session %s: event %d leaves all files out, and those of %v not", s.id, f.Number, e.Plan.Files)
	}
	if len(after) != len(want) {
		s.w.fail("session %s: behind event %d a model sees %d items, %d are kept", s.id, f.Number, len(after), len(want))
	}
	for i, w := range want {
		got := after[i]
		bound := e.Plan.ItemBytes
		whole := bound == 0 || len(w.Text) <= bound || w.Kind == engine.EntrySummary && len(w.Text) <= 4*bound || w.Kind == engine.EntryUser && w.Run == e.Run
		if got.Kind != w.Kind || got.Number != w.Number || got.CallID != w.CallID || got.Arguments != w.Arguments || got.Code != w.Code || !reflect.DeepEqual(got.Content, w.Content) || len(got.Text) > len(w.Text) || whole && got.Text != w.Text {
			s.w.fail("session %s: behind event %d a model sees %+v where %+v is kept", s.id, f.Number, got, w)
		}
	}
}

// sameKind finds the files of one type that a message has.
func sameKind(a engine.HeldFile) func(engine.HeldFile) bool {
	return func(b engine.HeldFile) bool { return a.Number == b.Number && a.MediaType == b.MediaType }
}

// sized holds that the state knows how large the conversation is that a model sees, and which files it has.
func (s *session) sized(f engine.Fact) {
	size := 0
	var files []engine.HeldFile
	for _, e := range s.transcript.Context(0) {
		size += engine.EntryBytes(e)
		for _, b := range e.Content {
			if held := (engine.HeldFile{Number: e.Number}); b.File != nil {
				if held.MediaType = b.File.MediaType; !slices.ContainsFunc(files, sameKind(held)) {
					files = append(files, held)
				}
			}
		}
	}
	if known := s.state.Context.Files; len(known) != len(files) || slices.ContainsFunc(files, func(h engine.HeldFile) bool { return !slices.ContainsFunc(known, sameKind(h)) }) {
		s.w.fail("session %s: at event %d a model gets the files %v, the state knows %v", s.id, f.Number, files, known)
	}
	if s.state.Context.Bytes != size {
		s.w.fail("session %s: at event %d a model sees %d bytes, the state counts %d", s.id, f.Number, size, s.state.Context.Bytes)
	}
}

// checkConversations rebuilds the conversation from the journal in each way in which it is built: it must always be
// the same, and what was summarised or shortened must still be in the complete one.
func (s *session) checkConversations() {
	records, err := s.w.disk.mem.Records(s.w.disk.ctx(), store.RecordQuery{Session: s.id, Items: true})
	if err != nil {
		s.w.fail("%v", err)
	}
	short, long, plain := engine.NewContext(), engine.NewTranscript(), engine.NewTranscript()
	for _, r := range records {
		f := s.facts[r.Number-1]
		short.Apply(f)
		long.Apply(f)
		if _, is := f.Event.(engine.CompactionFinished); !is {
			plain.Apply(f)
		}
	}
	s.checkImported(long.Entries())
	seen := conversation(asJournalled(s.transcript.Context(0)), "")
	for name, t := range map[string]*engine.Transcript{"without what it forgets": short, "from its records": long} {
		if conversation(asJournalled(t.Context(0)), "") != seen {
			s.w.fail("session %s: the conversation is another one when it is read %s", s.id, name)
		}
	}
	if conversation(asJournalled(long.Entries()), "") != conversation(asJournalled(plain.Entries()), "") {
		s.w.fail("session %s: the complete conversation is not complete", s.id)
	}
}

// secretFree holds that nothing is stored which hooks and guardrails have removed.
func (w *world) secretFree(a store.Append) {
	for _, r := range a.Records {
		if bytes.Contains(r.Data, []byte(secret)) {
			w.fail("append %s stores what hooks and guardrails have not seen: %s", a.ID, r.Data)
		}
	}
	if a.Snapshot != nil && bytes.Contains(a.Snapshot.Data, []byte(secret)) {
		w.fail("append %s stores a snapshot with what hooks and guardrails have not seen", a.ID)
	}
}
