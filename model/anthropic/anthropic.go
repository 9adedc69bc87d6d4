package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/facts"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// DefaultBaseURL is Anthropic's own address.
const DefaultBaseURL = "https://api.anthropic.com"

// Config sets up a provider. The zero value is Anthropic itself. Nothing is read from the environment.
type Config struct {
	// Name is the provider's name. Defaults to "Anthropic".
	Name string
	// BaseURL is what stands before /v1/messages. Its scheme is http or https; it holds no user, query or
	// fragment. Defaults to DefaultBaseURL.
	BaseURL string
	// Headers are sent with each request, for example a gateway's, and replace the SDK's own of the same name. They
	// may not set X-Api-Key, Content-Type or Accept.
	Headers map[string]string
	// HTTPClient is used instead of one of our own, whose transport uses no proxy and keeps up to 256
	// connections. Redirects are never followed, whatever it says: they would carry the credential along.
	HTTPClient *http.Client
	// Facts overrides what is known of models, by name. Others are looked up among Anthropic's.
	Facts map[string]model.Facts
	// KeyOptional is for servers that need no credential; one that is given is still sent.
	KeyOptional bool
	// StreamIdle is how long the server may send nothing before the stream counts as cut. Pings count as something.
	// Defaults to api.DefaultStreamIdle.
	StreamIdle time.Duration
	// Thinking configures the models' reasoning. The zero value leaves it to the model.
	Thinking Thinking
	// NoCache sets no cache points, for servers that do not know them.
	NoCache bool
}

// Provider is a [model.Provider]. It is safe for concurrent use.
type Provider struct {
	config Config
	http   *http.Client
	client sdk.Client
	beta   string // the host's own anthropic-beta
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider, or an error of code invalid_request that names the field that is wrong.
func New(config Config) (*Provider, error) {
	if config.Name == "" {
		config.Name = "Anthropic"
	}
	if config.BaseURL == "" {
		config.BaseURL = DefaultBaseURL
	}
	if config.StreamIdle == 0 {
		config.StreamIdle = api.DefaultStreamIdle
	}
	base, err := wire.ParseBaseURL(config.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckHeaders(config.Headers, "X-Api-Key"); err != nil {
		return nil, err
	}
	if err := config.Thinking.check(); err != nil {
		return nil, err
	}
	p := &Provider{config: config, http: wire.NewClient(config.HTTPClient)}
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0), // retries are the runtime's
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(p.http),
	}
	for name, value := range config.Headers {
		options = append(options, option.WithHeader(name, value))
		if strings.EqualFold(name, betaHeader) {
			p.beta = value
		}
	}
	p.client = sdk.NewClient(options...)
	return p, nil
}

// Name returns the configured name.
func (p *Provider) Name() string { return p.config.Name }

// Facts returns the configured facts of a model, else the known ones.
func (p *Provider) Facts(name string) (model.Facts, bool) {
	if known, ok := p.config.Facts[name]; ok {
		return known, true
	}
	return facts.Lookup("anthropic", name)
}

// NeedsCredential reports whether a credential is needed, which KeyOptional lifts.
func (p *Provider) NeedsCredential() bool { return !p.config.KeyOptional }

// TakesCredential implements [model.CredentialTaker]: a credential that is there is sent, also an optional one.
func (p *Provider) TakesCredential() bool { return true }

// CloseIdleConnections closes the connections that no call uses.
func (p *Provider) CloseIdleConnections() { p.http.CloseIdleConnections() }

// String keeps a provider's headers, which may hold a gateway's secret, out of logs.
func (p *Provider) String() string { return fmt.Sprintf("anthropic.Provider(%s)", p.config.Name) }
