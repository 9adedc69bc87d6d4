package spec

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/transport/rpc"
)

// Document is the protocol: a JSON Schema with the types in $defs, and beside them what has no place in one.
type Document struct {
	Schema          string `json:"$schema"`
	Title           string `json:"title"`
	Description     string `json:"description"`
	ProtocolVersion int    `json:"protocolVersion"`
	// TooLate is the number of the error by which a client says that a body did not begin in time. It has no code.
	TooLate   int                `json:"tooLate"`
	Bounds    []Bound            `json:"bounds"`
	Methods   []Method           `json:"methods"`
	Events    []Event            `json:"events"`
	ErrorData *Schema            `json:"errorData"` // of the data of an error
	Defs      map[string]*Schema `json:"$defs"`
	// Types are the Go types of what is defined; a kind of one is none.
	Types map[string]reflect.Type `json:"-"`
}

// Bound is the most that there may be of something; one more is refused.
type Bound struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Value       int    `json:"value"`
}

// Method is a method of the protocol.
type Method struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Caller is "client", "runtime" or "both".
	Caller string  `json:"caller"`
	Params *Schema `json:"params"`
	// Result is nil for a notification.
	Result       *Schema `json:"result,omitempty"`
	Notification bool    `json:"notification,omitempty"`
}

// Event is a type of event.
type Event struct {
	Type        api.EventType `json:"type"`
	Description string        `json:"description"`
	// Stored: it stands in the journal, and has a number.
	Stored bool `json:"stored"`
	// Data is nil where the type has none.
	Data *Schema `json:"data,omitempty"`
}

// Build reads the source under root, the module's directory, and makes the document. Errors say what in the source has no form
// in it.
func Build(root string) (*Document, error) {
	source, err := read(root)
	if err != nil {
		return nil, err
	}
	doc := &Document{
		Schema: "https://json-schema.org/draft/2020-12/schema",
		Title:  "OpenWorker protocol",
		Description: "The protocol of a client and a runtime on its standard input and output: JSON-RPC 2.0, one message a line. " +
			"methods have their parameters and results in $defs, and events the data of each type of event. A type takes no other fields than it names, and the " +
			"runtime refuses what it does not know with unsupported_option; a client passes over fields that a later runtime adds. " +
			"A field that is not required is absent where it is empty: \"\", 0, false, a list without items.",
		ProtocolVersion: rpc.Version,
		TooLate:         rpc.TooLate,
		Bounds:          bounds(),
	}
	b := &types{source: source, defs: map[string]*Schema{}, types: map[string]reflect.Type{}}
	for _, m := range rpc.Methods() {
		caller := "client"
		if m.FromRuntime {
			caller = "runtime"
		}
		if err := doc.add(b, m, caller); err != nil {
			return nil, err
		}
	}
	part := rpc.Method{Name: rpc.MethodPart, Params: reflect.TypeFor[rpc.Part]()}
	if err := doc.add(b, part, "both"); err != nil {
		return nil, err
	}
	if doc.ErrorData, err = b.of(reflect.TypeFor[rpc.ErrorData](), "errorData"); err != nil {
		return nil, err
	}
	if doc.Events, err = b.events(); err != nil {
		return nil, err
	}
	doc.Defs, doc.Types = b.defs, b.types
	return doc, nil
}

func (d *Document) add(b *types, m rpc.Method, caller string) error {
	params, err := b.of(m.Params, m.Name)
	if err != nil {
		return err
	}
	out := Method{Name: m.Name, Caller: caller, Params: params, Notification: m.Result == nil}
	if m.Result != nil {
		if out.Result, err = b.of(m.Result, m.Name); err != nil {
			return err
		}
	}
	out.Description = b.methodDescription(m)
	d.Methods = append(d.Methods, out)
	return nil
}

// methodDescription is what api.Service says about a method, or its constant; or what its types are.
func (b *types) methodDescription(m rpc.Method) string {
	call := b.source.calls[m.Name]
	if about := b.source.methods[call.name]; about != "" && !m.FromRuntime {
		return sentence(b.source.wire(about, "", nil), call.name+" is ", call.name+" ")
	}
	params := m.Params.Name()
	switch {
	case m.Params.NumField() > 0 && !strings.HasSuffix(params, "ID"):
		return sentence(b.defs[params].Description, params+" ")
	case call.comment != "":
		return sentence(b.source.wire(call.comment, "", nil))
	}
	return b.defs[m.Result.Name()].Description
}

// events lists the types of events in the order of the source.
func (b *types) events() ([]Event, error) {
	data := eventData()
	var out []Event
	for _, v := range b.source.values["EventType"] {
		of, when, err := event(v.comment)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		e := Event{Type: api.EventType(v.name), Description: sentence(b.source.wire(when, "", nil)), Stored: !strings.HasSuffix(v.name, "_delta")}
		if of != "" {
			t, ok := data[of]
			if !ok {
				return nil, fmt.Errorf("%s has data of type %s, which is not among those of events", v.name, of)
			}
			if e.Data, err = b.of(t, v.name); err != nil {
				return nil, err
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// event is the schema of an event: its data is by its type, and any JSON where the type is a later version's.
func (b *types) event(fields []field, description string) (*Schema, error) {
	events, err := b.events()
	if err != nil {
		return nil, err
	}
	s := closed(fields, description)
	for _, e := range events {
		then := &Schema{Properties: Properties{{"data", &Schema{Never: true}}}}
		if e.Data != nil {
			then = &Schema{Properties: Properties{{"data", e.Data}}, Required: []string{"data"}}
		}
		if e.Stored {
			then.Required = append(then.Required, "number")
		} else {
			then.Properties = append(then.Properties, Property{"number", &Schema{Never: true}})
		}
		s.AllOf = append(s.AllOf, &Schema{
			If:   &Schema{Properties: Properties{{"type", &Schema{Const: string(e.Type)}}}},
			Then: then,
		})
	}
	return s, nil
}

// JSON is the document as its file has it.
func (d *Document) JSON() (string, error) { return indented(d) }

// Codes is the table of the codes of errors, as its file has it.
func Codes() (string, error) { return indented(api.Codes()) }
