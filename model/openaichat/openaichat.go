package openaichat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/facts"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// Config sets up a provider. Only BaseURL is needed. Nothing is read from the environment.
type Config struct {
	// Name is the provider's name. Defaults to "OpenAI".
	Name string
	// BaseURL is what stands before /chat/completions, for example "https://api.openai.com/v1". Its scheme is
	// http or https; it holds no user, query or fragment.
	BaseURL string
	// Headers are sent with each request, for example a gateway's. They may not set Authorization,
	// Content-Type or Accept.
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
	// MaxTokensField is the field that bounds an answer. Defaults to "max_completion_tokens" for OpenAI's and
	// Azure's own hosts, whose newer models refuse the old name, and to "max_tokens" elsewhere, since many
	// servers know no other and would leave the answer unbounded.
	MaxTokensField string
	// SessionField is the field that carries the session's key for the provider's cache, for example
	// "prompt_cache_key". "" sends none.
	SessionField string
	// DropReasoning sends no reasoning back. By default reasoning that came from the same provider and model
	// goes back in the field that it came in, which some servers demand between tool calls and others ignore.
	DropReasoning bool
	// ExtraBody is added to each request's body. "stream_options" replaces ours; null leaves it out. The other
	// fields that a request has cannot be set.
	ExtraBody map[string]json.RawMessage
}

// Provider is a [model.Provider]. It is safe for concurrent use.
type Provider struct {
	config  Config
	url     string
	client  *http.Client
	extra   []byte // ExtraBody's fields, each with a comma before it
	bodies  sync.Pool
	readers sync.Pool
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider, or an error of code invalid_request that names the field that is wrong.
func New(config Config) (*Provider, error) {
	base, err := wire.ParseBaseURL(config.BaseURL, "https://api.openai.com/v1")
	if err != nil {
		return nil, err
	}
	if config.Name == "" {
		config.Name = "OpenAI"
	}
	if config.StreamIdle == 0 {
		config.StreamIdle = api.DefaultStreamIdle
	}
	if config.MaxTokensField == "" {
		config.MaxTokensField = maxTokensField(base.Hostname())
	}
	if err := wire.CheckHeaders(config.Headers, "Authorization"); err != nil {
		return nil, err
	}
	p := &Provider{
		config: config,
		url:    base.String() + "/chat/completions",
		client: wire.NewClient(config.HTTPClient),
	}
	if p.extra, err = encodeExtra(config); err != nil {
		return nil, err
	}
	p.bodies.New = func() any { return new([]byte) }
	p.readers.New = func() any { return bufio.NewReaderSize(nil, 16<<10) }
	return p, nil
}

func maxTokensField(host string) string {
	if host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || strings.HasSuffix(host, ".openai.azure.com") {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

// encodeExtra appends the host's own fields, in one order, and refuses those that are ours.
func encodeExtra(config Config) ([]byte, error) {
	var out []byte
	for _, name := range slices.Sorted(maps.Keys(config.ExtraBody)) {
		value := config.ExtraBody[name]
		switch name {
		case "model", "messages", "tools", "tool_choice", "stream", "n", "functions", config.MaxTokensField, config.SessionField:
			return nil, api.Errorf(api.CodeInvalidRequest, "ExtraBody may not set %q", name)
		}
		if !json.Valid(value) {
			return nil, api.Errorf(api.CodeInvalidRequest, "ExtraBody: the value of %q is not JSON", name)
		}
		if name == "stream_options" && string(value) == "null" {
			continue
		}
		out = append(out, ',')
		out = wire.AppendString(out, name)
		out = append(out, ':')
		out = append(out, value...)
	}
	return out, nil
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
func (p *Provider) String() string { return fmt.Sprintf("openaichat.Provider(%s)", p.config.Name) }
