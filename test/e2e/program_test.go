package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// binary is the program that TestMain has built.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "openworker-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "openworker")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/openworker").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build openworker: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// patience is how long anything may take before it counts as hanging.
const patience = 30 * time.Second

// home is a person's machine: a state directory, and a model server or none.
type home struct {
	t     *testing.T
	dir   string
	model *modeltestserver.Server
}

// newHome makes a home with a model server whose answers handler gives; nil for the offline model.
func newHome(t *testing.T, handler func(modeltestserver.Request) modeltestserver.Reply) *home {
	t.Helper()
	h := &home{t: t, dir: t.TempDir()}
	if handler == nil {
		return h
	}
	var err error
	if h.model, err = modeltestserver.New(modeltestserver.Config{Handler: handler}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.model.Close(); err != nil {
			t.Error(err)
		}
		for _, refusal := range h.model.Refusals() {
			t.Errorf("a request breaks the protocol: %s", refusal)
		}
	})
	return h
}

func (h *home) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "XDG_CACHE_HOME=" + filepath.Join(h.dir, "cache"), "LocalAppData=" + h.dir,
		"OPENWORKER_STATE_DIR=" + filepath.Join(h.dir, "state")}
	if h.model != nil {
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+h.model.URL(), "OPENWORKER_MODEL=m")
	}
	return cmd
}

// run runs the program to its end and returns its standard output. It must succeed.
func (h *home) run(stdin string, args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); err != nil {
		h.t.Fatalf("openworker %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), errors.String())
	}
	return out.String()
}

// lines decodes output of one JSON value a line.
func lines[T any](t *testing.T, output string) []T {
	t.Helper()
	var out []T
	decoder := json.NewDecoder(strings.NewReader(output))
	for {
		var v T
		switch err := decoder.Decode(&v); err {
		case nil:
			out = append(out, v)
		case io.EOF:
			return out
		default:
			t.Fatalf("%v in the output\n%s", err, output)
		}
	}
}

// newSession makes a session with one turn and returns its ID.
func (h *home) newSession() string {
	h.t.Helper()
	results := lines[api.Result](h.t, h.run("", "run", "--json", "hello"))
	if len(results) != 1 || results[0].Status != api.StatusCompleted {
		h.t.Fatalf("the first turn: %+v", results)
	}
	id, _, _ := strings.Cut(results[0].Run, "-r")
	return id
}

func (h *home) events(session string) []api.Event {
	h.t.Helper()
	return lines[api.Event](h.t, h.run("", "events", session, "--json"))
}

// untilAsked waits until the model was asked about a message.
func (h *home) untilAsked(text string) {
	h.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		for _, r := range h.model.Requests() {
			if r.LastUser() == text {
				return
			}
		}
		if time.Now().After(end) {
			h.t.Fatalf("the model was not asked about %q within %s", text, patience)
		}
	}
}

// program is a running openworker.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   chan string // its lines; closed at its end
	kill  func()
}

func (h *home) start(args ...string) *program {
	h.t.Helper()
	p := &program{t: h.t, cmd: h.command(args...), out: make(chan string, 4096)}
	var errors bytes.Buffer
	p.cmd.Stderr = &errors
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(p.out)
		scanner := bufio.NewScanner(stdout)
		scanner.Buffer(nil, 4<<20)
		for scanner.Scan() {
			p.out <- scanner.Text()
		}
		_ = p.cmd.Wait() // killed, as the test wants it
	}()
	p.kill = sync.OnceFunc(func() {
		_ = p.cmd.Process.Kill()
		<-ended
	})
	h.t.Cleanup(p.kill)
	return p
}

func (p *program) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// next is the next line of output as JSON. A last line that a kill has cut is none.
func next[T any](p *program) (v T, ok bool) {
	p.t.Helper()
	select {
	case line, ok := <-p.out:
		if !ok || json.Unmarshal([]byte(line), &v) != nil {
			return v, false
		}
		return v, true
	case <-time.After(patience):
		p.t.Fatalf("no output within %s", patience)
		return v, false
	}
}
