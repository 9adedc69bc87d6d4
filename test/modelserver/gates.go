package main

import (
	"context"
	"sync"
)

// gates hold ends of answers back until they are opened by name. It is safe for concurrent use.
type gates struct {
	mu   sync.Mutex
	open map[string]chan struct{} // closed: open
}

func newGates() *gates { return &gates{open: map[string]chan struct{}{}} }

func (g *gates) gate(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

// wait is a function that waits for the gate.
func (g *gates) wait(name string) func(context.Context) error {
	gate := g.gate(name)
	return func(ctx context.Context) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unlock opens the gate for good. Again is no fault.
func (g *gates) unlock(name string) {
	gate := g.gate(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
}
