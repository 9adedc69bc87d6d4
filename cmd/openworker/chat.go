package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker/cmd/openworker/internal/chatui"
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

The files of --attach go with the first message; /attach FILE adds files to the
next one and shows each, /detach takes one back.

When standard input or output is no terminal, or a dumb one, or with --json,
each line is a message, the answers are printed plainly, and the first turn that
does not complete ends the program with its exit code; --session prints first what
the turn that was under way came to. /attach and /detach are the only commands.`,
		Example: `  openworker chat
  openworker chat --continue
  openworker chat --session SESSION
  openworker chat --attach photo.png --attach notes.txt
  echo "hello" | openworker chat`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(s.attach) > 0 && len(args) > 0 {
				if err := s.oneFileEach(cmd, args); err != nil {
					return err
				}
			}
			return cobra.NoArgs(cmd, args)
		},
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
	files, err := m.attach(s.attach)
	if err != nil {
		return err
	}
	next := &staging{m: m}
	next.tray.Back(files...)
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
	m.noteFiles(files)
	for {
		var line string
		select {
		case text, ok := <-input.next:
			if !ok {
				return cmp.Or(input.err, next.left())
			}
			line = text
		case <-m.Interrupts:
			return exitStatus(exitInterrupt)
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		line, done, err := next.take(line)
		if err != nil {
			return err
		}
		if done {
			continue
		}
		m.noCommand(line)
		result, err := t.send(ctx, line, next.tray.Take())
		if err != nil {
			return err
		}
		if err := exitFor(result.Status); err != nil {
			return err
		}
	}
}

// resume goes on with the turn that the session was in before this program opened it, and with those that were queued
// behind it: to their ends, also where those have come meanwhile. The error is an exit status where one did not complete.
func (t *talk) resume(ctx context.Context) error {
	if t.before.Run == "" {
		return nil
	}
	for _, id := range append([]string{t.before.Run}, t.before.Queue...) {
		run, err := t.session.OpenRun(ctx, id)
		if err != nil {
			return err
		}
		result, err := t.finish(ctx, run)
		if err != nil {
			return err
		}
		if err := exitFor(result.Status); err != nil {
			return err
		}
	}
	return nil
}

// noCommand warns of a line that is a command to a person's chat: here it is a message like any other.
func (m *Main) noCommand(line string) {
	if name, ok := chatui.CommandIn(line); ok {
		m.note("%s is sent to the model as a message: only a chat in a terminal has commands besides /attach and /detach; openworker --help lists the program's", name)
	}
}
