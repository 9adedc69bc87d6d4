package openworker_test

import (
	"context"
	"fmt"
	"os"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

// The code of docs/guides/recovery.md stands in this file.

// settle answers for actions whose outcome nobody knows; look asks the system that they act on.
func settle(ctx context.Context, session *openworker.Session, look func(callID string) (output string, found bool, err error)) error {
	state, err := session.State(ctx)
	if err != nil {
		return err
	}
	for _, open := range state.Interactions {
		if open.Kind != openworker.InteractionUnknownOutcome {
			continue // an approval is another question, with other answers
		}
		output, found, err := look(open.Call.CallID)
		if err != nil {
			return err // it stays open
		}
		answer := openworker.Answer{Decision: openworker.OutcomeSucceeded, Output: output}
		if !found {
			answer = openworker.Answer{Decision: openworker.OutcomeRetry} // under the same call ID
		}
		if err := session.Resolve(ctx, open.ID, answer); err != nil {
			return err
		}
	}
	return nil
}

// A process ends inside a side effect; the next one finds the action unknown, and somebody looks.
func Example_recovery() {
	dir, err := os.MkdirTemp("", "openworker")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	defer close(release)
	pay := openworker.MustTool(openworker.NewTool("pay", "Pays.", func(context.Context, openworker.ToolCall, struct{}) (string, error) {
		begun <- struct{}{}
		<-release // never, while the first process lives
		return "", nil
	}))
	open := func() (*openworker.Harness, *openworker.Agent) {
		harness, err := openworker.Open(ctx, openworker.Options{
			StateDir: dir + "/state", ScratchDir: dir + "/scratch", Providers: []openworker.Provider{scripted.New(scripted.Config{})},
		})
		if err != nil {
			panic(err)
		}
		agent, err := harness.Agent(ctx, openworker.AgentDefinition{
			Name: "payer", Tools: []openworker.Tool{pay}, Approvals: openworker.Approvals{Mode: openworker.ApproveNever},
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
	run, err := session.Send(ctx, "use pay")
	if err != nil {
		panic(err)
	}
	<-begun
	ended, end := context.WithCancel(ctx)
	end()
	_ = harness.Close(ended) // at once: the body is left to recovery

	harness, agent = open()
	defer harness.Close(ctx)
	if session, err = agent.ResumeSession(ctx, session.Reference()); err != nil {
		panic(err)
	}
	if run, err = session.OpenRun(ctx, run.ID()); err != nil {
		panic(err)
	}
	result, err := run.Result(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Status, result.Interactions[0].Kind)
	err = settle(ctx, session, func(string) (string, bool, error) { return "payment 17", true, nil })
	if err != nil {
		panic(err)
	}
	result, err = run.Result(ctx)
	fmt.Println(result.Status, result.Text, err)
	// Output:
	// interrupted unknown_outcome
	// completed pay returned “payment 17” <nil>
}
