package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
)

// private is what a provider keeps with an item.
func private() *model.Private {
	return &model.Private{Provider: "P", Model: "m", Data: json.RawMessage(`{"signature":"s"}`)}
}

func user(text string) model.Item      { return model.Item{Kind: model.UserItem, Text: text} }
func assistant(text string) model.Item { return model.Item{Kind: model.AssistantItem, Text: text} }
func called(id, tool, arguments string) model.Item {
	return model.Item{Kind: model.ToolCallItem, CallID: id, Name: tool, Arguments: json.RawMessage(arguments)}
}
func result(id, output string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: output}
}

// record notes each unit that it is shown.
func record(units *[]guard.Unit, c check) check {
	return func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
		*units = append(*units, u)
		return c(ctx, u)
	}
}

func conversation() []model.Item {
	return []model.Item{
		user("ask"),
		{Kind: model.ReasoningItem, Text: "SECRET thought", Private: private()},
		{Kind: model.AssistantItem, Text: "I look up SECRET", Private: private()},
		called("c1", "app__look", `{"q":"SECRET"}`),
		result("c1", "found SECRET"),
		{Kind: model.UserItem, Parts: []model.Part{{Text: "see SECRET"}, {ID: "s-a1", Name: "a.md", MediaType: "text/markdown", Data: []byte("# SECRET"), Size: 8}, {Text: "bye"}}},
	}
}

func TestEachTextOfARequestIsAUnit(t *testing.T) {
	t.Parallel()
	var units []guard.Unit
	in := policy.Input{
		Instructions: []string{"be SECRET", "", "and brief"},
		Request:      model.Request{Model: "m", Instructions: "is replaced", Items: conversation(), Encoded: &model.Encoded{}, Credential: "key"},
		Tools:        map[string]string{"app__look": "app.look"},
	}
	who := guard.Context{Run: "r", Origin: "agent"}
	got, verdicts, err := policy.ScreenRequest(t.Context(), []guard.Guardrail{looks("g", record(&units, replaces("SECRET", "***")))}, who, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []guard.Unit{}
	for _, u := range []guard.Unit{{Text: "be SECRET"}, {Text: "and brief"}, {Text: "ask"}, {Text: "I look up SECRET"}, {Text: "found SECRET", Tool: "app.look"}, {Text: "see SECRET"}, {Text: "# SECRET", File: "a.md"}, {Text: "bye"}} {
		u.Context, u.Point = who, guard.ModelInput
		if u.Tool != "" {
			u.CallID = "c1"
		}
		want = append(want, u)
	}
	if diff := cmp.Diff(want, units); diff != "" {
		t.Errorf("what the guardrail saw: %s", diff)
	}
	sent := conversation()
	sent[2].Text, sent[2].Private = "I look up ***", nil
	sent[4].Output = "found ***"
	sent[5].Parts[0].Text = "see ***"
	sent[5].Parts[1] = model.Part{Name: "a.md", MediaType: "text/markdown", Data: []byte("# ***"), Size: 5}
	if diff := cmp.Diff(model.Request{Model: "m", Instructions: "be ***\n\nand brief", Items: sent, Credential: "key"}, got, cmp.AllowUnexported(model.Encoded{})); diff != "" {
		t.Errorf("what is sent: %s", diff)
	}
	if diff := cmp.Diff(conversation(), in.Request.Items); diff != "" {
		t.Errorf("the caller's items were changed: %s", diff)
	}
	said := []api.GuardVerdict{{Name: "g", Point: "model_input", Action: "redact", Reason: "it holds SECRET"}, {Name: "g", Point: "model_input", Action: "redact", Reason: "it holds SECRET", File: "a.md"}}
	if diff := cmp.Diff(said, verdicts); diff != "" {
		t.Errorf("each verdict is told once: %s", diff)
	}
	if err := model.Check(got); err != nil {
		t.Error(err)
	}
}

func TestARequestThatNobodyChangesKeepsItsEncoding(t *testing.T) {
	t.Parallel()
	req := model.Request{Model: "m", Instructions: "SECRET", Items: conversation(), Encoded: &model.Encoded{}}
	elsewhere := guard.Guardrail{Name: "e", Points: []guard.Point{guard.UserInput}, Check: says(guard.Block(""))}
	for name, test := range map[string]struct {
		guards       []guard.Guardrail
		instructions []string
		want         string
	}{
		"without guardrails":                          {nil, nil, "SECRET"},
		"without guardrails, of several instructions": {nil, []string{"a", "", "b"}, "a\n\nb"},
		"with a guardrail elsewhere":                  {[]guard.Guardrail{elsewhere}, nil, "SECRET"},
		"with one that allows":                        {[]guard.Guardrail{elsewhere, looks("g", says(guard.Allow()))}, nil, "SECRET"},
		"with one that changes the instructions": {[]guard.Guardrail{looks("g", func(ctx context.Context, u guard.Unit) (guard.Verdict, error) {
			if u.Text != "SECRET" {
				return guard.Allow(), nil
			}
			return guard.Redact("***", ""), nil
		})}, nil, "***"},
		"with no instructions at all": {[]guard.Guardrail{looks("g", says(guard.Allow()))}, []string{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := policy.ScreenRequest(t.Context(), test.guards, guard.Context{}, policy.Input{Instructions: test.instructions, Request: req}, nil)
			if err != nil || got.Encoded != req.Encoded || &got.Items[0] != &req.Items[0] || got.Instructions != test.want {
				t.Errorf("got the instructions %q, the same encoding: %v, %v", got.Instructions, got.Encoded == req.Encoded, err)
			}
		})
	}
}

func TestARequestThatDoesNotPassIsNotSentAndSaysWhere(t *testing.T) {
	t.Parallel()
	file := func(name, mediaType string) []model.Item {
		return []model.Item{{Kind: model.UserItem, Parts: []model.Part{{Text: "see"}, {Name: name, MediaType: mediaType, Data: []byte{1, 2, 3}}}}}
	}
	blocks := func(text string) check {
		return func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
			if u.Text == text {
				return guard.Block("no"), nil
			}
			return guard.Allow(), nil
		}
	}
	allow := says(guard.Allow())
	large := strings.Repeat("x", api.MaxGuardedBytes+1)
	for name, test := range map[string]struct {
		check        check
		instructions []string
		items        []model.Item
		code         api.Code
		want, item   string
	}{
		"blocked instructions":     {blocks("i"), []string{"i"}, []model.Item{user("hi")}, api.CodeGuardrailBlocked, "the instructions: guardrail g blocked", ""},
		"a blocked result":         {blocks("out"), nil, []model.Item{user("hi"), called("c", "t", "{}"), result("c", "out")}, api.CodeGuardrailBlocked, "item 2 of the request (tool_result): guardrail g blocked", "2"},
		"a blocked part":           {blocks("see"), nil, file("a", "text/plain"), api.CodeGuardrailBlocked, "item 0 of the request (user): part 0: guardrail g", "0"},
		"instructions too large":   {allow, []string{large}, []model.Item{user("hi")}, api.CodeGuardrailFailed, "128001 bytes", ""},
		"an old message too large": {allow, nil, []model.Item{user(large), user("hi")}, api.CodeGuardrailFailed, "item 0 of the request (user): guardrail g", "0"},
		"an image":                 {allow, nil, file("a.png", model.TypePNG), api.CodeUninspectableContent, `item 0 of the request (user): part 1: guardrail g let nothing of the file "a.png" pass at model_input: it looks at texts, and this file of type image/png is none`, "0"},
		"a PDF":                    {allow, nil, file("a.pdf", model.TypePDF), api.CodeUninspectableContent, `the file "a.pdf" pass at model_input: it looks at texts, and this file of type application/pdf`, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := policy.Input{Instructions: test.instructions, Request: model.Request{Model: "m", Items: test.items, Credential: "key"}}
			got, verdicts, err := policy.ScreenRequest(t.Context(), []guard.Guardrail{looks("g", test.check)}, guard.Context{}, in, nil)
			if err == nil || err.Code != test.code || !strings.Contains(err.Message, test.want) || err.Details["item"] != test.item || err.Details["guardrail"] != "g" {
				t.Fatalf("got %v with %v", err, err.Details)
			}
			if diff := cmp.Diff(model.Request{}, got, cmp.AllowUnexported(model.Encoded{})); diff != "" {
				t.Errorf("something could be sent: %s", diff)
			}
			action := map[api.Code]string{api.CodeGuardrailBlocked: "block", api.CodeGuardrailFailed: "fail", api.CodeUninspectableContent: "fail"}[test.code]
			if len(verdicts) != 1 || verdicts[0].Action != action || verdicts[0].Name != "g" {
				t.Errorf("got the verdicts %+v", verdicts)
			}
		})
	}
}

func TestInstructionsOfTwoAuthorsAreBoundedEach(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("x", api.MaxGuardedBytes)
	in := policy.Input{Instructions: []string{most, "y" + most[1:]}, Request: model.Request{Model: "m", Items: []model.Item{user("hi")}}}
	got, _, err := policy.ScreenRequest(t.Context(), []guard.Guardrail{looks("g", says(guard.Allow()))}, guard.Context{}, in, nil)
	if err != nil || len(got.Instructions) != 2*api.MaxGuardedBytes+2 {
		t.Errorf("got %d bytes, %v", len(got.Instructions), err)
	}
}

func TestVerdictsOfOneRequestAreBounded(t *testing.T) {
	t.Parallel()
	var items []model.Item
	for i := range 100 {
		items = append(items, user(fmt.Sprintf("number %d", i)))
	}
	count := looks("g", func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		return guard.Redact("x", "of "+u.Text), nil
	})
	_, verdicts, err := policy.ScreenRequest(t.Context(), []guard.Guardrail{count}, guard.Context{}, policy.Input{Request: model.Request{Model: "m", Items: items}}, nil)
	if err != nil || len(verdicts) != 64 {
		t.Fatalf("got %d verdicts, %v", len(verdicts), err)
	}
	if first, last := verdicts[0].Reason, verdicts[63].Reason; first != "of number 0" || last != "(36 verdicts before this one are not listed) of number 99" {
		t.Errorf("got %q … %q", first, last)
	}
}

func TestAConversationThatGrowsIsCheckedFromWhereItGrew(t *testing.T) {
	t.Parallel()
	var units []guard.Unit
	guards := []guard.Guardrail{looks("g", record(&units, replaces("SECRET", "***")))}
	var memo policy.Memo
	saw := func(guards []guard.Guardrail, items []model.Item, memo *policy.Memo) (texts []string, out model.Request, verdicts []api.GuardVerdict) {
		t.Helper()
		units = nil
		req, verdicts, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, policy.Input{Instructions: []string{"i"}, Request: model.Request{Model: "m", Items: items}}, memo)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range units {
			texts = append(texts, u.Text)
		}
		return texts, req, verdicts
	}
	expect := func(name string, want, got []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	items := []model.Item{user("a SECRET"), user("b"), user("b")}
	texts, _, first := saw(guards, items, &memo)
	expect("the first time each text once", []string{"i", "a SECRET", "b"}, texts)
	items = append(items, user("c"))
	texts, req, again := saw(guards, items, &memo)
	expect("then what is new", []string{"c"}, texts)
	if req.Items[0].Text != "a ***" {
		t.Errorf("what was redacted once was sent as %q", req.Items[0].Text)
	}
	if diff := cmp.Diff(first, again); diff != "" || len(first) != 1 {
		t.Errorf("the verdicts of a redaction that still holds are told again: %s", diff)
	}
	texts, _, _ = saw(guards, items[1:], &memo)
	expect("of a shorter one nothing", nil, texts)
	texts, _, _ = saw(guards, items, &memo)
	expect("what the last request did not have is forgotten", []string{"a SECRET"}, texts)
	texts, _, _ = saw(append(guards, looks("h", says(guard.Allow()))), items, &memo)
	expect("another guardrail sees all", []string{"i", "a SECRET", "b", "c"}, texts)
	texts, _, _ = saw(guards, items, nil)
	expect("without a memo all is seen", []string{"i", "a SECRET", "b", "c"}, texts)
}

func TestTheSameTextOfAnotherToolIsAnotherUnit(t *testing.T) {
	t.Parallel()
	var units []guard.Unit
	items := []model.Item{user("same"), called("c1", "a", "{}"), called("c2", "b", "{}"), called("c3", "a", "{}"), result("c1", "same"), result("c2", "same"), result("c3", "same")}
	_, _, err := policy.ScreenRequest(t.Context(), []guard.Guardrail{looks("g", record(&units, says(guard.Allow())))}, guard.Context{}, policy.Input{Request: model.Request{Model: "m", Items: items}}, &policy.Memo{})
	var tools []string
	for _, u := range units {
		tools = append(tools, u.Tool)
	}
	if diff := cmp.Diff([]string{"", "a", "b"}, tools); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestOnlyWhatPassedIsRemembered(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]guard.Verdict{"a block": guard.Block("no"), "a failure": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var units []guard.Unit
			var memo policy.Memo
			verdict := refuse
			guards := []guard.Guardrail{looks("g", record(&units, func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
				if u.Text == "bad" {
					return verdict, nil
				}
				return guard.Allow(), nil
			}))}
			in := policy.Input{Request: model.Request{Model: "m", Items: []model.Item{user("good"), user("bad"), user("last")}}}
			if _, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, in, &memo); err == nil {
				t.Fatal("it passed")
			}
			verdict, units = guard.Allow(), nil
			if _, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, in, &memo); err != nil {
				t.Fatal(err)
			}
			if len(units) != 2 || units[0].Text != "bad" || units[1].Text != "last" {
				t.Errorf("the second time it saw %+v", units)
			}
		})
	}
}
