package chatui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// compact asks for a summary of older history.
func (m *chat) compact(string) tea.Cmd {
	if m.conversation.ID() == "" {
		m.note("no session yet, and nothing to summarise")
		return nil
	}
	conversation, generation, id, model := m.conversation, m.generation, m.opt.NewID(), m.model
	return func() tea.Msg { return compactMsg{generation, conversation.Compact(m.ctx, id, model)} }
}

// compaction tells how a summary comes along.
func (m *chat) compaction(t *turn, e api.Event) {
	t.summary = false
	switch e.Type {
	case api.EventCompactionStarted:
		t.compacting = true
		m.note(CompactionBegins(data[api.CompactionStarted](e)))
	case api.EventCompactionFailed:
		d := data[api.CompactionFailed](e)
		t.compacting = !d.RetryAt.IsZero()
		m.charge(t, e, d.Usage)
		m.note(middleCut(CompactionFails(d, e.Time), 2*(m.width-2)))
	case api.EventCompactionFinished:
		d := data[api.CompactionFinished](e)
		t.compacting = false
		m.charge(t, e, d.Usage)
		m.filled = int64(d.Tokens)
		m.guarded(d.Guardrails)
		m.note(CompactionEnds(d))
	}
}

// CompactionBegins says what is summarised.
func CompactionBegins(d api.CompactionStarted) string {
	if d.Items == 0 {
		return fmt.Sprintf("long items are shortened for the model to %s bytes, of %s tokens", count(int64(d.ItemBytes)), about(d.Tokens))
	}
	return fmt.Sprintf("older history is summarised: %s, of %s tokens", plural(d.Items, "item"), about(d.Tokens))
}

// CompactionEnds says what came of it.
func CompactionEnds(d api.CompactionFinished) string {
	return fmt.Sprintf("the model is sent %s tokens now; the history stays whole", about(d.Tokens))
}

// CompactionFails says why there is no summary, and what follows.
func CompactionFails(d api.CompactionFailed, at time.Time) string {
	text := fmt.Sprintf("attempt %d at a summary failed", d.Attempt)
	if !d.RetryAt.IsZero() {
		text += ", again in " + short(d.RetryAt.Sub(at))
	}
	return text + ": " + string(d.Code) + ": " + plain.Line(d.Message)
}

// about is an estimate of a number of tokens.
func about(tokens int) string { return "~" + count(int64(tokens)) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
