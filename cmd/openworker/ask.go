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
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

// question is what an interaction asks, in one line.
func question(i openworker.Interaction) string {
	if q := i.Question; i.Kind == api.InteractionQuestion && q != nil {
		text := brief(q.Text)
		var labels []string
		for _, c := range q.Choices {
			labels = append(labels, brief(c.Label))
		}
		if len(labels) > 0 {
			text += " (" + brief(strings.Join(labels, ", ")) + ")"
		}
		return text
	}
	call := "an action"
	if i.Call != nil {
		call = strings.TrimSpace(brief(i.Call.Name) + " " + brief(i.Call.Arguments))
	}
	switch i.Kind {
	case api.InteractionQuestion:
		return "a question whose text is withheld"
	case api.InteractionUnknownOutcome:
		if i.Call != nil && i.Call.CallID != "" {
			call += " (call " + i.Call.CallID + ")"
		}
		return "the process died inside " + call + ", and whether it acted is not known"
	}
	return "may it call " + call + "?"
}

// ask puts an interaction to the person until it is answered. The end of input, or ctx, leaves it open.
func (t *talk) ask(ctx context.Context, i openworker.Interaction) (openworker.Answer, error) {
	kind, ok := decide.Of(i)
	if !ok {
		fmt.Fprintln(t.m.Stdout, printable(kind.Title))
		return openworker.Answer{}, openworker.ErrLeaveOpen
	}
	ctx, settled := t.untilSettled(ctx, i.ID)
	defer settled()
	t.put(i, kind)
	for {
		line, err := t.prompt(ctx, "? ")
		if err != nil {
			return openworker.Answer{}, err
		}
		answer, err := t.understood(ctx, i, kind, line)
		if err == nil {
			answer.By = person()
			err = t.mendable(ctx, i.ID, answer)
		}
		switch {
		case err == nil:
			return answer, nil
		case errors.Is(err, openworker.ErrLeaveOpen):
			return openworker.Answer{}, err
		}
		fmt.Fprintln(t.m.Stdout, printable(err.Error()))
	}
}

// put shows an interaction with the answers that it takes.
func (t *talk) put(i openworker.Interaction, kind decide.Kind) {
	p := t.m.paint()
	if i.Review != nil {
		fmt.Fprintln(t.m.Stdout, p.dim(decide.Review(*i.Review)))
	}
	title := question(i)
	if i.Question != nil {
		title = printable(strings.TrimSpace(i.Question.Text))
	}
	fmt.Fprintln(t.m.Stdout, p.bold(title))
	for _, c := range kind.Choices {
		label := brief(c.Label)
		if c.Detail != "" {
			label += " — " + brief(c.Detail)
		}
		if c.Typed == decide.Own {
			continue // whatever is typed is one
		}
		fmt.Fprintf(t.m.Stdout, "  [%s] %s\n", c.Key, label)
	}
	fmt.Fprintf(t.m.Stdout, "  [%s] leave it open\n", leaveKey)
	if q := i.Question; q != nil && q.Multiple && len(q.Choices) > 0 {
		fmt.Fprintln(t.m.Stdout, "Numbers, or an answer of your own:")
	} else if i.Kind == api.InteractionQuestion {
		fmt.Fprintln(t.m.Stdout, "Or an answer of your own:")
	}
}

const leaveKey, leaveWord = "l", "leave"

// understood is the answer that a line gives. The error is ErrLeaveOpen, or says what else to type.
func (t *talk) understood(ctx context.Context, i openworker.Interaction, kind decide.Kind, line string) (openworker.Answer, error) {
	line = strings.TrimSpace(line)
	if strings.EqualFold(line, leaveKey) || strings.EqualFold(line, leaveWord) {
		return openworker.Answer{}, openworker.ErrLeaveOpen
	}
	var keys []string
	for _, c := range kind.Choices {
		switch {
		case c.Typed == decide.Own, c.Text != "":
		case !strings.EqualFold(line, c.Key) && !strings.EqualFold(line, c.Word):
			keys = append(keys, c.Key)
		case c.Ask == "":
			return c.Answer(i, "", nil)
		default:
			fmt.Fprintln(t.m.Stdout, c.Ask)
			if c.Typed == decide.Arguments {
				fmt.Fprintln(t.m.Stdout, decide.Folded(decide.CallArguments(i)))
			}
			typed, err := t.prompt(ctx, "? ")
			if err != nil {
				return openworker.Answer{}, err
			}
			return c.Answer(i, typed, nil)
		}
	}
	if i.Kind != api.InteractionQuestion {
		return openworker.Answer{}, fmt.Errorf("answer with one of the letters %s", strings.Join(append(keys, leaveKey), ", "))
	}
	return answersOf(i.Question, line)
}

// answersOf is the answer to a question: its choices by their numbers, where the line is nothing else, or one by how it is
// written, else the text. Numbers in quotes are a text.
func answersOf(q *api.Question, line string) (openworker.Answer, error) {
	answer := openworker.Answer{Decision: api.Answered}
	if line == "" {
		return answer, errors.New("an answer has text")
	}
	parts := []string{line}
	quoted := len(line) > 2 && line[0] == '"' && line[len(line)-1] == '"'
	if text := strings.Trim(line, `"`); !strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("+-0123456789, ", r) }) {
		if quoted {
			answer.Answers = []string{text}
			return answer, nil
		}
		parts = strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if q == nil || len(q.Choices) == 0 {
		parts = []string{line}
	}
	for _, part := range parts {
		picked, err := decide.Picked(q, part)
		if err != nil {
			return answer, fmt.Errorf("%w; put it in quotes if it is your answer all the same", err)
		}
		answer.Answers = append(answer.Answers, picked)
	}
	if len(answer.Answers) > 1 && !q.Multiple {
		return answer, errors.New("give one answer")
	}
	return answer, nil
}

// mendable gives an answer, and returns the error of one that the person can mend. Whatever else there is to say about
// it is said to the one who gives the same answer again.
func (t *talk) mendable(ctx context.Context, interaction string, answer openworker.Answer) error {
	if t.session == nil {
		return nil
	}
	err := t.session.Resolve(ctx, interaction, answer)
	switch api.CodeOf(err) {
	case api.CodeArgumentsInvalid, api.CodeInvalidRequest, api.CodeGuardrailBlocked:
		return err
	}
	return nil
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
