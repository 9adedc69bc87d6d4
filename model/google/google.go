package google

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/facts"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// Config sets up a provider. The zero value is Google's own API. Nothing is read from the environment.
type Config struct {
	// Name is the provider's name. Defaults to "Google".
	Name string
	// BaseURL is what stands before /v1beta/models. Its scheme is http or https; it holds no user, query or
	// fragment. Defaults to "https://generativelanguage.googleapis.com".
	BaseURL string
	// Headers are sent with each request, for example a gateway's. They may not set X-Goog-Api-Key, Content-Type
	// or Accept.
	Headers map[string]string
	// HTTPClient is used instead of one of our own, whose transport uses no proxy and keeps up to 256
	// connections. Redirects are never followed and its time-out is not used, whatever it says.
	HTTPClient *http.Client
	// Facts overrides what is known of models, by name. Others are looked up under the provider's name.
	Facts map[string]model.Facts
	// KeyOptional is for gateways that need no credential; one that is given is still sent.
	KeyOptional bool
	// StreamIdle is how long a server may send nothing before the stream counts as cut. Defaults to
	// api.DefaultStreamIdle.
	StreamIdle time.Duration
	// Thinking is sent with each request: how much a model thinks, and whether it shows its thoughts, which are the
	// reasoning of an answer. nil leaves both to the model, which then shows none. Models that do not think
	// refuse it.
	Thinking *genai.ThinkingConfig
	// Safety are the thresholds of Google's filters. nil leaves them at the model's own.
	Safety []*genai.SafetySetting
}

const (
	defaultName    = "Google"
	defaultBaseURL = "https://generativelanguage.googleapis.com"
)

// Provider is a [model.Provider]. It is safe for concurrent use.
type Provider struct {
	config Config
	models string // the address under which the models are
	client *http.Client
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider, or an error of code invalid_request that names the field that is wrong.
func New(config Config) (*Provider, error) {
	if config.Name == "" {
		config.Name = defaultName
	}
	if config.BaseURL == "" {
		config.BaseURL = defaultBaseURL
	}
	if config.StreamIdle == 0 {
		config.StreamIdle = api.DefaultStreamIdle
	}
	base, err := wire.ParseBaseURL(config.BaseURL, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckHeaders(config.Headers, keyHeader); err != nil {
		return nil, err
	}
	if t := config.Thinking; t != nil && t.ThinkingBudget != nil && t.ThinkingLevel != "" {
		return nil, api.Errorf(api.CodeInvalidRequest, "Thinking may set ThinkingBudget or ThinkingLevel, not both: models of generation 3 and later take the level")
	}
	return &Provider{config: config, models: base.String() + "/v1beta/", client: wire.NewClient(config.HTTPClient)}, nil
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.config.Name }

// Facts returns the configured facts of a model, else the known ones. Gemini takes no GIF.
func (p *Provider) Facts(name string) (model.Facts, bool) {
	if known, ok := p.config.Facts[name]; ok {
		return known, true
	}
	return facts.Lookup(p.config.Name, strings.TrimPrefix(name, "models/"))
}

// NeedsCredential reports whether a credential is needed, which KeyOptional lifts.
func (p *Provider) NeedsCredential() bool { return !p.config.KeyOptional }

// TakesCredential implements [model.CredentialTaker]: a credential that is there is sent, also an optional one.
func (p *Provider) TakesCredential() bool { return true }

// CloseIdleConnections closes the connections that no call uses.
func (p *Provider) CloseIdleConnections() { p.client.CloseIdleConnections() }

// String keeps a provider's headers, which may hold a gateway's secret, out of logs.
func (p *Provider) String() string { return fmt.Sprintf("google.Provider(%s)", p.config.Name) }
