package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker/store/sqlite"
)

func (m *Main) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the store to a file while others may work on it",
		Long: `Writes a whole, private copy of the store as of one moment to FILE, which must
not be there yet. To restore, stop every process, put the copy as openworker.db
into an empty directory of mode 0700, and start.`,
		Example: `  openworker backup ./backup/openworker.db`,
		Args:    one,
		RunE: m.begin(func(ctx context.Context, args []string) (err error) {
			if err := m.existing(); err != nil {
				return err
			}
			s, err := sqlite.Open(ctx, sqlite.Config{Dir: m.stateDir})
			if err != nil {
				return err
			}
			defer func() {
				if closing := s.Close(); err == nil {
					err = closing
				}
			}()
			if err := s.Backup(ctx, args[0]); err != nil {
				return err
			}
			if m.json {
				m.printJSON(m.Stdout, map[string]string{"backup": args[0], "store": s.ID()})
				return nil
			}
			_, err = fmt.Fprintf(m.Stdout, "the store is copied to %s\n", args[0])
			return err
		}),
	}
}
