//go:build linux

package chaos_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// mount mounts something for the test's time.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	err := mountable
	if err == nil {
		err = syscall.Mount(source, target, kind, flags, data)
	}
	if err != nil {
		t.Fatalf("this test mounts %s, which needs root or user namespaces: %v", target, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill leaves no room on the file system of a directory.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 16, 1 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("fill the disk: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFullDiskRefusesWhatItCannotKeepAndGoesOnWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprintf("crash=%t", crash), func(t *testing.T) {
			t.Parallel()
			disk := t.TempDir()
			mount(t, "tmpfs", disk, "tmpfs", 0, "size=8m")
			w := newWorldIn(t, disk)
			trace := filepath.Join(w.dir, "trace")
			w.next = [][]string{{"-trace", trace}}
			id := w.create("s")
			w.finish(w.submit(id, "before", "say before", ""))
			// A turn is under way while the disk fills.
			gate := make(chan struct{})
			w.model.hold(gate)
			w.submit(id, "under", "pay bill", "")
			w.until("request", func() bool { return w.model.asked(question{Text: "pay bill"}) == 1 })
			free := fill(t, disk)
			w.sendUntilFull(id)
			taken := len(w.runs)
			for _, op := range []string{"state", "events", "history"} {
				if _, err := w.try(chaos.Command{Op: op, Session: id}); err != nil {
					t.Errorf("%s on a full disk: %v", op, err)
				}
			}
			// The answer comes, cannot be stored, and is kept.
			close(gate)
			w.model.hold(nil)
			w.until("second try to store the answer", func() bool {
				reached, err := os.ReadFile(trace)
				return err == nil && bytes.Contains(reached, []byte("append.after/model_finished#3\n"))
			})
			if crash {
				w.crash()
				w.startOnFullDisk()
			}
			free()
			for _, run := range w.runs {
				if r := w.finish(run); r.Status != api.StatusCompleted {
					t.Errorf("run %s: %+v", run.Run, r)
				}
			}
			if n := w.model.asked(question{Text: "pay bill"}); !crash && n != 1 {
				t.Errorf("an answer that was kept was asked for %d times", n)
			}
			accepted := 0
			for _, e := range w.events(id) {
				if e.Type == api.EventTurnAccepted {
					accepted++
				}
			}
			if accepted != taken {
				t.Errorf("%d turns are in the journal, %d were acknowledged", accepted, taken)
			}
			w.check(id)
			w.close()
		})
	}
}

// sendUntilFull sends until messages are refused. What fits into the room that the log has is taken.
func (w *world) sendUntilFull(session string) {
	w.t.Helper()
	refused := 0
	for n := 0; refused < 3; n++ {
		if n == 200 {
			w.t.Fatal("200 messages went onto a full disk")
		}
		c := chaos.Command{Op: "submit", Session: session, Key: fmt.Sprint(n), Text: fmt.Sprintf("say %d %s", n, strings.Repeat("x", 100_000)), WhenBusy: api.BusyQueue}
		run, err := call[api.RunReference](w.victim(), c)
		switch {
		case err == nil:
			w.runs = append(w.runs, run)
		case api.CodeOf(err) == api.CodeStoreFull:
			refused++
		default:
			w.t.Fatalf("a message onto a full disk: %v, want store_full", err)
		}
	}
}

// startOnFullDisk starts a victim that must say that the disk is full, at its start or at the first write.
func (w *world) startOnFullDisk() {
	w.t.Helper()
	p, err := start(w.t, w.args...)
	if err == nil {
		_, err = p.do(chaos.Command{Op: "create", Key: "other"})
		p.kill()
		w.deaths++
	}
	if api.CodeOf(err) != api.CodeStoreFull {
		w.t.Errorf("a new session on a full disk: %v, want store_full\n%s", err, p.stderr)
	}
}

func TestAReadOnlyStateDirectoryIsToldAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.create("s")
	w.finish(w.submit(id, "1", "work shop", ""))
	before := w.check(id)
	w.close()
	state := w.args[1]
	open := func(t *testing.T, dir string) error {
		t.Helper()
		mount(t, dir, dir, "", syscall.MS_BIND, "")
		if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
		args := append([]string{}, w.args...)
		args[1] = dir
		p, err := start(t, args...)
		if err == nil {
			_, err = p.do(chaos.Command{Op: "create", Key: "other"})
			p.kill()
		}
		return err
	}
	t.Run("a store that is there", func(t *testing.T) {
		if err := open(t, state); api.CodeOf(err) != api.CodeStoreReadOnly {
			t.Errorf("%v, want store_read_only", err)
		}
	})
	t.Run("an empty directory", func(t *testing.T) {
		if err := open(t, t.TempDir()); api.CodeOf(err) != api.CodeStoreReadOnly {
			t.Errorf("%v, want store_read_only", err)
		}
	})
	if got := w.check(id); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("after: %v, before: %v", got, before)
	}
	w.finish(w.submit(id, "2", "say more", ""))
	w.check(id)
	w.close()
}

// damage writes rubbish over each page of the database that holds nothing but the text.
func damage(t *testing.T, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 1024
	found := 0
	for at := page; at+page <= len(data); at += page {
		if bytes.Count(data[at:at+page], []byte(text)) >= page/len(text)-2 {
			copy(data[at:], bytes.Repeat([]byte{0xff}, page))
			found++
		}
	}
	if found == 0 {
		t.Fatalf("no page holds %q", text)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedDatabaseIsToldAndWhatIsWholeStaysUsable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sick, well := w.create("sick"), w.create("well")
	w.finish(w.submit(sick, "1", "say "+strings.Repeat("sickness ", 2000), ""))
	w.finish(w.submit(well, "1", "say "+strings.Repeat("health ", 2000), ""))
	before := w.events(well)
	w.close()
	path := filepath.Join(w.args[1], "openworker.db")
	damage(t, path, "sickness ")
	for _, op := range []string{"state", "events", "history"} {
		if _, err := w.try(chaos.Command{Op: op, Session: sick}); api.CodeOf(err) != api.CodeStoreCorrupt {
			t.Errorf("%s of a damaged session: %v, want store_corrupt", op, err)
		}
	}
	if _, err := w.try(chaos.Command{Op: "submit", Session: sick, Text: "say more", WhenBusy: api.BusyQueue}); api.CodeOf(err) != api.CodeStoreCorrupt {
		t.Errorf("a message to a damaged session: %v, want store_corrupt", err)
	}
	if after := w.events(well); len(after) != len(before) {
		t.Errorf("the whole session has %d events, it had %d", len(after), len(before))
	}
	if r := w.finish(w.submit(well, "2", "mail more", "")); r.Status != api.StatusCompleted {
		t.Errorf("a turn in the whole session: %+v", r)
	}
	w.close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(bytes.Repeat([]byte{0xff}, 1024), data[1024:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, w.args...); api.CodeOf(err) != api.CodeStoreCorrupt {
		t.Errorf("a database without its first page: %v, want store_corrupt", err)
	}
}

// query reads rows of a database that no victim has open.
func query(t *testing.T, path, text string, row func(scan func(into ...any) error) error) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// versions are those that a store has written down: its own, and the oldest that may use it.
func versions(t *testing.T, path string) (version, oldest int) {
	t.Helper()
	query(t, path, `SELECT key, CAST(value AS INTEGER) FROM meta WHERE key IN ('version', 'oldest_build_that_may_run')`, func(scan func(into ...any) error) error {
		var key string
		var n int
		err := scan(&key, &n)
		if key == "version" {
			version = n
		} else {
			oldest = n
		}
		return err
	})
	if version == 0 || oldest == 0 {
		t.Fatalf("the store has version %d and asks for %d", version, oldest)
	}
	return version, oldest
}

func TestAStoreOfANewerVersionIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.create("s")
	w.finish(w.submit(id, "1", "say hello", ""))
	w.close()
	path := filepath.Join(w.args[1], "openworker.db")
	set := func(version, oldest int) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]int{"version": version, "oldest_build_that_may_run": oldest} {
			if _, err := db.Exec(`INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2`, key, fmt.Sprint(value)); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	version, oldest := versions(t, path)
	set(99, 99)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, w.args...); api.CodeOf(err) != api.CodeStoreTooNew {
		t.Errorf("a newer store: %v, want store_too_new", err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("a store that this build must not touch has changed")
	}
	set(version, oldest)
	w.finish(w.submit(id, "2", "say again", ""))
	w.check(id)
	w.close()
}
