package store

import (
	"errors"
	"fmt"
)

// QuotaError is [ErrFileQuota] with what the session keeps and the size of the file that is too much.
type QuotaError struct {
	Has  FileQuota
	Size int64
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("%s: %d bytes beside %d files with %d", ErrFileQuota, e.Size, e.Has.Files, e.Has.Bytes)
}

// Is makes it ErrFileQuota.
func (e *QuotaError) Is(target error) bool { return target == ErrFileQuota }

// Sentinel errors. Everything else that a store returns is an *api.Error of a store code, and then
// nothing was written.
var (
	// ErrHeadMoved: the session's head is not the one that the append knew; Appended.Tail has what came since.
	ErrHeadMoved = errors.New("store: head moved")
	// ErrFenced: the claim, or the process, has been fenced off.
	ErrFenced = errors.New("store: fenced")
	// ErrClaimed: the session is held by another live process, or its epoch moved.
	ErrClaimed = errors.New("store: claimed by another process")
	// ErrReceiptTaken: the submission ID was accepted before.
	ErrReceiptTaken = errors.New("store: receipt taken")
	// ErrExists: the id or key is taken.
	ErrExists = errors.New("store: exists")
	// ErrNotFound: no such thing.
	ErrNotFound = errors.New("store: not found")
	// ErrDeleted: the session was deleted.
	ErrDeleted = errors.New("store: deleted")
	// ErrFateUnknown: the append may or may not have committed. Write it again, unchanged, to learn which.
	// A later try that fails for certain says nothing about this one: only success, or a refusal, settles it.
	// The error may carry an *api.Error with the reason as well, so look for ErrFateUnknown first.
	ErrFateUnknown = errors.New("store: fate unknown")
	// ErrFileNotFound: the session has no such file, or it is not sealed, or it has expired.
	ErrFileNotFound = errors.New("store: file not found")
	// ErrFileConflict: a file's bytes or its description are not those that are there.
	ErrFileConflict = errors.New("store: file conflict")
	// ErrFileQuota: the session may not keep that much.
	ErrFileQuota = errors.New("store: file quota")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store: closed")
)
