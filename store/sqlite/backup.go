package sqlite

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Backup writes a copy of the store, as of one moment, to file, which must not be there yet; nobody else is
// held up, in any process (ST2). The copy is synced and private (0600), like the original. It has the
// original's identity, so that references go on working after a restore. Sessions that were deleted, and files that were
// removed, are not in it, though the original may hold their bytes a moment longer (GR3). ctx is looked at before the
// copy begins. Errors: invalid_request where file exists, and the codes that begin with store_.
func (s *Store) Backup(ctx context.Context, file string) (err error) {
	if ctx.Err() != nil {
		return notRead(context.Cause(ctx))
	}
	// Made first, so that it is private before anything is in it, and that an existing file is never touched.
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return api.Errorf(api.CodeInvalidRequest, "the back-up file %s exists already; name a new one", file)
	}
	if err != nil {
		return api.Errorf(api.CodeStoreUnavailable, "the back-up file cannot be made: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(file) // a part of a copy is none
		}
	}()
	c, err := s.writer.database.open("ro")
	if err != nil {
		return storeError(err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	// A copy that is made without it has pieces of rows in the gaps between rows, where no later removal gets at them.
	if err := c.script(background, `PRAGMA secure_delete = ON`); err != nil {
		return storeError(err)
	}
	if err := c.script(background, `VACUUM INTO '`+strings.ReplaceAll(file, "'", "''")+`'`); err != nil {
		return storeError(err)
	}
	if err := s.eraseCopy(file); err != nil {
		return storeError(err)
	}
	return f.Sync()
}

// eraseCopy does to a copy at once what is done to the original step by step.
func (s *Store) eraseCopy(file string) (err error) {
	c, err := (&database{path: file, busy: s.config.BusyTimeout}).open("rw")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	// Of a copy that is not whole nothing is kept: it needs no journal, nor a sync before the last.
	if err := c.script(background, `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON`); err != nil {
		return err
	}
	var deleted []int64
	if err := c.query(background, `SELECT key FROM sessions WHERE state = 1`, func(r row) error {
		deleted = append(deleted, r.int(0))
		return nil
	}); err != nil {
		return err
	}
	for _, key := range deleted {
		if _, err := clean(background, c, key, math.MaxInt64); err != nil {
			return err
		}
	}
	for some := true; some && err == nil; {
		var erased int64
		if erased, err = erase(background, c); err == nil {
			err = c.exec(background, `DELETE FROM removed WHERE key <= ?1`, erased)
		}
		if err == nil {
			some, err = hasRemoved(background, c)
		}
	}
	return err
}
