//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSelf stops the whole process until somebody sends SIGCONT. The caller does not run on a moment longer,
// as it might while the signal is on its way to its thread.
func stopSelf() error {
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	defer signal.Stop(goOn)
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	<-goOn
	return nil
}
