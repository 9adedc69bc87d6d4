package sqlite

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const fuse = 0x65735546

// fileSystem names the network or cluster file system of a directory, "" for a local one.
func fileSystem(dir string) (string, error) {
	var info unix.Statfs_t
	if err := unix.Statfs(dir, &info); err != nil {
		return "", err
	}
	if uint32(info.Type) == fuse {
		return fuseKind(dir)
	}
	return networkKind(uint32(info.Type)), nil
}

// networkKind names the kinds whose locks do not hold between machines, by the numbers of statfs(2).
func networkKind(magic uint32) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0xff534d42, 0x517b, 0xfe534d42:
		return "SMB"
	case 0x01021997:
		return "9P"
	case 0x00c36400:
		return "CephFS"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x47504653:
		return "GPFS"
	case 0x7461636f:
		return "OCFS2"
	case 0x01161970:
		return "GFS2"
	case 0x5346414f, 0x6b414653:
		return "AFS"
	case 0x73757245:
		return "Coda"
	}
	return ""
}

// fuseKind names a network file system behind FUSE by its mount.
func fuseKind(dir string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", err
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer mounts.Close()
	device := fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		if kind, ok := fuseMount(lines.Text(), device); ok {
			return kind, nil
		}
	}
	return "FUSE of an unknown kind", nil
}

// fuseMount reads one line of mountinfo: ok if it is the device's, and then the kind unless it is local.
func fuseMount(line, device string) (kind string, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	fields, kinds := strings.Fields(before), strings.Fields(after)
	if len(fields) < 3 || len(kinds) == 0 || fields[2] != device {
		return "", false
	}
	switch kind := kinds[0]; kind {
	case "fuseblk", "virtiofs", "fuse.ntfs-3g", "fuse.exfat", "fuse.fuse-overlayfs", "fuse.gocryptfs", "fuse.encfs",
		"fuse.bindfs", "fuse.mergerfs", "fuse.lxcfs":
		return "", true
	default:
		return kind, true
	}
}
