package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

const (
	// pageSize is small since an append changes a few hundred bytes on each page that it touches, and the log
	// takes whole pages.
	pageSize = 1024
	// checkpointPages is how long the log gets, in pages. The longer, the more changes of a page are written
	// back as one; the shorter, the less is read again after a kill.
	checkpointPages = 4096
)

// database opens connections to one file.
type database struct {
	path string
	busy time.Duration
	wrap func(rawConn) rawConn
	// still is set where nobody writes: the file is read as it is, without a lock and without files beside it.
	still bool
}

// openWriter opens a connection that may write and asserts that it keeps what it writes.
func (d *database) openWriter(ctx context.Context) (*conn, error) {
	c, err := d.open("rwc")
	if err != nil {
		return nil, err
	}
	err = errors.Join(c.script(background, fmt.Sprintf(`PRAGMA page_size = %d`, pageSize)), d.becomeWAL(ctx, c))
	if err == nil {
		err = c.script(background, fmt.Sprintf(`
			PRAGMA synchronous = FULL;
			PRAGMA fullfsync = ON; -- where fsync leaves data in the disk's cache: macOS
			PRAGMA secure_delete = ON;
			PRAGMA temp_store = MEMORY;
			PRAGMA wal_autocheckpoint = %d;
			PRAGMA journal_size_limit = %d`, checkpointPages, 2*checkpointPages*pageSize))
	}
	for _, must := range []struct {
		pragma string
		is     any
	}{{`journal_mode`, "wal"}, {`synchronous`, int64(2)}, {`secure_delete`, int64(1)}} {
		if err == nil {
			err = c.query(background, `PRAGMA `+must.pragma, func(r row) error {
				if r[0] != must.is {
					return api.Errorf(api.CodeStoreUnsupported, "sqlite: %s is %v and not %v, so a commit would not be safe here", must.pragma, r[0], must.is)
				}
				return nil
			})
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// becomeWAL switches a new database to its log. Another process that does the same moment holds a lock that
// no busy handler waits for.
func (d *database) becomeWAL(ctx context.Context, c *conn) error {
	deadline := time.Now().Add(d.busy)
	for {
		mode := ""
		if err := c.query(background, `PRAGMA journal_mode`, func(r row) error {
			mode = r.text(0)
			return nil
		}); err == nil && mode == "wal" {
			return private(d.path)
		}
		// An empty transaction makes the file, private before anything is in it.
		err := c.script(background, `BEGIN IMMEDIATE; COMMIT`)
		if err == nil {
			err = private(d.path)
		}
		if err == nil {
			err = c.script(background, `PRAGMA journal_mode = WAL`)
		}
		if err == nil || resultCode(err)&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// openReader opens a connection that only reads.
func (d *database) openReader() (*conn, error) {
	c, err := d.open("rw")
	if err != nil {
		return nil, err
	}
	if err := c.script(background, `PRAGMA query_only = ON`); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// open opens a connection in one of SQLite's modes.
func (d *database) open(mode string) (*conn, error) {
	path := filepath.ToSlash(d.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive
	}
	query := url.Values{
		"mode":       {mode},
		"_error_rc":  {"1"},
		"_defensive": {"1"},
	}
	if d.still {
		query.Set("immutable", "1")
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	raw, err := (&driver.Driver{}).Open(name.String())
	if err != nil {
		return nil, err
	}
	own := raw.(rawConn)
	if mode == "rwc" && d.wrap != nil {
		own = d.wrap(own)
	}
	c := newConn(own)
	if err := d.setBusyTimeout(c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (d *database) setBusyTimeout(c *conn) error {
	return c.script(background, fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.busy.Milliseconds()))
}

// refuseNewer looks at a store that is there through a connection that cannot write, so that one which this
// build must not touch is left as it is, its log included.
func (d *database) refuseNewer() error {
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c, err := d.open("ro")
	if err != nil {
		return nil // the connection that writes will say it better
	}
	defer func() { _ = c.close() }() // it only read
	meta, err := readMeta(c)
	if err != nil {
		return nil
	}
	return meta.refuse()
}

// pool is a bounded set of connections that read.
type pool struct {
	database *database
	slots    chan *conn // nil: not open yet
	quit     chan struct{}
}

func newPool(database *database, size int) *pool {
	p := &pool{database: database, slots: make(chan *conn, size), quit: make(chan struct{})}
	for range size {
		p.slots <- nil
	}
	return p
}

// use lends a connection to a function. One that failed is thrown away.
func (p *pool) use(ctx context.Context, do func(*conn) error) error {
	var c *conn
	select {
	case <-p.quit:
		return store.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return notRead(err)
	}
	select {
	case c = <-p.slots:
	case <-p.quit:
		return store.ErrClosed
	case <-ctx.Done():
		return notRead(ctx.Err())
	}
	var err error
	if c == nil {
		c, err = p.database.openReader()
	}
	if err == nil {
		err = do(c)
	}
	if err != nil && c != nil && !ours(err) {
		_ = c.close() // the error that counts is the one it gave
		c = nil
	}
	p.slots <- c
	return err
}

func notRead(cause error) error {
	return api.Errorf(api.CodeStoreUnavailable, "sqlite: the call's context ended before a connection was free: %w", cause)
}

// close waits for the reads under way.
func (p *pool) close() error {
	close(p.quit)
	var errs []error
	for range cap(p.slots) {
		if c := <-p.slots; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}

// ours reports an answer of ours, which says nothing against the connection.
func ours(err error) bool {
	var known *api.Error
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDeleted) || errors.Is(err, store.ErrFileNotFound) || errors.As(err, &known)
}

// read runs single statements on a connection of the pool.
func (s *Store) read(ctx context.Context, do func(*conn) error) error {
	err := s.readers.use(ctx, do)
	if err == nil || errors.Is(err, store.ErrClosed) || ours(err) {
		return err
	}
	return storeError(err)
}

// moment runs several statements that all see the same moment. Nothing may be waited for in do.
func (s *Store) moment(ctx context.Context, do func(*conn) error) error {
	return s.read(ctx, func(c *conn) error {
		if err := c.exec(background, `BEGIN`); err != nil {
			return err
		}
		err := do(c)
		return errors.Join(err, c.exec(background, `COMMIT`))
	})
}
