package sqlite

import (
	"context"
	"runtime"
	"sync/atomic"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// batch is how many operations share a commit at most, and batchBytes how many bytes of files they bring, if they are
// more than one: so that an append does not wait for MiBs of others.
const (
	batch      = 64
	batchBytes = 512 << 10
)

// operation checks and writes one thing. A refusal is the answer of one of our own checks: nothing of the
// operation is kept, and the others of the commit go on. Any other error ends the commit.
type operation func(ctx context.Context, c *conn) (refusal, err error)

// request is an operation on its way through the writer.
type request struct {
	do    operation
	size  int             // bytes of files
	ctx   context.Context // the caller's: looked at before the request is taken up, never after
	taken atomic.Bool     // by the writer, which then answers, or by the caller, who then has given up
	done  chan error
}

// writer is the one goroutine that writes.
type writer struct {
	database  *database
	failpoint func(string)
	queue     chan *request // without bytes of files: they go first
	large     chan *request // with them
	reminded  chan struct{} // others have left something to erase
	quit      chan struct{}
	ended     chan struct{}

	// Of the writer's goroutine:
	conn    *conn // nil after an error, until the next commit opens another
	place   place
	taken   []*request
	removed bool  // there are rows in the table removed, or may be
	erased  int64 // key of the last one of which the log alone has bytes; 0: chunks first
	passed  int   // commits since then that others waited behind
}

// startWriter starts with the writing connection c. What was removed before, by whomever, is erased at once.
func startWriter(database *database, c *conn, failpoint func(string), removed bool) *writer {
	w := &writer{
		removed: removed, database: database, conn: c, failpoint: failpoint, place: place{path: database.path},
		queue: make(chan *request, 4*batch), large: make(chan *request, 4*batch), reminded: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.loop()
	return w
}

// submit queues an operation that brings size bytes of files, and waits for its answer.
func (w *writer) submit(ctx context.Context, size int, do operation) error {
	if err := ctx.Err(); err != nil {
		return notWritten(err)
	}
	r := &request{do: do, size: size, ctx: ctx, done: make(chan error, 1)}
	queue := w.queue
	if size > 0 {
		queue = w.large
	}
	select {
	case <-w.quit:
		return store.ErrClosed
	default:
	}
	select {
	case queue <- r:
	case <-w.quit:
		return store.ErrClosed
	case <-ctx.Done():
		return notWritten(ctx.Err())
	}
	select {
	case err := <-r.done:
		return err
	case <-w.ended:
		select {
		case err := <-r.done:
			return err
		default:
			return store.ErrClosed
		}
	case <-ctx.Done():
		if r.taken.CompareAndSwap(false, true) {
			return notWritten(ctx.Err())
		}
		return unknownFate(ctx.Err())
	}
}

func notWritten(cause error) error {
	return api.Errorf(api.CodeStoreUnavailable, "sqlite: the call's context ended before its turn came, so nothing was written: %w", cause)
}

// remind makes the writer look for what others have removed and not erased. It waits for nothing.
func (w *writer) remind() {
	select {
	case w.reminded <- struct{}{}:
	default:
	}
}

// stop ends the writer after the commit under way, and what removals left to do.
func (w *writer) stop() error {
	close(w.quit)
	<-w.ended
	if w.conn == nil {
		return nil
	}
	return storeError(w.conn.close())
}

func (w *writer) loop() {
	defer close(w.ended)
	retry := w.tidy()
	for {
		select {
		case <-w.quit:
			w.finish()
			return
		default:
		}
		select {
		case <-w.quit:
			w.finish()
			return
		case r := <-w.queue:
			w.collect(r)
			w.serve()
		case r := <-w.large:
			w.collect(r)
			w.serve()
		case <-w.reminded:
			w.removed = true
		case <-retry:
		}
		// Those who were just answered often have their next append at hand: let them share the commit of
		// those who wait already, instead of taking turns with them.
		runtime.Gosched()
		retry = w.tidy()
	}
}

// collect takes up the request and what is queued, without waiting for more.
func (w *writer) collect(first *request) {
	w.taken = w.taken[:0]
	size := 0
	for r := first; ; {
		// A caller who has given up is not served: its answer was that nothing was written.
		if r.ctx.Err() == nil && r.taken.CompareAndSwap(false, true) {
			w.taken = append(w.taken, r)
			size += r.size
		} else if r.taken.CompareAndSwap(false, true) {
			r.done <- notWritten(r.ctx.Err())
		}
		if len(w.taken) == batch {
			return
		}
		select {
		case r = <-w.queue:
			continue
		default:
		}
		if size >= batchBytes {
			return
		}
		select {
		case r = <-w.large:
		default:
			return
		}
	}
}

// serve commits what was taken, and tells nobody anything before.
func (w *writer) serve() {
	if len(w.taken) == 0 {
		return
	}
	answers, err := w.commit(w.taken)
	if err != nil && w.conn != nil {
		// Whatever state the connection is in, closing it rolls back; its own errors add nothing.
		_ = w.conn.exec(background, `ROLLBACK`)
		_ = w.conn.close()
		w.conn = nil
	}
	for i, r := range w.taken {
		if err != nil {
			r.done <- err
			continue
		}
		r.done <- answers[i]
	}
	clear(w.taken)
}

// commit runs the requests in one transaction. With an error none of them was written, unless it says that
// their fate is unknown.
func (w *writer) commit(requests []*request) (answers []error, err error) {
	ctx := background
	if w.conn == nil {
		if err := w.place.reopens(); err != nil {
			return nil, err
		}
		if w.conn, err = w.database.openWriter(ctx); err != nil {
			return nil, storeError(err)
		}
	}
	c := w.conn
	w.failpoint("commit.next")
	if err := c.exec(ctx, `BEGIN IMMEDIATE`); err != nil {
		return nil, storeError(err)
	}
	w.failpoint("commit.begun")
	if err := w.place.look(); err != nil {
		return nil, err
	}
	answers = make([]error, len(requests))
	for i, r := range requests {
		if answers[i], err = w.one(ctx, c, r.do); err != nil {
			// COMMIT was not sent and will not be: the transaction ends with its connection.
			return nil, storeError(err)
		}
	}
	w.failpoint("commit.before")
	if err := c.exec(ctx, `COMMIT`); err != nil {
		if resultCode(err)&0xff == sqlite3.SQLITE_FULL {
			// The frame that ends the transaction is the last one written, and there was no room for all.
			return nil, storeError(err)
		}
		return nil, unknownFate(err)
	}
	w.failpoint("commit.after")
	return answers, nil
}

// one runs an operation within a savepoint, so that its own failure takes nothing else with it.
func (w *writer) one(ctx context.Context, c *conn, do operation) (answer, err error) {
	if err := c.exec(ctx, `SAVEPOINT one`); err != nil {
		return nil, err
	}
	answer, err = do(ctx, c)
	if err != nil && ofOneOperation(err) {
		answer = api.Errorf(api.CodeInternal, "sqlite: the database refuses what was to be written: %w", err)
	} else if err != nil {
		return nil, err
	}
	if answer != nil {
		if err := c.exec(ctx, `ROLLBACK TO one`); err != nil {
			return nil, err
		}
	}
	return answer, c.exec(ctx, `RELEASE one`)
}
