package policy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
)

func speaks(text string) model.ResponseItem {
	return model.ResponseItem{Kind: model.AssistantItem, Text: text, Private: private()}
}
func thinks(text string) model.ResponseItem {
	return model.ResponseItem{Kind: model.ReasoningItem, Text: text, Private: private()}
}
func calls(arguments string) model.ResponseItem {
	return model.ResponseItem{Kind: model.ToolCallItem, ProviderCallID: "c", Name: "look", Arguments: arguments, Private: private()}
}

func TestAnAnswersTextIsOneUnitAndEachReasoningAnother(t *testing.T) {
	t.Parallel()
	plainText := func(text string) model.ResponseItem {
		return model.ResponseItem{Kind: model.AssistantItem, Text: text}
	}
	for name, test := range map[string]struct {
		check       check
		items, want []model.ResponseItem
		saw         []string
	}{
		"an allowed answer stays as it is": {
			says(guard.Allow()), []model.ResponseItem{thinks("hm"), speaks("a"), calls("{}"), speaks("b")},
			[]model.ResponseItem{thinks("hm"), speaks("a"), calls("{}"), speaks("b")}, []string{"ab", "hm"},
		},
		"what is torn over two texts is seen": {
			replaces("SECRET", "***"), []model.ResponseItem{thinks("hm"), speaks("a SEC"), calls("{}"), speaks("RET b"), calls("[]")},
			[]model.ResponseItem{thinks("hm"), plainText("a *** b"), calls("{}"), calls("[]")}, []string{"a SECRET b", "hm"},
		},
		"reasoning that would change is left out": {
			replaces("SECRET", "***"), []model.ResponseItem{thinks("SECRET"), thinks("hm"), speaks("a"), calls("{}")},
			[]model.ResponseItem{thinks("hm"), speaks("a"), calls("{}")}, []string{"a", "SECRET", "hm"},
		},
		"calls are not looked at": {
			replaces("SECRET", "***"), []model.ResponseItem{calls("SECRET")}, []model.ResponseItem{calls("SECRET")}, nil,
		},
		"reasoning without a text passes": {
			says(guard.Block("no")), []model.ResponseItem{thinks(""), calls("{}")}, []model.ResponseItem{thinks(""), calls("{}")}, nil,
		},
		"a text of which nothing is left says so": {
			says(guard.Redact("", "")), []model.ResponseItem{speaks("a")}, []model.ResponseItem{plainText("[removed by a guardrail]")}, []string{"a"},
		},
		"what is not UTF-8 is looked at as it is stored": {
			says(guard.Allow()), []model.ResponseItem{speaks("a\xff"), speaks("\xfeb")}, []model.ResponseItem{speaks("a\uFFFD"), speaks("\uFFFDb")}, []string{"a\uFFFD\uFFFDb"},
		},
		"an answer of nothing passes": {says(guard.Block("no")), nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var units []guard.Unit
			given := model.Response{Items: test.items, Stop: model.StopEnd, Usage: api.Usage{OutputTokens: 3}}
			got, _, err := policy.ScreenAnswer(t.Context(), []guard.Guardrail{looks("g", record(&units, test.check))}, guard.Context{Run: "r"}, given)
			if err != nil {
				t.Fatal(err)
			}
			want := given
			want.Items = test.want
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			var saw []string
			for _, u := range units {
				if u.Point != guard.ModelOutput || u.Run != "r" {
					t.Errorf("the unit is %+v", u)
				}
				saw = append(saw, u.Text)
			}
			if diff := cmp.Diff(test.saw, saw); diff != "" {
				t.Errorf("what the guardrail saw: %s", diff)
			}
		})
	}
}

func TestAnAnswerThatDoesNotPassHasNothingButItsUsage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		check check
		items []model.ResponseItem
		code  api.Code
	}{
		"a blocked text":           {says(guard.Block("no")), []model.ResponseItem{speaks("a"), calls("{}")}, api.CodeGuardrailBlocked},
		"blocked reasoning":        {says(guard.Block("no")), []model.ResponseItem{thinks("a"), calls("{}")}, api.CodeGuardrailBlocked},
		"a failure":                {says(guard.Verdict{}), []model.ResponseItem{speaks("a")}, api.CodeGuardrailFailed},
		"texts too large together": {says(guard.Allow()), []model.ResponseItem{speaks(strings.Repeat("a", api.MaxGuardedBytes)), speaks("b")}, api.CodeGuardrailFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			usage := api.Usage{InputTokens: 1, OutputTokens: 2}
			got, verdicts, err := policy.ScreenAnswer(t.Context(), []guard.Guardrail{looks("g", test.check)}, guard.Context{}, model.Response{Items: test.items, Stop: model.StopEnd, Usage: usage})
			if err == nil || err.Code != test.code || !strings.HasPrefix(err.Message, "the answer: guardrail g ") || len(verdicts) != 1 {
				t.Errorf("got %v, %+v", err, verdicts)
			}
			if diff := cmp.Diff(model.Response{Usage: usage}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAnswerIsItselfWhereNobodyLooks(t *testing.T) {
	t.Parallel()
	input := guard.Guardrail{Name: "g", Points: []guard.Point{guard.ModelInput}, Check: func(context.Context, guard.Unit) (guard.Verdict, error) { return guard.Block(""), nil }}
	resp := model.Response{Items: []model.ResponseItem{speaks("a\xff")}, Stop: model.StopOutputLimit}
	got, verdicts, err := policy.ScreenAnswer(t.Context(), []guard.Guardrail{input}, guard.Context{}, resp)
	if diff := cmp.Diff(resp, got); diff != "" || err != nil || verdicts != nil {
		t.Errorf("%s %v %v", diff, verdicts, err)
	}
}
