package main

import (
	"context"
	"fmt"
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
	case api.CodeGuardrailMissing:
		return advised{err, "the program that has it takes this answer; here " + m.withoutText(open.Interaction)}
	case api.CodeArgumentsInvalid:
		return advised{err, m.here("openworker approvals show "+open.ID) + " shows the arguments that it was called with"}
	default:
		return err
	}
	stored := api.InteractionResolved{Decision: answer.Decision, By: answer.By}
	if _, how, err := resolvedBefore(ctx, h, "", open.ID); err == nil && how != nil {
		stored = *how // as guardrails let it pass: what they redacted is not said again
	}
	answer.By, answer.Reason, answer.Arguments, answer.Answers = stored.By, stored.Reason, stored.Arguments, stored.Answers
	if m.json {
		answer.Output = "" // which may be redacted too; the call's result has it
		m.printJSON(m.Stdout, given{open.ID, open.Session, answer})
		return nil
	}
	fmt.Fprintf(m.Stdout, "%s %s\n", open.ID, printable(decide.Settled(open.Interaction, stored, false)))
	return m.noteGoesOn(ctx, h, open.Session)
}

// noteGoesOn tells who goes on with a session that has an answer now.
func (m *Main) noteGoesOn(ctx context.Context, h *openworker.Harness, session string) error {
	state, err := h.Service().State(ctx, session)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	lacking, err := lackedBy(ctx, h, state)
	switch {
	case err != nil:
		return err
	case len(lacking) > 0:
		m.note("%s", onlyWith(lacking))
	default:
		m.note("the process that runs the session goes on by itself; if there is none, %s goes on", m.again(session))
	}
	return nil
}

// withoutText says which answers to an interaction have no text for a guardrail to look at.
func (m *Main) withoutText(i openworker.Interaction) string {
	command := func(rest string) string { return m.here("openworker approvals " + rest) }
	switch i.Kind {
	case api.InteractionQuestion:
		return command("answer "+i.ID+" --skip") + " can be given"
	case api.InteractionUnknownOutcome:
		return command("outcome "+i.ID+" succeeded|failed|retry") + " can be given, without --output and --reason"
	}
	return command("allow "+i.ID) + " can be given, without --arguments, or " + command("deny "+i.ID) + ", without --reason"
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
	var own []string
	cmd := &cobra.Command{
		Use:   "answer ID [ANSWER…]",
		Short: "Answer a question, or skip it",
		Long: `Answers a question: with one of its choices, by the number that show tells or as
it is written, or with any other text; with several where the question takes
them. --text is taken as it is, also where it is a number. --skip lets the model
go on with its own judgement.`,
		Example: `  openworker approvals answer ID 2
  openworker approvals answer ID "the blue one, but darker"
  openworker approvals answer ID --text 7
  openworker approvals answer ID red blue
  openworker approvals answer ID --skip`,
		Args: some,
	}
	cmd.Flags().BoolVar(&skip, "skip", false, "nobody answers it")
	cmd.Flags().StringArrayVar(&own, "text", nil, "an answer in your own words, never the number of a choice; may be repeated")
	return m.answers(cmd, owner, api.InteractionQuestion, func(open openworker.Interaction, texts []string) (openworker.Answer, error) {
		switch several, count := open.Question != nil && open.Question.Multiple, len(texts)+len(own); {
		case skip && count > 0:
			return openworker.Answer{}, misused("--skip answers nothing; leave it out, or the answer")
		case skip:
			return openworker.Answer{Decision: api.Skipped}, nil
		case count == 0:
			return openworker.Answer{}, misused("give the answer, or --skip; %s shows the choices", m.here("openworker approvals show "+open.ID))
		case count > 1 && !several:
			return openworker.Answer{}, misused("the question takes one answer, and %d are given; put one with spaces in quotes", count)
		}
		answer := openworker.Answer{Decision: api.Answered}
		for _, text := range texts {
			picked, err := decide.Picked(open.Question, text)
			if err != nil {
				return answer, misused("%w; give --text %s if it is your answer all the same", err, text)
			}
			answer.Answers = append(answer.Answers, picked)
		}
		answer.Answers = append(answer.Answers, own...)
		return answer, nil
	})
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
