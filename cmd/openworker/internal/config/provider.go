package config

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
	"github.com/openworkerai/openworker/model/google"
	"github.com/openworkerai/openworker/model/openai"
	"github.com/openworkerai/openworker/model/openaichat"
)

// Protocol is what a provider's server speaks.
type Protocol string

// The protocols.
const (
	OpenAIChat      Protocol = "openai-chat"      // Chat Completions, which compatible servers speak
	OpenAIResponses Protocol = "openai-responses" // Responses
	Anthropic       Protocol = "anthropic"        // Messages
	Google          Protocol = "google"           // Gemini
)

// Protocols are all of them, in the order in which they are told.
func Protocols() []Protocol { return []Protocol{OpenAIChat, OpenAIResponses, Anthropic, Google} }

// Provider is one provider as it is configured.
type Provider struct {
	Name     string
	Protocol Protocol
	// BaseURL is the server's address, never "": what stands before /chat/completions or /responses, and before
	// /v1/messages or /v1beta/models at Anthropic's and Google's protocol.
	BaseURL string
	Headers map[string]string
	// KeyVariables are the environment variables that may hold its key; the first that is set counts.
	KeyVariables []string
	// KeyOptional is set for a server that may need no key.
	KeyOptional bool
	// MaxTokensField and SessionField are those of openaichat.Config.
	MaxTokensField, SessionField string
	// Models are those that the configuration names, in its order, with what is known of them.
	Models []string
	Facts  map[string]model.Facts
	// Standard is the model that is taken if none is named, "" to take the first of Models or of the server's list.
	Standard string
	// Local is set for a server that is used unasked only if it is found running.
	Local bool
	// From says where fields come from, by the name that they have in the configuration file.
	From map[string]string
}

// Origins of values that come from no file and no variable.
const (
	BuiltIn = "built in"
	// OpenAIURL and the like are the addresses of the makers' own servers.
	OpenAIURL    = "https://api.openai.com/v1"
	AnthropicURL = "https://api.anthropic.com"
	GoogleURL    = "https://generativelanguage.googleapis.com"
)

// builtIn are the providers that need no configuration. local has the addresses (host:port) of the servers of one's
// own machine, by provider; one that is left out is not there.
func builtIn(local map[string]string) []Provider {
	usual := func(protocol Protocol) string { return Provider{Protocol: protocol}.Guess() }
	from := func() map[string]string { return map[string]string{"protocol": BuiltIn, "baseURL": BuiltIn} }
	list := []Provider{
		{Name: "OpenAI", Protocol: OpenAIResponses, BaseURL: OpenAIURL, KeyVariables: []string{"OPENAI_API_KEY"}, Standard: usual(OpenAIResponses), From: from()},
		{Name: "Anthropic", Protocol: Anthropic, BaseURL: AnthropicURL, KeyVariables: []string{"ANTHROPIC_API_KEY"}, Standard: usual(Anthropic), From: from()},
		{Name: "Google", Protocol: Google, BaseURL: GoogleURL, KeyVariables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Standard: usual(Google), From: from()},
	}
	for _, name := range []string{Ollama, LlamaCPP} {
		if address := local[name]; address != "" {
			list = append(list, Provider{Name: name, Protocol: OpenAIChat, BaseURL: "http://" + address + "/v1", KeyOptional: true, Local: true, From: from()})
		}
	}
	return list
}

// Guess is the model that a server of the provider's protocol probably has: its maker's usual one.
func (p Provider) Guess() string {
	switch p.Protocol {
	case Anthropic:
		return "claude-sonnet-5"
	case Google:
		return "gemini-3.7-flash"
	}
	return "gpt-5-mini"
}

// The servers of one's own machine, with the addresses that they have unless told otherwise.
const (
	Ollama          = "Ollama"
	OllamaAddress   = "127.0.0.1:11434"
	LlamaCPP        = "llama.cpp"
	LlamaCPPAddress = "127.0.0.1:8080"
)

// Open makes the adapter that speaks to the provider. client is used for its connections; nil is one of its own.
// Errors: invalid_request, for an address or a header that cannot be.
func (p Provider) Open(client *http.Client) (model.Provider, error) {
	switch p.Protocol {
	case OpenAIChat:
		return openaichat.New(openaichat.Config{
			Name: p.Name, BaseURL: p.BaseURL, Headers: p.Headers, HTTPClient: client, Facts: p.Facts, KeyOptional: p.KeyOptional,
			MaxTokensField: p.MaxTokensField, SessionField: p.SessionField,
		})
	case OpenAIResponses:
		return openai.New(openai.Config{Name: p.Name, BaseURL: p.BaseURL, Headers: p.Headers, HTTPClient: client, Facts: p.Facts, KeyOptional: p.KeyOptional})
	case Anthropic:
		return anthropic.New(anthropic.Config{Name: p.Name, BaseURL: p.BaseURL, Headers: p.Headers, HTTPClient: client, Facts: p.Facts, KeyOptional: p.KeyOptional})
	case Google:
		return google.New(google.Config{Name: p.Name, BaseURL: p.BaseURL, Headers: p.Headers, HTTPClient: client, Facts: p.Facts, KeyOptional: p.KeyOptional})
	}
	return nil, api.Errorf(api.CodeInvalidRequest, "there is no protocol %q", p.Protocol)
}

// Key is the provider's key and where it comes from; "" if there is none. Errors: credentials_missing for a file of
// keys that cannot be used.
func (c *Config) Key(ctx context.Context, p Provider) (key, from string, err error) {
	if c.Credentials != KeysInFile {
		for _, name := range p.KeyVariables {
			if key, _ := c.lookup(name); key != "" {
				return key, name, nil
			}
		}
	}
	if c.Credentials != KeysInEnvironment && c.KeyFile != "" {
		key, ok, err := c.stored.Credential(ctx, p.Name)
		if ok || err != nil {
			return key, c.KeyFile, err
		}
	}
	return "", "", nil
}

// Add configures one more provider, instead of one of its name, in any case. Without an address a provider of a maker's
// protocol has the maker's. Errors: invalid_request, and nothing is changed.
func (c *Config) Add(p Provider) error {
	switch {
	case !providerName.MatchString(p.Name):
		return api.Errorf(api.CodeInvalidRequest, "%.80q is no provider's name: up to 64 of A–Z a–z 0–9 . _ -, beginning with a letter or digit", p.Name)
	case sameName(p.Name, scripted):
		return api.Errorf(api.CodeInvalidRequest, "%s is the offline model's name; choose another for the provider", scripted)
	case !slices.Contains(Protocols(), p.Protocol):
		return api.Errorf(api.CodeInvalidRequest, "provider %s: protocol is %.80q; it is one of %v", p.Name, p.Protocol, Protocols())
	}
	usual := map[Protocol]string{OpenAIResponses: OpenAIURL, Anthropic: AnthropicURL, Google: GoogleURL}
	if p.BaseURL = cmp.Or(strings.TrimRight(p.BaseURL, "/"), usual[p.Protocol]); p.BaseURL == "" {
		return api.Errorf(api.CodeInvalidRequest, "provider %s: baseURL is missing; give the server's address, for example http://127.0.0.1:8080/v1", p.Name)
	}
	if _, err := p.Open(nil); err != nil {
		return api.Errorf(api.CodeInvalidRequest, "provider %s: %s", p.Name, api.AsError(err).Message)
	}
	c.Providers = append(slices.DeleteFunc(slices.Clone(c.Providers), func(old Provider) bool { return sameName(old.Name, p.Name) }), p)
	return nil
}

// Provider finds a provider by its name, in any case.
func (c *Config) Provider(name string) (Provider, bool) {
	i := slices.IndexFunc(c.Providers, func(p Provider) bool { return sameName(p.Name, name) })
	if i < 0 {
		return Provider{}, false
	}
	return c.Providers[i], true
}

// Names are the providers' names.
func (c *Config) Names() []string {
	var names []string
	for _, p := range c.Providers {
		names = append(names, p.Name)
	}
	return names
}
