package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// frozen gives a directory that cannot be written: a read-only mount of it where this user may mount, else without
// the permission, which then binds this user.
func frozen(t *testing.T, dir string) string {
	t.Helper()
	mounted := filepath.Join(t.TempDir(), "mounted")
	if err := os.Mkdir(mounted, 0o700); err != nil {
		t.Fatal(err)
	}
	err := unix.Mount(dir, mounted, "", unix.MS_BIND, "")
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		return dir
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mounted, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount("", mounted, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return mounted
}

func TestADoctorKnowsAReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("", "run", "hello")
	state := frozen(t, p.env["OPENWORKER_STATE_DIR"])
	for name, dir := range map[string]string{"one with a store": state, "one in it": filepath.Join(state, "new")} {
		found := p.diagnosis(exitFailure, "--state-dir", dir)
		f := found["state directory"]
		if f.Status != findingFailed || !strings.Contains(f.Message, "cannot write to the state directory "+state) || !strings.HasPrefix(f.Next, "make it writable for this user, or name another") {
			t.Errorf("%s: %+v", name, f)
		}
		if name == "one with a store" && found["store"].Status != findingOK {
			t.Errorf("the store in it can be read all the same: %+v", found)
		}
	}
}
