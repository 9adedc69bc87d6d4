package memstore

import (
	"context"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// Load implements [store.Journal].
func (s *Store) Load(ctx context.Context, session, schema string) (store.Loaded, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return store.Loaded{}, err
	}
	found, err := s.live(session)
	if err != nil {
		return store.Loaded{}, err
	}
	loaded := store.Loaded{Session: s.view(found)}
	var from uint64
	if snapshot := found.snapshot; schema != "" && snapshot != nil && snapshot.Schema == schema {
		loaded.Snapshot, from = snapshot, snapshot.Head
	}
	loaded.Records = found.after(from)
	return loaded, nil
}

// Session implements [store.Journal].
func (s *Store) Session(ctx context.Context, session string) (store.Session, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return store.Session{}, err
	}
	found := s.sessions[session]
	if found == nil {
		return store.Session{}, store.ErrNotFound
	}
	return s.view(found), nil
}

// Records implements [store.Journal].
func (s *Store) Records(ctx context.Context, q store.RecordQuery) ([]store.Record, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return nil, err
	}
	found, err := s.live(q.Session)
	if err != nil {
		return nil, err
	}
	var records []store.Record
	for _, r := range found.after(q.After) {
		if q.Until != 0 && r.Number > q.Until || q.Limit != 0 && len(records) == q.Limit {
			break
		}
		if r.Item || !q.Items {
			records = append(records, r)
		}
	}
	return records, nil
}

// Terminal implements [store.Journal].
func (s *Store) Terminal(ctx context.Context, session, run string) (store.Record, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return store.Record{}, err
	}
	found, err := s.live(session)
	if err != nil {
		return store.Record{}, err
	}
	for _, r := range slices.Backward(found.records) {
		if r.Terminal && r.Run == run {
			return r, nil
		}
	}
	return store.Record{}, store.ErrNotFound
}

// Receipt implements [store.Journal].
func (s *Store) Receipt(ctx context.Context, session, key string) (store.Receipt, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return store.Receipt{}, err
	}
	found, err := s.live(session)
	if err != nil {
		return store.Receipt{}, err
	}
	receipt, ok := found.receipts[key]
	if !ok {
		return store.Receipt{}, store.ErrNotFound
	}
	return receipt, nil
}

// Park implements [store.Journal].
func (s *Store) Park(ctx context.Context, session, reason, build string) error {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return err
	}
	found, err := s.live(session)
	if err != nil {
		return err
	}
	if reason == "" {
		build = ""
	}
	found.row.Parked, found.row.ParkedBuild = reason, build
	s.changed()
	return nil
}

// Clean implements [store.Journal].
func (s *Store) Clean(ctx context.Context, session string, limit int) (bool, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return false, err
	}
	found := s.sessions[session]
	switch {
	case found == nil:
		return false, store.ErrNotFound
	case !found.row.Deleted:
		return true, api.Errorf(api.CodeInvalidRequest, "memstore: session %q is not deleted, so nothing of it may be cleaned; delete it first", session)
	case found.cleaned:
		return false, nil
	}
	if n := min(limit, len(found.records)); n > 0 {
		found.records = found.records[n:]
		limit -= n
	}
	for key := range found.receipts {
		if limit > 0 {
			delete(found.receipts, key)
			limit--
		}
	}
	for limit > 0 && len(found.files) > 0 {
		// A file's chunks are rows like its own.
		if last := found.files[0]; len(last.chunks) > 0 {
			last.chunks = last.chunks[1:]
		} else {
			found.files = found.files[1:]
		}
		limit--
	}
	if len(found.records) > 0 || len(found.receipts) > 0 || len(found.files) > 0 || limit <= 0 {
		return true, nil
	}
	s.inbox = slices.DeleteFunc(s.inbox, func(i interaction) bool { return i.session == found })
	found.row = store.Session{ID: session, Deleted: true}
	found.snapshot, found.creation, found.fingerprint = nil, creationKey{}, ""
	found.cleaned = true
	s.changed()
	return false, nil
}

// Deleted implements [store.Journal].
func (s *Store) Deleted(ctx context.Context, limit int) ([]string, error) {
	defer s.lock()()
	var ids []string
	for _, found := range s.ordered {
		if found.row.Deleted && !found.cleaned && (limit == 0 || len(ids) < limit) {
			ids = append(ids, found.row.ID)
		}
	}
	return ids, ended(ctx)
}
