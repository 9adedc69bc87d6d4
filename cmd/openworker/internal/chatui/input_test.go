package chatui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// typed gives keys to an input; a key of one character types it.
func typed(in *input, keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		in.press(k)
	}
}

func text(s string) (keys []tea.KeyPressMsg) {
	for _, r := range s {
		keys = append(keys, tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return keys
}

func ctrl(r rune) tea.KeyPressMsg  { return tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl} }
func press(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r} }

func TestEditing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		keys [][]tea.KeyPressMsg
		want string
	}{
		{"typing", [][]tea.KeyPressMsg{text("héllo 日本")}, "héllo 日本"},
		{"to the beginning and to the end", [][]tea.KeyPressMsg{text("b"), {ctrl('a')}, text("a"), {ctrl('e')}, text("c")}, "abc"},
		{"a word away", [][]tea.KeyPressMsg{text("one two"), {ctrl('w')}}, "one "},
		{"all before", [][]tea.KeyPressMsg{text("one two"), {press(tea.KeyLeft), ctrl('u')}}, "o"},
		{"all behind", [][]tea.KeyPressMsg{text("one"), {ctrl('a'), press(tea.KeyRight), ctrl('k')}}, "o"},
		{"new lines", [][]tea.KeyPressMsg{text("a"), {ctrl('j')}, text("b"), {{Code: tea.KeyEnter, Mod: tea.ModAlt}}, text("c"), {{Code: tea.KeyEnter, Mod: tea.ModShift}}, text("d")}, "a\nb\nc\nd"},
		{"more lines than are shown", [][]tea.KeyPressMsg{text("a"), {ctrl('j'), ctrl('j'), ctrl('j'), ctrl('j'), ctrl('j'), ctrl('j'), ctrl('j'), ctrl('j'), ctrl('j'), ctrl('j')}, text("b")}, "a" + strings.Repeat("\n", 10) + "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := newInput()
			for _, keys := range tt.keys {
				typed(&in, keys...)
			}
			if got := in.text(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if lines, _ := in.view("> ", 40); len(lines) > mostRows {
				t.Errorf("it is shown in %d lines", len(lines))
			}
		})
	}
}

func TestPastes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 25_600)
	tests := []struct {
		name, pasted, shown, want string
	}{
		{"a short one stands in the input", "a\r\nb\rc\n", "a\nb\nc", "a\nb\nc"},
		{"control characters are left out", "a\x1b[31mb\x00", "a[31mb", "a[31mb"},
		{"tabs stay tabs", "a\n\tb", "[paste 1: 2 lines, 4 bytes]", "a\n\tb"},
		{"a long one is whole behind its name", long, "[paste 1: 1 lines, 256000 bytes]", long},
		{"many lines are whole behind a name", strings.Repeat("x\n", 20_000), "[paste 1: 20000 lines, 39999 bytes]", strings.Repeat("x\n", 19_999) + "x"},
		{"nothing", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := newInput()
			in.paste(tt.pasted)
			if got := in.area.Value(); got != tt.shown {
				t.Errorf("%q is shown, want %q", got, tt.shown)
			}
			if diff := cmp.Diff(tt.want, in.text()); diff != "" {
				t.Error(diff)
			}
			in.remember(in.text())
			in.clear()
			in.recall(-1)
			if in.text() != tt.want {
				t.Error("it does not come back from history")
			}
		})
	}
}

func TestTwoPastesAndWhatIsTypedBetweenThem(t *testing.T) {
	t.Parallel()
	in := newInput()
	in.paste("a\tb")
	typed(&in, text(" and ")...)
	in.paste("a\tb")
	if got, want := in.text(), "a\tb and a\tb"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	in := newInput()
	for _, sent := range []string{"one", "two\nlines", "three", "three"} {
		in.remember(sent)
	}
	typed(&in, text("draft")...)
	var got []string
	for _, k := range []rune{tea.KeyUp, tea.KeyUp, tea.KeyUp, tea.KeyUp, tea.KeyUp, tea.KeyDown, tea.KeyDown, tea.KeyDown, tea.KeyDown, tea.KeyDown} {
		typed(&in, press(k))
		got = append(got, in.text())
	}
	// The third goes up within the two lines, and the third last down within them.
	want := []string{"three", "two\nlines", "two\nlines", "one", "one", "two\nlines", "three", "draft", "draft", "draft"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABackslashBeforeEnterIsANewLine(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	for _, k := range append(append(text(`a\`), press(tea.KeyEnter)), text("b")...) {
		s.Update(k)
	}
	if live := s.live(); !strings.Contains(live, "> a\n  b\n") || len(s.outbox) > 0 {
		t.Errorf("the live area is\n%s", live)
	}
	s.Update(press(tea.KeyEnter))
	if len(s.outbox) != 1 || s.outbox[0].Text != "a\nb" {
		t.Errorf("%+v", s.outbox)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	tests := []struct{ typed, want string }{
		{"/h", "/help"}, {"/m", "/model "}, {"/", "/"}, {"/x", "/x"}, {"/model x", "/model x"},
	}
	for _, tt := range tests {
		s := newStage(t, nil)
		for _, k := range append(text(tt.typed), press(tea.KeyTab)) {
			s.Update(k)
		}
		if got := s.input.area.Value(); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.typed, got, tt.want)
		}
	}
}

func TestTypingKeepsTheKeysFromACardThatComes(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	for _, k := range text("wh") {
		s.Update(k)
	}
	s.tell(api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{Name: "pay"}})
	for _, k := range text("y?") {
		s.Update(k)
	}
	if live := s.live(); !strings.Contains(live, "> why?") || !strings.Contains(live, "tab goes to the question, then y, a, e or n") || s.cards[0].sent != "" {
		t.Errorf("the live area is\n%s", live)
	}
}
