package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

func (m *Main) chatCommand() *cobra.Command {
	var s settings
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "chat",
		Short: "Talk, line by line",
		Long: `Talks with an agent, a message a line. Ctrl-C cancels the turn and keeps the session; a second one within two seconds, or
Ctrl-D or /quit, leaves; /help says more. What is pasted is one message. --session goes on with a session and shows where it stands; whatever it was doing goes on as well.

When standard input is no terminal each line is a message, the answers are printed plainly, and the first turn that
does not complete ends the program with its exit code.`,
		Example: `  openworker chat
  openworker chat --session SESSION
  echo "hello" | openworker chat`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error {
			if err := s.check(cmd.Flags()); err != nil {
				return err
			}
			if m.Terminal {
				return m.chat(ctx, s)
			}
			return m.pipe(ctx, s)
		}),
	}
	s.flags(cmd)
	return cmd
}

// pipe reads messages from another program. Nothing is made before the first one.
func (m *Main) pipe(ctx context.Context, s settings) (err error) {
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	input := readLines(m.Stdin, m.Stdout)
	defer input.close()
	if err := t.join(ctx); err != nil {
		return err
	}
	if s.session != "" {
		if err := t.resume(ctx); err != nil {
			m.note("nothing of standard input was sent")
			return err
		}
	}
	for {
		var line string
		select {
		case text, ok := <-input.next:
			if !ok {
				return input.err
			}
			line = text
		case <-m.Interrupts:
			return exitStatus(exitInterrupt)
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		result, err := t.send(ctx, line)
		if err != nil {
			return err
		}
		if err := exitFor(result.Status); err != nil {
			return err
		}
	}
}

// chat talks with a person. An error of one message is shown, and the next may be tried.
func (m *Main) chat(ctx context.Context, s settings) (err error) {
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	if err := t.join(ctx); err != nil {
		return err
	}
	t.chatting = true
	defer func() {
		if t.session != nil {
			m.note("%s goes on with it", m.again(t.session.ID()))
		}
	}()
	m.note("Ctrl-C cancels a turn, Ctrl-D leaves, /help says more")
	if t.lines, err = m.input(); err != nil {
		return err
	}
	defer t.lines.close()
	if s.session != "" {
		if err := t.goOn(t.resume(ctx)); err != nil {
			return err
		}
	}
	for {
		line, err := t.read(ctx)
		switch {
		case errors.Is(err, errInterrupted):
			if t.again() {
				fmt.Fprintln(m.Stdout)
				return nil
			}
			fmt.Fprintln(m.Stdout, "\n(Ctrl-C again, or Ctrl-D, leaves)")
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(m.Stdout)
			return nil
		case errors.As(err, new(notSent)):
			m.report(api.AsError(err), "")
			continue
		case err != nil:
			return err
		}
		text, leave := t.command(line)
		if leave {
			return nil
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		_, err = t.send(ctx, text)
		if api.CodeOf(err) == api.CodeSessionBusy {
			m.note("your message was not sent: the turn before it is not over, so first that")
			err = t.resume(ctx)
		}
		if err := t.goOn(err); err != nil {
			return err
		}
	}
}

// errInterrupted is a Ctrl-C at the prompt.
var errInterrupted = errors.New("interrupted")

// read asks for the next message.
func (t *talk) read(ctx context.Context) (string, error) {
	ctx, stop := context.WithCancelCause(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-t.m.Interrupts:
			stop(errInterrupted)
		case <-ctx.Done():
		}
	})
	line, err := t.lines.line(ctx, t.m.paint().bold("> "))
	stop(nil)
	watcher.Wait()
	return line, err
}

// command carries out a line that is for this program and returns what is to be sent, "" for nothing.
func (t *talk) command(line string) (text string, leave bool) {
	word := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "//"):
		return line[1:], false
	case word == "/quit":
		return "", true
	case word == "/help":
		fmt.Fprintln(t.m.Stdout, "/quit or Ctrl-D leaves, Ctrl-C cancels a turn; a message that begins with a slash begins with two")
	case strings.HasPrefix(line, "/"):
		t.m.note("%q is no command and was not sent; /help lists the commands, and a second slash in front sends it", brief(line))
	default:
		return line, false
	}
	return "", false
}

// goOn shows an error that a chat survives and returns the others.
func (t *talk) goOn(err error) error {
	var status exitStatus
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		if status == exitInterrupt {
			return err
		}
		return nil // the turn's end was shown
	case api.CodeOf(err) == api.CodeClosed, api.CodeOf(err) == api.CodeSessionDeleted:
		return err
	}
	if errors.As(err, new(notSent)) {
		t.m.note("the message was not sent")
	}
	t.m.report(api.AsError(err), t.m.nextStep(err))
	return nil
}

// resume goes on with the turn that a session is in, or shows the last one's end. The error is an exit
// status where that turn did not complete.
func (t *talk) resume(ctx context.Context) error {
	state, err := t.session.State(ctx)
	if err != nil {
		return err
	}
	if state.Run == "" {
		return t.showLast(ctx, state)
	}
	run, err := t.session.OpenRun(ctx, state.Run)
	if err != nil {
		return err
	}
	result, err := t.finish(ctx, run, true)
	if err != nil {
		return err
	}
	return exitFor(result.Status)
}

// tail is how many events are searched for the last answer: more than a turn without many tools has.
const tail = 100

// showLast shows the last turn's end to somebody who comes back.
func (t *talk) showLast(ctx context.Context, state openworker.SessionState) error {
	if !t.m.Terminal || t.m.json {
		return nil
	}
	after := uint64(0)
	if state.LastEvent > tail {
		after = state.LastEvent - tail
	}
	page, err := t.harness.Service().Events(ctx, api.EventQuery{Session: t.session.ID(), After: after, Limit: tail})
	if err != nil {
		return err
	}
	var message, answer string
	var ended api.TurnEnded
	for _, e := range page.Events {
		switch e.Type {
		case api.EventTurnAccepted:
			d, _ := decode[api.TurnAccepted](e)
			message, answer, ended = d.Text, "", api.TurnEnded{}
		case api.EventModelCallFinished:
			d, _ := decode[api.ModelCallFinished](e)
			answer = d.Text
		case api.EventTurnEnded:
			ended, _ = decode[api.TurnEnded](e)
		}
	}
	p := t.m.paint()
	if message != "" {
		fmt.Fprintln(t.m.Stdout, p.dim("> "+brief(message)))
	}
	if answer != "" {
		fmt.Fprintln(t.m.Stdout, p.dim(printable(answer)))
	}
	(&screen{out: t.m.Stdout, paint: p}).ended(ended)
	return nil
}
