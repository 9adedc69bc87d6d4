package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

func (m *Main) exportCommand() *cobra.Command {
	var file string
	var portable bool
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a session's whole journal, to keep or to hand out",
		Long: `Writes a session's whole journal as JSON, an event a line, oldest first, to
standard output or with -o to a new file that only you may read. Secrets, a
provider's own data and the bytes of files are not in it.

With --portable it writes the conversation alone, in the form that openworker
sessions import reads: texts, tool calls and results; each file is one line of
text, and the whole is an array with an item a line, or with --json all on one.
Where that breaks a bound of imports it is said, and nothing is written.`,
		Example: `  openworker export SESSION
  openworker export SESSION -o session.jsonl
  openworker export SESSION --portable -o conversation.json`,
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
			write := func(w io.Writer) error { return session.Export(ctx, w) }
			if portable {
				items, err := session.PortableHistory(ctx)
				if api.CodeOf(err) == api.CodeInvalidHistory {
					return advised{err, "the whole journal has no such bound: leave out --portable"}
				}
				if err != nil {
					return err
				}
				write = func(w io.Writer) error { return m.writeConversation(w, items) }
			}
			if file != "" {
				return exportTo(file, write)
			}
			out := bufio.NewWriter(m.Stdout)
			if err := write(out); err != nil {
				return err
			}
			return out.Flush()
		}),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file, which must not be there yet")
	cmd.Flags().BoolVar(&portable, "portable", false, "the conversation alone, as openworker sessions import reads it")
	return cmd
}

// sessionsExportCommand is the export, where whoever imports looks for it.
func (m *Main) sessionsExportCommand() *cobra.Command {
	cmd := m.exportCommand()
	cmd.Short = "Another name of openworker export"
	cmd.Long = "Another name of openworker export.\n\n" + cmd.Long
	return cmd
}

// writeConversation writes a conversation as an array, an item a line, or with --json as one value on one line.
func (m *Main) writeConversation(w io.Writer, items []openworker.HistoryImport) error {
	data := openworker.EncodeHistory(items)
	if m.json {
		var line bytes.Buffer
		if err := json.Compact(&line, data); err != nil {
			return err
		}
		line.WriteByte('\n')
		data = line.Bytes()
	}
	_, err := w.Write(data)
	return err
}

// exportTo leaves a whole file or none.
func exportTo(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return api.Errorf(api.CodeInvalidRequest, "%s is there already; name a new file", name)
	}
	if err != nil {
		return api.Errorf(api.CodeInvalidRequest, "the export cannot be written: %w", err)
	}
	out := bufio.NewWriter(file)
	err = errors.Join(write(out), out.Flush(), file.Close())
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}
