package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

func (m *Main) chatCommand() *cobra.Command {
	var s settings
	var latest bool
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "chat",
		Short: "Talk",
		Long: `Talks with an agent. Enter sends, Ctrl-C cancels the turn and keeps the session;
a second one within two seconds, or Ctrl-D or /quit, leaves; /help says more.
What is pasted is one message. --session goes on with a session and shows where it
stands, --continue with the one in which something happened last; whatever it
was doing goes on as well, and so does the model of its last turn.

When standard input or output is no terminal, or a dumb one, or with --json,
each line is a message, the answers are printed plainly, and the first turn that
does not complete ends the program with its exit code.`,
		Example: `  openworker chat
  openworker chat --continue
  openworker chat --session SESSION
  echo "hello" | openworker chat`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error {
			if err := s.check(cmd.Flags()); err != nil {
				return err
			}
			if latest {
				if err := m.goOnWithLatest(ctx, cmd.Flags(), &s); err != nil {
					return err
				}
			}
			if term, _ := m.Lookup("TERM"); m.Terminal && !m.json && term != "dumb" {
				return m.chat(ctx, s)
			}
			m.Terminal = false
			return m.pipe(ctx, s)
		}),
	}
	s.flags(cmd)
	cmd.Flags().BoolVarP(&latest, "continue", "c", false, "go on with the session in which something happened last")
	return cmd
}

// pipe reads messages from another program. Nothing is made before the first one.
func (m *Main) pipe(ctx context.Context, s settings) (err error) {
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	t.lasts = true
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

// resume goes on with the turn that a session is in, if there is one. The error is an exit status where it did not
// complete.
func (t *talk) resume(ctx context.Context) error {
	state, err := t.session.State(ctx)
	if err != nil {
		return err
	}
	if state.Run == "" {
		return nil
	}
	run, err := t.session.OpenRun(ctx, state.Run)
	if err != nil {
		return err
	}
	result, err := t.finish(ctx, run)
	if err != nil {
		return err
	}
	return exitFor(result.Status)
}
