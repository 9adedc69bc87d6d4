package main

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// modelServer is a strict server of every protocol that wants a key and has two models.
func modelServer(t *testing.T) *modeltestserver.Server {
	t.Helper()
	server, err := modeltestserver.New(modeltestserver.Config{
		Credential: "sk-good", Models: []string{"tiny-1", "tiny-2", "large"},
		Handler: func(r modeltestserver.Request) modeltestserver.Reply {
			return modeltestserver.Reply{Text: fmt.Sprintf("%s says hello by %s", r.Model, r.Protocol)}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		for _, refusal := range server.Refusals() {
			t.Errorf("the server refused: %s", refusal)
		}
	})
	return server
}

// diagnosis is what the doctor found, by check.
func (p *place) diagnosis(code int, args ...string) map[string]finding {
	p.t.Helper()
	got := p.run("", append([]string{"doctor", "--json"}, args...)...)
	if got.code != code {
		p.t.Errorf("exit code %d, want %d: %s%s", got.code, code, got.out, got.err)
	}
	found := map[string]finding{}
	for line := range strings.Lines(got.out) {
		var f finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		found[f.Check] = f
	}
	return found
}

func TestADoctorFindsNothingWrongWhereNothingIs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"], p.env["OPENAI_API_KEY"] = modelServer(t).URL(), "sk-good"
	p.ok("", "run", "hello")
	for check, f := range p.diagnosis(exitOK) {
		if f.Status != findingOK {
			t.Errorf("%s: %+v", check, f)
		}
	}
	got := p.ok("", "doctor").out
	for _, line := range []string{
		"✓ state directory: ", "✓ schema: the store has schema 2", "✓ store: ", "✓ configuration: no file at ",
		"✓ OpenAI: the server at ", "answers with the key in OPENAI_API_KEY and lists 3 models\n", "✓ model: tiny-1 at ",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	if strings.Contains(got, "sk-good") {
		t.Error("it tells the key")
	}
	if f := p.diagnosis(exitFailure, "--model", "larg")["model"]; f.Status != findingFailed || f.Next != "name one with --model or OPENWORKER_MODEL: large, tiny-1, tiny-2" {
		t.Errorf("the model that is asked about: %+v", f)
	}
}

// What the doctor must name, with what to do.
func TestADoctorNamesTheFaultAndTheNextStep(t *testing.T) {
	t.Parallel()
	closed := func() string { // an address where nobody listens
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		return "http://" + listener.Addr().String()
	}()
	server := modelServer(t)
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	chat := func(base, key, model string) map[string]string {
		return map[string]string{"OPENAI_BASE_URL": base, "OPENAI_API_KEY": key, "OPENWORKER_MODEL": model}
	}
	tests := []struct {
		name         string
		env          map[string]string
		config       string
		check        string
		status       string
		says, advice string
	}{
		{"no key", nil, "", "providers", findingWarning, "no provider has a key, and no local server was found", "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY"},
		{"no key for the model that is named", map[string]string{"OPENWORKER_MODEL": "Anthropic/claude-sonnet-5"}, "", "model", findingFailed, "Anthropic needs a key", "set ANTHROPIC_API_KEY, or store a key with openworker config set-key Anthropic"},
		{"a wrong key", chat(server.URL(), "sk-bad", "tiny-1"), "", "OpenAI", findingFailed, "refuses a request with the key in OPENAI_API_KEY", "the server refused OPENAI_API_KEY; set one that is good"},
		{"no key where the server wants one", chat(server.URL(), "", "tiny-1"), "", "OpenAI", findingFailed, "refuses a request without a key", "set OPENAI_API_KEY, or store a key"},
		{"a wrong key at Anthropic's protocol", map[string]string{"ANTHROPIC_BASE_URL": server.Base(modeltestserver.Messages), "ANTHROPIC_API_KEY": "sk-bad"}, "", "Anthropic", findingFailed, "refuses a request with the key in ANTHROPIC_API_KEY", "the server refused ANTHROPIC_API_KEY"},
		{"a wrong key at Google's protocol", map[string]string{"GOOGLE_API_KEY": "sk-bad"}, "providers: {Google: {baseURL: " + server.Base(modeltestserver.Gemini) + "}}", "Google", findingFailed, "refuses a request with the key in GOOGLE_API_KEY", "the server refused GOOGLE_API_KEY"},
		{"a server that is not there", chat(closed+"/v1", "", "m"), "", "OpenAI", findingFailed, "cannot be reached: dial tcp ", "is the server at " + closed + "/v1 running? Set OPENAI_BASE_URL"},
		{"a model that is not there", chat(server.URL(), "sk-good", "tiny-3"), "", "model", findingFailed, "OpenAI has no model tiny-3", "name one with --model or OPENWORKER_MODEL: tiny-1, tiny-2, large"},
		{"a model that the file names and that is not there", map[string]string{"OPENAI_BASE_URL": server.URL(), "OPENAI_API_KEY": "sk-good"}, "model: OpenAI/huge", "model", findingFailed, "config.yaml:1:8 names it", "tiny-1, tiny-2, large"},
		{"a server without a list", chat(answer(404, ""), "", "m"), "", "OpenAI", findingWarning, "its list of models cannot be read (HTTP 404)", "check OPENAI_BASE_URL, which usually ends in /v1"},
		{"a server without a list at Anthropic's protocol", map[string]string{"ANTHROPIC_BASE_URL": answer(404, "")}, "", "Anthropic", findingWarning, "its list of models cannot be read (HTTP 404)", "check ANTHROPIC_BASE_URL, which has no version such as /v1 at its end"},
		{"a server that is not there, at Anthropic's protocol", map[string]string{"ANTHROPIC_BASE_URL": closed}, "", "Anthropic", findingFailed, "cannot be reached", "for example http://127.0.0.1:8080"},
		{"models with names that steer a terminal", chat(answer(200, `{"data":[{"id":"a\u001b[2J"}]}`), "", "m"), "", "model", findingFailed, "OpenAI has no model m", "a"},
		{"an address without the version", chat(strings.TrimSuffix(server.URL(), "/v1"), "sk-good", "tiny-1"), "", "OpenAI", findingFailed, "nothing is at " + strings.TrimSuffix(server.URL(), "/v1") + " (HTTP 404), and " + server.URL() + " answers", "set OPENAI_BASE_URL to " + server.URL() + ", which answers"},
		{"an address with the version twice", chat(server.URL()+"/v1", "sk-good", "tiny-1"), "", "OpenAI", findingFailed, server.URL() + " answers", "set OPENAI_BASE_URL to " + server.URL()},
		{"an address with a version at Anthropic's protocol", map[string]string{"ANTHROPIC_BASE_URL": server.Base(modeltestserver.Messages) + "/v1", "ANTHROPIC_API_KEY": "sk-good"}, "", "Anthropic", findingFailed, server.Base(modeltestserver.Messages) + " answers", "set ANTHROPIC_BASE_URL to " + server.Base(modeltestserver.Messages) + ", which answers"},
		{"a model whose server failed", chat(closed+"/v1", "", "m"), "", "model", findingWarning, "m at " + closed + "/v1 is chosen, since OPENAI_BASE_URL is set, and OPENWORKER_MODEL names it; its server failed", ""},
		{"a server whose name is none", chat("http://nowhere.invalid/v1", "", "m"), "", "OpenAI", findingFailed, "the name of the server at http://nowhere.invalid/v1 cannot be resolved", "is this machine on the network, and does its name resolution work?"},
		{"a provider that is configured and has no key", nil, "providers: {Gate: {protocol: anthropic}}", "providers", findingFailed, "Gate is configured at ", "set GATE_API_KEY"},
		{"local servers that are not looked for", map[string]string{"OPENWORKER_NO_DISCOVERY": "1"}, "", "providers", findingWarning, "local servers were not looked for (OPENWORKER_NO_DISCOVERY is set)", "set OPENAI_API_KEY"},
		{"a web page", chat(answer(200, "<html>"), "", "m"), "", "OpenAI", findingWarning, "what came is no list of models", "check OPENAI_BASE_URL"},
		{"a server that fails now", chat(answer(503, ""), "", "m"), "", "OpenAI", findingWarning, "is there and fails now: HTTP 503", "try again later"},
		{"a file that is wrong", nil, "modle: x", "configuration", findingFailed, `config.yaml:1:1: there is no field "modle"`, "correct the file, or name another with OPENWORKER_CONFIG"},
		{"an address that is none", chat("nowhere", "", ""), "", "configuration", findingFailed, "OPENAI_BASE_URL: BaseURL must be an absolute", "set the variable to another value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			for name, value := range tt.env {
				p.env[name] = value
			}
			p.configure(tt.config)
			code := exitFailure
			if tt.status == findingWarning && tt.check != "model" {
				code = exitOK
			}
			if plain := p.run("", "doctor"); strings.ContainsRune(plain.out, 0x1b) || strings.Contains(plain.out, "8080/v1") && tt.check == "Anthropic" {
				t.Errorf("it prints %q", plain.out)
			}
			f := p.diagnosis(code)[tt.check]
			if f.Status != tt.status || !strings.Contains(f.Message, tt.says) || !strings.Contains(f.Next, tt.advice) {
				t.Errorf("%+v", f)
			}
			if strings.Contains(fmt.Sprint(f), "sk-") {
				t.Errorf("it tells a key: %+v", f)
			}
			if _, err := os.Stat(p.env["OPENWORKER_STATE_DIR"]); !os.IsNotExist(err) {
				t.Errorf("it made a state directory: %v", err)
			}
		})
	}
}

func TestADoctorSaysHowAFileThatCannotBeReadIsMadeGood(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare     func(p *place, dir string) error
		check, next string
	}{
		"a directory in the place of the configuration": {func(_ *place, dir string) error { return os.Mkdir(filepath.Join(dir, "config.yaml"), 0o700) },
			"configuration", "config.yaml a file that this user can read, remove it, or name another with OPENWORKER_CONFIG"},
		"a configuration that is named and not there": {func(p *place, _ string) error { p.env["OPENWORKER_CONFIG"] = filepath.Join(p.dir, "none"); return nil },
			"configuration", "set OPENWORKER_CONFIG to a file that this user can read, or unset it"},
		"keys that others may read": {func(_ *place, dir string) error {
			file := filepath.Join(dir, "credentials.json")
			return errors.Join(os.WriteFile(file, []byte("{}"), 0o600), os.Chmod(file, 0o644))
		}, "model", "credentials.json a file of JSON that only you may read (chmod 600), or remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			dir := filepath.Join(p.dir, "config")
			if err := errors.Join(os.MkdirAll(dir, 0o700), tt.prepare(p, dir)); err != nil {
				t.Fatal(err)
			}
			if f := p.diagnosis(exitFailure)[tt.check]; f.Status != findingFailed || !strings.Contains(f.Next, tt.next) {
				t.Errorf("%+v", f)
			}
			if got := p.run("", "run", "hi"); got.code != exitFailure || !strings.Contains(got.err, tt.next) {
				t.Errorf("run says %+v", got)
			}
		})
	}
}

// configure writes the configuration file, unless the text is empty.
func (p *place) configure(text string) string {
	p.t.Helper()
	file := filepath.Join(p.dir, "config", "config.yaml")
	if text == "" {
		return file
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return file
}

// change carries out a statement on the store behind the program's back.
func (p *place) change(statement string) {
	p.t.Helper()
	name := url.URL{Scheme: "file", Path: filepath.Join(p.env["OPENWORKER_STATE_DIR"], "openworker.db")}
	db, err := (&sqlite.Driver{}).Open(name.String())
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.(driver.ExecerContext).ExecContext(p.t.Context(), statement, nil); err != nil {
		p.t.Fatal(err)
	}
}

func TestADoctorKnowsOlderAndNewerStores(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]finding{
		`UPDATE meta SET value = '9' WHERE key IN ('version', 'oldest_build_that_may_run')`: {
			"schema", findingFailed, "the store has schema 9 and needs a build that knows schema 9", "use the build that wrote it, or a later one: one whose openworker doctor knows schema 9",
		},
		`UPDATE meta SET value = '9' WHERE key = 'version'`: {"schema", findingOK, "the store has schema 9, and this build knows schema", ""},
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.ok("", "run", "hello")
			p.change(statement)
			p.env["OPENAI_BASE_URL"], p.env["OPENAI_API_KEY"] = modelServer(t).URL(), "sk-good"
			code := exitOK
			if want.Status == findingFailed {
				code = exitFailure
			}
			f := p.diagnosis(code)["schema"]
			if f.Status != want.Status || !strings.Contains(f.Message, want.Message) || f.Next != want.Next {
				t.Errorf("%+v", f)
			}
			if diff := cmp.Diff(p.diagnosis(code)["schema"], f); diff != "" {
				t.Errorf("the second time it is another: %s", diff)
			}
		})
	}
}

func TestADoctorLooksAtTheDirectory(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(t *testing.T, p *place)
		want    finding
	}{
		{"one that others may look into", func(t *testing.T, p *place) {
			p.ok("", "run", "hello")
			if err := os.Chmod(p.env["OPENWORKER_STATE_DIR"], 0o755); err != nil {
				t.Fatal(err)
			}
		}, finding{"state directory", findingWarning, "is open to other users", "chmod 700 "}},
		{"one of somebody else", func(t *testing.T, p *place) {
			if err := os.MkdirAll(filepath.Join(p.env["OPENWORKER_STATE_DIR"], "photos"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, finding{"state directory", findingFailed, "holds other things", "name another directory"}},
		{"a file", func(t *testing.T, p *place) {
			if err := os.WriteFile(p.env["OPENWORKER_STATE_DIR"], nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, finding{"state directory", findingFailed, "is a file", "name another directory"}},
		{"no database", func(t *testing.T, p *place) {
			dir := p.env["OPENWORKER_STATE_DIR"]
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "openworker.db"), []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, finding{"schema", findingFailed, "damaged", "put a back-up in its place"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			tt.prepare(t, p)
			code := exitFailure
			if tt.want.Status == findingWarning {
				code = exitOK
			}
			f := p.diagnosis(code)[tt.want.Check]
			if f.Status != tt.want.Status || !strings.Contains(f.Message, tt.want.Message) || !strings.Contains(f.Next, tt.want.Next) {
				t.Errorf("%+v", f)
			}
		})
	}
}
