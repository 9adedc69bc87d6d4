package chatui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

func TestANameOfAPasteIsOneThing(t *testing.T) {
	t.Parallel()
	const pasted = "a\tb"
	back, home, end := press(tea.KeyBackspace), ctrl('a'), ctrl('e')
	left := func(n int) (keys []tea.KeyPressMsg) {
		for range n {
			keys = append(keys, press(tea.KeyLeft))
		}
		return keys
	}
	tests := []struct {
		name string
		keys []tea.KeyPressMsg // after "é[paste 1: 1 lines, 3 bytes]ü"
		want string
	}{
		{"backspace behind it", append(left(1), back), "éü"},
		{"backspace within it", append(left(7), back), "éü"},
		{"delete before it", []tea.KeyPressMsg{home, press(tea.KeyRight), press(tea.KeyDelete)}, "éü"},
		{"a word of it", append(left(1), ctrl('w')), "éü"},
		{"all before a place within it", append(left(7), ctrl('u')), "ü"},
		{"all behind a place within it", append(left(7), ctrl('k')), "é"},
		{"all of it and more", []tea.KeyPressMsg{end, ctrl('u')}, ""},
		{"what is around it", append([]tea.KeyPressMsg{back, home}, press(tea.KeyDelete)), pasted},
		{"typing within it", append(left(7), text("x")...), "é" + pasted + "xü"},
		{"typing goes on where it stands then", append(left(7), text("xy")...), "é" + pasted + "xyü"},
		{"a line end within it", append(left(7), ctrl('j')), "é" + pasted + "\nü"},
		{"letters exchanged within it", append(left(7), ctrl('t')), "é" + pasted + "ü"},
		{"letters made large within it", append(left(7), tea.KeyPressMsg{Code: 'u', Mod: tea.ModAlt}), "é" + pasted + "ü"},
		{"in the second line", append([]tea.KeyPressMsg{home, ctrl('j')}, append([]tea.KeyPressMsg{end}, append(left(3), back)...)...), "\néü"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := newInput()
			typed(&in, text("é")...)
			in.paste(pasted)
			typed(&in, text("ü")...)
			typed(&in, tt.keys...)
			if diff := cmp.Diff(tt.want, in.text()); diff != "" {
				t.Errorf("%s\nthe input has %q", diff, in.area.Value())
			}
		})
	}
}

func TestTwoNamesOfPastesAreDeletedOneByOne(t *testing.T) {
	t.Parallel()
	in := newInput()
	in.paste("a\tb")
	in.paste(strings.Repeat("x", 2*shownPaste))
	typed(&in, press(tea.KeyBackspace))
	if got := in.text(); got != "a\tb" {
		t.Errorf("%q is left", got)
	}
	typed(&in, press(tea.KeyBackspace))
	if !in.empty() {
		t.Errorf("%q is left", in.text())
	}
}
