package chatui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

// kind is a kind of item in the scrollback.
type kind int

const (
	nothing kind = iota
	userItem
	answerItem
	toolItem
	noteItem // a line that is no part of the conversation
	pageItem // what somebody asked to see
)

// spaced is whether an empty line comes before and behind it.
func (k kind) spaced() bool { return k == userItem || k == answerItem || k == pageItem }

// item is what goes to the scrollback as one.
type item struct {
	kind  kind
	lines []string
	glued bool // no empty line before it
}

// transcript is what goes to the scrollback, in order, a few lines at a time: an insertion that does not fit on the
// screen above the live area would push that into the scrollback too.
type transcript struct {
	last      kind
	lines     []string // to be printed
	printing  bool
	replaying bool
	replayed  []item // of the past, of which the newest are shown

	tall, tallBefore int // the live area's greatest heights in this frame and the last
}

// printedMsg comes behind each insertion.
type printedMsg struct{}

// put prints an item, or keeps it while the past is read.
func (t *transcript) put(i item) {
	if len(i.lines) == 0 {
		return
	}
	if t.replaying {
		t.replayed = append(t.replayed, i)
		return
	}
	if !i.glued && t.last != nothing && (i.kind.spaced() || t.last.spaced()) {
		t.lines = append(t.lines, "")
	}
	t.last = i.kind
	t.lines = append(t.lines, i.lines...)
}

// replayedItems ends the replay and returns the newest items, and how many came before them.
func (t *transcript) replayedItems(most int) (items []item, earlier int) {
	items = t.replayed
	t.replaying, t.replayed = false, nil
	if earlier = len(items) - most; earlier > 0 {
		return items[earlier:], earlier
	}
	return items, 0
}

// flush prints what fits, if nothing is being printed.
func (t *transcript) flush(height int) tea.Cmd {
	if t.printing || len(t.lines) == 0 {
		return nil
	}
	n := min(len(t.lines), max(1, height-max(t.tall, t.tallBefore)-1))
	text := strings.Join(t.lines[:n], "\n")
	if text == "" {
		text = " " // an empty insertion is none
	}
	t.lines = t.lines[n:]
	t.printing = true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printedMsg{} })
}

func (t *transcript) printed() { t.printing = false }

func (t *transcript) flushed() bool { return !t.printing && len(t.lines) == 0 }

// composed notes the live area's height: what is on the screen may be a frame behind.
func (t *transcript) composed(height int) { t.tall = max(t.tall, height) }

// settleHeight begins another frame.
func (t *transcript) settleHeight() { t.tallBefore, t.tall = t.tall, 0 }

// message prints what the user said.
func (m *chat) message(pieces []attached.Piece) {
	var lines []string
	for _, p := range pieces {
		style := m.ink.bold
		if p.File {
			style = m.ink.dim
		}
		lines = append(lines, each(wrapped(strings.TrimRight(p.Text, "\n"), m.width-2), style)...)
	}
	m.put(item{kind: userItem, lines: hang(m.ink.cyan("> "), "  ", lines)})
}

// answer prints a finished piece of an answer.
func (m *chat) answer(p piece) {
	m.put(item{kind: answerItem, lines: m.md.lines(p.text), glued: p.glued})
}

// note prints what is worth a line and no part of the conversation.
func (m *chat) note(text string) { m.noteIn(m.ink.dim, text) }

func (m *chat) noteIn(style func(string) string, text string) {
	var lines []string
	for _, line := range wrapped(strings.TrimRight(text, "\n"), m.width-2) {
		lines = append(lines, "  "+style(line))
	}
	m.put(item{kind: noteItem, lines: lines})
}

// report prints an error, and what to do about it.
func (m *chat) report(err error) {
	m.noteIn(m.ink.red, "error: "+err.Error())
	m.advise(err)
}

// advise asks what to do about an error, and not in the screen's loop: that may ask a server.
func (m *chat) advise(err error) {
	if advice := m.opt.Advice; advice != nil {
		m.asking = append(m.asking, func() tea.Msg { return adviceMsg(advice(err)) })
	}
}
