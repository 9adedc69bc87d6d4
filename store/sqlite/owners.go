package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/openworkerai/openworker/store"
)

// owners holds the locks by which this store's processes can be proven dead.
type owners struct {
	dir string

	mu   sync.Mutex
	held map[string]*os.File // by process
}

func newOwners(dir string) *owners { return &owners{dir: dir, held: map[string]*os.File{}} }

func (o *owners) path(process string) string {
	return filepath.Join(o.dir, url.PathEscape(process)+".lock")
}

// hold makes a process's file and locks it. Files are opened close-on-exec, so that no child keeps the lock.
func (o *owners) hold(process string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held[process] != nil {
		return store.ErrExists
	}
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return dirError("make", o.dir, err)
	}
	f, err := os.OpenFile(o.path(process), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return dirError("write to", o.dir, err)
	}
	locked, err := tryLock(f)
	switch {
	case err != nil:
		return errors.Join(dirError("lock a file of", o.dir, err), f.Close())
	case !locked:
		return errors.Join(store.ErrExists, f.Close())
	}
	o.held[process] = f
	return nil
}

// drop gives a process's lock up and removes its file.
func (o *owners) drop(process string) error {
	err := o.release(process)
	if gone := os.Remove(o.path(process)); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// release gives a process's lock up and leaves its file, as the process's death does.
func (o *owners) release(process string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.held[process]
	if f == nil {
		return nil
	}
	delete(o.held, process)
	return f.Close()
}

// dead reports whether a process's lock is free, which proves that it is dead. A file that is not there
// proves nothing: somebody may have removed it under a living process.
func (o *owners) dead(process string) (bool, error) {
	f, err := os.OpenFile(o.path(process), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the lock of process %q: %w", process, err)
	}
	free, err := tryLock(f)
	return free, errors.Join(err, f.Close())
}

// close gives up every lock that is still held.
func (o *owners) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, f := range o.held {
		errs = append(errs, f.Close())
	}
	clear(o.held)
	return errors.Join(errs...)
}
