package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

func (m *Main) approvalsCommand() *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List what waits for an answer in any session, and answer it",
		Long: `Lists what waits for a person's answer, over all sessions, oldest first: ID,
kind (approval, question, unknown outcome), age, agent, and what is asked. The
subcommands answer. An answer is final; the process that runs the session goes
on by itself, and if there is none, openworker chat --session SESSION does.

An ID begins with its session's. Its beginning is enough: at least 4 characters
that no other one's begins with. What waits goes before what was answered.`,
		Example: `  openworker approvals
  openworker approvals show ID
  openworker approvals allow ID --session
  openworker approvals deny ID --reason "not on a Friday"
  openworker approvals answer ID blue
  openworker approvals --json | jq -r .id`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error { return m.listApprovals(ctx, owner) }),
	}
	cmd.PersistentFlags().StringVar(&owner, "owner", "", "only sessions of this owner")
	listToo(cmd)
	cmd.AddCommand(m.approvalsShowCommand(&owner), m.allowCommand(&owner), m.denyCommand(&owner), m.answerCommand(&owner), m.outcomeCommand(&owner))
	return cmd
}

// pending is an interaction as --json prints it.
type pending struct {
	openworker.SessionInteraction
	Agent string `json:"agent"`
	Asks  string `json:"asks"` // in one line
}

func (m *Main) listApprovals(ctx context.Context, owner string) (err error) {
	h, err := m.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closeAfter(h, &err)
	out := bufio.NewWriter(m.Stdout)
	list := table{head: []string{"id", "kind", "age", "agent", "asks"}, dim: 2}
	agents := map[string]string{} // by session
	for open, err := range h.Interactions(ctx, openworker.InteractionQuery{Owner: owner, Limit: api.MaxPage}) {
		if err != nil {
			return err
		}
		agent, known := agents[open.Session]
		if !known {
			state, err := h.Service().State(ctx, open.Session)
			if gone(err) {
				continue
			}
			if err != nil {
				return err
			}
			agent = state.Agent
			agents[open.Session] = agent
		}
		if m.json {
			m.printJSON(out, pending{open, agent, question(open.Interaction)})
			continue
		}
		list.add(open.ID, kindWord(open.Kind), age(m.Now().Sub(open.Asked)), agent, question(open.Interaction))
	}
	list.print(out, m.Terminal, m.paint())
	if len(list.rows) == 0 {
		m.note("nothing waits for an answer")
	}
	return out.Flush()
}

// kindWord is a kind for people.
func kindWord(kind api.InteractionKind) string {
	if kind == api.InteractionUnknownOutcome {
		return "unknown outcome"
	}
	return string(kind)
}

// age is how long ago something was.
func age(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

func (m *Main) approvalsShowCommand(owner *string) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show what is asked, whole",
		Long: `Shows what is asked: the action with all of its arguments, or the question with
its choices, what a reviewer found, and the commands that answer it.`,
		Example: `  openworker approvals show ID
  openworker approvals show ID --json`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.interactionIDs),
		RunE: m.begin(func(ctx context.Context, args []string) (err error) {
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			open, how, err := findInteraction(ctx, h, *owner, args[0])
			if err != nil {
				return err
			}
			if how != nil {
				return advised{api.Errorf(api.CodeAlreadyResolved, "%s waits for nothing any more: %s", open.ID, decide.Settled(open.Interaction, *how, true)),
					m.here("openworker events "+open.Session) + " shows what followed"}
			}
			state, err := h.Service().State(ctx, open.Session)
			if err != nil {
				return err
			}
			if m.json {
				m.printJSON(m.Stdout, pending{open, state.Agent, question(open.Interaction)})
				return nil
			}
			m.printAsked(open, state.Agent)
			return nil
		}),
	}
}

func (m *Main) printAsked(open openworker.SessionInteraction, agent string) {
	p := m.paint()
	line := func(name, text string) { fmt.Fprintf(m.Stdout, "%-9s%s\n", name, printable(text)) }
	line("id", open.ID)
	line("session", open.Session)
	line("agent", agent)
	line("kind", kindWord(open.Kind))
	line("asked", fmt.Sprintf("%s, %s ago", open.Asked.Local().Format(time.DateTime+" MST"), age(m.Now().Sub(open.Asked))))
	if open.Call != nil && open.Question == nil {
		line("call", decide.Call(open.Interaction)+", "+open.Call.CallID)
	}
	if open.Review != nil {
		line("review", decide.WholeReview(*open.Review))
	}
	fmt.Fprintln(m.Stdout)
	if q := open.Question; q != nil {
		fmt.Fprintln(m.Stdout, p.bold(printable(q.Text)))
		for n, c := range q.Choices {
			text := fmt.Sprintf("  %d  %s", n+1, brief(c.Label))
			if c.Description != "" {
				text += " — " + printable(c.Description)
			}
			fmt.Fprintln(m.Stdout, text)
		}
		if q.Multiple {
			fmt.Fprintln(m.Stdout, p.dim("several answers can be given"))
		}
	} else if open.Call != nil {
		fmt.Fprintln(m.Stdout, decide.Editable(decide.CallArguments(open.Interaction)))
	}
	fmt.Fprintln(m.Stdout)
	for _, way := range m.waysToAnswer(open.Interaction) {
		fmt.Fprintln(m.Stdout, p.dim(way))
	}
}

// waysToAnswer are the commands that answer an interaction, the usual one first.
func (m *Main) waysToAnswer(i openworker.Interaction) (ways []string) {
	verbs := map[api.InteractionKind][]string{
		api.InteractionApproval:       {"allow " + i.ID, "allow " + i.ID + " --session", "allow " + i.ID + " --arguments JSON", "deny " + i.ID + " --reason TEXT"},
		api.InteractionQuestion:       {"answer " + i.ID + " ANSWER", "answer " + i.ID + " --skip"},
		api.InteractionUnknownOutcome: {"outcome " + i.ID + " succeeded|failed|retry"},
	}
	for _, verb := range verbs[i.Kind] {
		ways = append(ways, m.here("openworker approvals "+verb))
	}
	return ways
}

// readOption is the value of an option that can be in a file, @FILE, or come from standard input, "-".
func (m *Main) readOption(value string, limit int64) (string, error) {
	name, from := "standard input", m.Stdin
	if path, inFile := strings.CutPrefix(value, "@"); inFile {
		file, err := os.Open(path)
		if err != nil {
			return "", api.Errorf(api.CodeInvalidRequest, "the file cannot be read: %w", err)
		}
		defer func() { _ = file.Close() }() // only read
		name, from = path, file
	} else if value != "-" {
		return value, nil
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	switch {
	case err != nil:
		return "", api.Errorf(api.CodeInvalidRequest, "%s cannot be read: %w", name, err)
	case int64(len(data)) > limit:
		return "", api.Errorf(api.CodeInvalidRequest, "%s has more than %d bytes, which is the most that there may be", name, limit)
	}
	return string(data), nil
}
