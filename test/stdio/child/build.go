package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Build builds the program into a new directory, which done removes.
func Build() (binary string, done func(), err error) {
	dir, err := os.MkdirTemp("", "openworker-stdio-")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) } // what is left of a temporary directory does no harm
	binary = filepath.Join(dir, "openworker")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/openworkerai/openworker/cmd/openworker").CombinedOutput(); err != nil {
		done()
		return "", nil, fmt.Errorf("build openworker: %w\n%s", err, out)
	}
	return binary, done, nil
}
