package sqlite

import (
	"context"
	"errors"
	"time"
)

const (
	// eraseChunks is how many chunks one commit erases at most: a MiB, so that nobody waits long behind it.
	eraseChunks = 4
	// tidyRetry is how long to wait for what stands in the way of erasing: readers, a full disk.
	tidyRetry = 50 * time.Millisecond
	// tidyAtEnd is how long a writer that is stopped goes on with it.
	tidyAtEnd = 2 * time.Second
)

// tidy does what removals leave to do, one step at a time. It does so when nobody waits, or has waited behind batch
// commits already, and says when to go on, if there is more to do.
func (w *writer) tidy() (next <-chan time.Time) {
	if !w.removed {
		return nil
	}
	if w.passed++; len(w.queue)+len(w.large) > 0 && w.passed < batch {
		return nil
	}
	w.passed = 0
	if !w.step() {
		return time.After(tidyRetry)
	}
	if !w.removed {
		return nil
	}
	return time.After(0)
}

// finish is the last that a writer does. What it leaves stands in the table removed, for others to go on with.
func (w *writer) finish() {
	for end := time.Now().Add(tidyAtEnd); w.removed && time.Now().Before(end); {
		if !w.step() {
			time.Sleep(tidyRetry)
		}
	}
}

// step erases chunks, and once there are none empties the log, and then forgets what was removed until then. It reports
// whether it could.
func (w *writer) step() bool {
	if w.conn == nil {
		w.erased = 0 // the commit below opens another, and the log is the next step's
	}
	if w.erased > 0 && !w.truncateLog() {
		return false
	}
	var erased int64
	var some bool
	r := &request{ctx: background, done: make(chan error, 1), do: func(ctx context.Context, c *conn) (refusal, err error) {
		if w.erased > 0 {
			if err := c.exec(ctx, `DELETE FROM removed WHERE key <= ?1`, w.erased); err != nil {
				return nil, err
			}
		}
		if erased, err = erase(ctx, c); err == nil {
			some, err = hasRemoved(ctx, c)
		}
		return nil, err
	}}
	w.taken = append(w.taken[:0], r)
	w.serve()
	if <-r.done != nil {
		return false
	}
	w.erased, w.removed = erased, some
	return true
}

// erase overwrites some chunks of removed files with zeros. Once there are none the log is all that has their bytes:
// then it returns the key of the last row of removed, which is 0 before, and where there is no row.
func erase(ctx context.Context, c *conn) (erased int64, err error) {
	if err := c.exec(ctx, `DELETE FROM chunks WHERE rowid IN
		(SELECT c.rowid FROM removed CROSS JOIN chunks c ON c.file = removed.file LIMIT ?1)`, int64(eraseChunks)); err != nil {
		return 0, err
	}
	err = c.query(ctx, `SELECT max(key) FROM removed WHERE NOT EXISTS
		(SELECT 1 FROM removed CROSS JOIN chunks c ON c.file = removed.file)`, func(r row) error {
		erased = r.int(0)
		return nil
	})
	return erased, err
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
