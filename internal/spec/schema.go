package spec

import (
	"bytes"
	"encoding/json"
)

// Schema is the part of JSON Schema 2020-12 that the protocol needs. The zero value takes any JSON.
type Schema struct {
	Description     string     `json:"description,omitempty"`
	Ref             string     `json:"$ref,omitempty"`
	Type            string     `json:"type,omitempty"`
	Format          string     `json:"format,omitempty"`
	ContentEncoding string     `json:"contentEncoding,omitempty"`
	Const           string     `json:"const,omitempty"`
	Enum            []string   `json:"enum,omitempty"`
	Minimum         *int       `json:"minimum,omitempty"`
	Items           *Schema    `json:"items,omitempty"`
	Properties      Properties `json:"properties,omitempty"`
	Required        []string   `json:"required,omitempty"`
	// Additional is what other properties are; Closed says that there are none.
	Additional *Schema   `json:"additionalProperties,omitempty"`
	Never      bool      `json:"-"` // takes nothing: false
	OneOf      []*Schema `json:"oneOf,omitempty"`
	AnyOf      []*Schema `json:"anyOf,omitempty"`
	AllOf      []*Schema `json:"allOf,omitempty"`
	If         *Schema   `json:"if,omitempty"`
	Then       *Schema   `json:"then,omitempty"`
}

// Property is a named field.
type Property struct {
	Name   string
	Schema *Schema
}

// Properties are fields in their order.
type Properties []Property

const refPrefix = "#/$defs/"

func ref(name string) *Schema { return &Schema{Ref: refPrefix + name} }

// MarshalJSON writes the schema; one that takes any JSON is true, one that takes none false.
func (s *Schema) MarshalJSON() ([]byte, error) {
	if s.Never {
		return []byte("false"), nil
	}
	type plain Schema
	out, err := encode((*plain)(s))
	if string(out) == "{}" {
		out = []byte("true")
	}
	return out, err
}

// MarshalJSON writes an object with its fields in order.
func (p Properties) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, property := range p {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := encode(property.Name)
		if err != nil {
			return nil, err
		}
		value, err := encode(property.Schema)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// encode writes JSON without the escapes that HTML wants.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err
}

// indented is JSON for people too.
func indented(value any) (string, error) {
	line, err := encode(value)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, line, "", "  "); err != nil {
		return "", err
	}
	return out.String() + "\n", nil
}
