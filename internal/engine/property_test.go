package engine_test

import (
	"encoding/json"
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
	reviews    []engine.ReviewStarted
	summaries  []engine.CompactionStarted
	hardChecks bool // the application has a check of its own
	asked      []string
	commuted   map[string]int // by the type of the outcome
}

func newWorld(t *rapid.T) *world {
	agent := worker(func(a *engine.Agent) {
		a.Mode = choose(t, "mode", []api.ApprovalMode{api.ApproveAlways, api.ApproveOnly, api.ApproveNever, api.ApproveAuto, api.ApproveAuto})
		a.Reviewer = api.ModelRef{Provider: "R", Name: "judge"}
		privileged(a)
		if choose(t, "questions", often) {
			asking(a)
		}
		a.SkipQuestions = !choose(t, "ask questions", often)
		a.UnknownOutcome = choose(t, "unknown outcome", []api.UnknownOutcome{api.OutcomeAsk, api.OutcomeTellModel})
		if !choose(t, "unlimited", often) {
			a.Limits = limits(rapid.IntRange(1, 6).Draw(t, "calls"), rapid.IntRange(60, 600).Draw(t, "output"), rapid.IntRange(1, 200).Draw(t, "per call"), rapid.IntRange(1, 59).Draw(t, "summary"))
		}
	})
	w := &world{T: t, state: &engine.State{Session: "s"}, stored: &engine.State{Session: "s"}, ledger: newLedger(agent), transcript: engine.NewTranscript(), now: start, epoch: 1,
		commuted: map[string]int{}, hardChecks: rapid.Bool().Draw(t, "hard checks")}
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
		case engine.ReviewStarted:
			w.reviews = append(w.reviews, e)
		case engine.CompactionStarted:
			w.summaries = append(w.summaries, e)
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
		w.taken(e)
		if e.Kind != engine.ModelEffect {
			continue
		}
		if err := model.Check(request(w.transcript.Context(0))); err != nil {
			w.Fatalf("a model call is due, and its request: %v", err)
		}
	}
	size := 0
	for _, e := range w.transcript.Context(0) {
		size += engine.EntryBytes(e)
	}
	if s.Context.Bytes != size {
		w.Fatalf("the context is of %d bytes, and counted as %d", size, s.Context.Bytes)
	}
	w.holds()
	if s.Turn != nil {
		if r := w.ledger.runs[s.Turn.Run]; s.Turn.Output != r.output || s.Turn.Auxiliary != r.auxiliary || s.Turn.Usage != r.usage {
			w.Fatalf("the turn counts %d, %+v and %+v, the journal holds %+v", s.Turn.Output, s.Turn.Auxiliary, s.Turn.Usage, r)
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
	switch choose(w.T, "kind", []string{"text", "text", "files", "compact"}) {
	case "files":
		m.Text, m.Content = "", w.content()
		if rapid.Bool().Draw(w.T, "inspected") {
			inspecting(&m)
		}
	case "compact":
		m.Text, m.Compact, m.Addendum = "", true, ""
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
	a := api.Answer{
		Decision: choose(w.T, "decision", []api.Decision{api.AllowOnce, api.AllowOnce, api.AllowSession, api.Deny, api.Answered, api.Answered, api.Skipped, api.OutcomeSucceeded, api.OutcomeFailed, api.OutcomeRetry, "?"}),
		Reason:   choose(w.T, "reason", []string{"", "so"}),
	}
	switch {
	case a.Decision == api.Answered:
		a.Answers = choose(w.T, "answers", [][]string{{"red"}, {"red", "blue"}, nil})
	case a.Decision == api.AllowOnce && rapid.Bool().Draw(w.T, "changed"):
		a.Arguments = json.RawMessage(choose(w.T, "arguments", []string{`{"a":2}`, `{"a": 2}`, `{}`, `{"b":"x"}`, `[]`}))
	}
	return engine.Answer{Interaction: id, Answer: a}, true
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

func (w *world) revokeOf() engine.Revoke {
	return engine.Revoke{Tool: choose(w.T, "grant", []string{"app.write", "app.write", "app.put", "app.read", "spawn", "no such"}), By: "ann"}
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
	case e.Kind == engine.CheckEffect:
		_, _ = w.decide(w.checkComesTo(e))
	case e.Kind == engine.CompactEffect && !e.Started, e.Kind == engine.ModelEffect && !e.Started && !choose(w.T, "it fits", often):
		_, _ = w.decide(w.planned(e.Run))
	case !e.Started && e.Kind != engine.ScreenEffect:
		_, _ = w.decide(engine.Begin{Effect: e, Epoch: w.epoch, Fixed: 700, Window: choose(w.T, "window", []int{0, 400, 8000})})
	default:
		_, _ = w.decide(w.comesTo(e))
	}
}

func (w *world) inspect(call string, attempt int) {
	_, _ = w.decide(engine.Inspected{CallID: call, Attempt: attempt, Output: "seen",
		Answer: choose(w.T, "inspection", []string{engine.InspectedSucceeded, engine.InspectedFailed, engine.InspectedNotStarted, engine.InspectedRunning, engine.InspectedRunning,
			engine.InspectedUnknown, engine.InspectedUnknown, engine.InspectedNone})})
}

// steps are what can happen, each as likely as it stands here often.
var steps = slices.Concat(slices.Repeat([]string{"go on"}, 16), slices.Repeat([]string{"answer", "commute"}, 3),
	[]string{"message", "message", "outcome", "outcome", "take over", "take over", "overdue", "inspect", "interrupted", "cancel", "begin", "advance", "wait", "revoke", "revoke", "check", "plan"})

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
	case "revoke":
		_, _ = w.decide(w.revokeOf())
	case "check":
		if c, ok := w.attempt(); ok {
			_, _ = w.decide(w.checkComesTo(engine.Effect{CallID: c.CallID, Attempt: c.Attempt + choose(w.T, "attempt", []int{0, 1})}))
		}
	case "plan":
		if len(w.ledger.order) > 0 {
			_, _ = w.decide(w.planned(pick(w, w.ledger.order, "run")))
		}
	case "take over":
		w.takeOver()
	case "advance":
		_, _ = w.decide(engine.Advance{})
	case "wait":
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60_000).Draw(w.T, "ms")) * time.Millisecond)
	}
	w.check()
}

func TestWhateverHappensInWhateverOrderASessionStaysWhole(t *testing.T) {
	t.Parallel()
	commuted, steps := map[string]int{}, 0
	whole := func(t *rapid.T) {
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
		steps += n
		for outcome, n := range w.commuted {
			commuted[outcome] += n
		}
	}
	// Some outcomes meet an input once in a thousand steps: it is played on until each has.
	for round := 0; round == 0 || round < 12 && len(commuted) < 8 && !t.Failed(); round++ {
		rapid.Check(t, whole)
	}
	if len(commuted) < 8 && !t.Failed() {
		t.Errorf("in %d steps only these ever met an input: %v", steps, commuted)
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
