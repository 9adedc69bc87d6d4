package sqlite

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// loose is false: access lists, not modes, say who may do what, and a user's directories are private.
func loose(fs.FileInfo) bool { return false }

// writable leaves the answer to the first write.
func writable(string) error { return nil }

func readOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, windows.ERROR_WRITE_PROTECT)
}

// fileSystem names the network file system of a directory, "" for a local one.
func fileSystem(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(full) + `\`)
	if err != nil {
		return "", err
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "a network drive", nil
	}
	return "", nil
}
