package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
)

func (m *Main) grantsCommand() *cobra.Command {
	var revoke, by string
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "grants SESSION",
		Short: "List the tools that a session calls without asking, or ask again",
		Long: `Lists the permissions that somebody gave a session by answering "always in this
session": the tool, when, and who. --revoke takes one back: calls that it let
through and that have not begun are asked about. Where there is none it does
nothing.`,
		Example: `  openworker sessions grants SESSION
  openworker sessions grants SESSION --revoke calculate`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.sessionIDs),
		RunE: m.begin(func(ctx context.Context, args []string) (err error) {
			if cmd.Flags().Changed("revoke") && revoke == "" {
				return misused("--revoke is empty; give the name of a tool, which openworker sessions grants lists")
			}
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			_, state, err := findSession(ctx, h, args[0])
			if err != nil {
				return err
			}
			if revoke != "" {
				return m.revoke(ctx, h, state, revoke, by)
			}
			out := bufio.NewWriter(m.Stdout)
			list := table{head: []string{"tool", "given", "by"}, dim: 1}
			for _, grant := range state.Grants {
				if m.json {
					m.printJSON(out, grant)
					continue
				}
				list.add(grant.Tool, grant.Given.Local().Format(time.DateTime+" MST"), grant.By)
			}
			list.print(out, m.Terminal, m.paint())
			if len(state.Grants) == 0 {
				m.note("nobody has allowed a tool for the whole session")
			}
			return out.Flush()
		}),
	}
	cmd.Flags().StringVar(&revoke, "revoke", "", "take the permission for this tool back")
	cmd.Flags().StringVar(&by, "by", "", "who takes it back, for the journal (default the user's name)")
	return cmd
}

func (m *Main) revoke(ctx context.Context, h *openworker.Harness, state openworker.SessionState, tool, by string) error {
	if by == "" {
		by = person()
	}
	if err := h.Service().RevokeGrant(ctx, state.Session, tool, by); err != nil {
		return err
	}
	if m.json {
		m.printJSON(m.Stdout, map[string]string{"session": state.Session, "revoked": tool})
		return nil
	}
	if !slices.ContainsFunc(state.Grants, func(g openworker.Grant) bool { return g.Tool == tool }) {
		m.note("session %s has no permission for the tool %q; %s lists those that it has", state.Session, tool, m.here("openworker sessions grants "+state.Session))
		return nil
	}
	fmt.Fprintf(m.Stdout, "%s is asked about again in session %s\n", printable(tool), state.Session)
	return nil
}
