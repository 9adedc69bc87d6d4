package sqlite

import (
	"context"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// storeError gives an error of the database the code that says what to do about it.
func storeError(err error) error {
	var known *api.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	switch code := resultCode(err); {
	case code&0xff == sqlite3.SQLITE_BUSY, code&0xff == sqlite3.SQLITE_LOCKED:
		return api.Errorf(api.CodeStoreBusy, "sqlite: another process is in the middle of a write; try again: %w", err)
	case code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_SHMSIZE:
		return api.Errorf(api.CodeStoreFull, "sqlite: no room left on the disk of the state directory; free some and try again: %w", err)
	case code&0xff == sqlite3.SQLITE_READONLY:
		return api.Errorf(api.CodeStoreReadOnly, "sqlite: the state directory cannot be written by this process; check its owner and its mount: %w", err)
	case code&0xff == sqlite3.SQLITE_CORRUPT, code&0xff == sqlite3.SQLITE_NOTADB:
		return api.Errorf(api.CodeStoreCorrupt, "sqlite: the database is damaged; restore a back-up: %w", err)
	}
	return api.Errorf(api.CodeStoreUnavailable, "sqlite: the database could not be used: %w", err)
}

func openError(dir string, err error) error {
	var known *api.Error
	if errors.As(err, &known) {
		return known
	}
	e := api.AsError(storeError(err))
	return api.Errorf(e.Code, "open the store in %s: %s", dir, e.Message)
}

// givenUp reports an error of the wait, not of the operation, whose result may still be being written.
func givenUp(err error) bool {
	return errors.Is(err, store.ErrFateUnknown) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, store.ErrClosed)
}

// unknownFate says that it is open whether something was written, and why.
func unknownFate(err error) error {
	return fmt.Errorf("%w: %w", store.ErrFateUnknown, storeError(err))
}

// ofOneOperation reports an error that a statement's own values caused: nothing is wrong with the database,
// and the transaction stands.
func ofOneOperation(err error) bool {
	switch resultCode(err) & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		return true
	}
	return false
}

func resultCode(err error) int {
	var e *driver.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return sqlite3.SQLITE_OK
}
