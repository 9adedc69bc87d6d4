package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

func TestABackupTakenWhileOthersWriteIsAWholeStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, Config{Dir: filepath.Join(dir, "state")})
	create := func(id string) store.Append {
		return store.Append{ID: id + "-made", Session: id, Time: time.UnixMilli(1), Create: &store.Creation{Agent: "a", Digest: "d"},
			Records: []store.Record{{Kind: "session_created", Version: 1, Data: []byte(`{}`)}}}
	}
	if _, err := s.Append(t.Context(), create("kept")); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), sync.WaitGroup{}
	done.Go(func() {
		for n := uint64(1); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			a := store.Append{ID: fmt.Sprint("n", n), Session: "kept", Known: n, Time: time.UnixMilli(int64(n)), Records: []store.Record{{Kind: "k", Version: 1, Data: []byte("data")}}}
			if _, err := s.Append(t.Context(), a); err != nil {
				t.Error(err)
				return
			}
		}
	})
	restored := filepath.Join(dir, "restored")
	if err := os.Mkdir(restored, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(restored, File)
	err := s.Backup(t.Context(), file)
	close(stop)
	done.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the copy has mode %v, %v", info.Mode(), err)
	}
	if err := s.Backup(t.Context(), file); !errors.Is(err, api.ErrInvalidRequest) {
		t.Fatalf("a back-up over another one gave %v", err)
	}
	copied := opened(t, Config{Dir: restored})
	if copied.ID() != s.ID() {
		t.Errorf("the copy is store %s, the original %s", copied.ID(), s.ID())
	}
	before, err := s.Load(t.Context(), "kept", "")
	if err != nil {
		t.Fatal(err)
	}
	after, err := copied.Load(t.Context(), "kept", "")
	if err != nil {
		t.Fatal(err)
	}
	if n := after.Session.Head; n != uint64(len(after.Records)) || n == 0 {
		t.Fatalf("the copy's head is %d, with %d records", n, len(after.Records))
	}
	if diff := cmp.Diff(before.Records[:len(after.Records)], after.Records); diff != "" {
		t.Errorf("the copy is no prefix of the original (-original +copy):\n%s", diff)
	}
	if _, err := copied.Append(t.Context(), create("new")); err != nil {
		t.Errorf("the copy takes no session: %v", err)
	}
}
