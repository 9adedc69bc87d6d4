package sqlite

import (
	"context"
	"database/sql/driver"
	"runtime"
	"sync"
	"testing"
)

// tap stands between the writer and the driver. Its functions see each statement right before and right
// after it runs; an error of theirs is what the writer gets.
type tap struct {
	before, after func(query string) error

	held *hold // at the end of the next commit
}

// hold is a stop of the writer.
type hold struct{ reached, leave chan struct{} }

func (t *tap) wrap(c rawConn) rawConn { return tappedConn{c, t} }

type tappedConn struct {
	rawConn
	tap *tap
}

func (c tappedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.rawConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return tappedStmt{s, query, c.tap}, nil
}

type tappedStmt struct {
	driver.Stmt
	query string
	tap   *tap
}

func (s tappedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return tapped(s, func() (driver.Result, error) { return s.Stmt.(rawStmt).ExecContext(ctx, args) })
}

func (s tappedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return tapped(s, func() (driver.Rows, error) { return s.Stmt.(rawStmt).QueryContext(ctx, args) })
}

func tapped[T any](s tappedStmt, run func() (T, error)) (result T, err error) {
	if s.tap.before != nil {
		if err := s.tap.before(s.query); err != nil {
			return result, err
		}
	}
	result, err = run()
	if held := s.tap.held; held != nil && s.query == `COMMIT` {
		s.tap.held = nil
		close(held.reached)
		<-held.leave
		return result, err
	}
	if err == nil && s.tap.after != nil {
		err = s.tap.after(s.query)
	}
	return result, err
}

// together makes the writer serve calls in one commit, in their order: it stops the writer at the end of a
// commit that does nothing until all are queued, and arms faults before it goes on.
func together(t *testing.T, s *Store, tap *tap, arm func(), calls ...func()) {
	t.Helper()
	held := &hold{make(chan struct{}), make(chan struct{})}
	tap.held = held
	var group sync.WaitGroup
	group.Go(func() {
		err := s.write(t.Context(), func(context.Context, *conn) (refusal, err error) { return nil, nil })
		if err != nil {
			t.Errorf("the commit that does nothing: %v", err)
		}
	})
	<-held.reached
	for i, call := range calls {
		group.Go(call)
		for len(s.writer.queue)+len(s.writer.large) <= i {
			runtime.Gosched() // the queue's length is the only sign of the call's being in it
		}
	}
	arm()
	close(held.leave)
	group.Wait()
}
