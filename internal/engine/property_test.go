package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
)

// world plays a session in an arbitrary order of everything that can happen to one, and checks after each
// step all that must hold.
type world struct {
	*rapid.T
	state      *engine.State // as Decide returned it
	stored     *engine.State // as a reader of the journal folds it
	facts      []engine.Fact
	ledger     *ledger
	transcript *engine.Transcript
	now        time.Time
	epoch      uint64
	models     []engine.ModelStarted
	tools      []engine.ToolStarted
	asked      []string
	commuted   int
}

func newWorld(t *rapid.T) *world {
	agent := worker(func(a *engine.Agent) {
		a.Mode = choose(t, "mode", []api.ApprovalMode{api.ApproveAlways, api.ApproveOnly, api.ApproveNever})
		a.UnknownOutcome = choose(t, "unknown outcome", []api.UnknownOutcome{api.OutcomeAsk, api.OutcomeTellModel})
		if !choose(t, "unlimited", often) {
			a.Limits = limits(rapid.IntRange(1, 6).Draw(t, "calls"), rapid.IntRange(60, 600).Draw(t, "output"), rapid.IntRange(1, 200).Draw(t, "per call"), rapid.IntRange(1, 59).Draw(t, "summary"))
		}
	})
	w := &world{T: t, state: &engine.State{Session: "s"}, stored: &engine.State{Session: "s"}, ledger: newLedger(agent), transcript: engine.NewTranscript(), now: start, epoch: 1}
	w.decide(engine.Create{Event: engine.SessionCreated{Secret: []byte{1, 2, 3}, Agent: agent, Metadata: map[string]string{"a": "b"}}})
	return w
}

// decide makes a decision, appends it and checks what must hold of any.
func (w *world) decide(c engine.Command) ([]engine.Event, error) {
	before := mustSnapshot(w, w.state)
	events, after, err := engine.Decide(w.state, c, engine.Env{Now: w.now, Jitter: 0.5})
	if mustSnapshot(w, w.state) != before {
		w.Fatalf("Decide(%#v) changed the state that it was given", c)
	}
	if err != nil {
		var refusal *api.Error
		if !errors.As(err, &refusal) {
			w.Fatalf("Decide(%#v) fails with %T: %v", c, err, err)
		}
		if len(events) > 0 || after != w.state {
			w.Fatalf("Decide(%#v) refuses with %v and gives events or another state", c, err)
		}
		return nil, err
	}
	w.rivals(after)
	w.state = after
	w.append(after.Time, events)
	return events, nil
}

// rivals decides otherwise on the state that after came from: the two share nothing.
func (w *world) rivals(after *engine.State) {
	if len(w.state.Interactions) == 0 {
		return
	}
	want := mustSnapshot(w, after)
	for _, d := range []api.Decision{api.AllowSession, api.Deny, api.OutcomeRetry} {
		_, _, _ = engine.Decide(w.state, engine.Answer{Interaction: w.state.Interactions[0].ID, Answer: api.Answer{Decision: d, By: "rival"}}, engine.Env{Now: w.now})
	}
	if got := mustSnapshot(w, after); got != want {
		w.Fatalf("a rival decision changed the outcome of this one from\n%s\nto\n%s", want, got)
	}
}

// append stores events and folds them as a reader does.
func (w *world) append(at time.Time, events []engine.Event) {
	for _, e := range events {
		stored, err := engine.Encode(e)
		if err != nil {
			w.Fatal(err)
		}
		decoded, err := engine.Decode(stored.Kind, stored.Version, stored.Data)
		if err != nil {
			w.Fatal(err)
		}
		fact := engine.Fact{Number: uint64(len(w.facts)) + 1, Time: at, Event: decoded}
		w.facts = append(w.facts, fact)
		if w.stored, err = engine.Apply(w.stored, fact); err != nil {
			w.Fatal(err)
		}
		w.transcript.Apply(fact)
		if err := w.ledger.follow(decoded); err != nil {
			w.Fatalf("event %d: %v", fact.Number, err)
		}
		switch e := decoded.(type) {
		case engine.ModelStarted:
			w.models = append(w.models, e)
		case engine.ToolStarted:
			w.tools = append(w.tools, e)
		case engine.InteractionRequired:
			w.asked = append(w.asked, e.ID)
		}
	}
}

// check holds the state against what every state must be.
func (w *world) check() {
	want, err := engine.Snapshot(w.state)
	if err != nil {
		w.Fatal(err)
	}
	if got := mustSnapshot(w, w.stored); got != string(want) {
		w.Fatalf("the journal folds into\n%s\nbut Decide returned\n%s", got, want)
	}
	restored, err := engine.Restore(want)
	if err != nil {
		w.Fatal(err)
	}
	if got := mustSnapshot(w, restored); got != string(want) {
		w.Fatalf("the snapshot\n%s\nis restored as\n%s", want, got)
	}
	if rapid.Bool().Draw(w.T, "go on from the snapshot") {
		w.state = restored
	}
	s := w.state
	pending, due := engine.Pending(s), engine.Due(s)
	cancelling := s.Turn != nil && s.Turn.Cancel
	if open := len(pending) > 0 || cancelling || engine.Underived(s); open == due.IsZero() {
		w.Fatalf("%d effects are pending, cancelling %t, underived %t, but due is %v", len(pending), cancelling, engine.Underived(s), due)
	}
	if !due.IsZero() && due.Before(s.Time) {
		w.Fatalf("due at %v, before the last event at %v", due, s.Time)
	}
	if idle := engine.Activity(s) == engine.ActivityIdle; idle != (s.Turn == nil && len(s.Queue) == 0) || idle && !due.IsZero() {
		w.Fatalf("activity %s, due %v", engine.Activity(s), due)
	}
	if engine.Waiting(s) && len(s.Interactions) == 0 {
		w.Fatal("the turn waits for people, and nobody is asked")
	}
	if err := paired(w.transcript.Entries()); err != nil {
		w.Fatal(err)
	}
	for _, e := range pending {
		if e.Kind != engine.ModelEffect {
			continue
		}
		if err := model.Check(request(w.transcript.Entries())); err != nil {
			w.Fatalf("a model call is due, and its request: %v", err)
		}
	}
	if err := w.ledger.settled(engine.Activity(s) == engine.ActivityIdle); err != nil {
		w.Fatal(err)
	}
	if len(want) > 60_000 {
		w.Fatalf("the snapshot is of %d bytes", len(want))
	}
}

// roll is a number from 0 to 127, each as likely as the other: rapid's own favour the small ones.
var roll = rapid.Custom(func(t *rapid.T) int {
	n := 0
	for range 7 {
		n <<= 1
		if rapid.Bool().Draw(t, "bit") {
			n |= 1
		}
	}
	return n
})

func choose[T any](t *rapid.T, label string, from []T) T { return from[roll.Draw(t, label)%len(from)] }

var often = []bool{true, true, true, false}

// pick draws one of the newest few, mostly the last.
func pick[T any](w *world, all []T, label string) T {
	back := choose(w.T, label+", how far back", []int{0, 0, 0, 0, 0, 1, 1, 2, 3, 7})
	return all[max(0, len(all)-1-back)]
}

func (w *world) message() {
	m := engine.Message{
		Text:     choose(w.T, "text", []string{"hi", "<do>", "naïve"}),
		WhenBusy: choose(w.T, "when busy", []api.WhenBusy{"", "", "", api.BusyReject, api.BusyQueue, api.BusyQueue, api.BusyInterrupt, "?"}),
		Addendum: "be brief",
	}
	if !choose(w.T, "the agent's limits", often) {
		m.Limits.MaxModelCalls = api.Set(rapid.IntRange(0, 4).Draw(w.T, "own calls"))
	}
	_, _ = w.decide(m)
}

func (w *world) answerFor() (engine.Answer, bool) {
	if len(w.asked) == 0 {
		return engine.Answer{}, false
	}
	id := pick(w, w.asked, "interaction")
	if open := w.state.Interactions; len(open) > 0 && choose(w.T, "an open one", often) {
		id = choose(w.T, "which", open).ID
	}
	return engine.Answer{Interaction: id, Answer: api.Answer{
		Decision: choose(w.T, "decision", []api.Decision{api.AllowOnce, api.AllowSession, api.Deny, api.OutcomeSucceeded, api.OutcomeFailed, api.OutcomeRetry, "?"}),
		Reason:   choose(w.T, "reason", []string{"", "so"}),
	}}, true
}

func (w *world) cancelOf() engine.Cancel {
	run := ""
	if len(w.ledger.order) > 0 && rapid.Bool().Draw(w.T, "a named run") {
		run = pick(w, w.ledger.order, "run")
	}
	return engine.Cancel{Run: run, By: "ann"}
}

func (w *world) begin() {
	pending := engine.Pending(w.state)
	if len(pending) == 0 {
		return
	}
	_, _ = w.decide(engine.Begin{Effect: choose(w.T, "effect", pending), Epoch: w.epoch})
}

func (w *world) items() []engine.Item {
	var items []engine.Item
	for range choose(w.T, "items", []int{0, 1, 1, 2, 3, 4}) {
		it := text(choose(w.T, "text", []string{"", "well", "so"}))
		switch choose(w.T, "item", []string{"text", "reasoning", "call", "call", "call", "call"}) {
		case "reasoning":
			it.Kind = engine.ItemReasoning
		case "call":
			it = call(choose(w.T, "tool", []string{"write", "write", "write", "put", "read", "free", "read_history", "ask_user", "no such", ""}))
			if !choose(w.T, "good arguments", often) {
				it.Arguments, it.Code, it.Message = `{"a":`, api.CodeArgumentsInvalid, "they do not parse"
			}
		}
		items = append(items, it)
	}
	return items
}

// modelOutcome is an outcome of an attempt that was begun: the running one, or one of those before.
func (w *world) modelOutcome() (engine.Command, bool) {
	if len(w.models) == 0 {
		return nil, false
	}
	return w.modelComesTo(pick(w, w.models, "attempt of the model")), true
}

func (w *world) modelComesTo(m engine.ModelStarted) engine.Command {
	usage := api.Usage{InputTokens: 5, OutputTokens: int64(rapid.IntRange(0, m.Max).Draw(w.T, "tokens"))}
	if choose(w.T, "answered", often) {
		return engine.ModelDone{Run: m.Run, Call: m.Call, Attempt: m.Attempt, Epoch: m.Epoch, Items: w.items(), Usage: usage,
			Stop: choose(w.T, "stop", []string{engine.StopToolCalls, engine.StopToolCalls, engine.StopToolCalls, engine.StopEnd, engine.StopEnd, engine.StopOutputLimit, engine.StopFiltered, ""})}
	}
	return engine.ModelError{Run: m.Run, Call: m.Call, Attempt: m.Attempt, Epoch: m.Epoch, Code: api.CodeProviderOverloaded, Message: "busy", Usage: usage,
		Retryable: choose(w.T, "retryable", often), Cancelled: !choose(w.T, "by itself", often)}
}

func (w *world) toolOutcome() (engine.Command, bool) {
	if len(w.tools) == 0 {
		return nil, false
	}
	c := pick(w, w.tools, "attempt of a tool")
	return w.toolComesTo(c.CallID, c.Attempt, c.Epoch), true
}

func (w *world) toolComesTo(call string, attempt int, epoch uint64) engine.Command {
	return engine.ToolOutcome{CallID: call, Attempt: attempt, Epoch: epoch, Output: "out", Code: choose(w.T, "code", []api.Code{"", "", api.CodeToolFailed, api.CodeCancelled})}
}

func (w *world) outcome() (engine.Command, bool) {
	if choose(w.T, "of the model", []bool{true, false}) {
		return w.modelOutcome()
	}
	return w.toolOutcome()
}

func (w *world) attempt() (engine.ToolStarted, bool) {
	if len(w.tools) == 0 {
		return engine.ToolStarted{}, false
	}
	return pick(w, w.tools, "attempt"), true
}

func (w *world) takeOver() {
	w.epoch++
	_, _ = w.decide(engine.TakeOver{Epoch: w.epoch, From: "p1", Process: "p2"})
}

// goOn takes an effect that is pending and begins it or says what it comes to; the world is not always kind.
func (w *world) goOn() {
	pending := engine.Pending(w.state)
	switch {
	case len(pending) > 0:
	case w.state.Turn == nil:
		w.message()
		return
	case w.state.Turn.Cancel:
		w.cooperateOnce()
		return
	default:
		if a, ok := w.answerFor(); ok {
			_, _ = w.decide(a)
		}
		return
	}
	e := choose(w.T, "effect", pending)
	if w.now.Before(e.NotBefore) && choose(w.T, "wait for it", often) {
		w.now = e.NotBefore
	}
	switch {
	case e.Kind == engine.InspectEffect:
		w.inspect(e.CallID, e.Attempt)
	case !e.Started:
		_, _ = w.decide(engine.Begin{Effect: e, Epoch: w.epoch})
	case e.Kind == engine.ModelEffect:
		_, _ = w.decide(w.modelComesTo(w.models[len(w.models)-1]))
	default:
		_, _ = w.decide(w.toolComesTo(e.CallID, e.Attempt, e.Epoch))
	}
}

func (w *world) inspect(call string, attempt int) {
	_, _ = w.decide(engine.Inspected{CallID: call, Attempt: attempt, Output: "seen",
		Answer: choose(w.T, "inspection", []string{engine.InspectedSucceeded, engine.InspectedFailed, engine.InspectedNotStarted, engine.InspectedRunning, engine.InspectedRunning,
			engine.InspectedUnknown, engine.InspectedUnknown, engine.InspectedNone})})
}

// steps are what can happen, each as likely as it stands here often.
var steps = slices.Concat(slices.Repeat([]string{"go on"}, 16), slices.Repeat([]string{"answer", "commute"}, 3),
	[]string{"message", "message", "outcome", "outcome", "take over", "take over", "overdue", "inspect", "interrupted", "cancel", "begin", "advance", "wait"})

func (w *world) step() {
	switch choose(w.T, "step", steps) {
	case "go on":
		w.goOn()
	case "message":
		w.message()
	case "answer":
		if a, ok := w.answerFor(); ok {
			_, _ = w.decide(a)
		}
	case "begin":
		w.begin()
	case "outcome":
		if c, ok := w.outcome(); ok {
			_, _ = w.decide(c)
		}
	case "commute":
		w.commute()
	case "overdue":
		if c, ok := w.attempt(); ok {
			_, _ = w.decide(engine.Overdue{CallID: c.CallID, Attempt: c.Attempt, Epoch: c.Epoch})
		}
	case "inspect":
		if c, ok := w.attempt(); ok {
			w.inspect(c.CallID, c.Attempt)
		}
	case "interrupted":
		if c, ok := w.attempt(); ok {
			w.ledger.notStarted = choose(w.T, "not started", []string{"", c.CallID})
			_, _ = w.decide(engine.Interrupted{CallID: c.CallID, Attempt: c.Attempt, Epoch: c.Epoch, NotStarted: w.ledger.notStarted != ""})
			w.ledger.notStarted = ""
		}
	case "cancel":
		_, _ = w.decide(w.cancelOf())
	case "take over":
		w.takeOver()
	case "advance":
		_, _ = w.decide(engine.Advance{})
	case "wait":
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60_000).Draw(w.T, "ms")) * time.Millisecond)
	}
	w.check()
}

// cooperate does what the state asks for, in a world where all goes well, and counts the steps until
// nothing is left to do by itself.
func (w *world) cooperate() {
	bound := 10 + 4*(len(w.state.Queue)+1)
	if w.state.Turn != nil {
		bound += 4 * len(w.state.Turn.Tools)
	}
	for range bound {
		if engine.Due(w.state).IsZero() {
			if a := engine.Activity(w.state); a == engine.ActivityWaiting && len(w.state.Interactions) == 0 {
				w.Fatal("the session waits for nothing that has a name")
			}
			return
		}
		w.cooperateOnce()
		w.check()
	}
	w.Fatalf("after %d steps of a world where all goes well, this is still pending: %+v", bound, engine.Pending(w.state))
}

func (w *world) cooperateOnce() {
	if engine.Underived(w.state) {
		_, _ = w.decide(engine.Advance{})
		return
	}
	t := w.state.Turn
	if t.Cancel { // what runs is stopped
		if t.Call.Running {
			_, _ = w.decide(engine.ModelError{Run: t.Run, Call: t.Calls + 1, Attempt: t.Call.Attempt, Epoch: t.Call.Epoch, Code: api.CodeCancelled, Cancelled: true})
			return
		}
		for _, c := range t.Tools {
			if c.Status == engine.ToolRunning {
				_, _ = w.decide(engine.Overdue{CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch})
				return
			}
		}
	}
	pending := engine.Pending(w.state)
	if len(pending) == 0 {
		return
	}
	e := pending[0]
	if w.now.Before(e.NotBefore) {
		w.now = e.NotBefore
	}
	switch {
	case e.Kind == engine.InspectEffect:
		_, _ = w.decide(engine.Inspected{CallID: e.CallID, Attempt: e.Attempt, Answer: engine.InspectedSucceeded})
	case !e.Started:
		_, _ = w.decide(engine.Begin{Effect: e, Epoch: w.epoch})
	case e.Kind == engine.ModelEffect:
		_, _ = w.decide(engine.ModelDone{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: e.Epoch, Items: []engine.Item{text("done")}, Stop: engine.StopEnd})
	default:
		_, _ = w.decide(engine.ToolOutcome{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch, Output: "done"})
	}
}

func TestWhateverHappensInWhateverOrderASessionStaysWhole(t *testing.T) {
	t.Parallel()
	commuted, steps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		n := roll.Draw(t, "steps")
		for range n {
			w.step()
		}
		w.cooperate()
		if !choose(t, "keep", often) {
			_, _ = w.decide(engine.Delete{})
			w.check()
			if _, err := w.decide(engine.Message{Text: "hi"}); api.CodeOf(err) != api.CodeSessionDeleted {
				t.Fatalf("a deleted session answers %v", err)
			}
		}
		commuted, steps = commuted+w.commuted, steps+n
	})
	if steps > 500 && commuted == 0 {
		t.Errorf("in %d steps no outcome ever met an input", steps)
	}
}

func TestTheConversationIsTheSameInWhateverOrderResultsCome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "calls")
		base := []engine.Event{engine.SessionCreated{}, engine.TurnAccepted{Run: "r", Rules: 1, Text: "hi"}}
		answer := engine.ModelFinished{Run: "r", Call: 1, Attempt: 1, Items: []engine.Item{text("let me see")}}
		var results []engine.Event
		for i := range n {
			id := fmt.Sprintf("c%d", i)
			answer.Items = append(answer.Items, engine.Item{Kind: engine.ItemCall, CallID: id, Name: "read"})
			results = append(results, engine.ToolFinished{Run: "r", CallID: id, Attempt: 1, Output: "out of " + id})
		}
		tell := func(results []engine.Event) []string {
			transcript := engine.NewTranscript()
			for i, e := range append(append(base[:2:2], answer), results...) {
				transcript.Apply(engine.Fact{Number: uint64(i) + 1, Time: start, Event: e})
			}
			return bare(transcript.Entries())
		}
		if diff := cmp.Diff(tell(results), tell(rapid.Permutation(results).Draw(t, "order"))); diff != "" {
			t.Fatal(diff)
		}
	})
}
