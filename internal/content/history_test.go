package content_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
	"github.com/openworkerai/openworker/model"
	"pgregory.net/rapid"
)

func says(text string) api.HistoryImport { return api.HistoryImport{Type: api.ImportUser, Text: text} }
func answers(text string) api.HistoryImport {
	return api.HistoryImport{Type: api.ImportAssistant, Text: text}
}
func calls(id, arguments string) api.HistoryImport {
	return api.HistoryImport{Type: api.ImportToolCall, CallID: id, Name: "app__lookup", Arguments: json.RawMessage(arguments)}
}
func returns(id, output string) api.HistoryImport {
	return api.HistoryImport{Type: api.ImportToolResult, CallID: id, Output: output}
}

var plainItems = cmpopts.IgnoreUnexported(api.HistoryImport{})

func TestResultsMoveBehindTheAnswerOfTheirCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, items, want string }{
		{"nothing is nothing", "", ""},
		{"a user alone", "u", "u"},
		{"users do not make one group", "u u", "u|u"},
		{"texts that follow each other are one answer", "u a a u", "u|a a|u"},
		{"a call with its result", "u c1 r1", "u|c1 r1"},
		{"text, calls and results in order", "u a c1 c2 r1 r2 a", "u|a c1 c2 r1 r2|a"},
		{"results in another order", "u c1 c2 r2 r1", "u|c1 c2 r1 r2"},
		{"a call between results begins an answer", "u c1 c2 r2 c3 r1 r3", "u|c1 c2 r1 r2|c3 r3"},
		{"a text between results begins an answer", "u c1 c2 r1 a r2", "u|c1 c2 r1 r2|a"},
		{"a text between calls is of their answer", "u c1 a c2 r2 r1", "u|c1 a c2 r1 r2"},
		{"a user before the result comes behind it", "u c1 u r1", "u|c1 r1|u"},
		{"a user between calls ends the answer", "u c1 u c2 r2 r1", "u|c1 r1|u|c2 r2"},
	} {
		got, err := content.Import(items(c.items), false)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var want [][]api.HistoryImport
		for _, group := range strings.Split(c.want, "|") {
			if group != "" {
				want = append(want, items(group))
			}
		}
		if diff := cmp.Diff(want, got, plainItems); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// items reads a conversation in short: u, a, c1 (a call), r1 (its result).
func items(short string) (out []api.HistoryImport) {
	for _, word := range strings.Fields(short) {
		switch word[0] {
		case 'u':
			out = append(out, says("hello"))
		case 'a':
			out = append(out, answers("well"))
		case 'c':
			out = append(out, calls(word[1:], `{"n":1}`))
		case 'r':
			out = append(out, returns(word[1:], "out of "+word[1:]))
		}
	}
	return out
}

func TestAnItemThatBreaksARuleIsNamed(t *testing.T) {
	t.Parallel()
	u := says("hello")
	nested := func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	many := slices.Repeat([]api.HistoryImport{u}, 257)
	for _, c := range []struct {
		name    string
		items   []api.HistoryImport
		item    string
		rule    string
		refusal string
	}{
		{"assistant first", []api.HistoryImport{answers("a"), u}, "0", "first_item", "the first item must be the user's; put"},
		{"a call first", []api.HistoryImport{calls("1", "{}"), returns("1", "")}, "0", "first_item", "item 0 (tool_call)"},
		{"no type", []api.HistoryImport{u, {Text: "a"}}, "1", "type", `item 1 (no type): it has no type, only "text"`},
		{"no type among many fields", []api.HistoryImport{u, {Text: "a", CallID: "b", Name: "c", Output: "d"}}, "1", "type", `only "callId", "name", "output", "text"; the field type says user`},
		{"nothing", []api.HistoryImport{u, {}}, "1", "type", "it has nothing in it"},
		{"a system text", []api.HistoryImport{u, {Type: "system", Text: "a"}}, "1", "type", `"system"`},
		{"reasoning", []api.HistoryImport{u, {Type: "reasoning", Text: "a"}}, "1", "type", `"reasoning"`},
		{"an image", []api.HistoryImport{u, {Type: "image"}}, "1", "type", `"image"`},
		{"an approval", []api.HistoryImport{u, {Type: "approval"}}, "1", "type", `"approval"`},
		{"a notice", []api.HistoryImport{u, {Type: "notice", Text: "a"}}, "1", "type", `"notice"`},
		{"a type in capitals", []api.HistoryImport{u, {Type: "User", Text: "a"}}, "1", "type", `"User"`},
		{"text of a call", []api.HistoryImport{u, {Type: "tool_call", CallID: "1", Name: "n", Arguments: []byte("{}"), Text: "a"}}, "1", "field", `"text"`},
		{"output of a user", []api.HistoryImport{{Type: "user", Text: "a", Output: "b"}}, "0", "field", `"output"`},
		{"a name of a result", []api.HistoryImport{u, calls("1", "{}"), {Type: "tool_result", CallID: "1", Name: "n"}}, "2", "field", `"name"`},
		{"arguments of an assistant", []api.HistoryImport{u, {Type: "assistant", Text: "a", Arguments: []byte("{}")}}, "1", "field", `"arguments"`},
		{"a blank user", []api.HistoryImport{u, says(" \n")}, "1", "blank", "blank"},
		{"a blank assistant", []api.HistoryImport{u, answers("")}, "1", "blank", "blank"},
		{"a NUL in a text", []api.HistoryImport{u, says("a\x00")}, "1", "text", "NUL at byte 1"},
		{"a NUL in an output", []api.HistoryImport{u, calls("1", "{}"), returns("1", "\x00")}, "2", "text", "NUL at byte 0"},
		{"a NUL in a call's ID", []api.HistoryImport{u, calls("\x00", "{}")}, "1", "text", "NUL"},
		{"a NUL in arguments", []api.HistoryImport{u, calls("1", `{"a":"b\u0000"}`)}, "1", "text", `\u0000`},
		{"a NUL in a key of arguments", []api.HistoryImport{u, calls("1", `{"a\\\u0000":1}`)}, "1", "text", `\u0000`},
		{"a text that is not UTF-8", []api.HistoryImport{u, says("a\xff")}, "1", "text", "not UTF-8"},
		{"arguments that are not UTF-8", []api.HistoryImport{u, calls("1", "{\"a\":\"\xff\"}")}, "1", "text", "not UTF-8"},
		{"half a character in arguments", []api.HistoryImport{u, calls("1", `{"a":"\ud83d"}`)}, "1", "text", `\ud83d`},
		{"the other half in arguments", []api.HistoryImport{u, calls("1", `{"a":"\uDE00\ud83d"}`)}, "1", "text", `\ude00`},
		{"a call without an ID", []api.HistoryImport{u, calls("", "{}")}, "1", "call_id", "no callId"},
		{"a call's ID twice", []api.HistoryImport{u, calls("1", "{}"), returns("1", ""), calls("1", "{}"), returns("1", "")}, "3", "duplicate_call", `"1" is that of item 1 already; give`},
		{"no name", []api.HistoryImport{u, {Type: "tool_call", CallID: "1", Arguments: []byte("{}")}}, "1", "name", "A-Z a-z"},
		{"a name with a dot", []api.HistoryImport{u, {Type: "tool_call", CallID: "1", Name: "app.lookup", Arguments: []byte("{}")}}, "1", "name", "models see this tool as app__lookup"},
		{"a name with a space", []api.HistoryImport{u, {Type: "tool_call", CallID: "1", Name: "look up", Arguments: []byte("{}")}}, "1", "name", `"look up"`},
		{"a name of 65", []api.HistoryImport{u, {Type: "tool_call", CallID: "1", Name: strings.Repeat("n", 65), Arguments: []byte("{}")}}, "1", "name", "1 to 64"},
		{"no arguments", []api.HistoryImport{u, calls("1", "")}, "1", "arguments", "one without any is {}"},
		{"arguments that are a list", []api.HistoryImport{u, calls("1", "[]")}, "1", "arguments", "not a JSON object"},
		{"arguments that are a text", []api.HistoryImport{u, calls("1", `"a"`)}, "1", "arguments", "not a JSON object; one without any is {}"},
		{"arguments that are a text with JSON", []api.HistoryImport{u, calls("1", `"{\"a\":1}"`)}, "1", "arguments", "give the object itself"},
		{"arguments that are null", []api.HistoryImport{u, calls("1", "null")}, "1", "arguments", "not a JSON object"},
		{"arguments that end early", []api.HistoryImport{u, calls("1", `{"a":`)}, "1", "arguments", "not a JSON object"},
		{"two argument objects", []api.HistoryImport{u, calls("1", `{}{}`)}, "1", "arguments", "not a JSON object"},
		{"a key twice in arguments", []api.HistoryImport{u, calls("1", `{"x":[{"a":1,"\u0061":2}]}`)}, "1", "arguments", `the arguments: the key "a" stands twice in one object; some models`},
		{"a number in arguments that no float64 has", []api.HistoryImport{u, calls("1", `{"a":1e999}`)}, "1", "arguments", "the number 1e999 is out of range"},
		{"a number in arguments just above", []api.HistoryImport{u, calls("1", `{"a":9e308}`)}, "1", "arguments", "the number 9e308 is out of range"},
		{"a number in arguments that becomes 0", []api.HistoryImport{u, calls("1", `{"a":1e-999}`)}, "1", "arguments", "the number 1e-999 is out of range"},
		{"arguments of 33 levels", []api.HistoryImport{u, calls("1", nested(33))}, "1", "arguments_depth", "33 levels"},
		{"arguments with lists of 33 levels", []api.HistoryImport{u, calls("1", `{"a":`+strings.Repeat("[", 32)+strings.Repeat("]", 32)+"}")}, "1", "arguments_depth", "33 levels"},
		{"a result before its call", []api.HistoryImport{u, returns("1", ""), calls("1", "{}")}, "1", "result_without_call", `the callId "1"; put the call before its result`},
		{"a result of no call", []api.HistoryImport{u, returns("", "a")}, "1", "result_without_call", `the callId ""`},
		{"two results of a call", []api.HistoryImport{u, calls("1", "{}"), returns("1", "a"), returns("1", "a")}, "3", "duplicate_result", "a result already; leave one"},
		{"an unfinished call", []api.HistoryImport{u, calls("1", "{}"), calls("2", "{}"), returns("2", "")}, "1", "unfinished_call", `call "1" has no result`},
		{"257 items", many, "256", "items", "at most 256 items, and there are 257; import a summary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := content.Import(c.items, false)
			if err == nil {
				t.Fatalf("taken as %v", got)
			}
			e := wantRefusal(t, err, api.CodeInvalidHistory, c.refusal)
			if e.Details["item"] != c.item || e.Details["rule"] != c.rule || !strings.HasPrefix(e.Message, "item "+c.item+" (") {
				t.Errorf("%v: details %v", e, e.Details)
			}
		})
	}
}

func TestWhatJSONHasIsTakenExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, json, rule, refusal string }{
		{"a conversation", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{ "a" : 1 }},{"type":"tool_result","callId":"1","output":""}]`, "", ""},
		{"no output", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{}},{"type":"tool_result","callId":"1"}]`, "missing_field", `item 2 (tool_result): it has no field "output"; a tool_result has type, callId, output`},
		{"an output that is null", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{}},{"type":"tool_result","callId":"1","output":null}]`, "missing_field", "output is null; give it a value"},
		{"no text", `[{"type":"user"}]`, "missing_field", `"text"`},
		{"a text that is null", `[{"type":"user","text":null}]`, "missing_field", "text is null"},
		{"no text of an assistant", `[{"type":"user","text":"a"},{"type":"assistant"}]`, "missing_field", `"text"`},
		{"a call without ID", `[{"type":"user","text":"a"},{"type":"tool_call","name":"n","arguments":{}}]`, "missing_field", `"callId"`},
		{"a call without name", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","arguments":{}}]`, "missing_field", `"name"`},
		{"a call without arguments", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n"}]`, "missing_field", `"arguments"`},
		{"a call whose arguments are null", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments": null}]`, "missing_field", "arguments is null"},
		{"a type that is null", `[{"type":null,"text":"a"}]`, "json", "type is null; it must be a string"},
		{"a field of another type that is null", `[{"type":"user","text":"a","output":null}]`, "field", `"output"`},
		{"a text twice", `[{"type":"user","text":"a","text":"b"}]`, "field", `item 0 (user): it has the field "text" twice; leave one`},
		{"a type twice", `[{"type":"user","type":"assistant","text":"b"}]`, "field", `"type" twice`},
		{"a field twice, once escaped", `[{"type":"user","text":"a","te\u0078t":"a"}]`, "field", `"text" twice`},
		{"half a character in a text", `[{"type":"user","text":"a \ud800 b"}]`, "unicode", `text has half a character (\ud800 without its other half)`},
		{"the other half in a text", `[{"type":"user","text":"\\ \uDE00\ud83d"}]`, "unicode", `\uDE00`},
		{"half a character at the end", `[{"type":"user","text":"\ud83d\u0041"}]`, "unicode", `\ud83d`},
		{"half a character in an output", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{}},{"type":"tool_result","callId":"1","output":"\udfff"}]`, "unicode", "output has half"},
		{"half a character in a call's ID", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"c\ud800","name":"n","arguments":{}}]`, "unicode", "callId has half"},
		{"whole characters, escaped", `[{"type":"user","text":"\ud83d\ude00 \\ud83d \u00e9 \ufffd \"\\"}]`, "", ""},
		{"a key twice in arguments", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{"a":1,"a":2}}]`, "arguments", `the key "a" stands twice`},
		{"a mark before the array", "\ufeff[]", "json", "byte order mark"},
		{"no items", " [ ]\n", "", ""},
		{"a field in capitals", `[{"type":"user","TEXT":"a"}]`, "field", `"TEXT"`},
		{"a type in capitals", `[{"TYPE":"user","text":"a"}]`, "type", `it has no type, only "TYPE", "text"`},
		{"a provider's item", `[{"role":"user","content":"a"}]`, "type", `it has no type, only "content", "role"`},
		{"more fields than are named", `[{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}]`, "type", `"h", …; the field`},
		{"an unknown field", `[{"type":"user","text":"a","time":1}]`, "field", `"time"`},
		{"a field of another type, empty", `[{"type":"user","text":"a","output":""}]`, "field", `"output"`},
		{"a signature", `[{"type":"user","text":"a"},{"type":"assistant","text":"a","signature":"x"}]`, "field", `"signature"`},
		{"nothing as an item", `[null]`, "type", "nothing in it"},
		{"a list as an item", `[[]]`, "json", "item 0 (no type): it is an array; an item is an object"},
		{"a number that no float64 has as an item", "[" + strings.Repeat("5", 400) + "]", "json", "item 0 (no type): it is a number; an item is an object"},
		{"a text as an item", `[{"type":"user","text":"a"}, "a"]`, "json", "item 1 (no type): it is a string; an item is an object"},
		{"a number as a text", `[{"type":"user","text":5}]`, "json", "item 0 (user): text is a number; it must be a string"},
		{"an array as a text", `[{"type":"user","text":[{"type":"text","text":"a"}]}]`, "json", "item 0 (user): text is an array; it must be a string"},
		{"an object as an output", `[{"type":"user","text":"a"},{"type":"tool_call","callId":"1","name":"n","arguments":{}},{"type":"tool_result","callId":"1","output":{"a":1}}]`, "json", "item 2 (tool_result): output is an object; it must be a string"},
		{"a number as a call's ID", `[{"type":"user","text":"a"},{"type":"tool_call","callId":1,"name":"n","arguments":{}}]`, "json", "item 1 (tool_call): callId is a number; it must be a string"},
		{"a boolean as a type", `[{"type":true,"text":"a"}]`, "json", "item 0 (no type): type is a boolean; it must be a string"},
		{"an object", `{"type":"user","text":"a"}`, "json", "a JSON array of items"},
		{"nothing", ``, "json", "a JSON array of items"},
		{"null", `null`, "json", "a JSON array of items"},
		{"an array that does not end", `[{"type":"user","text":"a"}`, "json", "does not end"},
		{"an array with what is no white space behind", "[]\v", "json", "something follows"},
		{"an array with something behind", `[{"type":"user","text":"a"}] []`, "json", "something follows"},
		{"an item that does not end", `[{"type":"user","text":"a"},{`, "json", "item 1"},
		{"a comma at the end", `[{"type":"user","text":"a"},]`, "json", "item 1"},
		{"what is not UTF-8", "[{\"type\":\"user\",\"text\":\"\xff\"}]", "json", "not UTF-8"},
		{"257 items", "[" + strings.Repeat(`{"type":"user","text":"a"},`, 256) + "{}]", "items", "item 256"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			items, err := content.DecodeImport([]byte(c.json))
			if err == nil {
				_, err = content.Import(items, false)
			}
			if c.rule == "" {
				if err != nil {
					t.Error(err)
				}
			} else if e := wantRefusal(t, err, api.CodeInvalidHistory, c.refusal); e.Details["rule"] != c.rule {
				t.Errorf("%v: details %v", e, e.Details)
			}
		})
	}
}

func TestAnExportHasAnItemALine(t *testing.T) {
	t.Parallel()
	got := string(content.EncodeImport([]api.HistoryImport{says("a <b> & \"c\"\n"), calls("1", `{ "a": "<é>" }`), returns("1", ""), calls("2", "{")}))
	want := `[
{"type":"user","text":"a <b> & \"c\"\n"},
{"type":"tool_call","callId":"1","name":"app__lookup","arguments":{"a":"<é>"}},
{"type":"tool_result","callId":"1","output":""},
{"type":"tool_call","callId":"2","name":"app__lookup","arguments":"{"}
]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := string(content.EncodeImport(nil)); got != "[]\n" {
		t.Errorf("nothing is %q", got)
	}
}

func TestArgumentsComeCompactAndOtherwiseAsTheyWere(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		" { \"b\" : 1.50 ,\n\"a\":12345678901234567890, \"c\":2 } ": `{"b":1.50,"a":12345678901234567890,"c":2}`,
		`{"a":"<\u00e9\ud83d\ude00\\u0000\\ud83d>"}`:                `{"a":"<\u00e9\ud83d\ude00\\u0000\\ud83d>"}`,
		`{"a":"[[[\"{{{"}`: `{"a":"[[[\"{{{"}`,
	} {
		got, err := content.Import([]api.HistoryImport{says("a"), calls("1", given), returns("1", "")}, false)
		if err != nil || string(got[1][0].Arguments) != want {
			t.Errorf("%s: %v, %v", given, got, err)
		}
	}
}

func TestANameMayHaveEachCharacterThatModelsSee(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"A", "azAZ09_-", strings.Repeat("Z", 64), "app__lookup"} {
		call := calls("any ID, é", "{}")
		call.Name = name
		if err := imported(false, says("a"), call, returns("any ID, é", "")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// conversation draws one that is right: calls get their results later, in any order and with anything between.
func conversation(t *rapid.T) []api.HistoryImport {
	text := rapid.SampledFrom([]string{"a", "é😀", "line\nline", " <b>", "a\u2028b"})
	out, open := []api.HistoryImport{says(text.Draw(t, "begin"))}, []string{}
	for i := range rapid.IntRange(0, 24).Draw(t, "items") {
		switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
		case kind == 0:
			out = append(out, says(text.Draw(t, "user")))
		case kind == 1:
			out = append(out, answers(text.Draw(t, "assistant")))
		case kind <= 3 || len(open) == 0:
			id := fmt.Sprintf("call %d", i)
			open = append(open, id)
			out = append(out, calls(id, rapid.SampledFrom([]string{"{}", ` {"a": [1, {"b": "\ud83d\ude00"}]}`, `{"n":12345678901234567890,"f":1.0,"e":1e-7,"z":-0,"é":"\u2028"}`}).Draw(t, "arguments")))
		default:
			at := rapid.IntRange(0, len(open)-1).Draw(t, "finished")
			out = append(out, returns(open[at], rapid.SampledFrom([]string{"", "out"}).Draw(t, "output")))
			open = slices.Delete(open, at, at+1)
		}
	}
	for _, id := range open {
		out = append(out, returns(id, "late"))
	}
	return out
}

// request is what a model is asked after groups, and the call IDs of its view. The runtime gives calls IDs of its own.
func request(groups [][]api.HistoryImport) model.Request {
	req := model.Request{Model: "m"}
	ids := map[string]string{}
	for _, it := range slices.Concat(groups...) {
		item := model.Item{Kind: model.ItemKind(it.Type), Text: it.Text, Name: it.Name, Arguments: it.Arguments, Output: it.Output}
		if it.CallID != "" {
			if ids[it.CallID] == "" {
				ids[it.CallID] = fmt.Sprintf("c%d", len(ids))
			}
			item.CallID = ids[it.CallID]
		}
		req.Items = append(req.Items, item)
	}
	req.Items = append(req.Items, model.Item{Kind: model.UserItem, Text: "and now?"})
	return req
}

// checkGroups checks what is promised of the groups of items: they make a request that every provider takes, nothing is lost
// or changed, and each is a user's item or an answer. It returns what is wrong.
func checkGroups(items []api.HistoryImport, groups [][]api.HistoryImport) error {
	if err := model.Check(request(groups)); len(items) > 0 && err != nil {
		return err
	}
	flat := slices.Concat(groups...)
	if len(flat) != len(items) {
		return fmt.Errorf("%d items became %d", len(items), len(flat))
	}
	// Apart from results, and arguments being compact, the order is the one that was given.
	order := func(items []api.HistoryImport) (out []string) {
		for _, it := range items {
			if it.Type != api.ImportToolResult {
				out = append(out, it.Type+"\x00"+it.Text+"\x00"+it.CallID+"\x00"+it.Name)
			}
		}
		return out
	}
	if diff := cmp.Diff(order(items), order(flat)); diff != "" {
		return fmt.Errorf("another order:\n%s", diff)
	}
	for i, group := range groups {
		user := slices.ContainsFunc(group, func(it api.HistoryImport) bool { return it.Type == api.ImportUser })
		if user && len(group) != 1 || group[0].Type == api.ImportToolResult {
			return fmt.Errorf("group %d is neither a user's item nor an answer: %v", i, group)
		}
	}
	return nil
}

func TestAnyInterleavingMakesARequestThatProvidersTake(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := conversation(t)
		before := slices.Clone(items)
		groups, err := content.Import(items, rapid.Bool().Draw(t, "guarded"))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkGroups(items, groups); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, items, plainItems); diff != "" {
			t.Fatalf("the caller's items were changed:\n%s", diff)
		}
		// What was grouped is a conversation that is grouped no further.
		again, err := content.Import(slices.Concat(groups...), false)
		if diff := cmp.Diff(slices.Concat(groups...), slices.Concat(again...), plainItems, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// Taking away any one item of a call's two breaks the conversation.
func TestACallWithoutItsOtherHalfIsRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := conversation(t)
		at := rapid.IntRange(0, len(items)-1).Draw(t, "without")
		if items[at].CallID == "" {
			return
		}
		_, err := content.Import(slices.Delete(slices.Clone(items), at, at+1), false)
		if api.CodeOf(err) != api.CodeInvalidHistory {
			t.Fatalf("without item %d: %v", at, err)
		}
	})
}
