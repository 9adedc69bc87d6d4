package sim

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// submission is a message that somebody sent, once or several times, and what he was told.
type submission struct {
	session *session
	key     string // "" for one that cannot be repeated
	text    string
	run     string // acknowledged as
	refused bool   // without a key: he was told that nothing was stored
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
		sub = &submission{session: pick(w, w.order), text: w.newID("m")}
		if w.chance(0.7) {
			sub.key = w.newID("k")
		}
		w.sent = append(w.sent, sub)
	}
	when := pick(w, []api.WhenBusy{"", api.BusyQueue, api.BusyQueue, api.BusyInterrupt})
	msg := engine.Message{Text: sub.text, SubmissionID: sub.key, WhenBusy: when}
	if w.chance(0.2) {
		msg.Addendum = "be brief"
	}
	if sub.key == "" {
		w.submit(p, sub, msg)
		return
	}
	msg.Fingerprint = map[string]string{"message": sub.text}
	w.lookUp(p, sub, func() { w.submit(p, sub, msg) })
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
			case errors.Is(err, store.ErrNotFound):
				otherwise()
			}
		}
	})
}

func (w *world) submit(p *process, sub *submission, msg engine.Message) {
	id := p.submit(sub.session.id, runtime.Submit{Command: msg}, func(r runtime.Reply) {
		switch {
		case errors.Is(r.Err, store.ErrReceiptTaken):
			w.lookUp(p, sub, func() {})
		case r.Err != nil:
			w.log("%s: message %s is refused: %v", p.name, sub.text, r.Err)
			sub.refused = true
		default:
			for _, f := range r.Facts {
				if e, ok := f.Event.(engine.TurnAccepted); ok {
					if e.Text != sub.text {
						w.fail("message %s is acknowledged with the turn of %s", sub.text, e.Text)
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
	w.log("message %s is acknowledged as %s", sub.text, run)
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

// answer answers some interaction: an open one, or one that was answered before.
func (w *world) answer() {
	s := pick(w, w.order)
	if len(s.asked) == 0 || s.deleted {
		return
	}
	id := pick(w, s.asked)
	if open := s.state.Interactions; len(open) > 0 && w.chance(0.8) {
		id = pick(w, open).ID
	}
	w.answerOne(s, id)
	if w.chance(0.3) { // somebody else answers too
		w.answerOne(s, id)
	}
}

func (w *world) answerOne(s *session, id string) {
	p := w.someone()
	if p == nil {
		return
	}
	decisions := []api.Decision{api.AllowOnce, api.AllowSession, api.Deny, api.OutcomeSucceeded, api.OutcomeFailed, api.OutcomeRetry}
	a := api.Answer{Decision: pick(w, decisions), By: fmt.Sprintf("person %d", w.rng.IntN(3))}
	if w.chance(0.2) {
		a.Reason = "because"
	}
	p.submit(s.id, runtime.Submit{Command: engine.Answer{Interaction: id, Answer: a}}, func(r runtime.Reply) {
		if s.deleted {
			return
		}
		stands, resolved := s.resolved[id]
		switch {
		case r.Err == nil && (!resolved || stands != a.Decision):
			w.fail("answer %s to %s is acknowledged, but the journal says %q", a.Decision, id, stands)
		case errors.Is(r.Err, api.ErrAlreadyResolved) && !resolved:
			w.fail("%s is said to be resolved, but it is open", id)
		case errors.Is(r.Err, api.ErrInteractionNotFound) && !resolved:
			w.fail("%s is said not to exist, but it is open", id)
		}
	})
}

// burst lets several callers at once, at any process, press one session.
func (w *world) burst() {
	s := pick(w, w.order)
	for range 4 + w.rng.IntN(12) {
		w.after(nil, w.upTo(20*time.Millisecond), "a caller in a hurry", func() {
			p := w.someone()
			if p == nil {
				return
			}
			sub := &submission{session: s, text: w.newID("m")}
			w.sent = append(w.sent, sub)
			w.submit(p, sub, engine.Message{Text: sub.text, WhenBusy: pick(w, []api.WhenBusy{"", api.BusyQueue})})
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
