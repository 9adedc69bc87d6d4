package chatui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
)

// cardRows is how many lines of arguments a card shows.
const cardRows = 10

// choice is one answer to an interaction; its key picks it.
type choice struct {
	key, label string
	decision   api.Decision
	ask        string // what to type in then, "" for nothing
	output     bool   // what is typed is the action's output, and not a reason
	confirmed  bool   // its key only goes to it, and enter picks it
}

// cardKind is how one kind of interaction is shown and answered.
type cardKind struct {
	title   func(i api.Interaction) string
	choices []choice
}

// kindOf is the place to add a kind of card; ok is false for kinds that this version cannot answer.
func kindOf(kind api.InteractionKind) (k cardKind, ok bool) {
	switch kind {
	case api.InteractionApproval:
		return cardKind{func(i api.Interaction) string { return "May it call " + callName(i) + "?" }, []choice{
			{"y", "yes, this once", api.AllowOnce, "", false, false},
			{"a", "always in this session (a, then enter)", api.AllowSession, "", false, true},
			{"n", "no", api.Deny, "Why not? (for the model; may be empty)", false, false},
		}}, true
	case api.InteractionUnknownOutcome:
		return cardKind{func(i api.Interaction) string {
			return "The process died inside " + callName(i) + ", and whether it acted is not known. What became of it?"
		}, []choice{
			{"s", "it succeeded", api.OutcomeSucceeded, "What did it return? (for the model; may be empty)", true, false},
			{"f", "it failed and will not happen", api.OutcomeFailed, "Why? (for the model; may be empty)", false, false},
			{"r", "run it again", api.OutcomeRetry, "", false, false},
		}}, true
	}
	return cardKind{title: func(i api.Interaction) string {
		return fmt.Sprintf("It asks something that this version cannot answer (%s, of %s); a newer one can", Brief(string(i.Kind)), callName(i))
	}}, false
}

func callName(i api.Interaction) string {
	if i.Call == nil || i.Call.Name == "" {
		return "an action"
	}
	return Brief(i.Call.Name)
}

// card is an open interaction.
type card struct {
	of     api.Interaction
	kind   cardKind
	at     int     // the choice under the cursor
	chosen *choice // the one whose text is being typed
	typed  input
	sent   api.Decision // the answer that is on its way
	came   time.Time    // when it took the keys by itself; zero when somebody gave them to it
	held   string       // what was typed to go to a choice that enter picks
}

// askFor shows an interaction. It takes the keys unless somebody is typing.
func (m *chat) askFor(i api.Interaction) {
	m.asked[i.ID] = true
	kind, answerable := kindOf(i.Kind)
	c := &card{of: i, kind: kind}
	m.cards = append(m.cards, c)
	if answerable && m.focus == "" && m.input.empty() {
		m.focus, c.came = i.ID, m.opt.Now()
	}
}

// fresh says whether a card that took the keys by itself has not been there for long enough to be read.
func (m *chat) fresh(c *card) bool {
	return !c.came.IsZero() && c.sent == "" && m.opt.Now().Sub(c.came) < settleWithin
}

// meant says whether a key is for the card: not where the card came under the fingers of somebody who types.
func (m *chat) meant(c *card) bool {
	return c.came.IsZero() || !m.fresh(c) && m.opt.Now().Sub(m.typed) >= typingWithin
}

// focused is the card that has the keys, nil for none.
func (m *chat) focused() *card {
	for _, c := range m.cards {
		if c.of.ID == m.focus {
			return c
		}
	}
	return nil
}

// editor is where typed text goes.
func (m *chat) editor() *input {
	if c := m.focused(); c != nil && c.chosen != nil {
		return &c.typed
	}
	m.focus = ""
	return &m.input
}

// nextFocus moves the keys on: from card to card, and to the input.
func (m *chat) nextFocus() {
	from := -1
	for n, c := range m.cards {
		if c.of.ID == m.focus {
			from = n
		}
	}
	for _, c := range m.cards[from+1:] {
		if len(c.kind.choices) > 0 {
			m.focus, c.came = c.of.ID, time.Time{}
			return
		}
	}
	m.focus = ""
}

// resolved takes a card away.
func (m *chat) resolved(d api.InteractionResolved) {
	m.asked[d.ID] = true
	for n, c := range m.cards {
		if c.of.ID != d.ID {
			continue
		}
		hadFocus := m.focus == d.ID
		m.cards = append(m.cards[:n:n], m.cards[n+1:]...)
		if d.Decision != api.InteractionCancelled {
			m.note(resolvedNote(c, d, m.replaying))
		}
		if hadFocus {
			m.focus = ""
			// A key that was meant for a question which somebody else has answered must not answer another.
			if c.sent != "" && m.input.empty() {
				m.nextFocus()
				if next := m.focused(); next != nil {
					next.came = m.opt.Now()
				}
			}
		}
		return
	}
}

func resolvedNote(c *card, d api.InteractionResolved, past bool) string {
	text := decided(d.Decision) + ": " + callName(c.of)
	if c.sent == "" && !past {
		text = "answered elsewhere, " + text
	}
	if d.By != "" && (c.sent == "" || past) {
		text += ", by " + Brief(d.By)
	}
	if d.Reason != "" {
		text += ": " + Brief(d.Reason)
	}
	return text
}

// decided says a decision in words.
func decided(d api.Decision) string {
	switch d {
	case api.AllowOnce:
		return "allowed once"
	case api.AllowSession:
		return "allowed in this session"
	case api.Deny:
		return "denied"
	case api.OutcomeSucceeded:
		return "settled as succeeded"
	case api.OutcomeFailed:
		return "settled as failed"
	case api.OutcomeRetry:
		return "run again"
	}
	return string(d)
}

// pressCard gives a key to the card that has them.
func (m *chat) pressCard(c *card, msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	held := c.held
	c.held = ""
	switch {
	case c.sent != "":
		return nil // its answer is on its way
	case c.chosen != nil && key == "esc":
		c.chosen = nil
	case c.chosen != nil && key == "enter":
		if !c.typed.continued() {
			return m.decide(c, *c.chosen, c.typed.text())
		}
	case c.chosen != nil:
		return c.typed.press(msg)
	case key == "esc":
		m.focus = ""
	case key == "up" || key == "shift+tab":
		c.at = max(0, c.at-1)
	case key == "down":
		c.at = min(len(c.kind.choices)-1, c.at+1)
	case key == "enter" && held == "" && !m.meant(c):
		m.focus = ""
	case key == "enter":
		return m.choose(c, c.at)
	default:
		for n, choice := range c.kind.choices {
			switch {
			case !strings.EqualFold(key, choice.key) || !m.meant(c):
			case choice.confirmed:
				c.at, c.held = n, msg.Text
				return nil
			default:
				return m.choose(c, n)
			}
		}
		if msg.Text != "" { // no answer: a message is being typed, whose Enter must not answer
			m.focus = ""
			m.input.insert(held)
			return m.input.press(msg)
		}
	}
	return nil
}

func (m *chat) choose(c *card, n int) tea.Cmd {
	c.at = n
	choice := c.kind.choices[n]
	if choice.ask == "" {
		return m.decide(c, choice, "")
	}
	c.chosen, c.typed, c.came = &choice, newInput(), time.Time{}
	return nil
}

// decide sends an answer.
func (m *chat) decide(c *card, by choice, text string) tea.Cmd {
	answer := api.Answer{Decision: by.decision, By: m.opt.Person}
	if by.output {
		answer.Output = text
	} else {
		answer.Reason = text
	}
	c.sent = by.decision
	id, conversation, generation := c.of.ID, m.conversation, m.generation
	return func() tea.Msg {
		return answeredMsg{generation, id, conversation.Answer(m.ctx, id, answer)}
	}
}

// answered gives a card back whose answer was not taken. One that was resolved by somebody else goes with the event
// that says so.
func (m *chat) answered(msg answeredMsg) {
	if msg.err == nil {
		return
	}
	for _, c := range m.cards {
		if c.of.ID == msg.interaction {
			c.sent = ""
		}
	}
	if code := api.CodeOf(msg.err); code != api.CodeAlreadyResolved && code != api.CodeInteractionNotFound {
		m.report(msg.err)
	}
}

// cardLines shows a card: whole where it has the keys, else in a line.
func (m *chat) cardLines(c *card, n int) (lines []string, cursor *tea.Cursor) {
	width := m.width - 2
	bar := m.ink.yellow("│ ")
	if c.of.ID != m.focus && len(m.cards) > 1 {
		return []string{bar + m.ink.dim(cut(c.kind.title(c.of), width))}, nil
	}
	for _, line := range wrapped(c.kind.title(c.of), width) {
		lines = append(lines, m.ink.bold(line))
	}
	if c.of.Origin != "" {
		lines = append(lines, m.ink.dim(cut("asked by "+Brief(c.of.Origin), width)))
	}
	if c.of.Call != nil {
		shown := m.arguments(c.of.Call.Arguments, width-2)
		if more := len(shown) - cardRows; more > 0 {
			shown = append(shown[:cardRows], m.ink.dim(fmt.Sprintf("… %d more lines, ctrl+o shows them", more)))
		}
		lines = append(lines, hang("  ", "  ", shown)...)
	}
	switch {
	case len(c.kind.choices) == 0:
	case c.sent != "":
		lines = append(lines, m.ink.dim("answering…"))
	case c.chosen != nil:
		lines = append(lines, each(wrapped(c.chosen.ask, width), m.ink.dim)...)
		typed, at := c.typed.view("> ", width)
		if at != nil {
			at.X += 2
			at.Y += len(lines)
		}
		lines, cursor = append(lines, typed...), at
	default:
		for k, choice := range c.kind.choices {
			line := "  " + choice.key + "  " + choice.label
			if k == c.at && c.of.ID == m.focus {
				line = m.ink.cyan("> " + choice.key + "  " + choice.label)
			}
			lines = append(lines, cut(line, width))
		}
		hint := "a letter, or enter"
		switch {
		case c.of.ID != m.focus:
			hint = "tab answers it"
		case m.fresh(c):
			hint = "…"
		case c.held != "":
			hint = "enter: " + decided(c.kind.choices[c.at].decision)
		case len(m.cards) > 1:
			hint = fmt.Sprintf("%d of %d, tab goes on", n+1, len(m.cards))
		}
		lines = append(lines, m.ink.dim(cut(hint, width)))
	}
	return hang(bar, bar, lines), cursor
}

// unfoldCard prints a card's arguments whole.
func (m *chat) unfoldCard(c *card) {
	if c.of.Call != nil {
		lines := append([]string{m.ink.bold(callName(c.of))}, m.arguments(c.of.Call.Arguments, m.width-2)...)
		m.put(item{kind: pageItem, lines: hang("  ", "  ", lines)})
	}
}
