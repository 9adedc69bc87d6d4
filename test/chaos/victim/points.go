package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// points counts how often each named point was reached and ends or stops the process at one of them.
type points struct {
	mu         sync.Mutex
	seen       map[string]int
	kill, stop point
	once       string // "" or the file that whoever ends makes first
	trace      *os.File

	// A stop outside a commit must not hit one that runs beside it: then the write lock would stay held.
	commits    sync.Cond // on mu
	committing bool
	stopping   bool
}

type point struct {
	name  string
	n     int
	delay time.Duration
}

func newPoints(s settings) (p *points, err error) {
	p = &points{seen: map[string]int{}, once: s.once}
	p.commits.L = &p.mu
	if p.kill, err = parsePoint(s.kill); err != nil {
		return nil, err
	}
	if s.trace != "" {
		p.trace, err = os.OpenFile(s.trace, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	return p, err
}

// arm makes the process stop at a point, which counts from now.
func (p *points) arm(text string) error {
	at, err := parsePoint(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	at.n += p.seen[at.name]
	p.stop = at
	return err
}

// parsePoint reads name#n or name#n+delay.
func parsePoint(text string) (p point, err error) {
	if text == "" {
		return p, nil
	}
	name, rest, _ := strings.Cut(text, "#")
	number, delay, delayed := strings.Cut(rest, "+")
	p.name = name
	if p.n, err = strconv.Atoi(number); err != nil {
		return p, fmt.Errorf("point %q: %w", text, err)
	}
	if delayed {
		p.delay, err = time.ParseDuration(delay)
	}
	return p, err
}

// reach is called at each point.
func (p *points) reach(name string) {
	p.mu.Lock()
	p.seen[name]++
	n := p.seen[name]
	if p.trace != nil {
		_, _ = fmt.Fprintf(p.trace, "%s#%d\n", name, n) // a short list of points fails the test
	}
	p.betweenCommits(name)
	stop := p.stop
	stops := stop.name == name && stop.n == n
	if stops && !strings.HasPrefix(name, "commit.") {
		p.stopping = true
		for p.committing {
			p.commits.Wait()
		}
	}
	p.mu.Unlock()
	switch {
	case p.kill.name == name && p.kill.n == n && p.kill.delay > 0:
		time.AfterFunc(p.kill.delay, die)
	case p.kill.name == name && p.kill.n == n && p.first():
		die()
	case stops:
		if err := stopSelf(); err != nil {
			panic(err)
		}
		p.mu.Lock()
		p.stopping = false
		p.commits.Broadcast()
		p.mu.Unlock()
	}
}

// first reports whether no other victim has ended at the point.
func (p *points) first() bool {
	if p.once == "" {
		return true
	}
	f, err := os.OpenFile(p.once, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// betweenCommits follows the writer's commits, of which one runs at a time, and keeps the next one from
// beginning while the process is about to stop. p.mu is held.
func (p *points) betweenCommits(name string) {
	switch name {
	case "commit.next":
		p.committing = false // the one before has failed
		p.commits.Broadcast()
		for p.stopping {
			p.commits.Wait()
		}
		p.committing = true
	case "commit.after":
		p.committing = false
		p.commits.Broadcast()
	}
}

// die ends the process as kill -9 does, and does not return.
func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}
