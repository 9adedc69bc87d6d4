package chatui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// wholeLines is how many lines of a result are shown when it is unfolded.
const wholeLines = 400

// call is a tool call of the last answer that had any.
type call struct {
	id, name, arguments string
	asks                string // the question that it puts, which stands on a card while it is open
	began, ended        time.Time
	code                api.Code // why it was not run, or has no output of its own
	output              string
	done, lost          bool
}

// called notes the calls of an answer.
func (m *chat) called(calls []api.RequestCall) {
	if len(calls) == 0 {
		return
	}
	m.flushCalls(true)
	m.calls, m.turn.shown = nil, 0
	for _, c := range calls {
		m.calls = append(m.calls, &call{id: c.CallID, name: c.Name, arguments: c.Arguments, asks: decide.AskedBy(c), code: c.Code, done: c.Code != "", output: notRun(c.Code)})
	}
	m.flushCalls(false)
}

func notRun(code api.Code) string {
	if code == "" {
		return ""
	}
	return "not run: " + string(code)
}

func (m *chat) call(id string) *call {
	for _, c := range m.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}

func (m *chat) callStarted(at time.Time, d api.ToolCallStarted) {
	c := m.call(d.CallID)
	if c == nil { // the answer that asked for it was before what was read
		c = &call{id: d.CallID, name: d.Name}
		m.calls = append(m.calls, c)
	}
	c.began, c.lost = at, false
}

func (m *chat) callFinished(at time.Time, d api.ToolCallFinished) {
	c := m.call(d.CallID)
	switch {
	case c == nil:
		c = &call{id: d.CallID, name: d.Name}
		m.calls = append(m.calls, c)
	case c.done:
		return // it was told already why it does not run
	}
	c.ended, c.output, c.code, c.done, c.lost = at, d.Output, d.Code, true, false
	m.flushCalls(false)
}

func (m *chat) callLost(d api.ToolCallLost) {
	text := "the process died inside it: did it act?"
	if d.Again {
		text = "the process died inside it; it is repeatable and runs again"
	}
	if c := m.call(d.CallID); c != nil {
		c.lost = true
		text = c.name + ": " + text
	}
	m.note(text)
}

// flushCalls prints the calls that are done, in their order; all of them when the turn goes on without.
func (m *chat) flushCalls(all bool) {
	if m.turn == nil {
		return
	}
	for m.turn.shown < len(m.calls) {
		c := m.calls[m.turn.shown]
		if !c.done && !all {
			return
		}
		m.turn.shown++
		m.put(item{kind: toolItem, lines: m.folded(c)})
	}
}

// running are the calls of the turn that are not printed yet.
func (m *chat) running() []*call {
	if m.turn == nil || m.turn.shown >= len(m.calls) {
		return nil
	}
	return m.calls[m.turn.shown:]
}

// folded is a call in one line, and its result in another.
func (m *chat) folded(c *call) []string {
	mark, end := m.ink.green("●"), ""
	switch {
	case !c.done && c.lost:
		mark, end = m.ink.yellow("●"), m.ink.yellow(" ?")
	case !c.done && c.began.IsZero():
		mark = m.ink.dim("●")
	case !c.done:
		mark = m.ink.cyan("●")
	case c.code != "":
		mark, end = m.ink.red("●"), m.ink.red(" ✗")
	default:
		end = m.ink.green(" ✓")
	}
	if c.done && !c.began.IsZero() {
		end += m.ink.dim(" " + short(c.ended.Sub(c.began)))
	}
	room := m.width - 2 - 8 // for the end
	lines := []string{mark + " " + cut(m.ink.bold(plain.Printable(c.name))+"("+c.about()+")", room) + end}
	if !c.done {
		return lines
	}
	result := plain.Brief(c.output)
	if c.code != "" && !strings.Contains(result, string(c.code)) {
		result = string(c.code) + ": " + result
	}
	if more := strings.Count(strings.TrimSpace(c.output), "\n"); more > 0 {
		result += fmt.Sprintf(" (%d lines, ctrl+o shows them)", more+1)
	}
	if result != "" {
		lines = append(lines, "  "+m.ink.dim(cut("└ "+result, m.width-2)))
	}
	return lines
}

// about is what a call is about, in one line.
func (c *call) about() string {
	if c.asks != "" {
		return plain.Brief(c.asks)
	}
	return oneLine(c.arguments)
}

// unfold prints the calls of the last answer that had any, whole.
func (m *chat) unfold() {
	for _, c := range m.calls {
		lines := append([]string{m.ink.bold(plain.Printable(c.name))}, m.arguments(c.arguments, m.width-2)...)
		output := wrapped(strings.TrimRight(c.output, "\n"), m.width-4)
		if more := len(output) - wholeLines; more > 0 {
			output = append(output[:wholeLines], fmt.Sprintf("… %d more lines; openworker export has them", more))
		}
		if c.done {
			lines = append(lines, hang("└ ", "  ", each(output, m.ink.dim))...)
		}
		m.put(item{kind: pageItem, lines: hang("  ", "  ", lines)})
	}
}

// field is one argument, as it is shown.
type field struct{ name, value string }

// fields takes a JSON object apart, in its own order; ok is false for anything else.
func fields(arguments string) (out []field, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(arguments))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, false
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, false
		}
		text := string(value)
		var str string
		if json.Unmarshal(value, &str) == nil && len(value) > 0 && value[0] == '"' {
			text = str
		} else {
			var indented bytes.Buffer
			if json.Indent(&indented, value, "", "  ") == nil {
				text = indented.String()
			}
		}
		out = append(out, field{fmt.Sprint(name), text})
	}
	return out, true
}

// oneLine is a call's arguments in one line.
func oneLine(arguments string) string {
	list, ok := fields(arguments)
	if !ok {
		return plain.Brief(arguments)
	}
	parts := make([]string, len(list))
	for n, f := range list {
		parts[n] = plain.Brief(f.name + ": " + f.value)
	}
	return strings.Join(parts, ", ")
}

// arguments are a call's arguments, a line each or more.
func (m *chat) arguments(arguments string, width int) []string {
	list, ok := fields(arguments)
	if !ok {
		return wrapped(arguments, width)
	}
	var lines []string
	for _, f := range list {
		value := wrapped(f.value, width-2)
		name := m.ink.dim(plain.Brief(f.name) + ":")
		if len(value) == 1 && len(plain.Brief(f.name))+2+len(value[0]) <= width {
			lines = append(lines, name+" "+value[0])
		} else {
			lines = append(append(lines, name), hang("  ", "  ", value)...)
		}
	}
	return lines
}

// short is a duration for people.
func short(d time.Duration) string {
	switch d = max(0, d); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}
