package openworker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

// The code of docs/guides stands in this file and in examples.

type parcel struct {
	Number int `json:"number" jsonschema:"as printed on the label"`
}

func find(_ context.Context, _ openworker.ToolCall, in parcel) (string, error) {
	return fmt.Sprintf("parcel %d is in Oslo", in.Number), nil
}

// later is what a program does after it was started again: it has kept the session's reference and the ID of the run.
func later(ctx context.Context, agent *openworker.Agent, reference []byte, id string) (*openworker.Session, error) {
	var ref openworker.SessionReference
	if err := json.Unmarshal(reference, &ref); err != nil {
		return nil, err
	}
	session, err := agent.ResumeSession(ctx, ref)
	if err != nil {
		return nil, err
	}
	run, err := session.OpenRun(ctx, id) // it may wait, go on, or have ended since
	if err != nil {
		return nil, err
	}
	result, err := run.ResultWith(ctx, people) // what no handler answers stays open
	fmt.Println(result.Status, result.Text)
	return session, err
}

// people are asked here; a program with a user interface would list what is open and call Session.Resolve later.
var people = openworker.Handlers{
	OnApproval: func(_ context.Context, open openworker.Interaction) (openworker.Answer, error) {
		fmt.Println("may it call", open.Call.Name, open.Call.Arguments)
		if open.Call.Name != "parcels.find" {
			return openworker.Answer{Decision: openworker.Deny, Reason: "only looking is allowed"}, nil
		}
		return openworker.Answer{Decision: openworker.AllowOnce, By: "the example"}, nil
	},
	OnUnknownOutcome: func(_ context.Context, open openworker.Interaction) (openworker.Answer, error) {
		return openworker.Answer{}, openworker.ErrLeaveOpen // for somebody who looks first; see recovery
	},
}

func stream(ctx context.Context, session *openworker.Session, text string) (openworker.Result, error) {
	stream, err := session.RunStreamed(ctx, text, openworker.TurnOptions{SubmissionID: "row-17"})
	if err != nil {
		return openworker.Result{}, err
	}
	for event, err := range stream.Events() {
		if err != nil {
			return openworker.Result{}, err
		}
		if event.Type == openworker.EventTextDelta {
			delta, err := openworker.Data[openworker.Delta](event)
			if err != nil {
				return openworker.Result{}, err
			}
			fmt.Print(delta.Text)
		}
	}
	return stream.Finish(ctx)
}

// A session that asks before each call, is left waiting, and is found again by another harness.
func Example_sessions() {
	dir, err := os.MkdirTemp("", "openworker")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	open := func() (*openworker.Harness, *openworker.Agent) {
		harness, err := openworker.Open(ctx, openworker.Options{
			StateDir: dir, Providers: []openworker.Provider{scripted.New(scripted.Config{})},
		})
		if err != nil {
			panic(err)
		}
		agent, err := harness.Agent(ctx, openworker.AgentDefinition{
			Name:         "careful",
			Tools:        []openworker.Tool{openworker.MustTool(openworker.NewTool("parcels.find", "Finds a parcel.", find))},
			DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
		})
		if err != nil {
			panic(err)
		}
		return harness, agent
	}

	harness, agent := open()
	session, err := agent.NewSession(ctx)
	if err != nil {
		panic(err)
	}
	reference, _ := json.Marshal(session.Reference())
	result, err := stream(ctx, session, `use parcels.find with {"number": 42}`)
	fmt.Println(result.Status, err)
	id := result.Run
	if err := harness.Close(ctx); err != nil {
		panic(err)
	}

	harness, agent = open()
	defer harness.Close(ctx)
	session, err = later(ctx, agent, reference, id)
	if err != nil {
		panic(err)
	}
	result, err = session.RunWith(ctx, `use parcels.find with {"number": 43}`, people)
	fmt.Println(result.Status, result.Text, err)
	// Output:
	// interrupted <nil>
	// may it call parcels.find {"number": 42}
	// completed parcels__find returned “parcel 42 is in Oslo”
	// may it call parcels.find {"number": 43}
	// completed parcels__find returned “parcel 43 is in Oslo” <nil>
}
