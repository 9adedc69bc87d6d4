package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model/scripted"
)

func TestASessionWhoseServerIsNotSetIsRefusedBeforeItTakesAMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"m"}]}`, func(w http.ResponseWriter, _ *http.Request) { answer(w, "yes") })
	session := p.ok("", "run", "hello").session(t)
	events := p.ok("", "events", session).out
	delete(p.env, "OPENAI_BASE_URL")
	for _, args := range [][]string{{"run", "--session", session, "again"}, {"chat", "--session", session}} {
		got := p.run("again\n", args...)
		if got.code != exitFailure || !strings.Contains(got.err, "session "+session+" talks to OpenAI/m, and there is no key for OpenAI\n  set OPENAI_API_KEY, or store a key with openworker config set-key OpenAI, or name another model with --model, or set OPENAI_BASE_URL") ||
			strings.Contains(got.err, "offline") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if after := p.ok("", "events", session).out; after != events {
		t.Errorf("the journal grew: %s", after)
	}
}

func TestASessionWhoseProviderIsNotConfiguredAnyMoreSaysWhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	url := serve(t, `{"data":[{"id":"m"}]}`, func(w http.ResponseWriter, _ *http.Request) { answer(w, "yes") })
	file := p.configure("model: Local/m\nproviders: {Local: {protocol: openai-chat, baseURL: " + url + ", keyOptional: true}}\n")
	session := p.ok("", "run", "hello").session(t)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	next := "configure that provider in " + file + ", as openworker config example shows, and run openworker chat --session " + session + " again"
	for _, base := range []string{"", url} { // with another server too the agent's own provider must be known
		p.env["OPENAI_BASE_URL"] = base
		got := p.run("", "run", "--session", session, "again")
		if got.code != exitFailure || !strings.Contains(got.err, "Local") || !strings.Contains(got.err, next) {
			t.Errorf("with %q: %+v", base, got)
		}
	}
}

func TestASessionWithAToolOfAnotherProgramIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	provider := scripted.New(scripted.Config{})
	h, err := openworker.Open(t.Context(), openworker.Options{StateDir: p.env["OPENWORKER_STATE_DIR"], ScratchDir: filepath.Join(p.dir, "scratch"),
		Providers: []openworker.Provider{provider}})
	if err != nil {
		t.Fatal(err)
	}
	send := openworker.MustTool(openworker.NewTool("invoice.send", "Sends.", func(context.Context, openworker.ToolCall, struct{}) (string, error) { return "sent", nil }))
	agent, err := h.Agent(t.Context(), openworker.AgentDefinition{Name: "billing", Tools: []openworker.Tool{send},
		DefaultModel: openworker.ModelRef{Provider: provider.Name(), Name: "demo"}})
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := p.run("", "run", "--session", session.ID(), "hello")
	if got.code != exitFailure || !strings.Contains(got.err, "only a program that has the tool invoice.send goes on with it") || strings.Contains(got.err, "openworker chat") {
		t.Errorf("%+v", got)
	}
}

func TestWhatCannotBeSentLeavesNoSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("", "run", "hello")
	long := strings.Repeat("x", api.MaxMessageBytes+1000)
	for name, tt := range map[string]struct{ stdin, says string }{
		"empty":  {" \n", "the message is empty"},
		"NUL":    {"a\x00b", "a NUL character at byte 1"},
		"broken": {"\xff", "not valid UTF-8"},
		"long":   {long, "more than 256000 bytes"},
	} {
		if got := p.run(tt.stdin, "run", "-"); got.code != exitFailure || !strings.Contains(got.err, tt.says) {
			t.Errorf("%s: %d, %s", name, got.code, got.err)
		}
	}
	if got := p.run("a\x00b\n", "chat"); got.code != exitFailure || !strings.Contains(got.err, "the message was not sent") {
		t.Errorf("from a pipe: %+v", got)
	}
	if list := p.ok("", "sessions", "--all").out; strings.Count(list, "\n") != 1 || !strings.HasSuffix(list, "“hello”\n") {
		t.Errorf("the sessions are %s", list)
	}
}

func TestLookingMakesNoStateDirectory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range []string{"sessions", "events s1", "export s1", "backup x", "sessions delete s1", "chat --session s1"} {
		if got := p.run("", strings.Fields(args)...); got.code != exitUsage || !strings.Contains(got.err, "invalid_request: there is no state directory") {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if _, err := os.Stat(p.env["OPENWORKER_STATE_DIR"]); !os.IsNotExist(err) {
		t.Errorf("the state directory: %v", err)
	}
}

func TestLookingMakesNoStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"sessions", "sessions show s1", "agents", "agents show a", "events s1", "export s1", "backup x", "sessions delete s1", "chat --session s1", "__complete sessions show "} {
		got := p.run("", append([]string{"--state-dir", dir}, strings.Fields(args)...)...)
		if !strings.HasPrefix(args, "__complete") && (got.code != exitUsage || !strings.Contains(got.err, "invalid_request: there is no store in the directory")) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("it made %v, %v", entries, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("it closed the directory: %v, %v", info.Mode(), err)
	}
}

// full is a disk without room, or a pipe without a reader.
type full struct{ err error }

func (f full) Write([]byte) (int, error) { return 0, f.err }

func TestOutputThatIsLostIsAFailure(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.ok("", "run", "hello").session(t)
	for _, args := range []string{"run hi", "run hi --json", "chat", "sessions", "sessions --json", "sessions show " + id, "events " + id, "export " + id, "agents", "config", "config path", "config example", "version"} {
		var errs bytes.Buffer
		m := p.main(strings.NewReader("hi\n"), full{syscall.ENOSPC}, &errs)
		if code := m.Run(t.Context(), strings.Fields(args)); code != exitFailure || !strings.Contains(errs.String(), "the output is not whole: no space left on device") {
			t.Errorf("%s: exit code %d, %s", args, code, errs.String())
		}
		errs.Reset()
		m = p.main(strings.NewReader("hi\n"), full{syscall.EPIPE}, &errs)
		if m.Run(t.Context(), strings.Fields(args)); strings.Contains(errs.String(), "the output is not whole") {
			t.Errorf("%s: a reader that goes away is told: %s", args, errs.String())
		}
	}
}

func TestSessionsAreDeletedByNameAndByAge(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.ok("", "run", "one").session(t)
	p.ok("", "run", "two")
	p.ok("", "run", "three")
	if got := p.ok("", "sessions", "delete", first); got.out != "1 deleted\n" {
		t.Errorf("by name: %+v", got)
	}
	if got := p.ok("", "sessions", "delete", "--idle-for", "1h"); got.out != "0 deleted\n" {
		t.Errorf("the fresh: %+v", got)
	}
	var out bytes.Buffer
	m := p.main(strings.NewReader(""), &out, io.Discard)
	m.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if code := m.Run(t.Context(), []string{"sessions", "delete", "--idle-for", "1h", "--json"}); code != exitOK || out.String() != "{\"deleted\":2}\n" {
		t.Errorf("the old: %d, %s", code, out.String())
	}
	if got := p.run("", "sessions", "delete", "s404"); got.code != exitFailure || !strings.Contains(got.err, "session_not_found") || strings.Contains(got.err, "list the sessions") {
		t.Errorf("one that is none: %+v", got)
	}
}

func TestAnExportIsTheJournal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("", "run", "hello").session(t)
	want := p.ok("", "events", session, "--json").out
	if got := p.ok("", "export", session).out; got != want {
		t.Errorf("the export is\n%s\nand the journal\n%s", got, want)
	}
	file := filepath.Join(p.dir, "session.jsonl")
	p.ok("", "export", session, "-o", file)
	data, err := os.ReadFile(file)
	info, _ := os.Stat(file)
	if err != nil || string(data) != want || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, mode %v", err, info.Mode())
	}
	if got := p.run("", "export", session, "-o", file); got.code != exitFailure || !strings.Contains(got.err, "is there already") {
		t.Errorf("a second one over it: %+v", got)
	}
}

func TestAFailedTurnSaysWhatToDo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		key    string
		status int
		body   string
		next   string
	}{
		{"a key that is refused", "sk-1", 401, `{"error":{"message":"no"}}`, "the server refused OPENAI_API_KEY"},
		{"no key where one is needed", "", 401, `{"error":{"message":"no"}}`, "set OPENAI_API_KEY"},
		{"a web page", "", 200, "<html>", "check OPENAI_BASE_URL, which usually ends in /v1"},
		{"a model that is not there", "", 404, `{"error":{"message":"no","code":"model_not_found"}}`, "--model or OPENWORKER_MODEL"},
		{"no money", "", 429, `{"error":{"message":"no","code":"insufficient_quota"}}`, "nothing is left to spend"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.env["OPENAI_API_KEY"] = tt.key
			p.env["OPENWORKER_MODEL"] = "m"
			p.env["OPENAI_BASE_URL"] = serve(t, "", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			got := p.run("", "run", "--json", "hello")
			var result outcome
			if err := json.Unmarshal([]byte(got.out), &result); err != nil {
				t.Fatal(err, got)
			}
			if !strings.HasPrefix(result.Next, tt.next) && !strings.Contains(result.Next, tt.next) || !strings.HasPrefix(result.Run, result.Session+"-") ||
				result.Session == "" || result.Model != (openworker.ModelRef{Provider: "OpenAI", Name: "m"}) {
				t.Errorf("%+v", result)
			}
		})
	}
}

func TestRetriesAndSilenceAreToldToWhoeverWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var calls atomic.Int32
	told := make(chan struct{})
	p.env["OPENAI_BASE_URL"] = serve(t, `{"data":[{"id":"m"}]}`, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		<-told
		answer(w, "at last")
	})
	c := &console{t: t, changed: make(chan struct{}, 1)}
	m := p.main(strings.NewReader(""), io.Discard, c)
	m.Silence = time.Millisecond
	exit := make(chan int, 1)
	go func() { exit <- m.Run(context.Background(), []string{"run", "hello"}) }()
	c.see("attempt 1 failed: ")
	c.see("; again in ")
	c.see("openworker: still waiting for the model\n")
	close(told)
	if code := <-exit; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestErrorsSpeakOfTheCommandLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"], p.env["OPENWORKER_MODEL"] = serve(t, "", http.NotFound), "gpt-5-mini" // whose maximum is known
	got := p.run("", "run", "--max-output-tokens", "2000000000", "hello")
	if got.code != exitFailure || !strings.Contains(got.err, "--max-output-tokens is 2000000000") || strings.Contains(got.err, "limits.") {
		t.Errorf("%+v", got)
	}
	if list := p.ok("", "sessions", "--all").out; list != "" {
		t.Errorf("it left a session: %s", list)
	}
}
