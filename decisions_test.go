package openworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

type letter struct {
	To string `json:"to"`
}

// deciding opens a harness in which a letter is written where nothing forbids it.
func deciding(t *testing.T, sent *atomic.Int32, change func(*openworker.Options, *openworker.AgentDefinition)) *openworker.Session {
	t.Helper()
	options := openworker.Options{StateDir: t.TempDir(), ScratchDir: t.TempDir(), Providers: []openworker.Provider{scripted.New(scripted.Config{})}}
	definition := openworker.AgentDefinition{
		Name: "writer", DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
		Tools: []openworker.Tool{openworker.MustTool(openworker.NewTool("letters.send", "Sends a letter.", func(_ context.Context, _ openworker.ToolCall, in letter) (string, error) {
			sent.Add(1)
			return "to " + in.To, nil
		}))},
	}
	change(&options, &definition)
	harness, err := openworker.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := harness.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	agent, err := harness.Agent(t.Context(), definition)
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// AP2, AP3, AP4, AP9: a program's handlers answer approvals, with changed arguments or for the session, and questions; a
// grant is taken back by name.
func TestHandlersDecideAndAGrantIsTakenBack(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	session := deciding(t, &sent, func(*openworker.Options, *openworker.AgentDefinition) {})
	var asked []string
	run := func(text string, approve openworker.Answer) openworker.Result {
		t.Helper()
		result, err := session.RunWith(t.Context(), text, openworker.Handlers{
			OnApproval: func(_ context.Context, in openworker.Interaction) (openworker.Answer, error) {
				asked = append(asked, in.Call.Name+" "+in.Call.Arguments)
				return approve, nil
			},
			OnQuestion: func(_ context.Context, in openworker.Interaction) (openworker.Answer, error) {
				asked = append(asked, in.Question.Text+" "+in.Question.Choices[0].Label)
				return openworker.Answer{Decision: openworker.Answered, Answers: []string{"Bergen"}}, nil
			},
		})
		if err != nil || result.Status != openworker.StatusCompleted {
			t.Fatalf("%q: %+v, %v", text, result, err)
		}
		return result
	}
	const write = `use letters.send with {"to":"Oslo"}`
	if r := run(write, openworker.Answer{Decision: openworker.AllowOnce, Arguments: json.RawMessage(`{"to":"Turku"}`)}); !strings.Contains(r.Text, "to Turku") {
		t.Errorf("with changed arguments the run says %q", r.Text)
	}
	if r := run(`use ask_user with {"question":"Where to?","choices":[{"label":"Oslo"}]}`, openworker.Answer{}); !strings.Contains(r.Text, "Bergen") {
		t.Errorf("behind the answer the run says %q", r.Text)
	}
	run(write, openworker.Answer{Decision: openworker.AllowSession})
	run(write, openworker.Answer{Decision: openworker.Deny})
	if err := session.RevokeGrant(t.Context(), "letters.send", "ann"); err != nil {
		t.Fatal(err)
	}
	if err := session.RevokeGrant(t.Context(), "letters.read", "ann"); !errors.Is(err, openworker.ErrInvalidRequest) {
		t.Errorf("a grant of a tool that there is not was taken back with %v", err)
	}
	if r := run(write, openworker.Answer{Decision: openworker.Deny}); !strings.Contains(r.Text, "denied") {
		t.Errorf("without the grant the run says %q", r.Text)
	}
	want := `letters.send {"to":"Oslo"}`
	if got := strings.Join(asked, "; "); got != want+"; Where to? Oslo; "+want+"; "+want || sent.Load() != 3 {
		t.Errorf("asked was %s, %d were sent", got, sent.Load())
	}
}

// GR1, GR4, AP2, CO1: what Options hold is in force for the agents that name it, and the application's check for all.
func TestWhatOptionsHoldDecides(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	session := deciding(t, &sent, func(o *openworker.Options, d *openworker.AgentDefinition) {
		o.Guardrails = []openworker.Guardrail{{Name: "names", Points: []openworker.GuardPoint{openworker.UserInput, openworker.ToolResult}, Check: func(_ context.Context, u openworker.Unit) (openworker.Verdict, error) {
			if strings.Contains(u.Text, "ann") {
				return openworker.Redact(strings.ReplaceAll(u.Text, "ann", "[name]"), "a name"), nil
			}
			if strings.Contains(u.Text, "forbidden") {
				return openworker.Block("not here"), nil
			}
			return openworker.Allow(), nil
		}}}
		o.Hooks = []openworker.Hook{{Name: "stamp", ToolResult: func(_ context.Context, r openworker.ToolOutput) (string, error) { return r.Output + ", stamped", nil }},
			{Name: "curfew", BeforeModel: func(_ context.Context, c openworker.ModelCall) error {
				if strings.Contains(scripted.LastUser(c.Request), "midnight") {
					return openworker.Veto("it is late")
				}
				return nil
			}}}
		o.Deny = func(_ context.Context, a openworker.ToolAction) (openworker.Verdict, error) {
			if strings.Contains(string(a.Arguments), "Nowhere") {
				return openworker.Block("no such place"), nil
			}
			return openworker.Allow(), nil
		}
		d.Guardrails, d.Hooks, d.Approvals.Mode = []string{"names"}, []string{"stamp", "curfew"}, openworker.ApproveNever
	})
	for _, tt := range []struct {
		text string
		says string
		code openworker.Code
	}{
		{"a letter from ann", "a letter from [name]", ""},
		{`use letters.send with {"to":"Oslo"}`, "to Oslo, stamped", ""},
		{`use letters.send with {"to":"Nowhere"}`, "no such place", ""},
		{"it is midnight", "it is late", openworker.CodeHookVetoed},
	} {
		result, err := session.Run(t.Context(), tt.text)
		if err != nil {
			t.Fatal(err)
		}
		said, code := result.Text, openworker.Code("")
		if result.Error != nil {
			said, code = result.Error.Message, result.Error.Code
		}
		if code != tt.code || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %s %q", tt.text, code, said)
		}
	}
	if _, err := session.Run(t.Context(), "something forbidden"); !errors.Is(err, openworker.ErrGuardrailBlocked) {
		t.Errorf("what is blocked gave %v", err)
	}
	if sent.Load() != 1 {
		t.Errorf("%d letters were sent", sent.Load())
	}
	if result, err := session.Compact(t.Context(), openworker.TurnOptions{InstructionAddendum: "x"}); !errors.Is(err, openworker.ErrInvalidRequest) {
		t.Errorf("a compaction with an addendum gave %+v, %v", result, err)
	}
	if result, err := session.Compact(t.Context()); err != nil || result.Status != openworker.StatusCompleted {
		t.Errorf("the compaction is %+v, %v", result, err)
	}
}
