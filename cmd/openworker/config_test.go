package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheConfigurationIsShownWithItsOriginsAndWithoutKeys(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_API_KEY"], p.env["TEAM"] = "sk-secret", "t-secret"
	file := p.configure("model: Local/m\nproviders:\n  Local:\n    protocol: openai-chat\n    baseURL: http://h/v1\n    headers: {X-Team: \"${TEAM}\"}\n    models: {m: {}}\n")
	p.ok("sk-stored", "config", "set-key", "Google")
	keyFile := filepath.Join(p.dir, "config", "credentials.json")
	got := p.ok("", "config").out
	for _, line := range []string{
		"file         " + file + "  (the default)\n", "state        " + p.env["OPENWORKER_STATE_DIR"] + "  (OPENWORKER_STATE_DIR)\n",
		"model        Local/m  (" + file + ":1:8)\n", "keys         environment, then file  (the default)\n",
		"OpenAI\n  protocol   openai-responses  (built in)\n", "key set by OPENAI_API_KEY\n", "key set by " + keyFile + "\n",
		"no key; set ANTHROPIC_API_KEY, or store a key with openworker config set-key Anthropic\n",
		"Local\n  protocol   openai-chat  (" + file + ":4:15)\n  address    http://h/v1  (" + file + ":5:14)\n", "headers    X-Team\n", "models     m\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	whole := p.ok("", "config", "--json").out
	var shown shownConfig
	if err := json.Unmarshal([]byte(whole), &shown); err != nil || strings.Count(whole, "\n") != 1 {
		t.Fatalf("%v: %s", err, whole)
	}
	if len(shown.Providers) != 4 || !shown.Providers[0].KeySet || shown.Providers[1].KeySet || shown.Providers[2].KeyFrom != keyFile || !shown.Present {
		t.Errorf("%+v", shown)
	}
	if strings.Contains(got+whole, "secret") || strings.Contains(got+whole, "sk-stored") {
		t.Error("it tells a secret")
	}
	if got := p.ok("", "config", "path").out; got != file+"\n" {
		t.Errorf("the path is %s", got)
	}
	p.env["OPENWORKER_CONFIG"] = filepath.Join(p.dir, "other.yaml")
	if got := p.ok("", "config", "path", "--json").out; got != `{"configFile":"`+p.env["OPENWORKER_CONFIG"]+"\"}\n" {
		t.Errorf("the path is %s", got)
	}
}

func TestAWrongConfigurationStopsEveryCommandThatUsesIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.configure("model: Local/m\nproviders: {Local: {protocol: openai-chat}}\n")
	for _, args := range []string{"run hello", "chat", "config", "config set-key OpenAI", "agents check x.yaml"} {
		got := p.run("hello\n", strings.Fields(args)...)
		if got.code != exitFailure || got.out != "" || !strings.Contains(got.err, "error: invalid_request: "+file+":2:13: providers.Local: baseURL is missing") ||
			!strings.Contains(got.err, "openworker config example shows what may stand in it") {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if _, err := os.Stat(p.env["OPENWORKER_STATE_DIR"]); !os.IsNotExist(err) {
		t.Errorf("the state directory: %v", err)
	}
	if got := p.ok("", "config", "example").out; !strings.Contains(got, "\nproviders:\n") {
		t.Errorf("the example is %s", got)
	}
}

func TestAKeyIsReadFromATerminalWithoutBeingShown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		read      func() (string, error)
		interrupt bool
		code      int
		says      string
	}{
		{"a key", func() (string, error) { return "sk-typed", nil }, false, exitOK, "Key for OpenAI: \n"},
		{"nothing", func() (string, error) { return "", nil }, false, exitFailure, "no key came; openworker config unset-key OpenAI removes one"},
		{"two words", func() (string, error) { return "sk typed", nil }, false, exitFailure, "the key holds white space"},
		{"a terminal that fails", func() (string, error) { return "", errors.New("gone") }, false, exitFailure, "gone"},
		{"Ctrl-C", func() (string, error) { select {} }, true, exitInterrupt, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			var out, errs bytes.Buffer
			m := p.main(strings.NewReader("not this"), &out, &errs)
			restored := false
			m.Secret = func() (func() (string, error), func(), error) { return tt.read, func() { restored = true }, nil }
			interrupts := make(chan os.Signal, 1)
			m.Interrupts = interrupts
			if tt.interrupt {
				interrupts <- os.Interrupt
			}
			code := m.Run(t.Context(), []string{"config", "set-key", "openai"})
			if code != tt.code || !strings.Contains(errs.String(), tt.says) || !restored || strings.Contains(out.String()+errs.String(), "typed") {
				t.Errorf("exit code %d, restored %t, %s%s", code, restored, out.String(), errs.String())
			}
			data, err := os.ReadFile(filepath.Join(p.dir, "config", "credentials.json"))
			if stored := strings.Contains(string(data), "sk-typed"); stored != (tt.code == exitOK) {
				t.Errorf("stored: %s, %v", data, err)
			}
		})
	}
}

func TestAKeyInTheEnvironmentIsSaidToGoFirst(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_API_KEY"] = "sk-1"
	if got := p.ok("sk-2", "config", "set-key", "OpenAI"); !strings.Contains(got.err, "OPENAI_API_KEY is set and goes before it") {
		t.Errorf("%+v", got)
	}
	if got := p.ok("", "config", "unset-key", "OpenAI", "--json"); !strings.Contains(got.out, `"stored":false,"keyFrom":"OPENAI_API_KEY"`) {
		t.Errorf("%+v", got)
	}
	if got := p.ok("", "config", "unset-key", "OpenAI"); got.out != "no key for OpenAI was stored\n" {
		t.Errorf("%+v", got)
	}
}
