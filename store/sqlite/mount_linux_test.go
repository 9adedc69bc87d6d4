package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mount mounts something at a new directory, or reports that this user may not.
func mount(t *testing.T, source, kind string, flags uintptr, options string) (dir string, ok bool) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "mounted")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(source, dir, kind, flags, options); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			return "", false
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	dir, ok := mount(t, "tmpfs", "tmpfs", 0, "size=6m,mode=0700")
	if !ok {
		t.Log("only the database's own bound was tried: mounting takes a privilege")
		return
	}
	s := opened(t, Config{Dir: filepath.Join(dir, "state")})
	fill(t, s, func() {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=64m,mode=0700"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAReadOnlyDirectoryIsTold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s := opened(t, Config{Dir: dir})
	appended(t, s, creation("s"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	frozen, ok := mount(t, dir, "", unix.MS_BIND, "")
	if ok {
		if err := unix.Mount("", frozen, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	} else { // without the privilege to mount, permissions bind us too
		frozen = dir
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	}
	for name, state := range map[string]string{"a store": frozen, "a new store": filepath.Join(frozen, "new")} {
		if _, err := Open(t.Context(), Config{Dir: state}); !errors.Is(err, errReadOnly) {
			t.Errorf("open of %s: %v, want store_read_only", name, err)
		}
	}
}

func TestFileSystemsOfTheNetworkAreRefused(t *testing.T) {
	t.Parallel()
	const device = "0:42"
	for _, tc := range []struct{ line, want string }{
		{"31 1 0:42 / /mnt rw - fuse.sshfs host:/ rw", "fuse.sshfs"},
		{"31 1 0:42 / /mnt rw shared:1 master:2 - fuse.rclone remote rw", "fuse.rclone"},
		{"31 1 0:42 / /mnt rw - fuse x rw", "fuse"},
		{"31 1 0:42 / /mnt rw - fuseblk /dev/sda1 rw", ""},
		{"31 1 0:42 / /mnt rw - virtiofs share rw", ""},
	} {
		if kind, ok := fuseMount(tc.line, device); !ok || kind != tc.want {
			t.Errorf("%s: kind %q, found %t, want %q", tc.line, kind, ok, tc.want)
		}
	}
	for _, line := range []string{"31 1 0:43 / /mnt rw - fuse.sshfs host:/ rw", "", "31 1", "31 1 0:42 / /mnt rw"} {
		if _, ok := fuseMount(line, device); ok {
			t.Errorf("%q was taken for the mount of %s", line, device)
		}
	}
	for magic, want := range map[uint32]string{0x6969: "NFS", 0xff534d42: "SMB", 0xfe534d42: "SMB", 0x01021997: "9P", 0xef53: "", 0x01021994: "", 0x794c7630: ""} {
		if kind := networkKind(magic); kind != want {
			t.Errorf("file system %#x is %q, want %q", magic, kind, want)
		}
		if err := refuseFileSystem("dir", networkKind(magic)); (err != nil) != (want != "") || err != nil && !errors.Is(err, errUnsupported) {
			t.Errorf("file system %#x: %v", magic, err)
		}
	}
	if kind, err := fileSystem(t.TempDir()); kind != "" || err != nil {
		t.Errorf("this machine's disk is %q, %v", kind, err)
	}
}
