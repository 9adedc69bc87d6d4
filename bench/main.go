package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// plan is what a run was asked for.
type plan struct {
	sessions []int
	rounds   int
	length   time.Duration // of one measurement
	warmUp   time.Duration // before each
	turns    int           // of one session, then it is replaced
	growth   []int         // turns of a long session that are measured
	resumes  int           // cold starts after it
	peers    []string      // names; empty is all but the optional ones
	skip     []string
	postgres bool
	own      sizes
	profile  string
	dir, out string
}

// sizes are those of the measurements of OpenWorker alone.
type sizes struct {
	growth, reattach []int
	idle, waiting    int
}

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// start runs one of the processes of a benchmark, or the driver of them all.
func start(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "model":
			return serveModel()
		case "openworker":
			return serveOurs(args[1:])
		case "loop":
			return serveLoop(args[1:])
		}
	}
	p, err := parse(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, p)
}

func parse(args []string) (plan, error) {
	p := plan{own: sizes{growth: []int{1, 50, 200, 1000}, reattach: []int{10, 200, 1000}, idle: 10_000, waiting: 2_000},
		growth: []int{1, 50, 200}, resumes: 3}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	sessions := flags.String("sessions", "1,8,64", "sessions at once")
	flags.IntVar(&p.rounds, "rounds", 3, "rounds; medians are told")
	flags.DurationVar(&p.length, "time", 5*time.Second, "time of one measurement")
	flags.DurationVar(&p.warmUp, "warmup", 2*time.Second, "time before each that does not count")
	flags.IntVar(&p.turns, "turns", 20, "turns of a session before a new one takes its place")
	peers := flags.String("peers", "", "run these alone: "+strings.Join(names(), ", "))
	skip := flags.String("skip", "", "run all but these")
	flags.BoolVar(&p.postgres, "postgres", false, "also measure on PostgreSQL; it takes the server's programs on this machine")
	own := flags.Bool("own", true, "also measure what only OpenWorker is measured for")
	quick := flags.Bool("quick", false, "short and small, to see that it works: its figures mean nothing")
	flags.StringVar(&p.profile, "profile", "", "write a CPU profile of OpenWorker at the most sessions to this file, and measure nothing else")
	flags.StringVar(&p.dir, "dir", "", "directory on the disk to measure; defaults to a temporary one")
	flags.StringVar(&p.out, "out", filepath.Join("bench", "results"), "directory for the JSON and the peers' programs")
	if err := flags.Parse(args); err != nil {
		return p, err
	}
	for s := range strings.SplitSeq(*sessions, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return p, fmt.Errorf("-sessions %q: numbers from 1, with commas between them", *sessions)
		}
		p.sessions = append(p.sessions, n)
	}
	if *quick {
		p.rounds, p.length, p.warmUp, p.growth, p.resumes = 1, 500*time.Millisecond, 200*time.Millisecond, []int{1, 20}, 1
		p.own = sizes{growth: []int{1, 50}, reattach: []int{10, 50}, idle: 200, waiting: 50}
	}
	if !*own {
		p.own = sizes{}
	}
	if p.rounds < 1 || p.turns < 1 || p.length <= 0 {
		return p, errors.New("-rounds, -turns and -time are more than 0")
	}
	p.peers, p.skip = list(*peers), list(*skip)
	for _, name := range append(slices.Clone(p.peers), p.skip...) {
		if !slices.Contains(names(), name) {
			return p, fmt.Errorf("there is no peer %q: there are %s", name, strings.Join(names(), ", "))
		}
	}
	return p, nil
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func run(ctx context.Context, p plan) error {
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "openworker-bench-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		p.dir = dir
	}
	model, err := startModel()
	if err != nil {
		return err
	}
	defer model.stop()
	if p.profile != "" {
		return profile(ctx, p, model)
	}
	report := &Report{Started: time.Now().UTC(), Seconds: p.length.Seconds(), Rounds: p.rounds, SessionTurns: p.turns}
	if err := report.disk(p.dir); err != nil {
		return err
	}
	peers, close := prepare(ctx, p, report)
	defer close()
	steps := []func() error{
		func() error { return report.compare(ctx, p, peers, model) },
		func() error { return report.grow(ctx, p, peers, model) },
	}
	if p.own.idle > 0 {
		steps = append(steps, func() error { return report.alone(ctx, p.dir, model.url(), p.own) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	report.judge()
	report.print(os.Stdout)
	if err := report.save(p.out); err != nil {
		return err
	}
	if len(report.NotRun) > 0 {
		return fmt.Errorf("%d of the peers that were asked for did not run to the end; -skip leaves them out", len(report.NotRun))
	}
	return nil
}
