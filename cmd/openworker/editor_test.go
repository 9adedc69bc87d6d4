package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func edited(keys io.Reader) (e *editor, restored *int) {
	restored = new(int)
	return readKeys(keys, io.Discard, func() (int, int) { return 80, 24 }, func() { *restored++ }), restored
}

func TestEditingLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 1000)
	tests := []struct {
		name, keys string
		want       []string
	}{
		{"lines", "one\rtwo\nthree\r", []string{"one", "two", "three"}},
		{"arrows edit and are not sent", "hlo\x1b[D\x1b[Del\x1b[C\x1b[5~\r", []string{"hello"}},
		{"control characters are not sent", "a\x07b\x00c\x1bOPd\r", []string{"abcd"}},
		{"the line before comes back", "one\r\x1b[A\r", []string{"one", "one"}},
		{"a paste of several lines is one", "say: \x1b[200~a\r\tb\r\nc\n\x1b[201~ end\rnext\r", []string{"say: a\n\tb\nc end", "next"}},
		{"a long paste is whole", "\x1b[200~" + long + "\x1b[201~\r", []string{long}},
		{"a short paste can be edited", "\x1b[200~helloo\x1b[201~\x7f\r", []string{"hello"}},
		{"escape sequences in a paste are not sent", "\x1b[200~a\x1b[31mb\x1b[201~\r", []string{"a[31mb"}},
		{"two pastes", "\x1b[200~a\nb\x1b[201~\x1b[200~a\nb\x1b[201~\r", []string{"a\nba\nb"}},
		{"a paste of nothing", "\x1b[200~\x1b[201~x\r", []string{"x"}},
		{"Ctrl-D ends an empty line", "one\r\x04two\r", []string{"one"}},
	}
	for _, tt := range tests {
		for _, whole := range []bool{true, false} {
			name := tt.name
			if !whole {
				name += ", key by key"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var keys io.Reader = strings.NewReader(tt.keys)
				if !whole {
					keys = byKey{keys}
				}
				e, restored := edited(keys)
				var got []string
				for {
					line, err := e.line(t.Context(), "> ")
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, line)
				}
				e.close()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if *restored != 1 {
					t.Errorf("the terminal was given back %d times", *restored)
				}
			})
		}
	}
}

// byKey gives one byte at a time.
type byKey struct{ io.Reader }

func (b byKey) Read(p []byte) (int, error) { return b.Reader.Read(p[:1]) }

func TestALineThatIsTooLongToBeTypedIsRefusedWhole(t *testing.T) {
	t.Parallel()
	e, _ := edited(strings.NewReader(strings.Repeat("x", 5000) + "\rshort\r"))
	defer e.close()
	if line, err := e.line(t.Context(), ""); !errors.As(err, new(notSent)) {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	if line, err := e.line(t.Context(), ""); line != "short" || err != nil {
		t.Errorf("the next is %q, %v", line, err)
	}
}

func TestAQuestionThatIsWithdrawnTakesNoLine(t *testing.T) {
	t.Parallel()
	in, keys := io.Pipe()
	e, _ := edited(in)
	defer e.close()
	ctx, withdraw := context.WithCancelCause(t.Context())
	withdraw(errElsewhere)
	if _, err := e.line(ctx, "? "); !errors.Is(err, errElsewhere) {
		t.Errorf("%v", err)
	}
	go func() { _, _ = io.WriteString(keys, "hello\r") }()
	if line, err := e.line(t.Context(), "> "); line != "hello" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

func TestAPasteIsOneTurnAndCommandsAreNotSent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.sit(func(m *Main) {
		m.Keys = func() (func() (int, int), func(), error) {
			return func() (int, int) { return 80, 24 }, func() {}, nil
		}
	}, "chat")
	c.see("> ")
	c.enter("/help")
	c.see("/quit or Ctrl-D leaves")
	c.see("> ")
	c.enter("/qiut")
	c.see(`"/qiut" is no command and was not sent`)
	c.see("> ")
	c.enter("//tmp is what?")
	c.see("message 1 of this conversation: “/tmp is what?”")
	c.see("> ")
	c.enter("\x1b[200~first\rsecond\rthird\x1b[201~")
	c.see("[paste 1: 3 lines, 18 bytes]")
	c.see("message 2 of this conversation: “first")
	c.see("> ")
	c.interrupt()
	c.see("(Ctrl-C again, or Ctrl-D, leaves)")
	c.see("> ")
	c.enter("/quit")
	c.see("openworker chat --session ")
	c.leaves(exitOK)
}
