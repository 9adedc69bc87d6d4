package spec_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/spec"
)

// filler makes values of Go types in which each field is set. What a field may hold, where that is not just its Go type, is
// taken from the schema, so that what Go writes of the value shows whether the two agree.
type filler struct {
	t    *testing.T
	doc  *spec.Document
	kind int  // of types with kinds, which one
	full bool // optional fields too
}

// schema follows references, and chooses the kind.
func (f filler) schema(s *spec.Schema) *spec.Schema {
	for s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		if s = f.doc.Defs[name]; s == nil {
			f.t.Fatalf("the schema refers to %s, which is not defined", name)
		}
		if s.Type == "" && len(s.OneOf) > 0 {
			s = s.OneOf[f.kind%len(s.OneOf)]
		}
	}
	return s
}

func (f filler) fill(v reflect.Value, s *spec.Schema) {
	s = f.schema(s)
	switch value := v.Addr().Interface().(type) {
	case *api.Event:
		f.event(value)
		return
	case *time.Time:
		*value = time.Date(2026, 1, 31, 12, 0, 0, 123_000_000, time.UTC)
		return
	case *json.RawMessage:
		*value = json.RawMessage(`{"any":["thing"]}`)
		if len(s.AnyOf) > 0 {
			*value = json.RawMessage(`"c1"`)
		}
		return
	case *[]byte:
		*value = []byte{0, 1, 254, 255}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), s)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.String:
		v.SetString(text(s))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), s.Items)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value, s.Additional)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Struct:
		f.object(v, s)
	default:
		f.t.Fatalf("a %s crosses the wire, and this test cannot make one", v.Type())
	}
}

// object sets the fields that the schema has. One that only Go has stays empty, and shows where it is always written.
func (f filler) object(v reflect.Value, s *spec.Schema) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported():
		case field.Anonymous:
			f.object(v.Field(i), s)
		default:
			at := slices.IndexFunc(s.Properties, func(p spec.Property) bool { return p.Name == name })
			if at < 0 || !f.full && !slices.Contains(s.Required, name) {
				continue
			}
			f.fill(v.Field(i), s.Properties[at].Schema)
		}
	}
}

// text is a string that the schema takes.
func text(s *spec.Schema) string {
	switch {
	case s.Const != "":
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.OneOf) > 0:
		return s.OneOf[0].Const
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].Const
	}
	return "text"
}

// sample is a value that one side may send.
type sample struct {
	name, def string // def is that of its type
	value     any
}

// event sets an event of a type, with its data.
func (f filler) event(e *api.Event) {
	of := f.doc.Events[f.kind%len(f.doc.Events)]
	*e = api.Event{Type: of.Type, Time: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	if f.full {
		e.Run = "run"
	}
	if of.Stored {
		e.Number = 7
	}
	if of.Data != nil {
		data := reflect.New(f.doc.Types[strings.TrimPrefix(of.Data.Ref, "#/$defs/")])
		f.fill(data.Elem(), of.Data)
		e.Data = encoded(f.t, data.Interface())
	}
}

func encoded(t *testing.T, value any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// samples are values of all types: with all their fields and with no more than must be there, of each kind, and of events each
// type of event.
func samples(t *testing.T, doc *spec.Document) []sample {
	t.Helper()
	var out []sample
	for _, name := range slices.Sorted(maps.Keys(doc.Types)) {
		kinds := max(1, len(doc.Defs[name].OneOf))
		if name == "Event" {
			kinds = len(doc.Events)
		}
		for kind := range kinds {
			for _, full := range []bool{true, false} {
				f, v := filler{t, doc, kind, full}, reflect.New(doc.Types[name])
				f.fill(v.Elem(), &spec.Schema{Ref: "#/$defs/" + name})
				out = append(out, sample{fmt.Sprintf("%s %d full=%t", name, kind, full), name, v.Interface()})
			}
		}
	}
	return out
}
