package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/openaichat"
)

// window is what the checks say that the model has, so that a conversation soon outgrows it.
const window = 2_048

// summarised: a conversation that outgrows the window goes on, with a summary that the model has written.
func summarised(ctx context.Context, b *bench) (detail string, err error) {
	provider, err := openaichat.New(openaichat.Config{BaseURL: b.tap.base, KeyOptional: true, Facts: map[string]model.Facts{"gemma": {Window: window}}})
	if err != nil {
		return "", err
	}
	h, err := openworker.Open(ctx, openworker.Options{
		StateDir: b.stateDir(), ScratchDir: filepath.Join(b.dir, "scratch"), Providers: []openworker.Provider{provider},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	agent, err := h.Agent(ctx, openworker.AgentDefinition{
		Name: "narrow", Instructions: "Answer in one sentence.", DefaultModel: openworker.ModelRef{Provider: "OpenAI", Name: "gemma"},
	})
	if err != nil {
		return "", err
	}
	session, err := agent.NewSession(ctx)
	if err != nil {
		return "", err
	}
	summaries, spent := 0, int64(0)
	const turns = 7
	for n := range turns {
		message := fmt.Sprintf("Chapter %d. %s Continue.", n+1, strings.Repeat("The keeper of the lighthouse climbs the stairs and lights the lamp. ", 20))
		result, err := session.RunWith(ctx, message, openworker.Handlers{OnEvent: func(e openworker.Event) {
			if e.Type == openworker.EventCompactionFinished {
				if d, err := openworker.Data[openworker.CompactionFinished](e); err == nil && strings.TrimSpace(d.Summary) != "" {
					summaries++
				}
			}
		}}, short())
		if err != nil {
			return "", err
		}
		if result.Text == "" || result.Status != openworker.StatusCompleted && result.Status != openworker.StatusLimitReached {
			return "", fmt.Errorf("turn %d ended as %+v", n+1, result)
		}
		spent += result.AuxiliaryUsage.OutputTokens
	}
	if summaries == 0 || spent == 0 {
		return "", fmt.Errorf("%d summaries in %d turns, %d tokens of them", summaries, turns, spent)
	}
	told := 0
	for item, err := range session.History(ctx) {
		if err != nil {
			return "", err
		}
		if item.Type == "user" {
			told++
		}
	}
	if told != turns {
		return "", fmt.Errorf("the history has %d of %d messages", told, turns)
	}
	return fmt.Sprintf("%d turns, %d summaries of %d tokens in all", turns, summaries, spent), nil
}
