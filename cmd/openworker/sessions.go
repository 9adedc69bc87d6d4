package main

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
)

func (m *Main) sessionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions, newest activity first",
		Example: `  openworker sessions
  openworker sessions --json`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) (err error) {
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			out := bufio.NewWriter(m.Stdout)
			for info, err := range h.Sessions(ctx, openworker.SessionQuery{}) {
				if err != nil {
					return err
				}
				if m.json {
					m.printJSON(out, info)
					continue
				}
				fmt.Fprintf(out, "%s  %-10s  %s  %5d events  %s\n", info.Reference.Session, info.Activity,
					m.paint().dim(info.Updated.Local().Format(time.DateTime)), info.LastEvent, info.Reference.Agent)
			}
			return out.Flush()
		}),
	}
}
