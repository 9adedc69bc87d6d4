package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// RE1: what is acknowledged is in the file that the next process opens. A file that is not there any more, or is
// another one, takes nothing.
func TestAStoreWhoseFilesAreTakenAwayAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	away := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, "away")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, take := range map[string]func(t *testing.T, dir string){
		"the directory is removed": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
		"the database is moved": away(File),
		"the log is moved":      away(File + "-wal"),
		"another store stands in its place": func(t *testing.T, dir string) {
			away(File)(t, dir)
			if err := os.WriteFile(filepath.Join(dir, File), []byte("another"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			s, err := Open(t.Context(), Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() }) // what it says of the files is not the point
			appended(t, s, creation("s"))
			take(t, dir)
			before, _ := os.Stat(filepath.Join(dir, File))
			for range 3 { // also behind the connection that the first failure closes
				if _, err := s.Append(t.Context(), change("s", "x", 1, 1)); !errors.Is(err, errCorrupt) {
					t.Errorf("got %v, want store_corrupt", err)
				}
			}
			after, _ := os.Stat(filepath.Join(dir, File))
			if before == nil && after != nil || before != nil && !os.SameFile(before, after) {
				t.Error("a database was made")
			}
		})
	}
}
