package chatui

import (
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

// settled notes how an interaction was resolved.
func (m *chat) settled(c *card, d api.InteractionResolved) {
	if d.Arguments != nil && c.of.Call != nil {
		if asked := m.call(c.of.Call.CallID); asked != nil {
			asked.arguments = string(d.Arguments) // it runs with these
		}
	}
	elsewhere := c.sent == "" && !m.replaying
	text := decide.Settled(c.of, d, elsewhere || m.replaying)
	if elsewhere && !decide.OfReviewer(d) && !decide.OfAgent(d) {
		text = "answered elsewhere, " + text
		if d.Decision == api.Answered {
			text = strings.Replace(text, ", "+decide.Said(api.Answered), "", 1)
		}
	}
	m.note(text)
}

// guarded notes what guardrails did.
func (m *chat) guarded(verdicts []api.GuardVerdict) {
	for _, v := range verdicts {
		m.note(decide.Guard(v))
	}
}

// reviewed counts what a review used. Its verdict comes with its interaction.
func (m *chat) reviewed(t *turn, e api.Event, d api.ReviewFinished) {
	m.charge(t, e, d.Usage)
	delete(t.reviews, d.CallID)
	if d.Again {
		m.note("the process died while the reviewer was asked; it is asked again")
	}
}
