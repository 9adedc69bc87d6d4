package screen

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
)

// Patience is how long a test waits for something to stand on the screen: long, for machines with much to do.
const Patience = 60 * time.Second

// Screen is a terminal's screen with what scrolled off it. Its methods may be called concurrently.
type Screen struct {
	mu       sync.Mutex
	emulator *vt.Emulator
	raw      strings.Builder
	changed  chan struct{} // closed by the next change
}

// New makes a screen. What the terminal answers to a program's questions goes to replies.
func New(width, height int, replies io.Writer) *Screen {
	s := &Screen{emulator: vt.NewEmulator(width, height), changed: make(chan struct{})}
	go func() { _, _ = io.Copy(replies, s.emulator) }() // it ends with Close
	return s
}

// Close ends the terminal's answers.
func (s *Screen) Close() {
	if pipe, ok := s.emulator.InputPipe().(io.Closer); ok {
		_ = pipe.Close()
	}
}

// Write takes what the program prints.
func (s *Screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(data)
	n, err := s.emulator.Write(data)
	close(s.changed)
	s.changed = make(chan struct{})
	return n, err
}

// Resize changes the terminal's size; the program has to be told by other means.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emulator.Resize(width, height)
}

// Raw is everything that was written.
func (s *Screen) Raw() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// Visible is what stands on the screen, a line each row.
func (s *Screen) Visible() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visible()
}

// All is what scrolled off the screen, and what stands on it.
func (s *Screen) All() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for y := range s.emulator.ScrollbackLen() {
		b.WriteString(line(s.emulator.Width(), y, s.emulator.ScrollbackCellAt) + "\n")
	}
	return b.String() + s.visible()
}

func (s *Screen) visible() string {
	var b strings.Builder
	for y := range s.emulator.Height() {
		b.WriteString(line(s.emulator.Width(), y, s.emulator.CellAt) + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func line(width, y int, at func(x, y int) *uv.Cell) string {
	var b strings.Builder
	for x := range width {
		if cell := at(x, y); cell != nil {
			b.WriteString(cell.Content)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Wait waits until what is on the screen, with what scrolled off it, is as it is to be.
func (s *Screen) Wait(t testing.TB, what string, is func(all string) bool) {
	t.Helper()
	deadline := time.After(Patience)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		all := s.All()
		if is(all) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s never came; the screen has\n%s", what, all)
		}
	}
}

// See waits until all the texts stand on the screen.
func (s *Screen) See(t testing.TB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		s.Wait(t, "“"+text+"”", func(all string) bool { return strings.Contains(all, text) })
	}
}

// Gone waits until a text stands on the screen no more; what scrolled off it does not count.
func (s *Screen) Gone(t testing.TB, text string) {
	t.Helper()
	s.Wait(t, "the end of “"+text+"”", func(string) bool { return !strings.Contains(s.Visible(), text) })
}
