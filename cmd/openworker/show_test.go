package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

func TestASessionIsShownAsItStands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("one\ntwo\nthree\n", "chat").session(t)
	got := p.ok("", "sessions", "show", session, "--last", "2").out
	for _, text := range []string{
		"session      " + session + "\n", "activity     idle\n", "model        Scripted/demo\n", "used         ", "events       ",
		"\n> three\n\n", "message 3 of this conversation: “three”\n", "openworker chat --session " + session + " goes on with it\n",
	} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in\n%s", text, got)
		}
	}
	if strings.Contains(got, "two") {
		t.Errorf("more than the last two are shown:\n%s", got)
	}
	var shown struct {
		openworker.SessionState
		LastMessages []openworker.HistoryItem `json:"lastMessages"`
	}
	if err := json.Unmarshal([]byte(p.ok("", "sessions", "show", session, "--json", "--last", "3").out), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Session != session || len(shown.LastMessages) != 3 || shown.LastMessages[1].Text != "three" || shown.LastMessages[1].Type != "user" {
		t.Errorf("%+v", shown)
	}
	if none := p.ok("", "sessions", "show", session, "--json", "--last", "0").out; !strings.Contains(none, `"lastMessages":[]`) {
		t.Errorf("without messages: %s", none)
	}
}

func TestAWaitingSessionIsShownWithItsQuestion(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.run("use current_time", "chat", "--approve", "always").session(t)
	got := p.ok("", "sessions", "show", session).out
	for _, text := range []string{"activity     waiting\n", "run          " + session + "-r", "question     ", "current_time"} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in\n%s", text, got)
		}
	}
}

// What whoever looks lacks is nothing that the session waits for.
func TestAnInterruptedTurnIsShownAsUnfinished(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h, err := openworker.Open(t.Context(), openworker.Options{StateDir: p.env["OPENWORKER_STATE_DIR"], ScratchDir: filepath.Join(p.dir, "scratch"),
		Providers: []openworker.Provider{scripted.New(scripted.Config{})}})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := h.Agent(t.Context(), openworker.AgentDefinition{Name: "clerk", DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	begun, err := agent.NewSession(t.Context(), openworker.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := begun.Send(t.Context(), "hello", openworker.TurnOptions{}); err != nil {
		t.Fatal(err)
	}
	session := begun.ID()
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"sessions", "show", session}, {"sessions"}, {"sessions", "show", session, "--json"}} {
		got := p.ok("", args...).out
		if strings.Contains(got, "registration_missing") || len(args) != 4 && !strings.Contains(got, "unfinished") {
			t.Errorf("%v: %s", args, got)
		}
	}
}

func TestAFailedTurnIsShownWithItsError(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"], p.env["OPENAI_API_KEY"], p.env["OPENWORKER_MODEL"] = modelServer(t).URL(), "sk-bad", "OpenAI/tiny-1"
	session := p.run("", "run", "hello").session(t)
	if got := p.ok("", "sessions", "show", session).out; !strings.Contains(got, "last turn    failed: authentication_failed: ") {
		t.Errorf("%s", got)
	}
	var shown shownSession
	if err := json.Unmarshal([]byte(p.ok("", "sessions", "show", session, "--json").out), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.LastTurn == nil || shown.LastTurn.Status != "failed" || shown.LastTurn.Error.Code != "authentication_failed" {
		t.Errorf("%+v", shown.LastTurn)
	}
}

func TestTheBeginningOfAnIDIsEnough(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := p.ok("", "run", "hello").session(t)
	for _, args := range [][]string{{"events"}, {"export"}, {"sessions", "show"}, {"run", "again", "--session"}, {"sessions", "delete"}} {
		if got := p.run("", append(args, session[:3])...); got.code != exitFailure || !strings.Contains(got.err, "session_not_found") {
			t.Errorf("%v with three characters: %+v", args, got)
		}
		p.ok("", append(args, session[:6])...)
	}
	for _, args := range [][]string{{"sessions", "delete", session}, {"sessions", "delete", session, "--json"}} {
		if got := p.run("", args...); got.code != exitFailure || got.out != "" || !strings.Contains(got.err, "session_deleted") {
			t.Errorf("the second time: %+v", got)
		}
	}
}

func TestAnIDThatSeveralBeginWithIsRefusedWithThem(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	one, two := p.ok("", "run", "hello").session(t), p.ok("", "run", "hello").session(t)
	alike := one[:10] + strings.Repeat("a", len(two)-10)
	p.change("UPDATE sessions SET id = '" + alike + "' WHERE id = '" + two + "'")
	got := p.run("", "events", one[:8])
	if got.code != exitFailure || !strings.Contains(got.err, "2 sessions begin with "+one[:8]) || !strings.Contains(got.err, alike) || !strings.Contains(got.err, one) {
		t.Errorf("%+v", got)
	}
}

func TestSessionsAndAgentsStandInColumns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := filepath.Join(p.dir, "clerk.yaml")
	if err := os.WriteFile(file, []byte("name: a-clerk-with-a-long-name\ndefaultModel: Scripted/demo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.ok("", "run", "--agent", file, "hello")
	p.ok("", "run", "say “something”")
	for _, command := range []string{"sessions", "agents"} {
		plain := p.ok("", command).out
		rows := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
		last := []string{"“", "Scripted/demo"}[map[string]int{"sessions": 0, "agents": 1}[command]]
		if len(rows) != 2 || strings.Index(rows[0], last) != strings.Index(rows[1], last) || strings.Contains(plain, "first message") {
			t.Errorf("%s: %s", command, plain)
		}
		var out, errs bytes.Buffer
		m := p.main(strings.NewReader(""), &out, &errs)
		m.Terminal = true
		if code := m.Run(t.Context(), []string{command}); code != exitOK || strings.Count(out.String(), "\n") != 3 || !strings.Contains(out.String(), "model") {
			t.Errorf("at a terminal: %s%s", out.String(), errs.String())
		}
	}
	for _, args := range [][]string{{"sessions"}, {"sessions", "--json", "--all"}, {"agents"}} {
		if diff := cmp.Diff(p.ok("", args...).out, p.ok("", slices.Insert(slices.Clone(args), 1, "list")...).out); diff != "" {
			t.Errorf("%s list prints something else: %s", args[0], diff)
		}
	}
	if list := p.ok("", "sessions").out; !strings.Contains(list, "  a-clerk-with-a-long-name  “hello”") || !strings.Contains(list, "  Scripted/demo             “say") {
		t.Errorf("%s", list)
	}
	if list := p.ok("", "sessions", "--json").out; !strings.HasPrefix(list, `{"session":"s`) || !strings.Contains(list, `"firstMessage":"say “something”"`) {
		t.Errorf("%s", list)
	}
}

func TestShellsCompleteWhatThereIs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.configure("providers: {Local: {protocol: openai-chat, baseURL: http://127.0.0.1:1/v1, models: {a/b: {}}}}\n")
	if got := p.ok("", "__complete", "events", "").out; got != ":4\n" {
		t.Errorf("where nothing is: %q", got)
	}
	session := p.ok("", "run", "--agent", p.file("clerk.yaml", clerk), "hello there").session(t)
	offered := session + "\tidle, “hello there”\n"
	tests := []struct {
		args string
		want string
	}{
		{"events |", offered + ":4\n"},
		{"export |", offered + ":4\n"},
		{"sessions show |", offered + ":4\n"},
		{"sessions delete x |", offered + ":4\n"},
		{"events x |", ":4\n"},
		{"run --session |", offered + ":4\n"},
		{"chat --agent |", "clerk\tScripted/demo\n:0\n"},
		{"agents show |", "clerk\tScripted/demo\n:4\n"},
		{"agents check |", "yaml\nyml\n:8\n"},
		{"chat --model A|", "Anthropic/\nAnthropic/claude-sonnet-5\n:6\n"},
		{"chat --model Local/|", "Local/\nLocal/a/b\n:4\n"},
		{"run --approve |", "always\nnever\n:4\n"},
		{"run --attach |", ":0\n"}, // files
		{"sessions import |", ":0\n"},
		{"sessions export |", offered + ":4\n"},
		{"config set-key L|", "Local\n:4\n"},
	}
	for _, tt := range tests {
		before, last := "", strings.TrimSuffix(tt.args, "|")
		if at := strings.LastIndexByte(last, ' '); at >= 0 {
			before, last = last[:at], last[at+1:]
		}
		args := append([]string{"__complete"}, strings.Fields(before)...)
		got := p.ok("", append(args, last)...).out
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if script := p.ok("", "completion", shell).out; !strings.Contains(script, "openworker") || len(script) < 1000 {
			t.Errorf("%s: %s", shell, fmt.Sprintf("%.100s", script))
		}
	}
}
