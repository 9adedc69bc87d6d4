package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/guard/sensitive"
	"github.com/openworkerai/openworker/model/scripted"
)

var pin = regexp.MustCompile(`(?i)\bPIN\s*\d{4}\b`)

// pins is a guardrail: it sees each text at its points, and lets it pass, gives another one, or blocks it.
var pins = openworker.Guardrail{
	Name:   "pins",
	Points: []openworker.GuardPoint{openworker.UserInput, openworker.ToolResult, openworker.ModelOutput},
	Check: func(_ context.Context, unit openworker.Unit) (openworker.Verdict, error) {
		switch {
		case strings.Contains(unit.Text, "master PIN"):
			return openworker.Block("the master PIN is nobody's business"), nil
		case pin.MatchString(unit.Text):
			return openworker.Redact(pin.ReplaceAllString(unit.Text, "PIN [redacted]"), "a PIN"), nil
		}
		return openworker.Allow(), nil
	},
}

func main() {
	ctx := context.Background()
	harness := must(openworker.Open(ctx, openworker.Options{
		StateDir:   "./state",
		Providers:  []openworker.Provider{scripted.New(scripted.Config{})}, // offline
		Guardrails: []openworker.Guardrail{pins, must(sensitive.New(sensitive.Config{}))},
	}))
	defer harness.Close(ctx)
	agent := must(harness.Agent(ctx, openworker.AgentDefinition{
		Name:         "desk",
		DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"},
		Guardrails:   []string{"pins"},
	}))
	session := must(agent.NewSession(ctx))
	must(session.Run(ctx, "My card has PIN 1234."))
	// A turn may add guardrails to the agent's.
	must(session.Run(ctx, "Write to ada@example.com.", openworker.TurnOptions{Guardrails: []string{"sensitive"}}))
	if _, err := session.Run(ctx, "And the master PIN?"); errors.Is(err, openworker.ErrGuardrailBlocked) {
		fmt.Println(err) // nothing was accepted
	}
	for item, err := range session.History(ctx) { // nothing else was ever stored
		if err != nil {
			panic(err)
		}
		fmt.Println(item.Type+":", item.Text)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
