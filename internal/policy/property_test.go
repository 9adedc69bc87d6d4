package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
	"pgregory.net/rapid"
)

// word is a short text with what some guardrail below reacts to.
var word = rapid.SampledFrom([]string{"a", "empty", "SECRET", "say SECRET", "é\x00", "[removed by a guardrail]", "<file>"})

// wellFormed draws a request that model.Check accepts, without images.
func wellFormed(t *rapid.T) model.Request {
	items := []model.Item{user("begin")}
	calls := 0
	maybe := func(name string) *model.Private {
		if rapid.Bool().Draw(t, name) {
			return private()
		}
		return nil
	}
	for range rapid.IntRange(0, 6).Draw(t, "rounds") {
		switch rapid.IntRange(0, 2).Draw(t, "round") {
		case 0:
			items = append(items, user(word.Draw(t, "user")))
		case 1:
			var parts []model.Part
			for i := range rapid.IntRange(1, 3).Draw(t, "parts") {
				if text := word.Draw(t, "part"); rapid.Bool().Draw(t, "file") {
					parts = append(parts, textFile(rapid.SampledFrom([]string{"a.txt", "b.md", fmt.Sprintf("f%d", i)}).Draw(t, "name"), text))
				} else {
					parts = append(parts, model.Part{Text: text})
				}
			}
			items = append(items, model.Item{Kind: model.UserItem, Parts: parts})
		default:
			if rapid.Bool().Draw(t, "thinks") {
				items = append(items, model.Item{Kind: model.ReasoningItem, Text: word.Draw(t, "thought"), Private: maybe("signed")})
			}
			if rapid.Bool().Draw(t, "speaks") {
				items = append(items, model.Item{Kind: model.AssistantItem, Text: word.Draw(t, "speech"), Private: maybe("phase")})
			}
			batch := rapid.IntRange(0, 3).Draw(t, "calls")
			for i := range batch {
				items = append(items, called(fmt.Sprintf("c%d", calls+i), "look", `{"q":"SECRET"}`))
			}
			for i := range batch {
				items = append(items, model.Item{Kind: model.ToolResultItem, CallID: fmt.Sprintf("c%d", calls+i), Output: word.Draw(t, "output"), Failed: rapid.Bool().Draw(t, "failed")})
			}
			calls += batch
		}
	}
	if last := items[len(items)-1].Kind; last != model.UserItem && last != model.ToolResultItem {
		items = append(items, user("end"))
	}
	return model.Request{Model: "m", Instructions: word.Draw(t, "instructions"), Items: items, Encoded: &model.Encoded{}}
}

// copied is an independent copy of items.
func copied(t *rapid.T, items []model.Item) (out []model.Item) {
	data, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever guardrails redact, and whatever was remembered, the request stays one that every provider takes, says
// nothing that was to be removed, and leaves the caller's alone.
func TestAScreenedRequestIsWellFormed(t *testing.T) {
	t.Parallel()
	empties := func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if u.Text == "empty" || u.Text == "***" {
			return guard.Redact("", "empty"), nil
		}
		return guard.Allow(), nil
	}
	guards := []guard.Guardrail{looks("secrets", replaces("SECRET", "***")), looks("empties", empties)}
	rapid.Check(t, func(t *rapid.T) {
		req := wellFormed(t)
		if err := model.Check(req); err != nil {
			t.Fatalf("the generator is wrong: %v", err)
		}
		given := copied(t, req.Items)
		var memo policy.Memo
		var first model.Request
		for range 2 {
			got, _, err := policy.ScreenRequest(t.Context(), guards, guard.Context{}, policy.Input{Request: req}, &memo)
			if err != nil {
				t.Fatal(err)
			}
			if err := model.Check(got); err != nil {
				t.Fatalf("%v: %+v", err, got.Items)
			}
			if diff := cmp.Diff(given, copied(t, req.Items)); diff != "" {
				t.Fatalf("the caller's items were changed: %s", diff)
			}
			changed := got.Encoded == nil
			if diff := cmp.Diff(req.Items, got.Items); changed != (diff != "") {
				t.Fatalf("the encoding was dropped: %v, and the items differ so: %s", changed, diff)
			}
			for i, item := range got.Items {
				text := item.Text + item.Output
				for at, p := range item.Parts {
					text += p.Text + string(p.Data)
					if was := req.Items[i].Parts[at]; p.Name != was.Name || p.MediaType != was.MediaType || p.Size != int64(len(p.Data)) || (p.ID == was.ID) != bytes.Equal(p.Data, was.Data) && p.MediaType != "" {
						t.Fatalf("of the file %+v there is %+v", was, p)
					}
				}
				if item.Kind != model.ReasoningItem && strings.Contains(text, "SECRET") {
					t.Fatalf("item %d says %q", i, text)
				}
				if item.Private != nil && item.Text != req.Items[i].Text {
					t.Fatalf("item %d was changed and kept its private form", i)
				}
			}
			if first.Model == "" {
				first = got
			} else if diff := cmp.Diff(first.Items, got.Items); diff != "" {
				t.Fatalf("remembered, it is another request: %s", diff)
			}
		}
	})
}

// drawAnswer draws an answer of any order.
func drawAnswer(t *rapid.T) model.Response {
	resp := model.Response{Stop: model.StopEnd}
	for i := range rapid.IntRange(0, 6).Draw(t, "items") {
		item := model.ResponseItem{Kind: rapid.SampledFrom([]model.ItemKind{model.AssistantItem, model.ReasoningItem, model.ToolCallItem}).Draw(t, "kind")}
		if rapid.Bool().Draw(t, "private") {
			item.Private = private()
		}
		if item.Kind == model.ToolCallItem {
			item.ProviderCallID, item.Name, item.Arguments = fmt.Sprintf("c%d", i), "look", `{"q":"SECRET"}`
		} else {
			item.Text = word.Draw(t, "text")
		}
		resp.Items = append(resp.Items, item)
	}
	return resp
}

// A screened answer shows nothing that was to be removed, keeps its calls in order, and is itself or has one text.
func TestAScreenedAnswerKeepsItsCalls(t *testing.T) {
	t.Parallel()
	guards := []guard.Guardrail{looks("secrets", replaces("SECRET", "***"))}
	rapid.Check(t, func(t *rapid.T) {
		resp := drawAnswer(t)
		given, _ := json.Marshal(resp)
		got, _, err := policy.ScreenAnswer(t.Context(), guards, guard.Context{}, resp)
		if err != nil {
			t.Fatal(err)
		}
		text, texts := map[bool]string{}, 0
		calls := map[bool][]model.ResponseItem{}
		for screened, r := range map[bool]model.Response{false: resp, true: got} {
			for _, item := range r.Items {
				switch {
				case item.Kind == model.ToolCallItem:
					calls[screened] = append(calls[screened], item)
				case screened && strings.Contains(item.Text, "SECRET"):
					t.Fatalf("it says %q", item.Text)
				case item.Kind == model.AssistantItem:
					text[screened] += item.Text
					if screened {
						texts++
					}
				}
			}
		}
		if diff := cmp.Diff(calls[false], calls[true]); diff != "" {
			t.Fatalf("the calls are others: %s", diff)
		}
		if want := strings.ReplaceAll(text[false], "SECRET", "***"); text[true] != want {
			t.Fatalf("the text is %q, want %q", text[true], want)
		}
		if text[true] != text[false] && texts != 1 {
			t.Fatalf("the redacted text is %d items", texts)
		}
		if now, _ := json.Marshal(resp); string(now) != string(given) {
			t.Fatal("the caller's answer was changed")
		}
	})
}
