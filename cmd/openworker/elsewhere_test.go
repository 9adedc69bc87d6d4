package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

// server opens the place's store as another program does that runs sessions in it, with a tool pay of its own.
func (p *place) server(pay func(ctx context.Context) (string, error)) (*openworker.Harness, *openworker.Agent) {
	p.t.Helper()
	h, err := openworker.Open(p.t.Context(), openworker.Options{
		StateDir: p.env["OPENWORKER_STATE_DIR"], ScratchDir: filepath.Join(p.dir, "scratch"), CancelGrace: time.Millisecond,
		Providers: []openworker.Provider{scripted.New(scripted.Config{})},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	tool, err := openworker.NewTool("pay", "Pays.", func(ctx context.Context, _ openworker.ToolCall, _ struct {
		To string `json:"to"`
	}) (string, error) {
		return pay(ctx)
	})
	if err != nil {
		p.t.Fatal(err)
	}
	agent, err := h.Agent(p.t.Context(), openworker.AgentDefinition{
		Name: "payer", Tools: []openworker.Tool{tool}, Approvals: openworker.Approvals{Mode: openworker.ApproveAlways},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return h, agent
}

// AP3: the answer alone wakes the run, in the process that has it.
func TestATurnOfAnotherProgramGoesOnWithTheAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h, agent := p.server(func(context.Context) (string, error) { return "paid", nil })
	defer func() { _ = h.Close(context.Background()) }()
	session, err := agent.NewSession(t.Context(), openworker.SessionOptions{Owner: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	run, err := session.Send(t.Context(), `use pay with {"to": "Bob"}`)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := run.Result(t.Context()); err != nil || result.Status != openworker.StatusInterrupted {
		t.Fatalf("%+v, %v", result, err)
	}
	all := p.pending("--owner", "ada")
	if len(all) != 1 || all[0].Agent != "payer" || len(p.pending("--owner", "bob")) != 0 {
		t.Fatalf("%+v", all)
	}
	if got := p.run("", "approvals", "allow", all[0].ID, "--owner", "bob"); got.code != exitFailure || !strings.Contains(got.err, "interaction_not_found") {
		t.Errorf("of another owner: %+v", got)
	}
	p.ok("", "approvals", "allow", all[0].ID, "--arguments", `{"to": "Eve"}`)
	result, err := run.Result(t.Context())
	for err == nil && result.Status == openworker.StatusInterrupted { // it stood there when it was asked
		result, err = run.Result(t.Context())
	}
	if err != nil || result.Status != openworker.StatusCompleted || !strings.Contains(result.Text, "paid") || !strings.Contains(result.Text, `"to":"Eve"`) {
		t.Errorf("%+v, %v", result, err)
	}
}

// RE3: the process ends inside a side effect, and a person at a terminal says what became of it.
func TestAnOutcomeThatNobodyKnowsIsSettled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		says string
		text string // of the turn's answer
		paid int    // by the second program
	}{
		{"it succeeded", []string{"succeeded", "--output", "receipt 7"}, "settled as succeeded: pay", "pay returned “receipt 7”", 0},
		{"it failed", []string{"failed", "--reason", "the bank was closed"}, "settled as failed: pay: the bank was closed", "the bank was closed", 0},
		{"again", []string{"retry"}, "run again: pay", "pay returned “paid”", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			inside, never := make(chan struct{}), make(chan struct{})
			defer close(never)
			first, agent := p.server(func(context.Context) (string, error) {
				close(inside)
				<-never // not even when it is told to stop
				return "", nil
			})
			session, err := agent.NewSession(t.Context(), openworker.SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			run, err := session.Send(t.Context(), `use pay with {"to": "Bob"}`)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.ok("", "approvals", "allow", p.pending()[0].ID)
			<-inside
			_ = first.Close(t.Context()) // without the tool, which it says

			paid := 0
			second, agent := p.server(func(context.Context) (string, error) { paid++; return "paid", nil })
			defer func() { _ = second.Close(context.Background()) }()
			if session, err = agent.ResumeSession(t.Context(), session.Reference()); err != nil {
				t.Fatal(err)
			}
			if run, err = session.OpenRun(t.Context(), run.Reference().Run); err != nil {
				t.Fatal(err)
			}
			if result, err := run.Result(t.Context()); err != nil || result.Status != openworker.StatusInterrupted {
				t.Fatalf("%+v, %v", result, err)
			}
			asked := p.pending()[0]
			if got := p.ok("", "approvals", "show", asked.ID).out; !strings.Contains(got, "kind     unknown outcome\n") || !strings.Contains(got, "outcome "+asked.ID+" succeeded|failed|retry\n") {
				t.Errorf("%s", got)
			}
			for _, wrong := range [][]string{{"retry", "--output", "x"}, {"succeeded", "--reason", "x"}} {
				if got := p.run("", append([]string{"approvals", "outcome", asked.ID}, wrong...)...); got.code != exitUsage || !strings.Contains(got.err, "belongs to") {
					t.Errorf("%v: %+v", wrong, got)
				}
			}
			if got := p.ok("", append([]string{"approvals", "outcome", asked.ID}, tt.args...)...).out; got != asked.ID+" "+tt.says+"\n" {
				t.Errorf("it says %q", got)
			}
			result, err := run.Result(t.Context())
			for err == nil && result.Status == openworker.StatusInterrupted {
				result, err = run.Result(t.Context())
			}
			if err != nil || result.Status != openworker.StatusCompleted || !strings.Contains(result.Text, tt.text) || paid != tt.paid {
				t.Errorf("%+v, %v; it paid %d times", result, err, paid)
			}
		})
	}
}

// What an agent needs that this program does not have is told before a message is taken.
func TestWhatAnAgentNeedsAndTheProgramHasNotIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	h, agent := p.server(func(context.Context) (string, error) { return "paid", nil })
	session, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Run(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.ok("", "agents").out; !strings.Contains(got, "pay, (missing here: tool pay)") {
		t.Errorf("%s", got)
	}
	if got := p.ok("", "agents", "--json").out; !strings.Contains(got, `"missing":["tool pay"]`) {
		t.Errorf("%s", got)
	}
	for _, args := range [][]string{{"run", "--session", session.ID(), "hello"}, {"run", "--agent", "payer", "hello"}, {"sessions", "compact", session.ID()}} {
		got := p.run("", args...)
		if got.code != exitFailure || !strings.Contains(got.err, "registration_missing") || !strings.Contains(got.err, "only a program that has the tool pay ") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
