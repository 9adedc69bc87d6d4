package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/scripted"
)

// loop sends a message and answers what comes up, until the run has ended.
func loop(ctx context.Context, session *openworker.Session, text string, ask func(openworker.Interaction) openworker.Answer) (openworker.Result, error) {
	run, err := session.Send(ctx, text)
	if err != nil {
		return openworker.Result{}, err
	}
	for {
		for event, err := range run.Events(ctx) { // ends where the run waits, and where it ends
			if err != nil {
				return openworker.Result{}, err
			}
			fmt.Println("  ", event.Number, event.Type)
		}
		result, err := run.Result(ctx)
		if err != nil || result.Status != openworker.StatusInterrupted || len(result.Interactions) == 0 {
			return result, err
		}
		for _, open := range result.Interactions { // each is answered on its own, in any order, by any process
			if err := session.Resolve(ctx, open.ID, ask(open)); err != nil {
				return result, err
			}
		}
	}
}

// asker reads answers line by line. Nothing more to read denies and skips.
func asker(in io.Reader) func(openworker.Interaction) openworker.Answer {
	lines := bufio.NewScanner(in)
	read := func(prompt string) string {
		fmt.Print(prompt)
		lines.Scan()
		return strings.TrimSpace(lines.Text())
	}
	return func(open openworker.Interaction) openworker.Answer {
		switch open.Kind {
		case openworker.InteractionQuestion:
			if answer := read(open.Question.Text + " "); answer != "" {
				return openworker.Answer{Decision: openworker.Answered, Answers: []string{answer}}
			}
			return openworker.Answer{Decision: openworker.Skipped}
		case openworker.InteractionUnknownOutcome:
			return openworker.Answer{Decision: openworker.OutcomeFailed, Reason: read("what became of " + open.Call.Name + "? ")}
		}
		answer := read(fmt.Sprintf("may it call %s %s? y once, a always, n no, or other arguments as JSON: ", open.Call.Name, open.Call.Arguments))
		switch {
		case answer == "y":
			return openworker.Answer{Decision: openworker.AllowOnce}
		case answer == "a":
			return openworker.Answer{Decision: openworker.AllowSession}
		case strings.HasPrefix(answer, "{"):
			return openworker.Answer{Decision: openworker.AllowOnce, Arguments: json.RawMessage(answer)}
		}
		return openworker.Answer{Decision: openworker.Deny, Reason: answer}
	}
}

type parcel struct {
	Number int    `json:"number" jsonschema:"as printed on the label"`
	City   string `json:"city"`
}

func redirect(_ context.Context, _ openworker.ToolCall, in parcel) (string, error) {
	return fmt.Sprintf("parcel %d goes to %s", in.Number, in.City), nil
}

func main() {
	ctx := context.Background()
	harness := must(openworker.Open(ctx, openworker.Options{
		StateDir:  "./state",
		Providers: []openworker.Provider{scripted.New(scripted.Config{})}, // offline
	}))
	defer harness.Close(ctx)
	agent := must(harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "dispatcher",
		Tools:        []openworker.Tool{must(openworker.NewTool("parcels.redirect", "Sends a parcel elsewhere.", redirect))},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
	}))
	session := must(agent.NewSession(ctx))
	ask := asker(os.Stdin)
	for _, text := range []string{`use parcels.redirect with {"number": 42, "city": "Oslo"}`, `use ask_user with {"question": "Which day?"}`} {
		result := must(loop(ctx, session, text, ask))
		fmt.Println(result.Status, result.Text)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
