package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker"
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
	session := p.run("use current_time", "chat", "--approve", "ask").session(t)
	got := p.ok("", "sessions", "show", session).out
	for _, text := range []string{"activity     waiting\n", "run          " + session + "-r", "question     ", "current_time"} {
		if !strings.Contains(got, text) {
			t.Errorf("%q is not in\n%s", text, got)
		}
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
		{"run --approve |", "never\nask\n:4\n"},
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
