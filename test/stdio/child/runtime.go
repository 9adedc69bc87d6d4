package child

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long anything may take before it counts as hanging.
const Patience = 30 * time.Second

// Config says how a runtime is started.
type Config struct {
	Binary string
	// StateDir is the directory of the sessions. "" is a new one.
	StateDir string
	// Unread: standard output is not read before Read.
	Unread bool
	// Cut: the last line may be half a one.
	Cut bool
	// Noisy: what standard error has is the test's to judge.
	Noisy bool
}

// Runtime is a runtime under test. Its methods may be called from the test's goroutines at once, and fail the test where
// nothing comes in [Patience].
type Runtime struct {
	t        testing.TB
	cmd      *exec.Cmd
	StateDir string
	stdin    io.WriteCloser
	stdout   *os.File
	reading  sync.Once
	stderr   safeBuffer
	ended    chan struct{} // the process is
	read     chan struct{} // all of standard output is

	writing sync.Mutex
	inbox
}

// Start starts a runtime.
func Start(t testing.TB, cfg Config) *Runtime {
	t.Helper()
	dir := t.TempDir()
	if cfg.StateDir == "" {
		cfg.StateDir = filepath.Join(dir, "state")
	}
	r := &Runtime{t: t, StateDir: cfg.StateDir, ended: make(chan struct{}), read: make(chan struct{})}
	r.inbox.init(cfg.Cut)
	r.cmd = exec.Command(cfg.Binary, "stdio", "--state-dir", cfg.StateDir)
	r.cmd.Dir = dir
	r.cmd.Env = []string{"HOME=" + dir, "XDG_CACHE_HOME=" + filepath.Join(dir, "cache"), "LocalAppData=" + dir}
	r.cmd.SysProcAttr = ownGroup()
	r.cmd.Stderr = &r.stderr
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stdout, r.cmd.Stdout = reader, writer
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close() // the child has its own
	go func() {
		_ = r.cmd.Wait() // the state says how it ended
		close(r.ended)
	}()
	if !cfg.Unread {
		r.Read()
	}
	t.Cleanup(func() {
		select {
		case <-r.ended:
		default:
			_ = r.cmd.Process.Kill() // it may have ended meanwhile
			<-r.ended
		}
		r.Read()
		<-r.read
		for _, fault := range r.faults {
			t.Errorf("on standard output: %s", fault)
		}
		if !cfg.Noisy {
			for line := range strings.Lines(r.stderr.String()) {
				t.Errorf("on standard error: %.500s", line)
			}
		} else if fault := noLog(r.stderr.String()); fault != "" {
			t.Errorf("on standard error something is no log line: %.2000s", fault)
		}
	})
	return r
}

var logLine = regexp.MustCompile(`^(time=\S+ level=[A-Z]+ msg=|error: [a-z_]+: )`)

// noLog is the first line that is not one of a log, "" if there is none.
func noLog(text string) string {
	for line := range strings.Lines(text) {
		if !logLine.MatchString(line) {
			return line
		}
	}
	return ""
}

// Read begins to read standard output, if nobody does yet.
func (r *Runtime) Read() {
	r.reading.Do(func() {
		go func() {
			defer close(r.read)
			r.take(r.stdout)
			_ = r.stdout.Close() // it was read only
		}()
	})
}

// Write writes bytes to standard input as they are. It says whether the runtime took them.
func (r *Runtime) Write(data []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	_, err := r.stdin.Write(data)
	return err
}

// Line writes a line, which the runtime must take.
func (r *Runtime) Line(line string) {
	r.t.Helper()
	if err := r.Write(append([]byte(line), '\n')); err != nil {
		r.t.Fatalf("the runtime does not take %.200s: %v\n%s", line, err, r.Stderr())
	}
}

// Request writes a request, which [Runtime.Answer] waits for.
func (r *Runtime) Request(id, method string, params any) {
	r.t.Helper()
	r.Line(RequestLine(id, method, params))
}

// RequestLine is a request with an ID that is a string. Its parameters are JSON, or a value that is made JSON of.
func RequestLine(id, method string, params any) string {
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q`, id, method)
	if params != nil {
		line += `,"params":` + text(params)
	}
	return line + "}"
}

func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // a test's own values can be written
	}
	return string(data)
}

// Call sends a request and waits for its result, which must be one.
func (r *Runtime) Call(method string, params any) json.RawMessage {
	r.t.Helper()
	id := r.name()
	r.Request(id, method, params)
	answer := r.Answer(`"` + id + `"`)
	if answer.Error != nil {
		r.t.Fatalf("%s failed: %s\n%s", method, answer.Raw, r.Stderr())
	}
	return answer.Result
}

// Refused sends a request and waits for its error, which must be one.
func (r *Runtime) Refused(method string, params any) Error {
	r.t.Helper()
	id := r.name()
	r.Request(id, method, params)
	answer := r.Answer(`"` + id + `"`)
	if answer.Error == nil {
		r.t.Fatalf("%s did not fail: %.500s", method, answer.Raw)
	}
	return *answer.Error
}

// Reply answers a callback of the runtime with a result.
func (r *Runtime) Reply(callback Message, result any) {
	r.t.Helper()
	r.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, callback.ID, text(result)))
}

// CloseInput ends standard input.
func (r *Runtime) CloseInput() {
	r.writing.Lock()
	defer r.writing.Unlock()
	_ = r.stdin.Close() // a runtime that has ended has closed it
}

// CloseOutput closes the reading end of standard output, of a runtime that is Unread.
func (r *Runtime) CloseOutput() {
	r.reading.Do(func() { close(r.read) })
	_ = r.stdout.Close() // nobody reads it any more
}

// Signal sends a signal to the process alone.
func (r *Runtime) Signal(s os.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		r.t.Fatal(err)
	}
}

// Pid is the process's ID.
func (r *Runtime) Pid() int { return r.cmd.Process.Pid }

// Exit waits until the process has ended and all of its output is read, and returns its exit code, -1 for a signal.
func (r *Runtime) Exit() int {
	r.t.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	for _, done := range []chan struct{}{r.ended, r.read} {
		select {
		case <-done:
		case <-timer.C:
			r.t.Fatalf("the runtime does not end\n%s", r.Stderr())
		}
	}
	return r.cmd.ProcessState.ExitCode()
}

// Ended is closed when the process has ended.
func (r *Runtime) Ended() <-chan struct{} { return r.ended }

// Stderr is what standard error has so far.
func (r *Runtime) Stderr() string { return r.stderr.String() }

// safeBuffer may be read while it is written to.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
