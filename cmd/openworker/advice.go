package main

import (
	"errors"
	"os"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// misuse is an error in the command line: it ends with exitUsage.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func misused(format string, args ...any) error {
	return misuse{api.Errorf(api.CodeInvalidRequest, format, args...)}
}

// notSent is the error of a message that no session has taken.
type notSent struct{ error }

func (n notSent) Unwrap() error { return n.error }

// advised is an error that knows by itself what to do next.
type advised struct {
	error
	next string
}

func (a advised) Unwrap() error { return a.error }

// existing refuses a state directory that is not there, for commands that only look: they make none.
func (m *Main) existing() error {
	info, err := os.Stat(m.stateDir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return misused("there is no state directory %q; name one with --state-dir or OPENWORKER_STATE_DIR", m.stateDir)
	case err == nil && !info.IsDir():
		return misused("the state directory %q is no directory; name another with --state-dir or OPENWORKER_STATE_DIR", m.stateDir)
	}
	return nil // what else is wrong with it the store says
}

// again is the command that goes on with a session.
func (m *Main) again(session string) string {
	command := "openworker chat --session " + session
	if m.stateDir != m.usualDir {
		command += " --state-dir " + m.stateDir
	}
	return command
}

// nextStep says what to do about an error, where its own message may not know.
func (m *Main) nextStep(err error) string {
	var a advised
	if errors.As(err, &a) {
		return a.next
	}
	message := api.AsError(err).Message
	if strings.Contains(message, "an HTML page came") {
		return "check OPENAI_BASE_URL, which usually ends in /v1"
	}
	switch api.CodeOf(err) {
	case api.CodeSessionNotFound, api.CodeSessionDeleted, api.CodeForeignStore:
		return "openworker sessions lists those in " + m.stateDir + "; --state-dir or OPENWORKER_STATE_DIR names another directory"
	case api.CodeSessionBusy:
		return "wait for its end, or openworker chat --session SESSION joins it, and Ctrl-C there cancels it"
	case api.CodeCredentialsMissing:
		return "set OPENAI_API_KEY"
	case api.CodeAuthenticationFailed:
		if key, _ := m.Lookup("OPENAI_API_KEY"); key != "" {
			return "the server refused OPENAI_API_KEY; set one that is good for it, or set OPENAI_BASE_URL to the server that the key belongs to"
		}
		return "set OPENAI_API_KEY"
	case api.CodeModelNotFound:
		return "name a model that the server has with --model or OPENWORKER_MODEL; GET " + m.serverURL() + "/models lists them"
	case api.CodeQuotaExhausted:
		return "nothing is left to spend with this OPENAI_API_KEY: raise its quota, or set another key or server"
	case api.CodeUnknownProvider, api.CodeProviderUnreachable:
		return "set OPENAI_BASE_URL to the model's server, for example http://127.0.0.1:8080/v1"
	case api.CodeStoreBusy:
		return "another process holds the store; try again"
	case api.CodeStoreTooNew:
		return "use the version of openworker that wrote " + m.stateDir + ", or a newer one"
	}
	return ""
}

func (m *Main) serverURL() string {
	if base, _ := m.Lookup("OPENAI_BASE_URL"); base != "" {
		return strings.TrimRight(base, "/")
	}
	return officialBaseURL
}

// ownWords puts names of the program's interface, which messages of the library use, into those of the
// command line.
var ownWords = strings.NewReplacer(
	"list those that are with Sessions", "openworker sessions lists those that are",
	"; wait for its end, cancel it, or send with whenBusy \"queue\" or \"interrupt\"", "",
	"limits.maxOutputTokensPerCall", "--max-output-tokens",
	"check BaseURL", "check OPENAI_BASE_URL",
	"StateDir", "--state-dir",
)

func inOwnWords(err *api.Error) *api.Error {
	said := *err
	said.Message = ownWords.Replace(err.Message)
	return &said
}
