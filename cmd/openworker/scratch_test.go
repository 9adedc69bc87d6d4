package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Not parallel: the system's directories are found by the environment.
func TestAHomeThatCannotBeWrittenToIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "home"} {
		t.Setenv(name, filepath.Join(file, "in it"))
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	if dir, err := (&Main{}).scratch(); err != nil || filepath.Dir(dir) != temporary {
		t.Errorf("%q, %v", dir, err)
	}
	writable := t.TempDir()
	t.Setenv("HOME", writable)
	t.Setenv("XDG_CACHE_HOME", writable)
	t.Setenv("LocalAppData", writable)
	if dir, err := (&Main{}).scratch(); err != nil || dir != "" {
		t.Errorf("with one that can: %q, %v", dir, err)
	}
}

// Not parallel: the system's directories are found by the environment.
func TestWithoutAHomeWorkspacesAreTemporaryAndPrivate(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData", "home"} {
		t.Setenv(name, "")
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	m := &Main{}
	dir, err := m.scratch()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.scratch(); again != dir || err != nil {
		t.Errorf("the second time: %q, %v", again, err)
	}
	if filepath.Dir(dir) != temporary || !strings.HasPrefix(filepath.Base(dir), "openworker-scratch-") {
		t.Errorf("it is %s", dir)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := m.scratch(); err == nil {
		t.Error("a directory that everybody may write to is taken")
	}
}
