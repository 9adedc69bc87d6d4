package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
)

// makers answers for the makers' own servers, by host.
type makers map[string]string

func (m makers) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := m[r.URL.Hostname()]
	if !ok {
		return loopback{}.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func TestAModelsNameThatCannotBeIsRefusedWithTheNextStep(t *testing.T) {
	t.Parallel()
	local := strings.TrimSuffix(strings.TrimPrefix(serve(t, `{"data":[{"id":"qwen"},{"id":"llama"}]}`, http.NotFound), "http://"), "/v1")
	tests := []struct {
		name, typed string
		keys        string
		ollama      bool
		code        api.Code
		says, next  string
	}{
		{"nothing", " ", "OPENAI_API_KEY", false, api.CodeInvalidRequest, "is empty", ""},
		{"nothing behind the slash", "nonsense/", "OPENAI_API_KEY", false, api.CodeInvalidRequest, `"nonsense/" has nothing on one side of a slash`, ""},
		{"nothing before the slash", "/x", "OPENAI_API_KEY", false, api.CodeInvalidRequest, `"/x" has nothing on one side`, ""},
		{"nothing between slashes", "openai//x", "OPENAI_API_KEY", false, api.CodeInvalidRequest, "has nothing on one side", ""},
		{"a provider that is not there", "foo/bar", "OPENAI_API_KEY", false, api.CodeUnknownProvider, "there is no provider foo; there are OpenAI, Anthropic, Google, ", "OpenAI/gpt-5-mini"},
		{"a provider that is typed wrong", "antropic/claude-x", "OPENAI_API_KEY", false, api.CodeUnknownProvider, "did you mean Anthropic/claude-x?", ""},
		{"a provider that is not there, and no key", "foo/bar", "", false, api.CodeUnknownProvider, "there is no provider foo", "Provider/name"},
		{"a provider that is not there, with a local server", "foo/qwan", "", true, api.CodeUnknownProvider, "there is no provider foo", "Ollama/qwen"},
		{"a provider without its key", "google/x", "OPENAI_API_KEY", false, api.CodeCredentialsMissing, "Google needs a key", "set GEMINI_API_KEY or GOOGLE_API_KEY"},
		{"a provider without its key, alone", "google", "OPENAI_API_KEY", false, api.CodeCredentialsMissing, "Google needs a key", "set GEMINI_API_KEY"},
		{"a model that its maker does not list", "OpenAI/gpt-5-mimi", "OPENAI_API_KEY", false, api.CodeModelNotFound, "OpenAI has no model gpt-5-mimi", "OpenAI/gpt-5-mini"},
		{"a model that nobody lists", "gpt-5-mimi", "OPENAI_API_KEY", true, api.CodeModelNotFound, "no provider lists a model gpt-5-mimi", "OpenAI/gpt-5-mini"},
		{"a maker's model without any key", "gpt-5", "", false, api.CodeCredentialsMissing, "gpt-5 is a model of OpenAI", "set OPENAI_API_KEY"},
		{"a maker's model beside a local server", "gpt-5", "", true, api.CodeCredentialsMissing, "gpt-5 is a model of OpenAI", "set OPENAI_API_KEY"},
		{"an unknown model without any key", "brand-new", "", false, api.CodeCredentialsMissing, "no provider has a key, and no local server was found", "Scripted/demo is the offline model"},
		{"a local server alone that does not run", "llama.cpp", "OPENAI_API_KEY", false, api.CodeModelNotFound, "llama.cpp is named without a model, but its list of models cannot be read", "name one as llama.cpp/NAME"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.env[tt.keys] = "sk-1"
			m := p.main(strings.NewReader(""), nil, nil)
			m.Patience = patience
			m.Transport = makers{"api.openai.com": `{"data":[{"id":"gpt-5-mini"},{"id":"o9"}]}`}
			m.Local = map[string]string{config.Ollama: "127.0.0.1:1", config.LlamaCPP: "127.0.0.1:1"}
			if tt.ollama {
				m.Local[config.Ollama] = local
			}
			c, err := m.choices(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ref, err := c.read(t.Context(), tt.typed, false)
			if api.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.says) || !strings.Contains(m.nextStep(err), tt.next) {
				t.Errorf("%s, %v\n  %s", ref, err, m.nextStep(err))
			}
		})
	}
}

func TestNoServerIsAskedForAModelThatIsConfiguredOrKnown(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_API_KEY"], p.env["ANTHROPIC_API_KEY"], p.env["OPENWORKER_MODEL"] = "sk-1", "sk-1", "OpenAI/a-new-one"
	p.configure("providers: {Mine: {protocol: openai-chat, baseURL: http://127.0.0.1:1/v1, keyOptional: true, models: {large: {}}}}")
	m := p.main(strings.NewReader(""), nil, nil)
	m.Transport = silent{t}
	for typed, want := range map[string]string{
		"": "OpenAI/a-new-one", "large": "Mine/large", "mine/other": "Mine/other", "mine": "Mine/large", "gpt-5": "OpenAI/gpt-5",
		"openai/gpt-5": "OpenAI/gpt-5", "claude-opus-5": "Anthropic/claude-opus-5", "Scripted/x": "Scripted/x",
	} {
		if c, err := m.choose(t.Context(), typed); err != nil || c.model.String() != want {
			t.Errorf("%q is %s, %v; want %s", typed, c.model, err, want)
		}
	}
}

// silent is for those that must not ask anybody.
type silent struct{ t *testing.T }

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.t.Errorf("it asks %s", r.URL)
	return nil, http.ErrUseLastResponse
}

// A conversation is not sent to another provider than the one that it was begun with, unless somebody says so.
func TestASessionKeepsItsModelWhateverElseIsThere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	offline := p.ok("", "run", "hello").session(t)
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"m"}]}`, func(w http.ResponseWriter, _ *http.Request) { answer(w, "from the server") })
	if got := p.ok("", "run", "--session", offline, "again"); !strings.Contains(got.out, "offline model") || !strings.Contains(got.err, "Scripted/demo answers, as in this session before") {
		t.Errorf("with another server: %+v", got)
	}
	if got := p.ok("", "run", "--session", offline, "--model", "OpenAI/m", "again"); got.out != "from the server\n" {
		t.Errorf("with --model: %+v", got)
	}
	p.env["OPENWORKER_MODEL"] = "OpenAI/m"
	if got := p.ok("", "run", "--session", offline, "again"); got.out != "from the server\n" {
		t.Errorf("with OPENWORKER_MODEL: %+v", got)
	}
	delete(p.env, "OPENWORKER_MODEL")
	p.configure("model: OpenAI/m\n")
	if got := p.ok("", "run", "--session", offline, "again"); !strings.Contains(got.out, "offline model") {
		t.Errorf("with a model in the file: %+v", got)
	}
	served := p.ok("", "run", "hello").session(t)
	delete(p.env, "OPENAI_BASE_URL")
	got := p.run("", "run", "--session", served, "--json", "again")
	if got.code != exitFailure || !strings.Contains(got.err, `"code":"credentials_missing"`) || !strings.Contains(got.err, `"next":"set OPENAI_API_KEY, `) {
		t.Errorf("without its key: %+v", got)
	}
	if got := p.ok("", "run", "--session", served, "--model", "scripted", "again"); !strings.Contains(got.out, "offline model") {
		t.Errorf("another one that is named: %+v", got)
	}
}

func TestANamedModelIsNeverAnsweredByTheOfflineOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.run("", "run", "--model", "gpt-5", "hello")
	if got.code != exitFailure || got.out != "" || !strings.Contains(got.err, "error: credentials_missing: gpt-5 is a model of OpenAI") || !strings.Contains(got.err, "set OPENAI_API_KEY") {
		t.Errorf("%+v", got)
	}
	if got := p.ok("", "run", "--model", "Scripted/gpt-5", "hello"); !strings.Contains(got.out, "offline model") {
		t.Errorf("%+v", got)
	}
}
