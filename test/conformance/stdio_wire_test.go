package conformance_test

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
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
)

// runtimeProcess is `openworker stdio` and its lines: written and read here as the protocol describes them.
type runtimeProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	ended  chan struct{} // nothing more is read

	// answer gives a request of the runtime its result.
	answer func(ctx context.Context, method string, params json.RawMessage) (any, error)

	mu        sync.Mutex
	requests  int
	pending   map[string]chan wireMessage
	callbacks map[string]context.CancelCauseFunc
	parts     map[string]*strings.Builder
	parted    int
	fault     error // of a line that is none
}

// wireMessage is a line, whatever it is.
type wireMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *wireError      `json:"error,omitempty"`
}

type wireError struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    *wireErrorData `json:"data,omitempty"`
}

type wireErrorData struct {
	Code      api.Code          `json:"code"`
	Details   map[string]string `json:"details,omitempty"`
	Retryable bool              `json:"retryable,omitempty"`
}

// Bounds of a line, and what of a message goes into one that is a part: each byte may become six within a string.
const (
	maxLine   = 1 << 20
	partBytes = (maxLine - 512) / 6
)

var errRuntimeEnded = errors.New("the runtime has ended")

func startRuntime(state string, answer func(context.Context, string, json.RawMessage) (any, error)) (*runtimeProcess, error) {
	p := &runtimeProcess{
		ended: make(chan struct{}), answer: answer, pending: map[string]chan wireMessage{}, callbacks: map[string]context.CancelCauseFunc{}, parts: map[string]*strings.Builder{},
	}
	home := filepath.Dir(state)
	p.cmd = exec.Command(binary, "stdio", "--state-dir", state)
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "LocalAppData=" + home, "AppData=" + home}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stdout)
	return p, nil
}

// read reads lines until there are no more.
func (p *runtimeProcess) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine+1)
	for lines.Scan() {
		if err := p.line(bytes.Clone(lines.Bytes())); err != nil {
			p.fail(fmt.Errorf("%w in the line %.300q", err, lines.Text()))
		}
	}
	if err := lines.Err(); err != nil {
		p.fail(err)
		_, _ = io.Copy(io.Discard, stdout) // so that the process is not held up
	}
	close(p.ended)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.callbacks {
		cancel(errRuntimeEnded)
	}
}

func (p *runtimeProcess) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		p.fault = err
	}
}

// line takes a line: an answer, a request, a notification, or a part of one of them.
func (p *runtimeProcess) line(data []byte) error {
	var m wireMessage
	if err := strictly(data, &m); err != nil {
		return err
	}
	switch {
	case m.Version != "2.0":
		return errors.New("no JSON-RPC 2.0")
	case m.Method == "rpc/part":
		whole, err := p.join(m.Params)
		if err != nil || whole == nil {
			return err
		}
		return p.line(whole)
	case m.Method == "callback/cancel":
		var named struct {
			Callback string `json:"callback"`
		}
		if err := strictly(m.Params, &named); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if cancel := p.callbacks[named.Callback]; cancel != nil {
			cancel(errors.New("cancelled by the runtime"))
		}
		return nil
	case m.Method != "" && m.ID != nil:
		return p.called(m)
	case m.Method != "":
		return errors.New("a notification that is not in the protocol")
	}
	var id string
	if err := json.Unmarshal(m.ID, &id); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.pending[id]
	if waiting == nil {
		return errors.New("an answer to nothing")
	}
	delete(p.pending, id)
	waiting <- m
	return nil
}

// join adds a part to its message, and gives the whole at its end.
func (p *runtimeProcess) join(params json.RawMessage) ([]byte, error) {
	var part struct {
		Message string `json:"message"`
		Data    string `json:"data"`
		Last    bool   `json:"last"`
	}
	if err := strictly(params, &part); err != nil {
		return nil, err
	}
	if p.parts[part.Message] == nil {
		p.parts[part.Message] = &strings.Builder{}
	}
	p.parts[part.Message].WriteString(part.Data)
	if !part.Last {
		return nil, nil
	}
	whole := p.parts[part.Message].String()
	delete(p.parts, part.Message)
	return []byte(whole), nil
}

// called answers a request of the runtime, beside others.
func (p *runtimeProcess) called(m wireMessage) error {
	var named struct {
		Callback string `json:"callback"`
	}
	if err := json.Unmarshal(m.Params, &named); err != nil || named.Callback == "" {
		return fmt.Errorf("a request without a callback's name: %w", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	p.mu.Lock()
	p.callbacks[named.Callback] = cancel
	p.mu.Unlock()
	go func() {
		result, err := p.answer(ctx, m.Method, m.Params)
		cancel(nil)
		p.mu.Lock()
		delete(p.callbacks, named.Callback)
		p.mu.Unlock()
		out := wireMessage{Version: "2.0", ID: m.ID}
		if err != nil {
			out.Error = &wireError{Code: -32603, Message: err.Error()}
			var e *api.Error
			if errors.As(err, &e) {
				out.Error.Data = &wireErrorData{Code: e.Code}
			}
		} else if out.Result, err = json.Marshal(result); err != nil {
			p.fail(err)
			return
		}
		_ = p.write(out) // a runtime that is gone needs no answer
	}()
	return nil
}

// write writes a message, as one line or as several.
func (p *runtimeProcess) write(m wireMessage) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(data) <= maxLine {
		_, err := p.stdin.Write(append(data, '\n'))
		return err
	}
	p.parted++
	for len(data) > 0 {
		n := min(partBytes, len(data))
		for n < len(data) && !utf8.RuneStart(data[n]) {
			n--
		}
		params, err := json.Marshal(map[string]any{"message": fmt.Sprintf("p%d", p.parted), "data": string(data[:n]), "last": n == len(data)})
		if err != nil {
			return err
		}
		line, err := json.Marshal(wireMessage{Version: "2.0", Method: "rpc/part", Params: params})
		if err != nil {
			return err
		}
		if _, err := p.stdin.Write(append(line, '\n')); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// request asks the runtime and waits for its answer. Its errors are what the table of codes says (FA8).
func (p *runtimeProcess) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	data, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	answered := make(chan wireMessage, 1)
	p.mu.Lock()
	p.requests++
	id := fmt.Sprintf("c%d", p.requests)
	p.pending[id] = answered
	p.mu.Unlock()
	name, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	if err := p.write(wireMessage{Version: "2.0", ID: name, Method: method, Params: data}); err != nil {
		return nil, errors.Join(errRuntimeEnded, err)
	}
	select {
	case m := <-answered:
		return m.Result, m.Error.told()
	case <-p.ended:
		return nil, errRuntimeEnded
	case <-ctx.Done():
		return nil, fmt.Errorf("%s is not answered: %w", method, context.Cause(ctx))
	}
}

// told is the error, whose number must be that of its code's row.
func (e *wireError) told() error {
	if e == nil {
		return nil
	}
	if e.Data == nil {
		return fmt.Errorf("error %d without data: %s", e.Code, e.Message)
	}
	for _, row := range api.Codes() {
		if row.Code == e.Data.Code {
			if row.RPC != e.Code || row.Retryable != e.Data.Retryable {
				return fmt.Errorf("the error %s has number %d and retryable %v, and the table has %d and %v", row.Code, e.Code, e.Data.Retryable, row.RPC, row.Retryable)
			}
			return &api.Error{Code: row.Code, Message: e.Message, Details: e.Data.Details}
		}
	}
	return fmt.Errorf("the code %q of an error is not in the table", e.Data.Code)
}

// wait waits for the process's end, and tells what its lines or its end have of faults.
func (p *runtimeProcess) wait() error {
	<-p.ended
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.fault != nil {
		return fmt.Errorf("%w\n%s", errors.Join(err, p.fault), p.stderr.String())
	}
	return nil
}
