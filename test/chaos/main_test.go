package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// victimPath is the program that TestMain has built.
var victimPath string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "victim-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	victimPath = filepath.Join(dir, "victim")
	if out, err := exec.Command("go", "build", "-o", victimPath, "./victim").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the victim: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
