package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// peer is a system in the table.
type peer struct {
	name    string
	mode    string
	command []string
	// promise is its durability, and what it does not promise.
	promise string
	build   func(ctx context.Context, out string) (command []string, err error)
	// long tells that its sessions outlive a process, so that growth and cold resume mean something.
	long     bool
	optional bool      // runs only where it is named
	postgres bool      // runs on a server that has to be started
	server   *postgres // once it runs
}

// Names in the table.
const (
	ours           = "openworker"
	oursTypeScript = "openworker typescript"
	ourLoop        = "our client, nothing stored"
	rawLoop        = "raw loop"
	dbosOurs       = "dbos"
	dbosFull       = "dbos full"
)

func allPeers() []peer {
	return []peer{
		{name: ours, build: self("openworker"), long: true,
			promise: "every step before it is told or acted on; SQLite, WAL, synchronous=FULL: outlives a loss of power. A side effect is never repeated unasked"},
		{name: oursTypeScript, build: typeScript, long: true,
			promise: "the same: the SDK starts the runtime, and the tool runs in Node; its processor time and memory are those of both processes"},
		{name: ourLoop, build: self("loop"),
			promise: "none: OpenWorker's own streaming client in a loop, so that the difference to the line above is what the harness costs"},
		{name: rawLoop, build: goModule("rawloop"),
			promise: "none: the official SDK in a loop, the floor"},
		{name: dbosOurs, build: goModule("dbos"), long: true,
			promise: "every step; SQLite as it opens it: WAL, synchronous=NORMAL, so a loss of power may take the last steps. A step under way in a crash runs again"},
		{name: dbosFull, mode: "full", build: goModule("dbos"), long: true,
			promise: "the same with synchronous=FULL: outlives a loss of power"},
		{name: "dbos postgres", mode: "postgres", build: goModule("dbos"), optional: true, postgres: true,
			promise: "the same on PostgreSQL, fsync and synchronous_commit on"},
		{name: "langgraph", build: node("langgraph.js"), long: true,
			promise: "a checkpoint a step, written while the next step runs (its default): side effects may precede it; SQLite, WAL, synchronous=NORMAL"},
		{name: "langgraph sync", mode: "sync", build: node("langgraph.js"), long: true, optional: true,
			promise: "the same, each checkpoint written before the next step"},
		{name: "openai-agents", build: node("openai-agents.js"), long: true,
			promise: "the conversation's items, in our SQLite session (WAL, synchronous=FULL) for the package has none; a run cut by a crash is not taken up"},
	}
}

func names() (all []string) {
	for _, p := range allPeers() {
		all = append(all, p.name)
	}
	return all
}

// wants tells whether a plan asks for a peer.
func (p plan) wants(one peer) bool {
	if slices.Contains(p.skip, one.name) {
		return false
	}
	if len(p.peers) > 0 {
		return slices.Contains(p.peers, one.name)
	}
	return !one.optional || one.postgres && p.postgres
}

// prepare builds what the plan asks for. What cannot be built is in the report, with the reason.
func prepare(ctx context.Context, p plan, r *Report) (ready []peer, stop func()) {
	stop = func() {}
	for _, one := range allPeers() {
		if !p.wants(one) {
			continue
		}
		say("preparing %s …", one.name)
		var err error
		if one.postgres {
			if one.server, err = startPostgres(ctx, p.dir); err == nil {
				stop = one.server.stop
			}
		}
		if err == nil {
			one.command, err = one.build(ctx, filepath.Join(p.out, "peers"))
		}
		if err != nil {
			say("not run: %s: %v", one.name, err)
			r.NotRun = append(r.NotRun, NotRun{Name: one.name, Why: err.Error()})
			continue
		}
		ready = append(ready, one)
		r.Promises = append(r.Promises, Promise{Name: one.name, Durability: one.promise})
	}
	return ready, stop
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }

// self is this program under another name.
func self(name string) func(context.Context, string) ([]string, error) {
	return func(context.Context, string) ([]string, error) {
		path, err := os.Executable()
		return []string{path, name}, err
	}
}

// goModule builds a peer that is a Go module of its own.
func goModule(name string) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, out string) ([]string, error) {
		path, err := filepath.Abs(filepath.Join(out, name))
		if err != nil {
			return nil, err
		}
		return []string{path}, output(ctx, filepath.Join("bench", "peers", name), "go", "build", "-o", path, ".")
	}
}

// node installs the peers in Node, as the lock file has them, unless that is done.
func node(file string) func(context.Context, string) ([]string, error) {
	return func(ctx context.Context, _ string) ([]string, error) {
		program, err := exec.LookPath("node")
		if err != nil {
			return nil, err
		}
		dir := filepath.Join("bench", "peers", "node")
		installed, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
		if lock, lockErr := os.Stat(filepath.Join(dir, "package-lock.json")); err != nil || lockErr != nil || lock.ModTime().After(installed.ModTime()) {
			if err := output(ctx, dir, "npm", "ci", "--no-audit", "--no-fund"); err != nil {
				return nil, err
			}
		}
		// An installation without the compiled SQLite is found here and not in the middle of a run.
		if err := output(ctx, dir, program, "-e", `new (require("better-sqlite3"))(":memory:")`); err != nil {
			return nil, err
		}
		return []string{program, filepath.Join(dir, file)}, nil
	}
}

// typeScript builds the runtime and the SDK of this tree.
func typeScript(ctx context.Context, out string) ([]string, error) {
	program, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	runtime, err := filepath.Abs(filepath.Join(out, "openworker"))
	if err != nil {
		return nil, err
	}
	if err := output(ctx, ".", "go", "build", "-o", runtime, "./cmd/openworker"); err != nil {
		return nil, err
	}
	sdk := filepath.Join("sdk", "typescript")
	if _, err := os.Stat(filepath.Join(sdk, "node_modules", ".package-lock.json")); err != nil {
		if err := output(ctx, sdk, "npm", "ci", "--no-audit", "--no-fund"); err != nil {
			return nil, err
		}
	}
	if err := output(ctx, sdk, "npm", "run", "--silent", "build"); err != nil {
		return nil, err
	}
	return []string{"env", "OPENWORKER_RUNTIME=" + runtime, program, filepath.Join("bench", "typescript", "openworker.mjs")}, nil
}

// output runs a command, and returns what it printed if it failed.
func output(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, tail(string(said)))
	}
	return nil
}
