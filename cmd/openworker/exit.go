package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker/api"
)

// Exit codes; exitCodesTopic is their documentation.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitLimit     = 3
	exitWaiting   = 4
	exitCancelled = 5
	exitInterrupt = 130
)

// exitStatus ends the program with a code, after everything was said.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes:

  0    done: the turn completed, or there was nothing to do
  1    failed: the turn's status is failed, or an error was printed
  2    the command line was wrong
  3    the turn reached its limit; its result is what there was by then
  4    the turn waits, for an answer or a credential; "openworker approvals" answers, and
       "openworker chat --session SESSION" goes on with it
  5    the turn was cancelled
  129  chat was ended by SIGHUP, as when its terminal is closed; the session's state is kept
  130  left by a second Ctrl-C while a turn was under way; the turn's state is kept
  143  chat was ended by SIGTERM; the session's state is kept

doctor ends with 1 if something is marked ✗, agents check if a file has a fault, and demo unless the invoice was sent once.

Standard input that is no terminal is a list of messages, and the first turn that does not complete ends it; a line
/attach or /detach that fails ends it with 1.
Errors go to standard error as "error: CODE: message" and what to do next; with --json as one JSON object
with "error", "retryable" and, where there is something to do, "next".`,
	}
}

// exitFor is the exit code of a turn's status.
func exitFor(status api.RunStatus) error {
	switch status {
	case api.StatusCompleted:
		return nil
	case api.StatusLimitReached:
		return exitStatus(exitLimit)
	case api.StatusInterrupted:
		return exitStatus(exitWaiting)
	case api.StatusCancelled:
		return exitStatus(exitCancelled)
	}
	return exitStatus(exitFailure)
}
