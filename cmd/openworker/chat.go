package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
Ctrl-D, leaves. --session goes on with a session and shows where it stands; whatever it was doing goes on as well.

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
	input := readLines(m.Stdin)
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
	m.note("Ctrl-C cancels a turn, Ctrl-D leaves")
	t.lines = readLines(m.Stdin)
	defer t.lines.close()
	if s.session != "" {
		if err := t.goOn(t.resume(ctx)); err != nil {
			return err
		}
	}
	for {
		fmt.Fprint(m.Stdout, m.paint().bold("> "))
		select {
		case line, ok := <-t.lines.next:
			if !ok {
				fmt.Fprintln(m.Stdout)
				return t.lines.err
			}
			if strings.TrimSpace(line) == "" {
				continue
			}
			_, err := t.send(ctx, line)
			if api.CodeOf(err) == api.CodeSessionBusy {
				m.note("your message was not sent: the turn before it is not over, so first that")
				err = t.resume(ctx)
			}
			if err := t.goOn(err); err != nil {
				return err
			}
		case <-m.Interrupts:
			if t.again() {
				fmt.Fprintln(m.Stdout)
				return nil
			}
			fmt.Fprintln(m.Stdout, "\n(Ctrl-C again, or Ctrl-D, leaves)")
		}
	}
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
