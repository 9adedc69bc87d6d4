package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
)

// answer answers some interaction: an open one, or one that was answered before.
func (w *world) answer() {
	s := pick(w, w.order)
	for _, other := range w.order {
		if len(other.state.Interactions) > 0 && w.chance(0.7) {
			s = other
		}
	}
	if len(s.asked) == 0 || s.deleted {
		return
	}
	id := pick(w, s.asked)
	if open := s.state.Interactions; len(open) > 0 && w.chance(0.8) {
		id = pick(w, open).ID
	}
	w.answerOne(s, id)
	if w.chance(0.3) { // somebody else answers too, elsewhere and in another way
		w.answerOne(s, id)
	}
}

// decisions are those that answer each kind of interaction.
var decisions = map[api.InteractionKind][]api.Decision{
	api.InteractionApproval:       {api.AllowOnce, api.AllowOnce, api.AllowSession, api.Deny},
	api.InteractionQuestion:       {api.Answered, api.Answered, api.Skipped},
	api.InteractionUnknownOutcome: {api.OutcomeSucceeded, api.OutcomeFailed, api.OutcomeRetry},
}

// answerOf is what a person says to an interaction: mostly something that fits it.
func (w *world) answerOf(s *session, id string) (a api.Answer, fits bool) {
	kind := s.kinds[id]
	if w.chance(0.1) {
		kind = pick(w, []api.InteractionKind{api.InteractionApproval, api.InteractionQuestion, api.InteractionUnknownOutcome})
	}
	a = api.Answer{Decision: pick(w, decisions[kind]), By: fmt.Sprintf("person %d", w.rng.IntN(3))}
	fits = slices.Contains(decisions[s.kinds[id]], a.Decision)
	if w.chance(0.2) {
		a.Reason = "because"
	}
	switch a.Decision {
	case api.AllowOnce:
		if w.chance(0.4) {
			a.Arguments = json.RawMessage(fmt.Sprintf(`{"n": %d}`, w.rng.IntN(100)))
		}
		if w.chance(0.03) { // the tool's schema may be another one where it is answered
			a.Arguments = json.RawMessage(`{"n":"all"}`)
		}
	case api.Answered:
		a.Answers = []string{"yes"}
		if engine.ParseQuestion(s.calls[s.about[id]].arguments).Multiple && w.chance(0.5) {
			a.Answers = append(a.Answers, "no")
		}
	}
	return a, fits
}

func (w *world) answerOne(s *session, id string) {
	p := w.someone()
	if p == nil {
		return
	}
	a, fits := w.answerOf(s, id)
	p.submit(s.id, runtime.Submit{Command: engine.Answer{Interaction: id, Answer: a}}, func(r runtime.Reply) {
		if s.deleted {
			return
		}
		stands, resolved := s.resolved[id]
		switch {
		case r.Err == nil && (!resolved || !stands.SameAs(a)):
			w.fail("answer %+v to %s is acknowledged, but the journal says %+v", a, id, stands)
		case errors.Is(r.Err, api.ErrAlreadyResolved) && (!resolved || stands.SameAs(a)):
			w.fail("%s is said to be resolved otherwise than as %+v, but it is %+v", id, a, stands)
		case errors.Is(r.Err, api.ErrInteractionNotFound) && !resolved:
			w.fail("%s is said not to exist, but it is open", id)
		case fits && api.CodeOf(r.Err) == api.CodeInvalidRequest:
			w.fail("the answer %+v to %s is refused: %v", a, id, r.Err)
		}
		if errors.Is(r.Err, api.ErrAlreadyResolved) {
			w.saw("answer that came second")
		}
	})
}
