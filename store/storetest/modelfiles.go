package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/store"
)

// naiveFile is a file as the model has it: its bytes are always content.
type naiveFile struct {
	store.File
	there map[int]bool // chunks
}

func (s *naiveSession) file(id string) *naiveFile {
	for _, f := range s.files {
		if f.ID == id {
			return f
		}
	}
	return nil
}

func (s *naiveSession) remove(which func(*naiveFile) bool) {
	s.files = slices.DeleteFunc(s.files, which)
}

func (f *naiveFile) over(now time.Time) bool {
	return f.State != store.FileAccepted && !now.Before(f.Expires)
}

// seen is the file as a store must show it.
func (f *naiveFile) seen() store.File {
	seen := f.File
	for i := range store.Chunks(f.Size) {
		if f.State == store.FileOpen && !f.there[i] {
			seen.Missing = append(seen.Missing, i)
		}
	}
	return seen
}

// fits reports whether what the session has is within a quota.
func (s *naiveSession) fits(q store.FileQuota) bool {
	var bytes int64
	for _, f := range s.files {
		bytes += f.Size
	}
	return len(s.files) <= q.Files && bytes <= q.Bytes
}

// change does what an append says about files, one thing after the other. With an error it may have done a part.
func (s *naiveSession) change(a store.Append) error {
	for _, id := range a.Accept {
		f := s.file(id)
		if f == nil || f.State == store.FileOpen || f.over(a.Time) {
			return store.ErrFileNotFound
		}
		f.State = store.FileAccepted
	}
	grows := false
	for _, added := range a.Files {
		if f := s.file(added.ID); f != nil && f.State != store.FileOpen && !f.over(a.Time) {
			f.State = store.FileAccepted
			continue
		}
		grows = true
		s.remove(func(f *naiveFile) bool { return f.ID == added.ID })
		f := &naiveFile{File: added.File, there: map[int]bool{}}
		f.State = store.FileAccepted
		for i := range store.Chunks(f.Size) {
			f.there[i] = true
		}
		s.files = append(s.files, f)
	}
	s.remove(func(f *naiveFile) bool {
		return f.State != store.FileAccepted && (slices.Contains(a.Discard, f.ID) || grows && f.over(a.Time))
	})
	if grows && !s.fits(a.FileQuota) {
		return store.ErrFileQuota
	}
	return nil
}

// copyFiles are the session's files as they are now.
func (s *naiveSession) copyFiles() []*naiveFile {
	var files []*naiveFile
	for _, f := range s.files {
		kept := *f
		files = append(files, &kept) // its chunks only ever grow by one's own doing
	}
	return files
}

// stage says what must come of staging, and does it.
func (s *naiveSession) stage(f store.File, now time.Time, q store.FileQuota) (store.File, error) {
	before := s.copyFiles()
	s.remove(func(f *naiveFile) bool { return f.over(now) })
	found := s.file(f.ID)
	switch {
	case found != nil && (found.Size != f.Size || found.SHA256 != f.SHA256):
		s.files = before
		return store.File{}, store.ErrFileConflict
	case found == nil:
		f.State = store.FileOpen
		found = &naiveFile{File: f, there: map[int]bool{}}
		s.files = append(s.files, found)
		if !s.fits(q) {
			s.files = before
			return store.File{}, store.ErrFileQuota
		}
	case f.Expires.After(found.Expires):
		found.Expires = f.Expires
	}
	return found.seen(), nil
}

// aFile draws a file of the session. Most are small, since a chunk takes its time; of some IDs there are two contents.
func (m *machine) aFile(rt *rapid.T, session string) store.File {
	n := rapid.IntRange(1, 4).Draw(rt, "file")
	sizes := []int64{5, 5, 9, store.ChunkBytes + 3}
	size := sizes[n-1]
	if rapid.IntRange(0, 9).Draw(rt, "another content") == 0 {
		size = 0
	}
	return store.File{
		ID: fmt.Sprint(session, "-f", n), Name: "name", Size: size, SHA256: fmt.Sprint(size),
		Expires: at(rapid.IntRange(0, 6).Draw(rt, "expires")),
	}
}

func (m *machine) quota(rt *rapid.T) store.FileQuota {
	return store.FileQuota{
		Files: rapid.IntRange(1, 4).Draw(rt, "quota of files"),
		Bytes: rapid.SampledFrom([]int64{10, 19, ample.Bytes}).Draw(rt, "quota of bytes"),
	}
}

// addFiles makes an append say something about files.
func (m *machine) addFiles(rt *rapid.T, a *store.Append) {
	ids := func(what string) (ids []string) {
		for range rapid.IntRange(0, 2).Draw(rt, what) {
			ids = append(ids, m.aFile(rt, a.Session).ID)
		}
		return ids
	}
	a.Discard = ids("discarded")
	if s := m.naive.find(a.Session); s != nil && rapid.Bool().Draw(rt, "accept what is sealed") {
		for _, f := range s.files {
			if f.State != store.FileOpen && !f.over(a.Time) {
				a.Accept = append(a.Accept, f.ID)
			}
		}
	} else {
		a.Accept = ids("accepted")
	}
	if rapid.Bool().Draw(rt, "new") {
		file := m.aFile(rt, a.Session)
		file.FileType = image
		a.Files = []store.NewFile{{File: file, Data: content(file.ID, file.Size)}}
	}
	a.FileQuota = m.quota(rt)
}

// fileCall is a call on one file of a session; found is nil where there is no live session.
func (m *machine) fileCall(rt *rapid.T, call func(id string, s *naiveSession) (got, want error)) {
	id := m.id(rt, "s", 4)
	s := m.naive.find(id)
	got, want := error(nil), error(nil)
	switch {
	case s == nil:
		got, _ = call(id, &naiveSession{})
		want = store.ErrNotFound
	case s.deleted:
		got, _ = call(id, &naiveSession{})
		want = store.ErrDeleted
	default:
		got, want = call(id, s)
	}
	if !errors.Is(got, want) {
		rt.Fatalf("of %s: error %v, want %v", id, got, want)
	}
}

func (m *machine) now(rt *rapid.T) time.Time { return at(rapid.IntRange(0, 6).Draw(rt, "now")) }

func (m *machine) stage(rt *rapid.T) {
	m.fileCall(rt, func(id string, s *naiveSession) (got, want error) {
		file, now, q := m.aFile(rt, id), m.now(rt), m.quota(rt)
		seen, got := m.any(rt).Stage(m.t.Context(), id, file, now, q)
		expected, want := s.stage(file, now, q)
		if got == nil && want == nil {
			m.same(rt, "staged", seen, expected)
		}
		return got, want
	})
}

func (m *machine) put(rt *rapid.T) {
	m.fileCall(rt, func(id string, s *naiveSession) (got, want error) {
		file, now := m.aFile(rt, id), m.now(rt)
		index := rapid.IntRange(0, max(0, store.Chunks(file.Size)-1)).Draw(rt, "chunk")
		data := chunk(file.ID, file.Size, min(index, store.Chunks(file.Size)))
		f := s.file(file.ID)
		switch {
		case f == nil || f.over(now):
			want = store.ErrFileNotFound
		case f.Size != file.Size || file.Size == 0:
			want = store.ErrFileConflict
		default:
			f.there[index] = true
		}
		return m.any(rt).PutChunk(m.t.Context(), id, file.ID, index, data, now), want
	})
}

func (m *machine) seal(rt *rapid.T) {
	m.fileCall(rt, func(id string, s *naiveSession) (got, want error) {
		file, now := m.aFile(rt, id), m.now(rt)
		seen, got := m.any(rt).Seal(m.t.Context(), id, file.ID, image, now)
		f := s.file(file.ID)
		switch {
		case f == nil || f.over(now):
			return got, store.ErrFileNotFound
		case len(f.seen().Missing) > 0:
			return got, store.ErrFileConflict
		case f.State == store.FileOpen:
			f.State, f.FileType = store.FileSealed, image
		}
		if got == nil {
			m.same(rt, "sealed", seen, f.seen())
		}
		return got, nil
	})
}

func (m *machine) discard(rt *rapid.T) {
	m.fileCall(rt, func(id string, s *naiveSession) (got, want error) {
		file := m.aFile(rt, id)
		s.remove(func(f *naiveFile) bool { return f.ID == file.ID && f.State != store.FileAccepted })
		return m.any(rt).Discard(m.t.Context(), id, file.ID), nil
	})
}

// compareFiles holds what a store shows of a session's files against the model.
func (m *machine) compareFiles(rt *rapid.T, s store.Store, want *naiveSession) {
	for n := range 4 {
		id := fmt.Sprint(want.id, "-f", n+1)
		got, err := s.File(m.t.Context(), want.id, id)
		f := want.file(id)
		if f == nil {
			if !errors.Is(err, store.ErrFileNotFound) {
				rt.Fatalf("file %s: %v", id, err)
			}
			continue
		}
		if err != nil {
			rt.Fatal(err)
		}
		m.same(rt, "file "+id, got, f.seen())
		for i := range store.Chunks(f.Size) {
			data, err := s.Chunk(m.t.Context(), want.id, id, i)
			if !f.there[i] {
				if !errors.Is(err, store.ErrFileNotFound) {
					rt.Fatalf("chunk %d of %s: %v", i, id, err)
				}
				continue
			}
			if err != nil || string(data) != string(chunk(id, f.Size, i)) {
				rt.Fatalf("chunk %d of %s: %d bytes that are not its own, %v", i, id, len(data), err)
			}
		}
	}
}
