package chatui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

// cardRows is how many lines of a question or of arguments a card shows, and cardChoices how many choices.
const cardRows, cardChoices = 10, 12

// card is an open interaction.
type card struct {
	of     api.Interaction
	kind   decide.Kind
	at     int // the choice under the cursor
	marked map[int]bool
	chosen *decide.Choice // the one whose text is being typed
	typed  input
	fault  string       // what is wrong with what was typed
	sent   api.Decision // the answer that is on its way
	came   time.Time    // when it took the keys by itself; zero when somebody gave them to it
	held   string       // what was typed to go to a choice that enter picks
}

// askFor shows an interaction. It takes the keys unless somebody is typing.
func (m *chat) askFor(i api.Interaction) {
	m.asked[i.ID] = true
	kind, answerable := decide.Of(i)
	c := &card{of: i, kind: kind, marked: map[int]bool{}}
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
		if len(c.kind.Choices) > 0 {
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
			m.settled(c, d)
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

// pressCard gives a key to the card that has them.
func (m *chat) pressCard(c *card, msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	held := c.held
	c.held = ""
	if c.sent == "" {
		c.fault = ""
	}
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
		c.at = min(len(c.kind.Choices)-1, c.at+1)
	case key == "enter" && held == "" && !m.meant(c):
		m.focus = ""
	case key == "enter":
		return m.choose(c, c.at)
	case key == "space" && c.kind.Choices[c.at].Marks && !m.fresh(c):
		m.mark(c, c.at)
	default:
		for n, choice := range c.kind.Choices {
			switch {
			case !strings.EqualFold(key, choice.Key):
			case choice.Marks && !m.fresh(c): // a mark answers nothing yet
				m.mark(c, n)
				return nil
			case !m.meant(c):
			case choice.Lasting:
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

// mark marks a choice, or takes its mark away.
func (m *chat) mark(c *card, n int) {
	c.at, m.marking = n, true
	c.marked[n] = !c.marked[n]
}

// markedAnswers are the answers that are marked, in their order.
func (c *card) markedAnswers() (answers []string) {
	for n, choice := range c.kind.Choices {
		if c.marked[n] {
			answers = append(answers, choice.Text)
		}
	}
	return answers
}

func (m *chat) choose(c *card, n int) tea.Cmd {
	c.at = n
	choice := c.kind.Choices[n]
	if choice.Ask == "" {
		return m.decide(c, choice, "")
	}
	c.chosen, c.typed, c.came = &choice, newInput(), time.Time{}
	if choice.Typed == decide.Arguments {
		c.typed.edit(decide.Editable(decide.CallArguments(c.of)))
	}
	return nil
}

// decide sends an answer.
func (m *chat) decide(c *card, by decide.Choice, text string) tea.Cmd {
	answer, err := by.Answer(c.of, text, c.markedAnswers())
	if err != nil {
		c.fault = err.Error()
		return nil
	}
	answer.By = m.opt.Person
	c.sent = by.Decision
	id, conversation, generation := c.of.ID, m.conversation, m.generation
	return func() tea.Msg {
		return answeredMsg{generation, id, conversation.Answer(m.ctx, id, answer)}
	}
}

// refusedAnswer gives a card back whose answer was not taken: with what was typed, where that can be mended. One that was
// resolved by somebody else goes with the event that says so.
func (m *chat) refusedAnswer(msg answeredMsg) {
	if msg.err == nil {
		return
	}
	code := api.CodeOf(msg.err)
	told := code == api.CodeAlreadyResolved || code == api.CodeInteractionNotFound
	for _, c := range m.cards {
		if c.of.ID != msg.interaction {
			continue
		}
		c.sent = ""
		if c.chosen != nil && !told && !api.AsError(msg.err).Retryable() {
			c.fault, told = msg.err.Error(), true
		}
	}
	if !told {
		m.report(msg.err)
	}
}
