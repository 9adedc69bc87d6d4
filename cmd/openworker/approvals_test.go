package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

const (
	asksToCalculate = `use calculate with {"expression": "6*7"}`
	asksForColour   = `use ask_user with {"question": "Which colour?", "choices": [{"label": "red", "description": "as in the logo"}, {"label": "blue"}]}`
	asksForColours  = `use ask_user with {"question": "Which colours?", "multiple": true, "choices": [{"label": "red"}, {"label": "blue"}]}`
)

// waits lets a turn run until it waits for an answer, and gives the session and what is asked.
func (p *place) waits(text string, args ...string) (session string, asked pending) {
	p.t.Helper()
	if len(args) == 0 {
		args = []string{"--approve", "always"}
	}
	got := p.run("", append([]string{"run", text}, args...)...)
	if got.code != exitWaiting {
		p.t.Fatalf("it does not wait: %+v", got)
	}
	session = got.session(p.t)
	for _, open := range p.pending() {
		if open.Session == session && asked.ID == "" {
			asked = open
		}
	}
	if !strings.Contains(got.err, "openworker approvals ") || !strings.Contains(got.err, asked.ID) {
		p.t.Errorf("it does not say how to answer %s: %s", asked.ID, got.err)
	}
	return session, asked
}

// pending is what waits for an answer.
func (p *place) pending(args ...string) (all []pending) {
	p.t.Helper()
	for line := range strings.Lines(p.ok("", append([]string{"approvals", "--json"}, args...)...).out) {
		var one pending
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		all = append(all, one)
	}
	return all
}

// goesOn goes on with a session to the end of its turn, and gives what it answers.
func (p *place) goesOn(session string) string {
	p.t.Helper()
	return p.ok("", "chat", "--session", session).out
}

func TestWhatWaitsForAnAnswerIsListedOverAllSessions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("", "run", "hello") // which waits for nothing
	if got := p.ok("", "approvals"); got.out != "" || got.err != "openworker: nothing waits for an answer\n" {
		t.Errorf("nothing waits: %+v", got)
	}
	if got := p.ok("", "approvals", "--json"); got.out+got.err != "" {
		t.Errorf("for a program: %+v", got)
	}
	first, call := p.waits(asksToCalculate)
	second, question := p.waits(asksForColour)
	for _, args := range [][]string{{"approvals"}, {"approvals", "list"}} {
		rows := strings.Split(strings.TrimSuffix(p.ok("", args...).out, "\n"), "\n")
		if len(rows) != 2 || !strings.HasPrefix(rows[0], call.ID+"  approval  ") || !strings.HasSuffix(rows[0], `  may it call calculate {"expression": "6*7"}?`) ||
			!strings.HasPrefix(rows[1], question.ID+"  question  ") || !strings.HasSuffix(rows[1], "  Which colour? (red, blue)") {
			t.Errorf("%v: %q", args, rows)
		}
	}
	if call.Session != first || question.Session != second || !strings.HasPrefix(call.Agent, ownAgent) || call.Asks != `may it call calculate {"expression": "6*7"}?` || call.Asked.IsZero() {
		t.Errorf("%+v\n%+v", call, question)
	}
	if got := p.pending("--owner", "nobody"); len(got) != 0 {
		t.Errorf("of an owner who has none: %+v", got)
	}
}

func TestWhatIsAskedIsShownWhole(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tests := []struct {
		name, text string
		says       []string
	}{
		{"a call", asksToCalculate, []string{"kind     approval\n", "call     calculate, ", "\n{\n  \"expression\": \"6*7\"\n}\n", "openworker approvals allow ID\n", "openworker approvals allow ID --session\n", "openworker approvals allow ID --arguments JSON\n", "openworker approvals deny ID --reason TEXT\n"}},
		{"a question", asksForColour, []string{"kind     question\n", "\nWhich colour?\n  1  red — as in the logo\n  2  blue\n\n", "openworker approvals answer ID ANSWER\n", "answer ID --skip\n"}},
		{"a question with several answers", asksForColours, []string{"  2  blue\nseveral answers can be given\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			session, asked := p.waits(tt.text)
			got := strings.ReplaceAll(p.ok("", "approvals", "show", asked.ID).out, asked.ID, "ID")
			for _, text := range append(tt.says, "id       ID\nsession  "+session+"\nagent    chat-") {
				if !strings.Contains(got, text) {
					t.Errorf("%q is not in\n%s", text, got)
				}
			}
			var shown pending
			if err := json.Unmarshal([]byte(p.ok("", "approvals", "show", asked.ID, "--json").out), &shown); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asked, shown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAnswerIsGivenByItsID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		args       []string // behind "approvals", with the ID as ID
		stdin      string
		says       string // behind the ID
		answers    string // what the turn goes on to answer
	}{
		{"once", asksToCalculate, []string{"allow", "ID"}, "", "allowed once: calculate", "calculate returned “42”\n"},
		{"for the session", asksToCalculate, []string{"allow", "ID", "--session"}, "", "allowed in this session: calculate", "calculate returned “42”\n"},
		{"with other arguments", asksToCalculate, []string{"allow", "ID", "--arguments", `{ "expression": "3*7" }`}, "", `allowed once: calculate {"expression":"3*7"}`, "21”\n"},
		{"with arguments that are piped in", asksToCalculate, []string{"allow", "ID", "--arguments", "-"}, "{\"expression\":\n\"5*5\"}\n", `allowed once: calculate {"expression":"5*5"}`, "25”\n"},
		{"with arguments in a file", asksToCalculate, []string{"allow", "ID", "--arguments", "@FILE"}, "", `allowed once: calculate {"expression":"2*2"}`, "4”\n"},
		{"no", asksToCalculate, []string{"deny", "ID"}, "", "denied: calculate", "calculate did not succeed: "},
		{"no, for a reason", asksToCalculate, []string{"deny", "ID", "--reason", "@bob is asleep"}, "", "denied: calculate: @bob is asleep", "@bob is asleep"},
		{"a choice by its number", asksForColour, []string{"answer", "ID", "2"}, "", "answered: Which colour? → blue", `{"answers":["blue"]}`},
		{"a choice as it is written", asksForColour, []string{"answer", "ID", "RED"}, "", "answered: Which colour? → red", `{"answers":["red"]}`},
		{"another answer", asksForColour, []string{"answer", "ID", "green"}, "", "answered: Which colour? → green", `{"answers":["green"]}`},
		{"a number that is no choice's", asksForColour, []string{"answer", "ID", "--text", "7"}, "", "answered: Which colour? → 7", `{"answers":["7"]}`},
		{"a choice and a number", asksForColours, []string{"answer", "ID", "blue", "--text", "1"}, "", "answered: Which colours? → blue, 1", `{"answers":["blue","1"]}`},
		{"several answers", asksForColours, []string{"answer", "ID", "1", "dark green"}, "", "answered: Which colours? → red, dark green", `{"answers":["red","dark green"]}`},
		{"no answer", asksForColour, []string{"answer", "ID", "--skip"}, "", "skipped: Which colour?", "skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			session, asked := p.waits(tt.text)
			file := p.file("changed.json", `{"expression": "2*2"}`)
			args := []string{"approvals"}
			for _, arg := range tt.args {
				args = append(args, strings.NewReplacer("ID", asked.ID, "FILE", file).Replace(arg))
			}
			if got := p.ok(tt.stdin, args...); got.out != asked.ID+" "+tt.says+"\n" || !strings.Contains(got.err, "openworker chat --session "+session+" goes on") {
				t.Errorf("it says %q, %q", got.out, got.err)
			}
			if got := p.pending(); len(got) != 0 {
				t.Errorf("it still waits: %+v", got)
			}
			if got := p.goesOn(session); !strings.Contains(got, tt.answers) {
				t.Errorf("the turn goes on with %q", got)
			}
		})
	}
}

func TestAnAnswerAsJSON(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session, asked := p.waits(asksToCalculate)
	got := p.ok("", "approvals", "allow", asked.ID, "--by", "ada", "--arguments", `{"expression": "1"}`, "--json")
	if want := `{"id":"` + asked.ID + `","session":"` + session + `","decision":"allow","arguments":{"expression":"1"},"by":"ada"}` + "\n"; got.out != want || got.err != "" {
		t.Errorf("%q, %q, want %q", got.out, got.err, want)
	}
	if events := p.ok("", "events", session).out; !strings.Contains(events, `allow with {"expression":"1"} by ada`) {
		t.Errorf("%s", events)
	}
}

func TestAnAnswerIsFinal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session, asked := p.waits(asksToCalculate)
	p.ok("", "approvals", "allow", asked.ID, "--by", "ada")
	p.ok("", "approvals", "allow", asked.ID) // the same again is none
	for name, args := range map[string][]string{
		"another answer": {"approvals", "deny", asked.ID}, "a look": {"approvals", "show", asked.ID},
	} {
		got := p.run("", args...)
		if got.code != exitFailure || !strings.Contains(got.err, "error: already_resolved: ") || !strings.Contains(got.err, "openworker events "+session) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := p.run("", "approvals", "show", asked.ID); !strings.Contains(got.err, "waits for nothing any more: allowed once: calculate, by ada") {
		t.Errorf("%s", got.err)
	}
}

func TestAnswersThatDoNotFit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, call := p.waits(asksToCalculate)
	_, question := p.waits(asksForColour)
	empty := p.file("empty.json", "")
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"no ID", []string{"allow"}, exitUsage, []string{"openworker approvals allow needs ID"}},
		{"an ID of nothing", []string{"deny", "nothing"}, exitFailure, []string{`interaction_not_found: nothing that waits for an answer has the ID "nothing"`, "openworker approvals lists what waits"}},
		{"an ID of a session's nothing", []string{"deny", call.Session + "-i999"}, exitFailure, []string{"interaction_not_found: "}},
		{"too little of an ID", []string{"allow", call.ID[:3]}, exitFailure, []string{"interaction_not_found: "}},
		{"two kinds of permission", []string{"allow", call.ID, "--session", "--arguments", "{}"}, exitUsage, []string{"leave out --session or --arguments"}},
		{"arguments that are no JSON", []string{"allow", call.ID, "--arguments", "{"}, exitFailure, []string{"invalid_request: --arguments: that is no JSON object: "}},
		{"arguments that are no object", []string{"allow", call.ID, "--arguments", "[]"}, exitFailure, []string{"that is no JSON object: "}},
		{"arguments in an empty file", []string{"allow", call.ID, "--arguments", "@" + empty}, exitFailure, []string{"that is no JSON object: unexpected end"}},
		{"arguments in no file", []string{"allow", call.ID, "--arguments", "@none.json"}, exitFailure, []string{"the file cannot be read: ", "none.json"}},
		{"arguments that the tool does not take", []string{"allow", call.ID, "--arguments", `{"expression": 3}`}, exitFailure, []string{"arguments_invalid: ", "/expression", "openworker approvals show " + call.ID}},
		{"an answer to a call", []string{"answer", call.ID, "yes"}, exitFailure, []string{"is of the kind approval", "openworker approvals allow " + call.ID}},
		{"an outcome of a call that has not begun", []string{"outcome", call.ID, "retry"}, exitFailure, []string{"is of the kind approval"}},
		{"a permission for a question", []string{"allow", question.ID}, exitFailure, []string{"is of the kind question", "openworker approvals answer " + question.ID + " ANSWER"}},
		{"no answer", []string{"answer", question.ID}, exitUsage, []string{"give the answer, or --skip", "openworker approvals show " + question.ID}},
		{"a number that no choice has", []string{"answer", question.ID, "7"}, exitUsage, []string{"there are 2 choices, and 7 is the number of none; give --text 7"}},
		{"an answer of one's own that is skipped", []string{"answer", question.ID, "--text", "7", "--skip"}, exitUsage, []string{"--skip answers nothing"}},
		{"a choice and one's own where one is taken", []string{"answer", question.ID, "1", "--text", "7"}, exitUsage, []string{"takes one answer, and 2 are given"}},
		{"an answer that is skipped", []string{"answer", question.ID, "red", "--skip"}, exitUsage, []string{"--skip answers nothing"}},
		{"two answers to a question that takes one", []string{"answer", question.ID, "red", "blue"}, exitUsage, []string{"takes one answer, and 2 are given"}},
		{"an outcome that is none", []string{"outcome", call.ID, "maybe"}, exitUsage, []string{"openworker approvals outcome needs ID succeeded|failed|retry"}},
		{"an unknown subcommand", []string{"denny", call.ID}, exitUsage, []string{"did you mean deny?"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := p.run("", append([]string{"approvals"}, tt.args...)...)
			if got.code != tt.code || got.out != "" {
				t.Errorf("exit code %d, want %d: %q", got.code, tt.code, got.out)
			}
			for _, text := range tt.says {
				if !strings.Contains(got.err, text) {
					t.Errorf("%q does not say %q", got.err, text)
				}
			}
		})
	}
	if got := p.pending(); len(got) != 2 {
		t.Errorf("what waited has changed: %+v", got)
	}
}

func TestTheBeginningOfAnInteractionsIDIsEnough(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session, asked := p.waits(asksToCalculate + "\nuse current_time")
	got := p.run("", "approvals", "allow", session)
	if got.code != exitFailure || !strings.Contains(got.err, "2 IDs begin with "+session+": "+asked.ID[:len(session)]) ||
		!strings.Contains(got.err, "  openworker approvals lists them\n") {
		t.Errorf("where two begin so: %+v", got)
	}
	for _, open := range p.pending() {
		p.ok("", "approvals", "allow", open.ID)
	}
	if got := p.run("", "approvals", "allow", session); got.code != exitFailure || !strings.Contains(got.err, "2 IDs that were answered begin with "+session) ||
		!strings.Contains(got.err, "openworker events "+session+" lists them") {
		t.Errorf("where two that were answered begin so: %+v", got)
	}
	session, asked = p.waits(asksToCalculate)
	for range 2 { // the second time it is among the answered ones
		if got := p.ok("", "approvals", "deny", session[:8]); !strings.HasPrefix(got.out, asked.ID+" denied") {
			t.Errorf("%+v", got)
		}
	}
	if got := p.run("", "approvals", "allow", session[:8]); got.code != exitFailure || !strings.Contains(got.err, "already_resolved") {
		t.Errorf("another answer: %+v", got)
	}
	if got := p.run("", "approvals", "deny", session[:8], "--owner", "nobody"); !strings.Contains(got.err, "interaction_not_found") {
		t.Errorf("of another owner: %+v", got)
	}
}

func TestShellsCompleteWhatWaits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	_, call := p.waits(asksToCalculate)
	offered := call.ID + "\tmay it call calculate {\"expression\": \"6*7\"}?\n:4\n"
	for _, tt := range []struct{ args, want string }{
		{"approvals show |", offered}, {"approvals allow |", offered}, {"approvals deny s|", offered}, {"approvals answer |", offered}, {"approvals outcome |", offered},
		{"approvals outcome ID |", "failed\nretry\nsucceeded\n:4\n"}, {"approvals deny ID |", ":4\n"}, {"run --guardrail |", "sensitive\n:4\n"},
	} {
		words := strings.Fields(strings.TrimSuffix(tt.args, "|"))
		last := ""
		if !strings.HasSuffix(tt.args, " |") {
			words, last = words[:len(words)-1], words[len(words)-1]
		}
		if got := p.ok("", append(append([]string{"__complete"}, words...), last)...).out; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestPermissionsAreListedAndTakenBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session, asked := p.waits(asksToCalculate)
	if got := p.ok("", "sessions", "grants", session); got.out != "" || got.err != "openworker: nobody has allowed a tool for the whole session\n" {
		t.Errorf("before there is one: %+v", got)
	}
	p.ok("", "approvals", "allow", asked.ID, "--session", "--by", "ada")
	p.goesOn(session)
	p.ok("", "run", "--session", session, asksToCalculate) // nobody is asked
	if got := p.ok("", "sessions", "grants", session).out; !strings.HasPrefix(got, "calculate  ") || !strings.HasSuffix(got, "  ada\n") {
		t.Errorf("%q", got)
	}
	var grant openworker.Grant
	if err := json.Unmarshal([]byte(p.ok("", "sessions", "grants", session, "--json").out), &grant); err != nil || grant.Tool != "calculate" || grant.By != "ada" || grant.Given.IsZero() {
		t.Errorf("%v, %+v", err, grant)
	}
	if got := p.run("", "sessions", "grants", session, "--revoke", "pay"); got.code != exitFailure || !strings.Contains(got.err, `has no tool "pay"`) {
		t.Errorf("a tool that the agent has not: %+v", got)
	}
	if got := p.ok("", "sessions", "grants", session, "--revoke", "current_time"); got.out != "" || !strings.Contains(got.err, `has no permission for the tool "current_time"; openworker sessions grants `+session) {
		t.Errorf("a tool without a permission: %+v", got)
	}
	if got := p.run("", "sessions", "grants", session, "--revoke="); got.code != exitUsage {
		t.Errorf("%+v", got)
	}
	if got := p.ok("", "sessions", "grants", session, "--revoke", "calculate", "--by", "bob").out; got != "calculate is asked about again in session "+session+"\n" {
		t.Errorf("%q", got)
	}
	if got := p.run("", "run", "--session", session, asksToCalculate); got.code != exitWaiting {
		t.Errorf("without the permission: %+v", got)
	}
	if events := p.ok("", "events", session).out; !strings.Contains(events, "calculate by bob\n") {
		t.Errorf("%s", events)
	}
}

func TestAGuardrailLooksAtAMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	got := p.ok("", "run", "--guardrail", "sensitive", "write to bob@example.com")
	if strings.Contains(got.out, "bob@") || !strings.Contains(got.out, "[redacted: email]") || !strings.Contains(got.err, "openworker: the guardrail sensitive redacted the message: ") {
		t.Errorf("%+v", got)
	}
	store, err := os.ReadFile(p.env["OPENWORKER_STATE_DIR"] + "/openworker.db")
	if err != nil || strings.Contains(string(store), "bob@") {
		t.Errorf("%v; what was redacted is stored", err)
	}
	plain := p.ok("", "run", "--session", got.session(t), "write to eve@example.com")
	if !strings.Contains(plain.out, "eve@example.com") {
		t.Errorf("the next message has no guardrail: %+v", plain)
	}
	if got := p.run("", "run", "--guardrail", "sensitve", "hello"); got.code != exitUsage || !strings.Contains(got.err, `did you mean "sensitive"?`) {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "chat", "--guardrail", "sensitive", "--guardrail", "sensitive"); got.code != exitUsage || !strings.Contains(got.err, "given twice") {
		t.Errorf("%+v", got)
	}
}

func TestAnAgentFileNamesAGuardrailAndAReviewer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.file("careful.yaml", "name: careful\ndefaultModel: Scripted/demo\ntools: [calculate]\nguardrails: [sensitive]\napprovals: {mode: auto, reviewerModel: Scripted/demo}\n")
	session, asked := p.waits(asksToCalculate+"\nfor bob@example.com", "--agent", file)
	if asked.Review == nil || asked.Review.Code != api.CodeReviewInvalid {
		t.Fatalf("the offline model is no reviewer: %+v", asked)
	}
	if got := p.ok("", "approvals", "show", asked.ID).out; !strings.Contains(got, "review   the reviewer gave no verdict: review_invalid") {
		t.Errorf("%s", got)
	}
	p.ok("", "approvals", "allow", asked.ID)
	if got := p.goesOn(session); got != "calculate returned “42”\n" {
		t.Errorf("%q", got)
	}
	if got := p.ok("", "agents", "show", "careful").out; !strings.Contains(got, "guardrails: [sensitive]\n") || !strings.Contains(got, "reviewerModel: Scripted/demo\n") {
		t.Errorf("%s", got)
	}
}
