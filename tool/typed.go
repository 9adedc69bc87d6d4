package tool

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/openworkerai/openworker/api"
)

// MaxErrorBytes bounds the text of a body's error as the model is told it.
const MaxErrorBytes = 8_000

// Options of a tool made by [New]. The zero value is a side effect without inspection, with the default
// time-out and the schema of its input type.
type Options struct {
	// Effect says what a repetition would do (RE3). Defaults to api.SideEffect.
	Effect api.Effect
	// Timeout bounds one attempt. Defaults to api.DefaultToolTimeout; negative is refused.
	Timeout time.Duration
	// Inspect tells what became of an attempt whose process died. It must be safe to repeat. nil: the
	// tool is no [Inspector], and the agent's unknownOutcome decides. [InspectInput] adapts a function
	// that wants the decoded input.
	Inspect func(ctx context.Context, call Call) (Inspection, error)
	// InputSchema replaces the schema that is inferred from the input type. The type must be able to hold
	// whatever the schema allows; what it cannot hold fails the call.
	InputSchema json.RawMessage
}

// New makes a tool of a function. The input schema is inferred from In, a struct (or a map with string
// keys): fields take their names from `json` tags and their descriptions from `jsonschema` tags; fields
// marked omitempty or omitzero are optional; unknown fields are refused. A result that is a string is the
// call's output as it stands, any other is its JSON.
//
// Errors are invalid_tool: a name that no provider accepts, a type without a schema, a result type that JSON
// cannot hold, an unknown effect.
func New[In, Out any](name, description string, fn func(ctx context.Context, call Call, in In) (Out, error), opts ...Options) (Tool, error) {
	if len(opts) > 1 {
		return nil, api.Errorf(api.CodeInvalidTool, "tool %q: %d option values are given; give one", name, len(opts))
	}
	var o Options
	if len(opts) == 1 {
		o = opts[0]
	}
	if fn == nil {
		return nil, api.Errorf(api.CodeInvalidTool, "tool %q has no function", name)
	}
	if _, err := ModelName(name); err != nil {
		return nil, err
	}
	if !utf8.ValidString(description) || strings.ContainsRune(description, 0) {
		return nil, api.Errorf(api.CodeInvalidTool, "tool %q: the description must be UTF-8 without NUL", name)
	}
	switch o.Effect {
	case "", api.SideEffect, api.Idempotent, api.ReadOnly:
	default:
		return nil, api.Errorf(api.CodeInvalidTool, "tool %q: effect %q is not one of %q, %q and %q",
			name, o.Effect, api.SideEffect, api.Idempotent, api.ReadOnly)
	}
	if o.Timeout < 0 {
		return nil, api.Errorf(api.CodeInvalidTool, "tool %q: the time-out %s is negative; 0 means %s", name, o.Timeout, api.DefaultToolTimeout)
	}
	if wrong := unwritable(reflect.TypeFor[Out](), map[reflect.Type]bool{}); wrong != nil {
		return nil, api.Errorf(api.CodeInvalidTool, "tool %q: the result type %s cannot be written as JSON, because of %s; return a string, or a type that can", name, reflect.TypeFor[Out](), wrong)
	}
	schema := o.InputSchema
	if schema == nil {
		var err error
		if schema, err = infer[In](); err != nil {
			return nil, api.Errorf(api.CodeInvalidTool, "tool %q: no input schema can be inferred: %w; change the input type or give an InputSchema", name, err)
		}
	}
	if _, err := Compile(schema); err != nil {
		return nil, api.Errorf(api.CodeInvalidTool, "tool %q: %s", name, api.AsError(err).Message)
	}
	t := &typed[In, Out]{
		declaration: api.ToolDeclaration{Name: name, Description: description, InputSchema: bytes.Clone(schema), Effect: o.Effect},
		timeout:     o.Timeout,
		fn:          fn,
	}
	if o.Inspect != nil {
		return &inspected[In, Out]{typed: t, inspect: o.Inspect}, nil
	}
	return t, nil
}

// Must returns t, or panics with err: for tools that are made when a program starts.
func Must(t Tool, err error) Tool {
	if err != nil {
		panic(err)
	}
	return t
}

// InspectInput adapts an inspection that wants the call's decoded input to [Options].Inspect.
func InspectInput[In any](fn func(ctx context.Context, call Call, in In) (Inspection, error)) func(context.Context, Call) (Inspection, error) {
	return func(ctx context.Context, call Call) (Inspection, error) {
		in, err := decode[In](call.Arguments)
		if err != nil {
			return Inspection{}, err
		}
		return fn(ctx, call, in)
	}
}

type typed[In, Out any] struct {
	declaration api.ToolDeclaration
	timeout     time.Duration
	fn          func(ctx context.Context, call Call, in In) (Out, error)
}

// Declaration returns a copy: a caller cannot change the tool's identity through it.
func (t *typed[In, Out]) Declaration() api.ToolDeclaration {
	d := t.declaration
	d.InputSchema = bytes.Clone(d.InputSchema)
	return d
}

func (t *typed[In, Out]) Timeout() time.Duration { return t.timeout }

func (t *typed[In, Out]) Run(ctx context.Context, call Call) (string, error) {
	in, err := decode[In](call.Arguments)
	if err != nil {
		return "", err
	}
	out, err := t.fn(ctx, call, in)
	if err != nil {
		return "", &bodyError{cause: err}
	}
	if text, ok := any(out).(string); ok {
		return text, nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return "", api.Errorf(api.CodeToolFailed, "the tool %s ran, but its result cannot be written as JSON: %w", call.Tool, err)
	}
	return string(data), nil
}

// inspected is a type of its own, so that a tool without an inspection does not look like an Inspector.
type inspected[In, Out any] struct {
	*typed[In, Out]
	inspect func(ctx context.Context, call Call) (Inspection, error)
}

func (t *inspected[In, Out]) Inspect(ctx context.Context, call Call) (Inspection, error) {
	return t.inspect(ctx, call)
}

// bodyError is the error of a tool's body: its text bounded and made UTF-8 for the model, the error itself
// kept for errors.Is and errors.As.
type bodyError struct{ cause error }

func (e *bodyError) Error() string {
	return bound(strings.ToValidUTF8(e.cause.Error(), "\uFFFD"), MaxErrorBytes)
}

func (e *bodyError) Unwrap() error { return e.cause }

// decode reads arguments that match the schema into the input type. What the type cannot hold although
// the schema allows it is the model's to correct.
func decode[In any](args json.RawMessage) (In, error) {
	var in In
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	if err == nil {
		return in, nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("at /%s: %s cannot be read as %s", strings.ReplaceAll(wrong.Field, ".", "/"), wrong.Value, wrong.Type)
	}
	return in, argumentsError(err.Error())
}

// unwritable is the type, t or one within it, that encoding/json refuses whatever its value, nil where there
// is none. What stands behind an interface shows only when the tool runs.
func unwritable(t reflect.Type, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return t
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return unwritable(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			tag := f.Tag.Get("json")
			if !f.IsExported() && !f.Anonymous || tag == "-" || strings.Contains(tag, ",omitzero") {
				continue
			}
			if wrong := unwritable(f.Type, seen); wrong != nil {
				return wrong
			}
		}
	}
	return nil
}

// infer makes the input schema of a type in the form that the strictest providers take: an object at the
// top, closed, without unions with null.
func infer[In any]() (json.RawMessage, error) {
	t := reflect.TypeFor[In]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil, fmt.Errorf("%s is no struct and no map", t)
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		// encoding/json writes bytes as base64 and raw JSON as it stands.
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return nil, err
	}
	withoutNull(s)
	if t.Kind() == reflect.Struct && len(s.Properties) == 0 {
		s.Properties = map[string]*jsonschema.Schema{} // some servers want the key, even when there is nothing in it
	}
	return json.Marshal(s)
}

// withoutNull removes "null" from every list of types: an optional field is left out, not null.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	var kept []string
	for _, t := range s.Types {
		if t != "null" {
			kept = append(kept, t)
		}
	}
	switch len(kept) {
	case 0:
	case 1:
		s.Type, s.Types = kept[0], nil
	default:
		s.Types = kept
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
	for _, p := range s.Properties {
		withoutNull(p)
	}
}
