package chatui

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

const (
	// mostRows is how tall the input grows; more text scrolls in it.
	mostRows = 8
	// mostLines is what the editor can hold.
	mostLines = 10_000
	// shownPaste and shownPasteLines bound a paste that stands in the input and not behind a name.
	shownPaste, shownPasteLines = 1000, mostRows
)

// input is the editor of messages and reasons, with what was sent before.
type input struct {
	area    textarea.Model
	pastes  []string // of this text, behind their names
	history []string
	at      int    // in history; len(history) is the draft
	draft   string // what was typed before history was looked at
}

func newInput() input {
	area := textarea.New()
	area.Prompt = ""
	area.ShowLineNumbers = false
	area.CharLimit = 0
	area.DynamicHeight = true
	area.MaxHeight, area.MaxContentHeight = mostRows, mostLines
	area.MaxWidth = 0
	area.EndOfBufferCharacter = ' '
	area.SetVirtualCursor(false)
	area.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "ctrl+j", "shift+enter"))
	area.KeyMap.Paste.SetEnabled(false) // the terminal's own paste comes as one
	plain := textarea.StyleState{Placeholder: lipgloss.NewStyle().Faint(true), Selection: lipgloss.NewStyle().Reverse(true)}
	area.SetStyles(textarea.Styles{Focused: plain, Blurred: plain, Cursor: textarea.CursorStyle{Shape: tea.CursorBlock, Blink: true}})
	area.SetHeight(1)
	area.Focus()
	return input{area: area}
}

// text is what was typed, with pastes whole.
func (in *input) text() string {
	text := in.area.Value()
	for n, pasted := range in.pastes {
		text = strings.Replace(text, pasteName(n, pasted), pasted, 1)
	}
	return plain.WithoutControls(text)
}

func (in *input) empty() bool { return in.area.Length() == 0 }

// set replaces the text.
func (in *input) set(text string) {
	in.area.Reset()
	in.pastes = nil
	in.insert(text)
}

// insert puts a text at the cursor: a long one, or one that the editor would change, under a name.
func (in *input) insert(text string) {
	text = plain.WithoutControls(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text))
	if len(text) > shownPaste || strings.Count(text, "\n") >= shownPasteLines || strings.ContainsAny(text, "\t\uFFFD") {
		in.pastes = append(in.pastes, text)
		text = pasteName(len(in.pastes)-1, text)
	}
	in.area.InsertString(text)
}

// edit puts a text into the empty editor to be changed: whole, and with the cursor at its beginning.
func (in *input) edit(text string) {
	in.area.SetValue(text)
	in.area.MoveToBegin()
}

// paste inserts what the terminal pasted; the line end behind it is no part of it.
func (in *input) paste(text string) { in.insert(strings.TrimRight(text, "\r\n")) }

// continued turns a backslash before the cursor into a line end and says whether there was one.
func (in *input) continued() bool {
	lines := strings.Split(in.area.Value(), "\n")
	line, column := []rune(lines[in.area.Line()]), in.area.Column()
	if column == 0 || column > len(line) || line[column-1] != '\\' {
		return false
	}
	in.area, _ = in.area.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	in.area.InsertString("\n")
	return true
}

// press gives a key to the editor. Up and down at the edge go through history.
func (in *input) press(msg tea.KeyPressMsg) tea.Cmd {
	info := in.area.LineInfo()
	switch msg.String() {
	case "up", "ctrl+p":
		if in.area.Line() == 0 && info.RowOffset == 0 {
			in.recall(-1)
			return nil
		}
	case "down", "ctrl+n":
		if in.area.Line() == in.area.LineCount()-1 && info.RowOffset >= info.Height-1 {
			in.recall(1)
			return nil
		}
	}
	var cmd tea.Cmd
	before := in.area.Value()
	in.area, cmd = in.area.Update(msg)
	in.mend(before)
	return cmd
}

func (in *input) recall(step int) {
	to := in.at + step
	if to < 0 || to > len(in.history) {
		return
	}
	if in.at == len(in.history) {
		in.draft = in.text()
	}
	in.at = to
	if to == len(in.history) {
		in.set(in.draft)
	} else {
		in.set(in.history[to])
	}
}

// remember adds a message to history, unless it is one of the last again: what is sent comes back as an event.
func (in *input) remember(text string) {
	if slices.Contains(in.history[max(0, len(in.history)-shownItems):], text) {
		return
	}
	browsing := in.at < len(in.history)
	in.history = append(in.history, text)
	if !browsing {
		in.at = len(in.history)
	}
}

// clear empties the input for the next message.
func (in *input) clear() {
	in.set("")
	in.at, in.draft = len(in.history), ""
}

// view is the editor behind a prompt, with the cursor's place in it.
func (in *input) view(prompt string, width int) (lines []string, cursor *tea.Cursor) {
	indent := lipgloss.Width(prompt)
	in.area.SetWidth(max(4, width-indent))
	lines = hang(prompt, strings.Repeat(" ", indent), strings.Split(in.area.View(), "\n"))
	for n := range lines {
		lines[n] = trimRight(lines[n])
	}
	if cursor = in.area.Cursor(); cursor != nil {
		cursor.X += indent
	}
	return lines, cursor
}
