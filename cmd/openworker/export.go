package main

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

func (m *Main) exportCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session's whole journal, to keep or to hand out",
		Long: `Writes a session's whole journal as JSON, an event a line, oldest first, to
standard output or with -o to a new file that only you may read. Secrets and a
provider's own data are not in it.`,
		Example: `  openworker export SESSION
  openworker export SESSION -o session.jsonl`,
		Args:              one,
		ValidArgsFunction: m.completeOne(m.sessionIDs),
		RunE: m.begin(func(ctx context.Context, args []string) (err error) {
			h, err := m.openToRead(ctx)
			if err != nil {
				return err
			}
			defer closeAfter(h, &err)
			ref, _, err := findSession(ctx, h, args[0])
			if err != nil {
				return err
			}
			session, err := h.ResumeSession(ctx, ref)
			if err != nil {
				return err
			}
			if file != "" {
				return exportTo(ctx, session, file)
			}
			out := bufio.NewWriter(m.Stdout)
			if err := session.Export(ctx, out); err != nil {
				return err
			}
			return out.Flush()
		}),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file, which must not be there yet")
	return cmd
}

// exportTo leaves a whole file or none.
func exportTo(ctx context.Context, session *openworker.Session, name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return api.Errorf(api.CodeInvalidRequest, "%s is there already; name a new file", name)
	}
	if err != nil {
		return api.Errorf(api.CodeInvalidRequest, "the export cannot be written: %w", err)
	}
	out := bufio.NewWriter(file)
	err = errors.Join(session.Export(ctx, out), out.Flush(), file.Close())
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}
