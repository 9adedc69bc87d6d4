package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openworkerai/openworker/store"
)

// Stage implements [store.Files].
func (s *Store) Stage(ctx context.Context, session string, f store.File, now time.Time, q store.FileQuota) (store.File, error) {
	if err := f.Validate(); err != nil {
		return store.File{}, err
	}
	result := new(store.File)
	err := s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		key, err := liveSession(ctx, c, session)
		if err != nil {
			return refusalOf(err)
		}
		has, err := readFiles(ctx, c, key, session)
		if err != nil {
			return nil, err
		}
		remove, at, err := f.Staging(described(has), now, q)
		if err != nil {
			return err, nil
		}
		if err := s.removeFiles(ctx, c, has, remove); err != nil {
			return nil, err
		}
		if at < 0 {
			staged := store.File{
				ID: f.ID, Name: f.Name, Announced: f.Announced, Size: f.Size, SHA256: f.SHA256, Expires: f.Expires, State: store.FileOpen,
			}
			fileKey, err := insertFile(ctx, c, key, session, staged)
			if err != nil {
				return nil, err
			}
			*result, err = describe(ctx, c, file{fileKey, staged})
			return nil, err
		}
		found := has[at]
		if later := store.Millis(f.Expires); later.After(found.Expires) {
			found.Expires = later
			if err := c.exec(ctx, `UPDATE files SET expires = ?2 WHERE key = ?1`, found.key, millis(later)); err != nil {
				return nil, err
			}
		}
		*result, err = describe(ctx, c, found)
		return nil, err
	})
	if err != nil {
		return store.File{}, err
	}
	return *result, nil
}

// PutChunk implements [store.Files].
func (s *Store) PutChunk(ctx context.Context, session, id string, index int, data []byte, now time.Time) error {
	return s.writer.submit(ctx, len(data), func(ctx context.Context, c *conn) (refusal, err error) {
		f, err := findFile(ctx, c, session, id)
		if err != nil {
			return refusalOf(err)
		}
		switch {
		case f.Expired(now):
			return store.ErrFileNotFound, nil
		case len(data) == 0 || len(data) != store.ChunkLen(f.Size, index):
			return store.ErrFileConflict, nil
		}
		there, same := false, false
		// The index alone answers where there is no chunk.
		if err := c.query(ctx, `SELECT 1 FROM chunks WHERE file = ?1 AND number = ?2`, func(row) error {
			there = true
			return nil
		}, f.key, int64(index)); err != nil {
			return nil, err
		}
		if !there {
			return nil, insertChunk(ctx, c, f.key, index, data)
		}
		if err := c.query(ctx, `SELECT data = ?3 FROM chunks WHERE file = ?1 AND number = ?2`, func(r row) error {
			same = r.flag(0)
			return nil
		}, f.key, int64(index), data); err != nil || same {
			return nil, err
		}
		return store.ErrFileConflict, nil
	})
}

// Seal implements [store.Files].
func (s *Store) Seal(ctx context.Context, session, id string, found store.FileType, now time.Time) (store.File, error) {
	result := new(store.File)
	err := s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		f, err := findFile(ctx, c, session, id)
		if err != nil {
			return refusalOf(err)
		}
		if f.Expired(now) {
			return store.ErrFileNotFound, nil
		}
		if *result, err = describe(ctx, c, f); err != nil || f.State != store.FileOpen {
			return nil, err
		}
		if len(result.Missing) > 0 {
			return store.ErrFileConflict, nil
		}
		result.State, result.FileType = store.FileSealed, found
		return nil, c.exec(ctx, `UPDATE files SET state = ?2, media_type = ?3, width = ?4, height = ?5 WHERE key = ?1`,
			f.key, string(store.FileSealed), found.MediaType, int64(found.Width), int64(found.Height))
	})
	if err != nil {
		return store.File{}, err
	}
	return *result, nil
}

// Discard implements [store.Files].
func (s *Store) Discard(ctx context.Context, session, id string) error {
	return s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		f, err := findFile(ctx, c, session, id)
		switch {
		case errors.Is(err, store.ErrFileNotFound) || err == nil && f.State == store.FileAccepted:
			return nil, nil
		case err != nil:
			return refusalOf(err)
		}
		return nil, s.removeFiles(ctx, c, []file{f}, []string{id})
	})
}

// File implements [store.Files].
func (s *Store) File(ctx context.Context, session, id string) (store.File, error) {
	var found store.File
	err := s.moment(ctx, func(c *conn) error {
		f, err := findFile(background, c, session, id)
		if err == nil {
			found, err = describe(background, c, f)
		}
		return err
	})
	return found, err
}

// Chunk implements [store.Files].
func (s *Store) Chunk(ctx context.Context, session, id string, index int) ([]byte, error) {
	var data []byte
	err := s.moment(ctx, func(c *conn) error {
		f, err := findFile(background, c, session, id)
		if err != nil {
			return err
		}
		if err := c.query(background, `SELECT data FROM chunks WHERE file = ?1 AND number = ?2`, func(r row) error {
			data = r.bytes(0)
			return nil
		}, f.key, int64(index)); err != nil {
			return err
		}
		if data == nil { // no chunk is empty
			return store.ErrFileNotFound
		}
		return nil
	})
	return data, err
}

// changeFiles does what an append says.
func (s *Store) changeFiles(ctx context.Context, c *conn, key int64, session string, has []file, changes store.FileChanges) error {
	if err := s.removeFiles(ctx, c, has, changes.Remove); err != nil {
		return err
	}
	for _, f := range has {
		if f.State != store.FileAccepted && slices.Contains(changes.Accept, f.ID) {
			if err := c.exec(ctx, `UPDATE files SET state = ?2 WHERE key = ?1`, f.key, string(store.FileAccepted)); err != nil {
				return err
			}
		}
	}
	for _, added := range changes.Add {
		added.State = store.FileAccepted
		fileKey, err := insertFile(ctx, c, key, session, added.File)
		if err != nil {
			return err
		}
		index := 0
		for chunk := range slices.Chunk(added.Data, store.ChunkBytes) {
			if err := insertChunk(ctx, c, fileKey, index, chunk); err != nil {
				return err
			}
			index++
		}
	}
	return nil
}

// removeFiles removes those of a session's files that are named. The chunks of a large one follow behind this commit, and
// what the log has of any: a trigger marks each in the table removed, see [writer.tidy].
func (s *Store) removeFiles(ctx context.Context, c *conn, has []file, ids []string) error {
	for _, f := range has {
		if !slices.Contains(ids, f.ID) {
			continue
		}
		s.writer.removed = true // this runs on the writer's goroutine
		if store.Chunks(f.Size) <= 1 {
			if err := c.exec(ctx, `DELETE FROM chunks WHERE file = ?1`, f.key); err != nil {
				return err
			}
		}
		if err := c.exec(ctx, `DELETE FROM files WHERE key = ?1`, f.key); err != nil {
			return err
		}
	}
	return nil
}
