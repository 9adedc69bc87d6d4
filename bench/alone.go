package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// alone measures in this process what only OpenWorker is measured for.
func (r *Report) alone(ctx context.Context, dir, url string, s sizes) error {
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"ageing", func() error { return r.ageing(ctx, dir, url, s.growth) }},
		{"cold start", func() error { return r.reattach(ctx, dir, url, s.reattach) }},
		{"idle sessions", func() error { return r.startUp(ctx, dir, url, s.idle) }},
		{"waiting sessions", func() error { return r.waiting(ctx, dir, url, s.waiting) }},
		{"live text", func() error { return r.live(ctx, dir, url) }},
	} {
		say("%s …", step.name)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// disk is the machine's own floor: small synchronous writes.
func (r *Report) disk(dir string) error {
	f, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	var times []time.Duration
	for range 200 {
		begun := time.Now()
		if _, err := f.WriteAt(block, 0); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		times = append(times, time.Since(begun))
	}
	r.SyncMillis = median(times)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(d []time.Duration) float64 { return quantile(d, 50) }

// quantile sorts, and gives the time below which so many of a hundred are.
func quantile(d []time.Duration, percent int) float64 {
	slices.Sort(d)
	return ms(d[len(d)*percent/100])
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
