//go:build unix

package sqlite

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this process has used of its processors.
func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
