package suitehost

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/store/sqlite"
	"github.com/openworkerai/openworker/transport/servicetest"
)

// Running is a process that was started.
type Running interface {
	api.Service
	Close(ctx context.Context) error
}

// Killer is a running process of which more is to be ended by a crash than its store.
type Killer interface{ Kill() }

// Start starts a process in a world. cfg has a store, the world's model and the suite's settings; the world's tools,
// guardrails, hooks, check and credential are not in it.
type Start func(t *testing.T, cfg service.Config, w servicetest.World) Running

// InMemory makes an empty store in memory, for tests under a false clock too.
func InMemory(start Start) servicetest.Store {
	st := memstore.New(memstore.Config{ID: "store-1"})
	return &Processes{Start: start, Connect: func(*testing.T) *Mortal { return &Mortal{Store: st, Kill: st.Kill} }}
}

// OnDisk makes an empty store in a new directory, which each process opens by itself.
func OnDisk(t *testing.T, start Start) servicetest.Store {
	dir := t.TempDir()
	return &Processes{Start: start, Dir: dir, Connect: func(t *testing.T) *Mortal {
		st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return &Mortal{Store: st, Kill: func(string) { _ = st.Close() }}
	}}
}

// Processes opens processes on one store.
type Processes struct {
	Start Start
	// Connect gives a process its connection to the store.
	Connect func(t *testing.T) *Mortal
	// Dir holds all that is stored, "" where there is no such directory.
	Dir string
}

// Files implements servicetest.Store.
func (p *Processes) Files() string { return p.Dir }

// Open implements servicetest.Store.
func (p *Processes) Open(t *testing.T, w servicetest.World) servicetest.Process {
	t.Helper()
	m := p.Connect(t)
	running := p.Start(t, service.Config{
		Store: m, ScratchDir: t.TempDir(), Lease: servicetest.Lease, Poll: servicetest.Poll, CancelGrace: servicetest.Grace, ToolParallel: servicetest.Parallel,
		Clock:     Clock(),
		Providers: []model.Provider{Provider(w)},
		CheckRequest: func(r model.Request) {
			if err := model.Check(r); err != nil {
				t.Errorf("a request breaks the rules: %v", err)
			}
		},
	}, w)
	started := &Process{Running: running, t: t, mortal: m}
	t.Cleanup(started.Stop)
	return started
}

// Clock is a clock of the test's own: under synctest the machine's boot clock would stand still.
func Clock() runtime.Clock { return clock{time.Now()} }

type clock struct{ started time.Time }

func (c clock) Now() time.Time      { return time.Now() }
func (c clock) Boot() time.Duration { return time.Since(c.started) }

// Process is a started process, as the suite wants it.
type Process struct {
	Running
	t      *testing.T
	mortal *Mortal
	once   sync.Once
}

// Stop implements servicetest.Process.
func (p *Process) Stop() {
	p.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		begun := time.Now()
		if err := p.Close(ctx); err != nil && !p.mortal.Cut.Load() {
			p.t.Error(err)
		}
		if took := time.Since(begun); took > 4*time.Second && !p.mortal.Cut.Load() {
			p.t.Errorf("the service took %v to close", took)
		}
	})
}

// Crash implements servicetest.Process.
func (p *Process) Crash() {
	p.mortal.Crash()
	if k, ok := p.Running.(Killer); ok {
		k.Kill()
	}
}

// Mortal is a process's connection to its store: after the crash nothing is written through it any more.
type Mortal struct {
	store.Store
	// Kill tells the store that the process with an id is dead.
	Kill func(id string)

	// Cut: nothing is written through it now.
	Cut atomic.Bool

	mu  sync.Mutex
	ids []string
}

// Crash ends the connection as SIGKILL ends a process.
func (m *Mortal) Crash() {
	m.Cut.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.ids {
		m.Kill(id)
	}
}

func (m *Mortal) gone() error {
	if m.Cut.Load() {
		return api.Errorf(api.CodeStoreUnavailable, "the process has crashed")
	}
	return nil
}

func (m *Mortal) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	if err := m.gone(); err != nil {
		return store.Appended{}, err
	}
	return m.Store.Append(ctx, a)
}

func (m *Mortal) Register(ctx context.Context, p store.Process) error {
	if err := m.gone(); err != nil {
		return err
	}
	m.mu.Lock()
	m.ids = append(m.ids, p.ID)
	m.mu.Unlock()
	return m.Store.Register(ctx, p)
}

func (m *Mortal) Renew(ctx context.Context, id string, until time.Time) error {
	if err := m.gone(); err != nil {
		return err
	}
	return m.Store.Renew(ctx, id, until)
}

func (m *Mortal) Unregister(ctx context.Context, id string) error {
	if err := m.gone(); err != nil {
		return err
	}
	return m.Store.Unregister(ctx, id)
}

func (m *Mortal) Fence(ctx context.Context, self string, now time.Time, margin time.Duration) ([]string, error) {
	if err := m.gone(); err != nil {
		return nil, err
	}
	return m.Store.Fence(ctx, self, now, margin)
}
