package runtime

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
)

// schemas has one tool, whose schema takes any object.
func schemas(t testing.TB) *Agent {
	t.Helper()
	schema, err := tool.Compile(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	return &Agent{schemas: map[string]*tool.Schema{"act": schema}}
}

// asks is the stored form of a call with arguments.
func asks(agent *Agent, name, arguments string) engine.Item {
	return answerItems(agent, model.Response{Stop: model.StopToolCalls, Items: []model.ResponseItem{{Kind: model.ToolCallItem, Name: name, Arguments: arguments}}})[0]
}

// RU5, RU8: what is stored is said again in each later request, so arguments that some provider cannot read are not stored. The
// model is told why, and how they began.
func TestArgumentsThatAProviderCannotReadAreNotStored(t *testing.T) {
	t.Parallel()
	agent := schemas(t)
	for _, c := range []struct{ name, arguments, stored, says string }{
		{"an object", `{"a":1.50,"b":1e300}`, `{"a":1.50,"b":1e300}`, ""},
		{"nothing", ``, `{}`, ""},
		{"half a character", `{"a":"\ud83d"}`, `{"a":"\ufffd"}`, ""},
		{"a key twice", `{"a":1,"a":2}`, `{}`, `"a" stands twice`},
		{"a key twice, deep inside", `{"x":[{"a":1,"\u0061":2}]}`, `{}`, `"a" stands twice`},
		{"a number beyond a float64", `{"a":1e999}`, `{}`, "1e999 is out of range"},
		{"a number just beyond", `{"a":9e308}`, `{}`, "9e308 is out of range"},
		{"a number beyond, in digits", `{"a":` + strings.Repeat("9", 350) + `}`, `{}`, "out of range"},
		{"a number that would become 0", `{"a":1e-999}`, `{}`, "1e-999 is out of range"},
		{"65 levels", `{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, `{}`, "too deeply"},
		{"a list", `[1]`, `{}`, "not an array"},
		{"cut off", `{"a":`, `{}`, "ends too early"},
		{"not UTF-8", "{\"a\":\"\xff\"}", `{}`, "not valid UTF-8"},
	} {
		for _, name := range []string{"act", "nobody_has_it"} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				t.Parallel()
				got := asks(agent, name, c.arguments)
				switch {
				case got.Arguments != c.stored:
					t.Errorf("stored is %s", got.Arguments)
				case c.says == "" && (got.Code != "" || got.Message != ""):
					t.Errorf("refused: %s %s", got.Code, got.Message)
				case c.says != "" && (got.Code != api.CodeArgumentsInvalid || !strings.Contains(got.Message, c.says) || !strings.Contains(got.Message, fmt.Sprintf("The arguments began: %q", firstBytes(c.arguments, 200)))):
					t.Errorf("the model is told %s %s", got.Code, got.Message)
				}
			})
		}
	}
}

// Whatever a model writes, the next request is one that every provider takes.
func TestAnyArgumentsMakeARequestThatProvidersTake(t *testing.T) {
	t.Parallel()
	agent := schemas(t)
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"a":1`, `"a":2`, `"\u0061":3`, `"b":{}`, `"c":[1e999]`, `"d":9e308`, `"e":"\ud83d"`, `"f":1e-999`, "\xff", "\x00", " ", `0`,
		`{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"g":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, `{}`, `null`,
	})
	rapid.Check(t, func(t *rapid.T) {
		arguments := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		if rapid.Bool().Draw(t, "in braces") {
			arguments = "{" + arguments + "}"
		}
		got := asks(agent, "act", arguments)
		req := model.Request{Model: "m", Items: []model.Item{
			{Kind: model.UserItem, Text: "go"},
			{Kind: model.ToolCallItem, CallID: "c", Name: got.Name, Arguments: json.RawMessage(got.Arguments)},
			{Kind: model.ToolResultItem, CallID: "c", Output: got.Message},
		}}
		if err := model.Check(req); err != nil {
			t.Fatalf("%q: %v", arguments, err)
		}
		if got.Code == "" && got.Arguments != "{}" && got.Arguments != strings.TrimSpace(string(model.MendJSON([]byte(arguments)))) {
			t.Fatalf("%q became %s without a word", arguments, got.Arguments)
		}
	})
}
