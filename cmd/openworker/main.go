package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
)

// Main is the program. Its fields are all that it touches besides the state directory.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal is set when a person sits at standard input and output.
	Terminal bool
	// Color is set when standard output shows colours.
	Color bool
	// ColorError is set when standard error shows colours.
	ColorError bool
	// Lookup finds environment variables.
	Lookup func(name string) (string, bool)
	// Interrupts delivers Ctrl-C.
	Interrupts <-chan os.Signal
	Now        func() time.Time
	// Self makes a command that runs this program with other arguments.
	Self func(args ...string) (*exec.Cmd, error)
	// Silence is how long a model may say nothing until somebody who waits is told so; 0 is 15 s.
	Silence time.Duration
	// ScratchDir holds the workspaces of sessions; "" is the system's cache directory, or the one
	// for temporary files where there is none.
	ScratchDir string
	// ConfigDir holds config.yaml and credentials.json, unless OPENWORKER_CONFIG names another configuration file;
	// "" is none. It need not be there.
	ConfigDir string
	// Local has the addresses at which servers of this machine are looked for, by provider.
	Local map[string]string
	// Patience is how long such a server may take to answer; 0 is 300 ms.
	Patience time.Duration
	// Transport carries what servers are asked for their lists of models; nil is one of its own.
	Transport http.RoundTripper
	// Secret reads a line from the terminal without showing it. nil where standard input is none.
	Secret func() (read func() (string, error), restore func(), err error)

	chosen   choice    // by the command that runs
	agent    string    // that --agent names
	session  string    // that --session names
	screen   io.Writer // standard output as it is, for a program that takes the terminal
	stateDir string
	usualDir string // the state directory without --state-dir
	json     bool
	noColor  bool
	began    bool // a command's own code runs: an error is no misuse of the command line
}

func main() {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	out := term.IsTerminal(int(os.Stdout.Fd()))
	_, plain := os.LookupEnv("NO_COLOR")
	plain = plain || os.Getenv("TERM") == "dumb"
	m := &Main{
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Terminal:   out && term.IsTerminal(int(os.Stdin.Fd())),
		Color:      out && !plain,
		ColorError: term.IsTerminal(int(os.Stderr.Fd())) && !plain,
		Lookup:     os.LookupEnv,
		Interrupts: interrupts,
		Now:        time.Now,
		Self: func(args ...string) (*exec.Cmd, error) {
			path, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return exec.Command(path, args...), nil
		},
	}
	if dir, err := os.UserConfigDir(); err == nil {
		m.ConfigDir = filepath.Join(dir, "openworker")
	}
	m.Local = map[string]string{config.Ollama: config.OllamaAddress, config.LlamaCPP: config.LlamaCPPAddress}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		m.Secret = terminalSecret
	}
	os.Exit(m.Run(context.Background(), os.Args[1:]))
}
