package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/openworkerai/openworker/bench/protocol"
)

// process is a system under measurement, in a process of its own.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *bytes.Buffer
}

// startProcess runs a peer's command, and returns when it says that it is open.
func startProcess(ctx context.Context, command []string, o protocol.Options) (*process, error) {
	args := append(command[1:len(command):len(command)], "--url", o.URL, "--state", o.State)
	if o.Mode != "" {
		args = append(args, "--mode", o.Mode)
	}
	if o.Database != "" {
		args = append(args, "--database", o.Database)
	}
	p := &process{cmd: exec.CommandContext(ctx, command[0], args...), errors: &bytes.Buffer{}}
	p.cmd.Stderr = p.errors
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := p.answer(); err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

func (p *process) ask(format string, args ...any) (protocol.Answer, error) {
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		return protocol.Answer{}, errors.Join(err, errors.New(tail(p.errors.String())))
	}
	return p.answer()
}

func (p *process) answer() (a protocol.Answer, err error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		err = p.close() // its end says more than the end of its output
		return a, fmt.Errorf("it ended: %v: %s", err, tail(p.errors.String()))
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("it said %q", line)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (p *process) close() error {
	_ = p.in.Close() // it may have ended by itself
	return p.cmd.Wait()
}

// tail keeps what fits a message.
func tail(s string) string {
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-600):]
}

// startSelf runs this program as another of the benchmark's processes.
func startSelf(args ...string) (*exec.Cmd, io.Closer, *bufio.Reader, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	return cmd, in, bufio.NewReader(out), cmd.Start()
}

// usageOf is what the kernel counts for a process; what it does not count is 0.
type usageOf struct {
	cpu      time.Duration
	children time.Duration // of those that have ended
	written  int64         // bytes sent to the disk
	peak     int64         // bytes of memory, the most that were resident
	parent   int
}

// tick is the unit of /proc/PID/stat: 100 a second on every Linux that Go runs on.
const tick = 10 * time.Millisecond

func usageOfProcess(pid int) (u usageOf) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(stat, ')'); i > 0 { // the name before it may hold spaces
		if f := strings.Fields(string(stat[i+1:])); len(f) > 14 {
			number := func(i int) time.Duration {
				n, _ := strconv.ParseInt(f[i], 10, 64)
				return time.Duration(n)
			}
			u.parent = int(number(1))
			u.cpu = (number(11) + number(12)) * tick
			u.children = (number(13) + number(14)) * tick
		}
	}
	u.written = procNumber(fmt.Sprintf("/proc/%d/io", pid), "write_bytes:")
	u.peak = procNumber(fmt.Sprintf("/proc/%d/status", pid), "VmHWM:") * 1024
	return u
}

// usageOfTree is what the kernel counts for a process and its children, together.
func usageOfTree(pid int) usageOf {
	u := usageOfProcess(pid)
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(data)) {
		if n, err := strconv.Atoi(child); err == nil {
			c := usageOfTree(n)
			u.cpu, u.children, u.written, u.peak = u.cpu+c.cpu, u.children+c.children, u.written+c.written, u.peak+c.peak
		}
	}
	return u
}

// procNumber is the number after a name in a file of /proc.
func procNumber(path, name string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n
		}
	}
	return 0
}
