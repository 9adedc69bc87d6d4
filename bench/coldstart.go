package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openworkerai/openworker"
)

// Reattach is a cold start over a session.
type Reattach struct {
	Turns         int     `json:"turns"`
	OpenMillis    float64 `json:"openMillis"`
	StateMillis   float64 `json:"stateMillis"`
	RequestMillis float64 `json:"requestMillis"`
}

// StartUp is an Open over many idle sessions.
type StartUp struct {
	Idle   int     `json:"idleSessions"`
	Millis float64 `json:"millis"`
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
