//go:build unix

package sqlite

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// loose reports whether others than the owner may do anything with a file.
func loose(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// writable reports why nothing can be made in a directory, without making anything.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

func readOnly(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
}
