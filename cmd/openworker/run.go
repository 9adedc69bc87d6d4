package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// settings are the options of the commands that talk.
type settings struct {
	session string
	model   string
	system  string
	approve string
	noTools bool
	tokens  int
}

func (s *settings) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.session, "session", "", "go on with this session instead of a new one")
	flags.StringVar(&s.model, "model", "", "the model's name; also OPENWORKER_MODEL")
	flags.StringVar(&s.system, "system", "", "instructions of a new session's agent")
	flags.StringVar(&s.approve, "approve", "never", "ask before each tool call, or never: ask|never")
	flags.BoolVar(&s.noTools, "no-tools", false, "a new session's agent has no tools")
	flags.IntVar(&s.tokens, "max-output-tokens", 0, "most that one model call may write (default 8192, or less if the model's own maximum is)")
	for _, ofAgent := range []string{"system", "approve", "no-tools"} {
		cmd.MarkFlagsMutuallyExclusive("session", ofAgent) // a session keeps the agent that it began with
	}
}

func (m *Main) runCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "run TEXT",
		Short: "Send one message and print the answer",
		Long: `Sends one message, to a new session or with --session to an old one, and prints the answer. TEXT "-" is all of
standard input. Ctrl-C cancels the turn; soon again it leaves, and the turn goes on when its session is opened.`,
		Example: `  openworker run "Say hello"
  openworker run --session SESSION "And now in French"
  git diff | openworker run --json --system "Review this change." -`,
		Args: cobra.ExactArgs(1),
		RunE: m.begin(func(ctx context.Context, args []string) error {
			text := args[0]
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
	return cmd
}

func (m *Main) run(ctx context.Context, s settings, text string) (err error) {
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	if err := t.join(ctx); err != nil {
		return err
	}
	if m.Terminal {
		t.lines = readLines(m.Stdin)
		defer t.lines.close()
	}
	result, err := t.send(ctx, text)
	if err != nil {
		return err
	}
	return exitFor(result.Status)
}

// talk opens the state directory with the model that the settings and the environment say.
func (m *Main) talk(ctx context.Context, s settings) (*talk, error) {
	c, err := m.choose(ctx, s.model)
	if err != nil {
		return nil, err
	}
	def, err := s.definition(c.model)
	if err != nil {
		return nil, err
	}
	h, err := m.open(ctx, c)
	if err != nil {
		return nil, err
	}
	m.note("%s", c.line)
	t := &talk{m: m, harness: h, settings: s, choice: c, agent: def}
	if s.tokens != 0 {
		t.options.Limits.MaxOutputTokensPerCall = &s.tokens
	}
	return t, nil
}

// join makes the session, or finds the one that the settings name.
func (t *talk) join(ctx context.Context) error {
	if t.settings.session == "" {
		agent, err := t.harness.Agent(ctx, t.agent)
		if err != nil {
			return err
		}
		if t.session, err = agent.NewSession(ctx); err != nil {
			return err
		}
		t.m.note("session %s", t.session.ID())
		return nil
	}
	if err := t.harness.Bind(tools(time.Now)...); err != nil {
		return err
	}
	ref, state, err := findSession(ctx, t.harness, t.settings.session)
	if err != nil {
		return err
	}
	agent, err := t.harness.StoredAgent(ctx, ref.Agent)
	if err != nil {
		return err
	}
	if t.session, err = agent.ResumeSession(ctx, ref); err != nil {
		return err
	}
	t.m.note("session %s: %s, %d events, %d tokens in and %d out so far", ref.Session,
		state.Activity, state.LastEvent, state.Usage.InputTokens, state.Usage.OutputTokens)
	// The session keeps its model unless another was asked for; that no server is configured asks for none.
	if t.choice.model != state.Model && (t.choice.server || t.settings.model != "") {
		t.options.Model = &t.choice.model
	}
	return nil
}

// note tells a person something that is no part of the output.
func (m *Main) note(format string, args ...any) {
	if !m.json {
		fmt.Fprintf(m.Stderr, "openworker: "+format+"\n", args...)
	}
}

// findSession finds a session by its ID alone.
func findSession(ctx context.Context, h *openworker.Harness, id string) (openworker.SessionReference, openworker.SessionState, error) {
	ref := openworker.SessionReference{Session: id}
	capabilities, err := h.Service().Capabilities(ctx)
	if err != nil {
		return ref, openworker.SessionState{}, err
	}
	state, err := h.Service().State(ctx, id)
	ref.Store, ref.Agent = capabilities.Store, state.Agent
	return ref, state, err
}
