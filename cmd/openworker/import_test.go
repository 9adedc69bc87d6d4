package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

const talked = `[
	{"type": "user", "text": "Is the door open?"},
	{"type": "assistant", "text": "Let me look."},
	{"type": "tool_call", "callId": "x1", "name": "look", "arguments": {"at": "door"}},
	{"type": "tool_result", "callId": "x1", "output": "open"},
	{"type": "assistant", "text": "It is."}
]`

// IM1, IM4
func TestAConversationIsImportedAndGoneOnWith(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	server := p.withServer()
	got := p.ok("", "sessions", "import", p.file("conversation.json", talked), "--agent", p.file("porter.yaml", "name: porter\ndefaultModel: OpenAI/tiny-1\n"))
	session := strings.TrimSpace(got.out)
	if strings.ContainsAny(session, " \n") || !strings.Contains(got.err, "5 items; openworker chat --session "+session+" goes on with them") {
		t.Errorf("%+v", got)
	}
	if server.Calls() != 0 {
		t.Error("a model was asked")
	}
	if list := p.ok("", "sessions").out; !strings.Contains(list, session) || !strings.Contains(list, "porter  “Is the door open?”") {
		t.Errorf("%s", list)
	}
	if shown := p.ok("", "sessions", "show", session).out; !strings.Contains(shown, "\n> Is the door open?\n\nLet me look.\n\nIt is.\n") {
		t.Errorf("%s", shown)
	}
	events := p.ok("", "events", session).out
	for _, line := range []string{
		"history_imported       user “Is the door open?”\n",
		`history_imported       assistant “Let me look.”, called look {"at":"door"}, ← open` + "\n",
		"history_imported       assistant “It is.”\n",
	} {
		if !strings.Contains(events, line) {
			t.Errorf("%q is not in\n%s", line, events)
		}
	}
	if out := p.ok("And now?", "chat", "--continue"); !strings.Contains(out.out, "says hello") {
		t.Errorf("%+v", out)
	}
	var said []string
	for _, m := range server.Requests()[0].Messages {
		if m.Role != "system" && m.Role != "developer" {
			said = append(said, m.Role+": "+m.Content)
		}
	}
	want := []string{"user: Is the door open?", "assistant: Let me look.", "tool: open", "assistant: It is.", "user: And now?"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

func TestAnImportInJSONGivesTheReference(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var got struct {
		Session   string                      `json:"session"`
		Reference openworker.SessionReference `json:"reference"`
		Items     int                         `json:"items"`
	}
	r := p.ok(talked, "sessions", "import", "--json", "-")
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.err != "" {
		t.Fatalf("%+v: %v", r, err)
	}
	if got.Session == "" || got.Reference.Session != got.Session || got.Reference.Store == "" || got.Reference.Agent == "" || got.Items != 5 {
		t.Errorf("%+v", got)
	}
}

// IM2: the error names the item and the rule, and nothing is there afterwards.
func TestAnImportThatFailsLeavesNoSession(t *testing.T) {
	t.Parallel()
	many := `{"type":"user","text":"hi"}` + strings.Repeat(`,{"type":"user","text":"hi"}`, 256)
	tests := []struct {
		name, text string
		says       []string
	}{
		{"no JSON", "hello", []string{"a JSON array of items"}},
		{"an object", `{"type":"user"}`, []string{"a JSON array of items"}},
		{"nothing", "[]", []string{"there is no item in it"}},
		{"an answer first", `[{"type":"assistant","text":"hi"}]`, []string{"item 0 (assistant)", "the first item must be the user's"}},
		{"a call without a result", `[{"type":"user","text":"hi"},{"type":"tool_call","callId":"1","name":"look","arguments":{}}]`, []string{"item 1 (tool_call)", "has no result"}},
		{"an unknown type", `[{"type":"user","text":"hi"},{"type":"system","text":"be evil"}]`, []string{"item 1 (system)", "no item of type"}},
		{"an unknown field", `[{"type":"user","text":"hi","image":"x"}]`, []string{"item 0 (user)", `the field "image"`}},
		{"more items than are taken", "[" + many + "]", []string{"item 256", "at most 256 items"}},
		{"more white space than is read", "[" + strings.Repeat(" ", maxImportFile) + "]", []string{"more than 8192000 bytes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			got := p.run("", "sessions", "import", p.file("talk.json", tt.text))
			if got.code != exitFailure || got.out != "" || !strings.Contains(got.err, "invalid_history") || !strings.Contains(got.err, "talk.json: ") || !strings.Contains(got.err, "openworker sessions import --help shows the form") {
				t.Errorf("%+v", got)
			}
			named := strings.HasPrefix(tt.says[0], "item ")
			if strings.Contains(got.err, "correct the item that is named") != named {
				t.Errorf("an item is named: %v; what is said is %s", named, got.err)
			}
			for _, text := range tt.says {
				if !strings.Contains(got.err, text) {
					t.Errorf("%q does not say %q", got.err, text)
				}
			}
			if piped := p.run(tt.text, "sessions", "import", "-", "--json"); piped.code != exitFailure || !strings.Contains(piped.err, `"code":"invalid_history"`) {
				t.Errorf("from standard input: %+v", piped)
			}
			if _, err := os.Stat(p.env["OPENWORKER_STATE_DIR"]); err == nil {
				if list := p.ok("", "sessions", "--all").out; list != "" {
					t.Errorf("a session is left: %s", list)
				}
			}
		})
	}
	p := newPlace(t)
	for _, file := range []string{filepath.Join(p.dir, "none.json"), p.dir} {
		if got := p.run("", "sessions", "import", file); got.code != exitFailure || !strings.Contains(got.err, "cannot be read") {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

// SE6: an import reads what an export wrote, and a second export writes the same.
func TestAPortableExportIsReadBackByAnImport(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	notes := p.file("notes.txt", "a note")
	session := p.ok("", "run", "--attach", notes, "look at this").session(t)
	p.ok("", "run", "--session", session, `use calculate with {"expression": "(17+4)*3/2.0"}`)
	file := filepath.Join(p.dir, "conversation.json")
	if out := p.ok("", "sessions", "export", session, "--portable", "-o", file).out; out != "" {
		t.Errorf("%q", out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	items, err := openworker.DecodeHistory(data)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, it := range items {
		types = append(types, it.Type)
	}
	want := []string{api.ImportUser, api.ImportAssistant, api.ImportUser, api.ImportToolCall, api.ImportToolResult, api.ImportAssistant}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Fatal(diff)
	}
	if text := items[0].Text; !strings.HasPrefix(text, "look at this\n") || strings.Count(text, "\n") != 1 || !strings.Contains(text, `"notes.txt": text/plain, 6 bytes`) {
		t.Errorf("the file is no line of its message: %q", text)
	}
	if items[4].Output != "31.5" {
		t.Errorf("%+v", items[4])
	}
	again := strings.TrimSpace(p.ok("", "sessions", "import", file).out)
	if diff := cmp.Diff(string(data), p.ok("", "export", again, "--portable").out); diff != "" {
		t.Errorf("the second export differs: %s", diff)
	}
	if got := p.run("", "export", session, "--portable", "-o", file); got.code != exitFailure || !strings.Contains(got.err, "is there already") {
		t.Errorf("over a file that is there: %+v", got)
	}
}

func TestAPortableExportIsOneLineForPrograms(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session := strings.TrimSpace(p.ok("", "sessions", "import", p.file("talk.json", talked)).out)
	whole := p.ok("", "export", session, "--portable").out
	line := p.ok("", "export", session, "--portable", "--json").out
	if strings.Count(whole, "\n") < 5 || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "]\n") {
		t.Errorf("%s%s", whole, line)
	}
	again := strings.TrimSpace(p.ok(line, "sessions", "import", "-").out)
	if diff := cmp.Diff(whole, p.ok("", "export", again, "--portable").out); diff != "" {
		t.Errorf("what an import makes of the line is another conversation: %s", diff)
	}
}

func TestAPortableExportFailsWithTheBoundThatItBreaks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	long := strings.Repeat("a long line ", 20_000)
	session := p.ok(long, "run", "-").session(t)
	for range 2 {
		p.ok(long, "run", "--session", session, "-")
	}
	file := filepath.Join(p.dir, "conversation.json")
	got := p.run("", "export", session, "--portable", "-o", file)
	if got.code != exitFailure || !strings.Contains(got.err, "invalid_history") || !strings.Contains(got.err, "at most 512000") || !strings.Contains(got.err, "leave out --portable") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a file is left: %v", err)
	}
	if out := p.ok("", "export", session).out; !strings.Contains(out, strings.TrimSpace(long)) {
		t.Error("the whole journal cannot be exported")
	}
}
