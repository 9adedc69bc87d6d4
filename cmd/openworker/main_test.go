package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files anew")

// beProgram makes the test binary the program itself, for tests that need processes to kill.
const beProgram = "OPENWORKER_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv(beProgram); ok {
		program := &Main{
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lookup: os.LookupEnv, Now: time.Now,
			ScratchDir: filepath.Join(dir, "scratch"), ConfigDir: filepath.Join(dir, "config"),
		}
		os.Exit(program.Run(context.Background(), os.Args[1:]))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// place is a directory with a state in it, where a test runs the program any number of times.
type place struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newPlace(t *testing.T) *place {
	dir := t.TempDir()
	return &place{t: t, dir: dir, env: map[string]string{"OPENWORKER_STATE_DIR": filepath.Join(dir, "state")}}
}

func (p *place) lookup(name string) (string, bool) {
	value, ok := p.env[name]
	return value, ok
}

// command is the program in a process of its own.
func (p *place) command(args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), beProgram+"="+p.dir)
	for name, value := range p.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd, nil
}

func (p *place) main(stdin io.Reader, stdout, stderr io.Writer) *Main {
	return &Main{
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Lookup: p.lookup, Now: time.Now,
		Self: p.command, ScratchDir: filepath.Join(p.dir, "scratch"), ConfigDir: filepath.Join(p.dir, "config"),
		Transport: loopback{},
	}
}

// loopback asks servers of this machine alone: no test reaches out to the makers' own.
type loopback struct{}

func (loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	if host := r.URL.Hostname(); host != "127.0.0.1" {
		return nil, &net.DNSError{Err: "no such host", Name: host}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// ran is what a run of the program printed, and its exit code.
type ran struct {
	code     int
	out, err string
}

// run runs the program to its end with a standard input that is no terminal.
func (p *place) run(stdin string, args ...string) ran {
	p.t.Helper()
	var out, errs bytes.Buffer
	code := p.main(strings.NewReader(stdin), &out, &errs).Run(context.Background(), args)
	return ran{code, out.String(), errs.String()}
}

// ok is run for what must succeed.
func (p *place) ok(stdin string, args ...string) ran {
	p.t.Helper()
	r := p.run(stdin, args...)
	if r.code != exitOK {
		p.t.Fatalf("openworker %s: exit code %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r
}

// session is the ID that a run said it made.
func (r ran) session(t *testing.T) string {
	t.Helper()
	_, rest, ok := strings.Cut(r.err, "openworker: session ")
	id, _, ends := strings.Cut(rest, "\n")
	if !ok || !ends || id == "" {
		t.Fatalf("no session is named in %q", r.err)
	}
	return id
}

// console is a terminal with a person at it, whom the test plays.
type console struct {
	t          *testing.T
	keys       *io.PipeWriter
	interrupts chan os.Signal
	exit       chan int

	mu      sync.Mutex
	text    string
	changed chan struct{}
}

// sit runs the program on a terminal. change, unless nil, adjusts it first.
func (p *place) sit(change func(*Main), args ...string) *console {
	p.t.Helper()
	in, keys := io.Pipe()
	c := &console{t: p.t, keys: keys, interrupts: make(chan os.Signal, 2), exit: make(chan int, 1), changed: make(chan struct{}, 1)}
	m := p.main(in, c, c)
	m.Terminal = true
	m.Interrupts = c.interrupts
	if change != nil {
		change(m)
	}
	go func() { c.exit <- m.Run(context.Background(), args) }()
	p.t.Cleanup(func() { _ = keys.Close() })
	return c
}

// Write takes what the program prints.
func (c *console) Write(data []byte) (int, error) {
	c.mu.Lock()
	c.text += string(data)
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return len(data), nil
}

const patience = 30 * time.Second

// see waits until the text stands on the screen and returns what stood before it; both are done with.
func (c *console) see(text string) string {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		c.mu.Lock()
		before, after, ok := strings.Cut(c.text, text)
		if ok {
			c.text = after
		}
		c.mu.Unlock()
		if ok {
			return before
		}
		select {
		case <-c.changed:
		case <-deadline:
			c.t.Fatalf("%q never came; what came is %q", text, before)
		}
	}
}

// enter types a line.
func (c *console) enter(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.keys, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *console) interrupt() { c.interrupts <- os.Interrupt }

// leaves waits for the program's end.
func (c *console) leaves(code int) {
	c.t.Helper()
	select {
	case got := <-c.exit:
		if got != code {
			c.t.Errorf("exit code %d, want %d; the screen has %q", got, code, c.text)
		}
	case <-time.After(patience):
		c.t.Fatal("the program does not end")
	}
}
