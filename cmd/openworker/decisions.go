package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

// answers is a command that answers interactions.
func (m *Main) answers(cmd *cobra.Command, owner *string, kind api.InteractionKind, answer func(open openworker.Interaction, args []string) (openworker.Answer, error)) *cobra.Command {
	by := cmd.Flags().String("by", "", "who answers, for the journal (default the user's name)")
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = m.completeOne(m.interactionIDs)
	}
	cmd.RunE = m.begin(func(ctx context.Context, args []string) (err error) {
		h, err := m.openToRead(ctx)
		if err != nil {
			return err
		}
		defer closeAfter(h, &err)
		open, _, err := findInteraction(ctx, h, *owner, args[0])
		if err != nil {
			return err
		}
		if open.Kind != kind {
			return advised{api.Errorf(api.CodeInvalidRequest, "%s is of the kind %s, which this command does not answer", open.ID, kindWord(open.Kind)),
				strings.Join(m.waysToAnswer(open.Interaction), ", or ")}
		}
		given, err := answer(open.Interaction, args[1:])
		if err != nil {
			return err
		}
		if given.By = *by; given.By == "" {
			given.By = person()
		}
		return m.giveAnswer(ctx, h, open, given)
	})
	return cmd
}

// given is an answer as --json prints it.
type given struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	openworker.Answer
}

func (m *Main) giveAnswer(ctx context.Context, h *openworker.Harness, open openworker.SessionInteraction, answer openworker.Answer) error {
	err := h.Service().Resolve(ctx, open.Session, open.ID, answer)
	switch api.CodeOf(err) {
	case "":
	case api.CodeAlreadyResolved:
		return advised{err, m.here("openworker events "+open.Session) + " shows how it was answered"}
	case api.CodeArgumentsInvalid:
		return advised{err, m.here("openworker approvals show "+open.ID) + " shows the arguments that it was called with"}
	default:
		return err
	}
	if m.json {
		m.printJSON(m.Stdout, given{open.ID, open.Session, answer})
		return nil
	}
	resolved := api.InteractionResolved{Decision: answer.Decision, Reason: answer.Reason, Arguments: answer.Arguments, Answers: answer.Answers}
	fmt.Fprintf(m.Stdout, "%s %s\n", open.ID, printable(decide.Settled(open.Interaction, resolved, false)))
	m.note("the process that runs the session goes on by itself; if there is none, %s goes on", m.again(open.Session))
	return nil
}

func (m *Main) allowCommand(owner *string) *cobra.Command {
	var session bool
	var arguments string
	cmd := &cobra.Command{
		Use:   "allow ID",
		Short: "Let a tool be called: once, or from now on",
		Long: `Lets the call run: this once, with --session this and every later one of the
tool in its session, or with --arguments once with other arguments than the
model's. Those must match the tool's schema; the application's own checks are
made again.`,
		Example: `  openworker approvals allow ID
  openworker approvals allow ID --session
  openworker approvals allow ID --arguments '{"amount": 20}'
  openworker approvals allow ID --arguments @changed.json`,
		Args: one,
	}
	cmd.Flags().BoolVar(&session, "session", false, "every later call of the tool in this session too")
	cmd.Flags().StringVar(&arguments, "arguments", "", "a JSON object to call it with instead; @FILE, or - for standard input")
	return m.answers(cmd, owner, api.InteractionApproval, func(openworker.Interaction, []string) (openworker.Answer, error) {
		answer := openworker.Answer{Decision: api.AllowOnce}
		switch changed := cmd.Flags().Changed("arguments"); {
		case session && changed:
			return answer, misused("changed arguments hold for this call alone; leave out --session or --arguments")
		case session:
			answer.Decision = api.AllowSession
		case changed:
			text, err := m.readOption(arguments, api.MaxToolOutputBytes)
			if err != nil {
				return answer, err
			}
			if answer.Arguments, err = decide.Object(text); err != nil {
				return answer, api.Errorf(api.CodeInvalidRequest, "--arguments: %w", err)
			}
		}
		return answer, nil
	})
}

func (m *Main) denyCommand(owner *string) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Do not let a tool be called",
		Long: `Does not let the call run. The model is told so, not to try another way, and the
reason.`,
		Example: `  openworker approvals deny ID
  openworker approvals deny ID --reason "ask for less"`,
		Args: one,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the model")
	return m.answers(cmd, owner, api.InteractionApproval, func(openworker.Interaction, []string) (openworker.Answer, error) {
		return openworker.Answer{Decision: api.Deny, Reason: reason}, nil
	})
}

func (m *Main) answerCommand(owner *string) *cobra.Command {
	var skip bool
	cmd := &cobra.Command{
		Use:   "answer ID [ANSWER…]",
		Short: "Answer a question, or skip it",
		Long: `Answers a question: with one of its choices, by the number that show tells or as
it is written, or with any other text; with several where the question takes
them. --skip lets the model go on with its own judgement.`,
		Example: `  openworker approvals answer ID 2
  openworker approvals answer ID "the blue one, but darker"
  openworker approvals answer ID red blue
  openworker approvals answer ID --skip`,
		Args: some,
	}
	cmd.Flags().BoolVar(&skip, "skip", false, "nobody answers it")
	return m.answers(cmd, owner, api.InteractionQuestion, func(open openworker.Interaction, texts []string) (openworker.Answer, error) {
		switch several := open.Question != nil && open.Question.Multiple; {
		case skip && len(texts) > 0:
			return openworker.Answer{}, misused("--skip answers nothing; leave it out, or the answer")
		case skip:
			return openworker.Answer{Decision: api.Skipped}, nil
		case len(texts) == 0:
			return openworker.Answer{}, misused("give the answer, or --skip; %s shows the choices", m.here("openworker approvals show "+open.ID))
		case len(texts) > 1 && !several:
			return openworker.Answer{}, misused("the question takes one answer, and %d are given; put one with spaces in quotes", len(texts))
		}
		answer := openworker.Answer{Decision: api.Answered}
		for _, text := range texts {
			answer.Answers = append(answer.Answers, picked(open.Question, text))
		}
		return answer, nil
	})
}

// picked is the choice that a text names, by its label or its number, or the text itself.
func picked(q *api.Question, text string) string {
	if q == nil {
		return text
	}
	for _, c := range q.Choices {
		if strings.EqualFold(c.Label, text) {
			return c.Label
		}
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Choices) {
		return q.Choices[n-1].Label
	}
	return text
}

func (m *Main) outcomeCommand(owner *string) *cobra.Command {
	var output, reason string
	outcomes := map[string]api.Decision{"succeeded": api.OutcomeSucceeded, "failed": api.OutcomeFailed, "retry": api.OutcomeRetry}
	cmd := &cobra.Command{
		Use:   "outcome ID succeeded|failed|retry",
		Short: "Say what became of an action whose process died inside it",
		Long: `Says what became of an action whose process died inside it: it succeeded, and
returned --output; it failed and will not happen, for --reason; or it is to run
again under the same call ID. Look before you say so: nothing else can.`,
		Example: `  openworker approvals outcome ID succeeded --output "receipt 7"
  openworker approvals outcome ID failed --reason "the bank was closed"
  openworker approvals outcome ID retry`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || outcomes[args[1]] == "" {
				return misused("%s needs %s", cmd.CommandPath(), operand(cmd))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "with succeeded: what it returned")
	cmd.Flags().StringVar(&reason, "reason", "", "with failed: why")
	complete := m.completeOne(m.interactionIDs)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return continuing(typed, []string{"failed", "retry", "succeeded"}), cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
	return m.answers(cmd, owner, api.InteractionUnknownOutcome, func(_ openworker.Interaction, args []string) (openworker.Answer, error) {
		answer := openworker.Answer{Decision: outcomes[args[0]], Output: output, Reason: reason}
		switch {
		case cmd.Flags().Changed("output") && answer.Decision != api.OutcomeSucceeded:
			return answer, misused("--output belongs to succeeded; leave it out")
		case cmd.Flags().Changed("reason") && answer.Decision != api.OutcomeFailed:
			return answer, misused("--reason belongs to failed; leave it out")
		}
		return answer, nil
	})
}
