package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
	"github.com/openworkerai/openworker/model/scripted"
)

const (
	openAI          = "OpenAI"
	offlineProvider = "Scripted"
	offlineModel    = "demo"
	theOfflineModel = "the offline model"
	askTimeout      = 5 * time.Second
	listTimeout     = 3 * time.Second
)

// choice is the model that a command talks to, and the others that it may change to.
type choice struct {
	providers   []openworker.Provider // all that a session may use here
	credentials openworker.Credentials
	model       openworker.ModelRef
	server      bool // a model server, not the offline model
	// who answers, and the reason why.
	who, reason string

	config *config.Config
	remote bool              // servers of this machine are not looked for
	usable []config.Provider // those that can be called, in the order in which they are taken
}

// asked is a model that was asked for: by what, and exactly or as a name that is still to be read.
type asked struct {
	name, by string
	ref      openworker.ModelRef
}

// choose takes the model that the flag names, else OPENWORKER_MODEL or the configuration file, else the first provider
// that has a key or needs none, else a server of this machine, else the offline model.
func (m *Main) choose(ctx context.Context, name string) (choice, error) {
	return m.chooseAsked(ctx, asked{name: name, by: "--model"})
}

func (m *Main) chooseAsked(ctx context.Context, want asked) (choice, error) {
	c, err := m.choices(ctx)
	if err != nil {
		return choice{}, err
	}
	c, err = c.settleOn(ctx, want)
	if err != nil {
		return choice{}, err
	}
	m.chosen = c
	return c, nil
}

// choices are all models that there are, none of them chosen yet.
func (m *Main) choices(ctx context.Context) (choice, error) {
	cfg, err := m.configuration()
	if err != nil {
		return choice{}, err
	}
	c := choice{credentials: cfg.Keys(), config: cfg, providers: []openworker.Provider{scripted.New(scripted.Config{Pace: m.pace()})}}
	off, _ := m.Lookup("OPENWORKER_NO_DISCOVERY")
	c.remote = off != ""
	for _, p := range cfg.Providers {
		key, _, err := cfg.Key(ctx, p)
		if err != nil {
			return choice{}, aboutKeys(cfg, err)
		}
		can := (key != "" || p.KeyOptional) && !p.Local
		if !can && !p.Local {
			continue
		}
		provider, err := p.Open(nil)
		if err != nil {
			return choice{}, err
		}
		c.providers = append(c.providers, provider)
		if can {
			c.usable = append(c.usable, p)
		}
	}
	m.chosen = c // advice about what goes wrong from here on knows what is configured
	return c, nil
}

// settleOn decides on the model and says why.
func (c choice) settleOn(ctx context.Context, want asked) (choice, error) {
	var err error
	switch {
	case want.ref != (openworker.ModelRef{}):
		err = c.callable(want.ref, want.by)
	case want.name != "":
		want.ref, err = c.read(ctx, want.name, false)
	case c.config.Model != "":
		want.by = c.config.ModelFrom
		want.ref, err = c.read(ctx, c.config.Model, true)
	case len(c.usable) == 0:
		return c.settleWithoutKey(ctx), nil
	default:
		p := c.usable[0]
		name, why, err := c.usual(ctx, p)
		if err != nil {
			name = p.Guess()
			why = fmt.Sprintf("%v: guessing %s; name one with --model", err, name)
		}
		c.model, c.server = openworker.ModelRef{Provider: p.Name, Name: name}, true
		c.who, c.reason = name+" at "+p.BaseURL, c.why(ctx, p)+", "+why
		return c, nil
	}
	if err != nil {
		return choice{}, err
	}
	c.model = want.ref
	p, ok := c.config.Provider(want.ref.Provider)
	if c.server = ok; !ok {
		c.who, c.reason = theOfflineModel, want.by+" names it"
		return c, nil
	}
	c.who, c.reason = want.ref.Name+" at "+p.BaseURL, c.why(ctx, p)+", and "+want.by+" names it"
	return c, nil
}

// settleOnSession takes the model that a session has. No other one ever answers unasked: a conversation that was meant
// for one provider is not sent to another.
func (c choice) settleOnSession(session string, ref openworker.ModelRef) (choice, error) {
	p, known := c.config.Provider(ref.Provider)
	switch {
	case c.has(ref.Provider):
		c.model, c.server, c.who = ref, known, ref.String()+" answers, as in this session before"
		return c, nil
	case known:
		next := wayToKey(p) + ", or name another model with --model"
		if p.Name == openAI { // whose address may have been another one
			next += ", or set OPENAI_BASE_URL where it was at a server without a key"
		}
		return c, advised{api.Errorf(api.CodeCredentialsMissing, "session %s talks to %s, and there is no key for %s", session, ref, p.Name), next}
	}
	return c, api.Errorf(api.CodeRegistrationMissing, "session %s talks to %s, whose provider is not here", session, ref)
}

// usual is the model of a provider that is taken where none is named, and why. The error says why there is none: the
// list of the server's models has none to take, or cannot be read.
func (c choice) usual(ctx context.Context, p config.Provider) (name, why string, err error) {
	switch {
	case p.Standard != "":
		return p.Standard, "and OPENWORKER_MODEL is not", nil
	case len(p.Models) > 0:
		return p.Models[0], "and its models begin with this one", nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	listed, err := c.config.List(ctx, p)
	switch name := config.First(listed); {
	case err != nil:
		return "", "", fmt.Errorf("but its list of models cannot be read (%w)", err)
	case name == "":
		return "", "", errors.New("but its list of models is empty")
	default:
		return name, "and it lists this model first", nil
	}
}

// settleWithoutKey looks for a server of this machine, where nothing else can answer.
func (c choice) settleWithoutKey(ctx context.Context) choice {
	for _, f := range c.local(ctx) {
		c.usable = append(c.usable, f.Provider)
		if name := config.First(f.Models); name != "" && !c.server {
			c.model, c.server = openworker.ModelRef{Provider: f.Provider.Name, Name: name}, true
			c.who = name + " at " + f.Provider.BaseURL
			c.reason = "no provider has a key and " + f.Provider.Name + " runs there, and it lists this model first"
		}
	}
	if !c.server {
		c.model = openworker.ModelRef{Provider: c.providers[0].Name(), Name: offlineModel}
		c.who, c.reason = theOfflineModel, "no provider has a key and "+c.noLocal()+"; openworker doctor says more"
	}
	return c
}

// local are the servers of this machine that are there, unless they are not to be looked for.
func (c choice) local(ctx context.Context) []config.Found {
	if c.remote {
		return nil
	}
	return c.config.Look(ctx)
}

// noLocal says why no server of this machine answers.
func (c choice) noLocal() string {
	if c.remote {
		return "local servers were not looked for (OPENWORKER_NO_DISCOVERY is set)"
	}
	return "no local server was found"
}

// why says why a provider is there at all.
func (c choice) why(ctx context.Context, p config.Provider) string {
	if from := p.From["baseURL"]; strings.HasSuffix(from, "_BASE_URL") {
		return from + " is set"
	}
	key, from, _ := c.config.Key(ctx, p)
	switch {
	case key != "" && from == c.config.KeyFile:
		return "its key is in " + from
	case key != "":
		return from + " is set"
	case p.From["provider"] != "":
		return p.From["provider"] + " configures it"
	}
	return "it needs no key"
}

// has reports whether this program can call a provider.
func (c choice) has(provider string) bool {
	return slices.ContainsFunc(c.providers, func(p openworker.Provider) bool { return strings.EqualFold(p.Name(), provider) })
}

// models lists what may be chosen, as the servers say within three seconds: those of a server that does not answer are
// those that are configured. Without a server it is the offline model.
func (c choice) models(ctx context.Context) []openworker.ModelRef {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var callable []config.Provider
	for _, p := range c.config.Providers {
		if c.has(p.Name) && !(p.Local && c.remote) {
			callable = append(callable, p)
		}
	}
	lists := make([][]string, len(callable))
	var wait sync.WaitGroup
	for i, p := range callable {
		wait.Go(func() {
			listed, err := c.config.List(ctx, p)
			if err != nil {
				listed = p.Models
			}
			lists[i] = listed
		})
	}
	wait.Wait()
	var all []openworker.ModelRef
	for i, p := range callable {
		for _, name := range lists[i] {
			all = append(all, openworker.ModelRef{Provider: p.Name, Name: name})
		}
	}
	if len(all) == 0 {
		all = append(all, openworker.ModelRef{Provider: c.providers[0].Name(), Name: offlineModel})
	}
	return all
}

// pace is how fast the offline model seems to think: as fast as it can when nobody watches.
func (m *Main) pace() time.Duration {
	if m.Terminal {
		return 25 * time.Millisecond
	}
	return 0
}

// configuration reads what is configured.
func (m *Main) configuration() (*config.Config, error) {
	cfg, err := config.Load(config.Surroundings{Lookup: m.Lookup, Dir: m.ConfigDir, Local: m.Local, Patience: m.Patience, Transport: m.Transport})
	var unreadable *config.FileError
	switch {
	case errors.As(err, new(*document.Faults)):
		err = advised{err, "correct the file, or name another with OPENWORKER_CONFIG; openworker config example shows what may stand in it"}
	case errors.As(err, &unreadable) && unreadable.Named:
		err = advised{err, "set OPENWORKER_CONFIG to a file that this user can read, or unset it"}
	case errors.As(err, &unreadable):
		err = advised{err, "make " + unreadable.File + " a file that this user can read, remove it, or name another with OPENWORKER_CONFIG"}
	case err != nil:
		err = advised{err, "set the variable to another value, or unset it"}
	}
	return cfg, err
}
