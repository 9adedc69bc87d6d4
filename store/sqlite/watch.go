package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/openworkerai/openworker/store"
)

// watchEvery is how often the file is looked at while somebody watches.
const watchEvery = 30 * time.Millisecond

// watch tells watchers of commits. It looks through a connection of its own, which nothing else uses: that
// connection's data_version moves with the commits of others. Those of this store's writer are such too, so
// they are signalled as well.
type watch struct {
	store *Store

	mu       sync.Mutex
	watchers map[chan struct{}]struct{}
	ended    chan struct{} // of the poller that runs, nil if none does
	stopped  bool
}

// Watch implements [store.Store]. Changes are seen within about 30 ms. Commits of this very store are
// signalled like those of others. Nothing is polled while nobody watches.
func (s *Store) Watch(ctx context.Context) (<-chan struct{}, error) {
	ch := make(chan struct{}, 1)
	w := &s.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return nil, store.ErrClosed
	}
	if w.watchers == nil {
		w.watchers = map[chan struct{}]struct{}{}
	}
	if w.ended == nil {
		c, err := s.writer.database.openReader()
		if err != nil {
			return nil, storeError(err)
		}
		version, err := dataVersion(c)
		if err != nil {
			return nil, storeError(err)
		}
		w.ended = make(chan struct{})
		go w.poll(c, version, w.ended)
	}
	w.watchers[ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watchers, ch)
	})
	return ch, nil
}

// poll looks until nobody watches any more.
func (w *watch) poll(c *conn, version int64, ended chan struct{}) {
	defer close(ended)
	ticks := time.NewTicker(watchEvery)
	defer ticks.Stop()
	for range ticks.C {
		now, err := version, error(nil)
		if c != nil {
			now, err = dataVersion(c)
		} else if c, err = w.store.writer.database.openReader(); err == nil {
			now = -1 // whatever came meanwhile was missed
		}
		if err != nil && c != nil {
			_ = c.close() // a new connection is opened at the next tick
			c = nil
		}
		w.mu.Lock()
		if w.stopped || len(w.watchers) == 0 {
			w.ended = nil
			w.mu.Unlock()
			if c != nil {
				_ = c.close() // it only read
			}
			return
		}
		if now != version {
			version = now
			for ch := range w.watchers {
				select {
				case ch <- struct{}{}:
				default:
				}
			}
		}
		w.mu.Unlock()
	}
}

// stop ends the poller and waits for it.
func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	ended := w.ended
	w.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

func dataVersion(c *conn) (version int64, err error) {
	err = c.query(background, `PRAGMA data_version`, func(r row) error {
		version = r.int(0)
		return nil
	})
	return version, err
}
