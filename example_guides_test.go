package openworker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/model/scripted"
)

// The code of README.md and docs/guides stands in this file.

type parcel struct {
	Number int `json:"number" jsonschema:"as printed on the label"`
}

func find(_ context.Context, _ openworker.ToolCall, in parcel) (string, error) {
	return fmt.Sprintf("parcel %d is in Oslo", in.Number), nil
}

func support(ctx context.Context, dir string) error {
	harness, err := openworker.Open(ctx, openworker.Options{
		StateDir:  dir,
		Providers: []openworker.Provider{scripted.New(scripted.Config{})}, // offline; see docs/guides/models.md
	})
	if err != nil {
		return err
	}
	defer harness.Close(ctx)
	tool, err := openworker.NewTool("parcels.find", "Finds a parcel.", find, openworker.ToolOptions{Effect: openworker.ReadOnly})
	if err != nil {
		return err
	}
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "support",
		Instructions: "Help the customer.",
		Tools:        []openworker.Tool{tool},
		Approvals:    openworker.Approvals{Mode: openworker.ApproveNever},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
	})
	if err != nil {
		return err
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		return err
	}
	result, err := session.Run(ctx, `use parcels.find with {"number": 42}`)
	if err != nil {
		return err
	}
	fmt.Println(result.Status, result.Text)
	return nil
}

func Example_readme() {
	dir, err := os.MkdirTemp("", "openworker")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := support(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output: completed parcels__find returned “parcel 42 is in Oslo”
}

// later is what a program does after it was started again: reference is what it kept.
func later(ctx context.Context, agent *openworker.Agent, reference []byte) (*openworker.Session, error) {
	var ref openworker.SessionReference
	if err := json.Unmarshal(reference, &ref); err != nil {
		return nil, err
	}
	session, err := agent.ResumeSession(ctx, ref)
	if err != nil {
		return nil, err
	}
	state, err := session.State(ctx)
	if err != nil {
		return nil, err
	}
	for _, open := range state.Interactions {
		fmt.Println("waits for", open.Kind, open.Call.Name)
		if err := session.Resolve(ctx, open.ID, openworker.Answer{Decision: openworker.AllowOnce}); err != nil {
			return nil, err
		}
	}
	if state.Run == "" {
		return session, nil
	}
	run, err := session.OpenRun(ctx, state.Run)
	if err != nil {
		return nil, err
	}
	result, err := run.Result(ctx)
	fmt.Println(result.Status, result.Text)
	return session, err
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

func answering(ctx context.Context, session *openworker.Session, text string) (openworker.Result, error) {
	return session.RunWith(ctx, text, openworker.Handlers{
		OnApproval: func(ctx context.Context, open openworker.Interaction) (openworker.Answer, error) {
			fmt.Println("may it call", open.Call.Name, open.Call.Arguments)
			return openworker.Answer{Decision: openworker.AllowOnce, By: "the example"}, nil
		},
		OnUnknownOutcome: func(ctx context.Context, open openworker.Interaction) (openworker.Answer, error) {
			return openworker.Answer{}, openworker.ErrLeaveOpen // somebody answers later, with Session.Resolve
		},
	})
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
	if err := harness.Close(ctx); err != nil {
		panic(err)
	}

	harness, agent = open()
	defer harness.Close(ctx)
	session, err = later(ctx, agent, reference)
	if err != nil {
		panic(err)
	}
	result, err = answering(ctx, session, `use parcels.find with {"number": 43}`)
	fmt.Println(result.Status, result.Text, err)
	// Output:
	// interrupted <nil>
	// waits for approval parcels.find
	// completed parcels__find returned “parcel 42 is in Oslo”
	// may it call parcels.find {"number": 43}
	// completed parcels__find returned “parcel 43 is in Oslo” <nil>
}

// A server of the Chat Completions protocol, and where its key comes from.
func Example_models() {
	provider, err := openaichat.New(openaichat.Config{
		Name:    "OpenAI",
		BaseURL: "https://api.openai.com/v1",
		Facts:   map[string]model.Facts{"our-own": {Window: 32_000, MaxOutputTokens: 4_096}},
	})
	if err != nil {
		panic(err)
	}
	options := openworker.Options{
		StateDir:    "./state",
		Providers:   []openworker.Provider{provider},
		Credentials: openworker.EnvironmentCredentials(os.LookupEnv), // OPENAI_API_KEY
	}
	facts, known := provider.Facts("our-own")
	fmt.Println(options.Providers[0].Name(), facts.MaxOutputTokens, known)
	// Output: OpenAI 4096 true
}
