package sqlite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/store"
)

// mark is in every part of every marked file.
const mark = "m4rk3d-byt3s"

func marked(size int) []byte { return bytes.Repeat([]byte(mark), size/len(mark)+1)[:size] }

var (
	fileRoom = store.FileQuota{Files: 8, Bytes: 64 << 20}
	fileEnd  = time.Unix(100, 0)
)

func fileOf(id string, data []byte) store.File {
	sum := sha256.Sum256(data)
	return store.File{ID: id, Name: mark + id, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Expires: fileEnd}
}

func newFileOf(id string, data []byte) store.NewFile {
	return store.NewFile{File: fileOf(id, data), Data: data}
}

// writtenFile stages a file and puts its chunks.
func writtenFile(t testing.TB, s store.Store, session, id string, data []byte) {
	t.Helper()
	if _, err := s.Stage(background, session, fileOf(id, data), time.Unix(0, 0), fileRoom); err != nil {
		t.Fatal(err)
	}
	for i := range store.Chunks(int64(len(data))) {
		part := data[i*store.ChunkBytes : min(len(data), (i+1)*store.ChunkBytes)]
		if err := s.PutChunk(background, session, id, i, part, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

func sealedFile(t testing.TB, s store.Store, session, id string, data []byte) {
	t.Helper()
	writtenFile(t, s, session, id, data)
	if _, err := s.Seal(background, session, id, store.FileType{MediaType: "image/png"}, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
}

// TestAFileTakesTheMemoryOfAChunk runs while no other test does, to count what is allocated.
func TestAFileTakesTheMemoryOfAChunk(t *testing.T) {
	s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state")})
	appended(t, s, creation("s"))
	const size = 8 << 20
	data := marked(size)
	allocated := func(do func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	if n := allocated(func() { sealedFile(t, s, "s", "s-a1", data) }); n > store.ChunkBytes {
		t.Errorf("staging %d bytes allocated %d", size, n)
	}
	if n := allocated(func() {
		for i := range store.Chunks(size) {
			if chunk, err := s.Chunk(t.Context(), "s", "s-a1", i); err != nil || len(chunk) != store.ChunkBytes {
				t.Fatalf("chunk %d has %d bytes, %v", i, len(chunk), err)
			}
		}
	}); n > size+store.ChunkBytes {
		t.Errorf("reading %d bytes allocated %d", size, n)
	}
	a := change("s", "message", 1, 1)
	a.FileQuota, a.Files = fileRoom, []store.NewFile{newFileOf("s-a2", data)}
	if n := allocated(func() { appended(t, s, a) }); n > store.ChunkBytes {
		t.Errorf("an append with %d bytes allocated %d", size, n)
	}
}

// dump is what the tables hold that an append with files, and the calls for files, write.
func dump(t *testing.T, s *Store) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	if err := s.moment(t.Context(), func(c *conn) error {
		var errs []error
		for table, columns := range map[string]string{
			"files": `key, id, state, expires, size, media_type`, "chunks": `file, number, data`,
			"removed": `file, file`, "events": `id, kind`, "receipts": `key, run`, "heads": `key, head, updated`,
		} {
			errs = append(errs, c.query(background, `SELECT `+columns+` FROM `+table+` ORDER BY 1, 2`, func(r row) error {
				text := ""
				for _, value := range r {
					if data, ok := value.([]byte); ok {
						value = sha256.Sum256(data)
					}
					text += fmt.Sprint(value, " ")
				}
				all[table] = append(all[table], text)
				return nil
			}))
		}
		return errors.Join(errs...)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// fileCalls are calls that write, on a session that populated made.
func fileCalls() map[string]func(s *Store) error {
	const size = store.ChunkBytes + 3
	a := change("s", "message", 2, 2)
	a.Time, a.FileQuota = fileEnd, fileRoom
	a.Accept, a.Discard = []string{"s-late"}, []string{"s-late2"}
	a.Files = []store.NewFile{newFileOf("s-new", marked(size)), newFileOf("s-open", marked(size)), newFileOf("s-kept", marked(9))}
	a.Receipts = []store.Receipt{{Key: "k", Run: "r"}}
	return map[string]func(s *Store) error{
		"stage": func(s *Store) error {
			f := fileOf("s-new", marked(9))
			f.Expires = fileEnd.Add(time.Hour)
			_, err := s.Stage(background, "s", f, fileEnd, fileRoom)
			return err
		},
		"stage for longer": func(s *Store) error {
			f := fileOf("s-late", marked(size))
			f.Expires = fileEnd.Add(2 * time.Hour)
			_, err := s.Stage(background, "s", f, fileEnd, fileRoom)
			return err
		},
		"put": func(s *Store) error {
			return s.PutChunk(background, "s", "s-part", 0, marked(size)[:store.ChunkBytes], time.Unix(1, 0))
		},
		"seal": func(s *Store) error {
			_, err := s.Seal(background, "s", "s-open", store.FileType{MediaType: "image/png"}, time.Unix(1, 0))
			return err
		},
		"discard": func(s *Store) error { return s.Discard(background, "s", "s-gone") },
		"append": func(s *Store) error {
			_, err := s.Append(background, a)
			return err
		},
	}
}

// populated makes a session with files in every state: accepted, sealed for long and for short, complete, and begun.
func populated(t *testing.T, s *Store) {
	t.Helper()
	const size = store.ChunkBytes + 3
	appended(t, s, creation("s"))
	sealedFile(t, s, "s", "s-kept", marked(9))
	a := change("s", "first", 1, 1)
	a.Accept = []string{"s-kept"}
	appended(t, s, a)
	writtenFile(t, s, "s", "s-open", marked(size))
	sealedFile(t, s, "s", "s-gone", marked(size))
	if _, err := s.Stage(t.Context(), "s", fileOf("s-part", marked(size)), time.Unix(0, 0), fileRoom); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s-late", "s-late2"} {
		sealedFile(t, s, "s", id, marked(size))
		f := fileOf(id, marked(size))
		f.Expires = fileEnd.Add(time.Hour)
		if _, err := s.Stage(t.Context(), "s", f, time.Unix(0, 0), fileRoom); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFaultAtAnyStatementLeavesAllOrNothing lets every statement of every call fail, before it runs and after it, one
// after the other, until none is left.
func TestAFaultAtAnyStatementLeavesAllOrNothing(t *testing.T) {
	t.Parallel()
	for name, call := range fileCalls() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fuse atomic.Int64 // statements until the fault
			strike := func(query string) error {
				if strings.HasPrefix(query, `PRAGMA`) || query == `ROLLBACK` || strings.HasPrefix(query, `BEGIN IMMEDIATE;`) {
					return nil // what opens a connection anew, closes it, or empties the log
				}
				if fuse.Add(-1) == 0 {
					return errFault
				}
				return nil
			}
			tap := &tap{before: strike, after: strike}
			s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: tap.wrap})
			populated(t, s)
			settle(t, s)
			before := dump(t, s)
			faults := 0
			for {
				fuse.Store(int64(faults + 1))
				err := call(s)
				fuse.Store(0)
				settle(t, s)
				if err == nil {
					t.Fatalf("the call succeeded after %d faults; the one behind COMMIT was never met", faults)
				}
				faults++
				after := dump(t, s)
				if !cmp.Equal(before, after) {
					if !errors.Is(err, store.ErrFateUnknown) {
						t.Fatalf("fault %d: %v, but something was written:\n%s", faults, err, cmp.Diff(before, after))
					}
					break
				}
			}
			if faults < 12 {
				t.Errorf("only %d faults were met", faults)
			}
			whole := dump(t, s)
			if err := call(s); err != nil {
				t.Errorf("the call once more: %v", err)
			}
			settle(t, s)
			if diff := cmp.Diff(whole, dump(t, s)); diff != "" {
				t.Errorf("the call once more changed what was whole:\n%s", diff)
			}
			fresh := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state")})
			populated(t, fresh)
			if err := call(fresh); err != nil {
				t.Fatal(err)
			}
			settle(t, fresh)
			if diff := cmp.Diff(dump(t, fresh), whole); diff != "" {
				t.Errorf("with faults (+) it came to something else than without (-):\n%s", diff)
			}
		})
	}
}

// TestNoCallForFilesLooksAtThoseOfOthers asks the database how it goes about each statement.
func TestNoCallForFilesLooksAtThoseOfOthers(t *testing.T) {
	t.Parallel()
	var recording atomic.Bool
	statements := map[string]bool{}
	tap := &tap{before: func(query string) error {
		if recording.Load() && (strings.Contains(query, "files") || strings.Contains(query, "chunks")) {
			statements[query] = true
		}
		return nil
	}}
	var s *Store
	for name, call := range fileCalls() {
		s = opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: tap.wrap})
		populated(t, s)
		recording.Store(true)
		if err := errors.Join(call(s), call(s)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gone := change("s", "deleted", 2, 1)
		gone.AnyHead, gone.Delete = true, true
		appended(t, s, gone)
		if _, err := s.Clean(t.Context(), "s", 1000); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
		recording.Store(false)
	}
	statements[`DELETE FROM files WHERE session = ?1`] = true // the trigger's
	if len(statements) < 12 {
		t.Fatalf("only %d statements were met", len(statements))
	}
	err := s.moment(t.Context(), func(c *conn) error {
		for query := range statements {
			if err := c.query(background, `EXPLAIN QUERY PLAN `+query, func(r row) error {
				if step := r.text(3); strings.HasPrefix(step, "SCAN") && !strings.HasPrefix(step, "SCAN (subquery") && step != "SCAN removed" && step != "SCAN CONSTANT ROW" {
					t.Errorf("%s: %s", query, step)
				}
				return nil
			}, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnAcceptedFilesBytesAreNotWrittenAgain(t *testing.T) {
	t.Parallel()
	s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state")})
	appended(t, s, creation("s"))
	log := func() int64 {
		info, err := os.Stat(s.writer.database.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	emptyLog(t, s)
	const size = 1 << 20
	writtenFile(t, s, "s", "s-a1", marked(size))
	if grown := log(); grown < size || grown > size*11/10 {
		t.Errorf("%d bytes of a file made %d of log", size, grown)
	}
	emptyLog(t, s)
	if _, err := s.Seal(t.Context(), "s", "s-a1", store.FileType{MediaType: "image/png"}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	a := change("s", "message", 1, 1)
	a.Accept = []string{"s-a1"}
	appended(t, s, a)
	writtenFile(t, s, "s", "s-a1", marked(size)) // what is there is not written again either
	if grown := log(); grown == 0 || grown > 32<<10 {
		t.Errorf("sealing and accepting wrote %d bytes", grown)
	}
}

func TestABackupHasTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, Config{Dir: filepath.Join(dir, "state")})
	populated(t, s)
	restored := filepath.Join(dir, "restored")
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), filepath.Join(restored, File)); err != nil {
		t.Fatal(err)
	}
	copied := opened(t, Config{Dir: restored})
	if diff := cmp.Diff(dump(t, s), dump(t, copied)); diff != "" {
		t.Errorf("the copy (-original +copy):\n%s", diff)
	}
	if err := copied.PutChunk(t.Context(), "s", "s-part", 1, marked(store.ChunkBytes + 3)[store.ChunkBytes:], time.Unix(1, 0)); err != nil {
		t.Errorf("an upload does not go on in the copy: %v", err)
	}
}
