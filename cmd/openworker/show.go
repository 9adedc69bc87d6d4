package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

func (m *Main) sessionsShowCommand() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show where a session stands",
		Long: `Shows where a session stands: what it is doing and waits for, its agent and
model, what it has used, open questions, queued messages, actions whose outcome
is unknown, and its last messages. Looking runs nothing.`,
		Example: `  openworker sessions show SESSION
  openworker sessions show SESSION --last 20 --json`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.sessionIDs),
		RunE: m.begin(func(ctx context.Context, args []string) (err error) {
			if last < 0 || last > api.MaxPage {
				return misused("--last is %d; give 0 to %d", last, api.MaxPage)
			}
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			ref, state, err := findSession(ctx, h, args[0])
			if err != nil {
				return err
			}
			messages, err := lastMessages(ctx, h, ref.Session, last)
			if err != nil {
				return err
			}
			ended, err := lastTurn(ctx, h, state)
			if err != nil {
				return err
			}
			activity, err := activityOf(ctx, h, state)
			if err != nil {
				return err
			}
			lacking, err := lackedBy(ctx, h, state)
			if err != nil {
				return err
			}
			state.WaitingFor, _ = waiting(state)
			if m.json {
				m.printJSON(m.Stdout, shownSession{state, ended, messages})
				return nil
			}
			m.printState(state, activity, ended, messages)
			next := m.again(state.Session) + " goes on with it"
			if len(lacking) > 0 {
				next = onlyWith(lacking)
			}
			fmt.Fprintf(m.Stdout, "\n%s\n", m.paint().dim(printable(next)))
			return nil
		}),
	}
	cmd.Flags().IntVar(&last, "last", 4, "how many of its last messages")
	return cmd
}

// shownSession is a session as --json prints it.
type shownSession struct {
	openworker.SessionState
	LastTurn     *turnShown               `json:"lastTurn,omitempty"` // the last one that ended
	LastMessages []openworker.HistoryItem `json:"lastMessages"`
}

type turnShown struct {
	Run    string        `json:"run"`
	Status api.RunStatus `json:"status"`
	Error  *api.Failure  `json:"error,omitempty"`
}

// lastTurn is how the session's last turn ended, nil before one did. It stands near the journal's end: behind it is no
// more than the turn that is under way.
func lastTurn(ctx context.Context, h *openworker.Harness, s openworker.SessionState) (last *turnShown, err error) {
	query := api.EventQuery{Session: s.Session, Limit: api.MaxPage}
	if s.LastEvent > api.MaxPage {
		query.After = s.LastEvent - api.MaxPage
	}
	page, err := h.Service().Events(ctx, query)
	if err != nil {
		return nil, err
	}
	for _, e := range page.Events {
		if d, ok := decode[api.TurnEnded](e); ok && e.Type == api.EventTurnEnded {
			last = &turnShown{e.Run, d.Status, d.Error}
		}
	}
	return last, nil
}

// lastMessages are the last items of a session that somebody said.
func lastMessages(ctx context.Context, h *openworker.Harness, session string, count int) ([]openworker.HistoryItem, error) {
	kept := []openworker.HistoryItem{}
	for query := (api.HistoryQuery{Session: session, Limit: api.MaxPage}); count > 0; {
		page, err := h.Service().History(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			if item.Type == "user" || item.Type == "assistant" && item.Text != "" {
				kept = append(kept, item)
			}
		}
		if len(kept) > count { // the whole of a long history is never held
			kept = slices.Clone(kept[len(kept)-count:])
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			break
		}
	}
	return kept, nil
}

func (m *Main) printState(s openworker.SessionState, activity string, ended *turnShown, messages []openworker.HistoryItem) {
	p := m.paint()
	line := func(name, format string, args ...any) {
		fmt.Fprintf(m.Stdout, "%-12s %s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	line("session", "%s", s.Session)
	line("activity", "%s", activity+map[string]string{unfinished: ": under way or interrupted", answered: ", not gone on with"}[activity])
	if s.Run != "" {
		line("run", "%s", s.Run)
	}
	for _, reason := range s.WaitingFor {
		if reason.Interaction == "" {
			line("waits for", "%s %s", reason.Code, reason.Name)
		}
	}
	if ended != nil && ended.Status != api.StatusCompleted {
		said := string(ended.Status)
		if ended.Error != nil {
			said += ": " + string(ended.Error.Code) + ": " + ended.Error.Message
		}
		line("last turn", "%s", said)
	}
	line("agent", "%s", s.Agent)
	line("model", "%s", s.Model)
	line("used", "%s", tokens(s.Usage))
	if s.Workspace != "" {
		line("workspace", "%s", s.Workspace)
	}
	line("created", "%s", s.Created.Local().Format(time.DateTime+" MST"))
	line("events", "%d", s.LastEvent)
	for _, open := range s.Interactions {
		line("question", "%s", question(open))
	}
	for _, action := range s.UnknownActions {
		line("unknown", "%s, call %s, attempt %d: whether it took effect is not known", printable(action.Tool), action.CallID, action.Attempt)
	}
	for _, run := range s.Queue {
		line("queued", "%s", run)
	}
	for _, timer := range s.Timers {
		line("timer", "%s at %s", timer.Kind, timer.At.Local().Format(time.DateTime+" MST"))
	}
	for _, grant := range s.Grants {
		line("allowed", "%s", printable(grant.Tool))
	}
	for _, item := range messages {
		if item.Type != "user" {
			fmt.Fprintf(m.Stdout, "\n%s\n", printable(item.Text))
			continue
		}
		fmt.Fprintln(m.Stdout)
		for _, piece := range attached.Pieces(item.Text, attached.FromHistory(item.Content)) {
			style := p.bold
			if piece.File {
				style = p.dim
			}
			fmt.Fprintln(m.Stdout, style("> "+strings.ReplaceAll(printable(piece.Text), "\n", "\n> ")))
		}
	}
}
