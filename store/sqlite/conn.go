package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/openworkerai/openworker/store"
)

// background is the context of every statement: none has a caller's.
var background = context.Background()

// rawConn is what is used of the driver's connection.
type rawConn interface {
	PrepareContext(ctx context.Context, query string) (driver.Stmt, error)
	Close() error
}

// rawStmt is what is used of the driver's statements.
type rawStmt interface {
	driver.StmtExecContext
	driver.StmtQueryContext
}

// conn is one connection with its prepared statements. One goroutine at a time uses it.
type conn struct {
	raw        rawConn
	statements map[string]driver.Stmt
	args       []driver.NamedValue
}

func newConn(raw rawConn) *conn {
	return &conn{raw: raw, statements: map[string]driver.Stmt{}}
}

// row is one row of a result. It is valid until the function that got it returns.
type row []driver.Value

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) number(i int) uint64 { return uint64(r.int(i)) }

func (r row) flag(i int) bool { return r.int(i) != 0 }

func (r row) bytes(i int) []byte {
	b, _ := r[i].([]byte)
	return b
}

func (r row) time(i int) time.Time {
	if ms := r.int(i); ms != 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

func (r row) strings(i int) []string {
	return decodeJSON[[]string](r.text(i))
}

func (r row) fields(i int) map[string]string {
	return decodeJSON[map[string]string](r.text(i))
}

// exec runs a statement that gives no rows.
func (c *conn) exec(ctx context.Context, query string, args ...driver.Value) error {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(ctx, c.bound(args))
	return err
}

// query calls each with every row of a result.
func (c *conn) query(ctx context.Context, query string, each func(row) error, args ...driver.Value) (err error) {
	s, err := c.prepare(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, c.bound(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := make(row, len(rows.Columns()))
	for {
		switch err := rows.Next(r); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// script runs statements that are needed once.
func (c *conn) script(ctx context.Context, text string) (err error) {
	s, err := c.raw.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, err = s.(rawStmt).ExecContext(ctx, nil)
	return err
}

func (c *conn) prepare(query string) (rawStmt, error) {
	s := c.statements[query]
	if s == nil {
		var err error
		if s, err = c.raw.PrepareContext(background, query); err != nil {
			return nil, err
		}
		c.statements[query] = s
	}
	return s.(rawStmt), nil
}

func (c *conn) bound(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, arg := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return c.args
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// millis is a time as the database holds it.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encodeJSON encodes a list or map of strings; an empty one is "".
func encodeJSON[T []string | map[string]string](v T) string {
	if len(v) == 0 {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlite: strings do not encode: %v", err)) // cannot be
	}
	return string(text)
}

// decodeJSON decodes what encodeJSON wrote. What it cannot decode it takes for nothing: these are indexes.
func decodeJSON[T []string | map[string]string](text string) (v T) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &v)
	}
	return v
}

// recordColumns are the columns that row.record reads, of appendTables.
const recordColumns = `e.number, f.time, e.version, e.flags, e.kind, e.run, f.append, e.data`

const (
	flagItem     = 1
	flagTerminal = 2
)

func (r row) record(session string) store.Record {
	flags := r.int(3)
	return store.Record{
		Number: r.number(0), Time: r.time(1), Version: int(r.int(2)), Kind: r.text(4), Run: longRun(session, r.text(5)),
		Append: r.text(6), Data: r.bytes(7), Item: flags&flagItem != 0, Terminal: flags&flagTerminal != 0,
	}
}
