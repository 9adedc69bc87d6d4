package chatui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// command is a line that is for this program.
type command struct {
	name, arguments, help string
	run                   func(m *chat, argument string) tea.Cmd
}

func commands() []command {
	return []command{
		{"/help", "", "what there is", (*chat).help},
		{"/model", "[PROVIDER/NAME]", "the model that answers, or another for the messages to come", (*chat).chooseModel},
		{"/attach", "[FILE …]", "files that go with the next message, or which there are", (*chat).attachFiles},
		{"/detach", "[NAME|all]", "take an attached file back", (*chat).detach},
		{"/state", "", "where the session stands", (*chat).askState},
		{"/compact", "", "summarise older history for the model; it stays readable", (*chat).compact},
		{"/grants", "[revoke TOOL]", "the tools that need no asking here, or ask about one again", (*chat).grants},
		{"/cancel", "", "cancel the turn", func(m *chat, _ string) tea.Cmd { return m.cancelTurn() }},
		{"/new", "", "begin another session", (*chat).another},
		{"/quit", "", "leave; the session stays", func(m *chat, _ string) tea.Cmd { m.leave(false); return nil }},
	}
}

// command carries out a line that begins with a slash.
func (m *chat) command(line string) tea.Cmd {
	name, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		m.input.clear()
		if c.arguments == "" && argument != "" {
			return m.say(name+" takes nothing behind it", true)
		}
		return c.run(m, strings.TrimSpace(argument))
	}
	return m.say(fmt.Sprintf("%q is no command and was not sent; /help lists the commands, and a second slash in front sends it", plain.Brief(name)), true)
}

// CommandIn is the command that a line would be in a chat.
func CommandIn(line string) (name string, ok bool) {
	name, _, _ = strings.Cut(strings.TrimSpace(line), " ")
	return name, slices.ContainsFunc(commands(), func(c command) bool { return c.name == name })
}

// matching are the commands that begin with what was typed.
func matching(typed string) (out []command) {
	if !strings.HasPrefix(typed, "/") || strings.ContainsAny(typed, " \n") {
		return nil
	}
	for _, c := range commands() {
		if strings.HasPrefix(c.name, typed) {
			out = append(out, c)
		}
	}
	return out
}

// complete ends a command's name as far as it is clear.
func (m *chat) complete() tea.Cmd {
	typed := m.input.area.Value()
	if argument, ok := strings.CutPrefix(typed, "/model "); ok {
		return m.completeModel(argument)
	}
	if argument, ok := strings.CutPrefix(typed, "/attach "); ok {
		return m.completePath(typed, argument)
	}
	if argument, ok := strings.CutPrefix(typed, "/detach "); ok {
		return m.completeAttached(argument)
	}
	var names []string
	for _, c := range matching(typed) {
		if c.arguments != "" {
			c.name += " "
		}
		names = append(names, c.name)
	}
	if len(names) > 0 {
		m.input.set(common(names))
	}
	return nil
}

// common is how all of some names begin.
func common(names []string) string {
	start := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, start) {
			start = start[:len(start)-1]
		}
	}
	return start
}

func (m *chat) help(string) tea.Cmd {
	var lines []string
	for _, c := range commands() {
		lines = append(lines, pad(strings.TrimSpace(c.name+" "+c.arguments), 24)+c.help)
	}
	lines = append(lines, "")
	for _, k := range [][2]string{
		{"enter", "sends; while a turn runs, the message waits for its end"},
		{"alt+enter, ctrl+j", "a new line; so does a backslash before enter"},
		{"up, down", "earlier messages"},
		{"tab", "completes a command, a model or a file; goes from question to question"},
		{"esc", "cancels the turn; on a question it goes to the input first"},
		{"ctrl+c", "cancels the turn, or clears the input; again it leaves"},
		{"ctrl+o", "the last tool calls, whole"},
		{"ctrl+r", "the last reasoning"},
		{"ctrl+d", "leaves, where nothing is typed"},
	} {
		lines = append(lines, pad(k[0], 24)+k[1])
	}
	lines = append(lines, "", "A message that begins with a slash begins with two.")
	m.table(lines)
	return nil
}

// table prints lines that are for reading, wrapped behind their first column.
func (m *chat) table(lines []string) {
	var out []string
	for _, line := range lines {
		if line == "" {
			out = append(out, "")
			continue
		}
		out = append(out, hang("  ", "    ", wrapped(line, m.width-4))...)
	}
	m.put(item{kind: pageItem, lines: out})
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(1, width-ansi.StringWidth(text)))
}

func (m *chat) another(string) tea.Cmd {
	if m.opt.New == nil {
		return m.say("there is no way to begin another session here", true)
	}
	if len(m.outbox) > 0 {
		return m.say("a message is on its way; try again", true)
	}
	if id := m.conversation.ID(); id != "" {
		text := "session " + id + " stays"
		if m.turn != nil {
			text = "session " + id + " goes on with its turn while this program runs"
		}
		if m.opt.Resume != nil {
			text += "; " + m.opt.Resume(id)
		}
		m.saidSoFar()
		m.flushCalls(true)
		m.note(text)
	}
	answers := m.answering()
	m.begins(m.opt.New(answers), answers)
	m.note("the next message begins a new session")
	return nil
}

func (m *chat) askState(string) tea.Cmd {
	if m.conversation.ID() == "" {
		m.note("no session yet; the first message makes one")
		return nil
	}
	conversation := m.conversation
	return func() tea.Msg {
		state, err := conversation.State(m.ctx)
		return stateMsg{state, err}
	}
}

func (m *chat) showState(msg stateMsg) {
	if msg.err != nil {
		m.report(msg.err)
		return
	}
	s := msg.state
	var lines []string
	row := func(name, value string) {
		if value != "" {
			lines = append(lines, pad(name, 16)+plain.Brief(value))
		}
	}
	row("session", s.Session)
	row("agent", s.Agent)
	row("activity", string(s.Activity))
	row("turn", s.Run)
	for _, reason := range s.WaitingFor {
		row("waits for", waitText(reason))
	}
	for _, i := range s.Interactions {
		row("asks", string(i.Kind)+" "+i.ID+", "+decide.Subject(i))
	}
	for _, a := range s.UnknownActions {
		row("unknown outcome", fmt.Sprintf("%s, call %s, attempt %d", a.Tool, a.CallID, a.Attempt))
	}
	for _, t := range s.Timers {
		row("timer", t.Kind+" at "+t.At.Local().Format(time.TimeOnly))
	}
	for _, run := range s.Queue {
		row("queued", run)
	}
	for _, g := range s.Grants {
		row("always allowed", g.Tool)
	}
	row("model", s.Model.String())
	row("usage", tokensText(s.Usage, 0))
	row("last event", fmt.Sprint(s.LastEvent))
	row("workspace", s.Workspace)
	m.table(lines)
}

// waitText says what is waited for.
func waitText(reason api.WaitReason) string {
	if reason.Interaction != "" {
		return "an answer to " + reason.Interaction
	}
	text := strings.TrimSpace(string(reason.Code) + " " + reason.Name)
	if reason.Message != "" {
		text += ": " + reason.Message
	}
	if !reason.Until.IsZero() {
		text += ", until " + reason.Until.Local().Format(time.TimeOnly)
	}
	return strings.TrimPrefix(text, ", ")
}

// tokensText says what was used, and what an answer that still comes adds to it by our estimate; "" is nothing.
func tokensText(u api.Usage, coming int64) string {
	about, mark := "", ""
	if u.Estimated {
		about = "about "
	}
	if coming > 0 {
		mark = "~"
	}
	out := mark + count(u.OutputTokens+coming)
	switch {
	case u.InputTokens > 0:
		return about + count(u.InputTokens) + " tokens in, " + out + " out"
	case u.OutputTokens+coming > 0:
		return about + out + " tokens out"
	}
	return ""
}

// count is a number of tokens for people.
func count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// earlierNote says how much came before what is shown.
func earlierNote(items int, events uint64) string {
	var parts []string
	if items > 0 {
		parts = append(parts, fmt.Sprintf("%d earlier", items))
	}
	if events > 0 {
		parts = append(parts, fmt.Sprintf("%d events before", events))
	}
	return "… " + strings.Join(parts, ", and ") + "; openworker events lists all"
}
