package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
	"github.com/openworkerai/openworker/store/sqlite"
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

// existing refuses a state directory that is not there or holds no store, for commands that only look: they make
// neither.
func (m *Main) existing() error {
	info, err := os.Stat(m.stateDir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return misused("there is no state directory %q; name one with --state-dir or OPENWORKER_STATE_DIR", m.stateDir)
	case err == nil && !info.IsDir():
		return misused("the state directory %q is no directory; name another with --state-dir or OPENWORKER_STATE_DIR", m.stateDir)
	}
	if _, err := os.Stat(filepath.Join(m.stateDir, sqlite.File)); errors.Is(err, os.ErrNotExist) {
		return misused("there is no store in the directory %q; name another with --state-dir or OPENWORKER_STATE_DIR", m.stateDir)
	}
	return nil // what else is wrong with it the store says
}

// again is the command that goes on with a session.
func (m *Main) again(session string) string { return m.here("openworker chat --session " + session) }

// here is a command about the state directory in use.
func (m *Main) here(command string) string {
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
	var several ambiguous
	if errors.As(err, &several) {
		return m.here(several.list) + " lists them"
	}
	p, answers := m.answering()
	if answers && wrongPath(err) {
		ctx, cancel := context.WithTimeout(context.Background(), adviceTimeout)
		defer cancel()
		if address := m.chosen.config.Elsewhere(ctx, p); address != "" {
			return wayElsewhere(p, address)
		}
	}
	if answers && api.CodeOf(err) == api.CodeProviderUnreachable && unresolved(err) {
		return wayToName(p)
	}
	if answers && strings.Contains(api.AsError(err).Message, "an HTML page came") {
		return "check " + addressIn(p) + ", " + addressEnd(p)
	}
	switch code := api.CodeOf(err); code {
	case api.CodeSessionNotFound, api.CodeSessionDeleted, api.CodeForeignStore:
		return "openworker sessions lists those in " + m.stateDir + "; --state-dir or OPENWORKER_STATE_DIR names another directory"
	case api.CodeInteractionNotFound:
		return m.here("openworker approvals") + " lists what waits for an answer"
	case api.CodeAgentNotFound:
		return "openworker agents lists those in " + m.stateDir + "; --state-dir or OPENWORKER_STATE_DIR names another directory"
	case api.CodeDefinitionConflict:
		return "give the changed agent another name in its file, for example name: " + cmp.Or(m.agent, "agent") + "-2; sessions of the one that is registered keep it as it is"
	case api.CodeSessionBusy:
		if open := api.AsError(err).Details["interaction"]; open != "" {
			return m.here("openworker approvals show "+open) + " shows what is asked and how it is answered"
		}
		return "wait for its end, or " + m.again(cmp.Or(m.session, "SESSION")) + " joins it, and Ctrl-C there cancels it"
	case api.CodeUnsupportedMedia:
		return "a file is PNG, JPEG, GIF or WebP that does not move, PDF, or text in UTF-8, and one that the model takes: convert it, or name another model with --model or OPENWORKER_MODEL"
	case api.CodeAttachmentTooLarge:
		return fmt.Sprintf("a file may have %s and the files of a message %s, at some providers less: make it smaller, or send the files with several messages",
			attached.Size(api.MaxFileBytes), attached.Size(api.MaxMessageFileBytes))
	case api.CodeAttachmentQuota:
		return "send it in a new session, without --session; files that were uploaded and not sent make room after 24 hours"
	case api.CodeAttachmentNotFound:
		return "send the message with the file once more: what no message refers to is kept for 24 hours"
	case api.CodeUploadConflict:
		return "see that nothing writes to the file, and send the message once more"
	case api.CodeUninspectableContent:
		return "a guardrail looks into texts alone: send the file's text, or talk to an agent without it, and without --guardrail; a file that was sent before stays in its session"
	case api.CodeInvalidHistory:
		if api.AsError(err).Details["item"] == "" {
			return "openworker sessions import --help shows the form"
		}
		return "correct the item that is named: openworker sessions import --help shows the form"
	case api.CodeCredentialsMissing, api.CodeAuthenticationFailed, api.CodeQuotaExhausted, api.CodeModelNotFound, api.CodeProviderUnreachable:
		if answers {
			return m.aboutServer(code, p)
		}
	case api.CodeStoreReadOnly:
		return "make " + m.stateDir + " writable for this user, or name another directory with --state-dir or OPENWORKER_STATE_DIR"
	case api.CodeStoreCorrupt, api.CodeStoreUnsupported:
		return m.nextAboutStore(err)
	case api.CodeStoreBusy:
		return "another process holds the store; try again"
	case api.CodeStoreTooNew:
		return "use the version of openworker that wrote " + m.stateDir + ", or a newer one"
	}
	return ""
}

// adviceTimeout is how long a server may take to say that another address is the right one.
const adviceTimeout = time.Second

// wrongPath reports whether a server answers and has nothing at the address that is set.
func wrongPath(err error) bool {
	said := api.AsError(err)
	return said.Code == api.CodeModelNotFound || strings.Contains(said.Message, "an HTML page came") || strings.Contains(said.Message, "404")
}

// wayElsewhere says how a provider gets the address at which its server answers.
func wayElsewhere(p config.Provider, address string) string {
	return "set " + addressIn(p) + " to " + address + ", which answers"
}

// unresolved reports whether a server's name could not be turned into an address. A turn's error is words alone.
func unresolved(err error) bool {
	if errors.As(err, new(*net.DNSError)) {
		return true
	}
	message := err.Error()
	return strings.Contains(message, "no such host") || strings.Contains(message, "dial tcp: lookup ")
}

// wayToName says what to do about a server's name that cannot be resolved.
func wayToName(p config.Provider) string {
	return "is this machine on the network, and does its name resolution work? A proxy is not used. Else check the name in " + addressIn(p)
}

// aboutServer says what to do about a failure that is the model's server's to tell.
func (m *Main) aboutServer(code api.Code, p config.Provider) string {
	key, from, _ := m.chosen.config.Key(context.Background(), p) // what is wrong with the file of keys was told before
	switch {
	case code == api.CodeModelNotFound:
		return "name a model that the server has with --model or OPENWORKER_MODEL; openworker doctor asks it, and GET " + p.ListAddress() + " lists them"
	case code == api.CodeProviderUnreachable:
		return "is the server at " + p.BaseURL + " running? Set " + addressIn(p) + " to the model's server, for example " + likeAddress(p)
	case code == api.CodeQuotaExhausted:
		return "nothing is left to spend with this key of " + p.Name + ": raise its quota, or set another key or server"
	case key != "" && from == m.chosen.config.KeyFile:
		return "the server refused the key in " + from + "; store one that is good for it with openworker config set-key " + p.Name + ", or set " + addressIn(p) + " to the server that the key belongs to"
	case key != "":
		return "the server refused " + from + "; set one that is good for it, or set " + addressIn(p) + " to the server that the key belongs to"
	}
	return wayToKey(p)
}

// answering is the provider of the chosen model, unless that is the offline one.
func (m *Main) answering() (config.Provider, bool) {
	if m.chosen.config == nil {
		return config.Provider{}, false
	}
	return m.chosen.config.Provider(m.chosen.model.Provider)
}

// wayToKey says how a provider gets its key.
func wayToKey(p config.Provider) string {
	return "set " + strings.Join(p.KeyVariables, " or ") + ", or store a key with openworker config set-key " + p.Name
}

// likeAddress is an address as the provider's protocol wants one: only OpenAI's has the version in it.
func likeAddress(p config.Provider) string {
	const server = "http://127.0.0.1:8080"
	if versioned(p) {
		return server + "/v1"
	}
	return server
}

// addressEnd says how such an address ends.
func addressEnd(p config.Provider) string {
	if versioned(p) {
		return "which usually ends in /v1"
	}
	return "which has no version such as /v1 at its end"
}

func versioned(p config.Provider) bool {
	return p.Protocol == config.OpenAIChat || p.Protocol == config.OpenAIResponses
}

// addressIn is where a provider's address can be set.
func addressIn(p config.Provider) string {
	switch from := p.From["baseURL"]; {
	case strings.HasSuffix(from, "_BASE_URL"):
		return from
	case p.Name == openAI:
		return "OPENAI_BASE_URL"
	case strings.EqualFold(p.Name, "Anthropic"):
		return "ANTHROPIC_BASE_URL"
	case from == config.BuiltIn:
		return "providers." + p.Name + ".baseURL in the configuration file"
	default:
		return "baseURL at " + from
	}
}

// wayToProvider says how a session that talks to a provider can go on here, "" if no key or address would help.
func (m *Main) wayToProvider(name string) string {
	if m.chosen.config == nil {
		return ""
	}
	p, ok := m.chosen.config.Provider(name)
	switch {
	case !ok:
		return ""
	case p.Name == openAI:
		return "set OPENAI_API_KEY or OPENAI_BASE_URL"
	}
	return wayToKey(p)
}

// wayToConfigure says how a provider comes here that is neither built in nor configured.
func (m *Main) wayToConfigure() string {
	where := "the configuration file"
	if m.chosen.config != nil && m.chosen.config.File != "" {
		where = m.chosen.config.File
	}
	return "configure that provider in " + where + ", as openworker config example shows,"
}

// inOwnWords puts names of the program's interface, which messages of the library use, into those of the
// command line.
func (m *Main) inOwnWords(err *api.Error) *api.Error {
	if errors.As(err, new(*document.Faults)) {
		return err // it speaks of a file's own words
	}
	address := "the server's address"
	if p, ok := m.answering(); ok {
		address = addressIn(p)
	}
	said := *err
	said.Message = strings.NewReplacer(
		"; list the sessions that it has", "",
		"sqlite: ", "",
		"; wait for its end, cancel it, or send with whenBusy \"queue\" or \"interrupt\"", "",
		"; give it, cancel the run, or send with whenBusy \"queue\" or \"interrupt\"", "",
		"limits.maxOutputTokensPerCall", "--max-output-tokens",
		"check BaseURL", "check "+address,
		"StateDir", "--state-dir",
	).Replace(err.Message)
	return &said
}
