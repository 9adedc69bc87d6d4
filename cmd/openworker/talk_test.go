package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker"
)

func TestNothingIsMadeOfAnEmptyInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, input := range []string{"", "\n \n\r\n"} {
		if got := p.ok(input, "chat"); got.out != "" || !strings.Contains(got.err, "the offline model answers, since no provider has a key and no local server was found; openworker doctor says more") {
			t.Errorf("%q gives %+v", input, got)
		}
	}
	if got := p.ok("", "sessions"); got.out != "" {
		t.Errorf("there is a session: %s", got.out)
	}
}

func TestEachLineIsAMessageOfOneSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.ok("count to 3\n\nuse calculate with {\"expression\": \"(17+4)*3/2.0\"}\r\nwhat now", "chat")
	want := "1, 2, 3.\ncalculate returned “31.5”\nThis is the offline model, so I can only repeat what you wrote, message 3 of this conversation: “what now”\n"
	if got.out != want {
		t.Errorf("answers %q, want %q", got.out, want)
	}
	if list := p.ok("", "sessions").out; strings.Count(list, "\n") != 1 || !strings.HasPrefix(list, got.session(t)) {
		t.Errorf("the sessions are %q", list)
	}
}

func TestALineLongerThanAMessageEndsTheInput(t *testing.T) {
	t.Parallel()
	got := newPlace(t).run("count to 2\n"+strings.Repeat("x", 300_000)+"\n", "chat")
	if got.code != exitFailure || got.out != "1, 2.\n" || !strings.Contains(got.err, "longer than a message may be") {
		t.Errorf("exit code %d, %q, %q", got.code, got.out, got.err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.ok("", "run", "count to 2")
	if first.out != "1, 2.\n" {
		t.Errorf("the answer is %q", first.out)
	}
	second := p.ok("repeat this", "run", "--session", first.session(t), "--json", "-")
	var result openworker.Result
	if err := json.Unmarshal([]byte(second.out), &result); err != nil {
		t.Fatalf("%q: %v", second.out, err)
	}
	if result.Status != openworker.StatusCompleted || !strings.HasSuffix(result.Text, "message 2 of this conversation: “repeat this”") ||
		result.Usage.OutputTokens == 0 || second.err != "" {
		t.Errorf("%+v, and on standard error %q", result, second.err)
	}
}

func TestOtherSettingsAreAnotherAgent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	agents := map[string]bool{}
	for _, args := range [][]string{{}, {}, {"--system", "Be brief."}, {"--approve", "always"}, {"--no-tools"}, {"--model", "Scripted/other"}} {
		p.ok("", append([]string{"run", "hello"}, args...)...)
	}
	for line := range strings.Lines(p.ok("", "sessions", "--json").out) {
		var info openworker.SessionInfo
		if err := json.Unmarshal([]byte(line), &info); err != nil {
			t.Fatal(err)
		}
		agents[info.Reference.Agent] = true
	}
	if len(agents) != 5 {
		t.Errorf("six runs with five settings made the agents %v", agents)
	}
}

// RU2: what waits is told with its exit code, and takes no other message.
func TestATurnThatWaitsSaysSo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	asked := p.run("use current_time\nnever sent", "chat", "--approve", "always")
	session := asked.session(t)
	if asked.code != exitWaiting || asked.out != "" || !strings.Contains(asked.err, "may it call current_time {}?") ||
		!strings.Contains(asked.err, "openworker chat --session "+session) {
		t.Fatalf("%+v", asked)
	}
	if again := p.run("", "chat", "--session", session); again.code != exitWaiting {
		t.Errorf("without an answer: exit code %d, %q", again.code, again.err)
	}
	if busy := p.run("", "run", "--session", session, "hello"); busy.code != exitFailure || !strings.Contains(busy.err, "the message was not sent") ||
		!strings.Contains(busy.err, "session_busy") || strings.Contains(busy.err, "whenBusy") {
		t.Errorf("another message: %+v", busy)
	}
}

func TestADenialIsPassedOnWithItsReason(t *testing.T) {
	t.Parallel()
	c := newPlace(t).sit(nil, "run", "--approve", "always", "use current_time")
	c.see("? ")
	c.enter("n")
	c.see("Why not?")
	c.see("? ")
	c.enter("it is late")
	c.leaves(exitOK)
	if !strings.Contains(c.text, "deny") || !strings.Contains(c.text, "current_time did not succeed") || !strings.Contains(c.text, "it is late") {
		t.Errorf("the screen has %q", c.text)
	}
}

func TestTheStateDirectoryIsPrivate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("", "run", "hello")
	info, err := os.Stat(filepath.Join(p.dir, "state"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state directory: %v, %v", info, err) // ST4
	}
}
