package content

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Portable is a history in the form of an import (SE6), which [Import] takes as it is. Each file is one line that describes it, in
// its place among the texts of its message. Reasoning, notices of the host, summaries and blank texts are left out. Arguments are
// those that the model gave.
//
// Errors are those of [Import], a call without a result among them. The item that they name is one of the export, not of the
// history.
func Portable(items []api.HistoryItem) ([]api.HistoryImport, error) {
	out := []api.HistoryImport{}
	for _, it := range items {
		item := api.HistoryImport{Type: it.Type}
		switch it.Type {
		case api.ImportUser:
			item.Text = written(it)
		case api.ImportAssistant:
			item.Text = it.Text
		case api.ImportToolCall:
			item.CallID, item.Name, item.Arguments = it.CallID, it.Name, json.RawMessage(it.Arguments)
		case api.ImportToolResult:
			item.CallID, item.Output = it.CallID, it.Output
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
