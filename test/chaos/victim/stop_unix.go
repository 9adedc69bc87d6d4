//go:build unix

package main

import (
	"os"
	"syscall"
)

// stopSelf stops the whole process until somebody sends SIGCONT.
func stopSelf() error { return syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
