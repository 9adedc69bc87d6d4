package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

func (m *Main) sessionsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions, newest activity first",
		Long: `Lists the sessions, newest activity first: ID, what it is doing, when something was last written, how many events
there are, and how its first message begins. A session without a message is listed with --all.`,
		Example: `  openworker sessions
  openworker sessions --json
  openworker sessions show SESSION
  openworker sessions delete --idle-for 720h`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) (err error) {
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			out := bufio.NewWriter(m.Stdout)
			for info, err := range h.Sessions(ctx, openworker.SessionQuery{Limit: api.MaxPage}) {
				if err != nil {
					return err
				}
				message, err := firstMessage(ctx, h, info)
				if err != nil {
					return err
				}
				switch {
				case message == "" && !all:
				case m.json:
					m.printJSON(out, listed{info, message})
				default:
					fmt.Fprintf(out, "%s  %-10s  %s  %5d events  %s\n", info.Reference.Session, info.Activity,
						m.paint().dim(info.Updated.Local().Format(time.DateTime+" MST")), info.LastEvent, message)
				}
			}
			return out.Flush()
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "sessions without a message too")
	cmd.AddCommand(m.sessionsShowCommand(), m.deleteCommand())
	return cmd
}

// listed is a session as --json prints it.
type listed struct {
	openworker.SessionInfo
	FirstMessage string `json:"firstMessage,omitempty"` // its beginning
}

// firstMessage is how a session's first message begins, "" while there is none.
func firstMessage(ctx context.Context, h *openworker.Harness, info openworker.SessionInfo) (string, error) {
	for after := uint64(0); after < info.LastEvent; {
		page, err := h.Service().Events(ctx, api.EventQuery{Session: info.Reference.Session, After: after, Limit: 5})
		if code := api.CodeOf(err); code == api.CodeSessionDeleted || code == api.CodeSessionNotFound {
			return "", nil // since it was listed
		}
		if err != nil {
			return "", err
		}
		for _, e := range page.Events {
			if d, ok := decode[api.TurnAccepted](e); ok && e.Type == api.EventTurnAccepted {
				return quoted(d.Text), nil
			}
			after = e.Number
		}
		if !page.More {
			break
		}
	}
	return "", nil
}

func (m *Main) deleteCommand() *cobra.Command {
	var idle time.Duration
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "delete [SESSION…]",
		Short: "Delete sessions for good",
		Long: `Deletes the sessions that are named, with whatever they are doing, or with --idle-for all that no turn is under way in
and that nothing was written to for so long. What is deleted does not come back.`,
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
				if err = h.Service().DeleteSession(ctx, id, api.DeleteOptions{}); err != nil {
					break
				}
				deleted++
			}
			if m.json {
				m.printJSON(m.Stdout, map[string]int{"deleted": deleted})
			} else {
				fmt.Fprintf(m.Stdout, "%d deleted\n", deleted)
			}
			return err
		}),
	}
	cmd.Flags().DurationVar(&idle, "idle-for", 0, "all that nothing was written to for so long, for example 720h")
	return cmd
}
