package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/openworkerai/openworker/api"
)

// settings are the options of the commands that talk.
type settings struct {
	session string
	model   string
	agent   string // a file, or the name of an agent in the store
	system  string
	approve string
	noTools bool
	tokens  int
	guards  []string // guardrails of these messages, besides the agent's
	attach  []string // files of the first message
	submit  string   // the submission ID of a run's message
}

func (s *settings) flags(cmd *cobra.Command) {
	s.agentFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&s.session, "session", "", "go on with this session instead of a new one")
	flags.StringArrayVar(&s.guards, "guardrail", nil, "besides the agent's, the guardrail `NAME` for these messages: sensitive; may be repeated")
	flags.IntVar(&s.tokens, "max-output-tokens", 0, "most that one model call may write (default 8192, or less if the model's own maximum is)")
	flags.StringArrayVar(&s.attach, "attach", nil, "a `FILE` that goes with the message, the first one of a chat: PNG, JPEG, GIF, WebP, PDF or text; may be repeated")
}

// agentFlags are the options that make a new session.
func (s *settings) agentFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.model, "model", "", "the model, as name or Provider/name; also OPENWORKER_MODEL")
	flags.StringVar(&s.agent, "agent", "", "a new session's agent: a YAML file (with .yaml or a slash in its name), or the name of an agent in the store")
	flags.StringVar(&s.system, "system", "", "instructions of a new session's agent")
	flags.StringVar(&s.approve, "approve", "never", "ask before a tool call: always|never")
	flags.BoolVar(&s.noTools, "no-tools", false, "a new session's agent has no tools")
}

// check refuses values that the flags do not take.
func (s *settings) check(flags *pflag.FlagSet) error {
	switch {
	case flags.Changed("session") && s.session == "":
		return misused("--session is empty; give the ID of a session, which openworker sessions lists")
	case s.approve != "never" && s.approve != "always":
		return misused("--approve is %q; give always or never, or --agent with a file whose approvals have another mode, auto or only", s.approve)
	case flags.Changed("max-output-tokens") && s.tokens < 1:
		return misused("--max-output-tokens is %d; give at least 1, or leave it out", s.tokens)
	case slices.Contains(s.attach, ""), slices.Contains(s.attach, "-"):
		return misused("--attach names a file; standard input is none: put it into a file, or send it as the text")
	case flags.Changed("submission-id") && s.submit == "":
		return misused("--submission-id is empty; give an ID that is this message's alone")
	case s.submit != "" && s.session == "":
		return misused("--submission-id tells the messages of one session apart; name the session with --session")
	}
	if err := checkGuardrails(s.guards); err != nil {
		return err
	}
	if flags.Changed("agent") && s.agent == "" {
		return misused("--agent is empty; give a file, or the name of an agent, which openworker agents lists")
	}
	for _, ofAgent := range []string{"system", "approve", "no-tools"} {
		if flags.Changed("agent") && flags.Changed(ofAgent) {
			return misused("--%s is part of what --agent gives; leave out one of the two", ofAgent)
		}
	}
	for _, ofAgent := range []string{"agent", "system", "approve", "no-tools"} {
		if flags.Changed("session") && flags.Changed(ofAgent) {
			return misused("--%s is for a new session: the one that --session names keeps the agent that it began with; leave out one of the two", ofAgent)
		}
	}
	return nil
}

func (m *Main) runCommand() *cobra.Command {
	var s settings
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "run TEXT",
		Short: "Send one message and print the answer",
		Long: `Sends one message, to a new session or with --session to an old one, and prints
the answer. TEXT "-" is all of standard input. The files of --attach go behind
the text, in their order; with one the text may be left out. Ctrl-C cancels the
turn; soon again it leaves, and the turn goes on when its session is opened.

What the turn asks is asked at a terminal; where there is none, the exit code is
4. openworker approvals answers in any case, also while this runs.`,
		Example: `  openworker run "Say hello"
  openworker run --session SESSION "And now in French"
  openworker run --agent reviewer.yaml --model anthropic "Look at this"
  openworker run --attach plan.pdf --attach site.png "What is missing?"
  openworker run --guardrail sensitive "My card is 4111 1111 1111 1111"
  git diff | openworker run --json --system "Review this change." -`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(s.attach) > 0 && len(args) == 0:
				return nil
			case len(s.attach) > 0:
				if err := s.oneFileEach(cmd, args); err != nil {
					return err
				}
			}
			return one(cmd, args)
		},
		RunE: m.begin(func(ctx context.Context, args []string) error {
			if err := s.check(cmd.Flags()); err != nil {
				return err
			}
			text := strings.Join(args, "")
			if text == "-" {
				data, err := io.ReadAll(io.LimitReader(m.Stdin, api.MaxMessageBytes+1))
				if err != nil {
					return err
				}
				text = string(data)
			}
			return m.run(ctx, s, text)
		}),
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&s.submit, "submission-id", "", "an `ID` of your own: the same message with the same ID is accepted once in a session, whatever was lost on the way")
	return cmd
}

func (m *Main) run(ctx context.Context, s settings, text string) (err error) {
	files, err := m.attach(s.attach)
	if err != nil {
		return err
	}
	if err := checkMessage(text, files); err != nil {
		return err
	}
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	if err := t.join(ctx); err != nil {
		return err
	}
	if m.Terminal {
		t.lines = readLines(m.Stdin, m.Stdout)
		defer t.lines.close()
	}
	m.noteFiles(files)
	result, err := t.send(ctx, text, files)
	if err != nil {
		return err
	}
	return exitFor(result.Status)
}
