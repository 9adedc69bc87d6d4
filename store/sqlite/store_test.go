package sqlite

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/storetest"
)

// world is one state directory with the stores that are open on it.
type world struct {
	dir string

	mu     sync.Mutex
	stores []*Store
}

func newWorld(t *testing.T) storetest.World {
	return &world{dir: filepath.Join(t.TempDir(), "state")}
}

func (w *world) Connect(t *testing.T) store.Store {
	s := opened(t, Config{Dir: w.dir})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stores = append(w.stores, s)
	return s
}

// Kill drops the process's lock as the kernel does when the process dies.
func (w *world) Kill(t *testing.T, process string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.stores {
		if err := s.owners.release(process); err != nil {
			t.Fatal(err)
		}
	}
}

func opened(t testing.TB, config Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Backend{New: newWorld})
}
