//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

func TestTheStateIsPrivate(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(dir string) error{
		"a new directory":    func(string) error { return nil },
		"an empty directory": func(dir string) error { return os.Mkdir(dir, 0o755) },
		"a directory with a loose file": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, File), nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			s := opened(t, Config{Dir: dir})
			appended(t, s, creation("s"))
			if err := s.Register(t.Context(), store.Process{ID: "../p/../..", LeaseUntil: time.Now()}); err != nil {
				t.Fatal(err)
			}
			seen := 0
			err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := entry.Info()
				want := fs.FileMode(0o600)
				if entry.IsDir() {
					want = 0o700
				}
				if err == nil && info.Mode().Perm() != want {
					t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
				}
				seen++
				return err
			})
			if err != nil || seen != 6 { // itself, the database and its two, owners and one lock
				t.Errorf("%d files, %v", seen, err)
			}
		})
	}
}

func TestADirectoryThatIsNotForUsIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, dir string) error
		want    api.Code
	}{
		"a file": {
			func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) }, api.CodeInvalidRequest,
		},
		"open to others and full of other things": {
			func(_ *testing.T, dir string) error {
				return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "thesis"), nil, 0o600))
			}, api.CodeInvalidRequest,
		},
		"below a file": {
			func(_ *testing.T, dir string) error {
				return os.WriteFile(filepath.Dir(dir)+"/state", nil, 0o600)
			}, api.CodeInvalidRequest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			if err := tc.prepare(t, dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), Config{Dir: dir}); api.CodeOf(err) != tc.want {
				t.Errorf("open: %v, want %s", err, tc.want)
			}
		})
	}
	if _, err := Open(t.Context(), Config{}); api.CodeOf(err) != api.CodeInvalidRequest {
		t.Errorf("open without a directory: %v", err)
	}
}

func TestAStateDirectoryMayBeNamedRelatively(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := Open(t.Context(), Config{Dir: "state"})
	if err != nil {
		t.Fatal(err)
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if again := opened(t, Config{Dir: "./state"}); again.ID() != id {
		t.Errorf("another store is there: %s, not %s", again.ID(), id)
	}
}
