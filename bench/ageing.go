package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/openworkerai/openworker/model"
)

// Ageing is a turn of OpenWorker in a session that has got long.
type Ageing struct {
	Turn    int     `json:"turn"`
	Millis  float64 `json:"millis"`
	Loop    float64 `json:"loopMillis"` // the same turn over the same history with nothing stored
	CPU     float64 `json:"cpuMillis"`
	Appends float64 `json:"appends"`
	Waits   float64 `json:"waits"` // appends that no model call overlapped
	Logical float64 `json:"logicalBytes"`
	Written float64 `json:"writtenBytes"`
}

// ageing measures turns of one session that gets long, beside the same turns of the loop that stores nothing.
func (r *Report) ageing(ctx context.Context, dir, url string, at []int) error {
	sub, err := openSubject(ctx, filepath.Join(dir, "ageing"), url)
	if err != nil {
		return err
	}
	session, err := sub.agent.NewSession(ctx)
	if err != nil {
		return err
	}
	p, err := provider(url)
	if err != nil {
		return err
	}
	var history []model.Item
	turn, loopTurns := 0, 0
	for _, n := range at {
		for turn < n-1 {
			if err := oneTurn(ctx, session); err != nil {
				return err
			}
			turn++
		}
		// The median of the turns around n: one turn alone is noise.
		var times []time.Duration
		before, written, cpu := sub.counts(), usageOfProcess(os.Getpid()).written, cpuTime()
		for range around {
			begun := time.Now()
			if err := oneTurn(ctx, session); err != nil {
				return err
			}
			times = append(times, time.Since(begun))
			turn++
		}
		slices.Sort(times)
		after, used, disk := sub.counts(), cpuTime()-cpu, usageOfProcess(os.Getpid()).written-written
		var loop []time.Duration
		for loopTurns < turn {
			begun := time.Now()
			if history, err = loopTurn(ctx, p, history, loopTurns); err != nil {
				return err
			}
			loop = append(loop, time.Since(begun))
			loopTurns++
		}
		r.Ageing = append(r.Ageing, Ageing{Turn: n, Millis: ms(times[around/2]), Loop: median(loop[len(loop)-around:]), CPU: ms(used) / around,
			Appends: float64(after.appends-before.appends) / around, Waits: float64(after.waits-before.waits) / around,
			Logical: float64(after.bytes-before.bytes) / around, Written: float64(disk) / around})
	}
	return sub.close(ctx)
}
