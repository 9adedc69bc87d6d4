//go:build linux

package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// victimPath is the program that TestMain has built. mountable is nil where the tests may mount.
var (
	victimPath string
	mountable  error
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if code, done := inNamespace(); done {
		return code
	}
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

const namespaceMark = "OPENWORKER_CHAOS_NAMESPACE"

// inNamespace runs the tests in a mount namespace of their own, so that they can fill a small disk and make a
// directory read-only without being root, and leave no mount behind however they end. Where the system does
// not allow that, the tests that mount fail and say why.
func inNamespace() (code int, done bool) {
	if os.Getenv(namespaceMark) != "" {
		mountable = syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
		return 0, false
	}
	runtime.LockOSThread() // the child dies with this thread
	child := exec.Command("/proc/self/exe", os.Args[1:]...)
	child.Env = append(os.Environ(), namespaceMark+"=1")
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		child.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if mountable = child.Start(); mountable != nil {
		return 0, false
	}
	if err := child.Wait(); err != nil && child.ProcessState.ExitCode() <= 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return child.ProcessState.ExitCode(), true
}
