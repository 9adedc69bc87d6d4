package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/store/sqlite"
)

// checkTimeout bounds the reading of the whole store.
const checkTimeout = 5 * time.Second

// The statuses of a finding.
const (
	findingOK      = "ok"
	findingWarning = "warning"
	findingFailed  = "failed"
)

// finding is what one check of the doctor found.
type finding struct {
	Check   string `json:"check"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
}

func (m *Main) doctorCommand() *cobra.Command {
	var model string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is wrong, and what to do about it",
		Long: `Looks at the state directory, the store in it, the guardrails, the configuration
file, and each provider that has a key or needs none: whether its server is
there, takes the key, and has the model that would be used. It changes nothing
and makes nothing; of a server it asks for its list of models, which costs
nothing. The exit code is 1 if something is marked ✗; what is marked ! may be as
you want it.`,
		Example: `  openworker doctor
  openworker doctor --model Anthropic/claude-sonnet-5
  openworker doctor --json`,
		Args: cobra.NoArgs,
		RunE: m.begin(func(ctx context.Context, _ []string) error {
			failed := false
			m.examine(ctx, model, func(f finding) {
				failed = failed || f.Status == findingFailed
				m.printFinding(f)
			})
			if failed {
				return exitStatus(exitFailure)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&model, "model", "", "look for this model, as name or Provider/name; also OPENWORKER_MODEL")
	return cmd
}

func (m *Main) printFinding(f finding) {
	f.Message = strings.ReplaceAll(f.Message, "sqlite: ", "")
	if m.json {
		m.printJSON(m.Stdout, f)
		return
	}
	p := m.paint()
	mark := map[string]string{findingOK: "✓", findingWarning: "!", findingFailed: p.red("✗")}[f.Status]
	fmt.Fprintf(m.Stdout, "%s %s: %s\n", mark, f.Check, printable(f.Message))
	if f.Next != "" {
		fmt.Fprintf(m.Stdout, "  → %s\n", printable(f.Next))
	}
}

// examine makes the checks in order and tells each.
func (m *Main) examine(ctx context.Context, model string, tell func(finding)) {
	directory, exists := m.examineDirectory()
	tell(directory)
	if exists {
		for _, f := range m.examineStore(ctx) {
			tell(f)
		}
	}
	tell(examineGuardrails(ctx))
	cfg, err := m.configuration()
	switch {
	case err != nil:
		tell(finding{"configuration", findingFailed, api.AsError(err).Message, m.nextStep(err)})
		tell(finding{"providers", findingWarning, "not looked at, since the configuration cannot be used", ""})
		return
	case cfg.File == "":
		tell(finding{"configuration", findingOK, "no file, since there is no directory for one; the environment alone counts", ""})
	case !cfg.Present:
		tell(finding{"configuration", findingOK, "no file at " + cfg.File + "; none is needed", ""})
	default:
		tell(finding{"configuration", findingOK, cfg.File + " can be read", ""})
	}
	m.examineProviders(ctx, model, tell)
}

// examineGuardrails reads the rules of the program's own guardrails.
func examineGuardrails(ctx context.Context) finding {
	f := finding{"guardrails", findingOK, strings.Join(guardrailNames(), ", ") + " can be named by agents and by --guardrail; openworker agents tells which agents need others", ""}
	for _, g := range guardrails() {
		if _, err := g.Check(ctx, guard.Unit{Point: guard.UserInput, Text: "hello"}); err != nil {
			f.Status, f.Message, f.Next = findingFailed, g.Name+" cannot be used: "+api.AsError(err).Message, "please report it; what names it does not pass until then"
		}
	}
	return f
}

func (m *Main) examineDirectory() (f finding, exists bool) {
	f = finding{Check: "state directory", Status: findingOK}
	exists, loose, err := sqlite.InspectDir(m.stateDir)
	switch {
	case err != nil:
		f.Status, f.Message = findingFailed, api.AsError(err).Message
		switch api.CodeOf(err) {
		case api.CodeStoreReadOnly:
			f.Next = "make it writable for this user, or name another with --state-dir or OPENWORKER_STATE_DIR"
		case api.CodeStoreUnsupported:
			f.Next = "name a directory on a local disk with --state-dir or OPENWORKER_STATE_DIR"
		default:
			f.Next = "name another directory with --state-dir or OPENWORKER_STATE_DIR"
		}
	case !exists:
		f.Message = m.stateDir + " is not there yet; the first message makes it"
	case loose:
		f.Status, f.Message = findingWarning, m.stateDir+" is open to other users; it is closed to them when it is used next"
		f.Next = "chmod 700 " + m.stateDir + " closes it now"
	default:
		f.Message = m.stateDir + " is there, writable and private"
	}
	return f, exists
}

func (m *Main) examineStore(ctx context.Context) []finding {
	found, err := sqlite.Inspect(ctx, m.stateDir)
	schema := finding{Check: "schema", Status: findingOK}
	switch {
	case api.CodeOf(err) == api.CodeStoreTooNew:
		schema.Status, schema.Message = findingFailed, api.AsError(err).Message
		schema.Next = fmt.Sprintf("use the build that wrote it, or a later one: one whose openworker doctor knows schema %d", found.Schema)
		return []finding{schema}
	case err != nil:
		schema.Status, schema.Message = findingFailed, api.AsError(err).Message
		schema.Next = m.nextAboutStore(err)
		return []finding{schema}
	case !found.Exists:
		schema.Message = "there is no store yet"
		return []finding{schema}
	case found.Schema < found.Known:
		schema.Status = findingWarning
		schema.Message = fmt.Sprintf("the store has schema %d, and this build writes schema %d", found.Schema, found.Known)
		schema.Next = "it is brought up to date when it is used next, and older builds cannot use it then; openworker backup FILE keeps a copy"
	default:
		schema.Message = fmt.Sprintf("the store has schema %d, and this build knows schema %d", found.Schema, found.Known)
	}
	whole := finding{"store", findingOK, "its pages and rows fit together", ""}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	switch err := sqlite.Check(ctx, m.stateDir); {
	case errors.Is(err, context.DeadlineExceeded):
		whole.Status, whole.Message = findingWarning, fmt.Sprintf("it is too large to be checked as a whole in %s; nothing was found by then", checkTimeout)
	case err != nil:
		whole.Status, whole.Message, whole.Next = findingFailed, api.AsError(err).Message, m.nextAboutStore(err)
	}
	return []finding{schema, whole}
}

func (m *Main) nextAboutStore(err error) string {
	switch api.CodeOf(err) {
	case api.CodeStoreCorrupt:
		return "stop every process that uses it, and put a back-up in its place"
	case api.CodeStoreUnsupported:
		return "name another directory with --state-dir or OPENWORKER_STATE_DIR"
	}
	return "look at the owner and the modes of the files in " + m.stateDir
}

// examineProviders asks the servers of those that can be called, the chosen one first.
func (m *Main) examineProviders(ctx context.Context, model string, tell func(finding)) {
	c, err := m.choose(ctx, model)
	if err != nil {
		var a advised
		next := "openworker config shows what is configured"
		if errors.As(err, &a) {
			next = a.next
		}
		tell(finding{"model", findingFailed, api.AsError(err).Message, next})
		return
	}
	if !c.server && c.config.Model == "" && model == "" { // which may be as it is wanted
		f := finding{"providers", findingWarning, "no provider has a key, and " + c.noLocal() + ", so only the offline model answers", wayToAnyKey}
		for _, p := range c.config.Providers {
			if p.From["provider"] != "" && f.Status != findingFailed {
				f.Status, f.Message, f.Next = findingFailed, p.Name+" is configured at "+p.From["provider"]+" and has no key, so only the offline model answers", wayToKey(p)
			}
		}
		tell(f)
		return
	}
	examined := c.usable
	if chosen, ok := m.answering(); ok && !slices.ContainsFunc(examined, func(p config.Provider) bool { return p.Name == chosen.Name }) {
		examined = append([]config.Provider{chosen}, examined...)
	}
	type answer struct {
		finding
		listed []string
	}
	answers := make([]answer, len(examined))
	var wait sync.WaitGroup
	for i, p := range examined {
		wait.Go(func() { answers[i].finding, answers[i].listed = m.examineServer(ctx, p) })
	}
	wait.Wait()
	lists := map[string][]string{}
	for i, a := range answers {
		tell(a.finding)
		if a.Status != findingFailed {
			lists[examined[i].Name] = a.listed
		}
	}
	tell(examineModel(c, lists))
}

// examineServer asks a provider's server for its models, with its key.
func (m *Main) examineServer(ctx context.Context, p config.Provider) (f finding, listed []string) {
	f = finding{Check: p.Name, Status: findingOK}
	key, from, _ := m.chosen.config.Key(ctx, p) // looked up without an error when it was chosen
	with := "without a key"
	if key != "" {
		with = "with the key in " + from
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	listed, err := m.chosen.config.List(ctx, p)
	var failed *config.ListError
	switch {
	case err == nil:
		f.Message = fmt.Sprintf("the server at %s answers %s and lists %d models", p.BaseURL, with, len(listed))
	case !errors.As(err, &failed):
		f.Status, f.Message = findingFailed, err.Error()
	case failed.Status == 0 && unresolved(err):
		f.Status, f.Message, f.Next = findingFailed, fmt.Sprintf("the name of the server at %s cannot be resolved: %v", p.BaseURL, err), wayToName(p)
	case failed.Status == 0:
		f.Status, f.Message, f.Next = findingFailed, fmt.Sprintf("the server at %s cannot be reached: %v", p.BaseURL, err), m.aboutServer(api.CodeProviderUnreachable, p)
	case failed.Status == 401:
		f.Status, f.Message, f.Next = findingFailed, fmt.Sprintf("the server at %s refuses a request %s", p.BaseURL, with), m.aboutServer(api.CodeAuthenticationFailed, p)
	case failed.Status >= 500 || failed.Status == 429:
		f.Status, f.Message, f.Next = findingWarning, fmt.Sprintf("the server at %s is there and fails now: %v", p.BaseURL, err), "try again later"
	default:
		if address := m.chosen.config.Elsewhere(ctx, p); address != "" {
			f.Status, f.Message, f.Next = findingFailed, fmt.Sprintf("nothing is at %s (%v), and %s answers", p.BaseURL, err, address), wayElsewhere(p, address)
			break
		}
		f.Status = findingWarning
		f.Message = fmt.Sprintf("the server at %s is there, and its list of models cannot be read (%v), so neither key nor model is known to be good", p.BaseURL, err)
		f.Next = "if a message fails, check " + addressIn(p) + ", " + addressEnd(p)
	}
	return f, listed
}

// examineModel looks for the chosen model in its server's list, which is missing where the server has failed.
func examineModel(c choice, lists map[string][]string) finding {
	chosen := c.who + " is chosen, since " + c.reason
	f := finding{Check: "model", Status: findingOK, Message: chosen}
	listed, answered := lists[c.model.Provider]
	switch {
	case !c.server:
	case !answered:
		f.Status = findingWarning
		f.Message += "; its server failed, so whether it is there is not known"
	case len(listed) == 0:
		f.Status = findingWarning
		f.Message += "; whether it is there its server could not say"
	case !(offer{listed: listed}).lists(c.model.Name):
		f.Status = findingFailed
		f.Message = fmt.Sprintf("%s has no model %s (%s)", c.model.Provider, c.model.Name, chosen)
		f.Next = "name one with --model or OPENWORKER_MODEL: " + strings.Join(likely(c.model.Name, listed), ", ")
	}
	return f
}

// likely are up to five names of a list, those that begin most like the name first.
func likely(name string, listed []string) []string {
	alike := func(other string) (n int) {
		for n < len(name) && n < len(other) && name[n] == other[n] {
			n++
		}
		return n
	}
	sorted := slices.Clone(listed)
	slices.SortStableFunc(sorted, func(a, b string) int { return alike(b) - alike(a) })
	if len(sorted) > 5 {
		return append(sorted[:5], fmt.Sprintf("and %d others", len(listed)-5))
	}
	return sorted
}
