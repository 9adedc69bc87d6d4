package sqlite

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Backup writes a copy of the store, as of one moment, to file, which must not be there yet; nobody else is
// held up, in any process (ST2). The copy is synced and private (0600), like the original. It has the
// original's identity, so that references go on working after a restore. ctx is looked at before the copy
// begins. Errors: invalid_request where file exists, and the codes that begin with store_.
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
	if err := c.script(background, `VACUUM INTO '`+strings.ReplaceAll(file, "'", "''")+`'`); err != nil {
		return storeError(err)
	}
	return f.Sync()
}
