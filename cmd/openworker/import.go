package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// maxImportFile bounds what is read of a file with a conversation, which may have white space that does not count.
const maxImportFile = 16 * api.MaxImportBytes

func (m *Main) importCommand() *cobra.Command {
	var s settings
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "import FILE",
		Short: "Begin a session with a conversation from a file",
		Long: `Makes a session that begins with a conversation, and prints its ID. FILE "-" is
standard input. It is a JSON array of items, as openworker export --portable
writes it:

  [{"type": "user", "text": "Is it open?"},
   {"type": "assistant", "text": "Let me look."},
   {"type": "tool_call", "callId": "1", "name": "look", "arguments": {}},
   {"type": "tool_result", "callId": "1", "output": "open"}]

The first item is a user's, and every call has one result. Nothing of it is run;
the agent need not have the tools. It is taken whole or not at all: an error
names the item, counted from 0, and the rule, and no session is made.`,
		Example: `  openworker sessions import conversation.json
  openworker sessions import conversation.json --agent reviewer.yaml
  openworker export SESSION --portable | openworker sessions import --json -`,
		Args: one,
		RunE: m.begin(func(ctx context.Context, args []string) error {
			if err := s.check(cmd.Flags()); err != nil {
				return err
			}
			items, err := m.readConversation(args[0])
			if err != nil {
				return err
			}
			return m.importHistory(ctx, s, args[0], items)
		}),
	}
	s.agentFlags(cmd)
	return cmd
}

// readConversation reads the items of a conversation.
func (m *Main) readConversation(name string) ([]openworker.HistoryImport, error) {
	in := m.Stdin
	if name != "-" {
		info, err := os.Stat(name)
		if err == nil && info.IsDir() {
			err = errors.New("it is a directory")
		}
		if err != nil {
			return nil, api.Errorf(api.CodeInvalidRequest, "the file %q cannot be read: %w", name, err)
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, api.Errorf(api.CodeInvalidRequest, "the file %q cannot be read: %w", name, err)
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxImportFile+1))
	switch {
	case err != nil:
		return nil, api.Errorf(api.CodeInvalidRequest, "the conversation cannot be read: %w", err)
	case len(data) > maxImportFile:
		return nil, inFile(name, api.Errorf(api.CodeInvalidHistory, "it has more than %d bytes; a conversation has at most %d without white space", maxImportFile, api.MaxImportBytes))
	}
	items, err := openworker.DecodeHistory(data)
	if err == nil && len(items) == 0 {
		err = api.Errorf(api.CodeInvalidHistory, "there is no item in it; openworker chat begins a session without a conversation")
	}
	return items, inFile(name, err)
}

// inFile says which file an error is about.
func inFile(name string, err error) error {
	if err == nil || name == "-" || api.CodeOf(err) != api.CodeInvalidHistory {
		return err
	}
	e := *api.AsError(err)
	e.Message = name + ": " + e.Message
	return &e
}

// imported is a session that was made of a conversation, as --json prints it.
type imported struct {
	Session   string                      `json:"session"`
	Reference openworker.SessionReference `json:"reference"`
	Items     int                         `json:"items"`
}

func (m *Main) importHistory(ctx context.Context, s settings, name string, items []openworker.HistoryImport) (err error) {
	t, err := m.talk(ctx, s)
	if err != nil {
		return err
	}
	defer closeAfter(t.harness, &err)
	t.history = items
	if err := t.begin(ctx); err != nil {
		return inFile(name, err)
	}
	if m.json {
		m.printJSON(m.Stdout, imported{t.session.ID(), t.session.Reference(), len(items)})
		return nil
	}
	fmt.Fprintln(m.Stdout, t.session.ID())
	m.note("%d items; %s goes on with them", len(items), m.again(t.session.ID()))
	return nil
}
