package output

import (
	"os"
	"path/filepath"
	"testing"
)

// Of runs main as often as it is given, in an empty directory that is also its home, and returns what it printed. It
// changes the process's standard streams and directory, so no other test may run beside it.
func Of(t *testing.T, stdin string, mains ...func()) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Chdir(dir)
	in, out := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = in, out }()
	if err := os.WriteFile("in", []byte(stdin), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, stream := range map[string]**os.File{"in": &os.Stdin, "out": &os.Stdout} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		*stream = f
	}
	for _, main := range mains {
		main()
	}
	printed, err := os.ReadFile("out")
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}
