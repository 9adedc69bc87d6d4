package chatui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// press carries out a key.
func (m *chat) press(msg tea.KeyPressMsg) tea.Cmd {
	m.marking = false
	cmd := m.pressed(msg)
	if msg.Text != "" && !m.marking {
		m.typed = m.opt.Now()
	}
	return cmd
}

func (m *chat) pressed(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	if key != "ctrl+c" {
		m.unhint()
	}
	c := m.focused()
	switch key {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return m.suspend()
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+o":
		if c != nil {
			m.unfoldCard(c)
		} else {
			m.unfold()
		}
		return nil
	case "ctrl+r":
		m.unfoldThought()
		return nil
	case "tab":
		if c == nil && strings.HasPrefix(m.input.area.Value(), "/") {
			return m.complete()
		} else if c == nil || c.chosen == nil {
			m.nextFocus()
		}
		return nil
	case "ctrl+d":
		if m.input.empty() && (c == nil || c.chosen == nil || c.typed.empty()) {
			m.leave(false)
			return nil
		}
	}
	if c != nil {
		return m.pressCard(c, msg)
	}
	switch key {
	case "esc":
		if m.turn == nil {
			return nil
		}
		return m.cancelTurn()
	case "enter":
		if m.input.continued() {
			return nil
		}
		return m.submit()
	}
	return m.input.press(msg)
}

// interrupt carries out Ctrl-C: it cancels a turn or clears the input, and soon again it leaves.
func (m *chat) interrupt() tea.Cmd {
	now := m.opt.Now()
	soon := !m.interrupted.IsZero() && now.Sub(m.interrupted) < leaveWithin
	m.interrupted = now
	m.unhint()
	switch {
	case soon:
		m.leave(m.turn != nil)
		return nil
	case m.turn != nil:
		cmd := tea.Batch(m.cancelTurn(), m.say("cancelling the turn; Ctrl-C again leaves", false))
		m.passing = true
		return cmd
	case len(m.outbox) > 0:
		m.unwanted = true
		return m.say("the turn is cancelled once its message is stored; Ctrl-C again leaves", false)
	case !m.input.empty():
		m.input.clear()
		m.interrupted = m.interrupted.Add(-leaveWithin) // it was for the text
		return nil
	}
	return m.say("Ctrl-C again, or Ctrl-D, leaves", false)
}

// cancelTurn asks the turn to end; that is durable before it is answered.
func (m *chat) cancelTurn() tea.Cmd {
	if m.turn == nil {
		m.note("no turn is under way")
		return nil
	}
	m.turn.cancelling = true
	return m.cancelling()
}

func (m *chat) cancelling() tea.Cmd {
	conversation := m.conversation
	return func() tea.Msg { return cancelledMsg{conversation.Cancel(m.ctx)} }
}

// submit sends what was typed, or carries it out as a command.
func (m *chat) submit() tea.Cmd {
	text := m.input.text()
	files := m.tray.Files()
	if strings.TrimSpace(text) == "" {
		if len(files) == 0 {
			return nil
		}
		text = "" // the files are the message
	}
	if strings.HasPrefix(text, "//") {
		text = text[1:]
	} else if strings.HasPrefix(text, "/") {
		return m.command(text)
	}
	if m.reading > 0 {
		return m.say("a file is still being read; enter sends the message then", true)
	}
	if m.opt.Check != nil {
		if err := m.opt.Check(text, files); err != nil {
			return m.say(err.Error(), true)
		}
	}
	message := Message{Text: text, Files: m.tray.Take(), Model: m.model}
	if m.refused.Text == text && m.refused.Model == m.model && slices.Equal(m.refused.Files, message.Files) {
		message.ID = m.refused.ID // it may have been stored all the same
	} else {
		message.ID = m.opt.NewID()
	}
	m.remember(text)
	m.input.clear()
	m.outbox = append(m.outbox, message)
	if len(m.outbox) == 1 {
		return m.send()
	}
	return nil
}

// unfoldThought shows reasoning: as it comes, or the last whole.
func (m *chat) unfoldThought() {
	switch {
	case m.turn != nil && len(m.turn.mused.text) > 0:
		m.unfolded = !m.unfolded
	case m.thought == "":
		m.say("there is no reasoning to show", true)
	default:
		lines := each(wrapped(strings.TrimSpace(m.thought), m.width-4), m.ink.dim)
		m.put(item{kind: pageItem, lines: hang("  ", "  ", lines)})
	}
}
