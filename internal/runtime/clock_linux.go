package runtime

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime counts while the machine is suspended, which time.Now's monotonic part does not.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}
