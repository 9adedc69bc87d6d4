//go:build unix

package child

import "syscall"

// ownGroup keeps a signal that is meant for the test from reaching the runtime.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
