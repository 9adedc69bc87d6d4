package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/definition"
)

// file writes a file beside the state.
func (p *place) file(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

const clerk = `name: clerk
instructions: |
  You are a clerk.
  Be brief.
tools: [calculate]
approvals: {mode: never}
defaultModel: Scripted/demo
limits:
  maxModelCalls: 5
`

func TestAnAgentFileIsTalkedToAndComesBackFromTheStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.file("clerk.yaml", clerk)
	got := p.ok("", "run", "--agent", file, `use calculate with {"expression": "6*7"}`)
	if got.out != "calculate returned “42”\n" || !strings.Contains(got.err, "the offline model answers, since the agent clerk names it") {
		t.Errorf("%+v", got)
	}
	session := got.session(t)
	if list := p.ok("", "agents").out; !strings.HasPrefix(list, "clerk ") || !strings.Contains(list, "Scripted/demo  calculate  ") || strings.Count(list, "\n") != 1 {
		t.Errorf("the list is %s", list)
	}
	shown := p.ok("", "agents", "show", "clerk").out
	if want := strings.Replace(strings.Replace(clerk, "{mode: never}", "\n  mode: never", 1), "approvals: \n", "approvals:\n", 1); shown != want {
		t.Errorf("it is shown as\n%s\nand not\n%s", shown, want)
	}
	// What is shown is the same agent, so that it meets no conflict; and the store's own is found by its name.
	again := p.file("again.yaml", shown)
	for _, agent := range []string{again, "clerk"} {
		if got := p.ok("", "run", "--agent", agent, "hello"); !strings.Contains(got.err, "the agent clerk names it") {
			t.Errorf("%s: %+v", agent, got)
		}
	}
	var def struct {
		api.AgentDefinition
		Digest string `json:"digest"`
	}
	if err := json.Unmarshal([]byte(p.ok("", "agents", "show", "clerk", "--json").out), &def); err != nil {
		t.Fatal(err)
	}
	if def.Digest != definition.Digest(def.AgentDefinition) || def.Tools[0].Name != "calculate" || *def.Limits.MaxModelCalls != 5 {
		t.Errorf("%+v", def)
	}
	if listed := p.ok("", "agents", "--json").out; listed != `{"name":"clerk","digest":"`+def.Digest+`","defaultModel":{"provider":"Scripted","name":"demo"},"tools":["calculate"]}`+"\n" {
		t.Errorf("as JSON: %s", listed)
	}
	if shown := p.ok("", "sessions", "show", session).out; !strings.Contains(shown, "agent        clerk\n") {
		t.Errorf("the session is %s", shown)
	}
}

func TestAChangedAgentNeedsAnotherName(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.file("clerk.yaml", clerk)
	p.ok("", "run", "--agent", file, "hello")
	p.file("clerk.yaml", strings.Replace(clerk, "Be brief", "Be long", 1))
	got := p.run("", "run", "--agent", file, "hello")
	if got.code != exitFailure || !strings.Contains(got.err, "error: definition_conflict: ") || !strings.Contains(got.err, "what differs: instructions") ||
		!strings.Contains(got.err, "give the changed agent another name in its file, for example name: clerk-2;") {
		t.Errorf("%+v", got)
	}
	if list := p.ok("", "sessions", "--all").out; strings.Count(list, "\n") != 1 {
		t.Errorf("it left a session: %s", list)
	}
}

func TestAnAgentFileWithoutANameIsChangedAndRunAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, text := range []string{"Be brief.", "Be long.", "Be brief."} {
		p.ok("", "run", "--agent", p.file("clerk.yaml", "instructions: "+text+"\ndefaultModel: Scripted/demo\n"), "hello")
	}
	if list := p.ok("", "agents").out; strings.Count(list, "clerk-") != 2 {
		t.Errorf("the agents are %s", list)
	}
}

func TestAnAgentsModelAndTheOneThatIsAskedFor(t *testing.T) {
	t.Parallel()
	server := modelServer(t)
	p := newPlace(t)
	p.env["OPENAI_BASE_URL"], p.env["OPENAI_API_KEY"], p.env["OPENWORKER_MODEL"] = server.URL(), "sk-good", "tiny-1"
	file := p.file("clerk.yaml", "defaultModel: openai/large\n")
	if got := p.ok("", "run", "--agent", file, "hello"); !strings.HasPrefix(got.out, "large says hello") {
		t.Errorf("the agent's own goes before the environment: %+v", got)
	}
	got := p.ok("", "run", "--agent", file, "--model", "tiny-2", "hello")
	if !strings.HasPrefix(got.out, "tiny-2 says hello") {
		t.Errorf("the flag goes before the agent's: %+v", got)
	}
	delete(p.env, "OPENWORKER_MODEL")
	if got := p.ok("", "run", "--session", got.session(t), "hello"); !strings.HasPrefix(got.out, "tiny-2 says hello") {
		t.Errorf("a session keeps the model that it began with: %+v", got)
	}
	other := p.file("other.yaml", "defaultModel: Anthropic/claude-sonnet-5\n")
	if got := p.run("", "run", "--agent", other, "hello"); got.code != exitFailure || !strings.Contains(got.err, "credentials_missing: Anthropic needs a key") || !strings.Contains(got.err, "set ANTHROPIC_API_KEY") {
		t.Errorf("a provider without a key: %+v", got)
	}
}

func TestAFaultyAgentFileIsRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	bad := p.file("bad.yaml", "name: clerk\nlimits: {maxOutputTokensPerCall: 0}\ndefaultModel: Nobody/x\n")
	for _, args := range [][]string{{"run", "--agent", bad, "hello"}, {"chat", "--agent", bad}} {
		got := p.run("hello\n", args...)
		if got.code != exitFailure || !strings.Contains(got.err, "error: invalid_limits: "+bad+":2:34: limits.maxOutputTokensPerCall is 0; it must be from 1") ||
			!strings.Contains(got.err, "\nerror: invalid_limits: "+bad+`:3:15: defaultModel.provider "Nobody" is not known: configured are Anthropic, Google, OpenAI, Scripted`) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if _, err := os.Stat(p.env["OPENWORKER_STATE_DIR"]); !os.IsNotExist(err) {
		t.Errorf("the state directory: %v", err)
	}
	good := p.file("good.yaml", clerk)
	got := p.run("", "agents", "check", good, bad, "none.yaml")
	if got.code != exitFailure || got.err != "" || !strings.HasPrefix(got.out, "✓ "+good+": the agent clerk on Scripted/demo\n✗ "+bad+":2:34: ") ||
		!strings.Contains(got.out, "\n✗ "+bad+":3:15: ") || !strings.Contains(got.out, "\n✗ the file cannot be read: ") {
		t.Errorf("%+v", got)
	}
	got = p.run("", "agents", "check", "--json", bad, good)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	var first, second checked
	if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &first) != nil || json.Unmarshal([]byte(lines[1]), &second) != nil {
		t.Fatalf("%+v", got)
	}
	if first.OK || len(first.Faults) != 2 || first.Faults[0].Line != 2 || first.Faults[0].Column != 34 || first.Faults[0].Path != "limits.maxOutputTokensPerCall" ||
		first.Faults[1].Code != api.CodeUnknownProvider || !second.OK || second.Agent != "clerk" || len(second.Digest) != 64 {
		t.Errorf("%+v, %+v", first, second)
	}
}
