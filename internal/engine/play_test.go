package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// play is a session that a test drives, with everything that came of it.
type play struct {
	t      testing.TB
	agent  engine.Agent
	facts  []engine.Fact
	state  *engine.State
	now    time.Time
	epoch  uint64
	jitter float64
	// Of the last command.
	events []engine.Event
	err    error
	// In order of appearance.
	runs, calls, asks []string
}

// move is one thing that happens to a session.
type move func(*play)

// worker is an agent with one tool of each kind. Every tool is asked for, unless the mode says otherwise.
func worker(change ...func(*engine.Agent)) engine.Agent {
	a := engine.Agent{
		Name: "worker", Digest: "d1", Model: api.ModelRef{Provider: "P", Name: "m"}, Mode: api.ApproveNever, UnknownOutcome: api.OutcomeAsk,
		Tools: []engine.Tool{
			{Name: "app.write", ModelName: "write", Effect: api.SideEffect, Ask: true},
			{Name: "app.put", ModelName: "put", Effect: api.Idempotent, Ask: true},
			{Name: "app.read", ModelName: "read", Effect: api.ReadOnly, Ask: true},
			{Name: "app.free", ModelName: "free", Effect: api.SideEffect},
			{Name: "read_history", ModelName: "read_history", Effect: api.ReadOnly, Free: true, Ask: true},
			{Name: "ask_user", ModelName: "ask_user", Effect: api.ReadOnly, Disabled: true},
		},
	}
	for _, c := range change {
		c(&a)
	}
	return a
}

func always(a *engine.Agent)    { a.Mode = api.ApproveAlways }
func only(a *engine.Agent)      { a.Mode = api.ApproveOnly }
func tellModel(a *engine.Agent) { a.UnknownOutcome = api.OutcomeTellModel }
func limited(l api.Limits) func(*engine.Agent) {
	return func(a *engine.Agent) { a.Limits = l }
}

// newPlay is a new session, perhaps with a conversation that it begins with.
func newPlay(t testing.TB, agent engine.Agent, history ...engine.HistoryImported) *play {
	p := &play{t: t, agent: agent, state: &engine.State{Session: "s"}, now: start, epoch: 1}
	p.must(engine.Create{Event: engine.SessionCreated{Secret: []byte("secret"), Agent: agent}, History: history})
	return p
}

// do decides a command and appends what came of it.
func (p *play) do(c engine.Command) {
	events, after, err := engine.Decide(p.state, c, engine.Env{Now: p.now, Jitter: p.jitter})
	p.events, p.err = events, err
	if err != nil {
		return
	}
	p.append(after.Time, events...)
	p.state = after
}

func (p *play) append(at time.Time, events ...engine.Event) {
	for _, e := range events {
		p.facts = append(p.facts, engine.Fact{Number: uint64(len(p.facts)) + 1, Time: at, Event: e})
		switch e := e.(type) {
		case engine.TurnAccepted:
			p.runs = append(p.runs, e.Run)
		case engine.ModelFinished:
			for _, it := range e.Items {
				if it.Kind == engine.ItemCall {
					p.calls = append(p.calls, it.CallID)
				}
			}
		case engine.InteractionRequired:
			p.asks = append(p.asks, e.ID)
		}
	}
}

func (p *play) must(c engine.Command) {
	p.t.Helper()
	if p.do(c); p.err != nil {
		p.t.Fatalf("%T: %v", c, p.err)
	}
}

func (p *play) play(moves ...move) *play {
	p.t.Helper()
	for _, m := range moves {
		if m(p); p.err != nil {
			p.t.Fatalf("an earlier move was refused: %v", p.err)
		}
	}
	return p
}

// Messages and other inputs.

func say(text string, change ...func(*engine.Message)) move {
	return func(p *play) {
		m := engine.Message{Text: text}
		for _, c := range change {
			c(&m)
		}
		p.do(m)
	}
}

func busy(w api.WhenBusy) func(*engine.Message) {
	return func(m *engine.Message) { m.WhenBusy = w }
}
func queued(text string) move     { return say(text, busy(api.BusyQueue)) }
func interrupt(text string) move  { return say(text, busy(api.BusyInterrupt)) }
func cancelCurrent(p *play)       { p.do(engine.Cancel{By: "ann", Reason: "enough"}) }
func cancelRun(n int) move        { return func(p *play) { p.do(engine.Cancel{Run: p.runs[n-1]}) } }
func remove(p *play)              { p.do(engine.Delete{}) }
func advance(p *play)             { p.do(engine.Advance{}) }
func wait(d time.Duration) move   { return func(p *play) { p.now = p.now.Add(d) } }
func do(c engine.Command) move    { return func(p *play) { p.do(c) } }
func times(n int, m ...move) move { return func(p *play) { p.play(slices.Repeat(m, n)...) } }
func decide(ask int, d api.Decision, text string) move {
	return func(p *play) {
		a := api.Answer{Decision: d, Reason: text, By: "ann"}
		if d == api.OutcomeSucceeded {
			a.Reason, a.Output = "", text
		}
		p.do(engine.Answer{Interaction: p.asks[ask-1], Answer: a})
	}
}

// What the owner does.

// begin records the intent of everything that may start now.
func begin(p *play) {
	var events []engine.Event
	for _, e := range engine.Pending(p.state) {
		if !e.Started && !e.Kind.Bare() && e.Kind != engine.CompactEffect {
			p.must(engine.Begin{Effect: e, Epoch: p.epoch})
			events = append(events, p.events...)
		}
	}
	p.events = events
}

func takeOver(p *play) {
	p.epoch++
	p.do(engine.TakeOver{Epoch: p.epoch, From: "dead", Process: "alive"})
}

func text(s string) engine.Item      { return engine.Item{Kind: engine.ItemText, Text: s} }
func reasoning(s string) engine.Item { return engine.Item{Kind: engine.ItemReasoning, Text: s} }
func call(name string) engine.Item {
	return engine.Item{Kind: engine.ItemCall, Name: name, Arguments: `{"a":1}`}
}

func (p *play) modelDone(stop string, output int64, items ...engine.Item) engine.ModelDone {
	t := p.state.Turn
	return engine.ModelDone{Run: t.Run, Call: t.Calls + 1, Attempt: t.Call.Attempt, Epoch: t.Call.Epoch, Items: items, Stop: stop,
		Usage: api.Usage{InputTokens: 7, OutputTokens: output}}
}

// reply is the model's answer, of 10 output tokens.
func reply(stop string, items ...engine.Item) move { return costly(10, stop, items...) }
func costly(output int64, stop string, items ...engine.Item) move {
	return func(p *play) { p.do(p.modelDone(stop, output, items...)) }
}
func says(s string) move { return reply(engine.StopEnd, text(s)) }
func asksFor(tools ...string) move {
	var items []engine.Item
	for _, n := range tools {
		items = append(items, call(n))
	}
	return reply(engine.StopToolCalls, items...)
}

func fails(code api.Code, retryable bool, change ...func(*engine.ModelError)) move {
	return func(p *play) {
		t := p.state.Turn
		c := engine.ModelError{Run: t.Run, Call: t.Calls + 1, Attempt: t.Call.Attempt, Epoch: t.Call.Epoch, Code: code, Message: "sorry", Retryable: retryable}
		for _, f := range change {
			f(&c)
		}
		p.do(c)
	}
}

func (p *play) tool(n int) engine.ToolCall {
	for _, c := range p.state.Turn.Tools {
		if c.ID == p.calls[n-1] {
			return c
		}
	}
	p.t.Fatalf("call %d is not of the last answer", n)
	return engine.ToolCall{}
}

// returns is the outcome of the newest attempt of the session's n-th call.
func returns(n int, output string) move { return outcome(n, output, "") }
func outcome(n int, output string, code api.Code) move {
	return func(p *play) {
		c := p.tool(n)
		p.do(engine.ToolOutcome{CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch, Output: output, Code: code})
	}
}

// returnsOf is the outcome of a given attempt, also of a call that is not of the last answer.
func returnsOf(n, attempt int, epoch uint64, output string) move {
	return func(p *play) {
		p.do(engine.ToolOutcome{CallID: p.calls[n-1], Attempt: attempt, Epoch: epoch, Output: output})
	}
}
func overdue(n int) move {
	return func(p *play) {
		c := p.tool(n)
		p.do(engine.Overdue{CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch})
	}
}
func inspected(n int, answer, output string) move {
	return func(p *play) {
		p.do(engine.Inspected{CallID: p.calls[n-1], Attempt: p.tool(n).Attempt, Answer: answer, Output: output})
	}
}

// What is compared: one line for each event and effect, with short names for IDs.

func (p *play) short(s string) string {
	var pairs []string
	for prefix, ids := range map[string][]string{"r": p.runs, "c": p.calls, "i": p.asks} {
		for n, id := range ids {
			pairs = append(pairs, id+"\x00", fmt.Sprintf("%s%d", prefix, n+1))
		}
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

func (p *play) lines(events []engine.Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, p.short(p.line(e)))
	}
	return out
}

func (p *play) line(event engine.Event) string {
	words := []string{string(event.Kind())}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	flag := func(on bool, word string) {
		if on {
			add("%s", word)
		}
	}
	in := func(t time.Time) string { return "+" + t.Sub(p.state.Time).String() }
	switch e := event.(type) {
	case engine.TurnAccepted:
		add("%s\x00", e.Run)
		flag(e.Queued, "queued")
		flag(e.Front, "front")
	case engine.TurnStarted:
		add("%s\x00", e.Run)
	case engine.CancelRequested:
		add("%s\x00 by %s", e.Run, e.By)
	case engine.TurnEnded:
		add("%s\x00 %s", e.Run, e.Status)
		flag(e.Code != "", string(e.Code))
		flag(e.Retryable, "retryable")
	case engine.ModelStarted:
		add("%d/%d max %d", e.Call, e.Attempt, e.Max)
		flag(e.Closing, "closing")
	case engine.ModelFailed:
		add("%d/%d %s", e.Call, e.Attempt, e.Code)
		flag(e.Lost, "lost")
		flag(e.Final, "final")
		flag(e.Compact, "compact")
		if !e.RetryAt.IsZero() {
			add("again %s", in(e.RetryAt))
		}
	case engine.ModelFinished:
		add("%d/%d %s", e.Call, e.Attempt, e.Stop)
		for _, it := range e.Items {
			if it.Kind == engine.ItemCall {
				verdict := string(it.Code) + verdictOf(it.Code != "" || it.Check, it.Approved, it.Review)
				if it.Check {
					verdict += "check"
				}
				add("%s\x00:%s", it.CallID, verdict)
			}
		}
	case engine.ToolStarted:
		add("%s\x00/%d %s", e.CallID, e.Attempt, e.Name)
		flag(e.Digest != "", "changed")
	case engine.ToolFinished:
		add("%s\x00/%d", e.CallID, e.Attempt)
		flag(e.Code != "", string(e.Code))
	case engine.ToolLost:
		add("%s\x00/%d", e.CallID, e.Attempt)
		flag(e.Again, "again")
	case engine.ToolInspected:
		add("%s\x00/%d %s", e.CallID, e.Attempt, e.Answer)
		if !e.Again.IsZero() {
			add("again %s", in(e.Again))
		}
	case engine.ToolLate:
		add("%s\x00/%d", e.CallID, e.Attempt)
		flag(e.Code != "", string(e.Code))
	case engine.InteractionRequired:
		add("%s\x00 %s %s\x00", e.ID, e.Interaction, e.CallID)
		if e.Review != nil {
			add("reviewed %s", e.Review.Verdict)
		}
	case engine.InteractionResolved:
		add("%s\x00 %s", e.ID, e.Decision)
		flag(e.By == engine.ByReviewer || e.By == engine.ByAgent || e.By == engine.ByGrant, "by "+e.By)
	case engine.ToolChecked:
		add("%s\x00:%s", e.CallID, verdictOf(false, e.Approved, e.Review))
	case engine.ToolReturned:
		add("%s\x00/%d", e.CallID, e.Attempt)
		flag(e.Failed, "failed")
	case engine.ReviewStarted:
		add("%s\x00/%d", e.CallID, e.Attempt)
	case engine.ReviewFinished:
		add("%s\x00/%d %s", e.CallID, e.Attempt, e.Review.Verdict)
		flag(e.Review.Code != "", string(e.Review.Code))
		flag(e.Lost, "lost")
	case engine.CompactionStarted:
		add("%d of %d items", e.Attempt, e.Plan.Items)
	case engine.CompactionFailed:
		add("%d %s", e.Attempt, e.Code)
		flag(e.Lost, "lost")
		flag(e.Final, "final")
		flag(e.GivenUp, "given up")
		if !e.RetryAt.IsZero() {
			add("again %s", in(e.RetryAt))
		}
	case engine.CompactionFinished:
		add("%d", e.Attempt)
		flag(e.Attempt == 0 && e.Plan.Items > 0, "leaves out")
		flag(e.Plan.ItemBytes > 0, "shortened")
		flag(e.Plan.Bare, "bare")
	case engine.GrantRevoked:
		add("%s", e.Tool)
	case engine.TakenOver:
		add("%d", e.Epoch)
	}
	return strings.Join(words, " ")
}

// verdictOf says who decides on a call, "" where nothing is to be said.
func verdictOf(silent bool, approved string, review bool) string {
	switch {
	case silent:
		return ""
	case review:
		return "review"
	case approved == "":
		return "ask"
	}
	return approved
}

func pending(p *play) []string {
	var out []string
	for _, e := range engine.Pending(p.state) {
		line := fmt.Sprintf("%s %s\x00/%d", e.Kind, e.CallID, e.Attempt)
		switch e.Kind {
		case engine.ModelEffect:
			line = fmt.Sprintf("%s %d/%d", e.Kind, e.Call, e.Attempt)
		case engine.CompactEffect:
			line = fmt.Sprintf("%s %d", e.Kind, e.Attempt)
		}
		if e.Started {
			line += " runs"
		}
		if !e.NotBefore.IsZero() {
			line += " +" + e.NotBefore.Sub(p.state.Time).String()
		}
		out = append(out, p.short(line))
	}
	return out
}

// due is "" for never, else how long after the last event.
func due(p *play) string {
	d := engine.Due(p.state)
	if d.IsZero() {
		return ""
	}
	return "+" + d.Sub(p.state.Time).String()
}
