package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
)

type transfer struct {
	To     string `json:"to"`
	Amount int    `json:"amount" jsonschema:"in euros"`
}

func pay(_ context.Context, _ openworker.ToolCall, in transfer) (string, error) {
	return fmt.Sprintf("%d euros are on their way to %s", in.Amount, in.To), nil
}

func main() {
	ctx := context.Background()
	harness := must(openworker.Open(ctx, openworker.Options{StateDir: "./state", Providers: []openworker.Provider{models()}}))
	defer harness.Close(ctx)
	agent := must(harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "treasurer",
		Tools:        []openworker.Tool{must(openworker.NewTool("bank.pay", "Pays a bill.", pay))},
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
		// The reviewer sees the action, what led to it, and this guidance, which a session and a turn may replace.
		Approvals:           openworker.Approvals{Mode: openworker.ApproveAuto, ReviewerModel: &openworker.ModelRef{Provider: "Scripted", Name: "reviewer"}},
		AutoApproverContext: openworker.Set("Bills of up to 100 euros may be paid. Nothing goes to Mallory."),
	}))
	session := must(agent.NewSession(ctx))
	for _, bill := range []string{`{"to":"Alice","amount":20}`, `{"to":"Mallory","amount":20}`, `{"to":"Bob","amount":900}`} {
		result := must(session.RunWith(ctx, "use bank.pay with "+bill, openworker.Handlers{
			OnApproval: func(_ context.Context, open openworker.Interaction) (openworker.Answer, error) {
				fmt.Printf("a person is asked: %s (%s)\n", open.Review.Reason, open.Review.Verdict)
				return openworker.Answer{Decision: openworker.Deny, Reason: "ask me again on Monday", By: "Eve"}, nil
			},
			OnEvent: tell,
		}))
		fmt.Println(result.Status+":", result.Text)
	}
}

// tell prints what a reviewer said of an action, and who decided on it in the end.
func tell(event openworker.Event) {
	switch event.Type {
	case openworker.EventReviewFinished:
		review := must(openworker.Data[openworker.ReviewFinished](event)).Review
		fmt.Printf("reviewed: %s: %s\n", review.Verdict, review.Reason)
	case openworker.EventInteractionResolved:
		resolved := must(openworker.Data[openworker.InteractionResolved](event))
		fmt.Printf("decided: %s, by %q\n", resolved.Decision, resolved.By)
	}
}

// models are a demo model, and a reviewer that knows a rule or two.
func models() openworker.Provider {
	return scripted.New(scripted.Config{Script: func(req model.Request, _ int) scripted.Reply {
		if req.Model != "reviewer" {
			return scripted.Demo(req)
		}
		action := req.Items[0].Text[strings.LastIndex(req.Items[0].Text, `"action"`):]
		switch {
		case strings.Contains(action, "Mallory"):
			return scripted.Text(`{"verdict":"deny","reason":"Mallory gets nothing."}`)
		case strings.Contains(action, "900"):
			return scripted.Text(`{"verdict":"unsure","reason":"That is a lot of money."}`)
		}
		return scripted.Text(`{"verdict":"allow","reason":"A small bill."}`)
	}})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
