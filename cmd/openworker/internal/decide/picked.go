package decide

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
)

var bareNumber = regexp.MustCompile(`^[+-]?[0-9]+$`)

// Picked is the answer that a typed text gives to a question: the choice that it names, by its label or its number, or the
// text itself. A number that no choice has is an error: it was most likely meant to be one's.
func Picked(q *api.Question, text string) (string, error) {
	if q == nil || len(q.Choices) == 0 {
		return text, nil
	}
	for _, c := range q.Choices {
		if strings.EqualFold(c.Label, text) {
			return c.Label, nil
		}
	}
	if !bareNumber.MatchString(text) {
		return text, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n >= 1 && n <= len(q.Choices):
		return q.Choices[n-1].Label, nil
	case len(q.Choices) == 1:
		return "", fmt.Errorf("there is one choice, and %s is not its number", text)
	}
	return "", fmt.Errorf("there are %d choices, and %s is the number of none", len(q.Choices), text)
}
