package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
)

// throughput runs 1, 8 and 64 sessions at once, ours and the floor in turns.
func (r *Report) throughput(ctx context.Context, dir, url string, round time.Duration) error {
	p, err := provider(url)
	if err != nil {
		return err
	}
	for _, n := range []int{1, 8, 64} {
		floor, err := measure(n, round, func(int) (func() error, error) {
			var history []model.Item
			turn := 0
			return func() (err error) {
				turn++
				if turn%50 == 0 {
					history = nil // a fresh conversation now and then, as the sessions below
				}
				history, err = floorTurn(ctx, p, history, turn)
				return err
			}, nil
		})
		if err != nil {
			return err
		}
		floor.Name = "floor"
		home := filepath.Join(dir, fmt.Sprintf("load-%d", n))
		sub, err := openSubject(ctx, home, url)
		if err != nil {
			return err
		}
		before, written := sub.counts(), writtenBytes()
		ours, err := measure(n, round, func(int) (func() error, error) {
			var session *openworker.Session
			turn := 0
			return func() (err error) {
				if turn%50 == 0 {
					if session, err = sub.agent.NewSession(ctx); err != nil {
						return err
					}
				}
				turn++
				return oneTurn(ctx, session)
			}, nil
		})
		if err != nil {
			return err
		}
		after := sub.counts()
		turns := float64(ours.Turns)
		ours.Name = "openworker"
		ours.Appends, ours.Waits = float64(after.appends-before.appends)/turns, float64(after.waits-before.waits)/turns
		ours.Logical, ours.Written = float64(after.bytes-before.bytes)/turns, float64(writtenBytes()-written)/turns
		ours.OfFloor = ours.PerSecond / floor.PerSecond
		if err := sub.close(ctx); err != nil {
			return err
		}
		r.Load = append(r.Load, floor, ours)
	}
	return nil
}

func oneTurn(ctx context.Context, s *openworker.Session) error {
	res, err := s.Run(ctx, "What is one and two?")
	if err != nil {
		return err
	}
	if res.Status != openworker.StatusCompleted || res.ModelCalls != 2 {
		return fmt.Errorf("a turn ended as %s after %d model calls: %+v", res.Status, res.ModelCalls, res.Error)
	}
	return nil
}

// measure runs n workers for the time of a round, after a short warm-up.
func measure(n int, round time.Duration, worker func(i int) (func() error, error)) (Load, error) {
	l := Load{Sessions: n}
	var mu sync.Mutex
	var times []time.Duration
	var failed error
	var wg sync.WaitGroup
	start := time.Now()
	cpu := cpuTime()
	for i := range n {
		turn, err := worker(i)
		if err != nil {
			return l, err
		}
		wg.Go(func() {
			var own []time.Duration
			for time.Since(start) < round {
				begun := time.Now()
				if err := turn(); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				own = append(own, time.Since(begun))
			}
			mu.Lock()
			times = append(times, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	if failed != nil {
		return l, failed
	}
	elapsed := time.Since(start)
	slices.Sort(times)
	l.Turns = len(times)
	l.PerSecond = float64(len(times)) / elapsed.Seconds()
	l.P50, l.P99 = ms(times[len(times)/2]), ms(times[len(times)*99/100])
	l.CPU = ms(cpuTime()-cpu) / float64(len(times))
	return l, nil
}

// growth measures single turns of one session that gets long.
func (r *Report) growth(ctx context.Context, dir, url string, at []int) error {
	sub, err := openSubject(ctx, filepath.Join(dir, "growth"), url)
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
	turn, floorTurns := 0, 0
	for _, n := range at {
		for turn < n-1 {
			if err := oneTurn(ctx, session); err != nil {
				return err
			}
			turn++
		}
		// The median of the turns around n: one turn alone is noise.
		var times []time.Duration
		before, written, cpu := sub.counts(), writtenBytes(), cpuTime()
		const around = 9
		for range around {
			begun := time.Now()
			if err := oneTurn(ctx, session); err != nil {
				return err
			}
			times = append(times, time.Since(begun))
			turn++
		}
		slices.Sort(times)
		after, used, disk := sub.counts(), cpuTime()-cpu, writtenBytes()-written
		var floor []time.Duration
		for floorTurns < turn {
			begun := time.Now()
			if history, err = floorTurn(ctx, p, history, floorTurns); err != nil {
				return err
			}
			floor = append(floor, time.Since(begun))
			floorTurns++
		}
		r.Growth = append(r.Growth, Growth{Turn: n, Millis: ms(times[around/2]), Floor: median(floor[len(floor)-around:]), CPU: ms(used) / around,
			Logical: float64(after.bytes-before.bytes) / around, Written: float64(disk) / around})
	}
	return sub.close(ctx)
}

// reattach opens a store with a session of n turns, cold, and measures the time to its state and to the next model request.
func (r *Report) reattach(ctx context.Context, dir, url string, turns []int) error {
	for _, n := range turns {
		home := filepath.Join(dir, fmt.Sprintf("reattach-%d", n))
		sub, err := openSubject(ctx, home, url)
		if err != nil {
			return err
		}
		session, err := sub.agent.NewSession(ctx)
		if err != nil {
			return err
		}
		for range n {
			if err := oneTurn(ctx, session); err != nil {
				return err
			}
		}
		ref := session.Reference()
		if err := sub.close(ctx); err != nil {
			return err
		}
		var open, state, request []time.Duration
		for range 5 {
			begun := time.Now()
			sub, err := openSubject(ctx, home, url)
			if err != nil {
				return err
			}
			open = append(open, time.Since(begun))
			if session, err = sub.agent.ResumeSession(ctx, ref); err != nil {
				return err
			}
			begun = time.Now()
			if _, err := session.State(ctx); err != nil {
				return err
			}
			state = append(state, time.Since(begun))
			sub.model.first.Store(0)
			begun = time.Now()
			if err := oneTurn(ctx, session); err != nil {
				return err
			}
			request = append(request, time.Unix(0, sub.model.first.Load()).Sub(begun))
			if err := sub.close(ctx); err != nil {
				return err
			}
		}
		r.Reattach = append(r.Reattach, Reattach{Turns: n, OpenMillis: median(open), StateMillis: median(state), RequestMillis: median(request)})
	}
	return nil
}

// startUp opens a store that holds many idle sessions.
func (r *Report) startUp(ctx context.Context, dir, url string, idle int) error {
	home := filepath.Join(dir, "idle")
	sub, err := openSubject(ctx, home, url)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	workspace := filepath.Join(dir, "workspace")
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return err
	}
	for i := range 64 {
		wg.Go(func() {
			for n := i; n < idle; n += 64 {
				if _, err := sub.agent.NewSession(ctx, openworker.SessionOptions{Workspace: workspace}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	if err := sub.close(ctx); err != nil {
		return err
	}
	var open []time.Duration
	for range 5 {
		begun := time.Now()
		sub, err := openSubject(ctx, home, url)
		if err != nil {
			return err
		}
		open = append(open, time.Since(begun))
		if err := sub.close(ctx); err != nil {
			return err
		}
	}
	r.StartUp = StartUp{Idle: idle, Millis: median(open)}
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

type counts struct{ appends, waits, bytes int64 }

func (s *subject) counts() counts {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return counts{appends: s.store.appends.Load(), waits: s.store.waits.Load(), bytes: s.store.bytes}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return ms(d[len(d)/2])
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
