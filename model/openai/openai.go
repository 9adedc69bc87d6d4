package openai

import (
	"fmt"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/facts"
	"github.com/openworkerai/openworker/model/internal/wire"
)

const defaultBaseURL = "https://api.openai.com/v1"

// Config sets up a provider. The zero value is OpenAI itself. Nothing is read from the environment.
type Config struct {
	// Name is the provider's name. Defaults to "OpenAI".
	Name string
	// BaseURL is what stands before /responses. Its scheme is http or https; it holds no user, query or fragment.
	// Defaults to "https://api.openai.com/v1".
	BaseURL string
	// Headers are sent with each request, for example OpenAI-Project or a gateway's. They may not set
	// Authorization, Content-Type or Accept.
	Headers map[string]string
	// HTTPClient is used instead of one of our own, whose transport uses no proxy and keeps up to 256
	// connections. Redirects are never followed, whatever it says: they would carry the credential along.
	HTTPClient *http.Client
	// Facts overrides what is known of models, by name. Others are looked up under the provider's name.
	Facts map[string]model.Facts
	// KeyOptional is for servers that need no credential; one that is given is still sent.
	KeyOptional bool
	// StreamIdle is how long a server may send nothing before the stream counts as cut. Comments that keep a
	// connection alive count as something. Defaults to api.DefaultStreamIdle.
	StreamIdle time.Duration
	// Effort is how much a reasoning model thinks: "none", "minimal", "low", "medium", "high", "xhigh" or "max", of
	// which each model knows some. "" leaves it to the model.
	Effort string
	// Summary asks a reasoning model to tell what it thought: "auto", "concise" or "detailed". "" asks for none: OpenAI
	// gives them to verified organizations only and refuses other requests.
	Summary string
	// Reasons reports whether a model reasons. Only such a model is sent Effort and Summary and is asked for its sealed
	// reasoning, since OpenAI refuses all three for others. Defaults to OpenAI's names: o1 and later, gpt-5 and
	// later but gpt-5-chat, codex.
	Reasons func(model string) bool
}

// Provider is a [model.Provider]. It is safe for concurrent use.
type Provider struct {
	config  Config
	client  *http.Client
	service responses.ResponseService
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider, or an error of code invalid_request that names the field that is wrong.
func New(config Config) (*Provider, error) {
	if config.Name == "" {
		config.Name = "OpenAI"
	}
	if config.BaseURL == "" {
		config.BaseURL = defaultBaseURL
	}
	if config.StreamIdle == 0 {
		config.StreamIdle = api.DefaultStreamIdle
	}
	if config.Reasons == nil {
		config.Reasons = reasons
	}
	base, err := wire.ParseBaseURL(config.BaseURL, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckHeaders(config.Headers, "Authorization"); err != nil {
		return nil, err
	}
	if err := checkReasoning(config); err != nil {
		return nil, err
	}
	p := &Provider{config: config, client: wire.NewClient(config.HTTPClient)}
	options := []option.RequestOption{
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(p.client),
		option.WithMaxRetries(0), // the journal owns retries
		option.WithHeader("Accept", "text/event-stream"),
	}
	for name, value := range config.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	p.service = responses.NewResponseService(options...)
	return p, nil
}

func checkReasoning(config Config) error {
	switch config.Effort {
	case "", "none", "minimal", "low", "medium", "high", "xhigh", "max":
	default:
		return api.Errorf(api.CodeInvalidRequest, "Effort is %.40q; it may be none, minimal, low, medium, high, xhigh or max", config.Effort)
	}
	switch config.Summary {
	case "", "auto", "concise", "detailed":
	default:
		return api.Errorf(api.CodeInvalidRequest, "Summary is %.40q; it may be auto, concise or detailed", config.Summary)
	}
	return nil
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.config.Name }

// Facts returns the configured facts of a model, else the known ones.
func (p *Provider) Facts(name string) (model.Facts, bool) {
	if known, ok := p.config.Facts[name]; ok {
		return known, true
	}
	return facts.Lookup(p.config.Name, name)
}

// NeedsCredential reports whether a credential is needed, which KeyOptional lifts.
func (p *Provider) NeedsCredential() bool { return !p.config.KeyOptional }

// TakesCredential implements [model.CredentialTaker]: a credential that is there is sent, also an optional one.
func (p *Provider) TakesCredential() bool { return true }

// CloseIdleConnections closes the connections that no call uses.
func (p *Provider) CloseIdleConnections() { p.client.CloseIdleConnections() }

// String keeps a provider's headers, which may hold a gateway's secret, out of logs.
func (p *Provider) String() string { return fmt.Sprintf("openai.Provider(%s)", p.config.Name) }
