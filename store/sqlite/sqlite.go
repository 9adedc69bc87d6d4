package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	driver "modernc.org/sqlite"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// Config configures [Open].
type Config struct {
	// Dir is the state directory; it is made if it is not there. Required.
	Dir string
	// BusyTimeout is how long a write waits for another process that is inside a write, before it fails with
	// store_busy. Defaults to 5 s.
	BusyTimeout time.Duration
	// Readers is how many reads can run at once. Defaults to 4.
	Readers int

	// Failpoint, unless nil, is called by the writer at "commit.next" (the write lock is taken next),
	// "commit.begun" (it is held), "commit.before" (COMMIT is next) and "commit.after", for tests that end or
	// stop the process there.
	Failpoint func(point string)

	wrap func(rawConn) rawConn // puts faults below the writer; nil but in tests
}

// File is the name of the database in the state directory.
const File = "openworker.db"

// Store is a store in a SQLite file. All methods may be called concurrently.
type Store struct {
	config      Config
	id          string
	writeFormat int
	writer      *writer
	readers     *pool
	owners      *owners
	watch       watch
	close       sync.Once
	closeErr    error
}

var _ store.Store = (*Store)(nil)

// Open opens the store in config.Dir and makes or migrates it as needed; any number of processes may do so
// at once. Errors: store_too_new (the store is left untouched), store_unsupported (a network file system, or
// a file that is no store), store_read_only, store_corrupt, store_full, store_busy, store_unavailable, and
// invalid_request for a Dir that is missing or not a directory of our own.
func Open(ctx context.Context, config Config) (*Store, error) {
	if config.BusyTimeout <= 0 {
		config.BusyTimeout = 5 * time.Second
	}
	if config.Readers <= 0 {
		config.Readers = 4
	}
	if config.Failpoint == nil {
		config.Failpoint = func(string) {}
	}
	if err := prepareDir(config.Dir); err != nil {
		return nil, err
	}
	// The file is named by a URL, and the process may change its directory later.
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidRequest, "sqlite: the state directory %q has no absolute path: %w", config.Dir, err)
	}
	config.Dir = dir
	// fdatasync leaves out nothing that is needed to read the data back. Where there is none, fsync stays.
	if _, err := driver.Fdatasync(true); err != nil && !errors.Is(err, driver.ErrFdatasyncUnavailable) {
		return nil, api.Errorf(api.CodeInternal, "sqlite: switch to fdatasync: %w", err)
	}
	database := &database{
		path: filepath.Join(config.Dir, File), busy: config.BusyTimeout, wrap: config.wrap,
	}
	if err := database.refuseNewer(); err != nil {
		return nil, err
	}
	c, err := database.openWriter(ctx)
	if err != nil {
		return nil, openError(config.Dir, err)
	}
	meta, err := migrate(c)
	removed := false
	if err == nil {
		removed, err = hasRemoved(background, c)
	}
	if err != nil {
		return nil, openError(config.Dir, errors.Join(err, c.close()))
	}
	s := &Store{
		config: config, id: meta.id, writeFormat: meta.writeFormat,
		readers: newPool(database, config.Readers),
		owners:  newOwners(filepath.Join(config.Dir, "owners")),
	}
	s.writer = startWriter(database, c, config.Failpoint, removed)
	s.watch.store = s
	return s, nil
}

// ID implements [store.Store].
func (s *Store) ID() string { return s.id }

// WriteFormat implements [store.Store].
func (s *Store) WriteFormat() int { return s.writeFormat }

// Close lets the commit under way end, fails what is queued with [store.ErrClosed], and gives up the locks of
// processes that are still registered: they count as dead from then on. What removals have left to erase is erased
// within two seconds, or left to the other processes and to who opens the store next.
func (s *Store) Close() error {
	s.close.Do(func() {
		s.watch.stop()
		// A reader of ours would stand in the way of emptying the log.
		s.closeErr = errors.Join(s.readers.close(), s.writer.stop(), s.owners.close())
	})
	return s.closeErr
}

// write hands a small operation to the writer and waits for what came of it.
func (s *Store) write(ctx context.Context, do operation) error {
	return s.writer.submit(ctx, 0, do)
}

// Heads implements [store.Store].
func (s *Store) Heads(ctx context.Context, sessions []string) (map[string]uint64, error) {
	heads := make(map[string]uint64, len(sessions))
	if len(sessions) == 0 {
		return heads, nil
	}
	err := s.read(ctx, func(c *conn) error {
		return c.query(background, `SELECT s.id, h.head FROM json_each(?1) j CROSS JOIN sessions s ON s.id = j.value
			JOIN heads h ON h.key = s.key WHERE s.state = 0`, func(r row) error {
			heads[r.text(0)] = r.number(1)
			return nil
		}, encodeJSON(sessions))
	})
	return heads, err
}
