package sim

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// change is what a call, or an append, may change among a session's files. All else must stay as it is.
type change struct {
	stages, puts, seals string // one ID each, "" for none
	discards            []string
	adds, accepts       []string  // by an append
	expires             time.Time // what has expired then may go, zero for nothing
}

func (c change) ids() []string {
	ids := slices.Concat(c.discards, c.adds, c.accepts)
	for _, id := range []string{c.stages, c.puts, c.seals} {
		if id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// changeOf is what an append may change.
func changeOf(a store.Append) change {
	c := change{discards: a.Discard, accepts: a.Accept}
	for _, f := range a.Files {
		c.adds = append(c.adds, f.ID)
	}
	if c.adds != nil {
		c.expires = a.Time
	}
	return c
}

// names notes an ID that a file of the session may have.
func (s *session) names(id string) {
	if !slices.Contains(s.fileIDs, id) {
		s.fileIDs = append(s.fileIDs, id)
	}
}

// stored reads the session's files.
func (s *session) stored() map[string]store.File {
	now := make(map[string]store.File, len(s.fileIDs))
	for _, id := range s.fileIDs {
		f, err := s.w.disk.file(s.id, id)
		switch {
		case err == nil:
			now[id] = f
		case !errors.Is(err, store.ErrFileNotFound):
			s.w.fail("session %s: file %s cannot be read: %v", s.id, id, err)
		}
	}
	return now
}

// look holds the session's files against what they were, what may have changed since, and what the journal says.
func (s *session) look(may ...change) {
	now := s.stored()
	for _, id := range s.fileIDs {
		was, wasThere := s.files[id]
		is, there := now[id]
		if wasThere || there {
			s.mayChange(id, was, is, wasThere, there, may)
		}
	}
	s.files = now
	quota, used := s.w.quota, int64(0)
	for _, f := range now {
		used += f.Size
	}
	if len(now) > quota.Files || used > quota.Bytes {
		s.w.fail("session %s: it keeps %d files of %d bytes, and may keep %d of %d", s.id, len(now), used, quota.Files, quota.Bytes)
	}
	s.checkFiles()
}

// mayChange holds one file against what it was.
func (s *session) mayChange(id string, was, is store.File, wasThere, there bool, may []change) {
	some := func(does func(change) bool) bool { return slices.ContainsFunc(may, does) }
	expired := some(func(c change) bool { return !c.expires.IsZero() && was.Expired(c.expires) })
	added := some(func(c change) bool { return slices.Contains(c.adds, id) })
	staged := some(func(c change) bool { return c.stages == id })
	discarded := some(func(c change) bool { return slices.Contains(c.discards, id) })
	switch {
	case !wasThere && !(staged || added):
		s.w.fail("session %s: file %s is there (%s), and nobody has stored it", s.id, id, is.State)
	case !wasThere:
	case was.State == store.FileAccepted && (!there || is.State != store.FileAccepted):
		s.w.fail("session %s: file %s of an accepted message is gone", s.id, id)
	case !there && !(expired || discarded):
		s.w.fail("session %s: file %s (%s, until %v) is gone, and nobody has removed it", s.id, id, was.State, was.Expires)
	case !there:
		s.w.saw("file that is gone")
	case (expired || discarded) && (staged || added): // it is a new one
	case is.Size != was.Size || is.SHA256 != was.SHA256 || is.Expires.Before(was.Expires) && !added:
		s.w.fail("session %s: file %s was %+v and is %+v", s.id, id, was, is)
	case was.State != store.FileOpen && is.FileType != was.FileType:
		s.w.fail("session %s: file %s was %+v and is %+v now", s.id, id, was.FileType, is.FileType)
	case was.State == store.FileOpen && is.State == store.FileOpen && len(was.Missing) < len(is.Missing):
		s.w.fail("session %s: file %s lacks %v, and %v before", s.id, id, is.Missing, was.Missing)
	case was.State == store.FileOpen && is.State == store.FileOpen && len(was.Missing) > len(is.Missing) && !some(func(c change) bool { return c.puts == id }):
		s.w.fail("session %s: chunks of file %s come by themselves", s.id, id)
	case was.State == is.State:
	case is.State == store.FileSealed && was.State == store.FileOpen && some(func(c change) bool { return c.seals == id }):
	case is.State == store.FileAccepted && (added || was.State == store.FileSealed && some(func(c change) bool { return slices.Contains(c.accepts, id) })):
	default:
		s.w.fail("session %s: file %s was %s and is %s", s.id, id, was.State, is.State)
	}
	if there && is.State == store.FileAccepted && was.State != is.State || s.w.chance(0.01) && there && is.State != store.FileOpen {
		s.sameBytes(is)
	}
}

// checkFiles holds that exactly those files are accepted that messages of the journal refer to.
func (s *session) checkFiles() {
	for _, id := range s.fileIDs {
		f, there := s.files[id]
		ref := s.refers[id]
		switch {
		case ref == nil && there && f.State == store.FileAccepted:
			s.w.fail("session %s: file %s is accepted, and no message refers to it", s.id, id)
		case ref == nil:
		case !there || f.State != store.FileAccepted:
			s.w.fail("session %s: a message refers to file %s, which is not accepted (there %t, %q)", s.id, id, there, f.State)
		case f.Size != ref.Size || f.SHA256 != ref.SHA256 || f.MediaType != ref.MediaType:
			s.w.fail("session %s: a message refers to %+v, and the file is %+v", s.id, *ref, f)
		}
	}
}

// sameBytes holds that a file has the bytes that its ID stands for.
func (s *session) sameBytes(f store.File) {
	b := s.w.stage.blob(f.SHA256)
	for i := range store.Chunks(f.Size) {
		data, err := s.w.disk.chunk(s.id, f.ID, i)
		if err != nil || !bytes.Equal(data, b.chunk(i)) {
			s.w.fail("session %s: chunk %d of the %s file %s is not what was sent: %v", s.id, i, f.State, f.ID, err)
		}
	}
}

// refer notes the files of an accepted message.
func (s *session) refer(e engine.TurnAccepted) {
	for _, b := range e.Content {
		if b.File != nil {
			s.names(b.File.ID)
			s.refers[b.File.ID] = b.File
			s.w.saw("message with " + b.File.MediaType)
		}
	}
}

// checkAppended holds what an append did with files against what it was to do. before are the files that it met.
func (s *session) checkAppended(a store.Append, before map[string]store.File, err error) {
	missing := slices.ContainsFunc(a.Accept, func(id string) bool {
		f, there := before[id]
		return !there || f.State == store.FileOpen || f.Expired(a.Time)
	})
	over := s.over(a, before)
	switch {
	case err == nil && missing, errors.Is(err, store.ErrFileNotFound) && !missing:
		s.w.fail("session %s: append %s accepts %v: %v, but it met %v", s.id, a.ID, a.Accept, err, before)
	case err == nil && over, errors.Is(err, store.ErrFileQuota) && !over:
		s.w.fail("session %s: append %s adds %d files: %v, but it met %v", s.id, a.ID, len(a.Files), err, before)
	case err != nil:
		return
	}
	for _, id := range a.Discard {
		if f, there := s.files[id]; there && f.State != store.FileAccepted {
			s.w.fail("session %s: the original %s of what was redacted is still there (%s)", s.id, id, f.State)
		}
		s.w.saw("redacted file")
	}
}

// over reports whether the new files of an append are more than the session may keep beside those that stay.
func (s *session) over(a store.Append, before map[string]store.File) bool {
	count, used := 0, int64(0)
	adds := map[string]bool{}
	for _, f := range a.Files {
		if was, there := before[f.ID]; !adds[f.ID] && (!there || was.State == store.FileOpen || was.Expired(a.Time)) {
			adds[f.ID] = true
			count, used = count+1, used+f.Size
		}
	}
	for id, f := range before {
		kept := slices.Contains(a.Accept, id) || slices.ContainsFunc(a.Files, func(n store.NewFile) bool { return n.ID == id && !adds[id] })
		goes := adds[id] || slices.Contains(a.Discard, id) || len(adds) > 0 && f.Expired(a.Time)
		if f.State == store.FileAccepted || kept || !goes {
			count, used = count+1, used+f.Size
		}
	}
	return len(adds) > 0 && (count > s.w.quota.Files || used > s.w.quota.Bytes)
}
