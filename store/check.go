package store

import (
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Validate reports an append that no store can take, as an *api.Error with code internal: it is the
// caller's fault, not the store's state. An append without records is one: its fate could not be learnt. So is
// one with a new file that has no ID, or other than Size bytes.
func (a Append) Validate() error {
	switch {
	case a.ID == "":
		return api.Errorf(api.CodeInternal, "store: the append to session %q has no ID", a.Session)
	case a.Session == "":
		return api.Errorf(api.CodeInternal, "store: append %q names no session", a.ID)
	case len(a.Records) == 0:
		return api.Errorf(api.CodeInternal, "store: append %q to session %q has no record, so its fate could never be settled", a.ID, a.Session)
	case a.Fence != nil && a.Claim != nil:
		return api.Errorf(api.CodeInternal, "store: append %q has both a fence and a claim; a claim brings its own", a.ID)
	case a.Create != nil && (a.Known != 0 || a.AnyHead || a.Fence != nil || a.Delete):
		return api.Errorf(api.CodeInternal, "store: append %q creates session %q, so it can know no head, hold no fence and delete nothing", a.ID, a.Session)
	case a.Release && a.Fence == nil && a.Claim == nil:
		return api.Errorf(api.CodeInternal, "store: append %q releases session %q without a fence or a claim", a.ID, a.Session)
	}
	for _, f := range a.Files {
		if err := f.Validate(); err != nil {
			return err
		}
		if int64(len(f.Data)) != f.Size {
			return api.Errorf(api.CodeInternal, "store: file %q of append %q says %d bytes and has %d", f.ID, a.ID, f.Size, len(f.Data))
		}
	}
	return nil
}

// Check holds an append against the session's row: [ErrHeadMoved], [ErrFenced] and [ErrClaimed], in this
// order. Before it a store looks for the append's own ID, for a session that is there or deleted already, and
// for receipts that are taken; after it, whether a claiming process is registered and not fenced, and then for
// what [Append.FileChanges] says.
func (a Append) Check(row Session) error {
	switch {
	case a.Known > row.Head, a.Known < row.Head && !a.AnyHead:
		return ErrHeadMoved
	case a.Fence != nil && (row.Claim == "" || row.HolderGone || a.Fence.Epoch != row.Epoch || a.Fence.Claim != row.Claim):
		return ErrFenced
	case a.Claim != nil && (a.Claim.Epoch != row.Epoch || a.Claim.From != row.Holder || row.Holder != "" && !row.HolderGone):
		return ErrClaimed
	}
	return nil
}

// Jumped reports whether the append lands behind records that its author had not folded.
func (a Append) Jumped(row Session) bool { return a.AnyHead && a.Known < row.Head }

// Advance returns the session's row as the append leaves it; row must have passed [Append.Check].
// HolderGone and LeaseUntil, which belong to the holder's own row, are left as they were.
func (a Append) Advance(row Session) Session {
	jumped := a.Jumped(row)
	row.Head += uint64(len(a.Records))
	row.Updated = Millis(a.Time)
	if a.Create != nil {
		row.Created = row.Updated
	}
	if jumped {
		row.Index.Due = Millis(a.Time)
	} else {
		row.Parked, row.ParkedBuild = "", ""
		row.Index = a.Index
		row.Index.Due = Millis(a.Index.Due)
		row.Index.Needs = slices.Clone(a.Index.Needs)
	}
	if a.Claim != nil {
		row.Epoch++
		row.Claim, row.Holder = a.Claim.Claim, a.Claim.Process
	}
	if a.Release && !jumped {
		row.Claim, row.Holder = "", ""
	}
	if a.Delete {
		row.Deleted = true
		row.Epoch++
		row.Claim, row.Holder = "", ""
		row.Index.Due = time.Time{}
	}
	return row
}

// Millis is t as every store keeps it: in UTC, cut to the millisecond. The zero time stays zero.
func Millis(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}
