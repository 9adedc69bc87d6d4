package config

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
)

// Keys says where keys are looked for.
type Keys string

// The zero value looks in the environment, then in the file.
const (
	KeysInEnvironment Keys = "environment"
	KeysInFile        Keys = "file"
)

// Config is what is configured.
type Config struct {
	// File is the configuration file, whether it is there or not; "" where there is no place for one. Present says
	// whether it is there.
	File     string
	FileFrom string
	Present  bool
	// Model is the model to take unless another is named, as it is written, and "" if none is configured.
	Model, ModelFrom string
	Credentials      Keys
	CredentialsFrom  string
	// KeyFile holds the keys that were set with SetKey; "" where there is no place for it.
	KeyFile   string
	Providers []Provider

	lookup func(string) (string, bool)
	stored openworker.Credentials

	patience  time.Duration
	transport http.RoundTripper
}

// Surroundings are what the configuration is made of.
type Surroundings struct {
	// Lookup finds environment variables.
	Lookup func(name string) (string, bool)
	// Dir is the directory of config.yaml and credentials.json, "" if there is none. It need not be there.
	Dir string
	// Local has the addresses of the machine's own servers by provider: [Ollama] and [LlamaCPP].
	Local map[string]string
	// Patience is how long a server of the machine may take to say that it is there. Defaults to 300 ms.
	Patience time.Duration
	// Transport carries what is asked of servers for their lists; nil is one of its own, without a proxy.
	Transport http.RoundTripper
}

// The names of files in [Surroundings.Dir].
const (
	fileName    = "config.yaml"
	keyFileName = "credentials.json"
)

// Load reads the configuration file, if there is one, and the environment. An error is invalid_request and says all
// that is wrong with the file, which then counts for nothing.
func Load(s Surroundings) (*Config, error) {
	c := &Config{lookup: s.Lookup, Providers: builtIn(s.Local), FileFrom: "the default", CredentialsFrom: "the default", transport: s.Transport}
	if c.patience = s.Patience; c.patience <= 0 {
		c.patience = 300 * time.Millisecond
	}
	if s.Dir != "" {
		c.File, c.KeyFile = FileIn(s.Dir), filepath.Join(s.Dir, keyFileName)
		c.stored = openworker.FileCredentials(c.KeyFile)
	}
	named, _ := s.Lookup("OPENWORKER_CONFIG")
	if named != "" {
		c.File, c.FileFrom = named, "OPENWORKER_CONFIG"
	}
	if err := c.read(named != ""); err != nil {
		return nil, err
	}
	if name, _ := s.Lookup("OPENWORKER_MODEL"); name != "" {
		c.Model, c.ModelFrom = name, "OPENWORKER_MODEL"
	}
	if err := c.environment(); err != nil {
		return nil, err
	}
	return c, nil
}

// FileError says why the configuration file cannot be read at all.
type FileError struct {
	err   error
	File  string
	Named bool // by OPENWORKER_CONFIG
}

func (e *FileError) Error() string { return e.err.Error() }

func (e *FileError) Unwrap() error { return e.err }

// read reads the file. One that was named must be there.
func (c *Config) read(named bool) error {
	if c.File == "" {
		return nil
	}
	data, err := document.Read(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil
	case err != nil:
		return &FileError{api.Errorf(api.CodeInvalidRequest, "the configuration: %s", api.AsError(err).Message), c.File, named}
	}
	c.Present = true
	d, err := document.Parse(c.File, data)
	if err != nil {
		return err
	}
	r := reader{Document: d, config: c}
	r.read()
	return d.Err()
}

// environment lays the variables with addresses over what the file says.
func (c *Config) environment() error {
	variables := map[string]string{"OpenAI": "OPENAI_BASE_URL", "Anthropic": "ANTHROPIC_BASE_URL"}
	for i := range c.Providers {
		p := &c.Providers[i]
		variable := variables[p.Name]
		address, _ := c.lookup(variable)
		if variable == "" || address == "" {
			p.settle()
			continue
		}
		p.BaseURL, p.From["baseURL"] = strings.TrimRight(address, "/"), variable
		p.settle()
		if _, err := p.Open(nil); err != nil {
			return api.Errorf(api.CodeInvalidRequest, "%s: %s", variable, api.AsError(err).Message)
		}
	}
	return nil
}

// settle decides what follows from an address that is not the maker's own: compatible servers speak Chat
// Completions, may want no key, and have models of their own.
func (p *Provider) settle() {
	if p.own() {
		return
	}
	p.Standard = ""
	if p.Protocol == OpenAIResponses && p.From["protocol"] == BuiltIn {
		p.Protocol, p.From["protocol"] = OpenAIChat, "the address, which is not OpenAI's"
	}
	if p.From["keyOptional"] == "" {
		p.KeyOptional = true
	}
}

// own reports whether the provider's address is its maker's.
func (p *Provider) own() bool {
	address, err := url.Parse(p.BaseURL)
	if err != nil {
		return false
	}
	switch host := address.Hostname(); p.Name {
	case "OpenAI":
		return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
	case "Anthropic":
		return host == "api.anthropic.com"
	case "Google":
		return host == "generativelanguage.googleapis.com"
	}
	return true
}

func sameName(a, b string) bool { return strings.EqualFold(a, b) }
