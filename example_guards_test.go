package openworker_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

// The code of docs/guides/approvals.md, guardrails.md and context.md stands in this file and in examples.

// nightly keeps agents from writing at night, whatever anybody has allowed.
func nightly(_ context.Context, action openworker.ToolAction) (openworker.Verdict, error) {
	if hour := time.Now().Hour(); action.Effect != openworker.ReadOnly && (hour < 6 || hour >= 22) {
		return openworker.Block("nothing is changed between ten and six"), nil
	}
	return openworker.Allow(), nil
}

func audit() openworker.Hook {
	return openworker.Hook{
		Name: "audit",
		// sees every request of the agent, of a reviewer and of a summary, redactions made, without its credential
		BeforeModel: func(_ context.Context, call openworker.ModelCall) error {
			if len(call.Request.Items) > 500 {
				return openworker.Veto("too long a conversation")
			}
			return nil
		},
		// sees a result before guardrails, model and journal do, and may replace it
		ToolResult: func(_ context.Context, result openworker.ToolOutput) (string, error) {
			return strings.TrimSpace(result.Output), nil
		},
	}
}

func builder(ctx context.Context, harness *openworker.Harness) (*openworker.Agent, error) {
	return harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "builder",
		DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "gpt-5-mini"},
		Compaction:   &openworker.CompactionOptions{AdditionalInstructions: openworker.Set("Keep the list of failing tests.")},
	})
}

// summarise reports whether there is a new summary: of a short conversation there is none, and that is no error.
func summarise(ctx context.Context, session *openworker.Session) (bool, error) {
	result, err := session.Compact(ctx)
	if err != nil {
		return false, err
	}
	run, err := session.OpenRun(ctx, result.Run)
	if err != nil {
		return false, err
	}
	for event, err := range run.Events(ctx) {
		if err != nil {
			return false, err
		}
		if event.Type == openworker.EventCompactionFinished {
			finished, err := openworker.Data[openworker.CompactionFinished](event)
			return finished.Summary != "", err
		}
	}
	return false, nil // result.Error says why, if it failed
}

// first takes the first choice of each question, and skips those without one.
func first(_ context.Context, open openworker.Interaction) (openworker.Answer, error) {
	if len(open.Question.Choices) == 0 {
		return openworker.Answer{Decision: openworker.Skipped}, nil
	}
	return openworker.Answer{Decision: openworker.Answered, Answers: []string{open.Question.Choices[0].Label}}, nil
}

// A hook trims what a tool returned, a check of the application stands before every action, a question is answered, and
// older history is summarised on demand.
func Example_guards() {
	dir, err := os.MkdirTemp("", "openworker")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	harness, err := openworker.Open(ctx, openworker.Options{
		StateDir: dir, Providers: []openworker.Provider{scripted.New(scripted.Config{})},
		Hooks: []openworker.Hook{audit()}, Deny: nightly,
	})
	if err != nil {
		panic(err)
	}
	defer harness.Close(ctx)
	if _, err := builder(ctx, harness); err != nil {
		panic(err)
	}
	padded := func(context.Context, openworker.ToolCall, parcel) (string, error) { return "  in Oslo\n", nil }
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "trimmed",
		Tools:        []openworker.Tool{openworker.MustTool(openworker.NewTool("parcels.find", "Finds a parcel.", padded, openworker.ToolOptions{Effect: openworker.ReadOnly}))},
		Approvals:    openworker.Approvals{Mode: openworker.ApproveNever},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
		Hooks:        []string{"audit"},
	})
	if err != nil {
		panic(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		panic(err)
	}
	result, err := session.Run(ctx, `use parcels.find with {"number": 42}`)
	fmt.Println(result.Status, result.Text, err)
	text := `use ask_user with {"question": "Which colour?", "choices": [{"label": "red"}, {"label": "blue", "description": "as the sky"}]}`
	result, err = session.RunWith(ctx, text, openworker.Handlers{OnQuestion: first})
	fmt.Println(result.Status, result.Text, err)
	fmt.Println(summarise(ctx, session))
	again, err := agent.NewSession(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(summarise(ctx, again))
	// Output:
	// completed parcels__find returned “in Oslo” <nil>
	// completed ask_user returned “{"answers":["red"]}” <nil>
	// true <nil>
	// false <nil>
}
