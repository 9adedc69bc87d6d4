package chatui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// thoughtRows is how much reasoning is shown unfolded.
const thoughtRows = 8

// compose makes the live area: what is under way, what is asked, and the input.
func (m *chat) compose() {
	if m.leaving {
		m.content, m.cursor = "", nil
		return
	}
	below, cursor := m.below()
	room := max(1, m.height-len(below)-1)
	above := m.above()
	if len(above) > room {
		above = above[len(above)-room:]
	}
	lines := append(above, below...)
	if cursor != nil {
		cursor.Y += len(above)
	}
	if cut := len(lines) - m.height; cut > 0 {
		lines = lines[cut:]
		if cursor != nil {
			cursor.Y -= cut
		}
	}
	m.content, m.cursor = strings.Join(lines, "\n"), cursor
	m.composed(len(lines))
}

// above is what moves and may be cut from its top.
func (m *chat) above() []string {
	var lines []string
	if m.turn != nil {
		lines = append(m.reasoning(), m.tail...)
		if len(lines) > 0 && !m.turn.split.glued {
			lines = append([]string{""}, lines...)
		}
		running := slices.DeleteFunc(slices.Clone(m.running()), m.onCard)
		if len(running) > 0 && (len(lines) > 0 || m.last.spaced()) {
			lines = append(lines, "")
		}
		for _, c := range running {
			lines = append(lines, m.folded(c)...)
		}
	}
	if len(lines) > 0 || m.last != nothing {
		lines = append(lines, "")
	}
	for _, message := range m.outbox {
		lines = append(lines, m.ink.dim(cut("> "+brief(message), m.width)))
	}
	for _, q := range m.queue {
		lines = append(lines, m.ink.dim(cut("queued: "+attached.Brief(q.text, q.content), m.width)))
	}
	return lines
}

// onCard is whether a call's question stands on a card.
func (m *chat) onCard(c *call) bool {
	return c.asks != "" && slices.ContainsFunc(m.cards, func(card *card) bool { return card.of.Call != nil && card.of.Call.CallID == c.id })
}

// reasoning is what the model thinks at the moment: its last line, or unfolded its last few.
func (m *chat) reasoning() []string {
	t := m.turn
	if len(t.mused.text) == 0 || t.told() {
		return nil
	}
	const enough = thoughtRows * 512 // bytes; more cannot be seen
	text := string(t.mused.text[max(0, len(t.mused.text)-enough):])
	lines := wrapped(strings.TrimSpace(strings.ToValidUTF8(text, "")), m.width-2)
	rows := 1
	if m.unfolded {
		rows = thoughtRows
	}
	lines = lines[max(0, len(lines)-rows):]
	return hang("  ", "  ", each(lines, m.ink.dim))
}

// below is what always stays: cards, status, input, footer.
func (m *chat) below() (lines []string, cursor *tea.Cursor) {
	for n, c := range m.cards {
		shown, at := m.cardLines(c, n)
		if at != nil {
			at.Y += len(lines)
			cursor = at
		}
		lines = append(lines, shown...)
	}
	if status := m.status(); status != "" {
		lines = append(lines, status)
	}
	lines = append(lines, m.trayLines()...)
	typed, at := m.input.view(m.ink.bold("> "), m.width)
	if m.focused() == nil {
		at.Y += len(lines)
		cursor = at
	}
	lines = append(lines, typed...)
	return append(lines, m.footer()...), cursor
}

// stalled is whether the turn waits for somebody else than a model or a tool.
func (m *chat) stalled() bool {
	t := m.turn
	if len(t.waiting) > 0 {
		return true
	}
	if len(m.cards) == 0 || t.told() || len(t.reviews) > 0 {
		return false
	}
	for _, c := range m.running() {
		if !c.began.IsZero() && !c.lost {
			return false
		}
	}
	return true
}

// status says what the turn does.
func (m *chat) status() string {
	t := m.turn
	switch {
	case t == nil && len(m.outbox) > 0:
		return m.spin() + " sending"
	case t == nil:
		return ""
	case len(t.waiting) > 0:
		return cut(m.ink.yellow("○ ")+"waiting: "+plain.Brief(waitText(t.waiting[0]))+m.ink.dim(" · ctrl-c cancels"), m.width)
	case m.stalled() && !t.cancelling:
		keys := "ctrl-c cancels"
		if m.focused() == nil {
			keys = "tab goes to the question · esc cancels"
		}
		return cut(m.ink.yellow("○ ")+"waiting for your answer"+m.ink.dim(" · "+keys), m.width)
	}
	parts := []string{passed(m.opt.Now().Sub(t.began))}
	if keys := "esc cancels"; !t.cancelling {
		if m.focused() != nil {
			keys = "ctrl-c cancels"
		}
		if n := len(m.queue); n > 0 {
			keys = fmt.Sprintf("%d queued; %s this turn, the next goes on", n, keys)
		}
		parts = append(parts, keys)
	}
	if text := tokensText(t.usage, int64(len(t.said.text)+len(t.mused.text)+3)/4); text != "" {
		parts = append(parts, text)
	}
	return cut(m.spin()+" "+m.doing(t)+m.ink.dim(" · "+strings.Join(parts, " · ")), m.width)
}

// passed is a time that passes, without parts of seconds.
func passed(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%ds", int(max(0, d).Seconds()))
	}
	return short(d)
}

func (m *chat) doing(t *turn) string {
	calls := m.running()
	running := 0
	name := ""
	for _, c := range calls {
		if !c.done && !c.began.IsZero() {
			running++
			name = plain.Brief(c.name)
		}
	}
	left := t.retryAt.Sub(m.opt.Now())
	switch {
	case t.cancelling:
		return "cancelling"
	case running == 1:
		return "calling " + name
	case running > 1:
		return fmt.Sprintf("calling %d tools", running)
	case t.compacting:
		return "summarising older history"
	case len(t.reviews) > 0:
		return "asking the reviewer"
	case left > 0:
		return fmt.Sprintf("trying again in %ds: %s", int((left+time.Second-1)/time.Second), t.retryFor)
	case t.told():
		return "answering"
	case len(t.mused.text) > 0:
		return "thinking"
	case t.begun != attempt{}:
		return "waiting for the model"
	}
	return "working"
}

// spin is the picture that moves while something is under way.
func (m *chat) spin() string {
	frames := spinner.MiniDot
	n := m.opt.Now().UnixMilli() / max(1, frames.FPS.Milliseconds()) % int64(len(frames.Frames))
	return m.ink.cyan(frames.Frames[n])
}

// footer is the line below the input: what was just said to the user, the commands that fit, or how things stand.
func (m *chat) footer() []string {
	if m.hint != "" {
		style := m.ink.dim
		if m.fault {
			style = m.ink.red
		}
		return each(wrapped(m.hint, m.width), style)
	}
	if found := matching(m.input.area.Value()); len(found) > 0 {
		var lines []string
		for _, c := range found {
			lines = append(lines, m.ink.dim(cut(pad(c.name, 10)+c.help, m.width)))
		}
		return lines
	}
	var parts []string
	if model := m.answering(); model != (api.ModelRef{}) {
		parts = append(parts, model.String())
	}
	if text := tokensText(m.usage, 0); text != "" {
		parts = append(parts, text)
	}
	if text := m.fullness(); text != "" {
		parts = append(parts, text)
	}
	if m.turn == nil && m.took > 0 {
		parts = append(parts, "last turn "+short(m.took))
	}
	parts = append(parts, "/help")
	line := strings.Join(parts, " · ")
	for n := len(parts) - 1; n > 0 && ansi.StringWidth(line) > m.width; n-- {
		line = strings.Join(parts[:n], " · ")
	}
	return []string{m.ink.dim(cut(line, m.width))}
}

// fullness is how much of the window of the model that answers next the conversation takes: a full one ends it.
func (m *chat) fullness() string {
	if m.opt.Window == nil || m.filled == 0 {
		return ""
	}
	window := int64(m.opt.Window(m.answering()))
	if window <= 0 {
		return ""
	}
	return fmt.Sprintf("%d %% of the window", (m.filled*100+window-1)/window)
}
