package sqlite

import (
	"context"
	"slices"

	"github.com/openworkerai/openworker/store"
)

// Append implements [store.Journal].
func (s *Store) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	if err := a.Validate(); err != nil {
		return store.Appended{}, err
	}
	// Shared with the writer's goroutine, which may go on after the caller has given up.
	result := new(store.Appended)
	a.Records = slices.Clone(a.Records)
	size := 0
	for _, f := range a.Files {
		size += len(f.Data)
	}
	err := s.writer.submit(ctx, size, func(ctx context.Context, c *conn) (refusal, err error) {
		*result, refusal, err = s.appendTo(ctx, c, a)
		return refusal, err
	})
	if givenUp(err) {
		return store.Appended{}, err
	}
	return *result, err
}

// session is a session's row as the writer sees it.
type session struct {
	key    int64
	holder int64 // key of the holder's row, 0 for none
	store.Session
}

// appendTo checks an append and writes it: every check comes before the first write.
func (s *Store) appendTo(ctx context.Context, c *conn, a store.Append) (appended store.Appended, refusal, err error) {
	found, err := findSession(ctx, c, a.Session)
	if err != nil {
		return store.Appended{}, nil, err
	}
	var tail []store.Record
	if found.key == 0 {
		if a.Create == nil {
			return store.Appended{}, store.ErrNotFound, nil
		}
		taken, err := takenKey(ctx, c, a.Create)
		if err != nil || taken {
			return store.Appended{}, store.ErrExists, err
		}
		found.Session = store.Session{ID: a.Session, Owner: a.Create.Owner, Agent: a.Create.Agent}
	} else {
		if a.Known < found.Head {
			if tail, err = readRecords(ctx, c, found.key, store.RecordQuery{Session: a.Session, After: a.Known}); err != nil {
				return store.Appended{}, nil, err
			}
		}
		if repeated, ok := repeat(found.Session, a.ID, tail); ok {
			return repeated, nil, nil
		}
		switch {
		case a.Create != nil:
			return store.Appended{}, store.ErrExists, nil
		case found.Deleted:
			return store.Appended{}, store.ErrDeleted, nil
		}
	}
	if taken, err := takenReceipt(ctx, c, found.key, a.Receipts); err != nil || taken {
		return store.Appended{}, store.ErrReceiptTaken, err
	}
	met := store.Appended{Head: found.Head, Tail: tail, Epoch: found.Epoch, Holder: found.Holder}
	if err := a.Check(found.Session); err != nil {
		return met, err, nil
	}
	holder := found.holder
	if a.Claim != nil {
		if holder, err = liveProcess(ctx, c, a.Claim.Process); err != nil || holder == 0 {
			return met, store.ErrFenced, err
		}
	}
	var has []file
	var files store.FileChanges
	if a.HasFiles() {
		if has, err = readFiles(ctx, c, found.key, a.Session); err != nil {
			return store.Appended{}, nil, err
		}
		if files, err = a.FileChanges(described(has)); err != nil {
			return store.Appended{}, err, nil
		}
	}
	after := a.Advance(found.Session)
	if after.Holder == "" {
		holder = 0
	}
	if a.Delete {
		s.writer.removed = true // this runs on the writer's goroutine
	}
	key, err := writeAppend(ctx, c, a, found, after, holder)
	if err == nil {
		err = s.changeFiles(ctx, c, key, a.Session, has, files)
	}
	if err != nil {
		return store.Appended{}, nil, err
	}
	return store.Appended{First: found.Head + 1, Head: after.Head, Tail: tail, Epoch: after.Epoch, Holder: after.Holder}, nil, nil
}

// repeat finds the append in the tail behind what it knew.
func repeat(row store.Session, id string, tail []store.Record) (store.Appended, bool) {
	own := func(r store.Record) bool { return r.Append == id }
	first := slices.IndexFunc(tail, own)
	if first < 0 {
		return store.Appended{}, false
	}
	last := first
	for last+1 < len(tail) && own(tail[last+1]) {
		last++
	}
	return store.Appended{
		First: tail[first].Number, Head: tail[last].Number, Tail: tail[:first:first],
		Epoch: row.Epoch, Holder: row.Holder, Repeated: true,
	}, true
}

// findSession reads what the checks of an append need; the key is 0 if the session is not there.
func findSession(ctx context.Context, c *conn, id string) (found session, err error) {
	err = c.query(ctx, `SELECT s.key, s.state, s.owner, s.agent, h.head, h.epoch, h.claim, h.holder, h.due, h.activity, h.needs,
			h.parked, p.id, p.fenced
		FROM sessions s LEFT JOIN heads h ON h.key = s.key LEFT JOIN processes p ON p.key = h.holder WHERE s.id = ?1`,
		func(r row) error {
			found = session{key: r.int(0), holder: r.int(7), Session: store.Session{
				ID: id, Deleted: r.int(1) != stateLive, Owner: r.text(2), Agent: r.text(3), Head: r.number(4),
				Epoch: r.number(5), Claim: r.text(6), Holder: r.text(12), HolderGone: r.flag(13),
				Index:  store.Index{Due: r.time(8), Activity: r.text(9), Needs: r.strings(10)},
				Parked: r.text(11),
			}}
			return nil
		}, id)
	return found, err
}

func takenKey(ctx context.Context, c *conn, create *store.Creation) (taken bool, err error) {
	if create.Key == "" {
		return false, nil
	}
	err = c.query(ctx, `SELECT 1 FROM sessions WHERE owner = ?1 AND agent = ?2 AND creation_key = ?3`, func(row) error {
		taken = true
		return nil
	}, create.Owner, create.Agent, create.Key)
	return taken, err
}

// takenReceipt reports whether one of the keys is taken already, in the session or twice among themselves.
func takenReceipt(ctx context.Context, c *conn, key int64, receipts []store.Receipt) (taken bool, err error) {
	for i, r := range receipts {
		if slices.ContainsFunc(receipts[:i], func(other store.Receipt) bool { return other.Key == r.Key }) {
			return true, nil
		}
		err = c.query(ctx, `SELECT 1 FROM receipts WHERE session = ?1 AND key = ?2`, func(row) error {
			taken = true
			return nil
		}, key, r.Key)
		if err != nil || taken {
			return taken, err
		}
	}
	return false, nil
}

// liveProcess finds the key of a registered process that is not fenced, 0 if there is none.
func liveProcess(ctx context.Context, c *conn, id string) (key int64, err error) {
	err = c.query(ctx, `SELECT key FROM processes WHERE id = ?1 AND fenced = 0`, func(r row) error {
		key = r.int(0)
		return nil
	}, id)
	return key, err
}
