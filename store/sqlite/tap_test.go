package sqlite

import (
	"context"
	"database/sql/driver"
)

// tap stands between the writer and the driver. Its functions see each statement right before and right
// after it runs; an error of theirs is what the writer gets.
type tap struct {
	before, after func(query string) error
}

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
	if result, err = run(); err == nil && s.tap.after != nil {
		err = s.tap.after(s.query)
	}
	return result, err
}
