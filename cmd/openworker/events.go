package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

func (m *Main) eventsCommand() *cobra.Command {
	var follow bool
	var after uint64
	cmd := &cobra.Command{
		Use:   "events SESSION",
		Short: "Print a session's journal",
		Long: `Prints a session's journal, an event a line. With --follow it goes on with what
happens, in whatever process it happens, until Ctrl-C. Numbers have no gaps:
--after with the last one seen misses nothing and repeats nothing. Looking runs
nothing.`,
		Example: `  openworker events SESSION
  openworker events SESSION --follow
  openworker events SESSION --after 42 --json`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.sessionIDs),
		RunE: m.begin(func(ctx context.Context, args []string) error {
			return m.events(ctx, args[0], after, follow)
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens")
	cmd.Flags().Uint64Var(&after, "after", 0, "only events with greater numbers")
	return cmd
}

func (m *Main) events(ctx context.Context, id string, after uint64, follow bool) (err error) {
	h, err := m.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closeAfter(h, &err)
	ref, _, err := findSession(ctx, h, id)
	if err != nil {
		return err
	}
	if follow {
		session, err := h.ResumeSession(ctx, ref)
		if err != nil {
			return err
		}
		return m.followEvents(ctx, session, after)
	}
	out := bufio.NewWriter(m.Stdout)
	for {
		page, err := h.Service().Events(ctx, api.EventQuery{Session: ref.Session, After: after, Limit: api.MaxPage})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			m.printEvent(out, e)
			after = e.Number
		}
		if !page.More {
			return out.Flush()
		}
	}
}

func (m *Main) followEvents(ctx context.Context, session *openworker.Session, after uint64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-m.Interrupts:
			stop()
		case <-ctx.Done():
		}
	}()
	for e, err := range session.Events(ctx, after) {
		switch {
		case ctx.Err() != nil:
			return nil // leaving is how following ends
		case err != nil:
			return err
		case e.Number > 0: // text deltas are for the one who talks
			m.printEvent(m.Stdout, e)
		}
	}
	return nil
}

func (m *Main) printEvent(out io.Writer, e openworker.Event) {
	if m.json {
		m.printJSON(out, e)
		return
	}
	fmt.Fprintln(out, eventLine(e, e.Time.Local().Format(time.DateTime+".000"), m.paint()))
}
