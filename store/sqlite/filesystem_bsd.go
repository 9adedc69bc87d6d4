//go:build darwin || freebsd

package sqlite

import "golang.org/x/sys/unix"

// fileSystem names the network file system of a directory, "" for a local one.
func fileSystem(dir string) (string, error) {
	var info unix.Statfs_t
	if err := unix.Statfs(dir, &info); err != nil {
		return "", err
	}
	if info.Flags&unix.MNT_LOCAL != 0 {
		return "", nil
	}
	return unix.ByteSliceToString(info.Fstypename[:]), nil
}
