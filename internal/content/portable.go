package content

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Portable is a history in the form of an import (SE6), which [Import] takes as it is. Each file is one line that describes it, in
// its place among the texts of its message. Reasoning, notices of the host, summaries and blank texts are left out. Arguments are
// those that the model gave. A NUL, which no import takes, becomes U+FFFD.
//
// Errors are those of [Import], a call without a result among them. The item that they name is one of the export, not of the
// history.
func Portable(items []api.HistoryItem) ([]api.HistoryImport, error) {
	out := []api.HistoryImport{}
	for _, it := range items {
		item := api.HistoryImport{Type: it.Type}
		switch it.Type {
		case api.ImportUser:
			item.Text = printable(written(it))
		case api.ImportAssistant:
			item.Text = printable(it.Text)
		case api.ImportToolCall:
			item.CallID, item.Name, item.Arguments = it.CallID, it.Name, printableJSON(it.Arguments)
		case api.ImportToolResult:
			item.CallID, item.Output = it.CallID, printable(it.Output)
		default:
			continue
		}
		if isText := it.Type == api.ImportUser || it.Type == api.ImportAssistant; isText && strings.TrimSpace(item.Text) == "" {
			continue
		}
		out = append(out, item)
	}
	if _, err := Import(out, false); err != nil {
		return nil, err
	}
	return out, nil
}

// written is a message as one text.
func written(it api.HistoryItem) string {
	if len(it.Content) == 0 {
		return it.Text
	}
	lines := make([]string, 0, len(it.Content))
	for _, b := range it.Content {
		line := b.Text
		if b.Source != nil {
			line = fmt.Sprintf("[file %q: %s, %d bytes, SHA-256 %s]", b.Name, b.Source.MediaType, b.Source.Size, b.Source.SHA256)
		}
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// printable is a text without NUL.
func printable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// printableJSON is a JSON text without a NUL, which stands in it escaped.
func printableJSON(text string) json.RawMessage {
	out := []byte(text)
	for i := 0; i+6 <= len(out); i++ {
		if out[i] == '\\' {
			if string(out[i:i+6]) == `\u0000` {
				copy(out[i:], `\ufffd`)
			}
			i++ // what follows a backslash begins no other escape
		}
	}
	return out
}
