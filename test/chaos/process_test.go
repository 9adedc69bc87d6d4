//go:build linux

package chaos_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// patience is how long anything may take before it counts as hanging.
const patience = 30 * time.Second

// errDied says that a victim ended before it answered.
var errDied = errors.New("the victim died")

// process is a running victim.
type process struct {
	cmd    *exec.Cmd
	opened chaos.Opened
	stderr *lockedBuffer
	ended  chan struct{} // closed once it was waited for

	mu      sync.Mutex
	stdin   io.WriteCloser
	number  int
	waiting map[int]chan chaos.Reply
}

// lockedBuffer keeps what a process says while it still speaks.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a victim and waits until it is open: errDied when it ended before, or the error that it gave.
func start(t *testing.T, args ...string) (*process, error) {
	t.Helper()
	p := &process{cmd: exec.Command(victimPath, args...), stderr: &lockedBuffer{}, ended: make(chan struct{}), waiting: map[int]chan chaos.Reply{}}
	p.cmd.Stderr = p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan chaos.Reply, 1)
	p.waiting[0] = first
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go p.read(stdout)
	r, err := p.wait(first)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(r.Value, &p.opened)
}

// read hands replies to those who wait for them, until the victim has ended.
func (p *process) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r chaos.Reply
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			break // cut by its death
		}
		p.mu.Lock()
		ch := p.waiting[r.ID]
		p.mu.Unlock()
		if ch != nil {
			ch <- r
		}
	}
	_, _ = io.Copy(io.Discard, stdout)
	_ = p.cmd.Wait() // exit tells how it ended
	close(p.ended)
}

// wait waits for a reply.
func (p *process) wait(ch chan chaos.Reply) (chaos.Reply, error) {
	var r chaos.Reply
	select {
	case r = <-ch:
	case <-p.ended:
		select {
		case r = <-ch:
		default:
			return r, errDied
		}
	case <-time.After(patience):
		return r, fmt.Errorf("no reply within %s; the victim says: %s", patience, p.stderr)
	}
	if r.Code != "" {
		return r, &api.Error{Code: r.Code, Message: strings.TrimPrefix(r.Message, string(r.Code)+": ")}
	}
	return r, nil
}

// send sends a command and returns where its replies come.
func (p *process) send(c chaos.Command) chan chaos.Reply {
	ch := make(chan chaos.Reply, 1024)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	c.ID = p.number
	p.waiting[c.ID] = ch
	line, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	_, _ = p.stdin.Write(append(line, '\n')) // a dead one does not answer either
	return ch
}

func (p *process) do(c chaos.Command) (json.RawMessage, error) {
	r, err := p.wait(p.send(c))
	return r.Value, err
}

// kill ends the victim, if it has not ended, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// exit tells how an ended victim ended: "killed", or what went wrong.
func (p *process) exit() string {
	<-p.ended
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return "killed"
	}
	return p.cmd.ProcessState.String()
}

// call is do with the reply's value decoded.
func call[T any](p *process, c chaos.Command) (out T, err error) {
	value, err := p.do(c)
	if err == nil {
		err = json.Unmarshal(value, &out)
	}
	return out, err
}
