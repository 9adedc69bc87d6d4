//go:build unix

package tty

import (
	"strings"
	"testing"
)

func TestAChatGoesOnWithTheModelThatItHad(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.sit("chat")
	s.See(t, "  the offline model answers\n  since no provider has a key", "Scripted/demo")
	s.say("count to 2")
	s.See(t, "1, 2.")
	s.press("/model scripted/other" + enter)
	s.See(t, "Scripted/other answers the messages to come", "\nScripted/other · ")
	s.say("count to 3")
	s.See(t, "1, 2, 3.")
	s.idle()
	s.press(ctrlD)
	s.leaves(0)
	s = p.sit("chat", "-c")
	s.See(t, "  Scripted/other answers, as in the last turn; /model changes it\n", "\n> count to 3\n\n1, 2, 3.\n", "\nScripted/other · ")
	s.press("/model" + enter)
	s.See(t, "Scripted/other answers\n", "  Scripted/demo\n")
	s.press("/new" + enter)
	s.See(t, "the next message begins a new session", "\nScripted/other · ")
	s.say("count to 4")
	s.See(t, "1, 2, 3, 4.")
	s.idle()
	if footer := s.Visible(); !strings.Contains(footer, "\nScripted/other · ") {
		t.Errorf("the new session has another model\n%s", footer)
	}
	s.press(ctrlD)
	s.leaves(0)
}

// A turn that waits for an answer is counted once, whoever answers.
func TestTokensOfATurnThatIsTakenUpAreCountedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	footer := func(s *seat) string {
		s.idle()
		lines := strings.Split(strings.TrimRight(s.Visible(), "\n"), "\n")
		tokens, _, _ := strings.Cut(lines[len(lines)-1], " · last turn")
		return tokens
	}
	answered := func(s *seat) string {
		s.See(t, "May it call current_time?", "a letter, or enter")
		s.press("y")
		s.See(t, "current_time returned “")
		return footer(s)
	}
	ask := func() *seat {
		s := p.sit("chat", "--approve", asks)
		s.See(t, "/help")
		s.say("use current_time")
		s.See(t, "May it call current_time?")
		return s
	}
	whole := answered(ask())
	first := ask()
	first.press(ctrlD)
	first.leaves(0)
	if got := answered(p.sit("chat", "--session", first.session())); got != whole || !strings.Contains(got, " tokens in, ") {
		t.Errorf("resumed the footer says %q, and in one piece %q", got, whole)
	}
}
