package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// The types of imported items.
const (
	ImportUser       = "user"        // Text, which is not blank
	ImportAssistant  = "assistant"   // Text, which is not blank
	ImportToolCall   = "tool_call"   // CallID, Name, Arguments
	ImportToolResult = "tool_result" // CallID, Output, which may be empty
)

// HistoryImport is one item of an imported conversation (IM1). Each type has the fields that stand behind it above, and no
// others; the zero value is no item, and is refused with invalid_history.
type HistoryImport struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	CallID string `json:"callId,omitempty"` // any text that is the call's alone
	// Name is a tool's name in the form in which models see one: 1–64 of A–Z a–z 0–9 _ -. The agent need not have it.
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // a JSON object
	Output    string          `json:"output,omitempty"`

	given      []string // the fields that the JSON had
	rule, flaw string   // what is wrong with the JSON, and the rule that says so
}

// UnmarshalJSON takes each JSON value, and notes what fields there were and what of them is lost as they are read, so that it is refused
// with its item when the session is created, and not passed over. Errors are only of what is no JSON.
func (h *HistoryImport) UnmarshalJSON(data []byte) error {
	*h = HistoryImport{}
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber() // any number is one
	begin, err := in.Token()
	if err != nil {
		return err
	}
	if begin == nil {
		return nil // nothing as an item
	}
	if begin != json.Delim('{') {
		h.note("json", "it is %s; an item is an object", kindOf(data))
		return nil
	}
	seen := map[string]bool{}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		name := key.(string) // the decoder has no other keys
		if seen[name] {
			h.note("field", "it has the field %.80q twice; leave one of the two out", name)
			continue
		}
		seen[name], h.given = true, append(h.given, name)
		h.read(name, value)
	}
	slices.Sort(h.given)
	_, err = in.Token()
	return err
}

// read takes a field.
func (h *HistoryImport) read(name string, value json.RawMessage) {
	text, known := map[string]*string{"type": &h.Type, "text": &h.Text, "callId": &h.CallID, "name": &h.Name, "output": &h.Output}[name]
	isNull := string(value) == "null"
	switch {
	case name == "arguments" && !isNull:
		h.Arguments = value
	case isNull && (known && name != "type" || name == "arguments"):
		h.note("missing_field", "%s is null; give it a value", name)
	case !known:
	case value[0] != '"':
		h.note("json", "%s is %s; it must be a string", name, kindOf(value))
	case !utf8.Valid(value):
		h.note("unicode", "%s is not UTF-8; convert it", name)
	case halfCharacter(value) != "":
		h.note("unicode", "%s has half a character (%s without its other half); take it out, or write the character whole", name, halfCharacter(value))
	default:
		_ = json.Unmarshal(value, text) // a string decodes
	}
}

// note keeps what is wrong first.
func (h *HistoryImport) note(rule, format string, args ...any) {
	if h.rule == "" {
		h.rule, h.flaw = rule, fmt.Sprintf(format, args...)
	}
}

// halfCharacter is the first escape of half a surrogate pair in a JSON string, for which a decoder would put U+FFFD; "" if there
// is none.
func halfCharacter(text []byte) string {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		switch unit := escapedUnit(text, i); {
		case !utf16.IsSurrogate(unit):
			i++ // what follows a backslash begins no other escape
		case utf16.DecodeRune(unit, escapedUnit(text, i+6)) != '\ufffd':
			i += 11
		default:
			return string(text[i : i+6])
		}
	}
	return ""
}

// escapedUnit is the code unit that a \u escape at a place gives, 0 where there is none.
func escapedUnit(text []byte, at int) rune {
	if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
	return rune(unit)
}

// MarshalJSON writes the fields of the item's type, empty ones too, and of others those that are set. Of an item that was read
// from JSON it writes those that this had, and unknown ones as null, so that it is refused as it would have been there.
func (h HistoryImport) MarshalJSON() ([]byte, error) {
	field := func(name, text string, of ...string) *string {
		has := slices.Contains(of, h.Type)
		if h.given != nil {
			has = slices.Contains(h.given, name)
		}
		if text == "" && !has {
			return nil
		}
		return &text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // whoever encodes the whole decides
	err := encoder.Encode(struct {
		Type      string          `json:"type"`
		Text      *string         `json:"text,omitempty"`
		CallID    *string         `json:"callId,omitempty"`
		Name      *string         `json:"name,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Output    *string         `json:"output,omitempty"`
	}{
		h.Type, field("text", h.Text, ImportUser, ImportAssistant), field("callId", h.CallID, ImportToolCall, ImportToolResult), field("name", h.Name, ImportToolCall),
		h.Arguments, field("output", h.Output, ImportToolResult),
	})
	for _, name := range h.given {
		if slices.Contains([]string{"type", "text", "callId", "name", "arguments", "output"}, name) || err != nil {
			continue
		}
		out.Truncate(out.Len() - len("}\n"))
		out.WriteByte(',')
		if err = encoder.Encode(name); err == nil {
			out.Truncate(out.Len() - len("\n"))
			out.WriteString(":null}\n")
		}
	}
	return out.Bytes(), err
}

// kindOf says what a JSON value is.
func kindOf(value []byte) string {
	switch bytes.TrimSpace(value)[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// Flaw says what is wrong with the item's JSON, for example "output is an object; it must be a string", and the rule of
// invalid_history that it breaks: json, missing_field for a null, field for one that stands twice, unicode. Both are "" if
// nothing is, and for an item that was not read from JSON.
func (h HistoryImport) Flaw() (rule, flaw string) { return h.rule, h.flaw }

// Given lists the fields that the item's JSON had, sorted; nil for an item that was not read from JSON.
func (h HistoryImport) Given() []string { return slices.Clone(h.given) }
