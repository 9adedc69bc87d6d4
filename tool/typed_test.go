package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
)

type lookup struct {
	Name  string   `json:"name" jsonschema:"the project's name"`
	Tags  []string `json:"tags,omitempty"`
	Limit *int     `json:"limit,omitempty" jsonschema:"how many to return"`
}

func echo(_ context.Context, _ tool.Call, in lookup) (lookup, error) { return in, nil }

func TestTheSchemaIsInferredInTheFormThatStrictProvidersTake(t *testing.T) {
	t.Parallel()
	tl := tool.Must(tool.New("app.lookup", "Finds a project.", echo, tool.Options{Effect: api.ReadOnly, Timeout: time.Second}))
	want := api.ToolDeclaration{
		Name: "app.lookup", Description: "Finds a project.", Effect: api.ReadOnly,
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"name":{"type":"string","description":"the project's name"},` +
			`"tags":{"type":"array","items":{"type":"string"}},` +
			`"limit":{"type":"integer","description":"how many to return"}},` +
			`"required":["name"],"additionalProperties":false}`),
	}
	if diff := cmp.Diff(want, tl.Declaration()); diff != "" {
		t.Error(diff)
	}
	if tl.Timeout() != time.Second {
		t.Errorf("time-out %s", tl.Timeout())
	}
}

func TestInferredSchemas(t *testing.T) {
	t.Parallel()
	type nested struct {
		Rows []struct {
			When *time.Time `json:"when"`
		} `json:"rows"`
		Raw   json.RawMessage  `json:"raw,omitempty"`
		Bytes []byte           `json:"bytes,omitempty"`
		Maps  map[string][]int `json:"maps,omitempty"`
	}
	tests := []struct {
		name string
		make func() (tool.Tool, error)
		want string
	}{
		{"no fields", func() (tool.Tool, error) { return newTool[struct{}]() },
			`{"type":"object","properties":{},"additionalProperties":false}`},
		{"a map is an open object", func() (tool.Tool, error) { return newTool[map[string]int]() },
			`{"type":"object","additionalProperties":{"type":"integer"}}`},
		{"a pointer to a struct is the struct", func() (tool.Tool, error) { return newTool[*struct{}]() },
			`{"type":"object","properties":{},"additionalProperties":false}`},
		{"no null at any depth, bytes as base64", func() (tool.Tool, error) { return newTool[nested]() },
			`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"when":{"type":"string"}},` +
				`"required":["when"],"additionalProperties":false}},"raw":true,"bytes":{"type":"string","contentEncoding":"base64"},` +
				`"maps":{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}},` +
				`"required":["rows"],"additionalProperties":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tl, err := tt.make()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(tl.Declaration().InputSchema)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func newTool[In any]() (tool.Tool, error) {
	return tool.New("t", "", func(context.Context, tool.Call, In) (string, error) { return "", nil })
}

func TestAToolThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	type loop struct {
		Next *loop `json:"next,omitempty"`
	}
	with := func(name, description string, opts ...tool.Options) func() (tool.Tool, error) {
		return func() (tool.Tool, error) { return tool.New(name, description, echo, opts...) }
	}
	tests := []struct {
		name string
		make func() (tool.Tool, error)
		want string
	}{
		{"no name", with("", ""), "needs a name"},
		{"a name with a blank", with("app lookup", ""), "holds ' '"},
		{"a name too long once its dots are mapped", with(strings.Repeat("a.", 22), ""), "66 bytes"},
		{"a description with a NUL", with("a", "x\x00"), "NUL"},
		{"an unknown effect", with("a", "", tool.Options{Effect: "maybe"}), `effect "maybe"`},
		{"a negative time-out", with("a", "", tool.Options{Timeout: -1}), "negative"},
		{"two option values", with("a", "", tool.Options{}, tool.Options{}), "give one"},
		{"a schema that is no object's", with("a", "", tool.Options{InputSchema: json.RawMessage(`{"type":"array"}`)}), `"type": "object"`},
		{"no function", func() (tool.Tool, error) { return tool.New[lookup, string]("a", "", nil) }, "no function"},
		{"an input that is no object", func() (tool.Tool, error) { return newTool[string]() }, "string is no struct"},
		{"an input that contains itself", func() (tool.Tool, error) { return newTool[loop]() }, "cycle"},
		{"a result that is a channel", returning[chan int], "chan int"},
		{"a result with a function deep inside", returning[[]map[string]*struct{ F func() }], "because of func()"},
		{"an input with a channel", func() (tool.Tool, error) { return newTool[struct{ C chan int }]() }, "chan int"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.make()
			if api.CodeOf(err) != api.CodeInvalidTool || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want invalid_tool that says %q", err, tt.want)
			}
		})
	}
}

func returning[Out any]() (tool.Tool, error) {
	return tool.New("t", "", func(context.Context, tool.Call, struct{}) (out Out, err error) { return out, nil })
}

// itself writes its own JSON, whatever it holds.
type itself struct{ C chan int }

func (*itself) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func TestAResultThatJSONCanHoldIsAccepted(t *testing.T) {
	t.Parallel()
	type tree struct {
		Children []tree
		hidden   chan int
		Left     func() `json:"-"`
		Absent   func() `json:"absent,omitzero"`
	}
	for name, make := range map[string]func() (tool.Tool, error){
		"a type that contains itself": returning[tree], "its own JSON": returning[*itself], "a time": returning[time.Time], "anything": returning[any],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := make()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := made.Run(t.Context(), tool.Call{Arguments: json.RawMessage("{}")}); err != nil {
				t.Errorf("accepted, and then: %v", err)
			}
		})
	}
	_ = tree{}.hidden
}

func TestRun(t *testing.T) {
	t.Parallel()
	type number struct {
		N int `json:"n"`
	}
	errGone := errors.New("gone")
	tests := []struct {
		name string
		tool tool.Tool
		args string
		want string
		err  string // in the error; "" for success
		code api.Code
	}{
		{"a string result passes as it is", tool.Must(tool.New("t", "", func(_ context.Context, c tool.Call, in number) (string, error) {
			return c.ID + `: "x" <y>`, nil
		})), `{"n":1}`, `call-1: "x" <y>`, "", ""},
		{"any other result is its JSON", tool.Must(tool.New("t", "", echo)), `{"name":"a"}`, `{"name":"a"}`, "", ""},
		{"no result is an empty object", tool.Must(tool.New("t", "", func(context.Context, tool.Call, number) (struct{}, error) {
			return struct{}{}, nil
		})), `{"n":1}`, `{}`, "", ""},
		{"the body's error keeps its text", tool.Must(tool.New("t", "", func(context.Context, tool.Call, number) (string, error) {
			return "ignored", errGone
		})), `{"n":1}`, "", "gone", api.CodeInternal},
		{"a field that the input type does not have", tool.Must(tool.New("t", "", func(context.Context, tool.Call, number) (string, error) {
			return "ran", nil
		})), `{"n":1,"m":2}`, "", `unknown field "m"`, api.CodeArgumentsInvalid},
		{"a value that the schema allows and the type cannot hold", tool.Must(tool.New("t", "", func(context.Context, tool.Call, number) (string, error) {
			return "ran", nil
		})), `{"n":2.0}`, "", "at /n: number 2.0 cannot be read as int", api.CodeArgumentsInvalid},
		{"a result without a JSON form", tool.Must(tool.New("t", "", func(context.Context, tool.Call, number) (any, error) {
			return make(chan int), nil
		})), `{"n":1}`, "", "cannot be written as JSON", api.CodeToolFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := tt.tool.Run(t.Context(), tool.Call{ID: "call-1", Tool: "t", Arguments: json.RawMessage(tt.args)})
			if tt.err == "" {
				if err != nil || out != tt.want {
					t.Errorf("got %q, %v", out, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.err) || api.CodeOf(err) != tt.code || out != "" {
				t.Errorf("got %q, %v (%s), want %s that says %q", out, err, api.CodeOf(err), tt.code, tt.err)
			}
		})
	}
}

func TestAnErrorsTextIsBoundedAndItsCauseKept(t *testing.T) {
	t.Parallel()
	cause := errors.New(strings.Repeat("é", tool.MaxErrorBytes) + "\xff")
	tl := tool.Must(tool.New("t", "", func(context.Context, tool.Call, struct{}) (string, error) { return "", cause }))
	_, err := tl.Run(t.Context(), tool.Call{Arguments: json.RawMessage(`{}`)})
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	if text := err.Error(); len(text) > tool.MaxErrorBytes || len(text) < tool.MaxErrorBytes-10 || !utf8.ValidString(text) {
		t.Errorf("%d bytes, valid UTF-8: %t", len(text), utf8.ValidString(text))
	}
}

func TestOnlyAToolWithAnInspectionIsAnInspector(t *testing.T) {
	t.Parallel()
	plain := tool.Must(tool.New("t", "", echo))
	if _, ok := plain.(tool.Inspector); ok {
		t.Error("a tool without Inspect claims to be an Inspector")
	}
	inspected := tool.Must(tool.New("t", "", echo, tool.Options{
		Inspect: tool.InspectInput(func(_ context.Context, c tool.Call, in lookup) (tool.Inspection, error) {
			return tool.Inspection{Outcome: tool.Succeeded, Output: c.ID + " " + in.Name}, nil
		}),
	}))
	inspector, ok := inspected.(tool.Inspector)
	if !ok {
		t.Fatal("a tool with Inspect is no Inspector")
	}
	got, err := inspector.Inspect(t.Context(), tool.Call{ID: "call-1", Arguments: json.RawMessage(`{"name":"a"}`)})
	if err != nil || got != (tool.Inspection{Outcome: tool.Succeeded, Output: "call-1 a"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := inspector.Inspect(t.Context(), tool.Call{Arguments: json.RawMessage(`[]`)}); api.CodeOf(err) != api.CodeArgumentsInvalid {
		t.Errorf("got %v for arguments that do not decode", err)
	}
	if out, err := inspected.Run(t.Context(), tool.Call{Arguments: json.RawMessage(`{"name":"a"}`)}); err != nil || out != `{"name":"a"}` {
		t.Errorf("an inspected tool ran to %q, %v", out, err)
	}
}

func TestADeclarationCannotBeChangedFromOutside(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object"}`)
	tl := tool.Must(tool.New("t", "", echo, tool.Options{InputSchema: schema}))
	schema[0] = 'x'
	tl.Declaration().InputSchema[0] = 'y'
	if got := string(tl.Declaration().InputSchema); got != `{"type":"object"}` {
		t.Errorf("the schema is now %s", got)
	}
}

func TestMustPanicsWithTheError(t *testing.T) {
	t.Parallel()
	defer func() {
		if err, ok := recover().(error); !ok || api.CodeOf(err) != api.CodeInvalidTool {
			t.Errorf("recovered %v", err)
		}
	}()
	tool.Must(tool.New("", "", echo))
	t.Error("Must returned")
}

func TestModelName(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, want string }{
		{"app.lookup", "app__lookup"},
		{"a-b_C9", "a-b_C9"},
		{strings.Repeat("a", 64), strings.Repeat("a", 64)},
		{strings.Repeat("a", 65), ""},
		{"", ""},
		{"a/b", ""},
		{"naïve", ""},
		{"a\x00", ""},
	}
	for _, tt := range tests {
		got, err := tool.ModelName(tt.name)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("ModelName(%q) = %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}
