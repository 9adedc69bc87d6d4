package runtime

import "time"

// Clock is the time of a process.
type Clock interface {
	// Now is the wall clock, which processes on one store compare.
	Now() time.Time
	// Boot is a clock that never goes back and counts while the machine sleeps.
	Boot() time.Duration
}

// SystemClock is the machine's own.
type SystemClock struct{}

func (SystemClock) Now() time.Time      { return time.Now() }
func (SystemClock) Boot() time.Duration { return bootTime() }
