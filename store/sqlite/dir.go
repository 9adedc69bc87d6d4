package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openworkerai/openworker/api"
)

// prepareDir makes the state directory, or checks one that is there.
func prepareDir(dir string) error {
	if dir == "" {
		return api.Errorf(api.CodeInvalidRequest, "sqlite: no state directory is given; set Config.Dir")
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return dirError("make", dir, err)
		}
	case err != nil:
		return dirError("look at", dir, err)
	case !info.IsDir():
		return api.Errorf(api.CodeInvalidRequest, "sqlite: %s is a file and cannot be the state directory", dir)
	case loose(info):
		if err := tighten(dir); err != nil {
			return err
		}
	}
	return suits(dir)
}

// ownOrEmpty refuses a directory that others may look into and that holds other things than a store.
func ownOrEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return dirError("read", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, File)); err != nil && len(entries) > 0 {
		return api.Errorf(api.CodeInvalidRequest, "sqlite: %s holds other things and is open to other users; give the state a directory of its own, or make this one private (chmod 700)", dir)
	}
	return nil
}

// tighten shuts others out of a directory that is there already, if it is ours: empty, or with a store.
func tighten(dir string) error {
	if err := ownOrEmpty(dir); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return dirError("shut others out of", dir, err)
	}
	return nil
}

// private shuts others out of a file, without opening it.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if loose(info) {
		return os.Chmod(path, 0o600)
	}
	return nil
}

func dirError(what, dir string, err error) error {
	code := api.CodeStoreUnavailable
	if readOnly(err) {
		code = api.CodeStoreReadOnly
	}
	return api.Errorf(code, "sqlite: cannot %s the state directory %s: %w", what, dir, err)
}

// refuseFileSystem refuses those on which two machines could believe to hold the same lock.
func refuseFileSystem(dir, kind string) error {
	if kind == "" {
		return nil
	}
	return api.Errorf(api.CodeStoreUnsupported, "sqlite: %s is on %s, whose locks and shared memory cannot be relied on; use a local disk", dir, kind)
}
