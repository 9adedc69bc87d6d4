package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/store"
)

// settle waits until the writer has erased what was removed, the log included.
func settle(t testing.TB, s *Store) {
	t.Helper()
	for about := true; about; {
		if err := s.write(background, func(context.Context, *conn) (refusal, err error) {
			about = s.writer.removed || len(s.writer.reminded) > 0
			return nil, nil
		}); err != nil && !errors.Is(err, store.ErrFateUnknown) { // a fault may be meant for others
			t.Fatal(err)
		}
	}
}

// markedIn names the files of the store that have a mark in them.
func markedIn(t *testing.T, dir string) (in []string) {
	t.Helper()
	for name, data := range files(t, dir) {
		if bytes.Contains(data, []byte(mark)) {
			in = append(in, name)
		}
	}
	return in
}

func TestNoByteOfARemovedFileIsLeft(t *testing.T) {
	t.Parallel()
	const size = 2*store.ChunkBytes + 5000
	for name, remove := range map[string]func(t *testing.T, s *Store){
		"it is discarded": func(t *testing.T, s *Store) {
			if err := s.Discard(t.Context(), "s", "s-a1"); err != nil {
				t.Fatal(err)
			}
		},
		"an append discards it": func(t *testing.T, s *Store) {
			a := change("s", "message", 1, 1)
			a.Discard = []string{"s-a1"}
			appended(t, s, a)
		},
		"it has expired when another is staged": func(t *testing.T, s *Store) {
			if _, err := s.Stage(t.Context(), "s", store.File{ID: "s-a2", Size: 5}, fileEnd, fileRoom); err != nil {
				t.Fatal(err)
			}
		},
		"it has expired when an append brings another": func(t *testing.T, s *Store) {
			a := change("s", "message", 1, 1)
			a.Time, a.FileQuota = fileEnd, fileRoom
			a.Files = []store.NewFile{{File: store.File{ID: "s-a2", Size: 5}, Data: []byte("other")}}
			appended(t, s, a)
		},
		"its session is cleaned": func(t *testing.T, s *Store) {
			a := change("s", "message", 1, 1)
			a.Accept = []string{"s-a1"}
			appended(t, s, a)
			a = change("s", "deleted", 2, 1)
			a.Delete = true
			appended(t, s, a)
			for more := true; more; {
				var err error
				if more, err = s.Clean(t.Context(), "s", 500); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		for _, place := range []string{"log", "database"} {
			t.Run(name+" and its bytes are in the "+place, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "state")
				s := opened(t, Config{Dir: dir})
				appended(t, s, creation("s"))
				sealedFile(t, s, "s", "s-a1", marked(size))
				if place == "database" {
					emptyLog(t, s)
				}
				want := File
				if place == "log" {
					want += "-wal"
				}
				if in := markedIn(t, dir); len(in) != 1 || in[0] != want {
					t.Fatalf("the bytes are in %v before, want %s", in, want)
				}
				remove(t, s)
				settle(t, s)
				if in := markedIn(t, dir); len(in) > 0 {
					t.Errorf("bytes are left in %v", in)
				}
			})
		}
	}
}

// emptyLog moves the log into the database. What is in it then is that nothing is removed any more.
func emptyLog(t testing.TB, s *Store) {
	t.Helper()
	if err := s.write(background, func(ctx context.Context, c *conn) (refusal, err error) {
		s.writer.removed = true
		return nil, c.exec(ctx, `INSERT INTO removed (file) VALUES (0)`)
	}); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	if info, err := os.Stat(s.writer.database.path + "-wal"); err != nil || info.Size() > 8*pageSize {
		t.Fatalf("the log: %+v, %v", info, err)
	}
}

func TestAReplacedFileLeavesNoByte(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	appended(t, s, creation("s"))
	writtenFile(t, s, "s", "s-a1", marked(store.ChunkBytes+9))
	a := change("s", "message", 1, 1)
	a.FileQuota = fileRoom
	a.Files = []store.NewFile{{File: store.File{ID: "s-a1", Size: 5}, Data: []byte("other")}}
	if len(markedIn(t, dir)) == 0 {
		t.Fatal("the bytes are not where this test looks for them")
	}
	appended(t, s, a)
	settle(t, s)
	if in := markedIn(t, dir); len(in) > 0 {
		t.Errorf("bytes are left in %v", in)
	}
	if data, err := s.Chunk(t.Context(), "s", "s-a1", 0); err != nil || string(data) != "other" {
		t.Errorf("the chunk is %q, %v", data, err)
	}
}

// TestAProcessThatDiesBehindARemovalLeavesNoByte takes the files as they are right after the commit of a removal: what
// a process leaves that dies before it has emptied the log.
func TestAProcessThatDiesBehindARemovalLeavesNoByte(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	armed, dead := atomic.Bool{}, ""
	s := opened(t, Config{Dir: dir, Failpoint: func(point string) {
		if point == "commit.after" && armed.CompareAndSwap(true, false) {
			dead = copyOf(t, dir)
		}
	}})
	appended(t, s, creation("s"))
	sealedFile(t, s, "s", "s-a1", marked(store.ChunkBytes+9))
	armed.Store(true)
	if err := s.Discard(t.Context(), "s", "s-a1"); err != nil {
		t.Fatal(err)
	}
	if len(markedIn(t, dead)) == 0 {
		t.Fatal("the process that died left no byte to remove")
	}
	next := opened(t, Config{Dir: dead})
	settle(t, next)
	if in := markedIn(t, dead); len(in) > 0 {
		t.Errorf("bytes are left in %v", in)
	}
	if got := recordKinds(t, next, "s"); len(got) != 1 {
		t.Errorf("records %v", got)
	}
}

func TestWhoFencesADeadProcessErasesWhatItRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	var removed atomic.Bool
	died, buried := make(chan struct{}), make(chan struct{})
	dying := opened(t, Config{Dir: dir, Failpoint: func(point string) {
		if point == "commit.next" && removed.CompareAndSwap(true, false) {
			close(died)
			<-buried
		}
	}})
	t.Cleanup(func() { close(buried) })
	if err := dying.Register(t.Context(), store.Process{ID: "p", LeaseUntil: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	other := opened(t, Config{Dir: dir})
	appended(t, dying, creation("s"))
	sealedFile(t, dying, "s", "s-a1", marked(store.ChunkBytes+9))
	// Its writer stops right behind the commit of the removal.
	if err := dying.write(t.Context(), func(ctx context.Context, c *conn) (refusal, err error) {
		f, err := findFile(ctx, c, "s", "s-a1")
		if err == nil {
			removed.Store(true)
			err = dying.removeFiles(ctx, c, []file{f}, []string{"s-a1"})
		}
		return nil, err
	}); err != nil {
		t.Fatal(err)
	}
	<-died
	settle(t, other)
	if len(markedIn(t, dir)) == 0 {
		t.Fatal("the process that died left no byte to remove")
	}
	if err := dying.owners.release("p"); err != nil {
		t.Fatal(err)
	}
	if fenced, err := other.Fence(t.Context(), "", time.Now(), time.Minute); len(fenced) != 1 || err != nil {
		t.Fatalf("fenced %v, %v", fenced, err)
	}
	settle(t, other)
	if in := markedIn(t, dir); len(in) > 0 {
		t.Errorf("bytes are left in %v", in)
	}
}

func TestAnErasureThatFailsIsDoneLater(t *testing.T) {
	t.Parallel()
	for _, at := range []string{`DELETE FROM chunks`, `DELETE FROM removed`, `SELECT 1 FROM removed`, `COMMIT`, `PRAGMA wal_checkpoint`} {
		t.Run("at "+at, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			removing, committed, faults := false, false, 0 // the writer's goroutine alone has them until all is done
			tap := &tap{
				before: func(query string) error {
					if committed && faults < 3 && strings.HasPrefix(query, at) {
						faults++
						return errFault
					}
					return nil
				},
				after: func(query string) error {
					removing = removing || strings.HasPrefix(query, `DELETE FROM files`)
					committed = committed || removing && query == `COMMIT`
					return nil
				},
			}
			s := opened(t, Config{Dir: dir, wrap: tap.wrap})
			appended(t, s, creation("s"))
			sealedFile(t, s, "s", "s-a1", marked(store.ChunkBytes+9))
			if err := s.Discard(t.Context(), "s", "s-a1"); err != nil {
				t.Fatal(err)
			}
			settle(t, s)
			if in := markedIn(t, dir); len(in) > 0 || faults != 3 {
				t.Errorf("after %d faults bytes are left in %v", faults, in)
			}
		})
	}
}

func TestADeletedSessionsFilesAreErasedInBoundedSteps(t *testing.T) {
	t.Parallel()
	var s *Store
	var left []int // chunks behind each commit that changed their number, of the writer's goroutine until all is done
	s = opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), Failpoint: func(point string) {
		if point == "commit.after" {
			if n := len(dump(t, s)["chunks"]); len(left) == 0 || left[len(left)-1] != n {
				left = append(left, n)
			}
		}
	}})
	appended(t, s, creation("s"))
	const chunks = 2*eraseChunks + 3
	sealedFile(t, s, "s", "s-a1", marked(chunks*store.ChunkBytes))
	gone := change("s", "deleted", 1, 1)
	gone.Delete = true
	appended(t, s, gone)
	settle(t, s)
	if diff := cmp.Diff([]int{chunks, chunks - eraseChunks, chunks - 2*eraseChunks, 0}, left[len(left)-4:]); diff != "" {
		t.Errorf("chunks behind the commits (-want +got):\n%s", diff)
	}
	for range 2 {
		if more, err := s.Clean(t.Context(), "s", 1000); more || err != nil {
			t.Errorf("clean: more %t, %v", more, err)
		}
	}
	settle(t, s)
	if diff := cmp.Diff(map[string][]string{}, dump(t, s)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
