package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

func main() {
	serve := flag.Bool("serve", false, "be the model server (used by the benchmark itself)")
	round := flag.Duration("round", 3*time.Second, "time for each case of the throughput table")
	dir := flag.String("dir", "", "directory on the disk to measure; defaults to a temporary one")
	out := flag.String("out", filepath.Join("bench", "results"), "directory for the JSON; empty for none")
	quick := flag.Bool("quick", false, "short rounds and small sizes, to see that it works")
	flag.Parse()
	if *serve {
		serveModel()
		return
	}
	if err := run(*dir, *out, *round, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(dir, out string, round time.Duration, quick bool) error {
	ctx := context.Background()
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "openworker-bench-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	url, stop, err := startModel()
	if err != nil {
		return err
	}
	defer stop()
	sizes := sizes{round: round, reattach: []int{10, 200, 1000}, idle: 10_000, waiting: 2_000, growth: []int{1, 50, 200, 1000}}
	if quick {
		sizes.round, sizes.reattach, sizes.idle, sizes.growth, sizes.waiting = 300*time.Millisecond, []int{10, 50}, 200, []int{1, 50}, 50
	}
	report := &Report{Started: time.Now().UTC()}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"disk", func() error { return report.disk(dir) }},
		{"throughput", func() error { return report.throughput(ctx, dir, url, sizes.round) }},
		{"growth", func() error { return report.growth(ctx, dir, url, sizes.growth) }},
		{"reattach", func() error { return report.reattach(ctx, dir, url, sizes.reattach) }},
		{"start-up", func() error { return report.startUp(ctx, dir, url, sizes.idle) }},
		{"waiting", func() error { return report.waiting(ctx, dir, url, sizes.waiting) }},
	} {
		fmt.Fprintf(os.Stderr, "bench: %s …\n", step.name)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	report.print(os.Stdout)
	if out == "" {
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(out, "latest.json")
	fmt.Fprintln(os.Stderr, "bench: figures are in", path)
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

type sizes struct {
	round            time.Duration
	reattach, growth []int
	idle, waiting    int
}

// serveModel answers a user's message with a call and a result with text, without reading the history.
func serveModel() {
	call := modeltestserver.Reply{Calls: []modeltestserver.Call{{ID: "call_1", Name: "add", Arguments: `{"a":1,"b":2}`}}}.Prepared()
	text := modeltestserver.Reply{Text: "The sum is three."}.Prepared()
	s, err := modeltestserver.New(modeltestserver.Config{Fast: true, Handler: func(r modeltestserver.Request) modeltestserver.Reply {
		if r.LastRole == "tool" {
			return text
		}
		return call
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the parent goes away
	_ = s.Close()
}

// startModel runs the server in a process of its own.
func startModel() (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, "-serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	outPipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(outPipe).ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the model server did not start: %w", err)
	}
	return strings.TrimSpace(line), func() {
		_ = in.Close()
		_ = cmd.Wait()
	}, nil
}
