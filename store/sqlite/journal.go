package sqlite

import (
	"context"
	"math"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// Load implements [store.Journal].
func (s *Store) Load(ctx context.Context, session, schema string) (store.Loaded, error) {
	var loaded store.Loaded
	err := s.moment(ctx, func(c *conn) error {
		key, found, err := readSession(c, session)
		if err != nil {
			return err
		}
		if found.Deleted {
			return store.ErrDeleted
		}
		loaded.Session = found
		var from uint64
		if schema != "" {
			err := c.query(background, `SELECT head, schema, data FROM snapshots WHERE session = ?1 AND schema = ?2`, func(r row) error {
				loaded.Snapshot = &store.Snapshot{Head: r.number(0), Schema: r.text(1), Data: r.bytes(2)}
				from = r.number(0)
				return nil
			}, key, schema)
			if err != nil {
				return err
			}
		}
		loaded.Records, err = readRecords(background, c, key, store.RecordQuery{Session: session, After: from})
		return err
	})
	return loaded, err
}

// Session implements [store.Journal].
func (s *Store) Session(ctx context.Context, session string) (store.Session, error) {
	var row store.Session
	err := s.read(ctx, func(c *conn) (err error) {
		_, row, err = readSession(c, session)
		return err
	})
	return row, err
}

// Records implements [store.Journal].
func (s *Store) Records(ctx context.Context, q store.RecordQuery) ([]store.Record, error) {
	var records []store.Record
	err := s.moment(ctx, func(c *conn) error {
		key, err := liveSession(background, c, q.Session)
		if err != nil {
			return err
		}
		records, err = readRecords(background, c, key, q)
		return err
	})
	return records, err
}

// Terminal implements [store.Journal].
func (s *Store) Terminal(ctx context.Context, session, run string) (store.Record, error) {
	var record store.Record
	err := s.moment(ctx, func(c *conn) error {
		key, err := liveSession(background, c, session)
		if err != nil {
			return err
		}
		at := uint64(0)
		if err = c.query(background, `SELECT number FROM events WHERE session = ?1 AND run = ?2 AND flags >= 2
			ORDER BY id DESC LIMIT 1`, func(r row) error {
			at = r.number(0)
			return nil
		}, key, shortRun(session, run)); err != nil {
			return err
		}
		if at == 0 {
			return store.ErrNotFound
		}
		records, err := readRecords(background, c, key, store.RecordQuery{Session: session, After: at - 1, Until: at})
		if err == nil {
			record = records[0]
		}
		return err
	})
	return record, err
}

// Receipt implements [store.Journal].
func (s *Store) Receipt(ctx context.Context, session, key string) (store.Receipt, error) {
	var receipt store.Receipt
	err := s.moment(ctx, func(c *conn) error {
		owner, err := liveSession(background, c, session)
		if err != nil {
			return err
		}
		found := false
		err = c.query(background, `SELECT run, accepted, fields FROM receipts WHERE session = ?1 AND key = ?2`, func(r row) error {
			receipt, found = store.Receipt{Key: key, Run: longRun(session, r.text(0)), Accepted: r.number(1), Fields: r.fields(2)}, true
			return nil
		}, owner, key)
		if err == nil && !found {
			return store.ErrNotFound
		}
		return err
	})
	return receipt, err
}

// Park implements [store.Journal].
func (s *Store) Park(ctx context.Context, session, reason, build string) error {
	return s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		key, err := liveSession(ctx, c, session)
		if err != nil {
			return refusalOf(err)
		}
		return nil, park(ctx, c, key, reason, build)
	})
}

func park(ctx context.Context, c *conn, key int64, reason, build string) error {
	if reason == "" {
		build = ""
	}
	return c.exec(ctx, `UPDATE heads SET parked = ?2, parked_build = ?3 WHERE key = ?1`, key, reason, build)
}

// Deleted implements [store.Journal].
func (s *Store) Deleted(ctx context.Context, limit int) ([]string, error) {
	var ids []string
	err := s.read(ctx, func(c *conn) error {
		return c.query(background, `SELECT id FROM sessions WHERE state = 1 ORDER BY key LIMIT ?1`, func(r row) error {
			ids = append(ids, r.text(0))
			return nil
		}, bound(limit))
	})
	return ids, err
}

// Clean implements [store.Journal].
func (s *Store) Clean(ctx context.Context, session string, limit int) (bool, error) {
	var more bool
	err := s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		found, err := findSession(ctx, c, session)
		switch {
		case err != nil:
			return nil, err
		case found.key == 0:
			return store.ErrNotFound, nil
		case !found.Deleted:
			return api.Errorf(api.CodeInvalidRequest, "sqlite: session %q is not deleted, so nothing of it may be cleaned; delete it first", session), nil
		}
		more, err = clean(ctx, c, found.key, int64(limit))
		if err == nil && !more {
			s.writer.removed = true // this runs on the writer's goroutine
		}
		return nil, err
	})
	if err != nil {
		return true, err
	}
	return more, nil
}

// clean removes at most limit rows of a deleted session, and its last traces once nothing else is left. Its files went
// with the deletion, by a trigger.
func clean(ctx context.Context, c *conn, key, limit int64) (more bool, err error) {
	for _, table := range []struct{ delete, left string }{
		// An append's first record goes last: by it the others are found.
		{`DELETE FROM events WHERE id IN (SELECT e.id FROM ` + appendTables + ` WHERE f.session = ?1 AND f.count > 0
			ORDER BY f.number DESC, e.id DESC LIMIT ?2)`,
			`SELECT count(*) FROM (SELECT 1 FROM ` + appendTables + ` WHERE f.session = ?1 AND f.count > 0 LIMIT ?2)`},
		{`DELETE FROM receipts WHERE session = ?1 AND key IN (SELECT key FROM receipts WHERE session = ?1 LIMIT ?2)`,
			`SELECT count(*) FROM (SELECT 1 FROM receipts WHERE session = ?1 LIMIT ?2)`},
		{`DELETE FROM interactions WHERE number IN (SELECT number FROM interactions WHERE session = ?1 LIMIT ?2)`,
			`SELECT count(*) FROM (SELECT 1 FROM interactions WHERE session = ?1 LIMIT ?2)`},
	} {
		var rows int64
		if err := c.query(ctx, table.left, func(r row) error {
			rows = r.int(0)
			return nil
		}, key, limit); err != nil {
			return true, err
		}
		if rows > 0 {
			if err := c.exec(ctx, table.delete, key, limit); err != nil {
				return true, err
			}
		}
		if limit -= rows; limit <= 0 {
			return true, nil
		}
	}
	for _, last := range []string{
		`DELETE FROM snapshots WHERE session = ?1`,
		`DELETE FROM heads WHERE key = ?1`,
		`UPDATE sessions SET state = 2, owner = '', agent = '', digest = '', metadata = '', fingerprint = '', created = 0 WHERE key = ?1`,
	} {
		if err := c.exec(ctx, last, key); err != nil {
			return true, err
		}
	}
	return false, nil
}

// refusalOf tells an answer of ours from an error of the database.
func refusalOf(err error) (refusal, foreign error) {
	if ours(err) {
		return err, nil
	}
	return nil, err
}

// liveSession finds the key of a session that is there and not deleted.
func liveSession(ctx context.Context, c *conn, id string) (key int64, err error) {
	state := int64(stateLive)
	err = c.query(ctx, `SELECT key, state FROM sessions WHERE id = ?1`, func(r row) error {
		key, state = r.int(0), r.int(1)
		return nil
	}, id)
	switch {
	case err != nil:
		return 0, err
	case key == 0:
		return 0, store.ErrNotFound
	case state != stateLive:
		return 0, store.ErrDeleted
	}
	return key, nil
}

// sessionColumns are the columns that row.session reads, of sessionTables.
const (
	sessionColumns = `s.key, s.state, s.id, s.owner, s.agent, s.digest, s.metadata, s.created,
		h.head, h.epoch, h.claim, h.due, h.updated, h.activity, h.needs, h.parked, h.parked_build, p.id, p.fenced, p.lease`
	sessionTables = `sessions s LEFT JOIN heads h ON h.key = s.key LEFT JOIN processes p ON p.key = h.holder`
)

func (r row) session() (key int64, s store.Session) {
	return r.int(0), store.Session{
		Deleted: r.int(1) != stateLive, ID: r.text(2), Owner: r.text(3), Agent: r.text(4), Digest: r.text(5),
		Metadata: r.fields(6), Created: r.time(7), Head: r.number(8), Epoch: r.number(9), Claim: r.text(10),
		Index:   store.Index{Due: r.time(11), Activity: r.text(13), Needs: r.strings(14)},
		Updated: r.time(12), Parked: r.text(15), ParkedBuild: r.text(16), Holder: r.text(17), HolderGone: r.flag(18), LeaseUntil: r.time(19),
	}
}

func readSession(c *conn, id string) (key int64, s store.Session, err error) {
	err = c.query(background, `SELECT `+sessionColumns+` FROM `+sessionTables+` WHERE s.id = ?1`, func(r row) error {
		key, s = r.session()
		return nil
	}, id)
	if err == nil && key == 0 {
		err = store.ErrNotFound
	}
	return key, s, err
}

func readRecords(ctx context.Context, c *conn, key int64, q store.RecordQuery) (records []store.Record, err error) {
	until := int64(math.MaxInt64)
	if q.Until != 0 {
		until = number(q.Until)
	}
	items := ``
	if q.Items {
		items = ` AND e.flags & 1`
	}
	query := `SELECT ` + recordColumns + ` FROM ` + appendTables + ` WHERE f.session = ?1 AND f.count > 0
		AND f.number >= coalesce((SELECT max(number) FROM events WHERE session = ?1 AND count > 0 AND number <= ?2 + 1), 0)
		AND f.number <= ?3 AND e.number > ?2 AND e.number <= ?3` + items + ` ORDER BY f.number, e.id LIMIT ?4`
	err = c.query(ctx, query, func(r row) error {
		if n := len(records); n == cap(records) && n >= 256 {
			records = slices.Grow(records, 3*n) // a long history: fewer and larger steps
		}
		records = append(records, r.record(q.Session))
		return nil
	}, key, number(q.After), until, bound(q.Limit))
	return records, err
}

// number is a record's number as SQL takes it.
func number(n uint64) int64 { return int64(min(n, math.MaxInt64-1)) }

// appendTables joins the first record of each append (f) with all of them (e). A session that is being cleaned
// has lost the last ones of an append, and their ids may be another session's by now.
const appendTables = `events f INDEXED BY events_by_append
	CROSS JOIN events e ON e.id >= f.id AND e.id < f.id + f.count AND e.session = f.session`

// bound is a limit as SQL takes it, where -1 is none.
func bound(limit int) int64 {
	if limit <= 0 {
		return -1
	}
	return int64(limit)
}
