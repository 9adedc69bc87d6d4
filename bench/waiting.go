package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/tool"
)

// Waiting is about sessions that wait for a person.
type Waiting struct {
	Sessions     int     `json:"sessions"`
	Bytes        int64   `json:"bytesPerSession"` // of the heap
	IdleCPU      float64 `json:"idleCpuPercent"`  // of one core, while all of them wait
	AnswerMillis float64 `json:"answerToToolStartMillis"`
}

// waiting measures sessions that wait for a person: the memory that each takes, and the time from the
// answer to the start of the action.
func (r *Report) waiting(ctx context.Context, dir, url string, sessions int) error {
	sub, err := openSubject(ctx, filepath.Join(dir, "waiting"), url)
	if err != nil {
		return err
	}
	var started atomic.Int64
	add, err := openworker.NewTool("add", "Adds two numbers, once allowed.", func(_ context.Context, _ tool.Call, in addArgs) (string, error) {
		started.Store(time.Now().UnixNano())
		return fmt.Sprint(in.A + in.B), nil
	})
	if err != nil {
		return err
	}
	agent, err := sub.harness.Agent(ctx, openworker.AgentDefinition{Name: "asking", Instructions: "Answer briefly.", Tools: []openworker.Tool{add},
		DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "bench-model"}})
	if err != nil {
		return err
	}
	all := make([]*openworker.Session, sessions)
	for i := range all {
		if all[i], err = agent.NewSession(ctx); err != nil {
			return err
		}
	}
	before := heap()
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < len(all); i += 16 {
				if res, err := all[i].Run(ctx, "What is one and two?"); err != nil || res.Status != openworker.StatusInterrupted {
					errs <- fmt.Errorf("a session does not wait: %+v %w", res, err)
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
	r.Waiting.Sessions = sessions
	r.Waiting.Bytes = max(heap()-before, 0) / int64(sessions)
	cpu := cpuTime()
	time.Sleep(2 * time.Second)
	r.Waiting.IdleCPU = float64(cpuTime()-cpu) / float64(2*time.Second) * 100
	var times []time.Duration
	for _, s := range all[:min(100, sessions)] {
		state, err := s.State(ctx)
		if err != nil {
			return err
		}
		run, err := s.OpenRun(ctx, state.Run)
		if err != nil {
			return err
		}
		started.Store(0)
		begun := time.Now()
		if err := s.Resolve(ctx, state.Interactions[0].ID, openworker.Answer{Decision: openworker.AllowOnce}); err != nil {
			return err
		}
		if _, err := run.Result(ctx); err != nil {
			return err
		}
		times = append(times, time.Unix(0, started.Load()).Sub(begun))
	}
	r.Waiting.AnswerMillis = median(times)
	return sub.close(ctx)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
