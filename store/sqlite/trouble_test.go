package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

var (
	errBusy        = &api.Error{Code: api.CodeStoreBusy}
	errFull        = &api.Error{Code: api.CodeStoreFull}
	errReadOnly    = &api.Error{Code: api.CodeStoreReadOnly}
	errCorrupt     = &api.Error{Code: api.CodeStoreCorrupt}
	errTooNew      = &api.Error{Code: api.CodeStoreTooNew}
	errUnsupported = &api.Error{Code: api.CodeStoreUnsupported}
)

// fill appends bodies of 64 KiB until the disk is full, frees room, and checks that all goes on.
func fill(t *testing.T, s *Store, makeRoom func()) {
	t.Helper()
	appended(t, s, creation("s"))
	body := bytes.Repeat([]byte("full "), 13_000)
	next := func(head uint64) store.Append {
		a := change("s", fmt.Sprint("x", head), head, 2)
		a.Records[1].Data = body
		return a
	}
	head, unknown := uint64(1), false
	for {
		got, err := s.Append(t.Context(), next(head))
		if err != nil {
			if !errors.Is(err, errFull) {
				t.Fatalf("append to a full disk: %v, want store_full", err)
			}
			unknown = errors.Is(err, store.ErrFateUnknown)
			break
		}
		if head = got.Head; head > 10_000 {
			t.Fatal("the disk does not fill")
		}
	}
	if got := len(recordKinds(t, s, "s")); got != int(head) && !(unknown && got == int(head)+2) {
		t.Fatalf("%d records on the full disk, %d were acknowledged", got, head)
	}
	makeRoom()
	if got := appended(t, s, next(head)); got.First != head+1 || got.Head != head+2 {
		t.Fatalf("written again once there is room: %+v behind %d", got, head)
	}
	if got := len(recordKinds(t, s, "s")); got != int(head)+2 {
		t.Fatalf("%d records, want %d", got, head+2)
	}
}

func TestAFullDatabaseLosesNothing(t *testing.T) {
	t.Parallel()
	pages := 2000
	tap := &tap{}
	s := opened(t, Config{Dir: filepath.Join(t.TempDir(), "state"), wrap: func(c rawConn) rawConn {
		// The bound is the connection's, so each that is opened anew gets it.
		own := newConn(c)
		if err := own.script(background, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages)); err != nil {
			t.Error(err)
		}
		return tap.wrap(c)
	}})
	fill(t, s, func() { pages = 100_000 })
}

func TestADamagedPageIsToldAndLeavesTheRestReadable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	for _, session := range []string{"whole", "damaged"} {
		appended(t, s, creation(session))
		a := change(session, "x", 1, 1)
		a.Records[0].Data = bytes.Repeat([]byte(session), 4000)
		appended(t, s, a)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// Break the chain of the damaged body's pages: one that holds nothing else points to nowhere.
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := false
	for page := 0; page < len(data) && !broken; page += pageSize {
		rest := bytes.ReplaceAll(data[page+4:page+pageSize], []byte("damaged"), nil)
		if broken = len(rest) < 2*len("damaged"); broken {
			copy(data[page:], []byte{0x7f, 0xff, 0xff, 0xff})
		}
	}
	if !broken {
		t.Fatal("no page holds only the damaged body")
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s = opened(t, Config{Dir: dir})
	if _, err := s.Load(t.Context(), "damaged", ""); !errors.Is(err, errCorrupt) {
		t.Errorf("load of the damaged session: %v, want store_corrupt", err)
	}
	if got := recordKinds(t, s, "whole"); len(got) != 2 {
		t.Errorf("the whole session has %v", got)
	}
	appended(t, s, change("whole", "y", 2, 1))
}

func TestADamagedHeaderIsToldAtOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	appended(t, s, creation("s"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, File)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(data, "no database any more, alas")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, errCorrupt) {
		t.Errorf("open: %v, want store_corrupt", err)
	}
}

func TestANewerStoreIsLeftUntouched(t *testing.T) {
	t.Parallel()
	newer := func(t *testing.T, oldest string) (dir string, s *Store) {
		dir = filepath.Join(t.TempDir(), "state")
		s = opened(t, Config{Dir: dir})
		appended(t, s, creation("s"))
		err := s.write(t.Context(), func(ctx context.Context, c *conn) (refusal, err error) {
			return nil, errors.Join(
				c.exec(ctx, `UPDATE meta SET value = '7' WHERE key = 'version'`),
				c.exec(ctx, `UPDATE meta SET value = ?1 WHERE key = 'oldest_build_that_may_run'`, oldest),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		return dir, s
	}
	for name, closed := range map[string]bool{"closed": true, "with a log that is not in the database yet": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := newer(t, "6")
			if closed {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			} else { // as a kill leaves it
				dir = copyOf(t, dir)
			}
			before := files(t, dir)
			if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, errTooNew) {
				t.Fatalf("open: %v, want store_too_new", err)
			}
			after := files(t, dir)
			for _, name := range []string{File, File + "-wal"} {
				if !bytes.Equal(before[name], after[name]) {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
	t.Run("unless it lets older builds run", func(t *testing.T) {
		t.Parallel()
		dir, s := newer(t, "1")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = opened(t, Config{Dir: dir})
		appended(t, s, change("s", "x", 1, 1))
	})
}

func TestADatabaseOfSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := (&database{path: filepath.Join(dir, File), busy: time.Second}).open("rwc")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.script(background, `CREATE TABLE recipes (name)`), c.close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, errUnsupported) {
		t.Errorf("open: %v, want store_unsupported", err)
	}
}

func TestNothingOfACleanedSessionIsLeftInTheFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	const secret = "s3cr3t-content"
	appended(t, s, creation("other"))
	made := creation("doomed")
	made.Create.Metadata = map[string]string{"note": secret}
	made.Create.Key, made.Create.Fingerprint = secret+"-key", secret+"-print"
	appended(t, s, made)
	a := change("doomed", secret+"-append", 1, 3)
	a.Records[0].Data = bytes.Repeat([]byte(secret), 1000)
	a.Records[1].Run = secret + "-run"
	a.Records[1].Terminal = true
	a.Receipts = []store.Receipt{{Key: secret + "-receipt", Fields: map[string]string{secret: secret}}}
	a.Opened = []store.Interaction{{ID: secret + "-interaction", Data: []byte(secret)}}
	a.Snapshot = &store.Snapshot{Schema: "x", Head: 4, Data: bytes.Repeat([]byte(secret), 200)}
	a.Index = store.Index{Needs: []string{secret}}
	appended(t, s, a)
	if err := s.Park(t.Context(), "doomed", secret, "b"); err != nil {
		t.Fatal(err)
	}
	appended(t, s, change("other", "between", 1, 3))
	found := func() (in []string) {
		for name, data := range files(t, dir) {
			if bytes.Contains(data, []byte(secret)) {
				in = append(in, name)
			}
		}
		return in
	}
	if len(found()) == 0 {
		t.Fatal("the content is not where this test looks for it")
	}
	gone := change("doomed", "deleted", 4, 1)
	gone.Delete = true
	appended(t, s, gone)
	for more := true; more; {
		var err error
		if more, err = s.Clean(t.Context(), "doomed", 2); err != nil {
			t.Fatal(err)
		}
	}
	// The log is emptied once nobody reads, without any further call.
	deadline := time.Now().Add(10 * time.Second)
	for len(found()) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("content is left in %v", found())
		}
		time.Sleep(5 * time.Millisecond) // the writer does it after its answer
	}
	if got := recordKinds(t, s, "other"); len(got) != 4 {
		t.Errorf("the other session has %v", got)
	}
}

func TestAStoreIsTheSameWhenItIsOpenedAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	id := s.ID()
	appended(t, s, creation("s"))
	a := change("s", "x", 1, 2)
	a.Snapshot = &store.Snapshot{Schema: "x", Head: 2, Data: []byte("state")}
	a.Records[0].Run, a.Records[1].Run = "s.r1", "~odd"
	appended(t, s, a)
	before, err := s.Load(t.Context(), "s", "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, Config{Dir: dir})
	after, err := s.Load(t.Context(), "s", "x")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" || s.ID() != id {
		t.Errorf("identity %q then %q, session (-before +after):\n%s", id, s.ID(), diff)
	}
	if got := appended(t, s, a); !got.Repeated {
		t.Errorf("an append repeated after a restart: %+v", got)
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	appended(t, s, creation("s"))
	if err := s.Register(t.Context(), store.Process{ID: "p", LeaseUntil: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Watch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, appendErr := s.Append(t.Context(), change("s", "x", 1, 1))
	_, loadErr := s.Load(t.Context(), "s", "")
	_, watchErr := s.Watch(t.Context())
	for call, err := range map[string]error{"append": appendErr, "load": loadErr, "watch": watchErr} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", call, err)
		}
	}
	// Who closed its store runs nothing any more: its processes are proven dead.
	other := opened(t, Config{Dir: dir})
	fenced, err := other.Fence(t.Context(), "", time.Now(), time.Hour)
	if err != nil || !slices.Equal(fenced, []string{"p"}) {
		t.Errorf("fenced %v, %v", fenced, err)
	}
}

// files reads the database and what SQLite keeps beside it. Nobody writes them at that moment.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range []string{File, File + "-wal", File + "-shm"} {
		// A process that uses the database must not open its file, so another one reads it.
		data, err := readElsewhere(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all[name] = data
	}
	return all
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range files(t, dir) {
		if data == nil || name == File+"-shm" {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}
