package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // to ask any system's database for its size
)

// storedBytes is the size of what a system keeps below a directory: the pages in use of SQLite databases, what
// is still in their logs included, and whole files otherwise.
func storedBytes(ctx context.Context, dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, "-wal") || strings.HasSuffix(path, "-shm") {
			return err
		}
		is, err := isSQLite(path)
		if err != nil {
			return err
		}
		var size int64
		if is {
			size, err = usedPages(ctx, path)
		} else {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				size = info.Size()
			}
		}
		total += size
		return err
	})
	return total, err
}

func isSQLite(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return bytes.Equal(head, []byte("SQLite format 3\x00")), nil
}

func usedPages(ctx context.Context, path string) (size int64, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	var pages, free, each int64
	for _, q := range []struct {
		pragma string
		to     *int64
	}{{"page_count", &pages}, {"freelist_count", &free}, {"page_size", &each}} {
		if err := db.QueryRowContext(ctx, "PRAGMA "+q.pragma).Scan(q.to); err != nil {
			return 0, err
		}
	}
	return (pages - free) * each, nil
}
