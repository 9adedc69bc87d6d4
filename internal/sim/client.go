package sim

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// submission is a message that somebody sent, once or several times, and what he was told.
type submission struct {
	session   *session
	key       string // "" for one that cannot be repeated
	text      string
	run       string // acknowledged as
	refused   bool   // without a key: he was told that nothing was stored
	*attached        // what else it has, nil for a text
}

// send sends a new message, or one again that was sent before.
func (w *world) send() {
	p := w.someone()
	if p == nil {
		return
	}
	var sub *submission
	if len(w.sent) > 0 && w.chance(0.35) {
		sub = pick(w, w.sent)
		if sub.key == "" {
			return
		}
	} else {
		s := pick(w, w.order)
		if len(s.state.Queue) > 2 && w.chance(0.8) {
			return // what waits is mostly worked off when things go well again, which shows little
		}
		sub = &submission{session: s, text: w.words("m", 1500)}
		if w.chance(0.01) {
			sub.text += strings.Repeat(" word", 3*smallWindow/4) // which alone may be too much
		}
		if w.chance(0.7) {
			sub.key = w.newID("k")
		}
		w.sent = append(w.sent, sub)
		if w.chance(w.filed) {
			w.attach(sub)
		}
	}
	when := pick(w, []api.WhenBusy{"", api.BusyQueue, api.BusyQueue, api.BusyInterrupt})
	if sub.attached != nil && w.chance(0.3) {
		when = api.BusyInterrupt // whose turn may begin with the append that its files come with
	}
	chosen := api.ModelRef{}
	if w.chance(0.1) {
		chosen = api.ModelRef{Provider: provider, Name: pick(w, []string{modelName, smallModel})}
	}
	msg := sub.message(w, chosen)
	msg.SubmissionID, msg.WhenBusy, msg.Model = sub.key, when, chosen
	if w.chance(0.2) {
		msg.Addendum = "be brief"
	}
	if w.chance(0.1) {
		msg.Guardrails, msg.Inspects = []string{turnGuardrail}, turnGuardrail
	}
	if sub.key == "" {
		w.submit(p, sub, msg)
		return
	}
	msg.Fingerprint = map[string]string{"message": sub.text}
	w.lookUp(p, sub, func() { w.submit(p, sub, msg) })
}

// message is what is sent, in the engine's form.
func (sub *submission) message(w *world, chosen api.ModelRef) engine.Message {
	if chosen.IsZero() {
		chosen = sub.session.state.Agent.Model
	}
	msg := engine.Message{Text: sub.text, Refuses: w.stage.facts(chosen).Refused}
	if sub.attached != nil {
		msg.Text, msg.Content = "", sub.blocks
	}
	return msg
}

// lookUp asks whether a submission was accepted before, as the service does before any other check.
func (w *world) lookUp(p *process, sub *submission, otherwise func()) {
	p.call("receipt of "+sub.key, false, func() func() {
		r, err := w.disk.receipt(sub.session.id, sub.key)
		return func() {
			switch {
			case err == nil:
				if !maps.Equal(r.Fields, map[string]string{"message": sub.text}) {
					w.fail("the receipt of %s is of another message: %v", sub.key, r.Fields)
				}
				w.acknowledge(sub, r.Run)
				w.forgetFiles(p, sub)
			case errors.Is(err, store.ErrNotFound):
				otherwise()
			}
		}
	})
}

func (w *world) submit(p *process, sub *submission, msg engine.Message) {
	if agent := sub.session.state.Agent; !p.guards && len(agent.Guardrails)+len(msg.Guardrails) > 0 {
		w.saw("missing guardrail")
		sub.refused = true // what nobody has looked at is not taken
		return
	}
	if sub.attached != nil {
		w.admit(p, sub, msg, func() { w.bring(p, sub, runtime.Submit{Command: msg, Files: sub.files}) })
		return
	}
	w.bring(p, sub, runtime.Submit{Command: msg})
}

// bring brings a message to its session.
func (w *world) bring(p *process, sub *submission, in runtime.Submit) {
	id := p.submit(sub.session.id, in, func(r runtime.Reply) {
		switch {
		case errors.Is(r.Err, store.ErrReceiptTaken):
			w.lookUp(p, sub, func() {})
		case r.Err != nil:
			w.log("%s: message %s is refused: %v", p.name, brief(sub.text), r.Err)
			sub.refused = true
		default:
			for _, f := range r.Facts {
				if e, ok := f.Event.(engine.TurnAccepted); ok {
					if textOf(e) != sub.text {
						w.fail("message %s is acknowledged with the turn of %s", sub.text, textOf(e))
					}
					w.acknowledge(sub, e.Run)
					return
				}
			}
			w.fail("message %s is acknowledged without a turn", sub.text)
		}
	})
	if w.faulty(0.05) {
		w.after(p, w.delay(), "the caller leaves", func() {
			if p.waiters[id] != nil {
				p.tell(sub.session.id, runtime.Withdraw{Waiter: id})
			}
		})
	}
}

// acknowledge notes what a caller was told. From now on it must be so.
func (w *world) acknowledge(sub *submission, run string) {
	w.log("message %s is acknowledged as %s", brief(sub.text), run)
	if sub.run != "" && sub.run != run {
		w.fail("submission %s was acknowledged as %s and now as %s", sub.key, sub.run, run)
	}
	sub.run = run
	if s := sub.session; !s.deleted && s.texts[sub.text].Run != run {
		w.fail("message %s was acknowledged as %s, which is not in the journal", sub.text, run)
	}
}

// cancel cancels a run, or whatever is under way.
func (w *world) cancel() {
	p := w.someone()
	if p == nil {
		return
	}
	s := pick(w, w.order)
	if _, id := w.sideEffect(true); id != "" && w.chance(0.5) {
		s = w.sessions[id]
	}
	run := ""
	if len(s.runs) > 0 && w.chance(0.6) {
		run = s.runs[max(0, len(s.runs)-1-w.rng.IntN(2))]
	}
	p.submit(s.id, runtime.Submit{Command: engine.Cancel{Run: run, By: "ann"}}, func(r runtime.Reply) {
		if r.Err == nil && run != "" && !s.deleted && !s.cancelled[run] && !s.ended[run] {
			w.fail("the cancel of run %s is acknowledged and not in the journal", run)
		}
	})
}

// burst lets several callers at once, at any process, press one session.
func (w *world) burst() {
	s := pick(w, w.order)
	if len(s.state.Queue) > 4 {
		return
	}
	for range 3 + w.rng.IntN(9) {
		w.after(nil, w.upTo(20*time.Millisecond), "a caller in a hurry", func() {
			p := w.someone()
			if p == nil {
				return
			}
			sub := &submission{session: s, text: w.words("m", 300)}
			w.sent = append(w.sent, sub)
			if w.chance(w.filed) {
				w.attach(sub)
			}
			msg := sub.message(w, api.ModelRef{})
			msg.WhenBusy = pick(w, []api.WhenBusy{"", api.BusyQueue})
			w.submit(p, sub, msg)
		})
	}
}

// delete deletes a session, rarely, and not the only one.
func (w *world) delete() {
	p := w.someone()
	if p == nil || len(w.order) < 2 || w.chance(0.5) {
		return
	}
	s := pick(w, w.order)
	p.submit(s.id, runtime.Submit{Command: engine.Delete{}}, func(r runtime.Reply) {
		if r.Err == nil && !s.deleted {
			w.fail("session %s is said to be deleted and is not", s.id)
		}
	})
}

// compact wants older history to be summarised, at once or behind what is under way.
func (w *world) compact() {
	p := w.someone()
	if p == nil {
		return
	}
	s := pick(w, w.order)
	if !p.guards && len(s.state.Agent.Guardrails) > 0 {
		return
	}
	p.submit(s.id, runtime.Submit{Command: engine.Message{Compact: true, WhenBusy: pick(w, []api.WhenBusy{"", api.BusyQueue, api.BusyQueue, api.BusyInterrupt})}}, func(r runtime.Reply) {
		if r.Err != nil || s.deleted {
			return
		}
		for _, f := range r.Facts {
			if e, ok := f.Event.(engine.TurnAccepted); ok && e.Compact && slices.Contains(s.runs, e.Run) {
				w.saw("wish for a summary")
				return
			}
		}
		w.fail("a compaction of session %s is acknowledged without a run", s.id)
	})
}

// revoke takes a grant back, if there is one.
func (w *world) revoke() {
	p := w.someone()
	if p == nil {
		return
	}
	s := pick(w, w.order)
	for _, other := range w.order {
		if len(other.state.Grants) > 0 && w.chance(0.7) {
			s = other
		}
	}
	name := pick(w, s.state.Agent.Tools).Name
	if granted := s.state.Grants; len(granted) > 0 && w.chance(0.9) {
		name = pick(w, granted).Tool
	}
	p.submit(s.id, runtime.Submit{Command: engine.Revoke{Tool: name, By: "ann"}}, func(r runtime.Reply) {
		if s.deleted {
			return
		}
		for _, f := range r.Facts {
			if e, ok := f.Event.(engine.GrantRevoked); ok && s.facts[f.Number-1].Event != engine.Event(e) {
				w.fail("a grant of session %s for %s is said to be revoked and is not", s.id, name)
			}
		}
	})
}
