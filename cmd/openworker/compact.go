package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

func (m *Main) compactCommand() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "compact SESSION",
		Short: "Summarise a session's older history for the model",
		Long: `Lets the model summarise the older part of a session's history, and sends it the
summary instead from then on. That happens by itself before a conversation does
not fit the model's window; this does it now. The history stays whole: events,
export and the agent's own read_history have all of it. Ctrl-C cancels it.`,
		Example: `  openworker sessions compact SESSION
  openworker sessions compact SESSION --model anthropic --json`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.sessionIDs),
		RunE: m.begin(func(ctx context.Context, args []string) error {
			return m.compact(ctx, settings{session: args[0], model: model})
		}),
	}
	cmd.Flags().StringVar(&model, "model", "", "the model that summarises, as name or Provider/name; also OPENWORKER_MODEL")
	return cmd
}

func (m *Main) compact(ctx context.Context, s settings) (err error) {
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	if err := t.join(ctx); err != nil {
		return err
	}
	accepted, err := t.harness.Service().Compact(ctx, t.session.ID(), api.TurnOptions{Model: t.options.Model})
	if err != nil {
		return err
	}
	run, err := t.session.OpenRun(ctx, accepted.Run)
	if err != nil {
		return err
	}
	result, err := t.finish(ctx, run)
	if err != nil {
		return err
	}
	if !m.json && result.Status == api.StatusCompleted {
		if err := t.tellSummary(ctx, accepted); err != nil {
			return err
		}
	}
	return exitFor(result.Status)
}

// tellSummary says what a compaction came to where nobody watched it, and on a terminal that there was none.
func (t *talk) tellSummary(ctx context.Context, run openworker.RunReference) error {
	said := 0
	for query := (api.EventQuery{Session: run.Session, After: run.Accepted, Limit: api.MaxPage}); ; {
		page, err := t.harness.Service().Events(ctx, query)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			query.After = e.Number
			if e.Run != run.Run || e.Type != api.EventCompactionStarted && e.Type != api.EventCompactionFinished {
				continue
			}
			if said++; !t.m.Terminal {
				fmt.Fprintln(t.m.Stdout, describe(e))
			}
		}
		if !page.More {
			break
		}
	}
	if said == 0 {
		fmt.Fprintln(t.m.Stdout, "there was nothing to summarise")
	}
	return nil
}
