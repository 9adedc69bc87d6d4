package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
)

// ledger is the world's own book of what was done to it, which no process can forget.
type ledger struct {
	w      *world
	bodies map[string][]*body  // by call
	asked  map[string][]uint64 // attempts of model calls and summaries → digests of the conversations that were sent
	// What the reviewer said in an attempt, and what the application's check let pass of a call.
	verdicts map[string][]api.ReviewVerdict
	passed   map[string][]pass
}

func newLedger(w *world) *ledger {
	return &ledger{w: w, bodies: map[string][]*body{}, asked: map[string][]uint64{},
		verdicts: map[string][]api.ReviewVerdict{}, passed: map[string][]pass{}}
}

// askKey names one attempt of a model call under one claim.
func askKey(run string, call, attempt int, epoch uint64) string {
	return fmt.Sprintf("%s/%d/%d/%d", run, call, attempt, epoch)
}

// answerKey names a model call with the conversation that it answers.
func answerKey(run string, call int, sent uint64) string {
	return fmt.Sprintf("%s/%d/%x", run, call, sent)
}

// summaryKey names one attempt of a summary under one claim.
func summaryKey(run string, attempt int, epoch uint64) string {
	return fmt.Sprintf("%s/summary/%d/%d", run, attempt, epoch)
}

// ask enters a request to a model, with a digest of the conversation in it. Whoever holds the session never asks
// again for an answer that is recorded (RE2). Two processes that take the same message at the same moment may both
// ask, and one of the answers is dropped with the claim that was not granted; so may an owner that has not learnt yet
// that it is none.
func (l *ledger) ask(c *cell, s runtime.Start, key string, sent uint64) {
	if e := s.Effect; e.Kind == engine.ModelEffect && l.truth(c, s) != nil && l.truth(c, s).answered[answerKey(e.Run, e.Call, sent)] {
		l.w.fail("%s asks for %s again, whose answer is recorded", c.p.name, e.Key())
	}
	l.asked[key] = append(l.asked[key], sent)
}

// truth is the session of an effect where its process holds it and knows that it does, otherwise nil.
func (l *ledger) truth(c *cell, s runtime.Start) *session {
	if truth := l.w.sessions[s.State.Session]; c.owns && s.Epoch == truth.row.Epoch {
		return truth
	}
	return nil
}

// reviewed enters what a reviewer said of a call. Nobody is asked for a verdict that is recorded.
func (l *ledger) reviewed(c *cell, s runtime.Start, in policy.ReviewInput, resp model.Response, err error) {
	e := s.Effect
	if truth := l.truth(c, s); truth != nil && truth.calls[e.CallID] != nil {
		if said := truth.calls[e.CallID].verdict; said != "" {
			l.w.fail("%s asks the reviewer about %s again, of which it has said %q", c.p.name, e.CallID, said)
		}
	}
	if err == nil {
		if said, refused := policy.ReadReview(in, resp); refused == nil {
			key := askKey(e.CallID, 0, e.Attempt, s.Epoch)
			l.verdicts[key] = append(l.verdicts[key], said.Verdict)
		}
	}
}

// pass enters that the application's check has let a call pass.
func (l *ledger) pass(s runtime.Start) {
	l.passed[s.Effect.CallID] = append(l.passed[s.Effect.CallID], pass{s.Effect.Attempt, s.Epoch, s.Call.Arguments})
}

// pass is one answer of the application's check.
type pass struct {
	attempt   int // 0: before the call was decided on
	epoch     uint64
	arguments string
}

// run enters the start of a tool's body.
func (l *ledger) run(p *process, s runtime.Start, name string, kind toolKind) *body {
	w, e := l.w, s.Effect
	truth := w.sessions[s.State.Session]
	b := &body{w: w, p: p, call: e.CallID, attempt: e.Attempt, epoch: s.Epoch, effect: name + " " + e.CallID, harmless: kind.effect == api.ReadOnly, raw: screens(s)}
	if c := truth.calls[e.CallID]; c != nil {
		b.allowed = c.allowed != ""
	}
	l.mayRun(p, s, truth.calls[e.CallID])
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

// mayRun holds that a call which somebody denied never runs, and any other with the arguments that were decided on.
// c is nil for one that is not in the journal yet.
func (l *ledger) mayRun(p *process, s runtime.Start, c *call) {
	w, e, arguments := l.w, s.Effect, s.Call.Arguments
	if w.checks {
		if forbidden(arguments) {
			w.fail("%s runs %s with %s, which the application denies", p.name, e.CallID, arguments)
		}
		want := pass{0, 0, arguments}
		if c != nil && c.changed {
			want = pass{e.Attempt, s.Epoch, arguments}
		}
		if !slices.ContainsFunc(l.passed[e.CallID], func(p pass) bool {
			return p == want || want.attempt == 0 && p.attempt == 0 && p.arguments == arguments
		}) {
			w.fail("%s runs %s attempt %d (epoch %d) with %s, which the application's check has not let pass: %v", p.name, e.CallID, e.Attempt, s.Epoch, arguments, l.passed[e.CallID])
		}
	}
	switch {
	case c == nil:
	case c.denied != "":
		w.fail("%s runs %s, which %s has denied", p.name, e.CallID, c.denied)
	case c.arguments != arguments:
		w.fail("%s runs %s with %s; it was decided on with %s", p.name, e.CallID, arguments, c.arguments)
	}
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
		for _, part := range it.Parts { // what bytes a file has is another question
			put(part.Text)
			put(part.ID)
			put(part.Name)
			put(part.MediaType)
		}
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

// asSummarised are entries as whoever summarises them is to be told: what the host said is the host's.
func asSummarised(entries []engine.Entry) []model.Item {
	items := asJournalled(entries)
	for i, e := range entries {
		if e.Kind == engine.EntryNotice {
			items[i].Kind = policy.NoticeItem
		}
	}
	return items
}

// asJournalled are entries of the conversation that the journal holds, as a model is to see them.
func asJournalled(entries []engine.Entry) []model.Item {
	var items []model.Item
	for _, e := range entries {
		it := model.Item{Text: e.Text}
		for _, b := range e.Content {
			part := model.Part{Text: b.Text}
			if f := b.File; f != nil {
				part = model.Part{ID: f.ID, Name: f.Name, MediaType: f.MediaType}
			}
			it.Parts = append(it.Parts, part)
		}
		switch e.Kind {
		case engine.EntryUser, engine.EntryNotice, engine.EntrySummary:
			it.Kind = model.UserItem
		case engine.EntryText:
			it.Kind = model.AssistantItem
		case engine.EntryReasoning:
			it.Kind = model.ReasoningItem
			if len(e.Private) > 0 {
				it.Private = &model.Private{}
				_ = json.Unmarshal(e.Private, it.Private)
			}
		case engine.EntryCall:
			it = model.Item{Kind: model.ToolCallItem, CallID: e.CallID, Name: e.Name, Arguments: []byte(e.Arguments)}
		case engine.EntryResult:
			it = model.Item{Kind: model.ToolResultItem, CallID: e.CallID, Output: e.Text, Failed: e.Code != ""}
		}
		items = append(items, it)
	}
	return items
}
