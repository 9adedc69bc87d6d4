package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/model/scripted"
)

// embedded runs a message in a program that has a tool and a guardrail of its own, and ends that program where the turn
// waits for an answer. It gives the session and what is asked.
func (p *place) embedded(text string) (session string, asked pending) {
	p.t.Helper()
	ctx := p.t.Context()
	pass := func(context.Context, guard.Unit) (guard.Verdict, error) { return guard.Allow(), nil }
	h, err := openworker.Open(ctx, openworker.Options{
		StateDir: p.env["OPENWORKER_STATE_DIR"], ScratchDir: filepath.Join(p.dir, "scratch"), Providers: []openworker.Provider{scripted.New(scripted.Config{})},
		Guardrails: []openworker.Guardrail{{Name: "pins", Points: guard.Points(), Check: pass}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	pay, err := openworker.NewTool("pay", "Pays.", func(context.Context, openworker.ToolCall, struct{}) (string, error) { return "paid", nil })
	if err != nil {
		p.t.Fatal(err)
	}
	agent, err := h.Agent(ctx, openworker.AgentDefinition{Name: "bank", Tools: []openworker.Tool{pay}, DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"}})
	if err != nil {
		p.t.Fatal(err)
	}
	begun, err := agent.NewSession(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	run, err := begun.Send(ctx, text, openworker.TurnOptions{Guardrails: []string{"pins"}})
	if err != nil {
		p.t.Fatal(err)
	}
	if result, err := run.Result(ctx); err != nil || result.Status != openworker.StatusInterrupted {
		p.t.Fatalf("%+v, %v", result, err)
	}
	if err := h.Close(ctx); err != nil {
		p.t.Fatal(err)
	}
	return begun.ID(), p.pending()[0]
}

func TestASessionOfAProgramWithOtherToolsIsLeftToIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session, asked := p.embedded("use pay with {}")
	const only = "only a program that has the tool pay and the guardrail pins goes on with it: start yours again, unless it runs\n"
	// What the turn alone needs is not known before it could go on.
	if got := p.ok("", "sessions", "show", session).out; !strings.Contains(got, "activity     waiting\n") || !strings.Contains(got, "\nonly a program that has the tool pay goes on with it") {
		t.Errorf("while it is asked: %s", got)
	}
	if got := p.ok("", "approvals", "allow", asked.ID); got.err != "openworker: "+only {
		t.Errorf("with the answer: %s", got.err)
	}
	if got := p.ok("", "sessions", "show", session).out; !strings.Contains(got, "activity     answered, not gone on with\n") || !strings.HasSuffix(got, "\n"+only) {
		t.Errorf("once it is answered: %s", got)
	}
	if got := p.ok("", "sessions").out; !strings.HasPrefix(got, session+"  answered  ") {
		t.Errorf("in the list: %s", got)
	}
	if got := p.run("", "chat", "--session", session); got.code != exitFailure || !strings.Contains(got.err, "needs what openworker does not have: the tool pay and the guardrail pins\n") || !strings.Contains(got.err, only) {
		t.Errorf("a chat: %+v", got)
	}
}

// What has no text for a guardrail to look at can be answered without the guardrail.
func TestWhereAGuardrailIsMissingTheAnswersThatNeedNoneAreNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		refused    []string // behind approvals, with the ID as ID
		says       string
		takes      []string
	}{
		{"a call", "use pay with {}", []string{"deny", "ID", "--reason", "it is late"},
			"openworker approvals allow ID can be given, without --arguments, or openworker approvals deny ID, without --reason", []string{"deny", "ID"}},
		{"a call with other arguments", "use pay with {}", []string{"allow", "ID", "--arguments", "{}"}, "openworker approvals allow ID can be given", []string{"allow", "ID"}},
		{"a question", asksForColour, []string{"answer", "ID", "red"}, "openworker approvals answer ID --skip can be given", []string{"answer", "ID", "--skip"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			_, asked := p.embedded(tt.text)
			with := func(args []string) []string {
				return strings.Split(strings.ReplaceAll("approvals\n"+strings.Join(args, "\n"), "ID", asked.ID), "\n")
			}
			got := p.run("", with(tt.refused)...)
			if got.code != exitFailure || !strings.Contains(got.err, "guardrail_missing") || !strings.Contains(got.err, strings.ReplaceAll(tt.says, "ID", asked.ID)) {
				t.Errorf("%+v", got)
			}
			p.ok("", with(tt.takes)...)
		})
	}
}

func TestWhoIsWaitedForIsToldToWhoeverSendsAMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	session, asked := p.waits(asksForColour)
	got := p.run("", "run", "--session", session, "hello")
	if got.code != exitFailure || !strings.Contains(got.err, "session_busy") || strings.Contains(got.err, "whenBusy") ||
		!strings.Contains(got.err, "openworker approvals show "+asked.ID+" shows what is asked and how it is answered") {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "run", "--session", session, "hello", "--json"); !strings.Contains(got.err, `"next":"openworker approvals show `+asked.ID) {
		t.Errorf("for a program: %+v", got)
	}
}

func TestATurnThatAsksSeveralThingsNamesEachAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	text := asksToCalculate + "\nuse current_time\n" + asksForColour
	p.waits(text)
	got := p.run("", "run", "--approve", "always", text)
	told := p.run("", "run", "--approve", "always", "--json", text)
	var next struct{ Session, Next string }
	if err := json.Unmarshal([]byte(told.out), &next); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, open := range p.pending() {
		command := map[bool]string{true: "allow ", false: "answer "}[open.Question == nil]
		switch open.Session {
		case got.session(t):
			count++
			if !strings.Contains(got.err, "  openworker approvals "+command+open.ID) {
				t.Errorf("%s is not told:\n%s", open.ID, got.err)
			}
		case next.Session:
			if !strings.Contains(next.Next, "openworker approvals "+command+open.ID) {
				t.Errorf("%s is not told: %s", open.ID, next.Next)
			}
		}
	}
	if count != 3 || !strings.Contains(got.err, "openworker chat --session "+got.session(t)+" goes on then") {
		t.Errorf("%d things are asked\n%s", count, got.err)
	}
}

func TestWhatAGuardrailRedactsIsNotSaidAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.file("careful.yaml", "name: careful\ndefaultModel: Scripted/demo\ntools: [calculate]\nguardrails: [sensitive]\n")
	for _, args := range [][]string{{}, {"--json"}} {
		_, asked := p.waits(asksToCalculate, "--agent", file)
		got := p.ok("", append([]string{"approvals", "deny", asked.ID, "--reason", "ask bob@example.com"}, args...)...)
		if strings.Contains(got.out+got.err, "bob@") || !strings.Contains(got.out, "ask [redacted: email]") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	got := p.ok("", "run", "--json", "--guardrail", "sensitive", "write to bob@example.com")
	if !strings.Contains(got.out, `"guardrails":[{"name":"sensitive","point":"user_input","action":"redact","reason":"redacted email: 1"}]`) || got.err != "" {
		t.Errorf("for a program: %+v", got)
	}
	if got := p.ok("", "run", "--guardrail", "sensitive", "write to bob@example.com").err; !strings.Contains(got, "the guardrail sensitive redacted the message: email: 1\n") {
		t.Errorf("%s", got)
	}
}

func TestWhereNothingIsListedThatIsSaid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ok("", "run", "hello")
	session := strings.Fields(p.ok("", "sessions").out)[0]
	p.ok("", "sessions", "delete", session)
	for args, said := range map[string]string{
		"approvals": "nothing waits for an answer", "sessions": "there is no session yet",
	} {
		if got := p.ok("", args); got.out != "" || !strings.HasPrefix(got.err, "openworker: "+said) {
			t.Errorf("%s: %+v", args, got)
		}
		if got := p.ok("", args, "--json"); got.out+got.err != "" {
			t.Errorf("%s for a program: %+v", args, got)
		}
	}
	if got := p.run("", "run", "--approve", "auto", "hello"); got.code != exitUsage || !strings.Contains(got.err, "give always or never, or --agent with a file whose approvals have another mode, auto or only") {
		t.Errorf("%+v", got)
	}
}
