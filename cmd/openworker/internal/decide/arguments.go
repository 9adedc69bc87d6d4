package decide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// Object reads a JSON object as a person typed it, and gives it without white space.
func Object(text string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &object)
	if err == nil && object == nil {
		err = fmt.Errorf("it is null")
	}
	var compact bytes.Buffer
	if err == nil {
		err = json.Compact(&compact, []byte(text))
	}
	if err != nil {
		return nil, fmt.Errorf("that is no JSON object: %w", err)
	}
	return compact.Bytes(), nil
}

// Editable is JSON for a person to look at and to change: indented, and what a terminal does not show as it is escaped.
func Editable(arguments string) string {
	var indented bytes.Buffer
	if json.Indent(&indented, []byte(arguments), "", "  ") != nil {
		return plain.Printable(arguments)
	}
	return escaped(indented.String())
}

// Folded is such JSON in one line.
func Folded(arguments string) string {
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(arguments)) != nil {
		return plain.Line(arguments)
	}
	return escaped(compact.String())
}

// AskedBy is the question that a call puts, "" for a call of another tool.
func AskedBy(call api.RequestCall) string {
	var asked struct{ Question string }
	if call.Name != askUser || call.Code != "" || json.Unmarshal([]byte(call.Arguments), &asked) != nil {
		return ""
	}
	return asked.Question
}

// askUser is the tool that puts a model's questions.
const askUser = "ask_user"

// escaped escapes in JSON the characters that a terminal or an editor would change; they stand in strings alone.
func escaped(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}
