package chatui

import (
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

// imported shows a part of the conversation that the session began with. Nothing of it was executed here.
func (m *chat) imported(d api.HistoryImported) {
	var calls []*call
	for _, it := range d.Items {
		switch it.Type {
		case api.ImportUser:
			m.message(attached.Pieces(it.Text, nil))
			m.remember(it.Text)
		case api.ImportAssistant:
			m.answer(piece{text: strings.TrimSpace(it.Text)})
		case api.ImportToolCall:
			calls = append(calls, &call{id: it.CallID, name: it.Name, arguments: it.Arguments})
		case api.ImportToolResult:
			for _, c := range calls {
				if c.id == it.CallID {
					c.output, c.done = it.Output, true
				}
			}
		}
	}
	for _, c := range calls {
		m.put(item{kind: toolItem, lines: m.folded(c)})
	}
	if len(calls) > 0 {
		m.calls = calls // ctrl+o shows them whole
	}
}
