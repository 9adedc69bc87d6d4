package spec_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/spec"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/rpc"
)

// compiled are the schemas of the types in the document as other programs read it.
func compiled(t *testing.T, doc *spec.Document) map[string]*jsonschema.Schema {
	t.Helper()
	text, err := doc.JSON()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("rpc.json", whole); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for name := range doc.Defs {
		if schemas[name], err = c.Compile("rpc.json#/$defs/" + name); err != nil {
			t.Fatal(err)
		}
	}
	return schemas
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestWhatGoWritesValidatesAndReadsBackTheSame(t *testing.T) {
	t.Parallel()
	doc := document(t)
	schemas := compiled(t, doc)
	for _, s := range samples(t, doc) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			text := encoded(t, s.value)
			if err := schemas[s.def].Validate(decoded(t, text)); err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			back := reflect.New(reflect.TypeOf(s.value).Elem()).Interface()
			in := json.NewDecoder(bytes.NewReader(text))
			in.DisallowUnknownFields()
			if err := in.Decode(back); err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			if diff := cmp.Diff(s.value, back, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(api.HistoryImport{})); diff != "" {
				t.Errorf("it reads back as something else (-sent +read):\n%s", diff)
			}
		})
	}
}

// A property of a type of kinds is in some kind, so that each property of each type is written by one of the samples.
func TestTheSamplesHaveEveryFieldOfEveryType(t *testing.T) {
	t.Parallel()
	doc := document(t)
	written := map[string]map[string]bool{}
	for _, s := range samples(t, doc) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(encoded(t, s.value), &fields); err != nil {
			t.Fatal(err)
		}
		if written[s.def] == nil {
			written[s.def] = map[string]bool{}
		}
		for field := range maps.Keys(fields) {
			written[s.def][field] = true
		}
	}
	for name, typ := range doc.Types {
		for _, f := range reflect.VisibleFields(typ) {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && !f.Anonymous && !written[name][key] {
				t.Errorf("%s.%s crosses the wire, and no kind of it has %q: see the tables of shapes.go", name, f.Name, key)
			}
		}
	}
}

func TestWhatATypeDoesNotHaveDoesNotValidate(t *testing.T) {
	t.Parallel()
	doc := document(t)
	schemas := compiled(t, doc)
	for _, s := range samples(t, doc) {
		value := decoded(t, encoded(t, s.value)).(map[string]any)
		value["unheardOf"] = true
		if schemas[s.def].Validate(value) == nil {
			t.Errorf("%s takes the field unheardOf", s.name)
		}
		delete(value, "unheardOf")
		for field, was := range maps.Clone(value) {
			value[field] = []any{[]any{true}}
			if err := schemas[s.def].Validate(value); err == nil && !anything[s.def+"."+field] {
				t.Errorf("%s takes an array of an array as its %s", s.name, field)
			}
			value[field] = was
		}
	}
}

// anything are the fields that hold any JSON.
var anything = map[string]bool{
	"AgentDefinition.memory": true, "AgentDefinition.planning": true, "AgentDefinition.scheduling": true, "AgentDefinition.delegation": true,
	"AgentDefinition.team": true, "AgentDefinition.workspaceTools": true, "AgentDefinition.sandbox": true,
	"InteractionResolved.arguments": true, "ModelItem.arguments": true, "ToolResult.arguments": true,
}

func TestTheSchemaTellsRightFromWrong(t *testing.T) {
	t.Parallel()
	schemas := compiled(t, document(t))
	for _, tt := range []struct {
		name, def, json string
		ok              bool
	}{
		{"a text block", "ContentBlock", `{"type":"text","text":"hi"}`, true},
		{"a text block with a source", "ContentBlock", `{"type":"text","text":"hi","source":{"type":"text","data":"x"}}`, false},
		{"a document of text", "ContentBlock", `{"type":"document","name":"a.md","source":{"type":"text","mediaType":"text/plain","data":"x"}}`, true},
		{"a file at an address", "ContentBlock", `{"type":"image","name":"a.png","source":{"type":"url","data":"https://example.com"}}`, false},
		{"an imported output that is empty", "HistoryImport", `{"type":"tool_result","callId":"a","output":""}`, true},
		{"an imported call whose arguments are text", "HistoryImport", `{"type":"tool_call","callId":"a","name":"b","arguments":"{}"}`, false},
		{"an answer with other arguments", "Answer", `{"decision":"allow","arguments":{"a":1},"by":"ann"}`, true},
		{"a refusal with an output", "Answer", `{"decision":"deny","output":"x"}`, false},
		{"a decision that is no answer", "Answer", `{"decision":"cancelled"}`, false},
		{"a question without its text", "Interaction", `{"id":"i","kind":"question","run":"r","asked":"2026-01-31T12:00:00Z"}`, false},
		{"a code of a later version", "Failure", `{"code":"never_heard_of","message":"m","retryable":false}`, true},
		{"an event of a later version's type", "Event", `{"type":"never_heard_of","number":3,"time":"2026-01-31T12:00:00Z","data":[1]}`, true},
		{"an event with the data of another", "Event", `{"type":"turn_ended","number":3,"time":"2026-01-31T12:00:00Z","data":{"call_id":"c","attempt":1}}`, false},
		{"a stored event without its number", "Event", `{"type":"turn_started","time":"2026-01-31T12:00:00Z"}`, false},
		{"a live event with a number", "Event", `{"type":"text_delta","number":3,"time":"2026-01-31T12:00:00Z","data":{"call":1,"attempt":1,"epoch":1,"from":0,"text":"x"}}`, false},
		{"a time that is none", "Event", `{"type":"turn_started","number":3,"time":"yesterday"}`, false},
		{"a status that there is not", "Result", `{"run":"r","status":"done","text":"","usage":{"inputTokens":0,"outputTokens":0},"modelCalls":0,"auto_approved":0}`, false},
		{"a number of an event below zero", "EventQuery", `{"session":"s","after":-1}`, false},
		{"an id that is a number", "CancelRequest", `{"id":3}`, true},
		{"an id that is an object", "CancelRequest", `{"id":{}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := schemas[tt.def].Validate(decoded(t, []byte(tt.json))); (err == nil) != tt.ok {
				t.Errorf("it is right: %t; validation says: %v", tt.ok, err)
			}
		})
	}
}

// What stands in tables, since a field is a plain string in Go, are the values that the packages have which fill it.
func TestPlainStringsHaveTheValuesOfWhoeverFillsThem(t *testing.T) {
	t.Parallel()
	doc := document(t)
	entries := []string{string(engine.EntryUser), string(engine.EntryText), string(engine.EntryReasoning), string(engine.EntryCall),
		string(engine.EntryResult), string(engine.EntryNotice), string(engine.EntrySummary)}
	var points []string
	for _, p := range guard.Points() {
		points = append(points, string(p))
	}
	outcomes := []string{string(tool.Succeeded), string(tool.Failed), string(tool.NotStarted), string(tool.StillRunning), string(tool.Unknown)}
	for field, want := range map[string][]string{
		"HistoryItem.type":         entries,
		"ImportedItem.type":        {api.ImportUser, api.ImportAssistant, api.ImportToolCall, api.ImportToolResult},
		"HistoryImport.type":       {api.ImportUser, api.ImportAssistant, api.ImportToolCall, api.ImportToolResult},
		"ModelItem.type":           {string(model.UserItem), string(model.AssistantItem), string(model.ReasoningItem), string(model.ToolCallItem), string(model.ToolResultItem)},
		"ModelCallFinished.stop":   {string(model.StopEnd), string(model.StopToolCalls), string(model.StopOutputLimit), string(model.StopFiltered)},
		"ModelCall.purpose":        {string(guard.PurposeTurn), string(guard.PurposeReview), string(guard.PurposeCompaction)},
		"Unit.point":               points,
		"GuardVerdict.point":       points,
		"RegisterGuardrail.points": points,
		"Inspection.outcome":       outcomes,
		"ToolCallInspected.answer": outcomes,
	} {
		name, key, _ := strings.Cut(field, ".")
		alternatives := doc.Defs[name].OneOf
		if alternatives == nil {
			alternatives = []*spec.Schema{{Ref: "#/$defs/" + name}}
		}
		var got []string
		for _, s := range alternatives {
			if def, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
				s = doc.Defs[def]
			}
			at := slices.IndexFunc(s.Properties, func(p spec.Property) bool { return p.Name == key })
			of := s.Properties[at].Schema
			if of.Items != nil {
				of = of.Items
			}
			got = append(got, of.Enum...)
			if of.Const != "" {
				got = append(got, of.Const)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

func TestTheDocumentHasEveryMethodAndCode(t *testing.T) {
	t.Parallel()
	doc := document(t)
	for _, m := range rpc.Methods() {
		at := slices.IndexFunc(doc.Methods, func(d spec.Method) bool { return d.Name == m.Name })
		if at < 0 {
			t.Errorf("%s is missing", m.Name)
			continue
		}
		d := doc.Methods[at]
		if d.Notification != (m.Result == nil) || (d.Caller == "runtime") != m.FromRuntime || d.Description == "" {
			t.Errorf("%s: %+v", m.Name, d)
		}
	}
	var codes []string
	for _, c := range api.Codes() {
		codes = append(codes, string(c.Code))
	}
	var defined []string
	for _, s := range doc.Defs["Code"].AnyOf {
		if s.Const != "" {
			defined = append(defined, s.Const)
		}
	}
	if diff := cmp.Diff(codes, defined, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("codes (-table +schema):\n%s", diff)
	}
}
