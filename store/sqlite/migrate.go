package sqlite

import (
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/openworkerai/openworker/api"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schema is what this build knows: the number of its newest migration.
const schema = 2

// meta is what a store says about itself. The zero value is a store that is not made yet.
type meta struct {
	id          string
	version     int
	oldest      int // the oldest schema whose builds may run
	writeFormat int
}

// refuse says whether this build must keep off. A newer store may let older builds run.
func (m meta) refuse() error {
	if m.version > schema && m.oldest > schema {
		return api.Errorf(api.CodeStoreTooNew, "sqlite: the store has schema %d and needs a build that knows schema %d; this one knows %d: use a newer version", m.version, m.oldest, schema)
	}
	return nil
}

// migrate makes the store, or brings an older one up to date, in one transaction: of several that start at
// once one does the work, and the others find it done.
func migrate(c *conn) (m meta, err error) {
	if err := c.exec(background, `BEGIN IMMEDIATE`); err != nil {
		return meta{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.exec(background, `ROLLBACK`))
		}
	}()
	if m, err = readMeta(c); err != nil {
		return meta{}, err
	}
	if err := m.refuse(); err != nil {
		return meta{}, err
	}
	for version := m.version + 1; version <= schema; version++ {
		text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", version))
		if err != nil {
			return meta{}, err
		}
		if err := c.script(background, string(text)); err != nil {
			return meta{}, fmt.Errorf("migration %d: %w", version, err)
		}
		set := `INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2`
		if version == 1 {
			if err := c.exec(background, set, "store", rand.Text()); err != nil {
				return meta{}, err
			}
		}
		if err := c.exec(background, set, "version", strconv.Itoa(version)); err != nil {
			return meta{}, err
		}
	}
	if m, err = readMeta(c); err != nil {
		return meta{}, err
	}
	return m, c.exec(background, `COMMIT`)
}

func readMeta(c *conn) (m meta, err error) {
	tables, own := 0, false
	err = c.query(background, `SELECT name FROM sqlite_schema WHERE type = 'table'`, func(r row) error {
		tables++
		own = own || r.text(0) == "meta"
		return nil
	})
	if err != nil || tables == 0 {
		return meta{}, err
	}
	if !own {
		return meta{}, api.Errorf(api.CodeStoreUnsupported, "sqlite: %s is a database of something else; choose another state directory", File)
	}
	err = c.query(background, `SELECT key, value FROM meta`, func(r row) error {
		var err error
		switch value := r.text(1); r.text(0) {
		case "store":
			m.id = value
		case "version":
			m.version, err = strconv.Atoi(value)
		case "oldest_build_that_may_run":
			m.oldest, err = strconv.Atoi(value)
		case "write_format":
			m.writeFormat, err = strconv.Atoi(value)
		}
		if err != nil {
			return api.Errorf(api.CodeStoreCorrupt, "sqlite: meta %s is %q and no number; restore a back-up", r.text(0), r.text(1))
		}
		return nil
	})
	return m, err
}
