package policy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
)

// hidden is a secret of which no document in JSON has the spelling.
const hidden = `pa"ss&w<ord>9`

// spelled are the spellings in which a document might have it.
var spelled = []string{hidden, `pa\"ss&w<ord>9`, `pa\"ss\u0026w\u003cord\u003e9`, `pa\\\"ss`, `ord>9`, `ord\u003e9`}

func tells(t *testing.T, text string) {
	t.Helper()
	for _, s := range spelled {
		if strings.Contains(text, s) {
			t.Errorf("%s is told: %s", s, text)
		}
	}
}

func TestGuardrailsSeeWhatASummaryIsMadeOfBeforeItIsQuotedAndCut(t *testing.T) {
	t.Parallel()
	// Each long text has the secret where it is to be cut in two.
	long := strings.Repeat("x", 147) + hidden + strings.Repeat("y", 400)
	given := func() policy.SummaryInput {
		return policy.SummaryInput{
			Guidance: "keep " + hidden, Previous: "# Goal\n" + hidden, ItemBytes: 200,
			Items: []model.Item{
				user(long), {Kind: model.ReasoningItem, Text: "thought " + hidden}, {Kind: model.AssistantItem, Text: "I know " + hidden, Private: private()},
				called("c1", "app__look", `{"q":1}`), result("c1", "found "+hidden), {Kind: policy.NoticeItem, Text: "late: " + hidden}, {Kind: policy.SummaryItem, Text: "old " + hidden},
				{Kind: model.UserItem, Parts: []model.Part{{Text: "see " + hidden}, {Name: "a.png", MediaType: model.TypePNG, Data: []byte{1}}}},
			},
		}
	}
	var units []guard.Unit
	in := given()
	who := guard.Context{Run: "r"}
	out, verdicts, err := policy.ScreenSummary(t.Context(), []guard.Guardrail{looks("g", record(&units, replaces(hidden, "***")))}, who, in, map[string]string{"app__look": "app.look"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []guard.Unit
	for _, u := range []guard.Unit{{Text: "keep " + hidden}, {Text: "# Goal\n" + hidden}, {Text: long}, {Text: "I know " + hidden}, {Text: "found " + hidden, Tool: "app.look"}, {Text: "late: " + hidden}, {Text: "old " + hidden}, {Text: "see " + hidden}} {
		u.Context, u.Point = who, guard.ModelInput
		if u.Tool != "" {
			u.CallID = "c1"
		}
		want = append(want, u)
	}
	if diff := cmp.Diff(want, units); diff != "" {
		t.Errorf("what the guardrail saw: %s", diff)
	}
	if diff := cmp.Diff([]api.GuardVerdict{{Name: "g", Point: "model_input", Action: "redact", Reason: "it holds " + hidden}}, verdicts); diff != "" {
		t.Errorf("the verdicts: %s", diff)
	}
	req := policy.SummaryRequest(out, "m", 9)
	tells(t, req.Instructions+req.Items[0].Text)
	if n := strings.Count(req.Instructions+req.Items[0].Text, "***"); n != 8 {
		t.Errorf("%d redactions are in %s", n, req.Items[0].Text)
	}
	if diff := cmp.Diff(given(), in); diff != "" {
		t.Errorf("the caller's input was changed: %s", diff)
	}
}

func TestASummaryGoesOnWithoutWhatIsTooLargeToBeLookedAt(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("é", api.MaxGuardedBytes/2) + "SECRET"
	in := policy.SummaryInput{Items: []model.Item{user(large), called("c", "t", "{}"), result("c", large), assistant(large), user("and this")}}
	seen := 0
	out, verdicts, err := policy.ScreenSummary(t.Context(), []guard.Guardrail{looks("g", func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		seen = max(seen, len(u.Text))
		return guard.Allow(), nil
	})}, guard.Context{}, in, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := policy.SummaryRequest(out, "m", 9).Items[0].Text
	if strings.Contains(text, "é") || strings.Contains(text, "SECRET") || strings.Count(text, "[not shown: larger than guardrails look at]") != 3 || !strings.Contains(text, "and this") || seen > 100 {
		t.Errorf("%d bytes were looked at, and asked is %.400q", seen, text)
	}
	if diff := cmp.Diff([]api.GuardVerdict{{Name: "g", Point: "model_input", Action: "fail", Reason: "the text has 128006 bytes and at most 128000 can be checked"}}, verdicts); diff != "" {
		t.Errorf("the verdicts: %s", diff)
	}
}

func TestAConversationOfAnySizeIsSummarisedUnderGuardrails(t *testing.T) {
	t.Parallel()
	var in policy.SummaryInput
	for i := range 60 {
		in.Items = append(in.Items, user(fmt.Sprint(i, strings.Repeat(" words", 1_000))))
	}
	var memo policy.Memo
	calls := 0
	guards := []guard.Guardrail{looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) {
		calls++
		return guard.Allow(), nil
	})}
	if _, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, policy.Input{Request: model.Request{Items: in.Items[:40]}}, &memo); err != nil {
		t.Fatal(err)
	}
	out, _, err := policy.ScreenSummary(t.Context(), guards, guard.Context{}, in, nil, &memo)
	if err != nil || calls != 60 {
		t.Fatalf("after %d looks: %v", calls, err)
	}
	if size := len(policy.SummaryRequest(out, "m", 9).Items[0].Text); size < 2*api.MaxGuardedBytes {
		t.Fatalf("the document has %d bytes", size)
	}
	// What a summary is made of is not what the next request begins with.
	if _, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, policy.Input{Request: model.Request{Items: in.Items[:40]}}, &memo); err != nil || calls != 60 {
		t.Errorf("a request whose texts were all seen was looked at again: %d looks, %v", calls, err)
	}
}

func TestGuardrailsSeeWhatAReviewerIsShown(t *testing.T) {
	t.Parallel()
	conversation := []model.Item{user("before " + hidden), assistant("not shown " + hidden), user("asked " + hidden)}
	for i := range 18 {
		conversation = append(conversation, assistant(fmt.Sprint("step ", i)))
	}
	conversation = append(conversation, called("c1", "app__look", `{"q":1}`), result("c1", strings.Repeat("x", 1_495)+hidden+strings.Repeat("y", 600)))
	given := policy.ReviewInput{
		Action: policy.Action{Tool: "app.pay", Description: "Pays.", Arguments: `{"to":"x"}`}, Origin: "agent", Agent: "a", Guidance: "let " + hidden + " pass", Conversation: conversation,
	}
	for name, test := range map[string]struct {
		change  func(*policy.Action)
		texts   []string // of the action, as they are seen
		partial bool
	}{
		"an action without a secret":                     {func(*policy.Action) {}, []string{"Pays.", `{"to":"x"}`}, false},
		"one whose arguments are spelled in another way": {func(a *policy.Action) { a.Arguments = `{ "to": "x\u0026y", "n": 12345678901234567890 }` }, []string{"Pays.", `{"n":12345678901234567890,"to":"x&y"}`}, false},
		"one whose arguments have a secret":              {func(a *policy.Action) { a.Arguments = `{"to":["pa\"ss\u0026w<ord>9"]}` }, []string{"Pays.", `{"to":["pa\"ss&w<ord>9"]}`, hidden}, true},
		"one that has it as a key, behind escapes":       {func(a *policy.Action) { a.Arguments = `{"p\u0061\"ss&w<ord>9":1}` }, []string{"Pays.", `{"pa\"ss&w<ord>9":1}`, hidden}, true},
		"one whose description has it":                   {func(a *policy.Action) { a.Description = "Pays " + hidden }, []string{"Pays " + hidden, `{"to":"x"}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var units []guard.Unit
			in := given
			test.change(&in.Action)
			out, _, err := policy.ScreenReview(t.Context(), []guard.Guardrail{looks("g", record(&units, replaces(hidden, "***")))}, guard.Context{CallID: "c9"}, in, map[string]string{"app__look": "app.look"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var seen []string
			for _, u := range units {
				switch {
				case u.Tool == "app.pay" && u.CallID == "c9":
					seen = append(seen, u.Text)
				case u.Tool == "app.look" && u.CallID == "c1", u.Tool == "" && u.CallID == "":
				default:
					t.Errorf("a unit of %q and %q", u.Tool, u.CallID)
				}
				if strings.HasPrefix(u.Text, "before") || strings.HasPrefix(u.Text, "not shown") {
					t.Errorf("looked at was %q", u.Text)
				}
			}
			if diff := cmp.Diff(test.texts, seen); diff != "" {
				t.Errorf("of the action was seen: %s", diff)
			}
			req, err := policy.ReviewRequest(out, "m", 9)
			if err != nil {
				t.Fatal(err)
			}
			tells(t, req.Items[0].Text)
			if want := `asked ***`; !strings.Contains(req.Items[0].Text, want) {
				t.Errorf("%s is not in %s", want, req.Items[0].Text)
			}
			if out.Partial != test.partial {
				t.Errorf("partial is %v", out.Partial)
			}
			review, err := policy.ReadReview(out, model.Response{Stop: model.StopEnd, Items: []model.ResponseItem{{Kind: model.AssistantItem, Text: `{"verdict":"allow","reason":"fine"}`}}})
			if allowed := err == nil && review.Verdict == api.ReviewAllow; allowed == test.partial {
				t.Errorf("an allow came to %+v, %v", review, err)
			}
		})
	}
}

func TestAReviewOfWhatDoesNotPassIsNotAskedFor(t *testing.T) {
	t.Parallel()
	blocks := looks("g", func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if strings.Contains(u.Text, "SECRET") {
			return guard.Block("no"), nil
		}
		return guard.Allow(), nil
	})
	for name, test := range map[string]struct {
		change func(*policy.ReviewInput)
		code   api.Code
		want   string
	}{
		"arguments":       {func(in *policy.ReviewInput) { in.Action.Arguments = `{"a":"SECRET"}` }, api.CodeGuardrailBlocked, "the action's arguments"},
		"a description":   {func(in *policy.ReviewInput) { in.Action.Description = "SECRET" }, api.CodeGuardrailBlocked, "the action's description"},
		"guidance":        {func(in *policy.ReviewInput) { in.Guidance = "SECRET" }, api.CodeGuardrailBlocked, "the guidance"},
		"a message":       {func(in *policy.ReviewInput) { in.Conversation = []model.Item{user("SECRET")} }, api.CodeGuardrailBlocked, "item 0 of the conversation (user)"},
		"what is no JSON": {func(in *policy.ReviewInput) { in.Action.Arguments = `{"a":"SECRET"` }, api.CodeReviewInvalid, "not one JSON value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := policy.ReviewInput{Action: policy.Action{Tool: "app.pay", Arguments: "{}"}}
			test.change(&in)
			out, _, err := policy.ScreenReview(t.Context(), []guard.Guardrail{blocks}, guard.Context{}, in, nil, nil)
			if err == nil || err.Code != test.code || !strings.Contains(err.Message, test.want) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(policy.ReviewInput{}, out); diff != "" {
				t.Errorf("something could be asked: %s", diff)
			}
		})
	}
}

func TestAnAnswerThatIsTooLargeToBeLookedAtIsNotSentBackAndEndsNothing(t *testing.T) {
	t.Parallel()
	items := []model.Item{user("hi"), {Kind: model.AssistantItem, Text: strings.Repeat("x", api.MaxGuardedBytes+1), Private: private()}, user("and?")}
	in := policy.Input{Request: model.Request{Model: "m", Items: items, Encoded: &model.Encoded{}}}
	got, verdicts, err := policy.ScreenRequest(t.Context(), []guard.Guardrail{looks("g", says(guard.Allow()))}, guard.Context{}, in, nil)
	if err != nil || got.Items[1].Text != "[not shown: larger than guardrails look at]" || got.Items[1].Private != nil || got.Encoded != nil || len(verdicts) != 1 || verdicts[0].Action != "fail" {
		t.Errorf("%v, %+v", err, verdicts)
	}
}

func TestWhatGuardrailsCannotLookAtIsKnownBeforehand(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("x", api.MaxGuardedBytes)
	never := looks("g", func(context.Context, guard.Unit) (guard.Verdict, error) {
		t.Error("it was asked")
		return guard.Allow(), nil
	})
	for name, test := range map[string]struct {
		guards []guard.Guardrail
		point  guard.Point
		text   string
		fits   bool
	}{
		"the greatest text":                      {[]guard.Guardrail{never}, guard.ModelInput, most, true},
		"one byte more":                          {[]guard.Guardrail{never}, guard.ModelInput, most + "x", false},
		"a large one without guardrails":         {nil, guard.ModelInput, most + "x", true},
		"a large one with a guardrail elsewhere": {[]guard.Guardrail{{Name: "g", Points: []guard.Point{guard.ModelOutput}}}, guard.ModelInput, most + "x", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policy.Fit(test.guards, test.point, test.text)
			if fits := got.Err == nil && got.Text == test.text; fits != test.fits {
				t.Fatalf("%v", got.Err)
			}
			if !test.fits && (got.Err.Code != api.CodeGuardrailFailed || got.Err.Details["bytes"] != "128001" || got.Err.Details["guardrail"] != "g" || len(got.Verdicts) != 1 || got.Text != "") {
				t.Errorf("%v with %v, %+v", got.Err, got.Err.Details, got.Verdicts)
			}
		})
	}
}

func TestWhatAGuardrailWasShownIsNotToldWhenItFails(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]check{
		"a panic":           func(_ context.Context, u guard.Unit) (guard.Verdict, error) { panic("cannot handle " + u.Text) },
		"a panic of a type": func(_ context.Context, u guard.Unit) (guard.Verdict, error) { panic(&broken{u.Text}) },
		"an action": func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
			return guard.Verdict{Action: guard.Action(u.Text)}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policy.Screen(t.Context(), []guard.Guardrail{looks("g", check)}, guard.Unit{Point: guard.ModelInput, Text: "SECRET"})
			if got.Err == nil || got.Err.Code != api.CodeGuardrailFailed || strings.Contains(fmt.Sprint(got.Err, got.Err.Details, got.Verdicts), "SECRET") {
				t.Errorf("told are %v and %+v", got.Err, got.Verdicts)
			}
		})
	}
	_, _, err := policy.Ask(t.Context(), func(_ context.Context, a guard.ToolAction) (guard.Verdict, error) { panic(string(a.Arguments)) }, guard.ToolAction{Arguments: []byte("SECRET")}, 0)
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("told is %v", err)
	}
}
