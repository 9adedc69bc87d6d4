package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/store"
)

// The states of a session's row.
const (
	stateLive    = 0
	stateDeleted = 1
	stateCleaned = 2
)

// writeAppend writes an append that passed its checks, but for its files: the session goes from before to after. It
// returns the session's key.
func writeAppend(ctx context.Context, c *conn, a store.Append, before session, after store.Session, holder int64) (key int64, err error) {
	key = before.key
	if a.Create != nil {
		if key, err = insertSession(ctx, c, a.Create, after, holder); err != nil {
			return 0, err
		}
	} else if err := updateHead(ctx, c, key, before.Session, after, holder); err != nil {
		return 0, err
	} else if before.Parked != after.Parked {
		if err := park(ctx, c, key, after.Parked, after.ParkedBuild); err != nil {
			return 0, err
		}
	}
	if err := insertRecords(ctx, c, key, before.Head, a); err != nil {
		return 0, err
	}
	for _, r := range a.Receipts {
		if err := c.exec(ctx, `INSERT INTO receipts (session, key, run, accepted, fields) VALUES (?1, ?2, ?3, ?4, ?5)`,
			key, r.Key, shortRun(a.Session, r.Run), int64(r.Accepted), encodeJSON(r.Fields)); err != nil {
			return 0, err
		}
	}
	for _, in := range a.Opened {
		if err := c.exec(ctx, `INSERT INTO interactions (session, id, data) VALUES (?1, ?2, ?3)
			ON CONFLICT (session, id) DO UPDATE SET data = ?3`, key, in.ID, blob(in.Data)); err != nil {
			return 0, err
		}
	}
	for _, id := range a.Closed {
		if err := c.exec(ctx, `DELETE FROM interactions WHERE session = ?1 AND id = ?2`, key, id); err != nil {
			return 0, err
		}
	}
	for _, u := range a.Usage {
		if err := addUsage(ctx, c, after, u); err != nil {
			return 0, err
		}
	}
	if snapshot := a.Snapshot; snapshot != nil && !a.Jumped(before.Session) {
		if err := c.exec(ctx, `INSERT INTO snapshots (session, head, schema, data) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (session) DO UPDATE SET head = ?2, schema = ?3, data = ?4`,
			key, int64(snapshot.Head), snapshot.Schema, blob(snapshot.Data)); err != nil {
			return 0, err
		}
	}
	if a.Delete {
		return key, c.exec(ctx, `UPDATE sessions SET state = 1, creation_key = NULL WHERE key = ?1`, key)
	}
	return key, nil
}

func insertSession(ctx context.Context, c *conn, create *store.Creation, after store.Session, holder int64) (key int64, err error) {
	var creationKey driver.Value
	if create.Key != "" {
		creationKey = create.Key
	}
	err = c.query(ctx, `INSERT INTO sessions (id, owner, agent, digest, metadata, creation_key, fingerprint, created)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING key`, func(r row) error {
		key = r.int(0)
		return nil
	}, after.ID, create.Owner, create.Agent, create.Digest, encodeJSON(create.Metadata), creationKey, create.Fingerprint, millis(after.Created))
	if err != nil {
		return 0, err
	}
	return key, c.exec(ctx, `INSERT INTO heads (key, head, epoch, claim, holder, due, updated, activity, needs, parked, parked_build)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '', '')`,
		key, int64(after.Head), int64(after.Epoch), after.Claim, holder, millis(after.Index.Due), millis(after.Updated),
		after.Index.Activity, encodeJSON(after.Index.Needs))
}

// updateHead moves a session's row. A statement that names due writes its index as well, so it is named only
// when it changes.
func updateHead(ctx context.Context, c *conn, key int64, before, after store.Session, holder int64) error {
	args := []driver.Value{
		key, int64(after.Head), int64(after.Epoch), after.Claim, holder, millis(after.Updated), after.Index.Activity,
	}
	sameNeeds := slices.Equal(before.Index.Needs, after.Index.Needs)
	if sameNeeds && before.Index.Due.Equal(after.Index.Due) {
		return c.exec(ctx, `UPDATE heads SET head = ?2, epoch = ?3, claim = ?4, holder = ?5, updated = ?6, activity = ?7
			WHERE key = ?1`, args...)
	}
	return c.exec(ctx, `UPDATE heads SET head = ?2, epoch = ?3, claim = ?4, holder = ?5, updated = ?6, activity = ?7,
		due = ?8, needs = ?9 WHERE key = ?1`, append(args, millis(after.Index.Due), encodeJSON(after.Index.Needs))...)
}

func insertRecords(ctx context.Context, c *conn, key int64, head uint64, a store.Append) error {
	count, at, id := int64(len(a.Records)), millis(a.Time), a.ID
	for i, r := range a.Records {
		if err := c.exec(ctx, `INSERT INTO events (session, number, count, time, append, version, flags, kind, run, data)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`,
			key, number(head+uint64(i)+1), count, at, id, int64(r.Version),
			boolean(r.Item)*flagItem|boolean(r.Terminal)*flagTerminal, r.Kind, shortRun(a.Session, r.Run), blob(r.Data)); err != nil {
			return err
		}
		count, at, id = 0, 0, "" // the first one has them for all
	}
	return nil
}

// shortRun is a run's id as the database holds it: most begin with their session's, which is left out.
func shortRun(session, run string) string {
	if rest, ok := strings.CutPrefix(run, session); ok {
		return "~" + rest
	}
	if run == "" {
		return ""
	}
	return "=" + run
}

// longRun is the run's id that shortRun was given.
func longRun(session, short string) string {
	if rest, ok := strings.CutPrefix(short, "~"); ok {
		return session + rest
	}
	return strings.TrimPrefix(short, "=")
}

func addUsage(ctx context.Context, c *conn, row store.Session, u store.UsageDelta) error {
	return c.exec(ctx, `INSERT INTO usage (owner, day, agent, turns, input, cached, output, reasoning, estimated)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (owner, day, agent) DO UPDATE SET turns = turns + ?4, input = input + ?5, cached = cached + ?6,
			output = output + ?7, reasoning = reasoning + ?8, estimated = max(estimated, ?9)`,
		row.Owner, u.Day, row.Agent, u.Turns, u.Input, u.Cached, u.Output, u.Reasoning, boolean(u.Estimated))
}

// blob is what a blob column takes: never nil, which would be NULL.
func blob(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
