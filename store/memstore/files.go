package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/openworkerai/openworker/store"
)

// file is a session's file. Missing of its description is filled in by described.
type file struct {
	store.File
	chunks [][]byte // nil where one is missing
}

func newFile(f store.File, state store.FileState) *file {
	f.Expires, f.State, f.Missing = store.Millis(f.Expires), state, nil
	return &file{File: f, chunks: make([][]byte, store.Chunks(f.Size))}
}

// described is the file as callers see it.
func (f *file) described() store.File {
	seen := f.File
	if f.State == store.FileOpen {
		for i, chunk := range f.chunks {
			if chunk == nil {
				seen.Missing = append(seen.Missing, i)
			}
		}
	}
	return seen
}

func (found *session) described() []store.File {
	all := make([]store.File, 0, len(found.files))
	for _, f := range found.files {
		all = append(all, f.described())
	}
	return all
}

// file finds a file, also one that has expired; nil if there is none.
func (found *session) file(id string) *file {
	if i := slices.IndexFunc(found.files, func(f *file) bool { return f.ID == id }); i >= 0 {
		return found.files[i]
	}
	return nil
}

func (found *session) removeFiles(ids ...string) {
	found.files = slices.DeleteFunc(found.files, func(f *file) bool { return slices.Contains(ids, f.ID) })
}

// changeFiles does what an append says. The bytes of new files are the session's from here on.
func (found *session) changeFiles(changes store.FileChanges) {
	found.removeFiles(changes.Remove...)
	for _, id := range changes.Accept {
		found.file(id).State = store.FileAccepted
	}
	for _, added := range changes.Add {
		f := newFile(added.File, store.FileAccepted)
		f.chunks = slices.Collect(slices.Chunk(added.Data, store.ChunkBytes))
		found.files = append(found.files, f)
	}
}

// Stage implements [store.Files].
func (s *Store) Stage(ctx context.Context, session string, f store.File, now time.Time, q store.FileQuota) (store.File, error) {
	if err := f.Validate(); err != nil {
		return store.File{}, err
	}
	defer s.lock()()
	found, err := s.served(ctx, session)
	if err != nil {
		return store.File{}, err
	}
	has := found.described()
	remove, at, err := f.Staging(has, now, q)
	if err != nil {
		return store.File{}, err
	}
	var staged *file
	if at >= 0 {
		staged = found.files[at]
		if later := store.Millis(f.Expires); later.After(staged.Expires) {
			staged.Expires = later
		}
	} else {
		f.FileType = store.FileType{}
		staged = newFile(f, store.FileOpen)
	}
	found.removeFiles(remove...)
	if at < 0 {
		found.files = append(found.files, staged)
	}
	return staged.described(), nil
}

// PutChunk implements [store.Files].
func (s *Store) PutChunk(ctx context.Context, session, id string, index int, data []byte, now time.Time) error {
	defer s.lock()()
	found, err := s.served(ctx, session)
	if err != nil {
		return err
	}
	f := found.file(id)
	switch {
	case f == nil || f.Expired(now):
		return store.ErrFileNotFound
	case len(data) == 0 || len(data) != store.ChunkLen(f.Size, index):
		return store.ErrFileConflict
	case f.chunks[index] == nil:
		f.chunks[index] = slices.Clone(data)
	case !bytes.Equal(f.chunks[index], data):
		return store.ErrFileConflict
	}
	return nil
}

// Seal implements [store.Files].
func (s *Store) Seal(ctx context.Context, session, id string, found store.FileType, now time.Time) (store.File, error) {
	defer s.lock()()
	in, err := s.served(ctx, session)
	if err != nil {
		return store.File{}, err
	}
	f := in.file(id)
	switch {
	case f == nil || f.Expired(now):
		return store.File{}, store.ErrFileNotFound
	case len(f.described().Missing) > 0:
		return store.File{}, store.ErrFileConflict
	case f.State == store.FileOpen:
		f.State, f.FileType = store.FileSealed, found
	}
	return f.described(), nil
}

// Discard implements [store.Files].
func (s *Store) Discard(ctx context.Context, session, id string) error {
	defer s.lock()()
	found, err := s.served(ctx, session)
	if err != nil {
		return err
	}
	if f := found.file(id); f != nil && f.State != store.FileAccepted {
		found.removeFiles(id)
	}
	return nil
}

// File implements [store.Files].
func (s *Store) File(ctx context.Context, session, id string) (store.File, error) {
	defer s.lock()()
	found, err := s.served(ctx, session)
	if err != nil {
		return store.File{}, err
	}
	f := found.file(id)
	if f == nil {
		return store.File{}, store.ErrFileNotFound
	}
	return f.described(), nil
}

// Chunk implements [store.Files].
func (s *Store) Chunk(ctx context.Context, session, id string, index int) ([]byte, error) {
	defer s.lock()()
	found, err := s.served(ctx, session)
	if err != nil {
		return nil, err
	}
	f := found.file(id)
	if f == nil || index < 0 || index >= len(f.chunks) || f.chunks[index] == nil {
		return nil, store.ErrFileNotFound
	}
	return slices.Clone(f.chunks[index]), nil
}

// served is the live session of a call whose context has not ended.
func (s *Store) served(ctx context.Context, id string) (*session, error) {
	if err := ended(ctx); err != nil {
		return nil, err
	}
	return s.live(id)
}
