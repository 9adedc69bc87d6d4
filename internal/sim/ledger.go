package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
)

// ledger is the world's own book of what was done to it, which no process can forget.
type ledger struct {
	w      *world
	bodies map[string][]*body  // by call
	asked  map[string][]uint64 // attempts of model calls → digest of the conversation that was sent
}

func newLedger(w *world) *ledger {
	return &ledger{w: w, bodies: map[string][]*body{}, asked: map[string][]uint64{}}
}

// askKey names one attempt of a model call under one claim.
func askKey(run string, call, attempt int, epoch uint64) string {
	return fmt.Sprintf("%s/%d/%d/%d", run, call, attempt, epoch)
}

// answerKey names a model call with the conversation that it answers.
func answerKey(run string, call int, sent uint64) string {
	return fmt.Sprintf("%s/%d/%x", run, call, sent)
}

// ask enters a request to a model. Whoever holds the session never asks again for an answer that is
// recorded (RE2). Two processes that take the same message at the same moment may both ask, and one of the
// answers is dropped with the claim that was not granted; so may an owner that has not learnt yet that it is none.
func (l *ledger) ask(c *cell, s runtime.Start, req model.Request) {
	e := s.Effect
	truth := l.w.sessions[s.State.Session]
	sent := conversation(req.Items, s.Guidance.Addendum)
	if c.owns && s.Epoch == truth.row.Epoch && truth.answered[answerKey(e.Run, e.Call, sent)] {
		l.w.fail("%s asks for %s again, whose answer is recorded", c.p.name, e.Key())
	}
	key := askKey(e.Run, e.Call, e.Attempt, s.Epoch)
	l.asked[key] = append(l.asked[key], sent)
}

// run enters the start of a tool's body.
func (l *ledger) run(p *process, s runtime.Start, name string, kind toolKind) *body {
	w, e := l.w, s.Effect
	truth := w.sessions[s.State.Session]
	b := &body{w: w, p: p, call: e.CallID, attempt: e.Attempt, epoch: s.Epoch, effect: name + " " + e.CallID, harmless: kind.effect == api.ReadOnly}
	if kind.effect == api.SideEffect && !truth.deleted {
		w.saw("side effect")
		if !w.calm {
			w.saw("side effect while things go wrong")
		}
		w.log("%s: the body of %s runs, attempt %d, epoch %d", p.name, b.effect, b.attempt, b.epoch)
		if !truth.intents[askKey(e.CallID, 0, e.Attempt, s.Epoch)] {
			w.fail("%s runs %s attempt %d before its intent is durable", p.name, b.effect, e.Attempt)
		}
		if row, err := w.disk.mem.Session(w.disk.ctx(), truth.id); err != nil || row.Epoch != s.Epoch || row.HolderGone {
			w.fail("%s runs %s attempt %d under epoch %d, but the session's is %d, held by %q (gone %t)", p.name, b.effect, e.Attempt, s.Epoch, row.Epoch, row.Holder, row.HolderGone)
		}
		for _, other := range l.bodies[e.CallID] {
			if !other.excused {
				w.fail("%s runs %s attempt %d (epoch %d) although attempt %d (epoch %d, in %s) has run and nobody has said that it may be run again",
					p.name, b.effect, e.Attempt, s.Epoch, other.attempt, other.epoch, other.p.name)
			}
		}
	}
	l.bodies[e.CallID] = append(l.bodies[e.CallID], b)
	return b
}

// allow enters that a person wants a call to be run again.
func (l *ledger) allow(call string) {
	l.w.log("a person wants %s to be run again", call)
	for _, b := range l.bodies[call] {
		b.excused = true
	}
}

// died ends the bodies that a process ran, unless they act elsewhere.
func (l *ledger) died(p *process) {
	for _, bodies := range l.bodies {
		for _, b := range bodies {
			if b.p == p && !b.applied && !b.away {
				b.over = true
			}
		}
	}
}

// conversation is a digest of what a model is asked.
func conversation(items []model.Item, addendum string) uint64 {
	h := fnv.New64a()
	put := func(text string) {
		_, _ = h.Write([]byte(text))
		_, _ = h.Write([]byte{0})
	}
	for i := range items {
		it := &items[i]
		put(string(it.Kind))
		put(it.Text)
		put(it.CallID)
		put(it.Name)
		_, _ = h.Write(it.Arguments)
		put(it.Output)
		if it.Failed {
			put("failed")
		}
		if it.Private != nil {
			_, _ = h.Write(it.Private.Data)
		}
	}
	put(addendum)
	return h.Sum64()
}

// asJournalled is the conversation that the journal holds, as a model is to see it.
func asJournalled(t *engine.Transcript) []model.Item {
	var items []model.Item
	for _, e := range t.Entries() {
		it := model.Item{Text: e.Text}
		switch e.Kind {
		case engine.EntryUser, engine.EntryNotice:
			it.Kind = model.UserItem
		case engine.EntryText:
			it.Kind = model.AssistantItem
		case engine.EntryReasoning:
			it.Kind = model.ReasoningItem
			it.Private = &model.Private{}
			_ = json.Unmarshal(e.Private, it.Private)
		case engine.EntryCall:
			it = model.Item{Kind: model.ToolCallItem, CallID: e.CallID, Name: e.Name, Arguments: []byte(e.Arguments)}
		case engine.EntryResult:
			it = model.Item{Kind: model.ToolResultItem, CallID: e.CallID, Output: e.Text, Failed: e.Code != ""}
		}
		items = append(items, it)
	}
	return items
}
