package engine_test

import (
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// cooperate does what the state asks for, in a world where all goes well, and counts the steps until
// nothing is left to do by itself.
func (w *world) cooperate() {
	bound := 20 + 8*(len(w.state.Queue)+1)
	if w.state.Turn != nil {
		bound += 8 * len(w.state.Turn.Tools)
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
	if begun := engine.Begun(w.state); t.Cancel && len(begun) > 0 { // what runs is stopped
		e := begun[0]
		c := engine.Unmade(e, e.Epoch, "cancelled")
		if e.Kind == engine.ToolEffect {
			c = engine.Overdue{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch}
		}
		_, _ = w.decide(c)
		return
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
	case e.Kind == engine.CheckEffect:
		_, _ = w.decide(engine.Checked{CallID: e.CallID, Attempt: e.Attempt, Epoch: w.epoch, Digest: digest(e)})
	case e.Kind == engine.CompactEffect && !e.Started:
		p, full := w.transcript.Plan(engine.Window{Run: e.Run, Room: 1 << 20, Source: 1 << 20, All: true})
		_, _ = w.decide(engine.Compact{Run: e.Run, Epoch: w.epoch, Plan: p, Full: full})
	case e.Kind == engine.CompactEffect:
		_, _ = w.decide(engine.Compacted{Run: e.Run, Attempt: e.Attempt, Epoch: e.Epoch, Summary: "so it was"})
	case e.Kind == engine.ReviewEffect && e.Started:
		_, _ = w.decide(engine.Reviewed{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch, Review: api.Review{Verdict: api.ReviewAllow}})
	case !e.Started && e.Kind != engine.ScreenEffect:
		_, _ = w.decide(engine.Begin{Effect: e, Epoch: w.epoch})
	case e.Kind == engine.ModelEffect:
		_, _ = w.decide(engine.ModelDone{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: e.Epoch, Items: []engine.Item{text("done")}, Stop: engine.StopEnd})
	default:
		_, _ = w.decide(engine.ToolOutcome{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch, Output: "done"})
	}
}

func digest(e engine.Effect) string {
	if e.Attempt > 0 {
		return "digest"
	}
	return ""
}

// taken checks that Decide takes what Pending asks for: the intent or the outcome of an effect leads to events.
func (w *world) taken(e engine.Effect) {
	now := w.now
	if now.Before(e.NotBefore) {
		now = e.NotBefore
	}
	var c engine.Command
	switch {
	case e.Kind == engine.InspectEffect:
		c = engine.Inspected{CallID: e.CallID, Attempt: e.Attempt, Answer: engine.InspectedUnknown}
	case e.Kind == engine.CheckEffect:
		c = engine.Checked{CallID: e.CallID, Attempt: e.Attempt, Epoch: w.epoch, Digest: digest(e)}
	case e.Kind == engine.ScreenEffect:
		c = engine.ToolOutcome{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch}
	case e.Kind == engine.CompactEffect && !e.Started:
		c = engine.Compact{Run: e.Run, Epoch: w.epoch, Plan: engine.Plan{Items: 1}}
	case e.Started:
		c = engine.Unmade(e, e.Epoch, "nobody waits")
	default:
		c = engine.Begin{Effect: e, Epoch: w.epoch}
	}
	if events, _, err := engine.Decide(w.state, c, engine.Env{Now: now}); err != nil || len(events) == 0 {
		w.Fatalf("%+v is pending, and %#v comes to %v, %v", e, c, events, err)
	}
}
