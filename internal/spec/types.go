package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
)

// types makes the schemas of Go types: those with a name of their own are defined once, and referred to.
type types struct {
	source *source
	defs   map[string]*Schema
	types  map[string]reflect.Type // of the structs among them
}

// of is the schema of a type. at is the field that has it, as "Type.field".
func (b *types) of(t reflect.Type, at string) (*Schema, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &Schema{Type: "string", Format: "date-time"}, nil
	case reflect.TypeFor[json.RawMessage]():
		if s, ok := raw[at]; ok {
			held := *s
			return &held, nil
		}
		return &Schema{}, nil
	case reflect.TypeFor[[]byte]():
		return &Schema{Type: "string", ContentEncoding: "base64"}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.of(t.Elem(), at)
	case reflect.Bool:
		return &Schema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return &Schema{Type: "integer"}, nil
	case reflect.Uint64:
		return &Schema{Type: "integer", Minimum: new(int)}, nil
	case reflect.String:
		if t.PkgPath() != "" {
			return b.named(t, b.strings)
		}
		if of, ok := words[at]; ok {
			return &Schema{Type: "string", Enum: of}, nil
		}
		return &Schema{Type: "string"}, nil
	case reflect.Slice:
		items, err := b.of(t.Elem(), at)
		return &Schema{Type: "array", Items: items}, err
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			values, err := b.of(t.Elem(), at)
			return &Schema{Type: "object", Additional: values}, err
		}
	case reflect.Struct:
		b.types[t.Name()] = t
		return b.named(t, b.object)
	}
	return nil, fmt.Errorf("%s: there is no rule for the Go type %s", at, t)
}

// named refers to a type, and defines it where that is not done yet.
func (b *types) named(t reflect.Type, define func(reflect.Type) (*Schema, error)) (*Schema, error) {
	name := t.Name()
	if _, ok := b.source.types[name]; !ok || !slices.ContainsFunc(packages, func(p string) bool { return path.Base(p) == path.Base(t.PkgPath()) }) {
		return nil, fmt.Errorf("%s crosses the wire and is not of %s", t, strings.Join(packages, " or "))
	}
	if _, ok := b.defs[name]; !ok {
		b.defs[name] = nil // under way: a type may hold itself
		s, err := define(t)
		if err != nil {
			return nil, err
		}
		b.defs[name] = s
	}
	return ref(name), nil
}

// strings is the schema of a type of strings: one of its constants.
func (b *types) strings(t reflect.Type) (*Schema, error) {
	values := b.source.values[t.Name()]
	if len(values) == 0 {
		return nil, fmt.Errorf("%s has no constants, so nobody knows its values", t)
	}
	s := &Schema{Description: b.source.ofType(t.Name(), nil), Type: "string"}
	meanings := map[string]string{}
	for _, c := range api.Codes() {
		meanings[string(c.Code)] = c.Meaning
	}
	for _, v := range values {
		one := &Schema{Const: v.name, Description: b.source.ofValue(v, nil)}
		switch t.Name() {
		case "Code": // its table says more than the constants
			one.Description = meanings[v.name]
		case "EventType":
			data, when, err := event(v.comment)
			if err != nil {
				return nil, err
			}
			if one.Description = when; data == "" {
				one.Description += "; it has no data"
			}
		}
		s.OneOf = append(s.OneOf, one)
	}
	if open[t.Name()] {
		s.AnyOf, s.OneOf = append(s.OneOf, &Schema{Description: "what a later version adds"}), nil
	}
	return s, nil
}

// field is one field of an object, embedded ones included.
type field struct {
	Property
	optional bool
}

// fields lists the fields of a struct as encoding/json has them.
func (b *types) fields(t reflect.Type) ([]field, error) {
	keys := map[string]string{}
	jsonKeys(t, keys)
	var out []field
	for f := range fieldsOf(t) {
		if f.Anonymous {
			embedded, err := b.fields(f.Type)
			if err != nil {
				return nil, err
			}
			out = append(out, embedded...)
			continue
		}
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" {
			return nil, fmt.Errorf("%s.%s has no name in JSON", t, f.Name)
		}
		if key == "-" {
			continue
		}
		s, err := b.of(f.Type, t.Name()+"."+key)
		if err != nil {
			return nil, err
		}
		optional := strings.Contains(options, "omit") || f.Type.Kind() == reflect.Pointer
		s.Description = b.source.ofField(t.Name(), f.Name, keys, optional)
		if of, ok := words[t.Name()+"."+key]; ok && lists(s.Description, of) {
			s.Description = ""
		}
		out = append(out, field{Property{key, s}, optional})
	}
	return out, nil
}

// fieldsOf yields the exported fields and the embedded structs.
func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !yield(f) {
				return
			}
		}
	}
}

// jsonKeys collects a struct's names in JSON by those in Go.
func jsonKeys(t reflect.Type, into map[string]string) {
	for f := range fieldsOf(t) {
		if f.Anonymous {
			jsonKeys(f.Type, into)
		} else if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" && key != "-" {
			into[f.Name] = key
		}
	}
}

// object is the schema of a struct: closed, or one of its kinds.
func (b *types) object(t reflect.Type) (*Schema, error) {
	fields, err := b.fields(t)
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	jsonKeys(t, keys)
	description := b.source.ofType(t.Name(), keys)
	for _, f := range fields {
		if f.optional {
			description = strings.ReplaceAll(description, "`"+f.Name+"` is \"\"", "`"+f.Name+"` is absent")
		}
	}
	if t.Name() == "Event" {
		return b.event(fields, description)
	}
	of, ok := kinds[t.Name()]
	if !ok {
		return closed(fields, description), nil
	}
	return b.oneOf(t.Name(), of, fields, keys, description)
}

func closed(fields []field, description string) *Schema {
	s := &Schema{Description: description, Type: "object", Properties: Properties{}, Additional: &Schema{Never: true}}
	for _, f := range fields {
		s.Properties = append(s.Properties, f.Property)
		if !f.optional {
			s.Required = append(s.Required, f.Name)
		}
	}
	return s
}

// oneOf is the schema of a type whose fields depend on its kind.
func (b *types) oneOf(name string, of Kinds, fields []field, keys map[string]string, description string) (*Schema, error) {
	own := map[string]bool{of.By: true} // of some kind
	for _, k := range of.Kinds {
		for _, f := range k.Fields {
			own[strings.TrimSuffix(f, "?")] = true
		}
	}
	for f := range maps.Keys(own) {
		if !slices.ContainsFunc(fields, func(have field) bool { return have.Name == f }) {
			return nil, fmt.Errorf("the kinds of %s have %s, and the type has not", name, f)
		}
	}
	s := &Schema{Description: description}
	for _, k := range of.Kinds {
		var kept []field
		about := ""
		for _, f := range fields {
			switch {
			case f.Name == of.By:
				about = b.about(f.Schema, k, keys)
				f.Schema, f.optional = &Schema{Type: "string", Enum: k.Values}, false
				if len(k.Values) == 1 {
					f.Schema = &Schema{Const: k.Values[0]}
				}
			case slices.Contains(k.Fields, f.Name):
				f.optional = false
			case slices.Contains(k.Fields, f.Name+"?"):
				f.optional = true
			case own[f.Name]:
				continue
			}
			kept = append(kept, f)
		}
		one := closed(kept, about)
		if k.Name == "" {
			s.OneOf = append(s.OneOf, one)
			continue
		}
		if _, taken := b.source.types[k.Name]; taken {
			return nil, fmt.Errorf("%s is a type, and a kind of %s", k.Name, name)
		}
		b.defs[k.Name] = one
		s.OneOf = append(s.OneOf, ref(k.Name))
	}
	return s, nil
}

// about is what the type of the field that decides says about a kind. In these words its fields have their names in JSON.
func (b *types) about(by *Schema, k Kind, keys map[string]string) string {
	name := strings.TrimPrefix(by.Ref, refPrefix)
	for i, v := range b.source.values[name] {
		if len(k.Values) == 1 && v.name == k.Values[0] {
			about := b.source.ofValue(v, keys)
			b.defs[name].OneOf[i].Description = about
			return sentence(about)
		}
	}
	return ""
}
