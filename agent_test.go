package openworker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
)

func saying(description, text string) openworker.Tool {
	return openworker.MustTool(openworker.NewTool("act", description, func(context.Context, openworker.ToolCall, struct{}) (string, error) { return text, nil }))
}

// AG3: a refused definition changes nothing, the bodies of tools included.
func TestARefusedDefinitionLeavesTheToolsOfTheOneThatStands(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	provider := scripted.New(scripted.Config{Script: func(req model.Request, _ int) scripted.Reply {
		last := req.Items[len(req.Items)-1]
		if last.Kind == model.UserItem {
			return scripted.Reply{Calls: []scripted.ToolCall{{Name: "act", Arguments: "{}"}}}
		}
		return scripted.Reply{Text: last.Output}
	}})
	harness, err := openworker.Open(ctx, openworker.Options{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Providers: []openworker.Provider{provider}})
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Close(ctx)
	definition := func(instructions string, tools ...openworker.Tool) openworker.AgentDefinition {
		return openworker.AgentDefinition{Name: "a", Instructions: instructions, Tools: tools, DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "m"},
			Approvals: openworker.Approvals{Mode: openworker.ApproveNever}}
	}
	agent, err := harness.Agent(ctx, definition("", saying("Acts.", "one")))
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]openworker.AgentDefinition{
		"another body":        definition("Other instructions.", saying("Acts.", "two")),
		"another description": definition("", saying("Acts otherwise.", "two")),
	} {
		if _, err := harness.Agent(ctx, other); !errors.Is(err, openworker.ErrDefinitionConflict) {
			t.Errorf("%s: %v", name, err)
		}
		if r, err := session.Run(ctx, "go"); err != nil || r.Text != "one" {
			t.Errorf("after %s the run is %s %q, %v", name, r.Status, r.Text, err)
		}
	}
	if _, err := harness.Agent(ctx, definition("", saying("Acts.", "one"), nil)); openworker.CodeOf(err) != "invalid_tool" {
		t.Errorf("a tool that is nil: %v", err)
	}
}
