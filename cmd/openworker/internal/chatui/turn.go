package chatui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// turn is the one under way.
type turn struct {
	run        string
	began      time.Time
	usage      api.Usage // of finished calls
	cancelling bool
	asking     bool             // somebody waits for its result
	waiting    []api.WaitReason // for what is missing
	retryAt    time.Time
	retryFor   api.Code

	begun      attempt     // the newest that was announced
	early      []api.Delta // of the one to be announced next: a model may answer while its call is on its way to the disk
	said       speech      // the begun attempt's text
	mused      speech      // and its reasoning
	since      time.Time   // it reasons
	split      splitter
	given      int             // bytes of said that the splitter has
	reviews    map[string]bool // calls that the reviewer is asked about
	compacting bool
	summary    bool // it is a compaction that was asked for, and nothing is summarised yet
	shown      int  // of the calls: how many are printed
}

// attempt is what a delta belongs to; when a part of it changes the text so far is void.
type attempt struct {
	call, attempt int
	epoch         uint64
}

// speech is an attempt's text so far.
type speech struct{ text []byte }

// add takes what is new in a delta. One who joins midway is given the text so far; a gap is left to the whole answer.
func (s *speech) add(d api.Delta) {
	if d.From <= len(s.text) && d.From+len(d.Text) > len(s.text) {
		s.text = append(s.text[:d.From], d.Text...)
	}
}

// enter makes a run the one under way.
func (m *chat) enter(run string, began time.Time) {
	m.turn, m.tail = &turn{run: run, began: began, shown: len(m.calls), reviews: map[string]bool{}}, nil
}

// told says whether anything of the attempt's text was shown.
func (t *turn) told() bool { return len(t.said.text) > 0 }

// clear forgets the attempt.
func (t *turn) clear() {
	t.begun, t.said, t.mused, t.split, t.given, t.since = attempt{}, speech{}, speech{}, splitter{}, 0, time.Time{}
}

// data decodes an event's data; what is of another shape gives the zero value, and is shown as far as it goes.
func data[T any](e api.Event) (d T) {
	_ = json.Unmarshal(e.Data, &d) // see above
	return d
}

// event takes in what happened. Kinds that this version does not know are passed over.
func (m *chat) event(e api.Event) tea.Cmd {
	m.number = max(m.number, e.Number)
	switch e.Type {
	case api.EventTurnAccepted:
		m.accepted(e, data[api.TurnAccepted](e))
	case api.EventTurnStarted:
		m.started(e)
	case api.EventTurnEnded:
		m.ended(e, data[api.TurnEnded](e))
	case api.EventInteractionRequired:
		d := data[api.InteractionRequired](e)
		m.askFor(api.Interaction{ID: d.ID, Kind: d.Kind, Run: e.Run, Call: d.Call, Question: d.Question, Review: d.Review, Origin: d.Origin, Asked: e.Time})
	case api.EventInteractionResolved:
		m.resolved(data[api.InteractionResolved](e))
	case api.EventGrantRevoked:
		m.note(revokedNote(data[api.GrantRevoked](e)))
	case api.EventHistoryImported:
		m.imported(data[api.HistoryImported](e))
	case api.EventToolOutcomeLate:
		m.note("came after the turn had ended: " + plain.Brief(data[api.ToolCallFinished](e).Output))
	default:
		if m.turn == nil && e.Run != "" && e.Number > 0 {
			m.enter(e.Run, e.Time) // its beginning was before what was read
		}
		if m.turn != nil {
			m.happened(m.turn, e)
		}
	}
	if m.turn != nil && e.Number > 0 {
		m.turn.waiting = nil
		if !m.turn.asking && !m.replaying {
			return m.ask()
		}
	}
	return nil
}

// happened takes in an event of a turn's own.
func (m *chat) happened(t *turn, e api.Event) {
	switch e.Type {
	case api.EventTextDelta, api.EventReasoningDelta:
		t.delta(e.Type, data[api.Delta](e), m.opt.Now())
	case api.EventModelCallStarted:
		d := data[api.ModelCallStarted](e)
		m.flushCalls(true)
		if t.told() {
			m.void()
		}
		t.clear()
		t.retryAt = time.Time{}
		t.begun = attempt{d.Call, d.Attempt, d.Epoch}
		early := t.early
		t.early = nil
		for _, d := range early {
			t.delta(api.EventTextDelta, d, m.opt.Now())
		}
	case api.EventModelCallFailed:
		m.failed(t, e, data[api.ModelCallFailed](e))
	case api.EventModelCallFinished:
		m.finished(t, e, data[api.ModelCallFinished](e))
	case api.EventToolCallStarted:
		m.callStarted(e.Time, data[api.ToolCallStarted](e))
	case api.EventToolCallFinished:
		d := data[api.ToolCallFinished](e)
		m.guarded(d.Guardrails)
		m.callFinished(e.Time, d)
	case api.EventToolCallLost:
		m.callLost(data[api.ToolCallLost](e))
	case api.EventToolCallInspected:
		m.note("the tool looked: " + plain.Brief(data[api.ToolCallInspected](e).Answer))
	case api.EventReviewStarted:
		t.reviews[data[api.ReviewStarted](e).CallID] = true
	case api.EventReviewFinished:
		m.reviewed(t, e, data[api.ReviewFinished](e))
	case api.EventCompactionStarted, api.EventCompactionFailed, api.EventCompactionFinished:
		m.compaction(t, e)
	case api.EventCancelRequested:
		t.cancelling = true
	}
}

// delta takes in a piece of text or reasoning.
func (t *turn) delta(kind api.EventType, d api.Delta, now time.Time) {
	switch at := (attempt{d.Call, d.Attempt, d.Epoch}); {
	case at != t.begun:
		if kind == api.EventTextDelta {
			t.early = append(t.early, d)
		}
	case kind == api.EventTextDelta:
		t.said.add(d)
	default:
		if t.since.IsZero() {
			t.since = now
		}
		t.mused.add(d)
	}
}

// advance gives what was said since to the splitter, prints what is finished and renders the rest.
func (m *chat) advance() {
	t := m.turn
	if t == nil {
		m.tail = nil
		return
	}
	if t.given < len(t.said.text) {
		for _, p := range t.split.add(string(t.said.text[t.given:])) {
			m.answer(p)
		}
		t.given = len(t.said.text)
		m.render()
	}
}

// render renders the end of the answer that still grows.
func (m *chat) render() {
	m.tail = nil
	if m.turn == nil {
		return
	}
	if live := m.turn.split.live(); live.text != "" {
		m.tail = m.md.lines(live.text)
	}
}

// void tells that what an attempt said does not count.
func (m *chat) void() {
	m.note("(that attempt failed, its text is void)")
	m.tail = nil
}

func (m *chat) accepted(e api.Event, d api.TurnAccepted) {
	q := queued{e.Run, d.Text, d.Content, d.Kind == "compaction"}
	if q.compaction {
		q.text = "/compact"
	} else {
		m.remember(plain.WithoutControls(d.Text))
	}
	if d.Queued {
		m.queue = append(m.queue, q)
	} else {
		m.begin(e, q)
	}
	m.guarded(d.Guardrails)
}

func (m *chat) started(e api.Event) {
	for n, q := range m.queue {
		if q.run == e.Run {
			m.queue = append(m.queue[:n:n], m.queue[n+1:]...)
			m.begin(e, q)
			return
		}
	}
}

func (m *chat) begin(e api.Event, q queued) {
	m.enter(e.Run, e.Time)
	if m.turn.summary = q.compaction; !q.compaction {
		m.message(attached.Pieces(q.text, q.content))
	}
}

func (m *chat) failed(t *turn, e api.Event, d api.ModelCallFailed) {
	m.charge(t, e, d.Usage)
	m.guarded(d.Guardrails)
	if d.Code != api.CodeCancelled {
		if t.told() {
			m.void()
		}
		again := ""
		switch {
		case !d.RetryAt.IsZero():
			again = "again in " + short(d.RetryAt.Sub(e.Time))
		case d.Code == api.CodeCallLost:
			again = "it is asked again"
		}
		if again != "" { // else it is the turn's failure, which is told at its end
			m.note(middleCut(fmt.Sprintf("attempt %d failed, %s: %s: %s", d.Attempt, again, d.Code, plain.Line(d.Message)), 2*(m.width-2)))
		}
	} else {
		m.saidSoFar() // it stands: nothing takes its place
	}
	t.retryAt, t.retryFor = d.RetryAt, d.Code
	t.clear()
	m.tail = nil
}

// charge counts what a call used, unless the session's own count had it when this program came.
func (m *chat) charge(t *turn, e api.Event, u api.Usage) {
	t.usage = t.usage.Add(u)
	if e.Number > m.counted {
		m.usage = m.usage.Add(u)
	}
}

// saidSoFar prints the whole of an answer that ends here.
func (m *chat) saidSoFar() {
	m.advance()
	if m.turn != nil {
		for _, p := range m.turn.split.finish() {
			m.answer(p)
		}
		m.turn.clear()
	}
	m.tail = nil
}

// finished prints what is left of a whole answer, and shows the calls in it.
func (m *chat) finished(t *turn, e api.Event, d api.ModelCallFinished) {
	m.charge(t, e, d.Usage)
	m.filled = d.Usage.InputTokens + d.Usage.OutputTokens
	m.reasoned(t, e.Time)
	m.guarded(d.Guardrails)
	printed := min(t.given, len(t.said.text)) - len(t.split.rest)
	if printed > 0 && (t.begun.call != d.Call || t.begun.attempt != d.Attempt || !strings.HasPrefix(d.Text, string(t.said.text[:printed]))) {
		m.void()
		t.split, printed = splitter{}, 0
	}
	t.split.rest = d.Text[max(0, printed):]
	for _, p := range append(t.split.add(""), t.split.finish()...) {
		m.answer(p)
	}
	t.clear()
	m.tail = nil
	switch d.Stop {
	case "output_limit":
		m.note("(cut off: the answer reached the most that one call may write)")
	case "filtered":
		m.note("(cut off by the provider's filter)")
	}
	m.called(d.Calls)
}

// reasoned folds what the model thought into a line.
func (m *chat) reasoned(t *turn, at time.Time) {
	if len(t.mused.text) == 0 {
		return
	}
	m.thought = string(t.mused.text)
	m.note("thought for " + short(at.Sub(t.since)) + " (ctrl+r shows it)")
}

func (m *chat) ended(e api.Event, d api.TurnEnded) {
	for n, q := range m.queue {
		if q.run == e.Run {
			m.queue = append(m.queue[:n:n], m.queue[n+1:]...)
			m.note("a queued message was taken back: " + attached.Brief(q.text, q.content))
			return
		}
	}
	m.saidSoFar()
	m.flushCalls(true)
	switch d.Status {
	case api.StatusFailed:
		text, err := "the turn failed", error(nil)
		if d.Error != nil {
			text += ": " + string(d.Error.Code) + ": " + d.Error.Message
			err = &api.Error{Code: d.Error.Code, Message: d.Error.Message}
		}
		m.noteIn(m.ink.red, text)
		if err != nil && !m.replaying {
			m.advise(err)
		}
	case api.StatusCancelled:
		m.note("(cancelled)")
	case api.StatusLimitReached:
		m.note("(the turn reached its limit)")
	case api.StatusCompleted:
		if m.turn != nil && m.turn.summary {
			m.note("there was nothing to summarise")
		}
	}
	if m.turn != nil {
		m.took = e.Time.Sub(m.turn.began)
	}
	if m.passing {
		m.unhint()
	}
	m.turn, m.tail = nil, nil
}
