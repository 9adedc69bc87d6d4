package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

func TestAnInspectionTellsWhatOpenWouldAndChangesNothing(t *testing.T) {
	t.Parallel()
	store := func(t *testing.T) (dir string, s *Store) {
		dir = filepath.Join(t.TempDir(), "state")
		s = opened(t, Config{Dir: dir})
		appended(t, s, creation("s"))
		return dir, s
	}
	closed := func(t *testing.T) string {
		dir, s := store(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	tests := []struct {
		name        string
		make        func(t *testing.T) string
		exists      bool
		directory   api.Code
		store       api.Code
		noDirectory bool
	}{
		{name: "no directory", make: func(t *testing.T) string { return filepath.Join(t.TempDir(), "a", "b") }, noDirectory: true},
		{name: "an empty directory", make: func(t *testing.T) string { return t.TempDir() }},
		{name: "a store that nobody uses", make: closed, exists: true},
		{name: "a store that somebody uses", make: func(t *testing.T) string { dir, _ := store(t); return dir }, exists: true},
		{name: "a file", make: func(t *testing.T) string { return filepath.Join(closed(t), File) }, directory: api.CodeInvalidRequest, store: api.CodeStoreUnavailable},
		{name: "below a file", make: func(t *testing.T) string { return filepath.Join(closed(t), File, "state") }, directory: api.CodeStoreUnavailable, store: api.CodeStoreUnavailable},
		{name: "a directory of other things", make: func(t *testing.T) string {
			dir := t.TempDir()
			if err := errors.Join(os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600), os.Chmod(dir, 0o755)); err != nil {
				t.Fatal(err)
			}
			return dir
		}, directory: api.CodeInvalidRequest},
		{name: "no database", make: func(t *testing.T) string {
			dir := closed(t)
			if err := os.WriteFile(filepath.Join(dir, File), bytes.Repeat([]byte("x"), 4096), 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		}, store: api.CodeStoreCorrupt},
		{name: "a newer store", make: func(t *testing.T) string {
			dir, s := store(t)
			err := s.write(t.Context(), func(ctx context.Context, c *conn) (refusal, err error) {
				return nil, c.exec(ctx, `UPDATE meta SET value = '7' WHERE key IN ('version', 'oldest_build_that_may_run')`)
			})
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}, exists: true, store: api.CodeStoreTooNew},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := tt.make(t)
			before := sizes(t, filepath.Dir(dir))
			exists, open, err := InspectDir(dir)
			if exists == tt.noDirectory && tt.directory == "" || api.CodeOf(err) != tt.directory || open && tt.directory == "" && tt.name != "an empty directory" {
				t.Errorf("directory: there %t, open to others %t, %v", exists, open, err)
			}
			found, err := Inspect(t.Context(), dir)
			if found.Exists != tt.exists || found.Known != schema || api.CodeOf(err) != tt.store {
				t.Errorf("store: %+v, %v", found, err)
			}
			if err := Check(t.Context(), dir); tt.store == "" && err != nil {
				t.Errorf("check: %v", err)
			}
			if diff := cmp.Diff(before, sizes(t, filepath.Dir(dir))); diff != "" {
				t.Errorf("it changed something: %s", diff)
			}
		})
	}
}

// sizes are the files below a directory, with their sizes and times of change.
func sizes(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			all[path] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestACheckFindsDamageAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		appended(t, s, creation(id))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Check(ended, dir); !errors.Is(err, context.Canceled) || api.CodeOf(err) != api.CodeStoreUnavailable {
		t.Errorf("after its context's end: %v", err)
	}
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 3; (page+1)*pageSize <= len(data); page++ { // all but the schema
		copy(data[page*pageSize:], bytes.Repeat([]byte{0xff}, 64))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), dir); api.CodeOf(err) != api.CodeStoreCorrupt {
		t.Errorf("damage: %v", err)
	}
}
