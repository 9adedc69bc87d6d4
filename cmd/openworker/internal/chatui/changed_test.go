package chatui

import (
	"encoding/json"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// edits lets the card of a call with arguments be opened to change them.
func edits(t *testing.T, f *fake, arguments string) *stage {
	s := newStage(t, func(o *Options) { o.Conversation = f })
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	s.tell(api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{CallID: "c1", Name: "pay", Arguments: arguments}})
	s.now = s.now.Add(settleWithin)
	s.Update(text("e")[0])
	return s
}

func TestArgumentsAreChangedInTheCard(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	s := edits(t, f, `{"to":"Bob","amount":30}`)
	if live := s.live(); !strings.Contains(live, "│ May it call pay?\n│ Its arguments, as JSON; enter calls it") || !strings.Contains(live, "│ > {\n│     \"to\": \"Bob\",\n│     \"amount\": 30\n│   }\n") {
		t.Errorf("it is\n%s", live)
	}
	for _, k := range []tea.KeyPressMsg{press(tea.KeyDown), press(tea.KeyDown), press(tea.KeyEnd), press(tea.KeyBackspace), press(tea.KeyBackspace), text("7")[0], press(tea.KeyEnter)} {
		_, cmd := s.Update(k)
		run(cmd)
	}
	want := answered{"i1", api.Answer{Decision: api.AllowOnce, Arguments: json.RawMessage(`{"to":"Bob","amount":7}`)}}
	if diff := cmp.Diff(want, get(t, f.answers), cmp.AllowUnexported(answered{})); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsThatAreLeftAsTheyAreAreNotChanged(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{`{"to": "Bob"}`, "{}", ""} {
		f := newFake("s1")
		_, cmd := edits(t, f, arguments).Update(press(tea.KeyEnter))
		run(cmd)
		if got := get(t, f.answers); got.answer.Decision != api.AllowOnce || got.answer.Arguments != nil {
			t.Errorf("%q: %+v", arguments, got.answer)
		}
	}
}

func TestArgumentsThatAreNoneAreRefusedInTheCard(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"{": "that is no JSON object: unexpected end of JSON input", "[1]": "that is no JSON object: ", "null": "that is no JSON object: it is null", `{"a":1} x`: "that is no JSON object: invalid character 'x' after top-level value",
	} {
		f := newFake("s1")
		s := edits(t, f, `{"to":"Bob"}`)
		s.cards[0].typed.edit(typed)
		s.Update(press(tea.KeyEnter))
		if live := s.live(); !strings.Contains(live, "│ "+want) || !strings.Contains(live, "│ > "+typed) || len(f.answers) > 0 {
			t.Errorf("%q: it is\n%s", typed, live)
		}
		s.Update(press(tea.KeyEnd))
		if live := s.live(); strings.Contains(live, want) {
			t.Errorf("%q: a key does not take the error away:\n%s", typed, live)
		}
	}
}

func TestAnAnswerThatIsRefusedStaysInTheCard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		code           api.Code
		onCard, inText bool
	}{
		{"arguments that do not match the schema", api.CodeArgumentsInvalid, true, false},
		{"a text that a guardrail blocks", api.CodeGuardrailBlocked, true, false},
		{"a store that is busy", api.CodeStoreBusy, false, true},
		{"one that somebody else has answered", api.CodeAlreadyResolved, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := edits(t, newFake("s1"), `{"to":"Bob"}`)
			s.Update(press(tea.KeyEnter))
			s.Update(answeredMsg{interaction: "i1", err: api.Errorf(tt.code, "amount is missing")})
			const said = "amount is missing"
			if got := strings.Contains(s.live(), said); got != tt.onCard {
				t.Errorf("on the card: %v\n%s", got, s.live())
			}
			if got := strings.Contains(s.scrollback(), said); got != tt.inText {
				t.Errorf("in the transcript: %v\n%s", got, s.scrollback())
			}
			if !strings.Contains(s.live(), `"to": "Bob"`) {
				t.Errorf("what was typed is gone:\n%s", s.live())
			}
		})
	}
}

func TestACallThatRunsWithOtherArgumentsIsShownWithThem(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventModelCallFinished, finished(1, "", api.RequestCall{CallID: "c1", Name: "pay", Arguments: `{"amount":30}`}))
	s.tell(api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{CallID: "c1", Name: "pay", Arguments: `{"amount":30}`}})
	s.tell(api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.AllowOnce, By: "bob", Arguments: json.RawMessage(`{"amount":7}`)})
	s.tell(api.EventToolCallFinished, api.ToolCallFinished{CallID: "c1", Name: "pay", Output: "paid"})
	want := "  answered elsewhere, allowed once: pay {\"amount\":7}, by bob\n● pay(amount: 7) ✓\n  └ paid"
	if diff := cmp.Diff(want, s.scrollback()); diff != "" {
		t.Error(diff)
	}
}

func TestEditableArgumentsAreTheSameValueAndPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]string{rapid.String().Draw(t, "name"): rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u202eevil", "\u0085", "\uFFFD", "a\tb\x1b[2J"})).Draw(t, "value")}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		text := decide.Editable(string(data))
		in := newInput()
		in.edit(text)
		if in.area.Value() != text || plain.Printable(text) != text {
			t.Fatalf("the editor has %q of %q", in.area.Value(), text)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(in.text()), &got); err != nil || !cmp.Equal(object, got) {
			t.Fatalf("%v: %s", err, cmp.Diff(object, got))
		}
	})
}
