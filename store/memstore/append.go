package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// Fate is what becomes of an append.
type Fate int

const (
	// Commit serves the append as a sound store does.
	Commit Fate = iota
	// FailBefore writes nothing and says so: store_unavailable.
	FailBefore
	// LoseUnknown writes nothing and answers ErrFateUnknown.
	LoseUnknown
	// CommitThenUnknown serves the append and answers ErrFateUnknown.
	CommitThenUnknown
	// CommitLater answers ErrFateUnknown and serves the append later: at [Store.Land], or right before the
	// session's next append, which waits for it as it would for a row lock.
	CommitLater
)

// Append implements [store.Journal].
func (s *Store) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	if err := a.Validate(); err != nil {
		return store.Appended{}, err
	}
	if err := ended(ctx); err != nil {
		return store.Appended{}, err
	}
	fate := Commit
	if s.config.Fault != nil {
		fate = s.config.Fault(a)
	}
	defer s.lock()()
	s.land(func(late store.Append) bool { return late.Session == a.Session })
	switch fate {
	case FailBefore:
		return store.Appended{}, api.Errorf(api.CodeStoreUnavailable, "memstore: append %q was made to fail", a.ID)
	case LoseUnknown:
		return store.Appended{}, store.ErrFateUnknown
	case CommitLater:
		s.late = append(s.late, copied(a))
		return store.Appended{}, store.ErrFateUnknown
	}
	appended, err := s.serve(copied(a))
	if err == nil && fate == CommitThenUnknown {
		return store.Appended{}, store.ErrFateUnknown
	}
	return appended, err
}

// Land serves every append that met [CommitLater] and waits still, and returns how many there were. One that
// no longer passes its checks is dropped, as a transaction is that loses its race.
func (s *Store) Land() int {
	defer s.lock()()
	return s.land(func(store.Append) bool { return true })
}

func (s *Store) land(which func(store.Append) bool) int {
	before := len(s.late)
	s.late = slices.DeleteFunc(s.late, func(late store.Append) bool {
		if !which(late) {
			return false
		}
		// Its author was told that the fate is unknown; a refusal is one of the two fates.
		_, _ = s.serve(late)
		return true
	})
	return before - len(s.late)
}

// serve checks an append and writes it: every check comes before the first change.
func (s *Store) serve(a store.Append) (store.Appended, error) {
	found := s.sessions[a.Session]
	if found == nil {
		if a.Create == nil {
			return store.Appended{}, store.ErrNotFound
		}
		found = &session{
			key: len(s.ordered),
			row: store.Session{
				ID: a.Session, Owner: a.Create.Owner, Agent: a.Create.Agent, Digest: a.Create.Digest,
				Metadata: a.Create.Metadata,
			},
			receipts:    map[string]store.Receipt{},
			creation:    creationKey{a.Create.Owner, a.Create.Agent, a.Create.Key},
			fingerprint: a.Create.Fingerprint,
		}
		if a.Create.Key != "" && s.creations[found.creation] != nil {
			return store.Appended{}, store.ErrExists
		}
	} else {
		tail := found.after(a.Known)
		if repeated, ok := s.repeat(found, a.ID, tail); ok {
			return repeated, nil
		}
		switch {
		case a.Create != nil:
			return store.Appended{}, store.ErrExists
		case found.row.Deleted:
			return store.Appended{}, store.ErrDeleted
		}
	}
	if found.takesReceipt(a.Receipts) {
		return store.Appended{}, store.ErrReceiptTaken
	}
	row := s.view(found)
	met := store.Appended{Head: row.Head, Tail: found.after(a.Known), Epoch: row.Epoch, Holder: row.Holder}
	if err := a.Check(row); err != nil {
		return met, err
	}
	if a.Claim != nil {
		if claimer := s.processes[a.Claim.Process]; claimer == nil || claimer.fenced {
			return met, store.ErrFenced
		}
	}
	var files store.FileChanges
	if a.HasFiles() {
		var err error
		if files, err = a.FileChanges(found.described()); err != nil {
			return store.Appended{}, err
		}
	}
	s.write(found, a, files)
	return store.Appended{
		First: row.Head + 1, Head: found.row.Head, Tail: met.Tail, Epoch: found.row.Epoch, Holder: found.row.Holder,
	}, nil
}

// repeat finds the append in the tail behind what it knew.
func (s *Store) repeat(found *session, id string, tail []store.Record) (store.Appended, bool) {
	first := slices.IndexFunc(tail, func(r store.Record) bool { return r.Append == id })
	if first < 0 {
		return store.Appended{}, false
	}
	last := first
	for last+1 < len(tail) && tail[last+1].Append == id {
		last++
	}
	return store.Appended{
		First: tail[first].Number, Head: tail[last].Number, Tail: tail[:first:first],
		Epoch: found.row.Epoch, Holder: found.row.Holder, Repeated: true,
	}, true
}

func (s *Store) write(found *session, a store.Append, files store.FileChanges) {
	if a.Create != nil {
		s.sessions[a.Session] = found
		s.ordered = append(s.ordered, found)
		if a.Create.Key != "" {
			s.creations[found.creation] = found
		}
	}
	jumped := a.Jumped(found.row)
	for i, r := range a.Records {
		r.Number, r.Time, r.Append = found.row.Head+uint64(i)+1, store.Millis(a.Time), a.ID
		found.records = append(found.records, r)
	}
	found.row = a.Advance(found.row)
	for _, r := range a.Receipts {
		found.receipts[r.Key] = r
	}
	found.changeFiles(files)
	s.open(found, a.Opened, a.Closed)
	for _, u := range a.Usage {
		s.addUsage(found.row, u)
	}
	if a.Snapshot != nil && !jumped {
		found.snapshot = a.Snapshot
	}
	if a.Delete {
		delete(s.creations, found.creation)
	}
	s.changed()
}

func (s *Store) open(found *session, opened []store.Interaction, closed []string) {
	for _, in := range opened {
		at := slices.IndexFunc(s.inbox, func(i interaction) bool { return i.session == found && i.ID == in.ID })
		if at >= 0 {
			s.inbox[at].Interaction = in
			continue
		}
		s.opened++
		s.inbox = append(s.inbox, interaction{s.opened, found, in})
	}
	s.inbox = slices.DeleteFunc(s.inbox, func(i interaction) bool {
		return i.session == found && slices.Contains(closed, i.ID)
	})
}

func (s *Store) addUsage(row store.Session, u store.UsageDelta) {
	key := usageKey{row.Owner, row.Agent, u.Day}
	s.usage[key] = summed(s.usage[key], u)
}

// after returns the records behind a number, protected from appends to what is returned.
func (found *session) after(number uint64) []store.Record {
	if len(found.records) == 0 {
		return nil
	}
	// Numbers are gap-free, but cleaning may have taken the first ones.
	gone := found.records[0].Number - 1
	at := max(number, gone) - gone
	if at >= uint64(len(found.records)) {
		return nil
	}
	return slices.Clip(found.records[at:])
}

// takesReceipt reports whether one of the keys is taken already, in the session or twice among themselves.
func (found *session) takesReceipt(receipts []store.Receipt) bool {
	for i, r := range receipts {
		if _, taken := found.receipts[r.Key]; taken {
			return true
		}
		if slices.ContainsFunc(receipts[:i], func(other store.Receipt) bool { return other.Key == r.Key }) {
			return true
		}
	}
	return false
}

// copied returns an append that shares nothing with the caller's.
func copied(a store.Append) store.Append {
	a.Records = slices.Clone(a.Records)
	for i := range a.Records {
		a.Records[i].Data = slices.Clone(a.Records[i].Data)
	}
	a.Receipts = slices.Clone(a.Receipts)
	for i := range a.Receipts {
		a.Receipts[i].Fields = maps.Clone(a.Receipts[i].Fields)
	}
	a.Opened = slices.Clone(a.Opened)
	for i := range a.Opened {
		a.Opened[i].Data = slices.Clone(a.Opened[i].Data)
	}
	a.Closed, a.Usage = slices.Clone(a.Closed), slices.Clone(a.Usage)
	a.Accept, a.Discard, a.Files = slices.Clone(a.Accept), slices.Clone(a.Discard), slices.Clone(a.Files)
	for i := range a.Files {
		a.Files[i].Data = slices.Clone(a.Files[i].Data)
	}
	a.Index.Needs = slices.Clone(a.Index.Needs)
	if a.Create != nil {
		create := *a.Create
		create.Metadata = maps.Clone(create.Metadata)
		a.Create = &create
	}
	if a.Snapshot != nil {
		snapshot := *a.Snapshot
		snapshot.Data = slices.Clone(snapshot.Data)
		a.Snapshot = &snapshot
	}
	if a.Claim != nil {
		claim := *a.Claim
		a.Claim = &claim
	}
	if a.Fence != nil {
		fence := *a.Fence
		a.Fence = &fence
	}
	return a
}
