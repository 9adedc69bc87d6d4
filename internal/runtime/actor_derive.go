package runtime

import (
	"slices"
	"strings"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
)

// derive adds what the state asks for: consequences that a bare outcome left open, and intents.
func (b *batch) derive() error {
	if engine.Underived(b.state) {
		if _, err := b.decide(engine.Advance{}); err != nil {
			return err
		}
	}
	if !b.a.env.Can(engine.Needs(b.state)) {
		return nil
	}
	pending := engine.Pending(b.state)
	tools, reviews := b.a.runningTools(b.state), 0
	for _, e := range pending {
		if e.Kind == engine.ReviewEffect && e.Started {
			reviews++
		}
	}
	live := b.claims || b.a.env.Live(b.a.holder)
	for _, e := range pending {
		if e.Started || e.Kind.Bare() || e.NotBefore.After(b.env.Now) {
			continue
		}
		begin := engine.Begin{Effect: e, Epoch: b.epoch}
		if e.Kind == engine.ModelEffect || e.Kind == engine.CompactEffect {
			facts := b.a.request(b.state)
			begin.Fixed, begin.Window = facts.Fixed, facts.Window
			if e.Kind == engine.CompactEffect || !engine.Fits(b.state, facts.Fixed, facts.Window) {
				if err := b.compact(facts); err != nil {
					return err
				}
				continue
			}
		}
		if e.Kind == engine.ReviewEffect {
			if reviews >= b.a.env.Parallel {
				continue
			}
			reviews++
		}
		if e.Kind == engine.ToolEffect {
			if !e.Repeatable && !live {
				continue // its body could not start
			}
			if _, here := b.a.running[e.Key()]; !here {
				if tools >= b.a.env.Parallel {
					continue
				}
				tools++
			}
		}
		if _, err := b.decide(begin); err != nil {
			return err
		}
	}
	return nil
}

// request tells of the next request of a state's turn.
func (a *Actor) request(s *engine.State) RequestFacts {
	if a.env.Request == nil {
		return RequestFacts{}
	}
	return a.env.Request(s.Agent.Digest, s.Turn.Model)
}

// compact plans how the conversation is made to fit. A plan rests on the whole conversation: what is decided in
// this append is stored first, and a conversation that is not here is read first.
func (b *batch) compact(facts RequestFacts) error {
	if len(b.facts) > 0 {
		return nil
	}
	if !b.a.transcript.ready() {
		b.a.wanted = true
		b.a.readTranscript()
		return nil
	}
	own := strings.Repeat(" ", facts.Guidance)
	text := guidance(b.a.transcript.t.Guidance().Compaction, b.state.Compaction, &own)
	guided := min(len(text), engine.GuidanceBytes(b.state, facts.Window))
	t := b.a.transcript.t
	plan, full := t.Plan(engine.Room(b.state, facts.Fixed, policy.SummaryOverhead()+guided, facts.Window))
	_, err := b.decide(engine.Compact{Run: b.state.Turn.Run, Epoch: b.epoch, Plan: plan, Full: full, Note: t.Note(plan), Fixed: facts.Fixed})
	return err
}

// rests reports whether nothing happens by itself for a while: then the session is given up, so that it costs
// nothing while it waits. Whoever looks for work when it falls due goes on with it, if that begins with an
// intent: a claim needs an event to ride on, and an inspection has none.
func (b *batch) rests() bool {
	due := engine.Due(b.state)
	if slices.ContainsFunc(engine.Pending(b.state), func(e engine.Effect) bool { return e.Kind.Bare() }) {
		return false
	}
	return due.IsZero() || due.After(b.env.Now.Add(longWait)) && due.After(b.state.Time.Add(longWait))
}

// unable reports whether this process lacks what the turn needs, and has begun nothing of it: a turn that was queued
// may need a guardrail, or a provider, which the one before it did not need.
func (b *batch) unable() bool {
	a := b.a
	if b.state.Turn == nil || a.env.Can(engine.Needs(b.state)) || len(a.outputs) > 0 || len(engine.Begun(b.state)) > 0 {
		return false
	}
	for _, r := range a.running {
		if !r.overdue {
			return false
		}
	}
	return true
}

// bareDue reports whether something can start now that has no intent.
func (b *batch) bareDue() bool {
	return slices.ContainsFunc(engine.Pending(b.state), func(e engine.Effect) bool { return e.Kind.Bare() && !e.NotBefore.After(b.env.Now) })
}

// due reports whether something can start now.
func (b *batch) due() bool {
	due := engine.Due(b.state)
	return !due.IsZero() && (!due.After(b.env.Now) || !due.After(b.state.Time))
}
