package sqlite

import (
	"context"
	"errors"
	"time"
)

// eraseChunks is how many chunks one commit erases at most: a MiB, so that nobody waits long behind it.
const eraseChunks = 4

// tidyRetry is how long to wait for what stands in the way of erasing: readers, a full disk.
const tidyRetry = 50 * time.Millisecond

// tidy does what removals leave to do, one step at a time: it erases chunks, and then empties the log. It does so when
// nobody waits, or has waited behind batch commits already, and says when to go on, if there is more to do.
func (w *writer) tidy() (next <-chan time.Time) {
	if !w.removed && !w.truncate {
		return nil
	}
	if w.passed++; len(w.queue) > 0 && w.passed < batch {
		return nil
	}
	w.passed = 0
	if w.removed {
		more := false
		r := &request{ctx: background, done: make(chan error, 1), do: func(ctx context.Context, c *conn) (refusal, err error) {
			more, err = erase(ctx, c)
			return nil, err
		}}
		w.taken = append(w.taken[:0], r)
		if w.serve(); <-r.done != nil {
			return time.After(tidyRetry)
		}
		w.removed, w.truncate = more, w.truncate || !more
		return time.After(0)
	}
	if w.truncate = !w.truncateLog(); w.truncate {
		return time.After(tidyRetry)
	}
	return nil
}

// erase overwrites some chunks of removed files with zeros and reports whether there are more. Once there are none the
// log is all that has their bytes.
func erase(ctx context.Context, c *conn) (more bool, err error) {
	if err := c.exec(ctx, `DELETE FROM chunks WHERE rowid IN
		(SELECT c.rowid FROM removed CROSS JOIN chunks c ON c.file = removed.file LIMIT ?1)`, int64(eraseChunks)); err != nil {
		return false, err
	}
	if err := c.exec(ctx, `DELETE FROM removed WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.file = removed.file)`); err != nil {
		return false, err
	}
	return hasRemoved(ctx, c)
}

func hasRemoved(ctx context.Context, c *conn) (some bool, err error) {
	err = c.query(ctx, `SELECT 1 FROM removed LIMIT 1`, func(row) error {
		some = true
		return nil
	})
	return some, err
}

// truncateLog moves the log into the database and empties it, so that nothing of what was removed is left
// there. It waits for nobody, and reports whether it could.
func (w *writer) truncateLog() bool {
	if w.conn == nil {
		return false
	}
	busy := true
	err := errors.Join(
		w.conn.exec(background, `PRAGMA busy_timeout = 0`),
		w.conn.query(background, `PRAGMA wal_checkpoint(TRUNCATE)`, func(r row) error {
			busy = r.flag(0)
			return nil
		}),
		w.database.setBusyTimeout(w.conn),
	)
	return err == nil && !busy
}
