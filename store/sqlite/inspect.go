package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Inspection is what [Inspect] found.
type Inspection struct {
	// Exists is false where there is no store yet.
	Exists bool
	// Store is the store's identity.
	Store string
	// Schema is the store's, Known the newest that this build knows. Open migrates an older store.
	Schema, Known int
}

// InspectDir looks at a state directory as [Open] would, and changes nothing. exists says whether it is there; open
// that others than its owner may look into it, which Open ends. Errors are those of Open for a directory that it
// would not take, or could not make.
func InspectDir(dir string) (exists, open bool, err error) {
	if dir == "" {
		return false, false, api.Errorf(api.CodeInvalidRequest, "sqlite: no state directory is given")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(filepath.Clean(dir))
		for errors.Is(err, fs.ErrNotExist) && parent != filepath.Dir(parent) {
			if info, err = os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
				parent = filepath.Dir(parent)
			}
		}
		if err == nil && !info.IsDir() {
			return false, false, api.Errorf(api.CodeInvalidRequest, "sqlite: %s is a file, so %s cannot be made", parent, dir)
		}
		if err := suits(parent); err != nil {
			return false, false, err
		}
		return false, false, nil
	case err != nil:
		return false, false, dirError("look at", dir, err)
	case !info.IsDir():
		return true, false, api.Errorf(api.CodeInvalidRequest, "sqlite: %s is a file and cannot be the state directory", dir)
	}
	if loose(info) {
		if err := ownOrEmpty(dir); err != nil {
			return true, true, err
		}
	}
	return true, loose(info), suits(dir)
}

// suits checks what makes a directory fit to hold a store, or the directory of one.
func suits(dir string) error {
	kind, err := fileSystem(dir)
	if err != nil {
		return dirError("find the file system of", dir, err)
	}
	if err := refuseFileSystem(dir, kind); err != nil {
		return err
	}
	if err := writable(dir); err != nil {
		return dirError("write to", dir, err)
	}
	return nil
}

// Inspect looks at the store in dir and changes nothing, whoever works on it. Errors are those of [Open] for a store
// that it would not take: store_too_new (with what was found beside it), store_unsupported, store_corrupt, and
// store_unavailable.
func Inspect(ctx context.Context, dir string) (Inspection, error) {
	found := Inspection{Known: schema}
	err := inspecting(dir, func(c *conn) error {
		m, err := readMeta(c)
		if err != nil {
			return err
		}
		found.Exists, found.Store, found.Schema = m.version > 0, m.id, m.version
		return m.refuse()
	})
	if ctx.Err() != nil {
		return found, notRead(context.Cause(ctx))
	}
	return found, err
}

// Check reads the whole store in dir and reports whether its pages and rows fit together: store_corrupt if not. It
// ends with ctx, as store_unavailable with the context's error as its cause, and changes nothing. Its time grows with
// the store: about a second for a gigabyte that is cached.
func Check(ctx context.Context, dir string) error {
	return inspecting(dir, func(c *conn) error {
		said := ""
		err := c.query(ctx, `PRAGMA quick_check(1)`, func(r row) error {
			said = r.text(0)
			return nil
		})
		switch {
		case ctx.Err() != nil:
			return notRead(context.Cause(ctx))
		case err != nil:
			return err
		case said != "ok":
			return api.Errorf(api.CodeStoreCorrupt, "sqlite: the database is damaged (%s); restore a back-up", said)
		}
		return nil
	})
}

// inspecting opens the database to read, if it is there. With no log beside it nobody is at work.
func inspecting(dir string, look func(*conn) error) error {
	path, err := filepath.Abs(filepath.Join(dir, File))
	if err != nil {
		return api.Errorf(api.CodeInvalidRequest, "sqlite: %s has no absolute path: %w", dir, err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err = os.Stat(path + "-wal")
	d := &database{path: path, busy: time.Second, still: errors.Is(err, fs.ErrNotExist)}
	c, err := d.open("ro")
	if err == nil {
		err = errors.Join(look(c), c.close())
	}
	if err != nil {
		return openError(dir, err)
	}
	return nil
}
