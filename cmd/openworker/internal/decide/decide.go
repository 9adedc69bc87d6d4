package decide

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// Kind is how one interaction is shown and answered.
type Kind struct {
	Title   string
	Choices []Choice
}

// Choice is one answer to an interaction; its key picks it.
type Choice struct {
	Key, Word string // Key is "" behind the ninth choice of a question, and Word for all of them
	Label     string
	Detail    string // what the label means, of a question's choice
	Decision  api.Decision
	Text      string // what a question is answered with, of its choices
	Marks     bool   // it is one of several that may be picked together
	Ask       string // what to type in then, "" for nothing
	Typed     Part   // what the typed text is of the answer
	Lasting   bool   // it holds for more than this call
}

// Part is a part of an answer that is typed in.
type Part int

// The parts.
const (
	Reason Part = iota
	Output
	Arguments
	Own // an answer in one's own words
)

// Of is the place to add a kind of interaction; ok is false for kinds that this version cannot answer.
func Of(i api.Interaction) (k Kind, ok bool) {
	switch i.Kind {
	case api.InteractionApproval:
		return Kind{"May it call " + Call(i) + "?", []Choice{
			{Key: "y", Word: "yes", Label: "yes, this once", Decision: api.AllowOnce},
			{Key: "a", Word: "always", Label: "always in this session", Decision: api.AllowSession, Lasting: true},
			{Key: "e", Word: "edit", Label: "yes, with other arguments", Decision: api.AllowOnce, Ask: "Its arguments, as JSON:", Typed: Arguments},
			{Key: "n", Word: "no", Label: "no", Decision: api.Deny, Ask: "Why not? (for the model; may be empty)"},
		}}, true
	case api.InteractionUnknownOutcome:
		return Kind{"The process died inside " + Call(i) + ", and whether it acted is not known. What became of it?", []Choice{
			{Key: "s", Word: "succeeded", Label: "it succeeded", Decision: api.OutcomeSucceeded, Ask: "What did it return? (for the model; may be empty)", Typed: Output},
			{Key: "f", Word: "failed", Label: "it failed and will not happen", Decision: api.OutcomeFailed, Ask: "Why? (for the model; may be empty)"},
			{Key: "r", Word: "retry", Label: "run it again", Decision: api.OutcomeRetry},
		}}, true
	case api.InteractionQuestion:
		return question(i.Question), true
	}
	return Kind{Title: fmt.Sprintf("It asks something that this version cannot answer (%s, of %s); a newer one can", plain.Brief(string(i.Kind)), Call(i))}, false
}

// question has its choices under their numbers, and an answer in one's own words in any case.
func question(q *api.Question) Kind {
	k := Kind{Title: "It asks a question whose text is withheld"}
	own := "an answer of your own"
	if q != nil {
		k.Title = q.Text
		for n, c := range q.Choices {
			key := ""
			if n < 9 {
				key = strconv.Itoa(n + 1)
			}
			k.Choices = append(k.Choices, Choice{Key: key, Label: c.Label, Detail: c.Description, Decision: api.Answered, Text: c.Label, Marks: q.Multiple})
		}
		if q.Multiple && len(q.Choices) > 0 {
			own = "with an answer of your own"
		}
	}
	k.Choices = append(k.Choices,
		Choice{Key: "t", Label: own, Decision: api.Answered, Ask: "Your answer:", Typed: Own},
		Choice{Key: "s", Word: "skip", Label: "skip the question", Decision: api.Skipped},
	)
	return k
}

// Answer is the answer that a choice makes, with what was typed for it and the choices that were marked beside it.
// The error says what is wrong with the typed text.
func (by Choice) Answer(i api.Interaction, typed string, marked []string) (api.Answer, error) {
	answer := api.Answer{Decision: by.Decision}
	switch {
	case by.Marks:
		if len(marked) == 0 {
			return answer, fmt.Errorf("nothing is marked")
		}
		answer.Answers = marked
	case by.Text != "":
		answer.Answers = []string{by.Text}
	case by.Ask == "":
	case by.Typed == Reason:
		answer.Reason = typed
	case by.Typed == Output:
		answer.Output = typed
	case by.Typed == Arguments:
		changed, err := Object(typed)
		if err != nil {
			return answer, err
		}
		if own, err := Object(CallArguments(i)); err != nil || string(own) != string(changed) {
			answer.Arguments = changed
		}
	case strings.TrimSpace(typed) == "":
		return answer, fmt.Errorf("an answer has text")
	default:
		answer.Answers = append(append([]string(nil), marked...), typed)
	}
	return answer, nil
}

// Call is the name of the action in question.
func Call(i api.Interaction) string {
	if i.Call == nil || i.Call.Name == "" {
		return "an action"
	}
	return plain.Brief(i.Call.Name)
}

// CallArguments are the action's arguments, as JSON; an empty object where they are withheld.
func CallArguments(i api.Interaction) string {
	if i.Call == nil || i.Call.Arguments == "" {
		return "{}"
	}
	return i.Call.Arguments
}
