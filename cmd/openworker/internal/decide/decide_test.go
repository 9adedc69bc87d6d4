package decide_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

func approval(arguments string) api.Interaction {
	return api.Interaction{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{CallID: "c1", Name: "pay", Arguments: arguments}}
}

func question(multiple bool, labels ...string) api.Interaction {
	q := &api.Question{Text: "Which?", Multiple: multiple}
	for _, label := range labels {
		q.Choices = append(q.Choices, api.Choice{Label: label})
	}
	return api.Interaction{ID: "i1", Kind: api.InteractionQuestion, Question: q}
}

func TestAChoiceMakesAnAnswer(t *testing.T) {
	t.Parallel()
	unknown := api.Interaction{Kind: api.InteractionUnknownOutcome}
	tests := []struct {
		name       string
		of         api.Interaction
		key, typed string
		marked     []string
		want       api.Answer
		fault      string
	}{
		{"once", approval("{}"), "y", "", nil, api.Answer{Decision: api.AllowOnce}, ""},
		{"always", approval("{}"), "a", "", nil, api.Answer{Decision: api.AllowSession}, ""},
		{"with other arguments", approval(`{"a": 1}`), "e", ` {"a": 2} `, nil, api.Answer{Decision: api.AllowOnce, Arguments: json.RawMessage(`{"a":2}`)}, ""},
		{"with the same arguments after all", approval(`{"a": 1}`), "e", `{"a":1}`, nil, api.Answer{Decision: api.AllowOnce}, ""},
		{"with arguments where its own are withheld", approval(""), "e", `{"a":1}`, nil, api.Answer{Decision: api.AllowOnce, Arguments: json.RawMessage(`{"a":1}`)}, ""},
		{"with no arguments", approval("{}"), "e", "a", nil, api.Answer{}, "that is no JSON object: invalid character 'a'"},
		{"no", approval("{}"), "n", "it is late", nil, api.Answer{Decision: api.Deny, Reason: "it is late"}, ""},
		{"it succeeded", unknown, "s", "paid", nil, api.Answer{Decision: api.OutcomeSucceeded, Output: "paid"}, ""},
		{"it failed", unknown, "f", "no money", nil, api.Answer{Decision: api.OutcomeFailed, Reason: "no money"}, ""},
		{"again", unknown, "r", "", nil, api.Answer{Decision: api.OutcomeRetry}, ""},
		{"one of a question's choices", question(false, "red", "blue"), "2", "", nil, api.Answer{Decision: api.Answered, Answers: []string{"blue"}}, ""},
		{"several of them", question(true, "red", "blue"), "1", "", []string{"red", "blue"}, api.Answer{Decision: api.Answered, Answers: []string{"red", "blue"}}, ""},
		{"none of several", question(true, "red", "blue"), "1", "", nil, api.Answer{}, "nothing is marked"},
		{"one's own words", question(false), "t", "green", nil, api.Answer{Decision: api.Answered, Answers: []string{"green"}}, ""},
		{"one's own words beside others", question(true, "red"), "t", "green", []string{"red"}, api.Answer{Decision: api.Answered, Answers: []string{"red", "green"}}, ""},
		{"no words", question(false), "t", " \n", nil, api.Answer{}, "an answer has text"},
		{"a skipped question", question(false), "s", "", nil, api.Answer{Decision: api.Skipped}, ""},
		{"a skipped question whose text is withheld", api.Interaction{Kind: api.InteractionQuestion}, "s", "", nil, api.Answer{Decision: api.Skipped}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, ok := decide.Of(tt.of)
			if !ok {
				t.Fatal("it cannot be answered")
			}
			for _, choice := range kind.Choices {
				if choice.Key != tt.key {
					continue
				}
				got, err := choice.Answer(tt.of, tt.typed, tt.marked)
				if tt.fault != "" {
					if err == nil || !strings.HasPrefix(err.Error(), tt.fault) {
						t.Errorf("%v, want %s", err, tt.fault)
					}
					return
				}
				if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
					t.Errorf("%v\n%s", err, diff)
				}
				return
			}
			t.Errorf("there is no choice %q among %+v", tt.key, kind.Choices)
		})
	}
}

func TestKeysAreNotUsedTwice(t *testing.T) {
	t.Parallel()
	labels := strings.Split("abcdefghijklmno", "")
	for _, i := range []api.Interaction{approval("{}"), question(false, labels...), question(true, labels...), {Kind: api.InteractionUnknownOutcome}} {
		kind, _ := decide.Of(i)
		seen := map[string]bool{}
		for _, choice := range kind.Choices {
			if choice.Key != "" && seen[choice.Key] {
				t.Errorf("%s: the key %q is used twice", i.Kind, choice.Key)
			}
			seen[choice.Key] = true
		}
	}
}

func TestAKindThatIsNotKnownTakesNoAnswer(t *testing.T) {
	t.Parallel()
	kind, ok := decide.Of(api.Interaction{Kind: "seance\x1b[2J"})
	if ok || len(kind.Choices) > 0 || !strings.Contains(kind.Title, "cannot answer (seance[2J, of an action)") {
		t.Errorf("%+v", kind)
	}
}

func TestFoldedArgumentsStandInOneLine(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"{\n \"a\": \"b c\u202e\\n\"\n}": `{"a":"b c\u202e\n"}`, "{\n": "{", "": "",
	} {
		if got := decide.Folded(arguments); got != want {
			t.Errorf("%q: %q, want %q", arguments, got, want)
		}
	}
}

func TestATypedTextPicksAChoice(t *testing.T) {
	t.Parallel()
	const refused = "refused"
	tests := []struct {
		name  string
		of    api.Interaction
		texts map[string]string // and what is picked
	}{
		{"one of two", question(false, "red", "blue"), map[string]string{
			"1": "red", "2": "blue", "+1": "red", "RED": "red", "3 shades of red": "3 shades of red", "2nd": "2nd", "": "",
			"0": refused, "3": refused, "7": refused, "-1": refused, "99999999999999999999": refused,
		}},
		{"one of one", question(false, "red"), map[string]string{"1": "red", "2": refused}},
		{"numbers that are choices", question(false, "10", "1"), map[string]string{"10": "10", "1": "1", "2": "1", "15": refused}},
		{"no choices", question(false), map[string]string{"7": "7"}},
		{"a question whose text is withheld", api.Interaction{Kind: api.InteractionQuestion}, map[string]string{"7": "7"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for text, want := range tt.texts {
				got, err := decide.Picked(tt.of.Question, text)
				if err != nil {
					got = refused
				}
				if got != want {
					t.Errorf("%q picks %q (%v), want %q", text, got, err, want)
				}
			}
		})
	}
}

func TestOfAReviewWithoutAVerdictTheReasonIsForThoseWhoLook(t *testing.T) {
	t.Parallel()
	r := api.Review{Verdict: api.ReviewUnsure, Code: api.CodeReviewTimeout, Reason: "no answer\nwithin 30 s"}
	if got := decide.Review(r); got != "the reviewer could not be asked" {
		t.Errorf("%q", got)
	}
	if got := decide.WholeReview(r); got != "the reviewer could not be asked: review_timeout: no answer within 30 s" {
		t.Errorf("%q", got)
	}
}
