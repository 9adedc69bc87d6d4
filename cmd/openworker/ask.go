package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"sync"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// question is what an interaction asks.
func question(i openworker.Interaction) string {
	call := "an action"
	if i.Call != nil {
		call = strings.TrimSpace(i.Call.Name + " " + brief(i.Call.Arguments))
	}
	if i.Kind == api.InteractionUnknownOutcome {
		if i.Call != nil && i.Call.CallID != "" {
			call += " (call " + i.Call.CallID + ")"
		}
		return "the process died inside " + call + ", and whether it acted is not known"
	}
	return "may it call " + call + "?"
}

// option is one answer to an interaction; its letter picks it, and so does its word.
type option struct {
	key, word, label string
	decision         openworker.Decision // "" leaves it open
	more             string              // what to ask then, "" for nothing
}

var approvalOptions = [...]option{
	{"y", "yes", "yes, this once", api.AllowOnce, ""},
	{"a", "always", "always in this session", api.AllowSession, ""},
	{"n", "no", "no", api.Deny, "Why not? (for the model; may be empty)"},
	{"l", "leave", "leave it open", "", ""},
}

var outcomeOptions = [...]option{
	{"s", "succeeded", "it succeeded", api.OutcomeSucceeded, "What did it return? (for the model; may be empty)"},
	{"f", "failed", "it failed and will not happen", api.OutcomeFailed, "Why? (for the model; may be empty)"},
	{"r", "retry", "run it again", api.OutcomeRetry, ""},
	{"l", "leave", "leave it open", "", ""},
}

// ask puts an interaction to the person. The end of input, or ctx, leaves it open.
func (t *talk) ask(ctx context.Context, i openworker.Interaction) (openworker.Answer, error) {
	options := approvalOptions[:]
	if i.Kind == api.InteractionUnknownOutcome {
		options = outcomeOptions[:]
	}
	p := t.m.paint()
	ctx, settled := t.untilSettled(ctx, i.ID)
	defer settled()
	fmt.Fprintf(t.m.Stdout, "%s\n", p.bold(question(i)))
	var letters []string
	for _, o := range options {
		fmt.Fprintf(t.m.Stdout, "  [%s] %s\n", o.key, o.label)
		letters = append(letters, o.key)
	}
	for {
		line, err := t.prompt(ctx, "? ")
		if err != nil {
			return openworker.Answer{}, err
		}
		for _, o := range options {
			if !slices.Contains([]string{o.key, o.word}, strings.ToLower(strings.TrimSpace(line))) {
				continue
			}
			if o.decision == "" {
				return openworker.Answer{}, openworker.ErrLeaveOpen
			}
			answer := openworker.Answer{Decision: o.decision, By: person()}
			if o.more != "" {
				fmt.Fprintln(t.m.Stdout, o.more)
				if line, err = t.prompt(ctx, "? "); err != nil {
					return openworker.Answer{}, err
				}
			}
			if o.decision == api.OutcomeSucceeded {
				answer.Output = line
			} else if o.more != "" {
				answer.Reason = line
			}
			return answer, nil
		}
		fmt.Fprintf(t.m.Stdout, "Answer with one of the letters %s.\n", strings.Join(letters, ", "))
	}
}

func (t *talk) prompt(ctx context.Context, text string) (string, error) {
	line, err := t.lines.line(ctx, text)
	switch {
	case err == nil:
		return line, nil
	case errors.Is(err, errElsewhere):
		fmt.Fprintln(t.m.Stdout, "\n(answered elsewhere)")
	}
	return "", openworker.ErrLeaveOpen
}

// errElsewhere withdraws a question that somebody has answered in another process.
var errElsewhere = errors.New("answered elsewhere")

// untilSettled gives a context that ends when the interaction is resolved by somebody else. stop frees it.
func (t *talk) untilSettled(ctx context.Context, interaction string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watcher sync.WaitGroup
	if t.session != nil {
		watcher.Go(func() {
			state, err := t.session.State(ctx)
			if err != nil {
				return // the question stands; its answer will meet the same error
			}
			if !slices.ContainsFunc(state.Interactions, func(i openworker.Interaction) bool { return i.ID == interaction }) {
				cancel(errElsewhere)
				return
			}
			for e, err := range t.session.Events(ctx, state.LastEvent) {
				if err != nil {
					return
				}
				if d, ok := decode[api.InteractionResolved](e); ok && e.Type == api.EventInteractionResolved && d.ID == interaction {
					if d.Decision != api.InteractionCancelled {
						cancel(errElsewhere)
					}
					cancel(nil)
					return
				}
			}
		})
	}
	return ctx, func() {
		cancel(nil)
		watcher.Wait()
	}
}

// person is the name of the one who answers, for the journal.
func person() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
