package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const generated = "// Generated from %s by `npm run generate`. Do not edit: change the Go types and their comments.\n\n"

// TypeScript is the document as a module of types.
func (d *Document) TypeScript() (string, error) {
	w := &writer{}
	fmt.Fprintf(w, generated, "spec/rpc.json")
	w.line("// A field with \"?\" is absent where it is empty: \"\", 0, false, a list without items. A later runtime may send fields that are not here.\n")
	w.comment("", "The version of the protocol that these types are of.")
	fmt.Fprintf(w, "export const protocolVersion = %d;\n\n", d.ProtocolVersion)
	w.comment("", "The number of the error by which a client says that a tool's body did not begin, since its time to begin had passed. It has no code.")
	fmt.Fprintf(w, "export const tooLate = %d;\n\n", d.TooLate)
	w.comment("", "The most that there may be of something; one more is refused.")
	w.line("export const bounds = {")
	for _, b := range d.Bounds {
		w.comment("  ", b.Description)
		fmt.Fprintf(w, "  %s: %s,\n", b.Name, grouped(b.Value))
	}
	w.line("} as const;\n")
	w.comment("", "An object of JSON. What its values are is not known here.")
	w.line("export type JsonObject = { [key: string]: unknown };\n")
	w.comment("", "Any JSON.")
	w.line("export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue | undefined };\n")
	w.comment("", "A time as RFC 3339 has it, which `new Date` reads: 2026-01-31T12:00:00.123Z.")
	w.line("export type Timestamp = string;\n")
	w.comment("", "Bytes in standard base64.")
	w.line("export type Base64 = string;\n")
	for _, name := range slices.Sorted(maps.Keys(d.Defs)) {
		if name == "Event" {
			d.eventTypes(w)
			continue
		}
		w.definition(name, d.Defs[name])
	}
	d.methodMaps(w)
	return w.String(), w.err
}

// methodMaps writes who may call what.
func (d *Document) methodMaps(w *writer) {
	for _, m := range []struct {
		name, about, caller string
		notification        bool
	}{
		{"Methods", "What a client may ask the runtime.", "client", false},
		{"Notifications", "What a client tells the runtime, and gets no answer to.", "client", true},
		{"Callbacks", "What the runtime asks the client.", "runtime", false},
		{"CallbackNotifications", "What the runtime tells the client, and wants no answer to.", "runtime", true},
	} {
		w.comment("", m.about)
		w.line("export interface " + m.name + " {")
		for _, method := range d.Methods {
			if method.Notification != m.notification || method.Caller != m.caller && method.Caller != "both" {
				continue
			}
			w.comment("  ", method.Description)
			result := ""
			if method.Result != nil {
				result = "; result: " + w.typ(method.Result, "  ")
			}
			w.line("  " + key(method.Name) + ": { params: " + w.typ(method.Params, "  ") + result + " };")
		}
		w.line("}\n")
	}
}

// eventTypes writes a type for each type of event, and their union.
func (d *Document) eventTypes(w *writer) {
	var known []string
	for _, e := range d.Events {
		name := camel(string(e.Type)) + "Event"
		known = append(known, "  | "+name)
		w.comment("", e.Description)
		base, data := "LiveEvent", "data?: undefined"
		if e.Stored {
			base = "JournalEvent"
		}
		if e.Data != nil {
			data = "data: " + w.typ(e.Data, "")
		}
		fmt.Fprintf(w, "export interface %s extends %s {\n  type: %s;\n  %s;\n}\n\n", name, base, quote(string(e.Type)), data)
	}
	var when, run, number string
	for _, p := range d.Defs["Event"].Properties {
		member := func(rest string) string {
			var m writer
			m.comment("  ", p.Schema.Description)
			return m.String() + "  " + p.Name + rest + ";\n"
		}
		switch p.Name {
		case "time":
			when = member(": Timestamp")
		case "run":
			run = member("?: string | undefined")
		case "number":
			number = p.Name
		}
	}
	w.comment("", "What events of the journal have. Their numbers begin at 1 and have no gaps in a session.")
	fmt.Fprintf(w, "export interface JournalEvent {\n  %s: number;\n%s%s}\n\n", number, when, run)
	w.comment("", "What live events have. They are not stored, and have no number.")
	fmt.Fprintf(w, "export interface LiveEvent {\n  %s?: undefined;\n%s%s}\n\n", number, when, run)
	w.comment("", "A type of event that a later version adds: any other string. Programs pass it through. It is written as a word of its own, which "+
		"no event has, so that a comparison with a known type tells the types of data apart.")
	w.line("export type UnknownEventType = '(of a later version)' & { readonly [later]: true };\ndeclare const later: unique symbol;\n")
	w.comment("", "An event of a later version's type.")
	fmt.Fprintf(w, "export interface UnknownEvent {\n  type: UnknownEventType;\n  %s?: number | undefined;\n%s%s  data?: unknown;\n}\n\n", number, when, run)
	w.comment("", "The events that this version knows, by their type.")
	w.union("KnownEvent", known)
	w.comment("", d.Defs["Event"].Description)
	w.line("export type Event = KnownEvent | UnknownEvent;\n")
}

// writer collects the text of a module.
type writer struct {
	strings.Builder
	err error
}

func (w *writer) line(s string) { w.WriteString(s + "\n") }

// comment writes JSDoc.
func (w *writer) comment(indent, about string) {
	if about == "" {
		return
	}
	about = strings.ReplaceAll(about, "*/", "*\\/")
	lines := strings.Split(about, "\n")
	if len(lines) == 1 && len(indent)+len(about) < 130 {
		w.line(indent + "/** " + about + " */")
		return
	}
	w.line(indent + "/**")
	for _, l := range lines {
		for _, part := range wrap(l, 128-len(indent)) {
			w.line(strings.TrimRight(indent+" * "+part, " "))
		}
	}
	w.line(indent + " */")
}

// wrap breaks a line between words.
func wrap(line string, width int) []string {
	var lines []string
	current := ""
	for _, word := range strings.Fields(line) {
		if current != "" && len(current)+1+len(word) > width {
			lines, current = append(lines, current), ""
		}
		current = strings.TrimSpace(current + " " + word)
	}
	return append(lines, current)
}

func (w *writer) definition(name string, s *Schema) {
	values := s.OneOf
	if s.Type == "string" && len(s.AnyOf) > 0 {
		values = s.AnyOf
	}
	if s.Type == "string" && len(values) > 0 {
		var types, about []string
		for _, v := range values {
			if v.Const == "" {
				types = append(types, "  | (string & {})")
				continue
			}
			types = append(types, "  | "+quote(v.Const))
			if v.Description != "" && len(s.AnyOf) == 0 {
				about = append(about, "- `"+v.Const+"`: "+v.Description)
			}
		}
		w.comment("", strings.TrimSuffix(s.Description+"\n\n"+strings.Join(about, "\n"), "\n\n"))
		w.union(name, types)
		return
	}
	w.comment("", s.Description)
	switch {
	case len(s.OneOf) > 0:
		var types []string
		for _, one := range s.OneOf {
			var about writer
			if one.Ref == "" {
				about.comment("  ", one.Description)
			}
			types = append(types, about.String()+"  | "+w.typ(one, "    "))
		}
		w.union(name, types)
	case len(s.Properties) == 0:
		w.line("export type " + name + " = Record<string, never>;\n")
	default:
		w.line("export interface " + name + " " + w.typ(s, "") + "\n")
	}
}

// union writes a union. Its members begin with the bar, and may have a comment before it.
func (w *writer) union(name string, members []string) {
	line := strings.TrimPrefix(strings.Join(members, ""), "  | ")
	if line = "export type " + name + " = " + strings.ReplaceAll(line, "  | ", " | ") + ";"; len(line) < 130 && !strings.Contains(line, "\n") {
		w.line(line + "\n")
		return
	}
	w.line("export type " + name + " =\n" + strings.Join(members, "\n") + ";\n")
}

// typ is a schema as a type. indent is that of its closing line.
func (w *writer) typ(s *Schema, indent string) string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, refPrefix)
	case s.Const != "":
		return quote(s.Const)
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, quote(v))
		}
		return strings.Join(values, " | ")
	case len(s.AnyOf) > 0:
		var types []string
		for _, one := range s.AnyOf {
			types = append(types, w.typ(one, indent))
		}
		return strings.Join(types, " | ")
	}
	switch s.Type {
	case "":
		return "JsonValue"
	case "string":
		switch {
		case s.Format == "date-time":
			return "Timestamp"
		case s.ContentEncoding == "base64":
			return "Base64"
		}
		return "string"
	case "boolean":
		return "boolean"
	case "integer":
		return "number"
	case "array":
		items := w.typ(s.Items, indent)
		if strings.Contains(items, " ") {
			items = "(" + items + ")"
		}
		return items + "[]"
	case "object":
		switch {
		case s.Properties == nil && s.Additional == nil:
			return "JsonObject"
		case s.Properties == nil:
			return "Record<string, " + w.typ(s.Additional, indent) + ">"
		}
		return w.object(s, indent)
	}
	w.err = fmt.Errorf("there is no TypeScript for a schema of type %q", s.Type)
	return "never"
}

func (w *writer) object(s *Schema, indent string) string {
	var out writer
	out.line("{")
	for _, p := range s.Properties {
		inner := indent + "  "
		out.comment(inner, p.Schema.Description)
		typ := w.typ(p.Schema, inner)
		if slices.Contains(s.Required, p.Name) {
			out.line(inner + key(p.Name) + ": " + typ + ";")
		} else {
			out.line(inner + key(p.Name) + "?: " + typ + " | undefined;")
		}
	}
	out.WriteString(indent + "}")
	return out.String()
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// key is a name as a property's.
func key(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return quote(name)
}

// grouped is a number with an underscore before each three digits.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "_" + s[i:]
	}
	return s
}

func quote(s string) string {
	return "'" + strings.ReplaceAll(strings.Trim(strconv.Quote(s), `"`), "'", `\'`) + "'"
}

// camel is a name with underscores as the name of a type.
func camel(name string) string {
	var out string
	for part := range strings.SplitSeq(name, "_") {
		out += upper(part)
	}
	return out
}
