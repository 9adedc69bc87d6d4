package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/openworkerai/openworker/bench/protocol"
)

// Measure is what one system did in one measurement, or the medians of its rounds. Times are milliseconds, sizes bytes.
type Measure struct {
	Turns     int     `json:"turns"`
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50Millis"`
	P99       float64 `json:"p99Millis"`
	CPU       float64 `json:"cpuMillisPerTurn"`                   // of its process
	ServerCPU float64 `json:"databaseCpuMillisPerTurn,omitempty"` // of a database server's processes
	Stored    float64 `json:"storedBytesPerTurn"`
	Written   float64 `json:"writtenBytesPerTurn"` // to the disk, a database server's log in its place
	Peak      int64   `json:"peakBytes"`           // of memory
}

// Cell is one system at one number of sessions.
type Cell struct {
	Name     string    `json:"name"`
	Sessions int       `json:"sessions"`
	Median   Measure   `json:"median"`
	Rounds   []Measure `json:"rounds"`
}

// compare measures all systems with all numbers of sessions. Within a round they take turns, each in a fresh
// process over a fresh directory, so that what the machine does meanwhile hits all of them alike.
func (r *Report) compare(ctx context.Context, p plan, peers []peer, model *modelProcess) error {
	for _, sessions := range p.sessions {
		cells := make([]Cell, len(peers))
		for round := range p.rounds {
			for i := range peers {
				i = (i + round) % len(peers) // none is always the first
				one := peers[i]
				if r.failed(one.name) {
					continue
				}
				say("%s, %d sessions, round %d …", one.name, sessions, round+1)
				m, err := measure(ctx, p, one, model, sessions)
				if err != nil {
					if err := r.fails(ctx, one.name, fmt.Errorf("%d sessions: %w", sessions, err)); err != nil {
						return err
					}
					continue
				}
				cells[i].Rounds = append(cells[i].Rounds, m)
			}
		}
		for i, one := range peers {
			if !r.failed(one.name) {
				cells[i].Name, cells[i].Sessions, cells[i].Median = one.name, sessions, medianOf(cells[i].Rounds)
				r.Cells = append(r.Cells, cells[i])
			}
		}
	}
	return nil
}

// fails notes that a peer broke, so that the others are measured all the same. OpenWorker may not, and a run
// that was interrupted ends.
func (r *Report) fails(ctx context.Context, name string, err error) error {
	if name == ours || ctx.Err() != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	say("%s failed: %v", name, err)
	r.NotRun = append(r.NotRun, NotRun{Name: name, Why: err.Error()})
	return nil
}

func (r *Report) failed(name string) bool {
	return slices.ContainsFunc(r.NotRun, func(n NotRun) bool { return n.Name == name })
}

func measure(ctx context.Context, p plan, one peer, model *modelProcess, sessions int) (Measure, error) {
	s, err := open(ctx, p.dir, one, model)
	if err != nil {
		return Measure{}, err
	}
	defer s.discard()
	if _, _, err := s.do(ctx, "load %d %g %d", sessions, p.warmUp.Seconds(), p.turns); err != nil {
		return Measure{}, err
	}
	answer, m, err := s.do(ctx, "load %d %g %d", sessions, p.length.Seconds(), p.turns)
	if err != nil {
		return m, err
	}
	m.PerSecond, m.P50, m.P99 = float64(answer.Turns)/answer.Seconds, answer.P50, answer.P99
	return m, s.process.close()
}

// system is a peer that runs, over a directory of its own.
type system struct {
	peer     peer
	options  protocol.Options
	process  *process
	model    *modelProcess
	database string // its name on the server
}

func open(ctx context.Context, dir string, one peer, model *modelProcess) (*system, error) {
	state, err := os.MkdirTemp(dir, "state-")
	if err != nil {
		return nil, err
	}
	s := &system{peer: one, model: model, options: protocol.Options{URL: model.url(), State: state, Mode: one.mode}}
	if one.server != nil {
		s.database = filepath.Base(state)
		if s.options.Database, err = one.server.create(ctx, s.database); err != nil {
			return nil, err
		}
	}
	return s, s.start(ctx)
}

func (s *system) start(ctx context.Context) (err error) {
	s.process, err = startProcess(ctx, s.peer.command, s.options)
	return err
}

// discard ends what still runs and removes what is stored.
func (s *system) discard() {
	if s.process.cmd.ProcessState == nil {
		_ = s.process.close()
	}
	_ = os.RemoveAll(s.options.State)
}

// do runs a command and measures from outside, per turn. Turns that did not make both their model calls and run
// their tool are an error.
func (s *system) do(ctx context.Context, format string, args ...any) (answer protocol.Answer, m Measure, err error) {
	begun, err := s.sample(ctx)
	if err != nil {
		return answer, m, err
	}
	if answer, err = s.process.ask(format, args...); err != nil {
		return answer, m, err
	}
	ended, err := s.sample(ctx)
	if err != nil {
		return answer, m, err
	}
	if err := ended.seen.check(begun.seen, answer.Turns); err != nil {
		return answer, m, err
	}
	turns := float64(answer.Turns)
	m = Measure{
		Turns: answer.Turns, Peak: ended.own.peak,
		CPU:       ms(ended.own.cpu-begun.own.cpu) / turns,
		ServerCPU: ms(ended.server-begun.server) / turns,
		Stored:    float64(ended.stored-begun.stored) / turns,
		Written:   float64(ended.written-begun.written) / turns,
	}
	return answer, m, nil
}

// sample is what is counted at one moment.
type sample struct {
	own     usageOf
	server  time.Duration
	stored  int64
	written int64
	seen    tally
}

func (s *system) sample(ctx context.Context) (now sample, err error) {
	now.own = usageOfTree(s.process.cmd.Process.Pid)
	now.written = now.own.written
	if s.peer.server != nil {
		now.server = s.peer.server.cpu()
		if now.stored, now.written, err = s.peer.server.sizes(ctx, s.database); err != nil {
			return now, err
		}
	} else if now.stored, err = storedBytes(ctx, s.options.State); err != nil {
		return now, err
	}
	now.seen, err = s.model.tally()
	return now, err
}

// medianOf takes the median of each figure for itself.
func medianOf(rounds []Measure) Measure {
	return Measure{
		Turns:     int(middle(rounds, func(m Measure) float64 { return float64(m.Turns) })),
		PerSecond: middle(rounds, func(m Measure) float64 { return m.PerSecond }),
		P50:       middle(rounds, func(m Measure) float64 { return m.P50 }),
		P99:       middle(rounds, func(m Measure) float64 { return m.P99 }),
		CPU:       middle(rounds, func(m Measure) float64 { return m.CPU }),
		ServerCPU: middle(rounds, func(m Measure) float64 { return m.ServerCPU }),
		Stored:    middle(rounds, func(m Measure) float64 { return m.Stored }),
		Written:   middle(rounds, func(m Measure) float64 { return m.Written }),
		Peak:      int64(middle(rounds, func(m Measure) float64 { return float64(m.Peak) })),
	}
}

func middle[T any](of []T, figure func(T) float64) float64 {
	all := make([]float64, len(of))
	for i, one := range of {
		all[i] = figure(one)
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
