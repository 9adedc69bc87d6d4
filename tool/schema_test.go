package tool_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/tool"
)

func TestCompile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"const":"from the file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	deep := func(levels int) string {
		return `{"type":"object","default":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}"
	}
	tests := []struct {
		name   string
		schema string
		want   string // in the message; "" for success
	}{
		{"an open object is fine", `{"type":"object"}`, ""},
		{"references within the schema are fine", `{"type":"object","$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, ""},
		{"a recursive schema is fine", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, ""},
		{"an older draft is fine", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`, ""},
		{"the deepest schema allowed", deep(tool.MaxSchemaDepth), ""},
		{"one level too deep", deep(tool.MaxSchemaDepth + 1), "nested too deeply"},
		{"the longest schema allowed", `{"type":"object"}` + strings.Repeat(" ", tool.MaxSchemaBytes-17), ""},
		{"one byte too long", `{"type":"object"}` + strings.Repeat(" ", tool.MaxSchemaBytes-16), "at most 64000"},
		{"nothing at all", ``, "there is nothing"},
		{"null", `null`, "must be a JSON object, it is null"},
		{"the boolean schema", `true`, "must be a JSON object, it is a boolean"},
		{"not an object at the top", `{"type":"string"}`, `"type": "object"`},
		{"a union at the top", `{"type":["object","null"]}`, `"type": "object"`},
		{"an unknown type deep inside", `{"type":"object","properties":{"a":{"type":"strin"}}}`, "the input schema is not valid: at /properties/a/type: value must be one of 'array', "},
		{"a pattern that is none", `{"type":"object","properties":{"a":{"pattern":"("}}}`, "regex"},
		{"a key that stands twice", `{"type":"object","properties":{"a":{},"a":{"type":"string"}}}`, `"a" stands twice`},
		{"a reference to nowhere", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, "not found"},
		{"a reference to a file", `{"type":"object","properties":{"a":{"$ref":"file://` + secret + `"}}}`, "only references within the schema"},
		{"a reference to a file by way of $id", `{"$id":"file:///etc/","type":"object","properties":{"a":{"$ref":"hostname"}}}`, "only references within the schema"},
		{"a reference to an address", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, "only references within the schema"},
		{"a dialect that must be loaded", `{"$schema":"http://127.0.0.1:1/dialect","type":"object"}`, "only references within the schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tool.Compile(json.RawMessage(tt.schema))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if got := api.CodeOf(err); got != api.CodeInvalidTool {
				t.Fatalf("code %q, want invalid_tool: %v", got, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("message %q does not say %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "from the file") {
				t.Errorf("the message shows the file: %v", err)
			}
		})
	}
}

// RU8, C18: what a model may not have run is told back to it with what to correct.
func TestValidate(t *testing.T) {
	t.Parallel()
	schema, err := tool.Compile(json.RawMessage(`{
		"type": "object", "required": ["path"], "additionalProperties": false,
		"properties": {
			"path": {"type": "string"},
			"line": {"type": "integer", "minimum": 1},
			"mode": {"enum": ["read", "write"]},
			"data": {}
		}}`))
	if err != nil {
		t.Fatal(err)
	}
	deep := func(levels int) string {
		return `{"path":"","data":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}"
	}
	tests := []struct {
		name string
		args string
		want []string // in the message; none for success
	}{
		{"all that is needed", `{"path":"a"}`, nil},
		{"whole numbers may be written with a fraction of zero", `{"path":"a","line":2.0}`, nil},
		{"white space around", " \n{\"path\":\"a\"}\t", nil},
		{"as deep as allowed", deep(tool.MaxArgumentsDepth), nil},
		{"too deep", deep(tool.MaxArgumentsDepth + 1), []string{"nested too deeply"}},
		{"too long", `{"path":"` + strings.Repeat("a", tool.MaxArgumentsBytes) + `"}`, []string{"at most 512000"}},
		{"a missing field is named", `{}`, []string{"missing property 'path'"}},
		{"several faults are told at once", `{"path":7,"line":0,"mode":"append","extra":1}`,
			[]string{"at /path: got number, want string", "at /line", "at /mode", "'read', 'write'", "'extra'"}},
		{"empty text", ``, []string{"{} for no arguments"}},
		{"cut off", `{"path":"a`, []string{"ends too early"}},
		{"not JSON", `path=a`, []string{"not valid JSON"}},
		{"a trailing comma", `{"path":"a",}`, []string{"not valid JSON"}},
		{"two objects", `{"path":"a"}{"path":"b"}`, []string{"something follows"}},
		{"an array", `[{"path":"a"}]`, []string{"not an array"}},
		{"null", `null`, []string{"not null"}},
		{"a JSON text in a string", `"{\"path\":\"a\"}"`, []string{"not a string"}},
		{"a key that stands twice", `{"path":"a","path":"b"}`, []string{`"path" stands twice`}},
		{"a key that stands twice deep inside", `{"path":"a","data":[{"x":1,"x":1}]}`, []string{`"x" stands twice`}},
		{"keys that are the same once unescaped", `{"path":"a","p\u0061th":"b"}`, []string{`"path" stands twice`}},
		{"invalid UTF-8", "{\"path\":\"\xff\"}", []string{"UTF-8"}},
		{"a number too large for any reader", `{"path":"a","line":1e999999999}`, []string{"out of range"}},
		{"a number too small for any reader", `{"path":"a","line":1e-999999999}`, []string{"out of range"}},
		{"a number of endless digits", `{"path":"a","line":` + strings.Repeat("1", 1000) + `}`, []string{"1000 digits"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := schema.Validate([]byte(tt.args))
			if len(tt.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if got := api.CodeOf(err); got != api.CodeArgumentsInvalid {
				t.Fatalf("code %q, want arguments_invalid: %v", got, err)
			}
			for _, want := range append(tt.want, "was not run", "Correct them") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q does not say %q", err, want)
				}
			}
			problem := errors.Unwrap(err)
			if problem == nil || !strings.Contains(problem.Error(), tt.want[0]) || strings.Contains(problem.Error(), "was not run") || strings.Contains(problem.Error(), "Correct them") {
				t.Errorf("what is wrong alone is %v", problem)
			}
		})
	}
}

func TestAMessageToTheModelIsBounded(t *testing.T) {
	t.Parallel()
	var required []string
	for i := range 400 {
		required = append(required, fmt.Sprintf(`"field%d":{"type":"integer"}`, i))
	}
	schema, err := tool.Compile(json.RawMessage(`{"type":"object","properties":{` + strings.Join(required, ",") + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for i := range 400 {
		args = append(args, fmt.Sprintf(`"field%d":%q`, i, strings.Repeat("x", 500)))
	}
	err = schema.Validate([]byte("{" + strings.Join(args, ",") + "}"))
	if err == nil || len(err.Error()) > 3_000 || !strings.Contains(err.Error(), "and 392 more") {
		t.Errorf("%d bytes: %v", len(fmt.Sprint(err)), err)
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1}`)
	f.Add(`{"type":"object","$defs":{"x":{"anyOf":[{"type":"null"},{"$ref":"#"}]}},"properties":{"a":{"$ref":"#/$defs/x"}}}`, `{"a":{"a":null}}`)
	f.Add(`{"type":"object","patternProperties":{"^a":{"enum":[1,"x",null]}},"unevaluatedProperties":false}`, `{"a":1,"b":2}`)
	f.Add(`{"type":"object","$ref":"#"}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if len(schema) > 2_000 || strings.Count(schema, "$") > 6 {
			return // references that multiply are slow by design; see Compile
		}
		s, err := tool.Compile(json.RawMessage(schema))
		if err != nil {
			if api.CodeOf(err) != api.CodeInvalidTool {
				t.Fatalf("compile: %v", err)
			}
			return
		}
		err = s.Validate([]byte(args))
		if err != nil && api.CodeOf(err) != api.CodeArgumentsInvalid {
			t.Fatalf("validate: %v", err)
		}
		var object map[string]any
		if err == nil && json.Unmarshal([]byte(args), &object) != nil {
			t.Fatalf("accepted what is no object: %q", args)
		}
	})
}
