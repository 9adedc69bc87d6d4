package engine_test

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// commute takes an outcome of a running attempt and inputs of other processes that were decided on the same
// state: stored in either order, they fold into the same state, from which the same follows.
func (w *world) commute() {
	running := engine.Begun(w.state)
	for _, e := range engine.Pending(w.state) {
		if e.Kind == engine.ScreenEffect {
			running = append(running, e)
		}
	}
	if len(running) == 0 {
		return
	}
	c := w.comesTo(choose(w.T, "running", running))
	if !engine.Commutes(w.state, c) {
		if _, screened := c.(engine.Returned); screened {
			return // it has returned already
		}
		w.Fatalf("%#v is the outcome of an attempt that runs, and does not commute", c)
	}
	base := w.state
	env := engine.Env{Now: w.now, Jitter: 0.5}
	events, _, err := engine.Decide(base, c, env)
	if err != nil || len(events) == 0 || !engine.IsOutcome(events[0]) {
		w.Fatalf("Decide(%#v) gives %v, %v for an attempt that runs", c, events, err)
	}
	outcome := events[0]
	var inputs []engine.Event
	other := base
	for range rapid.IntRange(1, 4).Draw(w.T, "inputs") {
		var input engine.Command
		switch choose(w.T, "input", []string{"message", "cancel", "answer", "revoke"}) {
		case "message":
			m := engine.Message{Text: "me too", WhenBusy: choose(w.T, "when busy", []api.WhenBusy{api.BusyQueue, api.BusyInterrupt})}
			if rapid.Bool().Draw(w.T, "with files") {
				m.Text, m.Content = "", w.content()
			}
			input = m
		case "cancel":
			input = w.cancelOf()
		case "revoke":
			input = w.revokeOf()
		case "answer":
			if a, ok := w.answerFor(); ok {
				input = a
			}
		}
		if input == nil {
			continue
		}
		events, after, err := engine.Decide(other, input, env)
		if err != nil {
			continue
		}
		inputs, other = append(inputs, events...), after
		if m, ok := input.(engine.Message); ok && m.Content != nil {
			w.commuted["beside a message with files"]++
		}
	}
	if len(inputs) == 0 {
		return
	}
	w.commuted[fmt.Sprintf("%T", c)]++
	at := base.Time
	if w.now.After(at) {
		at = w.now
	}
	fold := func(events ...engine.Event) (*engine.State, []engine.Entry) {
		facts := make([]engine.Fact, len(events))
		for i, e := range events {
			facts[i] = engine.Fact{Number: base.Head + 1 + uint64(i), Time: at, Event: e}
		}
		after, err := engine.Fold(base, facts...)
		if err != nil {
			w.Fatalf("%v beside %v: %v", outcome, inputs, err)
		}
		more, derived, err := engine.Decide(after, engine.Advance{}, env)
		if err != nil {
			w.Fatalf("advance behind %v beside %v: %v", outcome, inputs, err)
		}
		if engine.Underived(derived) {
			w.Fatalf("an advance leaves something to advance: %+v", derived.Turn)
		}
		transcript := engine.NewTranscript()
		for _, f := range append(w.facts[:len(w.facts):len(w.facts)], facts...) {
			transcript.Apply(f)
		}
		for i, e := range more {
			transcript.Apply(engine.Fact{Number: after.Head + 1 + uint64(i), Time: at, Event: e})
		}
		return derived, transcript.Entries()
	}
	first, firstEntries := fold(append([]engine.Event{outcome}, inputs...)...)
	second, secondEntries := fold(append(inputs[:len(inputs):len(inputs)], outcome)...)
	if diff := cmp.Diff(mustSnapshot(w, unnumbered(first)), mustSnapshot(w, unnumbered(second))); diff != "" {
		w.Fatalf("%v before and behind %v (-before +behind):\n%s", outcome, inputs, diff)
	}
	if diff := cmp.Diff(bare(firstEntries), bare(secondEntries)); diff != "" {
		w.Fatalf("conversations of %v before and behind %v (-before +behind):\n%s", outcome, inputs, diff)
	}
	// The world goes on with the order in which it happens: the inputs first.
	all := append(inputs, outcome)
	w.append(at, all)
	w.state = w.stored.Clone()
}

// unnumbered is a copy without what the order of events alone decides.
func unnumbered(s *engine.State) *engine.State {
	c := s.Clone()
	if c.Turn != nil {
		c.Turn.Accepted, c.Turn.Answer, c.Turn.Last = 0, 0, 0
	}
	c.Context.Files = unnumberedFiles(c.Context.Files)
	for i := range c.Queue {
		c.Queue[i].Accepted, c.Queue[i].Files = 0, unnumberedFiles(c.Queue[i].Files)
	}
	for i := range c.Interactions {
		c.Interactions[i].Number = 0
	}
	return c
}

func unnumberedFiles(files []engine.HeldFile) []engine.HeldFile {
	files = slices.Clone(files)
	for i := range files {
		files[i].Number = 0
	}
	return files
}

func bare(entries []engine.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s %s %s %s %s %t", e.Kind, e.Run, e.CallID, e.Described(), e.Code, e.Open))
	}
	return out
}
