//go:build unix

package tty

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// run runs the program without a terminal, as somebody else does, and gives what it prints.
func (p *place) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("openworker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// waiting is the ID of the first interaction that waits for an answer.
func (p *place) waiting() string {
	p.t.Helper()
	var first struct{ ID string }
	if err := json.NewDecoder(strings.NewReader(p.run("approvals", "--json"))).Decode(&first); err != nil {
		p.t.Fatal(err)
	}
	return first.ID
}

// paste sends a message that is longer than a line.
func (s *seat) paste(text string) {
	s.t.Helper()
	s.press("\x1b[200~" + text + "\x1b[201~" + enter)
}

// ready waits until a card takes keys.
func (s *seat) ready(hint string) {
	s.t.Helper()
	s.Wait(s.t, "a card that takes keys", func(string) bool { return strings.Contains(s.Visible(), hint) })
}

const left = "\x1b[D"

func TestAQuestionIsAnsweredWithAChoice(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat")
	s.See(t, "/help")
	s.paste(`use ask_user with {"question": "Which colour?", "choices": [{"label": "red", "description": "as in the logo"}, {"label": "blue"}]}`)
	s.See(t, "│ Which colour?\n│ > 1  red — as in the logo\n│   2  blue\n│   t  an answer of your own\n│   s  skip the question\n")
	s.ready("a number or a letter, or enter")
	if screen := s.Visible(); strings.Contains(screen, "● ask_user") {
		t.Errorf("the call stands above its card\n%s", screen)
	}
	s.press("2")
	s.See(t, "  answered: Which colour? → blue\n● ask_user(Which colour?) ✓", `ask_user returned “{"answers":["blue"]}”`)
	s.idle()
	s.paste(`use ask_user with {"question": "Which colours?", "multiple": true, "choices": [{"label": "red"}, {"label": "blue"}, {"label": "green"}]}`)
	s.ready("space marks, enter answers")
	s.press(" " + down + down + " ")
	s.See(t, "│   1  [x] red\n│   2  [ ] blue\n│ > 3  [x] green\n")
	s.press("t")
	s.See(t, "Your answer:")
	s.press("and a little grey" + enter)
	s.See(t, "answered: Which colours? → red, green, and a little grey")
	s.idle()
	s.say(`use ask_user with {"question": "What is it called?"}`)
	s.See(t, "│ What is it called?\n│ > t  an answer of your own\n")
	s.ready("a letter, or enter")
	s.press("s")
	s.See(t, "skipped: What is it called?", "ask_user returned “Nobody answered")
	s.idle()
	s.press(ctrlD)
	s.leaves(0)
}

func TestArgumentsAreChangedBeforeTheCall(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat", "--approve", asks)
	s.See(t, "/help")
	s.say(`use calculate with {"expression": "6*7"}`)
	s.See(t, "May it call calculate?", "│   e  yes, with other arguments\n")
	s.ready("a letter, or enter")
	s.press("e")
	s.See(t, "│ > {\n│     \"expression\": \"6*7\"\n│   }\n")
	const end, backspace = "\x05", "\x7f"
	s.press(down + end + backspace + enter) // without its closing quote
	s.See(t, "│ that is no JSON object: ")
	s.press(backspace + backspace + backspace + backspace + "42" + enter)
	s.See(t, "│ arguments_invalid: ", "/expression")
	s.press(left + left + `"` + end + `*2"` + enter)
	s.See(t, `allowed once: calculate {"expression":"42*2"}`, "● calculate(expression: 42*2) ✓", "84”")
	s.idle()
	s.press(ctrlD)
	s.leaves(0)
}

// AP3: a question of a chat, answered by a command in a second terminal.
func TestAChatsQuestionIsAnsweredFromASecondTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.sit("chat", "--approve", asks)
	s.See(t, "/help")
	s.say("use current_time")
	s.See(t, "May it call current_time?")
	id := p.waiting()
	if list := p.run("approvals"); !strings.HasPrefix(list, id+"  approval  ") || !strings.Contains(list, "may it call current_time {}?") {
		t.Errorf("the list is\n%s", list)
	}
	p.run("approvals", "allow", id, "--session", "--by", "ada")
	s.See(t, "answered elsewhere, allowed in this session: current_time, by ada", "current_time returned “")
	s.Gone(t, "yes, this once")
	s.idle()
	s.say("/grants")
	s.See(t, "always allowed in this session; /grants revoke TOOL takes it back:\n  current_time, by ada\n")
	s.say("/grants revoke current_time")
	s.See(t, "asked about again: current_time, by ")
	s.say("use current_time")
	s.See(t, "│ May it call current_time?\n")
	p.run("approvals", "deny", p.waiting(), "--reason", "it is late", "--by", "bob")
	s.See(t, "answered elsewhere, denied: current_time, by bob: it is late")
	s.idle()
	s.press(ctrlD)
	s.leaves(0)
}

func TestOlderHistoryIsSummarisedOnDemand(t *testing.T) {
	t.Parallel()
	s := newPlace(t).sit("chat", "--guardrail", "sensitive")
	s.See(t, "/help")
	s.say("write to bob@example.com")
	s.See(t, "> write to [redacted: email]\n\n  the guardrail sensitive redacted the message: email: 1\n")
	s.idle()
	for _, number := range []string{"2", "3"} {
		s.paste(strings.Repeat("a long message ", 40))
		s.See(t, "message "+number+" of\nthis conversation")
		s.idle()
	}
	s.say("/compact")
	s.See(t, "older history is summarised: ", " tokens now; the history stays whole")
	s.say("count to 3")
	s.See(t, "1, 2, 3.\n")
	s.press(ctrlD)
	s.leaves(0)
	if all := s.All(); strings.Contains(all, "bob@example.com") {
		t.Errorf("what was redacted stands on the screen\n%s", all)
	}
}

// A key that is typed into the input answers nothing; the card says how it is answered, and nothing is said twice.
func TestACardWithoutTheKeysSaysHowItGetsThem(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.sit("chat")
	s.See(t, "/help")
	s.say("hello")
	s.idle()
	s.say("/grants")
	s.See(t, "nobody has allowed a tool for the whole session")
	s.paste(`use ask_user with {"question": "Which?", "choices": [{"label": "red"}, {"label": "blue"}]}`)
	s.ready("a number or a letter, or enter")
	s.press("why")
	s.ready("tab goes to the question, then 1, 2, t or s")
	s.ready("tab goes to the question · esc cancels")
	p.run("approvals", "answer", p.waiting(), "red", "--by", "ada")
	s.See(t, "  answered elsewhere: Which? → red, by ada\n● ask_user(Which?) ✓")
	s.press("\x15" + ctrlD)
	s.leaves(0)
}
