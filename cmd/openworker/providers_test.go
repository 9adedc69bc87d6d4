package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/cmd/openworker/internal/config"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// RU11: every provider that has a key is there, and a session goes from one to the other.
func TestASessionGoesThroughAllProviders(t *testing.T) {
	t.Parallel()
	server := modelServer(t)
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"], p.env["OPENAI_API_KEY"] = server.Base(modeltestserver.Chat), "sk-good"
	p.env["ANTHROPIC_BASE_URL"], p.env["ANTHROPIC_API_KEY"] = server.Base(modeltestserver.Messages), "sk-good"
	p.env["GEMINI_API_KEY"] = "sk-good"
	p.env["MINE"] = "sk-good"
	p.configure(fmt.Sprintf("providers:\n  Google: {baseURL: %s}\n  Mine: {protocol: openai-responses, baseURL: %s, keyVariable: MINE, models: {large: {window: 9000}}}\n",
		server.Base(modeltestserver.Gemini), server.Base(modeltestserver.Responses)))
	session := ""
	for _, turn := range []struct{ model, want string }{
		{"tiny-1", "tiny-1 says hello by " + string(modeltestserver.Chat)},
		{"anthropic/tiny-2", "tiny-2 says hello by " + string(modeltestserver.Messages)},
		{"Google/large", "large says hello by " + string(modeltestserver.Gemini)},
		{"mine/large", "large says hello by " + string(modeltestserver.Responses)},
		{"", "tiny-1 says hello by " + string(modeltestserver.Chat)}, // --model was for the turn: this is the session's own
	} {
		args := []string{"run", "--json", "hello"}
		if session != "" {
			args = append(args, "--session", session)
		}
		if turn.model != "" {
			args = append(args, "--model", turn.model)
		}
		got := p.ok("", args...)
		var result outcome
		if err := json.Unmarshal([]byte(got.out), &result); err != nil {
			t.Fatal(err)
		}
		session = result.Session
		if result.Text != turn.want {
			t.Errorf("%s: %q, want %q", turn.model, result.Text, turn.want)
		}
	}
}

func TestWhichProviderAnswersAndWhy(t *testing.T) {
	t.Parallel()
	local := serve(t, `{"data":[{"id":"nomic-embed-text"},{"id":"qwen"}]}`, http.NotFound)
	address := strings.TrimSuffix(strings.TrimPrefix(local, "http://"), "/v1")
	slashes := serve(t, `{"data":[{"id":"org/qwen"}]}`, http.NotFound)
	keys := func(names ...string) map[string]string {
		env := map[string]string{}
		for _, name := range names {
			env[name] = "sk-1"
		}
		return env
	}
	with := func(env map[string]string, name, value string) map[string]string {
		env[name] = value
		return env
	}
	const custom = "providers:\n  Local: {protocol: openai-chat, baseURL: http://127.0.0.1:1/v1, keyOptional: true, models: {openai/gpt-oss-20b: {}}}\n"
	tests := []struct {
		name, config, flag string
		env                map[string]string
		ollama             bool
		model, says        string
	}{
		{"a key of Anthropic", "", "", keys("ANTHROPIC_API_KEY"), false, "Anthropic/claude-sonnet-5", "at https://api.anthropic.com answers, since ANTHROPIC_API_KEY is set, and OPENWORKER_MODEL is not"},
		{"the second name of Google's key", "", "", keys("GOOGLE_API_KEY"), false, "Google/gemini-3.7-flash", "since GOOGLE_API_KEY is set"},
		{"several keys", "", "", keys("GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"), false, "OpenAI/gpt-5-mini", "since OPENAI_API_KEY is set"},
		{"a model that only the second is known to have", "", "claude-opus-5", keys("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), false, "Anthropic/claude-opus-5", "since ANTHROPIC_API_KEY is set, and --model names it"},
		{"a model that nobody is known to have", "", "brand-new", keys("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), false, "OpenAI/brand-new", "--model names it"},
		{"a model that a compatible server does not list and another is known to have", "", "claude-opus-5", with(keys("ANTHROPIC_API_KEY"), "OPENAI_BASE_URL", local), false, "Anthropic/claude-opus-5", "since ANTHROPIC_API_KEY is set"},
		{"a compatible server that lists no models may have any", "", "claude-opus-5", with(keys("ANTHROPIC_API_KEY"), "OPENAI_BASE_URL", "http://127.0.0.1:1/v1"), false, "OpenAI/claude-opus-5", "since OPENAI_BASE_URL is set"},
		{"a model that only a server without a key lists", "", "qwen", keys("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), true, "Ollama/qwen", "since it needs no key, and --model names it"},
		{"a provider alone", "", "anthropic", keys("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), false, "Anthropic/claude-sonnet-5", "--model names it"},
		{"a local server alone", "", "ollama", keys("OPENAI_API_KEY"), true, "Ollama/qwen", "--model names it"},
		{"a configured provider alone", custom, "LOCAL", keys("OPENAI_API_KEY"), false, "Local/openai/gpt-oss-20b", "--model names it"},
		{"the offline model's provider alone", "", "scripted", keys("OPENAI_API_KEY"), false, "Scripted/demo", "--model names it"},
		{"a name with a slash that a server lists", "", "org/qwen", with(keys("ANTHROPIC_API_KEY"), "OPENAI_BASE_URL", slashes), false, "OpenAI/org/qwen", "since OPENAI_BASE_URL is set"},
		{"a name with a slash where no list can be read", "", "org/qwen", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, false, "OpenAI/org/qwen", "since OPENAI_BASE_URL is set"},
		{"a server of Anthropic's protocol without a list", "providers: {Gate: {protocol: anthropic, baseURL: http://127.0.0.1:1, keyOptional: true}}", "", nil, false, "Gate/claude-sonnet-5", "guessing claude-sonnet-5"},
		{"a server of Google's protocol without a list", "providers: {Gate: {protocol: google, baseURL: http://127.0.0.1:1, keyOptional: true}}", "", nil, false, "Gate/gemini-3.7-flash", "guessing gemini-3.7-flash"},
		{"a provider in other letters", "", "ANTHROPIC/claude-opus-5", keys("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), false, "Anthropic/claude-opus-5", "--model names it"},
		{"a name with a slash at a server of one's own", custom, "openai/gpt-oss-20b", nil, false, "Local/openai/gpt-oss-20b", "--model names it"},
		{"a model with a slash at its provider", custom, "local/openai/gpt-oss-20b", nil, false, "Local/openai/gpt-oss-20b", "config.yaml:2:3 configures it, and --model names it"},
		{"a configured provider", custom, "", nil, false, "Local/openai/gpt-oss-20b", "configures it, and its models begin with this one"},
		{"a configured model", custom + "model: Local/x\n", "", keys("OPENAI_API_KEY"), false, "Local/x", "config.yaml:3:8 names it"},
		{"a configured model and a variable", custom + "model: Local/x\n", "", with(keys("OPENAI_API_KEY"), "OPENWORKER_MODEL", "OpenAI/y"), false, "OpenAI/y", "and OPENWORKER_MODEL names it"},
		{"a local server", "", "", nil, true, "Ollama/qwen", "since no provider has a key and Ollama runs there, and it lists this model first"},
		{"a local server and a model's name", "", "mine:7b", nil, true, "Ollama/mine:7b", "it needs no key, and --model names it"},
		{"a key goes before a local server", "", "", keys("OPENAI_API_KEY"), true, "OpenAI/gpt-5-mini", "since OPENAI_API_KEY is set"},
		{"a local server that is named beside a key", "", "ollama/qwen", keys("OPENAI_API_KEY"), true, "Ollama/qwen", "since it needs no key, and --model names it"},
		{"a local server that is not looked for", "", "", map[string]string{"OPENWORKER_NO_DISCOVERY": "1"}, true, "Scripted/demo", "the offline model answers, since no provider has a key and local servers were not looked for (OPENWORKER_NO_DISCOVERY is set)"},
		{"the offline model by its name", "", "scripted/demo", keys("OPENAI_API_KEY"), false, "Scripted/demo", "the offline model answers, since --model names it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for name, value := range tt.env {
				p.env[name] = value
			}
			p.configure(tt.config)
			m := p.main(strings.NewReader(""), nil, nil)
			if tt.ollama {
				m.Patience = patience
				m.Local = map[string]string{config.Ollama: address}
			}
			got, err := m.choose(t.Context(), tt.flag)
			if err != nil {
				t.Fatal(err)
			}
			if got.model.String() != tt.model || !strings.Contains(lineOf(got), tt.says) || strings.Contains(lineOf(got), "sk-1") {
				t.Errorf("%s: %s", got.model, lineOf(got))
			}
			if !got.has(got.model.Provider) || got.server != (got.model.Provider != offlineProvider) {
				t.Errorf("the provider is not there: %+v", got.providers)
			}
		})
	}
}

func TestModelsThatMayBeChosen(t *testing.T) {
	t.Parallel()
	server := modelServer(t)
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"], p.env["OPENAI_API_KEY"] = server.URL(), "sk-good"
	p.env["ANTHROPIC_BASE_URL"], p.env["ANTHROPIC_API_KEY"] = server.Base(modeltestserver.Messages), "sk-bad"
	p.configure("providers:\n  Local: {protocol: openai-chat, baseURL: http://127.0.0.1:1/v1, keyOptional: true, models: {a/b: {}}}\n")
	c, err := p.main(strings.NewReader(""), nil, nil).choose(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, ref := range c.models(t.Context()) {
		names = append(names, ref.String())
	}
	if want := []string{"OpenAI/tiny-1", "OpenAI/tiny-2", "OpenAI/large", "Local/a/b"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	for text, want := range map[string]string{"large": "OpenAI/large", " local/a/b ": "Local/a/b", "a/b": "Local/a/b", "unlisted": "OpenAI/unlisted", "local": "Local/a/b"} {
		if ref, err := c.read(t.Context(), text, false); err != nil || ref.String() != want {
			t.Errorf("%q: %s, %v, want %s", text, ref, err, want)
		}
	}
	offline, err := newPlace(t).main(strings.NewReader(""), nil, nil).choose(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if all := offline.models(t.Context()); len(all) != 1 || all[0].String() != "Scripted/demo" {
		t.Errorf("offline: %v", all)
	}
}

// RE5: a stored key is as good as one in the environment, and is nowhere to be read.
func TestAStoredKeyIsTaken(t *testing.T) {
	t.Parallel()
	server := modelServer(t)
	p := newPlace(t)
	p.env["ANTHROPIC_BASE_URL"] = server.Base(modeltestserver.Messages)
	if got := p.ok("sk-good\n", "config", "set-key", "anthropic"); got.out == "" || strings.Contains(got.out+got.err, "sk-good") {
		t.Errorf("%+v", got)
	}
	if got := p.ok("", "run", "--model", "Anthropic/tiny-1", "hello"); !strings.HasPrefix(got.out, "tiny-1 says hello") || strings.Contains(got.err, "sk-good") {
		t.Errorf("%+v", got)
	}
	p.ok("sk-bad\n", "config", "set-key", "anthropic")
	if got := p.run("", "run", "--model", "Anthropic/tiny-1", "hello"); got.code != exitFailure || !strings.Contains(got.err, "credentials.json; store one that is good for it with openworker config set-key Anthropic") {
		t.Errorf("a wrong one: %+v", got)
	}
	p.ok("", "config", "unset-key", "Anthropic")
	if got := p.run("", "run", "--model", "Anthropic/tiny-1", "hello"); got.code != exitFailure || !strings.Contains(got.err, "authentication_failed") || !strings.Contains(got.err, "set ANTHROPIC_API_KEY, or store a key") {
		t.Errorf("%+v", got)
	}
}

// LI4: what the configuration says of a model bounds what may be asked of it.
func TestAConfiguredModelsMaximumHolds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.configure("providers:\n  Local: {protocol: openai-chat, baseURL: " + serve(t, "", func(w http.ResponseWriter, _ *http.Request) { answer(w, "yes") }) +
		", keyOptional: true, models: {m: {window: 9000, maxOutputTokens: 300}}}\n")
	if got := p.run("", "run", "--max-output-tokens", "301", "hello"); got.code != exitFailure || !strings.Contains(got.err, "error: invalid_limits: --max-output-tokens is 301, but the model gives at most 300 output tokens") {
		t.Errorf("%+v", got)
	}
	if got := p.ok("", "run", "--max-output-tokens", "300", "hello"); got.out != "yes\n" {
		t.Errorf("%+v", got)
	}
}

func TestASessionWhoseProviderHasNoKeyAnyMoreSaysWhichIsMissing(t *testing.T) {
	t.Parallel()
	server := modelServer(t)
	p := newPlace(t)
	p.env["ANTHROPIC_BASE_URL"], p.env["ANTHROPIC_API_KEY"] = server.Base(modeltestserver.Messages), "sk-good"
	session := p.ok("", "run", "hello").session(t)
	delete(p.env, "ANTHROPIC_BASE_URL")
	delete(p.env, "ANTHROPIC_API_KEY")
	got := p.run("", "run", "--session", session, "again")
	if got.code != exitFailure || !strings.Contains(got.err, "session "+session+" talks to Anthropic/tiny-1, and there is no key for Anthropic\n  set ANTHROPIC_API_KEY, or store a key with openworker config set-key Anthropic, or name another model with --model") {
		t.Errorf("%+v", got)
	}
}

// RE5: a turn that loses its key in the middle waits, says how to set one, and goes on once there is one.
func TestATurnThatLosesItsKeyGoesOnWithAnother(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server, err := modeltestserver.New(modeltestserver.Config{Credential: "sk-good", Models: []string{"m"}, Handler: func(r modeltestserver.Request) modeltestserver.Reply {
		if r.Number == 1 {
			p.ok("", "config", "unset-key", "Mine")
			return modeltestserver.Reply{Calls: []modeltestserver.Call{{Name: "calculate", Arguments: `{"expression":"6*7"}`}}}
		}
		return modeltestserver.Reply{Text: "It is 42."}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	p.configure("providers: {Mine: {protocol: openai-responses, baseURL: " + server.Base(modeltestserver.Responses) + ", models: {m: {}}}}\n")
	p.ok("sk-good", "config", "set-key", "Mine")
	got := p.run("", "run", "how much is it")
	session := got.session(t)
	if got.code != exitWaiting || !strings.Contains(got.err, "set MINE_API_KEY, or store a key with openworker config set-key Mine and run openworker chat --session "+session) {
		t.Fatalf("%+v", got)
	}
	p.ok("sk-good", "config", "set-key", "Mine")
	if got := p.ok("", "chat", "--session", session); got.out != "It is 42.\n" {
		t.Errorf("%+v", got)
	}
	if calls, refusals := server.Calls(), server.Refusals(); calls != 2 || len(refusals) > 0 {
		t.Errorf("%d calls, refusals %v", calls, refusals)
	}
}

// lineOf is what is said of a choice, on one line.
func lineOf(c choice) string {
	text, why := c.said()
	return strings.TrimSuffix(text+", "+why, ", ")
}
