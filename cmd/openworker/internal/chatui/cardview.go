package chatui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// cardLines shows a card: whole where it has the keys, else in a line.
func (m *chat) cardLines(c *card, n int) (lines []string, cursor *tea.Cursor) {
	width := m.width - 2
	bar := m.ink.yellow("│ ")
	if c.of.ID != m.focus && len(m.cards) > 1 {
		return []string{bar + m.ink.dim(cut(plain.Line(c.kind.Title), width))}, nil
	}
	if r := c.of.Review; r != nil {
		lines = append(lines, each(wrapped(decide.Review(*r), width), m.ink.dim)...)
	}
	lines = append(lines, each(m.some(wrapped(strings.TrimSpace(c.kind.Title), width)), m.ink.bold)...)
	if c.of.Origin != "" && c.of.Origin != ownOrigin {
		lines = append(lines, m.ink.dim(cut("asked by "+plain.Brief(c.of.Origin), width)))
	}
	edited := c.chosen != nil && c.chosen.Typed == decide.Arguments // they stand below
	if c.of.Call != nil && c.of.Question == nil && !edited {
		lines = append(lines, hang("  ", "  ", m.some(m.arguments(c.of.Call.Arguments, width-2)))...)
	}
	switch {
	case len(c.kind.Choices) == 0:
	case c.sent != "":
		lines = append(lines, m.ink.dim("answering…"))
	case c.chosen != nil:
		ask := c.chosen.Ask
		if edited {
			ask = strings.TrimSuffix(ask, ":") + "; enter calls it with them, esc goes back"
		}
		lines = append(lines, each(wrapped(ask, width), m.ink.dim)...)
		lines = append(lines, each(m.faultLines(c, width), m.ink.red)...)
		typed, at := c.typed.view("> ", width)
		if at != nil {
			at.X += 2
			at.Y += len(lines)
		}
		lines, cursor = append(lines, typed...), at
	default:
		lines = append(lines, m.choiceLines(c, width)...)
		lines = append(lines, each(m.faultLines(c, width), m.ink.red)...)
		lines = append(lines, m.ink.dim(cut(m.cardHint(c, n), width)))
	}
	return hang(bar, bar, lines), cursor
}

// ownOrigin is where an action comes from that the session's own agent asks for.
const ownOrigin = "agent"

// some is the beginning of what may be long.
func (m *chat) some(lines []string) []string {
	if more := len(lines) - cardRows; more > 0 {
		return append(lines[:cardRows:cardRows], m.ink.dim(fmt.Sprintf("… %d more lines, ctrl+o shows them", more)))
	}
	return lines
}

func (m *chat) faultLines(c *card, width int) []string {
	if c.fault == "" {
		return nil
	}
	lines := wrapped(c.fault, width)
	return lines[:min(len(lines), cardRows)]
}

// choiceLines are the choices, those around the cursor where there are many.
func (m *chat) choiceLines(c *card, width int) (lines []string) {
	first := 0
	if len(c.kind.Choices) > cardChoices {
		first = min(max(0, c.at-cardChoices/2), len(c.kind.Choices)-cardChoices)
	}
	for k := first; k < min(first+cardChoices, len(c.kind.Choices)); k++ {
		choice := c.kind.Choices[k]
		text := choice.Key + "  "
		if choice.Key == "" {
			text = "   "
		}
		switch {
		case choice.Marks && c.marked[k]:
			text += "[x] "
		case choice.Marks:
			text += "[ ] "
		}
		text += plain.Line(choice.Label)
		if choice.Lasting {
			text += fmt.Sprintf(" (%s, then enter)", choice.Key)
		}
		if choice.Detail != "" {
			text += " — " + plain.Line(choice.Detail)
		}
		line := "  " + text
		if k == c.at && c.of.ID == m.focus {
			line = m.ink.cyan("> " + text)
		}
		lines = append(lines, cut(line, width))
	}
	if hidden := len(c.kind.Choices) - len(lines); hidden > 0 {
		lines = append(lines, m.ink.dim(fmt.Sprintf("… %d more, up and down go through them", hidden)))
	}
	return lines
}

// cardHint says which keys answer a card.
func (m *chat) cardHint(c *card, n int) string {
	keys := "a letter, or enter"
	switch q := c.of.Question; {
	case q != nil && q.Multiple && len(q.Choices) > 0:
		keys = "space marks, enter answers"
	case q != nil && len(q.Choices) > 0:
		keys = "a number or a letter, or enter"
	}
	switch {
	case c.of.ID != m.focus:
		return "tab goes to the question, then " + answerKeys(c)
	case m.fresh(c):
		return "…"
	case c.held != "":
		return "enter: " + decide.Said(c.kind.Choices[c.at].Decision)
	case len(m.cards) > 1:
		return fmt.Sprintf("%d of %d, tab goes on", n+1, len(m.cards))
	}
	return keys
}

// answerKeys are the keys that answer a card which has them.
func answerKeys(c *card) string {
	var keys []string
	for _, choice := range c.kind.Choices {
		if choice.Key != "" {
			keys = append(keys, choice.Key)
		}
	}
	last := len(keys) - 1
	return strings.Join(keys[:last], ", ") + " or " + keys[last]
}

// unfoldCard prints a card's arguments, or its question, whole.
func (m *chat) unfoldCard(c *card) {
	var lines []string
	if r := c.of.Review; r != nil {
		m.note(decide.WholeReview(*r))
	}
	switch {
	case c.of.Question != nil:
		lines = each(wrapped(strings.TrimSpace(c.of.Question.Text), m.width-4), m.ink.bold)
		for _, choice := range c.of.Question.Choices {
			text := plain.Line(choice.Label)
			if choice.Description != "" {
				text += " — " + choice.Description
			}
			lines = append(lines, hang("- ", "  ", wrapped(text, m.width-6))...)
		}
	case c.of.Call != nil:
		lines = append([]string{m.ink.bold(decide.Call(c.of))}, m.arguments(c.of.Call.Arguments, m.width-2)...)
	}
	if len(lines) > 0 {
		m.put(item{kind: pageItem, lines: hang("  ", "  ", lines)})
	}
}
