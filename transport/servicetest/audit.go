package servicetest

import (
	"encoding/json"
	"slices"

	"github.com/openworkerai/openworker/api"
)

// audit holds each session of the test against what is true of every journal at every moment.
func (s *stage) audit() {
	s.Helper()
	if s.Service == nil {
		return
	}
	for _, id := range s.sessions {
		if err := s.ResumeSession(s.Context(), s.reference(id), ""); api.CodeOf(err) == api.CodeSessionDeleted {
			continue
		}
		var events []api.Event
		var items []api.HistoryItem
		var state api.SessionState
		s.settle("the session stands still", func() bool {
			before := s.state(id).LastEvent
			events, items, state = s.events(id), s.history(id), s.state(id)
			return before == state.LastEvent
		})
		s.auditJournal(events, state)
		s.auditHistory(items, state)
	}
}

func (s *stage) reference(session string) api.SessionReference {
	s.Helper()
	c, err := s.Capabilities(s.Context())
	s.no(err)
	return api.SessionReference{Store: c.Store, Session: session, Agent: "assistant"}
}

// auditJournal: numbers are gap-free, a run begins once and ends once and nothing of it comes behind its
// end, a call has one result and no attempt twice, an interaction is asked and resolved once (RU3, RE2, AP3).
func (s *stage) auditJournal(events []api.Event, state api.SessionState) {
	s.Helper()
	id := state.Session
	ended, accepted := map[string]bool{}, map[string]bool{}
	finished, started, asked, resolved := map[string]bool{}, map[string]int{}, map[string]bool{}, map[string]bool{}
	for i, e := range events {
		if e.Number != uint64(i+1) {
			s.Errorf("event %d of session %s has number %d", i+1, id, e.Number)
		}
		if e.Run != "" && e.Type != api.EventToolOutcomeLate {
			if e.Type != api.EventTurnAccepted && !accepted[e.Run] || ended[e.Run] {
				s.Errorf("event %d %s lies outside of its run", e.Number, e.Type)
			}
		}
		switch e.Type {
		case api.EventTurnAccepted:
			accepted[e.Run] = true
		case api.EventTurnEnded:
			ended[e.Run] = true
		case api.EventToolCallStarted:
			d := decode[api.ToolCallStarted](s, e)
			if d.Attempt != started[d.CallID]+1 || finished[d.CallID] {
				s.Errorf("event %d starts attempt %d of call %s behind attempt %d (finished: %t)", e.Number, d.Attempt, d.CallID, started[d.CallID], finished[d.CallID])
			}
			started[d.CallID] = d.Attempt
		case api.EventToolCallFinished:
			d := decode[api.ToolCallFinished](s, e)
			if finished[d.CallID] {
				s.Errorf("event %d is a second result of call %s", e.Number, d.CallID)
			}
			finished[d.CallID] = true
		case api.EventInteractionRequired:
			d := decode[api.InteractionRequired](s, e)
			if asked[d.ID] {
				s.Errorf("event %d asks %s again", e.Number, d.ID)
			}
			asked[d.ID] = true
		case api.EventInteractionResolved:
			d := decode[api.InteractionResolved](s, e)
			if !asked[d.ID] || resolved[d.ID] {
				s.Errorf("event %d resolves %s, which was not open", e.Number, d.ID)
			}
			resolved[d.ID] = true
		}
	}
	open := len(accepted) - len(ended)
	if want := len(state.Queue); state.Run != "" && open != want+1 || state.Run == "" && open != 0 {
		s.Errorf("session %s has %d open runs, its state tells of %q and the queue %v", id, open, state.Run, state.Queue)
	}
	if len(asked)-len(resolved) != len(state.Interactions) {
		s.Errorf("session %s: %d interactions are open in the journal, %d in its state", id, len(asked)-len(resolved), len(state.Interactions))
	}
	if state.Activity == api.Idle && (state.Run != "" || len(state.WaitingFor) > 0) {
		s.Errorf("session %s is idle with run %q, waiting for %v", id, state.Run, state.WaitingFor)
	}
}

// auditHistory: behind the calls of an answer stand their results, in call order, each once (RU5, RU7).
func (s *stage) auditHistory(items []api.HistoryItem, state api.SessionState) {
	s.Helper()
	id, current := state.Session, state.Run
	var open []string
	seen := map[string]bool{}
	for i, h := range items {
		switch h.Type {
		case "tool_call":
			if seen[h.CallID] {
				s.Errorf("session %s: call %s is there twice", id, h.CallID)
			}
			seen[h.CallID] = true
			open = append(open, h.CallID)
		case "tool_result":
			at := slices.Index(open, h.CallID)
			if at < 0 || at > 0 && h.Run != current {
				s.Errorf("session %s: item %d is a result of %s, open are %v", id, i, h.CallID, open)
				continue
			}
			open = slices.Delete(open, at, at+1)
		default:
			if len(open) > 0 && h.Run != current {
				s.Errorf("session %s: item %d %s comes before the results of %v", id, i, h.Type, open)
				open = nil
			}
		}
	}
	if len(open) > 0 && current == "" {
		s.Errorf("session %s: calls %v have no result", id, open)
	}
}

// decode reads an event's data.
func decode[T any](s *stage, e api.Event) T {
	s.Helper()
	var v T
	if err := json.Unmarshal(e.Data, &v); err != nil {
		s.Fatalf("event %d %s: %v", e.Number, e.Type, err)
	}
	return v
}
