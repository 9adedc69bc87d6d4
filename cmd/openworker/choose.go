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
	guessedModel    = "gpt-5-mini" // at a server that lists none
	offlineProvider = "Scripted"
	offlineModel    = "demo"
	askTimeout      = 5 * time.Second
	listTimeout     = 3 * time.Second
)

// choice is the model that a command talks to, and the others that it may change to.
type choice struct {
	providers   []openworker.Provider // all that a session may use here
	credentials openworker.Credentials
	model       openworker.ModelRef
	server      bool   // a model server, not the offline model
	line        string // which was taken, and why

	config *config.Config
	remote bool              // servers of this machine are not looked for
	usable []config.Provider // those that can be called, in the order in which they are taken
}

// asked is a model that was asked for: its name, with or without its provider, and by what.
type asked struct{ name, by string }

// choose takes the model that the flag names, else OPENWORKER_MODEL or the configuration file, else the first provider
// that has a key or needs none, else a server of this machine, else the offline model.
func (m *Main) choose(ctx context.Context, name string) (choice, error) {
	return m.chooseAsked(ctx, asked{name, "--model"})
}

func (m *Main) chooseAsked(ctx context.Context, want asked) (choice, error) {
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
		p.KeyOptional = p.KeyOptional && key == "" // one that is there is sent
		provider, err := p.Open(nil)
		if err != nil {
			return choice{}, err
		}
		c.providers = append(c.providers, provider)
		if can {
			c.usable = append(c.usable, p)
		}
	}
	if want.name == "" {
		want = asked{cfg.Model, cfg.ModelFrom}
	}
	c, err = m.settleOn(ctx, c, want)
	if err == nil {
		m.chosen = c
	}
	return c, err
}

// settleOn decides on the model and says why.
func (m *Main) settleOn(ctx context.Context, c choice, want asked) (choice, error) {
	if _, _, ok := c.split(want.name); len(c.usable) == 0 && !ok {
		return m.settleWithoutKey(ctx, c, want)
	}
	if want.name != "" {
		ref, err := c.parseModel(want.name)
		if err != nil {
			return choice{}, err
		}
		c.model = ref
		p, ok := c.config.Provider(ref.Provider)
		if !ok {
			c.line = fmt.Sprintf("the offline model answers, since %s names it", want.by)
			return c, nil
		}
		c.server = true
		c.line = fmt.Sprintf("%s at %s answers, since %s, and %s names it", ref.Name, p.BaseURL, c.why(ctx, p), want.by)
		return c, nil
	}
	p := c.usable[0]
	name, why := p.Standard, c.why(ctx, p)
	switch {
	case name != "":
		why += ", and OPENWORKER_MODEL is not"
	case len(p.Models) > 0:
		name, why = p.Models[0], why+", and its models begin with this one"
	default:
		key, _, _ := c.config.Key(ctx, p) // asked for without an error before
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		listed, err := p.List(ctx, key)
		if name = config.First(listed); name != "" {
			why += ", and it lists this model first"
			break
		}
		reason := "is empty"
		if err != nil {
			reason = fmt.Sprintf("cannot be read (%v)", err)
		}
		name, why = guessedModel, fmt.Sprintf("%s, but its list of models %s: guessing %s; name one with --model", why, reason, guessedModel)
	}
	c.model, c.server = openworker.ModelRef{Provider: p.Name, Name: name}, true
	c.line = fmt.Sprintf("%s at %s answers, since %s", name, p.BaseURL, why)
	return c, nil
}

// settleWithoutKey looks for a server of this machine, where nothing else can answer.
func (m *Main) settleWithoutKey(ctx context.Context, c choice, want asked) (choice, error) {
	var found []config.Found
	if !c.remote {
		found = c.config.Look(ctx)
	}
	for _, f := range found {
		c.usable = append(c.usable, f.Provider)
	}
	for _, f := range found {
		name, why := config.First(f.Models), "it lists this model first"
		if want.name != "" {
			name, why = want.name, want.by+" names it"
		}
		if name == "" {
			continue
		}
		c.model, c.server = openworker.ModelRef{Provider: f.Provider.Name, Name: name}, true
		c.line = fmt.Sprintf("%s at %s answers, since no provider has a key and %s runs there, and %s", name, f.Provider.BaseURL, f.Provider.Name, why)
		return c, nil
	}
	if want.name == "" {
		want.name = offlineModel
	}
	c.model = openworker.ModelRef{Provider: c.providers[0].Name(), Name: want.name}
	c.line = "the offline model answers, since no provider has a key and no local server was found; openworker doctor says more"
	return c, nil
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

// split takes "Provider/name" apart. A name with slashes that is configured as a whole is that model's. ok is false
// where what stands before the first slash is no provider's name.
func (c choice) split(text string) (provider, name string, ok bool) {
	for _, p := range c.config.Providers {
		if slices.Contains(p.Models, text) && c.has(p.Name) {
			return p.Name, text, true
		}
	}
	before, after, found := strings.Cut(text, "/")
	if !found || after == "" {
		return "", text, false
	}
	if p, known := c.config.Provider(before); known {
		return p.Name, after, true
	}
	if offline := c.providers[0].Name(); strings.EqualFold(before, offline) {
		return offline, after, true
	}
	return "", text, false
}

// parseModel reads a model as it is typed: "Provider/name", the provider in any case, or a name alone. That is the
// current provider's, or the first one's; unless that one is known not to have it, as far as anything is known, and
// another is known to have it.
//
// Errors: invalid_request, and credentials_missing for a provider without its key.
func (c choice) parseModel(text string) (openworker.ModelRef, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return openworker.ModelRef{}, api.Errorf(api.CodeInvalidRequest, "the model's name is empty; give name or Provider/name")
	}
	if provider, name, ok := c.split(text); ok {
		ref := openworker.ModelRef{Provider: provider, Name: name}
		if !c.has(provider) {
			p, _ := c.config.Provider(provider)
			return ref, advised{api.Errorf(api.CodeCredentialsMissing, "%s needs a key, and there is none", p.Name), wayToKey(p)}
		}
		return ref, nil
	}
	var order []openworker.Provider
	for _, p := range c.providers {
		switch i := slices.IndexFunc(c.usable, func(u config.Provider) bool { return u.Name == p.Name() }); {
		case p.Name() == c.model.Provider:
			order = slices.Insert(order, 0, p)
		case i >= 0:
			order = append(order, p)
		}
	}
	if len(order) == 0 {
		return openworker.ModelRef{Provider: c.providers[0].Name(), Name: text}, nil
	}
	first := order[0]
	if p, ok := c.config.Provider(first.Name()); ok && p.Standard != "" { // a maker's own server: what it has is known
		for _, other := range order {
			if _, known := other.Facts(text); known {
				first = other
				break
			}
		}
	}
	return openworker.ModelRef{Provider: first.Name(), Name: text}, nil
}

// parseModel is [choice.parseModel] for whoever then talks to the model: advice about errors is about it from then on.
func (m *Main) parseModel(text string) (openworker.ModelRef, error) {
	ref, err := m.chosen.parseModel(text)
	if err == nil {
		m.chosen.model = ref
	}
	return ref, err
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
			key, _, _ := c.config.Key(ctx, p) // without one the server's answer says enough
			listed, err := p.List(ctx, key)
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
	cfg, err := config.Load(config.Surroundings{Lookup: m.Lookup, Dir: m.ConfigDir, Local: m.Local, Patience: m.Patience})
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
