//go:build unix

package tty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/openworkerai/openworker/test/tty/screen"
)

// program is the built openworker.
var program string

func TestMain(m *testing.M) {
	os.Exit(build(m.Run))
}

func build(run func() int) int {
	dir, err := os.MkdirTemp("", "openworker-tty-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "openworker")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/openworker").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return run()
}

const (
	enter    = "\r"
	altEnter = "\x1b\r"
	up       = "\x1b[A"
	down     = "\x1b[B"
	ctrlC    = "\x03"
	ctrlD    = "\x04"
	ctrlJ    = "\n"
	ctrlO    = "\x0f"
)

// place is a directory with a state in it.
type place struct {
	t   *testing.T
	dir string
	env []string
}

func newPlace(t *testing.T, env ...string) *place {
	dir := t.TempDir()
	return &place{t, dir, append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color", "LANG=C.UTF-8",
		"OPENWORKER_STATE_DIR=" + filepath.Join(dir, "state"), "OPENWORKER_NO_DISCOVERY=1",
	}, env...)}
}

// seat is a person's terminal with the program on it.
type seat struct {
	t *testing.T
	*screen.Screen
	terminal, line *os.File // the two ends
	before         *term.State
	cmd            *exec.Cmd
	exit           chan error
}

// sit runs the program on a terminal of 80 by 24.
func (p *place) sit(args ...string) *seat {
	p.t.Helper()
	terminal, line, err := pty.Open()
	if err != nil {
		p.t.Fatal(err)
	}
	s := &seat{t: p.t, Screen: screen.New(80, 24, terminal), terminal: terminal, line: line, cmd: exec.Command(program, args...), exit: make(chan error, 1)}
	if err := pty.Setsize(terminal, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		p.t.Fatal(err)
	}
	if s.before, err = term.GetState(int(line.Fd())); err != nil {
		p.t.Fatal(err)
	}
	s.cmd.Dir, s.cmd.Env = p.dir, p.env
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = line, line, line
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { _, _ = io.Copy(s.Screen, terminal) }() // it ends when the terminal is closed
	go func() { s.exit <- s.cmd.Wait() }()
	p.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = line.Close()
		_ = terminal.Close()
		s.Close()
	})
	return s
}

// press types keys.
func (s *seat) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.terminal, keys); err != nil {
		s.t.Fatal(err)
	}
}

// say types a message, sees it in the input, and sends it.
func (s *seat) say(text string) {
	s.t.Helper()
	s.press(text)
	s.Wait(s.t, "> "+text, func(string) bool { return strings.Contains(s.Visible(), "> "+text) })
	s.press(enter)
}

// idle waits until no turn is under way.
func (s *seat) idle() {
	s.t.Helper()
	s.Wait(s.t, "the end of the turn", func(string) bool { return strings.Contains(s.Visible(), "last turn") })
}

func (s *seat) resize(width, height int) {
	s.t.Helper()
	s.Resize(width, height)
	if err := pty.Setsize(s.terminal, &pty.Winsize{Cols: uint16(width), Rows: uint16(height)}); err != nil {
		s.t.Fatal(err)
	}
}

// ended waits for the program's end.
func (s *seat) ended() error {
	s.t.Helper()
	select {
	case err := <-s.exit:
		return err
	case <-time.After(screen.Patience):
		s.t.Fatalf("the program does not end; the screen has\n%s", s.All())
		return nil
	}
}

// leaves waits for the program's end and checks that the terminal is as it was.
func (s *seat) leaves(code int) {
	s.t.Helper()
	got := 0
	if err := s.ended(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		got = exit.ExitCode()
	}
	if got != code {
		s.t.Errorf("exit code %d, want %d; the screen has\n%s", got, code, s.All())
	}
	after, err := term.GetState(int(s.line.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	if !reflect.DeepEqual(s.before, after) {
		s.t.Errorf("the terminal's modes were %+v and are %+v", s.before, after)
	}
	for _, mode := range []struct{ name, on, off string }{
		{"bracketed paste", "\x1b[?2004h", "\x1b[?2004l"},
		{"a hidden cursor", "\x1b[?25l", "\x1b[?25h"},
		{"the keyboard's protocol", "\x1b[>1u", "\x1b[<1u"},
	} {
		s.Wait(s.t, "the end of "+mode.name, func(string) bool {
			raw := s.Raw()
			return strings.LastIndex(raw, mode.off) >= strings.LastIndex(raw, mode.on)
		})
	}
}

// session is the ID that the program said it made.
func (s *seat) session() (id string) {
	s.t.Helper()
	s.Wait(s.t, "the session's ID", func(all string) bool {
		_, rest, ok := strings.Cut(all, "  session ")
		id, _, _ = strings.Cut(rest, "\n")
		return ok && strings.Contains(rest, "\n")
	})
	return id
}
