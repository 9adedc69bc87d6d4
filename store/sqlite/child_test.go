package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/store"
)

// childRole tells a copy of this test binary what to do as a process of its own.
const childRole = "SQLITE_TEST_CHILD"

func TestMain(m *testing.M) {
	role, dir := os.Getenv(childRole), os.Getenv(childRole+"_DIR")
	if role == "" {
		os.Exit(m.Run())
	}
	if err := childRoles[role](dir); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

var childRoles = map[string]func(dir string) error{
	// opens the store and says its identity
	"open": func(dir string) error {
		s, err := Open(context.Background(), Config{Dir: dir, BusyTimeout: 30 * time.Second})
		if err != nil {
			return err
		}
		fmt.Println("identity", s.ID())
		return s.Close()
	},
	// registers, starts a child of its own, and appends for ever, saying what was acknowledged
	"append": func(dir string) error {
		ctx := context.Background()
		s, err := Open(ctx, Config{Dir: dir})
		if err != nil {
			return err
		}
		if err := s.Register(ctx, store.Process{ID: "victim", LeaseUntil: time.Now().Add(time.Hour)}); err != nil {
			return err
		}
		grandchild := exec.Command("sleep", "60")
		if err := grandchild.Start(); err != nil {
			return err
		}
		fmt.Println("grandchild", grandchild.Process.Pid)
		a := creation("s")
		a.Claim = &store.Claim{Process: "victim", Claim: "c"}
		for head := uint64(0); ; {
			got, err := s.Append(ctx, a)
			if err != nil {
				return err
			}
			head = got.Head
			fmt.Println("acknowledged", head)
			a = change("s", fmt.Sprint("x", head), head, 2)
		}
	},
	// takes the write lock and keeps it
	"hold": func(dir string) error {
		ctx := context.Background()
		s, err := Open(ctx, Config{Dir: dir})
		if err != nil {
			return err
		}
		return s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
			fmt.Println("holding")
			_, err = bufio.NewReader(os.Stdin).ReadString('\n')
			return nil, err
		})
	},
}

// child starts a copy of this test binary in a role.
func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childRole+"="+role, childRole+"_DIR="+dir)
	return c
}

func TestC52ProcessesThatStartAtOnceMakeOneStore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	const processes = 6
	said := make([]string, processes)
	var group sync.WaitGroup
	for i := range processes {
		c := child(t, "open", dir)
		group.Go(func() {
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
			said[i] = string(out)
		})
	}
	group.Wait()
	s := opened(t, Config{Dir: dir})
	for i := range said {
		if want := "identity " + s.ID() + "\n"; said[i] != want {
			t.Errorf("process %d said %q, want %q", i, said[i], want)
		}
	}
}

func TestC52ConnectionsThatOpenAtOnceMakeOneStore(t *testing.T) {
	t.Parallel()
	for round := range 5 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("state", round))
		stores := make([]*Store, 8)
		var group sync.WaitGroup
		for i := range stores {
			group.Go(func() {
				var err error
				if stores[i], err = Open(t.Context(), Config{Dir: dir, BusyTimeout: 30 * time.Second}); err != nil {
					t.Errorf("open %d: %v", i, err)
				}
			})
		}
		group.Wait()
		for i, s := range stores {
			if s == nil {
				continue
			}
			if s.ID() != stores[0].ID() {
				t.Errorf("store %d has identity %q, the first %q", i, s.ID(), stores[0].ID())
			}
			if err := s.Close(); err != nil {
				t.Errorf("close %d: %v", i, err)
			}
		}
	}
}

func TestAKilledProcessLosesNothingAndIsFencedAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	victim := child(t, "append", dir)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	var acknowledged, grandchild int
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Error(lines.Text())
		}
		_, _ = fmt.Sscanf(lines.Text(), "grandchild %d", &grandchild)
		_, _ = fmt.Sscanf(lines.Text(), "acknowledged %d", &acknowledged)
		if acknowledged == 101 {
			if err := victim.Process.Kill(); err != nil { // and read what it still said
				t.Fatal(err)
			}
		}
	}
	_ = victim.Wait() // it was killed
	heir, err := os.FindProcess(grandchild)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = heir.Kill() }()

	s := opened(t, Config{Dir: dir})
	if got := len(recordKinds(t, s, "s")); got < acknowledged {
		t.Errorf("%d records, %d were acknowledged", got, acknowledged)
	}
	if err := s.Register(t.Context(), store.Process{ID: "heir", LeaseUntil: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	// Its lease has an hour to go and a child of it is alive; its lock alone proves its death.
	fenced, err := s.Fence(t.Context(), "heir", time.Now(), time.Minute)
	if diff := cmp.Diff([]string{"victim"}, fenced); diff != "" || err != nil {
		t.Fatalf("fenced (-want +got), %v:\n%s", err, diff)
	}
	row, err := s.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	a := change("s", "taken over", row.Head, 1)
	a.Claim = &store.Claim{Process: "heir", Claim: "c2", Epoch: row.Epoch, From: "victim"}
	appended(t, s, a)
}

func TestAProcessThatStandsInsideACommitMakesOthersBusy(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir, BusyTimeout: 100 * time.Millisecond})
	appended(t, s, creation("s"))
	holder := child(t, "hold", dir)
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "holding\n" {
		t.Fatalf("the holder said %q, %v", line, err)
	}
	for range 2 {
		_, err := s.Append(t.Context(), change("s", "x", 1, 1))
		if !errors.Is(err, errBusy) || errors.Is(err, store.ErrFateUnknown) {
			t.Fatalf("append while another is inside a commit: %v, want store_busy", err)
		}
		if diff := cmp.Diff([]string{"created"}, recordKinds(t, s, "s")); diff != "" {
			t.Fatalf("records read meanwhile (-want +got):\n%s", diff)
		}
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	appended(t, s, change("s", "x", 1, 1))
}

// readElsewhere reads a file in a process of its own: closing a descriptor of the database in this one would
// drop SQLite's locks.
func readElsewhere(path string) ([]byte, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	data, err := exec.Command("cat", path).Output()
	if data == nil {
		data = []byte{}
	}
	return data, err
}
