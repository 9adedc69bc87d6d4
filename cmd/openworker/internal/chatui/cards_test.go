package chatui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// stroke is a key, and how long after the one before it is pressed.
type stroke struct {
	after time.Duration
	key   tea.KeyPressMsg
}

func strokes(after time.Duration, keys ...tea.KeyPressMsg) (out []stroke) {
	for _, k := range keys {
		out = append(out, stroke{after, k})
	}
	return out
}

// approval is the question whether a tool may be called.
func approval(id string) api.InteractionRequired {
	return api.InteractionRequired{ID: id, Kind: api.InteractionApproval, Call: &api.InteractionCall{Name: "pay", Arguments: "{}"}}
}

func TestACardIsAnsweredByKeysThatAreMeantForIt(t *testing.T) {
	t.Parallel()
	const soon, fast, slow = settleWithin - time.Millisecond, typingWithin - time.Millisecond, settleWithin
	tests := []struct {
		name string
		keys []stroke
		sent api.Decision
		want string // in the input
	}{
		{"a letter once it was there for a moment", strokes(slow, text("y")...), api.AllowOnce, ""},
		{"a letter too soon is typed", strokes(soon, text("y")...), "", "y"},
		{"enter too soon is nothing", strokes(soon, press(tea.KeyEnter)), "", ""},
		{"enter in time picks what stands under the cursor", strokes(slow, press(tea.KeyDown), press(tea.KeyEnter)), api.AllowSession, ""},
		{"tab to the input and back again is meant", strokes(0, append([]tea.KeyPressMsg{press(tea.KeyTab), press(tea.KeyTab)}, text("y")...)...), api.AllowOnce, ""},
		{"the first letters of a message, typed fast", append(strokes(slow, text("a")...), strokes(fast, text("ny")...)...), "", "any"},
		{"the first letters of a message, typed slowly", strokes(slow, text("al")...), "", "al"},
		{"always wants enter", strokes(slow, text("a")...), "", ""},
		{"always, and enter", append(strokes(slow, text("a")...), strokes(0, press(tea.KeyEnter))...), api.AllowSession, ""},
		{"always, and no after all", strokes(slow, append(text("a"), text("y")...)...), api.AllowOnce, ""},
		{"always, and the cursor away", strokes(slow, append(text("a"), press(tea.KeyUp), press(tea.KeyEnter))...), api.AllowOnce, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
			s.tell(api.EventInteractionRequired, approval("i1"))
			for _, k := range tt.keys {
				s.now = s.now.Add(k.after)
				s.Update(k.key)
			}
			if got := s.cards[0].sent; got != tt.sent {
				t.Errorf("the answer is %q, want %q", got, tt.sent)
			}
			if diff := cmp.Diff(tt.want, s.input.text()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A key that is held down, or pressed twice, answers one question.
func TestTheNextCardIsNotAnsweredWithTheOneBefore(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	s.tell(api.EventInteractionRequired, approval("i1"))
	s.tell(api.EventInteractionRequired, approval("i2"))
	s.Update(text("y")[0])
	s.tell(api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.AllowOnce})
	s.now = s.now.Add(settleWithin - time.Millisecond)
	s.Update(text("y")[0])
	if c := s.cards[0]; c.of.ID != "i2" || c.sent != "" || s.input.text() != "y" {
		t.Errorf("the second key gives %q to %s, and the input has %q", c.sent, c.of.ID, s.input.text())
	}
}

func TestKeysThatAreNoAnswerToACard(t *testing.T) {
	t.Parallel()
	deny := text("n")[0]
	tests := []struct {
		name            string
		keys            []tea.KeyPressMsg
		leaves, cancels bool
	}{
		{"ctrl+d leaves", []tea.KeyPressMsg{ctrl('d')}, true, false},
		{"ctrl+d leaves while no reason is typed yet", []tea.KeyPressMsg{deny, ctrl('d')}, true, false},
		{"ctrl+d stays where a reason is typed", append([]tea.KeyPressMsg{deny}, append(text("no"), ctrl('d'))...), false, false},
		{"ctrl+d stays where a message is typed", append(text("stop"), press(tea.KeyTab), ctrl('d')), false, false},
		{"esc goes to the input", []tea.KeyPressMsg{press(tea.KeyEscape)}, false, false},
		{"esc twice cancels the turn", []tea.KeyPressMsg{press(tea.KeyEscape), press(tea.KeyEscape)}, false, true},
		{"esc on a reason goes back to the card", []tea.KeyPressMsg{deny, press(tea.KeyEscape), press(tea.KeyEscape)}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
			s.tell(api.EventInteractionRequired, approval("i1"))
			for _, k := range tt.keys {
				s.now = s.now.Add(time.Second)
				s.Update(k)
			}
			if s.leaving != tt.leaves || s.turn.cancelling != tt.cancels {
				t.Errorf("it leaves: %v, it cancels: %v", s.leaving, s.turn.cancelling)
			}
		})
	}
}
