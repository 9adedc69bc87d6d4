package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/store"
)

// unmarked fails the test unless no byte of a marked file is left in the directory.
func unmarked(t *testing.T, dir string) {
	t.Helper()
	if in := markedIn(t, dir); len(in) > 0 {
		t.Errorf("bytes are left in %v", in)
	}
}

// plainFile makes a file without a mark.
func plainFile(t *testing.T, s *Store, session, id string) {
	t.Helper()
	f := store.File{ID: id, Size: 5, Expires: fileEnd}
	if _, err := s.Stage(t.Context(), session, f, time.Unix(0, 0), fileRoom); err != nil {
		t.Fatal(err)
	}
	if err := s.PutChunk(t.Context(), session, id, 0, []byte("plain"), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
}

// reading holds a reader of the store inside, until the function that it returns is called.
func reading(t *testing.T, s *Store) (free func()) {
	t.Helper()
	inside, leave, left := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		err := s.moment(background, func(c *conn) error {
			_, _, err := readSession(c, "s")
			inside <- err
			<-leave
			return err
		})
		if err != nil {
			t.Errorf("the reader: %v", err)
		}
	}()
	if err := <-inside; err != nil {
		t.Fatal(err)
	}
	return func() {
		close(leave)
		<-left
	}
}

// C53, GR3: who removes and closes leaves nothing behind, whether others live or not.
func TestAProcessThatRemovesAndClosesLeavesNoByte(t *testing.T) {
	t.Parallel()
	for _, size := range []int{5000, 8 << 20} {
		for _, others := range []int{0, 1} {
			t.Run(fmt.Sprintf("%d bytes with %d others", size, others), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "state")
				for range others {
					opened(t, Config{Dir: dir})
				}
				s := opened(t, Config{Dir: dir})
				appended(t, s, creation("s"))
				sealedFile(t, s, "s", "s-a1", marked(size))
				if err := errors.Join(s.Discard(t.Context(), "s", "s-a1"), s.Close()); err != nil {
					t.Fatal(err)
				}
				unmarked(t, dir)
			})
		}
	}
}

// C53, GR3: what a process could not erase before it closed is known to all others.
func TestWhatACloserLeavesIsErasedByOthers(t *testing.T) {
	t.Parallel()
	for name, takeUp := range map[string]func(t *testing.T, dir string, other *Store) *Store{
		"one that lives, when it looks for the dead": func(t *testing.T, _ string, other *Store) *Store {
			if fenced, err := other.Fence(t.Context(), "", time.Now(), time.Minute); len(fenced) > 0 || err != nil {
				t.Fatalf("fenced %v, %v", fenced, err)
			}
			return other
		},
		"one that opens the store": func(t *testing.T, dir string, _ *Store) *Store { return opened(t, Config{Dir: dir}) },
	} {
		for _, size := range []int{5000, 3*store.ChunkBytes + 9} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "state")
				other, s := opened(t, Config{Dir: dir}), opened(t, Config{Dir: dir})
				appended(t, s, creation("s"))
				sealedFile(t, s, "s", "s-a1", marked(size))
				free := reading(t, other) // so that the log cannot be emptied
				if err := errors.Join(s.Discard(t.Context(), "s", "s-a1"), s.Close()); err != nil {
					t.Fatal(err)
				}
				free()
				if len(markedIn(t, dir)) == 0 {
					t.Fatal("nothing was left to erase")
				}
				settle(t, takeUp(t, dir, other))
				unmarked(t, dir)
				if left := dump(t, other)["removed"]; len(left) > 0 {
					t.Errorf("the store goes on to say that %v is to be erased", left)
				}
			})
		}
	}
}

// What is removed while the log is emptied for something else must not be forgotten with that.
func TestARemovalBehindAnErasureIsErasedToo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	var s *Store
	second := false
	tap := &tap{after: func(query string) error {
		if query == `PRAGMA wal_checkpoint(TRUNCATE)` && !second {
			second = true // by another process: this is the writer's goroutine
			other := opened(t, Config{Dir: dir})
			sealedFile(t, other, "s", "s-a2", marked(store.ChunkBytes+9))
			return other.write(background, func(ctx context.Context, c *conn) (refusal, err error) {
				return nil, c.exec(ctx, `DELETE FROM files`)
			})
		}
		return nil
	}}
	s = opened(t, Config{Dir: dir, wrap: tap.wrap})
	appended(t, s, creation("s"))
	sealedFile(t, s, "s", "s-a1", marked(store.ChunkBytes+9))
	if err := s.Discard(t.Context(), "s", "s-a1"); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	if !second {
		t.Fatal("nothing was removed meanwhile")
	}
	unmarked(t, dir)
}

func TestABackupHasNothingThatWasRemovedBeforeIt(t *testing.T) {
	t.Parallel()
	const size = 20*store.ChunkBytes + 9
	for name, remove := range map[string]func(s *Store) error{
		"a file that was discarded": func(s *Store) error { return s.Discard(background, "s", "s-a1") },
		"a session that was deleted and not cleaned": func(s *Store) error {
			a := change("s", "deleted", 1, 1)
			a.Delete = true
			_, err := s.Append(background, a)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			removed, copied := false, make(chan struct{})
			var s *Store
			s = opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), Failpoint: func(point string) {
				// Nothing is erased before the copy is made.
				if point == "commit.next" && s != nil && s.writer.removed && !removed {
					removed = true
					<-copied
				}
			}})
			appended(t, s, creation("s"))
			appended(t, s, creation("kept"))
			sealedFile(t, s, "s", "s-a1", marked(size))
			plainFile(t, s, "kept", "kept-a1")
			if err := remove(s); err != nil {
				t.Fatal(err)
			}
			into := filepath.Join(t.TempDir(), "copies")
			if err := os.Mkdir(into, 0o700); err != nil {
				t.Fatal(err)
			}
			err := s.Backup(t.Context(), filepath.Join(into, File))
			if len(dump(t, s)["chunks"]) != 22 {
				t.Error("the original was erased before the copy was made")
			}
			close(copied)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(into)
			if err != nil || len(entries) != 1 {
				t.Errorf("the back-up has the files %v, %v", entries, err)
			}
			unmarked(t, into)
			restored := opened(t, Config{Dir: into})
			if data, err := restored.Chunk(t.Context(), "kept", "kept-a1", 0); string(data) != "plain" || err != nil {
				t.Errorf("what was not removed is %q, %v", data, err)
			}
			if left := dump(t, restored)["removed"]; len(left) > 0 {
				t.Errorf("the copy says that %v is to be erased", left)
			}
			if err := Check(t.Context(), into); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestARestoredBackupErasesWhatIsRemovedFromIt(t *testing.T) {
	t.Parallel()
	s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state")})
	appended(t, s, creation("s"))
	sealedFile(t, s, "s", "s-a1", marked(20*store.ChunkBytes))
	into := filepath.Join(t.TempDir(), "copies")
	if err := errors.Join(os.Mkdir(into, 0o700), s.Backup(t.Context(), filepath.Join(into, File))); err != nil {
		t.Fatal(err)
	}
	if len(markedIn(t, into)) == 0 {
		t.Fatal("the copy has no byte to erase")
	}
	restored := opened(t, Config{Dir: into})
	if err := restored.Discard(t.Context(), "s", "s-a1"); err != nil {
		t.Fatal(err)
	}
	settle(t, restored)
	unmarked(t, into)
}

// The statements of schema 1 for the end of a session, which a process that knows no files goes on to run.
const (
	deleteOfOne = `UPDATE sessions SET state = 1, creation_key = NULL WHERE id = 's'`
	cleanOfOne  = `DELETE FROM events WHERE session = (SELECT key FROM sessions WHERE id = 's');
		DELETE FROM heads WHERE key = (SELECT key FROM sessions WHERE id = 's');
		UPDATE sessions SET state = 2, owner = '', agent = '', digest = '', metadata = '', fingerprint = '', created = 0 WHERE id = 's'`
)

// C53: a process of schema 1 that was at work when the store was brought up to date.
func TestASessionThatAnOldProcessDeletesLeavesNoByteOfItsFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"it deletes": deleteOfOne, "it deletes and cleans": deleteOfOne + ";" + cleanOfOne} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := oldStore(t)
			old, err := (&database{path: filepath.Join(dir, File), busy: 5 * time.Second}).openWriter(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := old.close(); err != nil {
					t.Error(err)
				}
			})
			s := opened(t, Config{Dir: dir})
			settle(t, s)
			appended(t, s, creation("other"))
			sealedFile(t, s, "s", "s-a1", marked(3*store.ChunkBytes))
			sealedFile(t, s, "s", "s-a2", marked(3000))
			plainFile(t, s, "other", "other-a1")
			if err := old.script(background, `BEGIN IMMEDIATE;`+text+`; COMMIT`); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Fence(t.Context(), "", time.Unix(0, 0), time.Hour); err != nil {
				t.Fatal(err)
			}
			settle(t, s)
			unmarked(t, dir)
			if diff := cmp.Diff(1, len(dump(t, s)["files"])); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}
