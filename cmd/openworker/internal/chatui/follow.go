package chatui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

const (
	// mostEvents is how many events one update takes.
	mostEvents = 512
	// followAgain is when a stream of events that broke is tried again.
	followAgain = time.Second
)

// talk is the session that is talked to.
type talk struct {
	conversation Conversation
	generation   int // counts conversations
	following    bool
	stop         context.CancelFunc // ends following; nil before
	number       uint64             // of the last event that was seen

	turn    *turn // under way; nil when idle
	queue   []queued
	cards   []*card
	asked   map[string]bool // interactions that events told of
	usage   api.Usage       // of the calls that have ended
	counted uint64          // the last event whose usage it had from the start
	filled  int64           // tokens of the model's window that the conversation takes
	answers api.ModelRef    // the model of the messages to come, unless another was chosen
	took    time.Duration   // the last turn
	calls   []*call         // of the last answer with calls
	thought string          // the last reasoning
}

func newTalk(conversation Conversation, answers api.ModelRef) talk {
	return talk{conversation: conversation, answers: answers, asked: map[string]bool{}}
}

// queued is a message, or a compaction, that waits for the turn before it.
type queued struct {
	run, text  string
	content    []api.AcceptedBlock // of a message with files
	compaction bool
}

// attach reads where a session stands and what was said last.
func (m *chat) attach() tea.Cmd {
	m.following = true
	generation, conversation := m.generation, m.conversation
	return func() tea.Msg {
		msg := attachedMsg{generation: generation}
		if msg.state, msg.err = conversation.State(m.ctx); msg.err == nil {
			msg.events, msg.err = conversation.Recent(m.ctx, recent)
		}
		return msg
	}
}

// attached shows the past, and goes on with what is under way.
func (m *chat) attached(msg attachedMsg) tea.Cmd {
	if msg.err != nil {
		m.err = msg.err
		m.leave(false)
		return nil
	}
	if m.answers == (api.ModelRef{}) {
		m.answers = msg.state.Model
	}
	m.usage, m.counted = msg.state.Usage, msg.state.LastEvent
	m.replaying = true
	var cmds []tea.Cmd
	for _, e := range msg.events {
		cmds = append(cmds, m.event(e))
	}
	items, earlier := m.replayedItems(shownItems)
	if len(msg.events) > 0 && (earlier > 0 || msg.events[0].Number > 1) {
		m.note(earlierNote(earlier, msg.events[0].Number-1))
	}
	for _, i := range items {
		m.put(i)
	}
	m.stand(msg.state)
	if m.turn != nil && !m.turn.asking {
		cmds = append(cmds, m.ask())
	}
	cmds = append(cmds, m.follow())
	return tea.Batch(cmds...)
}

// stand makes up for what the events that were read do not tell: a turn, or a question, from before them.
func (m *chat) stand(state api.SessionState) {
	if state.Run != "" && m.turn == nil {
		m.enter(state.Run, m.opt.Now())
	}
	for _, run := range state.Queue {
		known := m.turn != nil && m.turn.run == run
		for _, q := range m.queue {
			known = known || q.run == run
		}
		if !known {
			m.queue = append(m.queue, queued{run: run, text: "(a message from before)"})
		}
	}
	for _, i := range state.Interactions {
		if !m.asked[i.ID] {
			m.askFor(i)
		}
	}
}

// follower hands events from the conversation to the program.
type follower struct {
	events chan api.Event
	err    error // once events is closed
}

// follow begins to follow the conversation behind the last event that was seen.
func (m *chat) follow() tea.Cmd {
	ctx, stop := context.WithCancel(m.ctx)
	m.following, m.stop = true, stop
	f := &follower{events: make(chan api.Event, mostEvents)}
	conversation, after, generation := m.conversation, m.number, m.generation
	return func() tea.Msg {
		go f.read(ctx, conversation, after)
		return f.next(generation)
	}
}

func (f *follower) read(ctx context.Context, conversation Conversation, after uint64) {
	defer close(f.events)
	for e, err := range conversation.Events(ctx, after) {
		if err != nil {
			f.err = err
			return
		}
		select {
		case f.events <- e:
		case <-ctx.Done():
			return
		}
	}
}

// next waits for events and takes what is there.
func (f *follower) next(generation int) tea.Msg {
	msg := eventsMsg{generation: generation, follower: f}
	e, ok := <-f.events
	for ok {
		msg.events = append(msg.events, e)
		if len(msg.events) == mostEvents {
			return msg
		}
		select {
		case e, ok = <-f.events:
			continue
		default:
		}
		return msg
	}
	if msg.err = f.err; msg.err == nil {
		msg.err = errEnded
	}
	return msg
}

var errEnded = errors.New("the stream of events ended")

// followed takes in events, and follows on.
func (m *chat) followed(msg eventsMsg) tea.Cmd {
	var cmds []tea.Cmd
	for _, e := range msg.events {
		if e.Number > 0 && e.Number <= m.number {
			continue
		}
		cmds = append(cmds, m.event(e))
	}
	generation := m.generation
	switch code := api.CodeOf(msg.err); {
	case msg.err == nil:
		cmds = append(cmds, func() tea.Msg { return msg.follower.next(generation) })
	case m.ctx.Err() != nil || m.leaving:
	case code == api.CodeClosed || code == api.CodeSessionDeleted || code == api.CodeSessionNotFound:
		m.err = msg.err
		m.leave(false)
	default:
		if msg.err != errEnded {
			m.report(msg.err)
		}
		cmds = append(cmds, tea.Tick(followAgain, func(time.Time) tea.Msg { return followMsg{generation} }))
	}
	return tea.Batch(cmds...)
}

// send sends the first message of the outbox.
func (m *chat) send() tea.Cmd {
	message, conversation, generation := m.outbox[0], m.conversation, m.generation
	return func() tea.Msg {
		_, err := conversation.Send(m.ctx, message)
		return sentMsg{generation, message, err}
	}
}

// sent takes an accepted message from the outbox, or gives all of it back to its author.
func (m *chat) sent(msg sentMsg) tea.Cmd {
	if msg.err != nil {
		text, files := m.takeBack()
		m.tray.Back(files...)
		m.refused, m.unwanted = msg.message, false
		m.report(msg.err)
		switch {
		case text == "": // its files stand above the input again
			return m.say("the message was not sent", true)
		case m.input.empty():
			m.input.set(text)
			return m.say("the message was not sent", true)
		}
		m.input.remember(text)
		return m.say("the message was not sent; up brings it back", true)
	}
	m.outbox, m.refused = m.outbox[1:], Message{}
	var cmds []tea.Cmd
	if !m.following {
		m.note("session " + m.conversation.ID())
		cmds = append(cmds, m.follow())
	}
	switch {
	case len(m.outbox) > 0:
		cmds = append(cmds, m.send())
	case m.unwanted:
		m.unwanted = false
		cmds = append(cmds, m.cancelling())
	}
	return tea.Batch(cmds...)
}

// takeBack empties the outbox, and gives what was in it as one message.
func (m *chat) takeBack() (text string, files []attached.File) {
	var texts []string
	for _, message := range m.outbox {
		if files = append(files, message.Files...); message.Text != "" {
			texts = append(texts, message.Text)
		}
	}
	m.outbox = nil
	return strings.Join(texts, "\n"), files
}

// ask waits for what the turn comes to; its events do not tell when it waits for something that is missing.
func (m *chat) ask() tea.Cmd {
	run, conversation, generation := m.turn.run, m.conversation, m.generation
	m.turn.asking = true
	return func() tea.Msg {
		result, err := conversation.Result(m.ctx, run)
		result.Run = run
		return resultMsg{generation, result, err}
	}
}

// stands notes what the turn waits for.
func (m *chat) stands(msg resultMsg) {
	t := m.turn
	if t == nil || t.run != msg.result.Run {
		return
	}
	t.asking = false
	if msg.err != nil || msg.result.Status != api.StatusInterrupted {
		return
	}
	for _, reason := range msg.result.WaitingFor {
		if reason.Code == "" {
			continue // a question, which has its card, or a time
		}
		t.waiting = append(t.waiting, reason)
		m.noteIn(m.ink.yellow, "the turn waits: "+waitText(reason))
		if m.opt.Waits != nil {
			if advice := m.opt.Waits(m.conversation.ID(), reason); advice != "" {
				m.note(advice)
			}
		}
	}
}

// begins begins with another conversation; what the old one does goes on without this program's following.
func (m *chat) begins(conversation Conversation, answers api.ModelRef) {
	if m.stop != nil {
		m.stop()
	}
	generation := m.generation
	m.talk = newTalk(conversation, answers)
	m.generation = generation + 1
	m.outbox, m.unwanted, m.refused, m.focus, m.tail, m.model = nil, false, Message{}, "", nil, nil
}
