package chatui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

const (
	// frame is how often what moves is drawn.
	frame = 66 * time.Millisecond
	// leaveWithin is how soon after one Ctrl-C another leaves.
	leaveWithin = 2 * time.Second
	// settleWithin is how long a card that took the keys by itself has been there before they answer it, and
	// typingWithin how soon after another a key belongs to a text that is being typed.
	settleWithin, typingWithin = 400 * time.Millisecond, 100 * time.Millisecond
	// recent is how many events are read of a session that is gone on with, and shownItems how many of what they
	// tell is shown.
	recent, shownItems = 500, 20
)

// chat is the program's state. Update changes it, View shows it; whatever takes time is a command.
type chat struct {
	opt    Options
	ctx    context.Context
	cancel context.CancelFunc
	ink    ink
	md     *markdown

	width, height int

	talk       // the session, as far as this program has seen it
	transcript // what goes to the scrollback
	input      input
	focus      string // the interaction whose card has the keys; "" is the input
	outbox     []Message
	typed      time.Time // the last key that has a text
	marking    bool      // the last key marked a choice, and is no text
	waking     bool      // a clock runs for the card that has the keys
	unwanted   bool      // the turn of what is on its way is to be cancelled
	suspended  func()    // ends the watch over a suspension; nil without one
	refused    Message   // the last that was not accepted: the same again is the same submission
	model      *api.ModelRef
	tray       attached.Tray // the files of the next message
	reading    int           // how many times files are being read for it
	listed     []string      // the models that can be chosen, once they were asked for
	opened     bool          // what is said first was said

	hint        string // below the input, until a key
	fault       bool   // the hint is an error
	passing     bool   // the hint is about the turn, and goes with it
	hints       int    // counts them, for the clock that takes one away
	interrupted time.Time
	unfolded    bool // reasoning is shown as it comes
	ticking     bool
	leaving     bool
	left        Left
	err         error // why the program ends by itself

	content string    // as composed
	asking  []tea.Cmd // for advice
	cursor  *tea.Cursor
	tail    []string // the end of the answer, rendered
}

// newChat makes the program's state; ctx bounds whatever it begins.
func newChat(ctx context.Context, opt Options) *chat {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &chat{opt: opt, ctx: ctx, cancel: cancel, ink: ink{opt.Colors}, input: newInput(), width: 80, height: 24}
	m.talk = newTalk(opt.Conversation, opt.Model)
	m.tray.Back(opt.Files...)
	if opt.Width > 0 && opt.Height > 0 {
		m.width, m.height = opt.Width, opt.Height
	}
	m.md = newMarkdown(m.width, opt.Colors)
	m.printing = true // until the live area has been drawn once, insertions above it would leave empty lines
	m.compose()
	return m
}

// Init finds out where a session stands that is gone on with.
func (m *chat) Init() tea.Cmd {
	drawn := tea.Tick(2*frame, func(time.Time) tea.Msg { return printedMsg{} })
	if m.conversation.ID() == "" {
		return drawn
	}
	return tea.Batch(drawn, m.attach())
}

// View is what Update composed.
func (m *chat) View() tea.View {
	view := tea.NewView(m.content)
	view.Cursor = m.cursor
	return view
}

// The messages of commands. Those that carry a generation are about the conversation of then.
type (
	attachedMsg struct {
		generation int
		state      api.SessionState
		events     []api.Event
		err        error
	}
	eventsMsg struct {
		generation int
		follower   *follower
		events     []api.Event
		err        error // behind the events
	}
	followMsg struct{ generation int } // it is time to try again
	sentMsg   struct {
		generation int
		message    Message
		err        error
	}
	resultMsg struct {
		generation int
		result     api.Result
		err        error
	}
	answeredMsg struct {
		generation  int
		interaction string
		err         error
	}
	cancelledMsg struct{ err error }
	stateMsg     struct {
		state api.SessionState
		err   error
	}
	compactMsg struct { // a compaction that was asked for
		generation int
		err        error
	}
	grantsMsg struct {
		grants []api.Grant
		err    error
	}
	revokedMsg struct{ err error }
	modelsMsg  struct {
		names []string
		err   error
	}
	chosenMsg struct { // a model that was asked for, or why not and what to do about that
		model  api.ModelRef
		err    error
		advice string
	}
	filesMsg struct { // that were asked for with /attach
		argument string
		files    []attached.File
		err      error
	}
	pathMsg struct { // how a line goes on that a path ends
		typed, completed string
		names            []string
	}
	adviceMsg  string // what to do about an error that was told
	frameMsg   struct{}
	wakeMsg    struct{}
	unhintMsg  struct{ hint int }
	logMsg     string
	leaveMsg   struct{}
	controlMsg struct{} // Ctrl-C that came as a signal
)

// Update carries out one message.
func (m *chat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	cmds := append([]tea.Cmd{cmd, m.flush(m.height)}, m.asking...)
	m.asking = nil
	if !m.ticking && m.moving() {
		m.ticking = true
		cmds = append(cmds, tick())
	}
	if c := m.focused(); c != nil && !m.waking && m.fresh(c) {
		m.waking = true
		cmds = append(cmds, tea.Tick(settleWithin, func(time.Time) tea.Msg { return wakeMsg{} }))
	}
	m.compose()
	if m.leaving && m.flushed() {
		m.cancel()
		cmds = append(cmds, tea.Quit)
	}
	return m, tea.Batch(cmds...)
}

func tick() tea.Cmd { return tea.Tick(frame, func(time.Time) tea.Msg { return frameMsg{} }) }

func (m *chat) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 {
			m.width, m.height = msg.Width, msg.Height
			m.md = newMarkdown(m.width, m.opt.Colors)
			m.render()
		}
		m.open()
	case tea.KeyPressMsg:
		m.open()
		return m.press(msg)
	case tea.PasteMsg:
		m.unhint()
		m.editor().paste(msg.Content)
	case controlMsg:
		return m.interrupt()
	case tea.ResumeMsg:
		if m.suspended != nil {
			m.suspended()
		}
	case leaveMsg:
		m.leave(false)
	case frameMsg:
		return m.tock()
	case wakeMsg:
		m.waking = false
	case printedMsg:
		m.printed()
	case unhintMsg:
		if msg.hint == m.hints {
			m.unhint()
		}
	case logMsg:
		m.note(string(msg))
	case cancelledMsg:
		if msg.err != nil {
			m.report(msg.err)
		}
	case stateMsg:
		m.showState(msg)
	case grantsMsg:
		m.showGrants(msg)
	case revokedMsg:
		if msg.err != nil {
			return m.say(msg.err.Error(), true)
		}
	case unheldMsg:
		m.unheld(msg)
	case filesMsg:
		return m.read(msg)
	case pathMsg:
		return m.pathCompleted(msg)
	case modelsMsg:
		m.showModels(msg)
	case chosenMsg:
		return m.chosen(msg)
	case adviceMsg:
		if msg != "" {
			m.note(string(msg))
		}
	default:
		m.open()
		return m.heard(msg)
	}
	return nil
}

// open prints what is said first, once the terminal's width is known.
func (m *chat) open() {
	if m.opened {
		return
	}
	m.opened = true
	for _, said := range m.opt.Opening {
		first, why, _ := strings.Cut(said, "\n")
		m.noteIn(func(text string) string { return text }, first)
		if why != "" {
			m.note(why)
		}
	}
}

// heard carries out what the conversation told.
func (m *chat) heard(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case attachedMsg:
		if msg.generation == m.generation {
			return m.attached(msg)
		}
	case eventsMsg:
		if msg.generation == m.generation {
			return m.followed(msg)
		}
	case followMsg:
		if msg.generation == m.generation {
			return m.follow()
		}
	case sentMsg:
		if msg.generation == m.generation {
			return m.sent(msg)
		}
	case resultMsg:
		if msg.generation == m.generation {
			m.stands(msg)
		}
	case compactMsg:
		if msg.generation == m.generation && msg.err != nil {
			m.report(msg.err)
		}
	case answeredMsg:
		if msg.generation == m.generation {
			m.refusedAnswer(msg)
		}
	}
	return nil
}

// tock draws what moved and keeps the clock going while anything does.
func (m *chat) tock() tea.Cmd {
	m.settleHeight()
	m.advance()
	if m.ticking = m.moving(); m.ticking {
		return tick()
	}
	return nil
}

// moving is whether the screen changes by itself.
func (m *chat) moving() bool {
	return len(m.outbox) > 0 || m.turn != nil && !m.stalled()
}

// leave ends the program once everything is printed.
func (m *chat) leave(busy bool) {
	if m.leaving {
		return
	}
	m.saidSoFar()
	m.flushCalls(true)
	for n, message := range m.outbox {
		what := "it is not known whether this was sent: "
		if n > 0 {
			what = "not sent: "
		}
		m.note(what + brief(message))
	}
	if names := m.tray.Names(); len(names) > 0 {
		m.note("attached and not sent: " + plain.Brief(strings.Join(names, ", ")))
	}
	m.left = Left{Session: m.conversation.ID(), Busy: busy}
	m.leaving = true
}

// say shows a line below the input until the next key, or for a while.
func (m *chat) say(text string, fault bool) tea.Cmd {
	m.hint, m.fault, m.passing = text, fault, false
	m.hints++
	if fault {
		return nil
	}
	hint := m.hints
	return tea.Tick(leaveWithin, func(time.Time) tea.Msg { return unhintMsg{hint} })
}

func (m *chat) unhint() { m.hint, m.fault, m.passing = "", false, false }
