package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// lines reads standard input, one line ahead of whoever takes it, so that waiting for a line and for
// anything else can be one select.
type lines struct {
	out  io.Writer   // for prompts
	next chan string // closed at the end of input
	err  error       // why it ended, once next is closed; nil at its regular end
	stop chan struct{}
}

func readLines(r io.Reader, out io.Writer) *lines {
	l := &lines{out: out, next: make(chan string), stop: make(chan struct{})}
	go func() {
		defer close(l.next)
		scanner := bufio.NewScanner(r)
		scanner.Buffer(nil, api.MaxMessageBytes+2) // with a line end
		for scanner.Scan() {
			select {
			case l.next <- strings.TrimSuffix(scanner.Text(), "\r"):
			case <-l.stop:
				return
			}
		}
		l.err = scanner.Err()
		if errors.Is(l.err, bufio.ErrTooLong) {
			l.err = api.Errorf(api.CodeInvalidRequest, "a line of standard input is longer than a message may be, %d bytes", api.MaxMessageBytes)
		}
	}()
	return l
}

// line asks for a line. The error is io.EOF at the end of input, and the cause of ctx once that is done.
func (l *lines) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(l.out, prompt)
	select {
	case text, ok := <-l.next:
		switch {
		case ok:
			return printable(text), nil
		case l.err != nil:
			return "", l.err
		}
		return "", io.EOF
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// close lets the reader go once its present read returns.
func (l *lines) close() { close(l.stop) }
