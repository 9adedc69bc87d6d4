package document

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Kind is the kind of a value.
type Kind int

// The kinds. A number stays as it is written until somebody asks for it.
const (
	Null Kind = iota
	Text
	Number
	Bool
	Map
	List
)

func (k Kind) String() string {
	return [...]string{"nothing", "text", "a number", "true or false", "a map", "a list"}[k]
}

// Place is where something stands, from 1.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Value is a value of the file. A map's place is that of its first key.
type Value struct {
	Place
	// Path names the value, for example "providers.Local.models[0]"; the root's is "".
	Path string
	Kind Kind

	text   string
	flag   bool
	fields []Field
	items  []*Value
}

// Field is one field of a map, in the order of the file.
type Field struct {
	Name  string
	Place // of the name
	Value *Value
}

func (v *Value) field(name string) *Value {
	for _, f := range v.fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// At finds the value of a path below v whose fields have the names, nil where there is none.
func (v *Value) At(names ...string) *Value {
	for _, name := range names {
		if v == nil {
			return nil
		}
		v = v.field(name)
	}
	return v
}

// Children are the values of a map's fields or a list's items.
func (v *Value) Children() []*Value {
	if v.Kind == List {
		return v.items
	}
	var children []*Value
	for _, f := range v.fields {
		children = append(children, f.Value)
	}
	return children
}

// Map hands each field to the function for its name. A name that has none is a fault, with those that there are. A
// field that holds nothing (null) is as if it were left out. Names that are unoffered are read, and never named as those
// that there are.
func (d *Document) Map(v *Value, read map[string]func(*Value), unoffered ...string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(read)), func(name string) bool { return slices.Contains(unoffered, name) })
	if v.Kind != Map && v.Kind != Null {
		d.Fault(v, api.CodeInvalidRequest, "must be a map of fields and is %s; the fields are %s", v.Kind, strings.Join(names, ", "))
		return
	}
	for _, f := range v.fields {
		known, ok := read[f.Name]
		switch {
		case !ok:
			d.unknown(v, f, names)
		case f.Value.Kind != Null:
			known(f.Value)
		}
	}
}

// Fields are the fields of a map whose names are free.
func (d *Document) Fields(v *Value) []Field {
	if v.Kind != Map {
		if v.Kind != Null {
			d.wrong(v, "a map of fields")
		}
		return nil
	}
	return v.fields
}

// List are the items of a list.
func (d *Document) List(v *Value) []*Value {
	if v.Kind != List {
		d.wrong(v, "a list, for example [a, b]")
		return nil
	}
	return v.items
}

// Texts are the items of a list of text. ok is false if one is none.
func (d *Document) Texts(v *Value) (texts []string, ok bool) {
	ok = v.Kind == List
	for _, item := range d.List(v) {
		text, fits := d.Text(item)
		ok = ok && fits
		texts = append(texts, text)
	}
	return texts, ok
}

// Text is a value that must be text.
func (d *Document) Text(v *Value) (string, bool) {
	switch v.Kind {
	case Text:
		return v.text, true
	case Number, Bool:
		d.Fault(v, api.CodeInvalidRequest, "must be text and is %s; write %q", v.Kind, v.text)
	default:
		d.wrong(v, "text")
	}
	return "", false
}

// Int is a value that must be a whole number.
func (d *Document) Int(v *Value) (int, bool) {
	if v.Kind != Number {
		d.wrong(v, "a whole number")
		return 0, false
	}
	if digits := strings.TrimLeft(v.text, "+-"); len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		d.Fault(v, api.CodeInvalidRequest, "is %s; leave out the zero that it begins with, which some read as octal", v.text)
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(v.text, "_", ""), 0, 64)
	if err != nil || n > math.MaxInt || n < math.MinInt {
		d.Fault(v, api.CodeInvalidRequest, "must be a whole number and is %s", v.text)
		return 0, false
	}
	return int(n), true
}

// Bool is a value that must be true or false.
func (d *Document) Bool(v *Value) (bool, bool) {
	if v.Kind != Bool {
		d.wrong(v, "true or false")
		return false, false
	}
	return v.flag, true
}

// JSON is any value as JSON.
func (v *Value) JSON() json.RawMessage {
	data, err := json.Marshal(v.plain())
	if err != nil { // of a number that JSON has not
		return json.RawMessage("null")
	}
	return data
}

func (v *Value) plain() any {
	switch v.Kind {
	case Text:
		return v.text
	case Bool:
		return v.flag
	case Number:
		if n, err := strconv.ParseInt(v.text, 0, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(v.text, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
		return v.text
	case List:
		list := []any{}
		for _, item := range v.items {
			list = append(list, item.plain())
		}
		return list
	case Map:
		fields := map[string]any{}
		for _, f := range v.fields {
			fields[f.Name] = f.Value.plain()
		}
		return fields
	}
	return nil
}

func (d *Document) wrong(v *Value, want string) {
	d.Fault(v, api.CodeInvalidRequest, "must be %s and is %s", want, v.Kind)
}

// IsText gives a value that is text, without a fault where it is not.
func (v *Value) IsText() (string, bool) { return v.text, v.Kind == Text }
