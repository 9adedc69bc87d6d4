package main

import (
	"context"
	"fmt"
	"time"
)

// Growth is a turn of a session that has got long: the median time of the turns from there on, and what each of
// them stored. A database gives out whole pages, so a small figure is coarse.
type Growth struct {
	Name    string  `json:"name"`
	Turn    int     `json:"turn"`
	Millis  float64 `json:"millis"`
	CPU     float64 `json:"cpuMillis"`
	Stored  float64 `json:"storedBytes"`
	Written float64 `json:"writtenBytes"`
}

// Resume is a cold start: from the start of a new process to the end of its first turn of a long session.
type Resume struct {
	Name   string  `json:"name"`
	Turns  int     `json:"turns"`
	Millis float64 `json:"millis"`
}

// around is how many turns make one figure: one alone is noise.
const around = 9

// grow runs one long session of each system whose sessions outlive the process, and then goes on with it in
// fresh processes.
func (r *Report) grow(ctx context.Context, p plan, peers []peer, model *modelProcess) error {
	for _, one := range peers {
		if !one.long || r.failed(one.name) {
			continue
		}
		say("%s, one long session …", one.name)
		if err := r.growOne(ctx, p, one, model); err != nil {
			if err := r.fails(ctx, one.name, fmt.Errorf("one long session: %w", err)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Report) growOne(ctx context.Context, p plan, one peer, model *modelProcess) error {
	s, err := open(ctx, p.dir, one, model)
	if err != nil {
		return err
	}
	defer s.discard()
	// A session of its own warms the process up.
	if _, _, err := s.do(ctx, "load 1 %g %d", p.warmUp.Seconds(), p.turns); err != nil {
		return err
	}
	turn := 0
	for _, n := range p.growth {
		if turn < n-1 {
			if _, _, err := s.do(ctx, "turns %d", n-1-turn); err != nil {
				return err
			}
			turn = n - 1
		}
		answer, m, err := s.do(ctx, "turns %d", around)
		if err != nil {
			return err
		}
		turn += around
		if err := s.checkHistory(turn); err != nil {
			return err
		}
		r.Growth = append(r.Growth, Growth{Name: one.name, Turn: n, Millis: answer.P50, CPU: m.CPU, Stored: m.Stored, Written: m.Written})
	}
	before := turn
	var times []time.Duration
	for range p.resumes {
		if err := s.process.close(); err != nil {
			return err
		}
		begun := time.Now()
		if err := s.start(ctx); err != nil {
			return err
		}
		if _, err := s.process.ask("turns 1"); err != nil {
			return err
		}
		times = append(times, time.Since(begun))
		turn++
		if err := s.checkHistory(turn); err != nil {
			return fmt.Errorf("resumed: %w", err)
		}
	}
	if len(times) > 0 {
		r.Resumes = append(r.Resumes, Resume{Name: one.name, Turns: before, Millis: median(times)})
	}
	return s.process.close()
}

func (s *system) checkHistory(turns int) error {
	seen, err := s.model.tally()
	if err != nil {
		return err
	}
	return seen.checkHistory(turns)
}
