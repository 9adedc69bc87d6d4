package servicetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// nested are arguments of so many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// sized is a conversation of n bytes as compact JSON.
func (s *stage) sized(n int) []api.HistoryImport {
	s.Helper()
	items := []api.HistoryImport{said(strings.Repeat("x", n/3)), replied("x"), said(strings.Repeat("x", n/3))}
	data, err := json.Marshal(items)
	s.no(err)
	items[1].Text = strings.Repeat("x", 1+n-len(data))
	return items
}

var importRuleTests = []test{
	{"IM2 IM3 C61 each rule of an import is a refusal that names the item and the rule, and leaves no session and no directory", func(s *stage) {
		s.open(World{Model: rounds(calls("act"), Answer{Text: "ok"}), Tools: []Tool{action("act", "", nothing)}}, asking)
		text := func(n int) string { return strings.Repeat("x", n) }
		fromJSON := func(items string) []api.HistoryImport {
			var list []api.HistoryImport
			s.no(json.Unmarshal([]byte(items), &list))
			return list
		}
		many := make([]api.HistoryImport, api.MaxImportItems+1)
		for i := range many {
			many[i] = said("x")
		}
		go1 := []api.HistoryImport{said("go")}
		with := func(items ...api.HistoryImport) []api.HistoryImport { return append(go1[:1:1], items...) }
		for _, tt := range []struct {
			name  string
			rule  string
			item  int
			value any
			items []api.HistoryImport
		}{
			{"257 items", "items", 256, 257, many},
			{"an assistant first", "first_item", 0, nil, []api.HistoryImport{replied("hi")}},
			{"a call first", "first_item", 0, nil, []api.HistoryImport{called("a", "look", "{}"), returned("a", "")}},
			{"no type", "type", 1, nil, with(api.HistoryImport{Text: "x"})},
			{"a system text", "type", 1, nil, with(api.HistoryImport{Type: "system", Text: "x"})},
			{"reasoning", "type", 1, nil, with(api.HistoryImport{Type: "reasoning", Text: "x"})},
			{"a notice", "type", 1, nil, with(api.HistoryImport{Type: "notice", Text: "x"})},
			{"an approval", "type", 1, nil, with(api.HistoryImport{Type: "approval", CallID: "a"})},
			{"an image", "type", 1, nil, with(api.HistoryImport{Type: "image", Text: "x"})},
			{"an unknown field", "field", 1, nil, fromJSON(`[{"type":"user","text":"go"},{"type":"assistant","text":"x","signature":"abc"}]`)},
			{"an unknown field that is empty", "field", 0, nil, fromJSON(`[{"type":"user","text":"go","role":null}]`)},
			{"a field in another spelling", "field", 1, nil, fromJSON(`[{"type":"user","text":"go"},{"type":"tool_call","callID":"a","name":"look","arguments":{}}]`)},
			{"an assistant's field of a call", "field", 1, nil, with(api.HistoryImport{Type: api.ImportAssistant, Text: "x", CallID: "a"})},
			{"a call with a text", "field", 1, nil, with(api.HistoryImport{Type: api.ImportToolCall, CallID: "a", Name: "look", Arguments: []byte("{}"), Text: "x"})},
			{"a result with a name", "field", 2, nil, with(called("a", "look", "{}"), api.HistoryImport{Type: api.ImportToolResult, CallID: "a", Name: "look"})},
			{"a blank text", "blank", 1, nil, with(replied(" \n"))},
			{"a text with a NUL", "text", 1, nil, with(replied("a\x00"))},
			{"a text that is not UTF-8", "text", 1, nil, with(said("\xff"))},
			{"an output with a NUL", "text", 2, nil, with(called("a", "look", "{}"), returned("a", "\x00"))},
			{"arguments with a NUL in an escape", "text", 1, nil, with(called("a", "look", `{"a":"\u0000"}`), returned("a", ""))},
			{"a text of a byte too many", "text_bytes", 1, api.MaxImportTextBytes + 1, with(replied(text(api.MaxImportTextBytes + 1)))},
			{"an output of a byte too many", "output_bytes", 2, api.MaxImportTextBytes + 1, with(called("a", "look", "{}"), returned("a", text(api.MaxImportTextBytes+1)))},
			{"arguments of a byte too many", "arguments_bytes", 1, api.MaxImportTextBytes + 1, with(called("a", "look", `{"a":"`+text(api.MaxImportTextBytes+1-8)+`"}`), returned("a", ""))},
			{"a byte too many in all", "import_bytes", 2, api.MaxImportBytes + 1, s.sized(api.MaxImportBytes + 1)},
			{"33 levels", "arguments_depth", 1, 33, with(called("a", "look", nested(33)), returned("a", ""))},
			{"33 levels of lists", "arguments_depth", 1, 33, with(called("a", "look", `{"a":`+strings.Repeat("[", 32)+strings.Repeat("]", 32)+`}`), returned("a", ""))},
			{"arguments that are a list", "arguments", 1, nil, with(called("a", "look", `[]`), returned("a", ""))},
			{"arguments that are a text", "arguments", 1, nil, with(called("a", "look", `"{}"`), returned("a", ""))},
			{"arguments that are no JSON", "arguments", 1, nil, with(called("a", "look", `{`), returned("a", ""))},
			{"arguments with a key twice", "arguments", 1, nil, with(called("a", "look", `{"x":[{"a":1,"a":2}]}`), returned("a", ""))},
			{"arguments with a number that no float64 has", "arguments", 1, nil, with(called("a", "look", `{"a":1e999}`), returned("a", ""))},
			{"arguments with a number that becomes 0", "arguments", 1, nil, with(called("a", "look", `{"a":1e-999}`), returned("a", ""))},
			{"a field twice", "field", 0, nil, fromJSON(`[{"type":"user","text":"go","text":"stop"}]`)},
			{"a type twice", "field", 0, nil, fromJSON(`[{"type":"user","type":"assistant","text":"go"}]`)},
			{"a result without an output", "missing_field", 2, nil, fromJSON(`[{"type":"user","text":"go"},{"type":"tool_call","callId":"a","name":"look","arguments":{}},{"type":"tool_result","callId":"a"}]`)},
			{"an output that is null", "missing_field", 2, nil, fromJSON(`[{"type":"user","text":"go"},{"type":"tool_call","callId":"a","name":"look","arguments":{}},{"type":"tool_result","callId":"a","output":null}]`)},
			{"a user without a text", "missing_field", 0, nil, fromJSON(`[{"type":"user"}]`)},
			{"half a character in a text", "unicode", 0, nil, fromJSON(`[{"type":"user","text":"\ud83d"}]`)},
			{"half a character in a call ID", "unicode", 1, nil, fromJSON(`[{"type":"user","text":"go"},{"type":"tool_call","callId":"\udfff","name":"look","arguments":{}}]`)},
			{"no arguments", "arguments", 1, nil, with(called("a", "look", ``), returned("a", ""))},
			{"a call without an ID", "call_id", 1, nil, with(called("", "look", `{}`), returned("", ""))},
			{"a call ID twice", "duplicate_call", 3, nil, with(called("a", "look", `{}`), returned("a", ""), called("a", "look", `{}`), returned("a", ""))},
			{"a name with a dot", "name", 1, nil, with(called("a", "app.look", `{}`), returned("a", ""))},
			{"no name", "name", 1, nil, with(called("a", "", `{}`), returned("a", ""))},
			{"a name of 65 bytes", "name", 1, nil, with(called("a", text(65), `{}`), returned("a", ""))},
			{"a result before its call", "result_without_call", 1, nil, with(returned("a", ""), called("a", "look", `{}`))},
			{"a result of nobody's", "result_without_call", 3, nil, with(called("a", "look", `{}`), returned("a", ""), returned("b", ""))},
			{"a result twice", "duplicate_result", 3, nil, with(called("a", "look", `{}`), returned("a", "1"), returned("a", "1"))},
			{"a call without a result", "unfinished_call", 2, nil, with(called("a", "look", `{}`), called("b", "look", `{}`), returned("a", ""))},
			{"a call last", "unfinished_call", 1, nil, with(called("a", "look", `{}`))},
		} {
			_, err := s.CreateSession(s.Context(), s.agent, api.SessionOptions{InitialHistory: tt.items, IdempotencyKey: "key"})
			s.code(err, api.CodeInvalidHistory)
			e := api.AsError(err)
			if e.Details["rule"] != tt.rule || e.Details["item"] != fmt.Sprint(tt.item) || !strings.Contains(e.Message, fmt.Sprint("item ", tt.item)) {
				s.Errorf("%s: the error is %v, %v; want rule %s of item %d", tt.name, err, e.Details, tt.rule, tt.item)
			}
			if tt.value != nil && (e.Details["value"] != fmt.Sprint(tt.value) || tt.rule != "items" && !strings.Contains(e.Message, fmt.Sprint(tt.value))) {
				s.Errorf("%s: the error is %v, %v; want the value %v", tt.name, err, e.Details, tt.value)
			}
		}
		page, err := s.Sessions(s.Context(), api.SessionQuery{})
		s.no(err)
		if len(page.Sessions) != 0 {
			s.Errorf("there are %d sessions", len(page.Sessions))
		}
		ref, err := s.CreateSession(s.Context(), s.agent, api.SessionOptions{IdempotencyKey: "key"}) // it was not used
		s.no(err)
		s.sessions = append(s.sessions, ref.Session)
		if list := s.entries(filepath.Dir(s.state(ref.Session).Workspace)); list != filepath.Base(s.state(ref.Session).Workspace) {
			s.Errorf("the scratch directory has %s", list)
		}
	}},
	{"IM3 what is at a bound is imported", func(s *stage) {
		s.open(World{})
		text := func(n int) string { return strings.Repeat("x", n) }
		most := make([]api.HistoryImport, api.MaxImportItems)
		for i := range most {
			most[i] = said("x")
		}
		for name, items := range map[string][]api.HistoryImport{
			"256 items":                     most,
			"255 items":                     most[:255],
			"a text of 256,000 bytes":       {said(text(api.MaxImportTextBytes))},
			"an answer of 256,000 bytes":    {said("go"), replied(text(api.MaxImportTextBytes))},
			"an output of 256,000 bytes":    {said("go"), called("a", "look", "{}"), returned("a", text(api.MaxImportTextBytes))},
			"arguments of 256,000 bytes":    {said("go"), called("a", "look", `{ "a": "`+text(api.MaxImportTextBytes-8)+`" }`), returned("a", "")},
			"512,000 bytes":                 s.sized(api.MaxImportBytes),
			"511,999 bytes":                 s.sized(api.MaxImportBytes - 1),
			"32 levels":                     {said("go"), called("a", "look", nested(32)), returned("a", "")},
			"braces in a text are no level": {said("go"), called("a", "look", `{"a":"`+strings.Repeat("{[", 100)+`\""}`), returned("a", "")},
			"a name of 64 bytes":            {said("go"), called("a", text(64), "{}"), returned("a", "")},
		} {
			ref, err := s.CreateSession(s.Context(), s.agent, api.SessionOptions{InitialHistory: items})
			if err != nil {
				s.Errorf("%s: %v", name, err)
				continue
			}
			s.sessions = append(s.sessions, ref.Session)
			if n := len(s.history(ref.Session)); n != len(items) {
				s.Errorf("%s: history has %d items of %d", name, n, len(items))
			}
			s.say(ref.Session, "next")
		}
	}},
	{"IM4 an item above what guardrails look at is refused where the agent has one at the model's input, and only there", func(s *stage) {
		var units seen[Unit]
		long := func(n int) map[string][]api.HistoryImport {
			text := strings.Repeat("x", n)
			return map[string][]api.HistoryImport{
				"a text":    {said("go"), said(text)},
				"an answer": {said("go"), replied(text)},
				"arguments": {said("go"), called("a", "look", `{"a":"`+text[8:]+`"}`), returned("a", "")},
				"an output": {said("go"), called("a", "look", `{}`), returned("a", text)},
			}
		}
		for _, point := range append(points[:len(points):len(points)], "") {
			s.open(World{Guardrails: []Guardrail{watching("warden", &units, cmp.Or(point, "tool_result"))}}, func(d *api.AgentDefinition) {
				if d.Name = "agent-" + strings.ReplaceAll(point, "_", "-"); point != "" {
					d.Guardrails = []string{"warden"}
				}
			})
			for name, items := range long(api.MaxGuardedBytes + 1) {
				ref, err := s.CreateSession(s.Context(), s.agent, api.SessionOptions{InitialHistory: items})
				if point != "model_input" {
					s.no(err)
					s.sessions = append(s.sessions, ref.Session)
					s.say(ref.Session, "next")
					continue
				}
				s.code(err, api.CodeInvalidHistory)
				e := api.AsError(err)
				if want := map[string]string{"a text": "1", "an answer": "1", "arguments": "1", "an output": "2"}[name]; e.Details["rule"] != "guarded_bytes" || e.Details["item"] != want || e.Details["value"] != fmt.Sprint(api.MaxGuardedBytes+1) {
					s.Errorf("%s: the error is %v, %v", name, err, e.Details)
				}
			}
			for name, items := range long(api.MaxGuardedBytes) {
				ref, err := s.CreateSession(s.Context(), s.agent, api.SessionOptions{InitialHistory: items})
				if err != nil {
					s.Errorf("%s of 128,000 bytes: %v", name, err)
					continue
				}
				s.sessions = append(s.sessions, ref.Session)
				s.say(ref.Session, "next")
			}
			s.process.Stop()
		}
		s.look()
	}},
}
