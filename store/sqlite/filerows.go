package sqlite

import (
	"context"

	"github.com/openworkerai/openworker/store"
)

// file is a file's row. Missing is not read with it.
type file struct {
	key int64
	store.File
}

// fileColumns are the columns that row.file reads.
const fileColumns = `f.key, f.id, f.state, f.expires, f.size, f.sha256, f.name, f.announced, f.media_type, f.width, f.height`

func (r row) file(session string) file {
	return file{r.int(0), store.File{
		ID: longRun(session, r.text(1)), State: store.FileState(r.text(2)), Expires: r.time(3), Size: r.int(4), SHA256: r.text(5),
		Name: r.text(6), Announced: r.text(7),
		FileType: store.FileType{MediaType: r.text(8), Width: int(r.int(9)), Height: int(r.int(10))},
	}}
}

// readFiles reads all files of a session, without what is missing of them.
func readFiles(ctx context.Context, c *conn, key int64, session string) (files []file, err error) {
	err = c.query(ctx, `SELECT `+fileColumns+` FROM files f WHERE f.session = ?1 ORDER BY f.key`, func(r row) error {
		files = append(files, r.file(session))
		return nil
	}, key)
	return files, err
}

func described(files []file) []store.File {
	all := make([]store.File, 0, len(files))
	for _, f := range files {
		all = append(all, f.File)
	}
	return all
}

// findFile finds a file of a session that is there and not deleted.
func findFile(ctx context.Context, c *conn, session, id string) (found file, err error) {
	key, err := liveSession(ctx, c, session)
	if err != nil {
		return file{}, err
	}
	err = c.query(ctx, `SELECT `+fileColumns+` FROM files f WHERE f.session = ?1 AND f.id = ?2`, func(r row) error {
		found = r.file(session)
		return nil
	}, key, shortRun(session, id))
	if err == nil && found.key == 0 {
		err = store.ErrFileNotFound
	}
	return found, err
}

// describe is the file as callers see it: of an open one it finds out what is missing.
func describe(ctx context.Context, c *conn, f file) (store.File, error) {
	f.Expires = store.Millis(f.Expires)
	if f.State != store.FileOpen {
		return f.File, nil
	}
	next := 0
	err := c.query(ctx, `SELECT number FROM chunks WHERE file = ?1 ORDER BY number`, func(r row) error {
		for ; next < int(r.int(0)); next++ {
			f.Missing = append(f.Missing, next)
		}
		next++
		return nil
	}, f.key)
	for ; next < store.Chunks(f.Size); next++ {
		f.Missing = append(f.Missing, next)
	}
	return f.File, err
}

func insertFile(ctx context.Context, c *conn, key int64, session string, f store.File) (fileKey int64, err error) {
	err = c.query(ctx, `INSERT INTO files (session, id, state, expires, size, sha256, name, announced, media_type, width, height)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING key`, func(r row) error {
		fileKey = r.int(0)
		return nil
	}, key, shortRun(session, f.ID), string(f.State), millis(f.Expires), f.Size, f.SHA256, f.Name, f.Announced, f.MediaType,
		int64(f.Width), int64(f.Height))
	return fileKey, err
}

func insertChunk(ctx context.Context, c *conn, fileKey int64, index int, data []byte) error {
	return c.exec(ctx, `INSERT INTO chunks (file, number, data) VALUES (?1, ?2, ?3)`, fileKey, int64(index), data)
}
