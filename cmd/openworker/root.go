package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
)

const defaultStateDir = "./.openworker"

// Run runs the program and returns its exit code.
func (m *Main) Run(ctx context.Context, args []string) int {
	m.screen = m.Stdout
	out := &output{w: m.Stdout}
	m.Stdout = out
	root := m.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var status exitStatus
	switch {
	case out.err != nil: // whatever else there is to say, what was asked for did not come
		m.report(api.Errorf(api.CodeInternal, "the output is not whole: %w", out.err), "see that there is room where it goes")
		return exitFailure
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return int(status)
	case !m.began && !errors.As(err, new(misuse)):
		m.json = m.json || slices.Contains(args, "--json")
		m.report(api.Errorf(api.CodeInvalidRequest, "%s", mistyped(cmd, args, err)), cmd.CommandPath()+" --help shows how")
		return exitUsage
	case errors.As(err, new(misuse)):
		m.json = m.json || slices.Contains(args, "--json")
		m.report(api.AsError(err), cmd.CommandPath()+" --help shows how")
		return exitUsage
	}
	if errors.As(err, new(notSent)) {
		m.note("the message was not sent")
	}
	m.report(api.AsError(err), m.nextStep(err))
	return exitFailure
}

// output is standard output, and keeps the first error of writing there. That a reader went away is none.
type output struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

func (o *output) Write(data []byte) (int, error) {
	n, err := o.w.Write(data)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) {
		o.mu.Lock()
		o.err = cmp.Or(o.err, err)
		o.mu.Unlock()
	}
	return n, err
}

func (m *Main) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "openworker",
		Short: "Durable agents: a turn survives whatever happens to its process",
		Long: `OpenWorker runs durable agents. A session is a journal on disk: each message,
model answer and tool call is stored before anything depends on it, so a killed
process loses nothing and repeats nothing.

The model is that of the first provider with a key (OPENAI_API_KEY,
ANTHROPIC_API_KEY, GEMINI_API_KEY, or a stored one), of OPENAI_BASE_URL, or of
the configuration file; else of Ollama or llama.cpp on this machine; else an
offline one that follows simple rules. openworker doctor says what is there, and
openworker config what is set.`,
		Example: `  openworker chat                         talk; sessions are in ./.openworker
  openworker run "Say hello"              one turn
  openworker run --agent reviewer.yaml -  an agent from a file, standard input
  openworker events SESSION --follow      watch from another terminal
  openworker doctor                       what is wrong, and what to do about it
  openworker demo                         kill a process inside a side effect`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	flags := root.PersistentFlags()
	stateDir, ok := m.Lookup("OPENWORKER_STATE_DIR")
	if !ok || stateDir == "" {
		stateDir = defaultStateDir
	}
	m.usualDir = stateDir
	flags.StringVar(&m.stateDir, "state-dir", stateDir, "directory of the sessions; also OPENWORKER_STATE_DIR")
	flags.Lookup("state-dir").DefValue = defaultStateDir // help is the same everywhere
	flags.BoolVar(&m.json, "json", false, "print JSON, one value a line, errors too")
	flags.BoolVar(&m.noColor, "no-color", false, "no colours; also NO_COLOR, or a standard output that is no terminal")
	root.AddCommand(m.chatCommand(), m.runCommand(), m.eventsCommand(), m.sessionsCommand(), m.approvalsCommand(), m.exportCommand(), m.backupCommand(), m.demoCommand(),
		m.demoWorkerCommand(), m.agentsCommand(), m.configCommand(), m.doctorCommand(), m.stdioCommand(), m.versionCommand(), exitCodesTopic())
	for _, cmd := range root.Commands() {
		m.completeFlags(cmd)
	}
	completionCommand(root)
	helpCommand(root)
	narrow(root)
	root.Version = version().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print what was built")
	return root
}

// begin wraps a command's code.
func (m *Main) begin(run func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		m.began = true
		return run(cmd.Context(), args)
	}
}

// report prints an error for people, or for programs with --json.
func (m *Main) report(err *api.Error, next string) {
	err = m.inOwnWords(err)
	if m.json {
		m.printJSON(m.Stderr, struct {
			Error     *api.Error `json:"error"`
			Retryable bool       `json:"retryable"`
			Next      string     `json:"next,omitempty"`
		}{err, err.Retryable(), next})
		return
	}
	said := "error: " + err.Error()
	if errors.As(err, new(*document.Faults)) { // each has its line
		said = strings.ReplaceAll(said, "\n", "\nerror: "+string(err.Code)+": ")
	}
	fmt.Fprintf(m.Stderr, "%s\n", m.paintError().red(printable(said)))
	if next != "" {
		fmt.Fprintf(m.Stderr, "  %s\n", printable(next))
	}
}

func (m *Main) printJSON(w interface{ Write([]byte) (int, error) }, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		fmt.Fprintln(m.Stderr, "error: internal:", err)
		return
	}
	_, _ = w.Write(append(data, '\n')) // see [output]
}
