package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

type parcel struct {
	Number int `json:"number" jsonschema:"as printed on the label"`
}

func find(_ context.Context, _ openworker.ToolCall, in parcel) (string, error) {
	return fmt.Sprintf("parcel %d is in Oslo", in.Number), nil
}

func main() {
	ctx := context.Background()
	harness := must(openworker.Open(ctx, openworker.Options{
		StateDir:  "./state",
		Providers: []openworker.Provider{scripted.New(scripted.Config{})}, // offline
	}))
	defer harness.Close(ctx)
	agent := must(harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "support",
		Instructions: "Help the customer.",
		Tools:        []openworker.Tool{must(openworker.NewTool("parcels.find", "Finds a parcel.", find, openworker.ToolOptions{Effect: openworker.ReadOnly}))},
		Approvals:    openworker.Approvals{Mode: openworker.ApproveNever}, // by default a person is asked before each call
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
	}))
	session := must(agent.NewSession(ctx))
	result := must(session.Run(ctx, `use parcels.find with {"number": 42}`))
	switch result.Status {
	case openworker.StatusFailed:
		fmt.Println("failed:", result.Error.Code, result.Error.Message)
	case openworker.StatusInterrupted: // it waits, and goes on by itself once it has what it waits for
		fmt.Println("waits for:", result.Interactions, result.WaitingFor)
	default:
		fmt.Println(result.Status, result.Text)
	}
	fmt.Printf("keep this to find the session again: %s\n", must(json.Marshal(session.Reference())))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
