package memstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// Config configures a [Store]. The zero value is a store without faults.
type Config struct {
	// ID is the store's identity. Defaults to "memory".
	ID string
	// WriteFormat is the journal format that builds may write. Defaults to 1.
	WriteFormat int
	// Fault decides what becomes of an append, before the append is looked at. It may call the store.
	// Defaults to [Commit] for all.
	Fault func(store.Append) Fate
}

// Store is a store in memory. All methods may be called concurrently.
type Store struct {
	config Config

	mu        sync.Mutex
	sessions  map[string]*session
	ordered   []*session // by key
	creations map[creationKey]*session
	processes map[string]*process
	agents    []store.Agent // in order of their making
	usage     map[usageKey]store.UsageDelta
	inbox     []interaction // in order of their opening
	opened    int64
	late      []store.Append
	watchers  []watcher
}

type session struct {
	key         int
	row         store.Session // HolderGone and LeaseUntil are filled in by Store.view
	records     []store.Record
	snapshot    *store.Snapshot
	receipts    map[string]store.Receipt
	files       []*file
	creation    creationKey
	fingerprint string
	cleaned     bool
}

type creationKey struct{ owner, agent, key string }

type process struct {
	store.Process
	fenced, killed bool
}

type usageKey struct{ owner, agent, day string }

type interaction struct {
	seq     int64
	session *session
	store.Interaction
}

type watcher struct {
	ctx context.Context
	ch  chan struct{}
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(config Config) *Store {
	if config.ID == "" {
		config.ID = "memory"
	}
	if config.WriteFormat == 0 {
		config.WriteFormat = 1
	}
	return &Store{
		config:    config,
		sessions:  map[string]*session{},
		creations: map[creationKey]*session{},
		processes: map[string]*process{},
		usage:     map[usageKey]store.UsageDelta{},
	}
}

// ID implements [store.Store].
func (s *Store) ID() string { return s.config.ID }

// WriteFormat implements [store.Store].
func (s *Store) WriteFormat() int { return s.config.WriteFormat }

// Close does nothing: the other processes of the test go on with the same value.
func (s *Store) Close() error { return nil }

// Watch implements [store.Store]. It signals every change, the watcher's own too, since all share one value.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	defer s.lock()()
	w := watcher{ctx: ctx, ch: make(chan struct{}, 1)}
	s.watchers = append(s.watchers, w)
	return w.ch, ended(ctx)
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context, sessions []string) (map[string]uint64, error) {
	defer s.lock()()
	heads := make(map[string]uint64, len(sessions))
	for _, id := range sessions {
		if found := s.sessions[id]; found != nil && !found.row.Deleted {
			heads[id] = found.row.Head
		}
	}
	return heads, ended(ctx)
}

// lock takes the lock; the function that it returns gives it back.
func (s *Store) lock() func() {
	s.mu.Lock()
	return s.mu.Unlock
}

// changed wakes the watchers and forgets those whose context has ended.
func (s *Store) changed() {
	s.watchers = slices.DeleteFunc(s.watchers, func(w watcher) bool {
		select {
		case w.ch <- struct{}{}:
		default:
		}
		return w.ctx.Err() != nil
	})
}

// view is the session's row with what its holder's row says.
func (s *Store) view(found *session) store.Session {
	row := found.row
	if row.Holder != "" {
		holder := s.processes[row.Holder]
		row.HolderGone = holder == nil || holder.fenced
		if holder != nil {
			row.LeaseUntil = holder.LeaseUntil
		}
	}
	return row
}

// live finds a session that is there and not deleted.
func (s *Store) live(id string) (*session, error) {
	found := s.sessions[id]
	switch {
	case found == nil:
		return nil, store.ErrNotFound
	case found.row.Deleted:
		return nil, store.ErrDeleted
	}
	return found, nil
}

// ended reports a context that is over as the store error that it is to the caller.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return api.Errorf(api.CodeStoreUnavailable, "memstore: the call's context ended before it was served: %w", err)
	}
	return nil
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
