package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/openworkerai/openworker/api"
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// maxTyped is the most characters that the line editor takes from the keyboard; more it drops in silence.
	maxTyped = 4096
	// shownPaste is how long a paste of one line may be to stand in the line and not behind a name.
	shownPaste = 500
)

// editor reads lines from a terminal that gives each key as it comes. What is pasted is one text, whatever
// lines it has; a long one stands in the line under a name. Signals stay signals.
type editor struct {
	out     io.Writer
	size    func() (width, height int)
	keys    chan []byte // closed at the end of input
	err     error       // why it ended, once keys is closed
	stop    chan struct{}
	restore func()

	pending []byte // came and is not read yet
	history term.History
	pastes  []string // of this line
}

// readKeys begins to read; close ends it and gives the terminal back.
func readKeys(in io.Reader, out io.Writer, size func() (int, int), restore func()) *editor {
	e := &editor{out: out, size: size, keys: make(chan []byte), stop: make(chan struct{}), restore: restore}
	fmt.Fprint(out, "\x1b[?2004h")
	go func() {
		defer close(e.keys)
		for {
			buffer := make([]byte, 4096)
			n, err := in.Read(buffer)
			select {
			case e.keys <- buffer[:n]:
			case <-e.stop:
				return
			}
			if err != nil {
				if err != io.EOF {
					e.err = err
				}
				return
			}
		}
	}()
	return e
}

func (e *editor) close() {
	close(e.stop)
	fmt.Fprint(e.out, "\x1b[?2004l")
	e.restore()
}

// line asks for a line; io.EOF at the end of input, and Ctrl-D is one.
func (e *editor) line(ctx context.Context, prompt string) (string, error) {
	e.pastes = nil
	terminal := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{reading{ctx, e}, e.out}, prompt)
	if width, height := e.size(); width > 0 {
		if err := terminal.SetSize(width, height); err != nil {
			return "", err
		}
	}
	if e.history == nil {
		e.history = terminal.History
	}
	terminal.History = e.history
	text, err := terminal.ReadLine()
	if err != nil {
		return "", err
	}
	if len([]rune(text)) >= maxTyped {
		return "", notSent{api.Errorf(api.CodeInvalidRequest, "the line has %d characters or more, which is more than can be typed; paste it, or give it to openworker run -", maxTyped)}
	}
	for i, pasted := range e.pastes {
		text = strings.Replace(text, pasteName(i, pasted), pasted, 1)
	}
	return printable(text), nil
}

func pasteName(i int, text string) string {
	return fmt.Sprintf("[paste %d: %d lines, %d bytes]", i+1, 1+strings.Count(text, "\n"), len(text))
}

// reading gives keys to the line editor: never more than to the end of a line, so that nothing of the next is lost.
type reading struct {
	ctx context.Context
	e   *editor
}

func (r reading) Read(p []byte) (int, error) {
	e := r.e
	for {
		if bytes.HasPrefix(e.pending, []byte("\x1bO")) {
			e.pending[1] = '[' // the other form of arrows and function keys, which the line editor takes for text
		}
		if len(e.pending) >= len(pasteStart) || !strings.HasPrefix(pasteStart, string(e.pending)) {
			break
		}
		if err := e.more(r.ctx); err != nil {
			return 0, err
		}
	}
	if bytes.HasPrefix(e.pending, []byte(pasteStart)) {
		for !bytes.Contains(e.pending, []byte(pasteEnd)) {
			if err := e.more(r.ctx); err != nil {
				e.pending = nil
				return 0, err
			}
		}
		text, rest, _ := bytes.Cut(e.pending[len(pasteStart):], []byte(pasteEnd))
		e.pending = append([]byte(e.paste(string(text))), rest...)
		if len(e.pending) == 0 {
			return r.Read(p)
		}
	}
	n := len(e.pending)
	if i := bytes.IndexAny(e.pending, "\r\n"); i >= 0 {
		n = i + 1
		if bytes.HasPrefix(e.pending[i:], []byte("\r\n")) {
			n++ // one line end
		}
	}
	if i := bytes.LastIndexByte(e.pending[:n], '\x1b'); i > 0 {
		n = bytes.IndexByte(e.pending[1:n], '\x1b') + 1 // it may begin a paste
	}
	n = copy(p, e.pending[:n])
	e.pending = e.pending[n:]
	return n, nil
}

// paste is what stands in the line for a pasted text.
func (e *editor) paste(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.TrimRight(printable(text), "\n")
	if len(text) <= shownPaste && !strings.ContainsAny(text, "\n\t") {
		return text
	}
	e.pastes = append(e.pastes, text)
	return pasteName(len(e.pastes)-1, text)
}

func (e *editor) more(ctx context.Context) error {
	select {
	case data, ok := <-e.keys:
		if !ok {
			if e.err != nil {
				return e.err
			}
			return io.EOF
		}
		e.pending = append(e.pending, data...)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
