package store

import (
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Expired reports whether nobody has accepted the file and its time is over: from Expires on, that moment included.
func (f File) Expired(now time.Time) bool {
	return f.State != FileAccepted && !f.Expires.After(now)
}

// Validate reports a file that no store can take, as an *api.Error with code internal: it is the caller's fault.
func (f File) Validate() error {
	switch {
	case f.ID == "":
		return api.Errorf(api.CodeInternal, "store: a file has no ID")
	case f.Size < 0:
		return api.Errorf(api.CodeInternal, "store: file %q has a size of %d bytes", f.ID, f.Size)
	}
	return nil
}

// Staging says what staging f does to the files that its session has: which are removed, and which one is f, if it is
// there (-1 if it is new). ErrFileConflict, then ErrFileQuota.
func (f File) Staging(has []File, now time.Time, q FileQuota) (remove []string, at int, err error) {
	room := q
	at = -1
	for i, h := range has {
		switch {
		case h.Expired(now):
			remove = append(remove, h.ID)
			continue
		case h.ID == f.ID && (h.Size != f.Size || h.SHA256 != f.SHA256):
			return nil, -1, ErrFileConflict
		case h.ID == f.ID:
			at = i
		}
		room.take(h)
	}
	if err := room.check(q, f); at < 0 && err != nil {
		return nil, -1, err
	}
	return remove, at, nil
}

// take makes the room smaller by a file.
func (room *FileQuota) take(f File) {
	room.Files--
	room.Bytes -= f.Size
}

// check refuses a file that the room is too small for, which a quota has left.
func (room *FileQuota) check(q FileQuota, f File) error {
	if room.Files >= 1 && room.Bytes >= f.Size {
		return nil
	}
	return &QuotaError{Has: FileQuota{Files: q.Files - room.Files, Bytes: q.Bytes - room.Bytes}, Size: f.Size}
}

// FileChanges is what an append does to the files of its session, in the order of the fields.
type FileChanges struct {
	Remove []string // IDs
	Accept []string // IDs of sealed files
	Add    []NewFile
}

// HasFiles reports whether the append says anything about files.
func (a Append) HasFiles() bool { return len(a.Accept)+len(a.Discard)+len(a.Files) > 0 }

// FileChanges says what the append does to the files that its session has. ErrFileNotFound, then ErrFileQuota.
func (a Append) FileChanges(has []File) (FileChanges, error) {
	var changes FileChanges
	find := func(id string) *File {
		if i := slices.IndexFunc(has, func(f File) bool { return f.ID == id }); i >= 0 {
			return &has[i]
		}
		return nil
	}
	for _, id := range a.Accept {
		if f := find(id); f == nil || f.State == FileOpen || f.Expired(a.Time) {
			return FileChanges{}, ErrFileNotFound
		}
	}
	for _, f := range a.Files {
		switch there := find(f.ID); {
		case slices.ContainsFunc(changes.Add, func(added NewFile) bool { return added.ID == f.ID }):
		case there == nil || there.State == FileOpen || there.Expired(a.Time):
			changes.Add = append(changes.Add, f)
		default:
			changes.Accept = append(changes.Accept, f.ID)
		}
	}
	changes.Accept = append(changes.Accept, a.Accept...)
	room := a.FileQuota
	for _, f := range has {
		stays := f.State == FileAccepted || slices.Contains(changes.Accept, f.ID)
		replaced := slices.ContainsFunc(changes.Add, func(added NewFile) bool { return added.ID == f.ID })
		if !stays && (replaced || slices.Contains(a.Discard, f.ID) || len(changes.Add) > 0 && f.Expired(a.Time)) {
			changes.Remove = append(changes.Remove, f.ID)
			continue
		}
		room.take(f)
	}
	for _, f := range changes.Add {
		if err := room.check(a.FileQuota, f.File); err != nil {
			return FileChanges{}, err
		}
		room.take(f.File)
	}
	return changes, nil
}
