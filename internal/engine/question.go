package engine

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
)

const textSkipped = "Nobody answered: the question was skipped. Go on with your own judgement, and say what you assumed."

// ParseQuestion reads the arguments of ask_user, which match its schema (AP9). What is missing stays empty: the
// arguments stand in the model's answer as well.
func ParseQuestion(arguments string) api.Question {
	var q struct {
		Question string `json:"question"`
		Choices  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"choices"`
		Multiple bool `json:"multiple"`
	}
	_ = json.Unmarshal([]byte(arguments), &q)
	out := api.Question{Text: q.Question, Multiple: q.Multiple}
	for _, c := range q.Choices {
		out.Choices = append(out.Choices, api.Choice{Label: c.Label, Description: c.Description})
	}
	return out
}

// answersText is the result of a question.
func answersText(answers []string) string {
	text, err := marshal(map[string][]string{"answers": answers})
	if err != nil {
		return ""
	}
	return string(text)
}
