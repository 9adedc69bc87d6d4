package config_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	"github.com/openworkerai/openworker/model"
)

// written writes a configuration file and gives what Load is given of it.
func written(t *testing.T, text string, env map[string]string) config.Surroundings {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Surroundings{Dir: dir, Local: map[string]string{config.Ollama: config.OllamaAddress, config.LlamaCPP: config.LlamaCPPAddress},
		Lookup: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}
}

func TestTheExampleIsAConfiguration(t *testing.T) {
	t.Parallel()
	c, err := config.Load(written(t, config.Example, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Names(), " "); got != "OpenAI Anthropic Google Ollama llama.cpp Local Gateway" {
		t.Errorf("providers: %s", got)
	}
	local, _ := c.Provider("LOCAL")
	want := model.Facts{Window: 131072, MaxOutputTokens: 32768}.OnlyFormats("image/png", "image/jpeg")
	if diff := cmp.Diff(map[string]model.Facts{"openai/gpt-oss-20b": want}, local.Facts); diff != "" {
		t.Error(diff)
	}
	gateway, _ := c.Provider("Gateway")
	if gateway.Protocol != config.Anthropic || strings.Join(gateway.KeyVariables, "") != "GATEWAY_TOKEN" || c.Model != "OpenAI/gpt-5-mini" {
		t.Errorf("%+v, model %s", gateway, c.Model)
	}
	if ollama, _ := c.Provider("ollama"); ollama.Local || ollama.MaxTokensField != "max_tokens" {
		t.Errorf("a local server that is configured is used unasked: %+v", ollama)
	}
}

func TestEachFaultOfTheFileIsToldWhereItStands(t *testing.T) {
	t.Parallel()
	const local = "providers:\n  Local:\n    protocol: openai-chat\n    baseURL: http://127.0.0.1:1/v1\n"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"an unknown field", "modle: x\n", []string{`1:1: there is no field "modle"; did you mean "model"?`}},
		{"an unknown field of a provider", local + "    url: x\n", []string{`5:5: providers.Local.url: there is no field "url"; there are baseURL, headers, `}},
		{"text where a map is wanted", "providers: Local\n", []string{"1:12: providers: must be a map of fields and is text"}},
		{"a wrong type", local + "    keyOptional: maybe\n", []string{"5:18: providers.Local.keyOptional: must be true or false and is text"}},
		{"no protocol", "providers:\n  Local:\n    baseURL: http://h/v1\n", []string{"2:3: providers.Local: protocol is missing; write one of openai-chat, openai-responses, anthropic, google"}},
		{"an unknown protocol", "providers:\n  Local:\n    protocol: soap\n    baseURL: http://h/v1\n", []string{`3:15: providers.Local.protocol: is "soap"; write one of openai-chat, `}},
		{"no address", "providers:\n  Local:\n    protocol: openai-chat\n", []string{"2:3: providers.Local: baseURL is missing"}},
		{"no address at all", "providers:\n  Local:\n    protocol: openai-chat\n    baseURL: nowhere\n", []string{"4:14: providers.Local.baseURL: BaseURL must be an absolute http or https address"}},
		{"a password in the address", "providers:\n  Local:\n    protocol: anthropic\n    baseURL: https://u:hush@h\n", []string{"4:14: providers.Local.baseURL: BaseURL must hold no user"}},
		{"a name that is none", "providers:\n  a/b:\n    protocol: google\n", []string{`2:3: providers.a/b: "a/b" is no provider's name`}},
		{"the offline model's name", "providers:\n  scripted:\n    protocol: google\n", []string{"2:3: providers.scripted: Scripted is the offline model's name"}},
		{"one name twice in other letters", local + "  LOCAL:\n    protocol: google\n", []string{"5:3: providers.LOCAL: the provider Local stands twice"}},
		{"one name twice", local + "  Local:\n    protocol: google\n", []string{`5:3: mapping key "Local" already defined at [2:3]`}},
		{"a header of the protocol's own", local + "    headers:\n      Authorization: x\n", []string{"6:7: providers.Local.headers: Headers may not set Authorization"}},
		{"a header that is none", local + "    headers: {\"a b\": x}\n", []string{`5:15: providers.Local.headers: "a b" is no name of a header`}},
		{"a header with a line break", local + "    headers: {X-A: \"a\\nb\"}\n", []string{"5:20: providers.Local.headers.X-A: holds a control character"}},
		{"a header with a variable that is not set", local + "    headers: {X-A: \"t ${TEAM} ${9}\"}\n", []string{
			"5:20: providers.Local.headers.X-A: the environment variable TEAM is not set", "5:20: providers.Local.headers.X-A: ${9} names no environment variable",
		}},
		{"no variable's name", local + "    keyVariable: a-b\n", []string{`5:18: providers.Local.keyVariable: is "a-b", which is no name of an environment variable`}},
		{"facts out of bounds", local + "    models:\n      m: {window: 0, maxOutputTokens: -1, formats: [png]}\n", []string{
			"6:19: providers.Local.models.m.window: is 0; it must be from 1", "6:39: providers.Local.models.m.maxOutputTokens: is -1",
			`6:53: providers.Local.models.m.formats[0]: is "png", which is no media type`,
		}},
		{"an answer larger than its window", local + "    models:\n      m: {window: 10, maxOutputTokens: 11}\n", []string{"6:10: providers.Local.models.m: maxOutputTokens is 11, more than the window of 10"}},
		{"a field of another protocol", "providers:\n  G:\n    protocol: google\n    maxTokensField: x\n", []string{"4:21: providers.G.maxTokensField: belongs to the protocol openai-chat"}},
		{"a place for keys that is none", "credentials: vault\n", []string{`1:14: credentials: is "vault"; write environment or file`}},
		{"an empty model", "model: ''\n", []string{"1:8: model: is empty; write Provider/name"}},
		{"several at once", "model: [a]\ncredentials: x\nproviders: {P: {}}\n", []string{"1:8: model: must be text and is a list", "2:14: credentials: ", "3:13: providers.P: protocol is missing"}},
		{"no YAML", "model: {\n", []string{"1:8: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := written(t, tt.text, nil)
			c, err := config.Load(s)
			if api.CodeOf(err) != api.CodeInvalidRequest || c != nil {
				t.Fatalf("it is taken: %+v, %v", c, err)
			}
			got := strings.Split(api.AsError(err).Message, "\n")
			if len(got) != len(tt.want) {
				t.Fatalf("%d faults:\n%s", len(got), strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], config.FileIn(s.Dir)+":"+want) {
					t.Errorf("got  %s\nwant FILE:%s…", got[i], want)
				}
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("it tells a password: %v", err)
			}
		})
	}
}

func TestTheEnvironmentGoesBeforeTheFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file                         string
		env                                map[string]string
		provider, protocol, address, model string
		optional                           bool
	}{
		{"nothing", "", nil, "OpenAI", "openai-responses", config.OpenAIURL, "", false},
		{"another address of OpenAI", "", map[string]string{"OPENAI_BASE_URL": "http://h/v1/"}, "OpenAI", "openai-chat", "http://h/v1", "", true},
		{"OpenAI's own address", "", map[string]string{"OPENAI_BASE_URL": "https://eu.api.openai.com/v1"}, "OpenAI", "openai-responses", "https://eu.api.openai.com/v1", "", false},
		{"another address, with its protocol", "providers: {OpenAI: {protocol: openai-responses}}", map[string]string{"OPENAI_BASE_URL": "http://h/v1"}, "OpenAI", "openai-responses", "http://h/v1", "", true},
		{"an address in the file", "providers: {openai: {baseURL: http://f/v1, keyOptional: false}}", nil, "OpenAI", "openai-chat", "http://f/v1", "", false},
		{"an address in both", "providers: {OpenAI: {baseURL: http://f/v1}}", map[string]string{"OPENAI_BASE_URL": "http://h/v1"}, "OpenAI", "openai-chat", "http://h/v1", "", true},
		{"another address of Anthropic", "", map[string]string{"ANTHROPIC_BASE_URL": "http://h"}, "Anthropic", "anthropic", "http://h", "", true},
		{"Google's own address", "", nil, "Google", "google", config.GoogleURL, "", false},
		{"a model", "model: Google/g", map[string]string{"OPENWORKER_MODEL": "m"}, "Google", "google", config.GoogleURL, "m", false},
		{"a model in the file", "model: Google/g", nil, "Google", "google", config.GoogleURL, "Google/g", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := config.Load(written(t, tt.file, tt.env))
			if err != nil {
				t.Fatal(err)
			}
			p, _ := c.Provider(tt.provider)
			if string(p.Protocol) != tt.protocol || p.BaseURL != tt.address || c.Model != tt.model || p.KeyOptional != tt.optional {
				t.Errorf("%s at %s, key optional %t, model %q", p.Protocol, p.BaseURL, p.KeyOptional, c.Model)
			}
		})
	}
}

func TestAFileThatIsNamedMustBeThere(t *testing.T) {
	t.Parallel()
	s := written(t, "model: a\n", nil)
	other := filepath.Join(t.TempDir(), "other.yaml")
	s.Lookup = func(name string) (string, bool) {
		return map[string]string{"OPENWORKER_CONFIG": other}[name], name == "OPENWORKER_CONFIG"
	}
	if _, err := config.Load(s); api.CodeOf(err) != api.CodeInvalidRequest || !strings.Contains(err.Error(), other) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(other, []byte("model: b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := config.Load(s); err != nil || c.Model != "b" || c.File != other {
		t.Errorf("%+v, %v", c, err)
	}
	s.Lookup, s.Dir = func(string) (string, bool) { return "", false }, ""
	if c, err := config.Load(s); err != nil || c.File != "" || c.KeyFile != "" {
		t.Errorf("without a directory: %+v, %v", c, err)
	}
}

func TestKeysAreStoredPrivatelyAndFoundAfterTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{}
	s := written(t, "", env)
	s.Dir = filepath.Join(s.Dir, "not", "there", "yet")
	c, err := config.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) string {
		t.Helper()
		key, ok, err := c.Keys().Credential(t.Context(), name)
		if err != nil || ok != (key != "") {
			t.Errorf("%s: %q, %t, %v", name, key, ok, err)
		}
		return key
	}
	google, _ := c.Provider("Google")
	anthropic, _ := c.Provider("Anthropic")
	if had, err := c.SetKey(google, ""); had || err != nil {
		t.Errorf("removing what is not there: %t, %v", had, err)
	}
	for _, key := range []string{"one", "two"} {
		if _, err := c.SetKey(google, key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.SetKey(anthropic, "three"); err != nil {
		t.Fatal(err)
	}
	if find("google") != "two" || find("Anthropic") != "three" || find("OpenAI") != "" || find("Nobody") != "" {
		t.Error("the stored keys are not found")
	}
	info, err := os.Stat(c.KeyFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(s.Dir); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	env["GOOGLE_API_KEY"] = "four"
	if find("Google") != "four" {
		t.Error("the environment does not go before the file")
	}
	env["GEMINI_API_KEY"] = "five"
	if find("Google") != "five" {
		t.Error("the first variable does not go before the second")
	}
	c.Credentials = config.KeysInFile
	if find("Google") != "two" {
		t.Error("the environment is looked at")
	}
	c.Credentials = config.KeysInEnvironment
	if find("Anthropic") != "" {
		t.Error("the file is looked at")
	}
	c.Credentials = ""
	if had, err := c.SetKey(google, ""); !had || err != nil {
		t.Errorf("removing: %t, %v", had, err)
	}
	delete(env, "GEMINI_API_KEY")
	delete(env, "GOOGLE_API_KEY")
	if find("Google") != "" || find("Anthropic") != "three" {
		t.Error("the wrong key was removed")
	}
	for _, bad := range []string{"a b", "a\nb", "ä", strings.Repeat("x", 20_000)} {
		if _, err := c.SetKey(google, bad); api.CodeOf(err) != api.CodeInvalidRequest || strings.Contains(err.Error(), bad) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
	var several sync.WaitGroup
	for _, name := range c.Names() {
		p, _ := c.Provider(name)
		several.Go(func() {
			if _, err := c.SetKey(p, "key-of-"+name); err != nil {
				t.Error(err)
			}
		})
	}
	several.Wait()
	for _, name := range c.Names() {
		if got := find(name); got != "key-of-"+name {
			t.Errorf("of several that are stored at once %s's is %q", name, got)
		}
	}
	if err := os.WriteFile(c.KeyFile, []byte(`{"OpenAI": "hush" `), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetKey(google, "six"); api.CodeOf(err) != api.CodeCredentialsMissing || strings.Contains(err.Error(), "hush") {
		t.Errorf("a broken file is written over, or quoted: %v", err)
	}
}

func TestAListIsReadInEachProtocol(t *testing.T) {
	t.Parallel()
	tests := []struct {
		protocol config.Protocol
		header   string
		path     string
		pages    map[string]string // by query
	}{
		{config.OpenAIChat, "Authorization", "/v1/models", map[string]string{"": `{"data":[{"id":"a"},{"id":"b"}]}`}},
		{config.OpenAIResponses, "Authorization", "/v1/models", map[string]string{"": `{"data":[{"id":"a"},{"id":"b"}]}`}},
		{config.Anthropic, "X-Api-Key", "/v1/models", map[string]string{
			"limit=1000": `{"data":[{"id":"a"}],"has_more":true,"last_id":"a"}`, "after_id=a&limit=1000": `{"data":[{"id":"b"}],"has_more":false,"last_id":"b"}`,
		}},
		{config.Google, "X-Goog-Api-Key", "/v1beta/models", map[string]string{
			"pageSize=1000":             `{"models":[{"name":"models/a","supportedGenerationMethods":["generateContent"]},{"name":"models/e","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"p"}`,
			"pageSize=1000&pageToken=p": `{"models":[{"name":"models/b"}]}`,
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.protocol), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, ok := tt.pages[r.URL.RawQuery]
				switch {
				case strings.TrimPrefix(r.Header.Get(tt.header), "Bearer ") != "key", r.Header.Get("X-Team") != "t":
					w.WriteHeader(http.StatusUnauthorized)
				case r.URL.Path != tt.path, !ok:
					http.NotFound(w, r)
				default:
					fmt.Fprint(w, body)
				}
			}))
			t.Cleanup(server.Close)
			p := config.Provider{Name: "P", Protocol: tt.protocol, BaseURL: server.URL, Headers: map[string]string{"X-Team": "t"}}
			if tt.path == "/v1/models" && tt.protocol != config.Anthropic {
				p.BaseURL += "/v1"
			}
			got, err := p.List(t.Context(), nil, "key")
			if err != nil || strings.Join(got, " ") != "a b" {
				t.Errorf("%v, %v", got, err)
			}
			var failed *config.ListError
			if _, err := p.List(t.Context(), nil, "other"); !errors.As(err, &failed) || failed.Status != 401 {
				t.Errorf("a wrong key: %v", err)
			}
			server.Close()
			if _, err := p.List(t.Context(), nil, "key"); !errors.As(err, &failed) || failed.Status != 0 || strings.Contains(err.Error(), server.URL) {
				t.Errorf("no server: %v", err)
			}
		})
	}
}

func TestALocalServerThatSaysNothingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	s := written(t, "", nil)
	s.Local = map[string]string{config.Ollama: strings.TrimPrefix(server.URL, "http://")}
	c, err := config.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if found := c.Look(t.Context()); len(found) != 0 {
		t.Errorf("found: %+v", found)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestALocalServerIsFoundIfItListsModels(t *testing.T) {
	t.Parallel()
	serve := func(body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				fmt.Fprint(w, body)
			}
		}))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	tests := []struct {
		name          string
		ollama, llama string
		want          string
	}{
		{"none", "", "", ""},
		{"both", serve(`{"data":[{"id":"nomic-embed-text"},{"id":"llama"}]}`), serve(`{"data":[{"id":"g"}]}`), "Ollama:llama llama.cpp:g"},
		{"something else at the address", serve("<html>"), serve(`{"data":[]}`), ""},
		{"one of the two", serve(`{}`), serve(`{"data":[{"id":"g"}]}`), "llama.cpp:g"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := written(t, "", nil)
			s.Patience = time.Minute
			s.Local = map[string]string{config.Ollama: tt.ollama, config.LlamaCPP: tt.llama}
			c, err := config.Load(s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range c.Look(context.Background()) {
				got = append(got, f.Provider.Name+":"+config.First(f.Models))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// The page shows a file as it is.
func TestTheFileInTheGuideIsAConfiguration(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "guides", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	c, err := config.Load(written(t, text, map[string]string{"TEAM": "t"}))
	if !ok || err != nil || c.Model != "Local/openai/gpt-oss-20b" || !strings.Contains(strings.Join(c.Names(), " "), "Gateway") {
		t.Errorf("%+v, %v", c, err)
	}
}
