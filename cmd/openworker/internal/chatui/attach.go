package chatui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

const (
	// trayRows is how many attached files are shown above the input.
	trayRows = 4
	// shownNames is how many names a path that is being completed is shown with.
	shownNames = 40
)

// attachFiles reads the files that are named, or lists those that are attached.
func (m *chat) attachFiles(argument string) tea.Cmd {
	if argument == "" {
		files := m.tray.Files()
		if len(files) == 0 {
			return m.say(attached.Nothing, false)
		}
		lines := []string{attached.Heading}
		for _, f := range files {
			lines = append(lines, f.String())
		}
		m.table(lines)
		return nil
	}
	m.reading++
	home := m.opt.Home
	return func() tea.Msg { // a disk may be slow
		msg := filesMsg{argument: argument}
		var paths []string
		if paths, msg.err = attached.Paths(argument, home); msg.err == nil {
			msg.files, msg.err = attached.Read(paths...)
		}
		return msg
	}
}

// read adds files to the next message. A line that was wrong comes back to be corrected.
func (m *chat) read(msg filesMsg) tea.Cmd {
	m.reading--
	err := msg.err
	if err == nil {
		err = m.tray.Put(msg.files...)
	}
	if err == nil {
		return nil // they stand above the input
	}
	if m.input.empty() {
		m.input.set("/attach " + msg.argument)
	}
	return m.say(err.Error(), true)
}

func (m *chat) detach(argument string) tea.Cmd {
	files, err := m.tray.Drop(argument)
	if err != nil {
		return m.say(err.Error(), true)
	}
	names := make([]string, len(files))
	for n, f := range files {
		names[n] = plain.Brief(f.Name)
	}
	return m.say("taken back: "+strings.Join(names, ", "), false)
}

// trayLines are the files of the next message, above the input.
func (m *chat) trayLines() []string {
	files := m.tray.Files()
	more := len(files) - trayRows
	if more == 1 {
		more = 0 // its line is as long as the one that says so
	}
	var lines []string
	for n, f := range files {
		if more > 0 && n == trayRows {
			lines = append(lines, m.ink.dim(cut(fmt.Sprintf("  … and %d more, which /attach lists", more), m.width)))
			break
		}
		lines = append(lines, m.ink.cyan("+ ")+cut(f.String(), m.width-2))
	}
	return lines
}

// completePath ends a path as far as it is clear, and shows what it may go on with.
func (m *chat) completePath(typed, argument string) tea.Cmd {
	home := m.opt.Home
	return func() tea.Msg {
		completed, names := attached.Complete(argument, home)
		return pathMsg{typed, "/attach " + completed, names}
	}
}

func (m *chat) pathCompleted(msg pathMsg) tea.Cmd {
	if m.input.area.Value() != msg.typed {
		return nil // somebody typed on
	}
	m.input.set(msg.completed)
	if len(msg.names) == 0 {
		return nil
	}
	names, more := msg.names, ""
	if n := len(names) - shownNames; n > 0 {
		names, more = names[:shownNames], fmt.Sprintf("  … and %d more", n)
	}
	return m.say(plain.Line(strings.Join(names, "  "))+more, false)
}

// completeAttached ends the name of a file that is attached.
func (m *chat) completeAttached(typed string) tea.Cmd {
	var found []string
	for _, name := range append(m.tray.Names(), "all") {
		if strings.HasPrefix(name, typed) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return nil
	case 1:
		m.input.set("/detach " + found[0])
		return nil
	}
	m.input.set("/detach " + common(found))
	return m.say(plain.Line(strings.Join(found, "  ")), false)
}

// remember adds a message's text to what the keys bring back; one of files alone has none.
func (m *chat) remember(text string) {
	if text != "" {
		m.input.remember(text)
	}
}

// brief is a message that is on its way, on one line.
func brief(message Message) string {
	parts := []string{plain.Brief(message.Text)}
	for _, f := range message.Files {
		parts = append(parts, "+ "+f.String())
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
