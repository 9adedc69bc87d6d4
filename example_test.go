package openworker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

var ctx = context.Background()

// offline opens a harness in a directory of its own, with the offline model. close removes both.
func offline() (harness *openworker.Harness, close func()) {
	dir, err := os.MkdirTemp("", "openworker")
	if err != nil {
		log.Fatal(err)
	}
	harness, err = openworker.Open(ctx, openworker.Options{
		StateDir:   dir + "/state",
		ScratchDir: dir + "/scratch",
		Providers:  []openworker.Provider{scripted.New(scripted.Config{})},
	})
	if err != nil {
		log.Fatal(err)
	}
	return harness, func() {
		if err := harness.Close(ctx); err != nil {
			log.Fatal(err)
		}
		os.RemoveAll(dir)
	}
}

// newSession is a session of an agent with tools that need no approval.
func newSession(harness *openworker.Harness, tools ...openworker.Tool) *openworker.Session {
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "assistant",
		Tools:        tools,
		Approvals:    openworker.Approvals{Mode: openworker.ApproveNever},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
	})
	if err != nil {
		log.Fatal(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		log.Fatal(err)
	}
	return session
}

func ExampleSession_Run() {
	harness, close := offline()
	defer close()
	result, err := newSession(harness).Run(ctx, "count to 3")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.Text)
	// Output: completed 1, 2, 3.
}

// A submission ID makes a send repeatable: whoever does not know whether a message arrived sends it again.
func ExampleSession_Send() {
	harness, close := offline()
	defer close()
	session := newSession(harness)
	order := openworker.TurnOptions{SubmissionID: "order-17"}
	first, err := session.Send(ctx, "count to 3", order)
	if err != nil {
		log.Fatal(err)
	}
	again, err := session.Send(ctx, "count to 3", order)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.ID() == again.ID(), again.Reference().Repeated)
	_, err = session.Send(ctx, "count to 4", order)
	fmt.Println(errors.Is(err, openworker.ErrSubmissionConflict))
	// Output:
	// true true
	// true
}

func ExampleSession_RunStreamed() {
	harness, close := offline()
	defer close()
	stream, err := newSession(harness).RunStreamed(ctx, "count to 3")
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range stream.Events() {
		if err != nil {
			log.Fatal(err)
		}
		if event.Number > 0 { // text deltas have none
			fmt.Println(event.Number, event.Type)
		}
	}
	result, err := stream.Finish(ctx)
	fmt.Println(result.Text, err)
	// Output:
	// 2 turn_accepted
	// 3 model_call_started
	// 4 model_call_finished
	// 5 turn_ended
	// 1, 2, 3. <nil>
}

// A message to a busy session is refused, unless it may wait.
func ExampleTurnOptions_whenBusy() {
	harness, close := offline()
	defer close()
	begun, release := make(chan struct{}), make(chan struct{})
	wait := openworker.MustTool(openworker.NewTool("wait", "Waits.", func(context.Context, openworker.ToolCall, struct{}) (string, error) {
		begun <- struct{}{}
		<-release
		return "waited", nil
	}))
	session := newSession(harness, wait)
	if _, err := session.Send(ctx, "use wait"); err != nil {
		log.Fatal(err)
	}
	<-begun
	_, err := session.Send(ctx, "count to 3")
	fmt.Println(errors.Is(err, openworker.ErrSessionBusy))
	next, err := session.Send(ctx, "count to 3", openworker.TurnOptions{WhenBusy: openworker.BusyQueue})
	if err != nil {
		log.Fatal(err)
	}
	release <- struct{}{}
	result, err := next.Result(ctx)
	fmt.Println(result.Text, err)
	// Output:
	// true
	// 1, 2, 3. <nil>
}

func ExampleSession_Cancel() {
	harness, close := offline()
	defer close()
	begun := make(chan struct{})
	long := openworker.MustTool(openworker.NewTool("long", "Takes long.", func(ctx context.Context, _ openworker.ToolCall, _ struct{}) (string, error) {
		begun <- struct{}{}
		<-ctx.Done() // a body that is cancelled should soon return
		return "", ctx.Err()
	}, openworker.ToolOptions{Effect: openworker.ReadOnly}))
	session := newSession(harness, long)
	run, err := session.Send(ctx, "use long")
	if err != nil {
		log.Fatal(err)
	}
	<-begun
	if err := session.Cancel(ctx); err != nil {
		log.Fatal(err)
	}
	result, err := run.Result(ctx)
	fmt.Println(result.Status, err)
	result, err = session.Run(ctx, "count to 3") // the session goes on
	fmt.Println(result.Status, err)
	// Output:
	// cancelled <nil>
	// completed <nil>
}

func ExampleSession_History() {
	harness, close := offline()
	defer close()
	upper := openworker.MustTool(openworker.NewTool("text.upper", "Writes in capitals.",
		func(_ context.Context, _ openworker.ToolCall, in struct {
			Text string `json:"text"`
		}) (string, error) {
			return strings.ToUpper(in.Text), nil
		}, openworker.ToolOptions{Effect: openworker.ReadOnly}))
	session := newSession(harness, upper)
	if _, err := session.Run(ctx, `use text.upper with {"text":"quiet"}`); err != nil {
		log.Fatal(err)
	}
	for item, err := range session.History(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(item.Type + ": " + item.Text + item.Arguments + item.Output)
	}
	// Output:
	// user: use text.upper with {"text":"quiet"}
	// tool_call: {"text":"quiet"}
	// tool_result: QUIET
	// assistant: text__upper returned “QUIET”
}

// What a run waits for is durable: it can be answered at any time, from any process.
func ExampleSession_Resolve() {
	harness, close := offline()
	defer close()
	pay := openworker.MustTool(openworker.NewTool("pay", "Pays.", func(context.Context, openworker.ToolCall, struct{}) (string, error) { return "paid", nil }))
	agent, err := harness.Agent(ctx, openworker.AgentDefinition{ // by default it asks before each call
		Name: "careful", Tools: []openworker.Tool{pay}, DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
	})
	if err != nil {
		log.Fatal(err)
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		log.Fatal(err)
	}
	run, err := session.Send(ctx, "use pay")
	if err != nil {
		log.Fatal(err)
	}
	result, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, result.Interactions[0].Call.Name)
	if err := session.Resolve(ctx, result.Interactions[0].ID, openworker.Answer{Decision: openworker.Deny, Reason: "not today"}); err != nil {
		log.Fatal(err)
	}
	result, err = run.Result(ctx) // the same run goes on
	fmt.Println(result.Status, strings.Contains(result.Text, "not today"), err)
	// Output:
	// interrupted pay
	// completed true <nil>
}

// A definition never changes: give a changed one a new name.
func ExampleHarness_Agent() {
	harness, close := offline()
	defer close()
	def := openworker.AgentDefinition{Name: "support", Instructions: "Help.", DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"}}
	_, err := harness.Agent(ctx, def)
	fmt.Println(err)
	_, err = harness.Agent(ctx, def) // the same again, as at each start of a program
	fmt.Println(err)
	def.Instructions = "Help politely."
	_, err = harness.Agent(ctx, def)
	fmt.Println(errors.Is(err, openworker.ErrDefinitionConflict), strings.Contains(err.Error(), "instructions"))
	// Output:
	// <nil>
	// <nil>
	// true true
}

func ExampleHarness_Sessions() {
	harness, close := offline()
	defer close()
	for range 2 {
		if _, err := newSession(harness).Run(ctx, "hello"); err != nil {
			log.Fatal(err)
		}
	}
	for info, err := range harness.Sessions(ctx, openworker.SessionQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Reference.Agent, info.Activity, info.LastEvent)
	}
	// Output:
	// assistant idle 5
	// assistant idle 5
}

func ExampleEnvironmentCredentials() {
	lookup := func(name string) (string, bool) { // os.LookupEnv in a program
		fmt.Println("looks for", name)
		return "secret", true
	}
	secret, ok, err := openworker.EnvironmentCredentials(lookup).Credential(ctx, "OpenAI")
	fmt.Println(secret, ok, err)
	// Output:
	// looks for OPENAI_API_KEY
	// secret true <nil>
}
