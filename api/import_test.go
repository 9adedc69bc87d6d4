package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
)

func TestAnImportedItemIsWrittenWithTheFieldsOfItsType(t *testing.T) {
	t.Parallel()
	for want, item := range map[string]api.HistoryImport{
		`{"type":"user","text":""}`:                                               {Type: api.ImportUser},
		`{"type":"assistant","text":"a"}`:                                         {Type: api.ImportAssistant, Text: "a"},
		`{"type":"tool_call","callId":"","name":"n","arguments":{"a":1}}`:         {Type: api.ImportToolCall, Name: "n", Arguments: []byte(`{"a": 1}`)},
		`{"type":"tool_result","callId":"c","output":""}`:                         {Type: api.ImportToolResult, CallID: "c"},
		`{"type":"tool_result","text":"not its own","callId":"c","output":"out"}`: {Type: api.ImportToolResult, CallID: "c", Output: "out", Text: "not its own"},
		`{"type":""}`: {},
	} {
		got, err := json.Marshal(item)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if got, err := json.Marshal(api.HistoryImport{Type: api.ImportToolCall, Arguments: []byte(`{`)}); err == nil {
		t.Errorf("arguments that are no JSON are written as %s", got)
	}
}

// An item may go on from process to process: each says of it what the first one would.
func TestAnImportedItemThatWasReadIsWrittenWithTheFieldsThatItHad(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{"type":"user","text":"go"}`:                               `{"type":"user","text":"go"}`,
		`{"type":"user"}`:                                           `{"type":"user"}`,
		`{"type":"tool_result","callId":"a"}`:                       `{"type":"tool_result","callId":"a"}`,
		`{"type":"tool_result","callId":"a","output":""}`:           `{"type":"tool_result","callId":"a","output":""}`,
		`{"type":"assistant","text":"x","name":""}`:                 `{"type":"assistant","text":"x","name":""}`,
		`{"type":"assistant","signature":"abc","text":"x","Ä\"":7}`: `{"type":"assistant","text":"x","signature":null,"Ä\"":null}`,
	} {
		var item, again api.HistoryImport
		if err := json.Unmarshal([]byte(given), &item); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(item)
		if err != nil || string(got) != want {
			t.Errorf("%s is written as %s, %v, want %s", given, got, err, want)
		}
		if err := json.Unmarshal(got, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(item.Given(), again.Given()); diff != "" {
			t.Errorf("%s: the fields are others: %s", given, diff)
		}
	}
}

// What is written is read as it was, and nothing of it was lost.
func TestAnImportedItemIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\u2028<&>", "\\ud83d", "😀\ufffd", "\x00"})).Filter(func(s string) bool { return strings.ToValidUTF8(s, "") == s })
		item := api.HistoryImport{
			Type: rapid.SampledFrom([]string{api.ImportUser, api.ImportToolResult, api.ImportToolCall, "other"}).Draw(t, "type"),
			Text: text.Draw(t, "text"), CallID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Output: text.Draw(t, "output"),
		}
		if item.Type == api.ImportToolCall {
			item.Arguments = json.RawMessage(`{"a":1}`)
		}
		data, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		var got api.HistoryImport
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if rule, flaw := got.Flaw(); rule != "" {
			t.Fatalf("%s: %s, %s", data, rule, flaw)
		}
		if diff := cmp.Diff(item, got, cmpopts.IgnoreUnexported(api.HistoryImport{})); diff != "" {
			t.Fatalf("%s:\n%s", data, diff)
		}
	})
}

// What is no JSON is an error also of the method alone, and never a panic.
func TestAnItemThatIsNoJSONIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"type":`, `{"type"`, `{1:2}`, `{"type":"user"`, `{"type":"user",}`, "nul", `"`} {
		if err := new(api.HistoryImport).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// A great many fields cost no more than reading them.
func TestAnItemOfManyFieldsIsReadInOnePass(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`{"type":"user"`)
	for i := range 200_000 {
		text.WriteString(`,"`)
		text.WriteString(strings.Repeat("x", i%7))
		text.WriteString(string(rune('a' + i%26)))
		text.WriteString(`":0`)
	}
	text.WriteString("}")
	var item api.HistoryImport
	if err := json.Unmarshal([]byte(text.String()), &item); err != nil {
		t.Fatal(err)
	}
	if rule, _ := item.Flaw(); rule != "field" || len(item.Given()) != 26*7+1 {
		t.Errorf("rule %s, %d fields", rule, len(item.Given()))
	}
}
