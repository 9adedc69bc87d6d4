package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
)

// parseModel reads a model as it is typed in a chat: advice about errors is about it from then on. It takes three
// seconds at most.
func (m *Main) parseModel(text string) (openworker.ModelRef, error) {
	ref, err := m.chosen.read(context.Background(), text, false)
	if err == nil {
		m.chosen.model = ref
	}
	return ref, err
}

// read reads a model as it is written: "Provider/name", the provider in any case; a provider alone, which is its usual
// model; or a name alone. That is the current provider's, or the first one's; unless only another one lists it or is
// known to have it. No server is asked for what is configured or known; a list that does not come within three seconds
// counts as one that cannot be read, and then the name is taken as it is. trusted is set for a name that is configured:
// with its provider in front it is taken as it is.
//
// Errors: invalid_request for a name that is none, unknown_provider, credentials_missing for a provider without its key,
// and model_not_found for a name that is in no list.
func (c choice) read(ctx context.Context, text string, trusted bool) (openworker.ModelRef, error) {
	text = strings.TrimSpace(text)
	for _, p := range c.config.Providers {
		if slices.Contains(p.Models, text) && c.has(p.Name) {
			return openworker.ModelRef{Provider: p.Name, Name: text}, nil
		}
	}
	before, name, slash := strings.Cut(text, "/")
	switch {
	case text == "":
		return openworker.ModelRef{}, api.Errorf(api.CodeInvalidRequest, "the model's name is empty; give name or Provider/name")
	case slices.ContainsFunc(strings.Split(text, "/"), func(part string) bool { return strings.TrimSpace(part) == "" }):
		return openworker.ModelRef{}, api.Errorf(api.CodeInvalidRequest, "%q has nothing on one side of a slash; give name, Provider/name, or a provider alone for its usual model", text)
	case strings.EqualFold(before, offlineProvider):
		if !slash {
			name = offlineModel
		}
		return openworker.ModelRef{Provider: offlineProvider, Name: name}, nil
	}
	p, known := c.config.Provider(before)
	if !known {
		return c.find(ctx, text)
	}
	ref := openworker.ModelRef{Provider: p.Name, Name: name}
	if err := c.callable(ref, ""); err != nil {
		return ref, err
	}
	switch {
	case !slash:
		var err error
		if ref.Name, _, err = c.usual(ctx, p); err != nil {
			return ref, advised{api.Errorf(api.CodeModelNotFound, "%s is named without a model, %w", p.Name, err), "name one as " + p.Name + "/NAME, or see that the server at " + p.BaseURL + " is running"}
		}
		return ref, nil
	case trusted || p.Standard == "" || c.knows(p.Name, name): // only a maker's list is sure to be whole
		return ref, nil
	}
	if o := c.offers(ctx, []config.Provider{p})[0]; o.err == nil && !o.lists(name) {
		return ref, noSuchModel(p.Name+" has no model "+name, name, []offer{o})
	}
	return ref, nil
}

// callable refuses a model that this program cannot call.
func (c choice) callable(ref openworker.ModelRef, by string) error {
	p, known := c.config.Provider(ref.Provider)
	switch {
	case c.has(ref.Provider):
		return nil
	case known:
		return advised{api.Errorf(api.CodeCredentialsMissing, "%s needs a key, and there is none", p.Name), wayToKey(p)}
	}
	return advised{api.Errorf(api.CodeUnknownProvider, "there is no provider %s here, and %s names %s", ref.Provider, by, ref), "configure it in the configuration file, as openworker config example shows, or name another model with --model"}
}

// knows reports whether a provider is known to have a model, as far as anything is known.
func (c choice) knows(provider, name string) bool {
	i := slices.IndexFunc(c.providers, func(p openworker.Provider) bool { return p.Name() == provider })
	if i < 0 {
		return false
	}
	_, known := c.providers[i].Facts(name)
	return known
}

// offer is a provider with the models that its server lists, or why that is not known.
type offer struct {
	config.Provider
	listed []string
	err    error
}

// lists reports whether the list has a model, also under the name that servers give it: with the tag that Ollama
// leaves out, and with the date of its release.
func (o offer) lists(name string) bool {
	return slices.ContainsFunc(o.listed, func(listed string) bool {
		rest, begins := strings.CutPrefix(listed, name)
		return begins && (rest == "" || rest == ":latest" || strings.HasPrefix(rest, "-20") && strings.Trim(rest, "-0123456789") == "")
	})
}

// offers asks the servers of providers for their models, all at once and for three seconds at most.
func (c choice) offers(ctx context.Context, providers []config.Provider) []offer {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	all := make([]offer, len(providers))
	var wait sync.WaitGroup
	for i, p := range providers {
		wait.Go(func() {
			all[i].Provider = p
			all[i].listed, all[i].err = c.config.List(ctx, p)
		})
	}
	wait.Wait()
	return all
}

// order are the providers that can be called, the current one first.
func (c choice) order() (order []config.Provider) {
	if p, ok := c.config.Provider(c.model.Provider); ok {
		order = append(order, p)
	}
	for _, p := range c.usable {
		if p.Name != c.model.Provider {
			order = append(order, p)
		}
	}
	return order
}

// find finds the provider of a model that is named without one.
func (c choice) find(ctx context.Context, name string) (openworker.ModelRef, error) {
	order := c.order()
	prefix, _, slash := strings.Cut(name, "/")
	if len(order) > 0 && order[0].Standard != "" { // a maker's own server: what it has is known
		for _, p := range order {
			if c.knows(p.Name, name) {
				return openworker.ModelRef{Provider: p.Name, Name: name}, nil
			}
		}
	}
	if len(order) == 1 && order[0].Standard == "" && !slash { // its list may not be whole, and nobody else is there
		return openworker.ModelRef{Provider: order[0].Name, Name: name}, nil
	}
	var found []config.Found
	var looking sync.WaitGroup
	looking.Go(func() { found = c.local(ctx) })
	offers := c.offers(ctx, order)
	looking.Wait()
	for _, f := range found {
		if !slices.ContainsFunc(order, func(p config.Provider) bool { return p.Name == f.Provider.Name }) {
			offers = append(offers, offer{Provider: f.Provider, listed: f.Models})
		}
	}
	if at := slices.IndexFunc(offers, func(o offer) bool { return o.lists(name) }); at >= 0 {
		return openworker.ModelRef{Provider: offers[at].Name, Name: name}, nil
	}
	maker, ofMaker := c.maker(name)
	switch {
	case len(offers) > 0 && offers[0].err != nil: // it may have anything
		return openworker.ModelRef{Provider: offers[0].Name, Name: name}, nil
	case ofMaker && c.has(maker.Name):
		return openworker.ModelRef{Provider: maker.Name, Name: name}, nil
	case slash:
		return openworker.ModelRef{}, c.noProvider(prefix, name, offers)
	case ofMaker && len(order) == 0:
		return openworker.ModelRef{}, advised{api.Errorf(api.CodeCredentialsMissing, "%s is a model of %s, which needs a key, and there is none", name, maker.Name), wayToKey(maker)}
	case len(offers) > 0 && offers[0].Standard == "": // its list may not be whole
		return openworker.ModelRef{Provider: offers[0].Name, Name: name}, nil
	case len(offers) > 0:
		return openworker.ModelRef{}, noSuchModel("no provider lists a model "+name, name, offers)
	}
	return openworker.ModelRef{}, advised{
		api.Errorf(api.CodeCredentialsMissing, "nobody is there who has the model %s: no provider has a key, and %s", name, c.noLocal()),
		wayToAnyKey + "; " + offlineProvider + "/" + offlineModel + " is the offline model",
	}
}

// maker is the provider whose own server is known to have a model.
func (c choice) maker(name string) (config.Provider, bool) {
	for _, p := range c.config.Providers {
		if adapter, err := p.Open(nil); err == nil && p.Standard != "" {
			if _, known := adapter.Facts(name); known {
				return p, true
			}
		}
	}
	return config.Provider{}, false
}

// wayToAnyKey says how a provider comes here at all.
const wayToAnyKey = "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, store a key with openworker config set-key PROVIDER, or start Ollama or llama.cpp"

// noProvider is the error of a name whose first part is no provider's and that nobody lists.
func (c choice) noProvider(prefix, name string, offers []offer) error {
	names := append(c.config.Names(), offlineProvider)
	said := fmt.Sprintf("there is no provider %s; there are %s", prefix, strings.Join(names, ", "))
	if near := document.Nearest(prefix, names); near != "" {
		said += "; did you mean " + near + strings.TrimPrefix(name, prefix) + "?"
	}
	next := "write Provider/name"
	if alike := similar(name, offers); len(alike) > 0 {
		said += "; and none of them lists " + name
		next += ", for example " + strings.Join(alike, ", ")
	}
	return advised{api.Errorf(api.CodeUnknownProvider, "%s", said), next}
}

// noSuchModel is the error of a name that is in no list.
func noSuchModel(said, name string, offers []offer) error {
	next := "openworker doctor asks the server"
	if alike := similar(name, offers); len(alike) > 0 {
		next = "name another with --model or OPENWORKER_MODEL: " + strings.Join(alike, ", ")
	}
	return advised{api.Errorf(api.CodeModelNotFound, "%s", said), next}
}

// similar are up to five of the models that are listed, with their providers, those that are most like a name first.
func similar(name string, offers []offer) []string {
	own := name[strings.LastIndex(name, "/")+1:]
	var alike []string
	for _, o := range offers {
		if near := document.Nearest(own, o.listed); near != "" {
			alike = append(alike, o.Name+"/"+near)
		}
	}
	for _, o := range offers {
		for _, listed := range likely(own, o.listed) {
			if ref := o.Name + "/" + listed; slices.Contains(o.listed, listed) && !slices.Contains(alike, ref) {
				alike = append(alike, ref)
			}
		}
	}
	return alike[:min(len(alike), 5)]
}
