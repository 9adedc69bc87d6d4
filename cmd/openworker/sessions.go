package main

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

func (m *Main) sessionsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions, newest activity first",
		Long: `Lists the sessions, newest activity first: ID, what it is doing, when something
was last written, how many events there are, its agent, or its model where the
agent is one of the command line's own, and how its first message begins. A
session without a message is listed with --all.

Wherever a command names a session, the beginning of its ID is enough: at least
4 characters that no other session's begins with.`,
		Example: `  openworker sessions
  openworker sessions --json
  openworker sessions show SESSION
  openworker sessions grants SESSION
  openworker sessions compact SESSION
  openworker sessions import conversation.json --agent reviewer.yaml
  openworker sessions export SESSION --portable
  openworker sessions delete --idle-for 720h`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) (err error) {
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			out := bufio.NewWriter(m.Stdout)
			list := table{head: []string{"session", "activity", "last written", "events", "agent or model", "first message"}, dim: 2}
			hidden := 0
			for info, err := range h.Sessions(ctx, openworker.SessionQuery{Limit: api.MaxPage}) {
				if err != nil {
					return err
				}
				first, err := firstTurn(ctx, h, info)
				if err != nil {
					return err
				}
				said := attached.Brief(first.Text, first.Content)
				switch {
				case said == "" && !all:
					hidden++
				case m.json:
					m.printJSON(out, listed{info.Reference.Session, info, brief(first.Text)})
				default:
					activity, err := standing(ctx, h, info)
					if err != nil {
						return err
					}
					list.add(info.Reference.Session, activity, info.Updated.Local().Format(time.DateTime+" MST"),
						strconv.FormatUint(info.LastEvent, 10), agentOrModel(info.Reference.Agent, first.Model), quotedOr(said))
				}
			}
			list.print(out, m.Terminal, m.paint())
			switch {
			case len(list.rows) > 0:
			case hidden > 0:
				m.note("there is no session with a message; --all lists %d without", hidden)
			default:
				m.note("there is no session yet; openworker chat begins one")
			}
			return out.Flush()
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "sessions without a message too")
	listToo(cmd)
	cmd.AddCommand(m.sessionsShowCommand(), m.grantsCommand(), m.compactCommand(), m.importCommand(), m.sessionsExportCommand(), m.deleteCommand())
	return cmd
}

// listed is a session as --json prints it.
type listed struct {
	Session string `json:"session"`
	openworker.SessionInfo
	FirstMessage string `json:"firstMessage,omitempty"` // its beginning
}

// firstMessage is how a session's first message begins, "" while there is none.
func firstMessage(ctx context.Context, h *openworker.Harness, info openworker.SessionInfo) (string, error) {
	first, err := firstTurn(ctx, h, info)
	return attached.Brief(first.Text, first.Content), err
}

// firstTurn is a session's first turn as it was accepted, without a text while there is none. An imported conversation's
// first message counts as one, that no model is told of.
func firstTurn(ctx context.Context, h *openworker.Harness, info openworker.SessionInfo) (api.TurnAccepted, error) {
	for after := uint64(0); after < info.LastEvent; {
		page, err := h.Service().Events(ctx, api.EventQuery{Session: info.Reference.Session, After: after, Limit: 5})
		if gone(err) {
			return api.TurnAccepted{}, nil
		}
		if err != nil {
			return api.TurnAccepted{}, err
		}
		for _, e := range page.Events {
			if d, ok := decode[api.TurnAccepted](e); ok && e.Type == api.EventTurnAccepted {
				return d, nil
			}
			if d, ok := decode[api.HistoryImported](e); ok && e.Type == api.EventHistoryImported && len(d.Items) > 0 {
				return api.TurnAccepted{Text: d.Items[0].Text}, nil
			}
			after = e.Number
		}
		if !page.More {
			break
		}
	}
	return api.TurnAccepted{}, nil
}

// gone reports whether a session was deleted since it was listed.
func gone(err error) bool {
	code := api.CodeOf(err)
	return code == api.CodeSessionDeleted || code == api.CodeSessionNotFound
}

// unfinished is what a session does whose turn has not ended and that waits for nothing but a process to run it. One
// that looks cannot tell whether another process is at it.
const unfinished = "unfinished"

// answered is what such a session does whose newest happening is an answer to what it asked.
const answered = "answered"

// standing is what a session is doing. That whoever looks could not go on with it is nothing that it waits for.
func standing(ctx context.Context, h *openworker.Harness, info openworker.SessionInfo) (string, error) {
	if info.Activity != api.Waiting && info.Activity != api.Recovering {
		return string(info.Activity), nil
	}
	state, err := h.Service().State(ctx, info.Reference.Session)
	if gone(err) {
		return string(info.Activity), nil
	}
	if err != nil {
		return "", err
	}
	return activityOf(ctx, h, state)
}

// activityOf is [standing] of a state.
func activityOf(ctx context.Context, h *openworker.Harness, state openworker.SessionState) (string, error) {
	if state.Activity != api.Waiting && state.Activity != api.Recovering {
		return string(state.Activity), nil
	}
	reasons, open := waiting(state)
	if state.Activity == api.Waiting && open && (len(reasons) > 0 || len(state.Interactions) > 0) {
		return string(state.Activity), nil
	}
	given, err := answerIsNewest(ctx, h, state)
	switch {
	case gone(err):
	case err != nil:
		return "", err
	case given:
		return answered, nil
	}
	if state.Activity == api.Waiting && open {
		return string(state.Activity), nil
	}
	return unfinished, nil
}

// newestEvents is how many of the last events tell whether anything happened since an answer.
const newestEvents = 20

// answerIsNewest reports whether nobody has gone on since an answer was stored.
func answerIsNewest(ctx context.Context, h *openworker.Harness, state openworker.SessionState) (given bool, err error) {
	page, err := h.Service().Events(ctx, api.EventQuery{Session: state.Session, After: state.LastEvent - min(state.LastEvent, newestEvents), Limit: newestEvents})
	if err != nil {
		return false, err
	}
	for _, e := range page.Events {
		switch e.Type {
		case api.EventInteractionResolved:
			d, _ := decode[api.InteractionResolved](e)
			given = !decide.OfReviewer(d) && !decide.OfAgent(d)
		case api.EventSessionTakenOver, api.EventTurnStarted, api.EventModelCallStarted, api.EventToolCallStarted, api.EventReviewStarted, api.EventCompactionStarted:
			given = false
		}
	}
	return given, nil
}

// waiting are the reasons why a session waits that have nothing to do with whoever looks. open is false where there is
// none and no question either.
func waiting(s openworker.SessionState) (reasons []api.WaitReason, open bool) {
	for _, reason := range s.WaitingFor {
		if reason.Code != api.CodeRegistrationMissing {
			reasons = append(reasons, reason)
		}
	}
	return reasons, len(reasons) > 0 || len(s.Interactions) > 0 || len(s.WaitingFor) == 0
}

// agentOrModel tells sessions apart: by the agent, unless that is one of the command line's own, which have no name
// that says anything.
func agentOrModel(agent string, model openworker.ModelRef) string {
	if strings.HasPrefix(agent, ownAgent) && model.Name != "" {
		return model.String()
	}
	return agent
}

// quotedOr is a text in quotes, "" for none.
func quotedOr(text string) string {
	if text == "" {
		return ""
	}
	return quoted(text)
}

func (m *Main) deleteCommand() *cobra.Command {
	var idle time.Duration
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "delete [SESSION…]",
		Short: "Delete sessions for good",
		Long: `Deletes the sessions that are named, with whatever they are doing, or with
--idle-for all that no turn is under way in and that nothing was written to for
so long. What is deleted does not come back.`,
		Example: `  openworker sessions delete SESSION
  openworker sessions delete --idle-for 720h`,
		ValidArgsFunction: m.completeEach(m.sessionIDs),
		RunE: m.begin(func(ctx context.Context, ids []string) (err error) {
			byAge := cmd.Flags().Changed("idle-for")
			switch {
			case byAge && len(ids) > 0:
				return misused("--idle-for chooses sessions by their age; leave it out, or the sessions")
			case byAge && idle <= 0:
				return misused("--idle-for is %s; give more than 0, for example 720h", idle)
			case !byAge && len(ids) == 0:
				return misused("name the sessions to delete, or give --idle-for")
			}
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			deleted := 0
			if byAge {
				deleted, err = h.DeleteIdleBefore(ctx, m.Now().Add(-idle))
			}
			for _, id := range ids {
				if err = deleteSession(ctx, h, id); err != nil {
					break
				}
				deleted++
			}
			switch {
			case deleted == 0 && err != nil:
			case m.json:
				m.printJSON(m.Stdout, map[string]int{"deleted": deleted})
			default:
				fmt.Fprintf(m.Stdout, "%d deleted\n", deleted)
			}
			return err
		}),
	}
	cmd.Flags().DurationVar(&idle, "idle-for", 0, "all that nothing was written to for so long, for example 720h")
	return cmd
}

// deleteSession deletes a session that is there.
func deleteSession(ctx context.Context, h *openworker.Harness, id string) error {
	ref, _, err := findSession(ctx, h, id)
	switch api.CodeOf(err) {
	case api.CodeSessionNotFound, api.CodeSessionDeleted, api.CodeInvalidRequest:
		return err
	} // one that cannot be read any more can be deleted
	return h.Service().DeleteSession(ctx, ref.Session, api.DeleteOptions{})
}
