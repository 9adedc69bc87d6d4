package sim

import (
	"encoding/json"
	"fmt"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/content"
	"github.com/openworkerai/openworker/internal/engine"
)

// imports is what some sessions begin with: messages, and answers with calls, whose results may be in another order.
func (s *session) imports() []engine.HistoryImported {
	w := s.w
	if !w.chance(0.3) {
		return nil
	}
	var items []api.HistoryImport
	for round := range 1 + w.rng.IntN(4) {
		items = append(items, api.HistoryImport{Type: api.ImportUser, Text: w.words("imported ", 800)})
		if w.chance(0.6) {
			items = append(items, api.HistoryImport{Type: api.ImportAssistant, Text: w.words("answered ", 800)})
		}
		var results []api.HistoryImport
		for n := range w.rng.IntN(3) {
			id := fmt.Sprintf("call %d.%d", round, n)
			items = append(items, api.HistoryImport{Type: api.ImportToolCall, CallID: id, Name: "elsewhere__do", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
			results = append(results, api.HistoryImport{Type: api.ImportToolResult, CallID: id, Output: w.words("did ", 1500)})
		}
		w.rng.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
		items = append(items, results...)
	}
	groups, err := content.Import(items, false)
	if err != nil {
		w.fail("session %s: what it is to begin with is refused: %v", s.id, err)
	}
	for _, group := range groups {
		s.imported = append(s.imported, group...)
	}
	if len(s.imported) != len(items) {
		w.fail("session %s: it is to begin with %d items, and %d are left of them", s.id, len(items), len(s.imported))
	}
	return engine.Imported(s.id, groups)
}

// checkImported holds that the complete conversation begins with what was imported, for ever.
func (s *session) checkImported(entries []engine.Entry) {
	if len(entries) < len(s.imported) {
		s.w.fail("session %s: %d items were imported, the conversation has %d", s.id, len(s.imported), len(entries))
	}
	kinds := map[string]engine.EntryKind{api.ImportUser: engine.EntryUser, api.ImportAssistant: engine.EntryText, api.ImportToolCall: engine.EntryCall, api.ImportToolResult: engine.EntryResult}
	for i, it := range s.imported {
		if e := entries[i]; e.Kind != kinds[it.Type] || e.Text != it.Text+it.Output || e.Given != it.CallID || e.Arguments != string(it.Arguments) || it.Name != "" && e.Name != it.Name {
			s.w.fail("session %s: item %d of what was imported is %+v, and the conversation has %+v", s.id, i, it, e)
		}
	}
}
