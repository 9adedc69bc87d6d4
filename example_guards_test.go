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

func summarise(ctx context.Context, session *openworker.Session) error {
	result, err := session.Compact(ctx)
	if err != nil {
		return err
	}
	fmt.Println(result.Status, result.AuxiliaryUsage.OutputTokens > 0)
	return nil
}

// A hook trims what a tool returned, a check of the application stands before every action, and older history is
// summarised on demand.
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
	if err := summarise(ctx, session); err != nil {
		panic(err)
	}
	// Output:
	// completed parcels__find returned “in Oslo” <nil>
	// completed false
}
