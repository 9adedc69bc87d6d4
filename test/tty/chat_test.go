//go:build unix

package tty

import (
	"strings"
	"syscall"
	"testing"
)

// slowly makes the offline model take its time, so that there is something to watch.
const slowly = "count to 5000"

// asks is what makes a new session's agent ask before each call.
const asks = "always"

func TestAMessageIsAnswered(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat")
	s.See(t, "the offline model answers", "Scripted/demo")
	s.say("count to 5")
	s.See(t, "\n> count to 5\n\n1, 2, 3, 4, 5.\n")
	session := s.session()
	s.press("two" + altEnter + "lines" + ctrlJ + `and\` + enter + "more")
	s.See(t, "> two\n  lines\n  and\n  more\n")
	s.press(enter)
	s.See(t, "message 2 of\nthis conversation: “two\n")
	s.press("\x1b[200~a paste\rof lines\r\x1b[201~" + enter)
	s.See(t, "message 3 of\nthis conversation: “a paste\n")
	s.press(up + up + up) // over the paste's two lines, to the message before
	s.See(t, "> two\n  lines\n  and\n  more\nScripted/demo")
	s.press(ctrlC)
	s.Wait(t, "an empty input", func(string) bool { return strings.Contains(s.Visible(), "\n>\n") })
	s.press(ctrlD)
	s.See(t, "to go on:\n  "+program+" chat --session "+session+"\n")
	s.leaves(0)
	if all := s.All(); strings.Count(all, "1, 2, 3, 4, 5.") != 1 || strings.Contains(all, "/help") {
		t.Errorf("what is left on the screen is\n%s", all)
	}
}

func TestATurnIsCancelledAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat")
	s.See(t, "/help")
	s.say(slowly)
	s.See(t, "1, 2, 3", "answering")
	s.say("count to 2")
	s.See(t, "queued: count to 2")
	s.press(ctrlC)
	s.See(t, "  (cancelled)\n\n> count to 2\n\n1, 2.\n")
	s.press("/quit" + enter)
	s.leaves(0)
}

func TestCtrlCTwiceLeavesARunningTurn(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat")
	s.See(t, "/help")
	s.say(slowly)
	s.See(t, "1, 2, 3")
	s.press(ctrlC + ctrlC)
	s.leaves(130)
}

func TestResizingWrapsAgain(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat")
	s.See(t, "/help")
	s.press("one two three four five six seven eight nine ten eleven twelve")
	s.See(t, "> one two three four five six seven eight nine ten eleven twelve\n")
	s.resize(40, 12)
	s.See(t, "> one two three four five six seven\n  eight nine ten eleven twelve\n")
	s.press(enter)
	s.See(t, "This is the offline model, so I can only\nrepeat what you wrote, message 1 of this\n")
	s.say(slowly)
	s.See(t, "answering")
	s.resize(70, 20)
	s.Wait(t, "a line as wide as the screen", func(string) bool {
		for line := range strings.Lines(s.Visible()) {
			if len(line) > 60 && strings.HasSuffix(line, ",\n") {
				return true
			}
		}
		return false
	})
	s.press(ctrlC)
	s.See(t, "(cancelled)")
	s.press(ctrlD)
	s.leaves(0)
}

func TestAnApprovalIsGiven(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat", "--approve", asks)
	s.See(t, "/help")
	s.say(`use calculate with {"expression": "(17+4)*3/2.0"}`)
	s.See(t, "│ May it call calculate?\n│   expression: (17+4)*3/2.0\n│ > y  yes, this once\n", "waiting for your answer", "a letter, or enter")
	s.press("y")
	s.See(t, "● calculate(expression: (17+4)*3/2.0) ✓", "└ 31.5", "calculate returned “31.5”")
	s.say("use current_time")
	s.See(t, "May it call current_time?")
	s.Wait(t, "a card that takes keys", func(string) bool { return strings.Contains(s.Visible(), "a letter, or enter") })
	s.press("n")
	s.See(t, "Why not?")
	s.press("it is late" + enter)
	s.See(t, "denied: current_time: it is late", "current_time did not succeed")
	s.press(ctrlO)
	s.See(t, "\n  current_time\n  └ ")
	s.press(ctrlD)
	s.leaves(0)
}

// AP3, RE1: the process that asked is killed, and another one has the answer.
func TestAKilledChatIsTakenUpAndItsQuestionAnswered(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.sit("chat", "--approve", asks)
	s.See(t, "/help")
	s.say("count to 3")
	s.See(t, "1, 2, 3.")
	session := s.session()
	s.say("use current_time")
	s.See(t, "May it call current_time?")
	if err := s.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.ended(); err == nil {
		t.Fatal("the killed program ended well")
	}
	s = p.sit("chat", "--session", session)
	s.See(t, "\n> count to 3\n\n1, 2, 3.\n\n> use current_time\n", "│ May it call current_time?\n")
	s.See(t, "a letter, or enter")
	s.press("a")
	s.See(t, "enter: allowed in this session")
	s.press(enter)
	s.See(t, "allowed in this session: current_time", "current_time returned “")
	s.idle()
	s.say("use current_time")
	s.Wait(t, "a second call without a question", func(all string) bool { return strings.Count(all, "current_time returned “") == 2 })
	s.idle()
	s.press(up + up)
	s.See(t, "> count to 3\nScripted/demo")
	s.press(ctrlC + ctrlD)
	s.leaves(0)
}

func TestAQuestionThatIsAnsweredElsewhereIsWithdrawn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	here := p.sit("chat", "--approve", asks)
	here.See(t, "/help")
	here.say("use current_time")
	here.See(t, "May it call current_time?")
	there := p.sit("chat", "--session", here.session())
	there.See(t, "May it call current_time?", "a letter, or enter")
	there.press("y")
	here.See(t, "answered elsewhere, allowed once: current_time", "current_time returned “")
	here.Gone(t, "yes, this once")
	there.See(t, "current_time returned “")
	for _, s := range []*seat{here, there} {
		s.press(ctrlD)
		s.leaves(0)
	}
}

func TestASignalLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPlace(t).sit("chat")
			s.See(t, "/help")
			s.say(slowly)
			s.See(t, "1, 2, 3")
			if err := s.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			s.See(t, "ended by "+name+"\nto go on:\n")
			s.leaves(128 + int(signal))
		})
	}
}

func TestColoursAreLeftOutWhereNoneAreWanted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{"with colours", nil, nil, true},
		{"NO_COLOR", []string{"NO_COLOR=1"}, nil, false},
		{"--no-color", nil, []string{"--no-color"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newPlace(t, tt.env...).sit(append([]string{"chat"}, tt.args...)...)
			s.See(t, "/help")
			s.say("use current_time")
			s.See(t, "current_time returned “")
			s.press(ctrlD)
			s.leaves(0)
			if got := strings.Contains(s.Raw(), "\x1b[32m") || strings.Contains(s.Raw(), "\x1b[36m"); got != tt.want {
				t.Errorf("there are colours: %v", got)
			}
		})
	}
}

func TestADumbTerminalIsWrittenPlainly(t *testing.T) {
	t.Parallel()
	s := newPlace(t, "TERM=dumb").sit("chat")
	s.See(t, "the offline model answers")
	s.press("count to 3\n")
	s.See(t, "1, 2, 3.\n")
	s.press(ctrlD)
	s.leaves(0)
	if raw := s.Raw(); strings.Contains(raw, "\x1b") {
		t.Errorf("there are escape sequences: %q", raw)
	}
}

func TestRunAsksInLines(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("run", "--approve", asks, "use current_time")
	s.See(t, "may it call current_time {}?", "[y] yes, this once")
	s.press("y\n")
	s.See(t, "current_time returned “")
	s.leaves(0)
}

// A terminal without a shell above the program, as in a container: nothing could go on with it.
func TestWhereNothingCanGoOnWithItTheProgramIsNotSuspended(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat")
	s.See(t, "/help")
	const taken = "\x1b[?2004h"
	s.press("\x1a")
	s.Wait(t, "the terminal taken again", func(string) bool {
		raw := s.Raw()
		return strings.Count(raw, taken) > 1 && strings.LastIndex(raw, taken) > strings.LastIndex(raw, "\x1b[?2004l")
	})
	s.say("hello")
	s.idle()
	s.press(ctrlD)
	s.leaves(0)
}
