package chatui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// asks lets the model ask a question, which has been there long enough to be read.
func asks(s *stage, q api.Question) *card {
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	s.tell(api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionQuestion, Question: &q, Origin: "agent",
		Call: &api.InteractionCall{CallID: "c1", Name: "ask_user", Arguments: `{"question":"as it came"}`}})
	s.now = s.now.Add(settleWithin)
	s.Update(wakeMsg{})
	return s.cards[0]
}

var space = tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}

func TestAQuestionIsAnsweredByWhatIsPicked(t *testing.T) {
	t.Parallel()
	colours := api.Question{Text: "Which colour?", Choices: []api.Choice{{Label: "red", Description: "as in the logo"}, {Label: "blue"}}}
	several := colours
	several.Multiple = true
	open := api.Question{Text: "What is it called?"}
	enter := press(tea.KeyEnter)
	tests := []struct {
		name     string
		question api.Question
		keys     [][]tea.KeyPressMsg
		want     api.Answer
	}{
		{"a choice by its number", colours, [][]tea.KeyPressMsg{text("2")}, api.Answer{Decision: api.Answered, Answers: []string{"blue"}}},
		{"a choice by its place", colours, [][]tea.KeyPressMsg{{enter}}, api.Answer{Decision: api.Answered, Answers: []string{"red"}}},
		{"an answer of one's own", colours, [][]tea.KeyPressMsg{text("t"), text("green, 2"), {enter}}, api.Answer{Decision: api.Answered, Answers: []string{"green, 2"}}},
		{"nothing", colours, [][]tea.KeyPressMsg{text("s")}, api.Answer{Decision: api.Skipped}},
		{"several by their numbers", several, [][]tea.KeyPressMsg{text("2"), text("1"), {enter}}, api.Answer{Decision: api.Answered, Answers: []string{"red", "blue"}}},
		{"several by the space bar", several, [][]tea.KeyPressMsg{{space}, {press(tea.KeyDown), space}, {press(tea.KeyUp), space}, {enter}}, api.Answer{Decision: api.Answered, Answers: []string{"blue"}}},
		{"several at once", several, [][]tea.KeyPressMsg{{text("1")[0], text("2")[0], text("1")[0], enter}}, api.Answer{Decision: api.Answered, Answers: []string{"blue"}}},
		{"several, and one's own", several, [][]tea.KeyPressMsg{text("1"), text("t"), text("green"), {enter}}, api.Answer{Decision: api.Answered, Answers: []string{"red", "green"}}},
		{"of several only one's own", several, [][]tea.KeyPressMsg{text("t"), text("green"), {enter}}, api.Answer{Decision: api.Answered, Answers: []string{"green"}}},
		{"of several none is picked by enter alone", several, [][]tea.KeyPressMsg{{enter}}, api.Answer{}},
		{"one without choices", open, [][]tea.KeyPressMsg{{enter}, text("s"), {ctrl('j')}, text("t"), {enter}}, api.Answer{Decision: api.Answered, Answers: []string{"s\nt"}}},
		{"an empty answer is none", open, [][]tea.KeyPressMsg{text("t"), text(" "), {enter}}, api.Answer{}},
		{"another choice after all", colours, [][]tea.KeyPressMsg{text("t"), text("gre"), {press(tea.KeyEscape)}, text("1")}, api.Answer{Decision: api.Answered, Answers: []string{"red"}}},
		{"a message that is typed is no answer", colours, [][]tea.KeyPressMsg{text("no"), {space}, text("2")}, api.Answer{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake("s1")
			s := newStage(t, func(o *Options) { o.Conversation = f })
			c := asks(s, tt.question)
			for _, keys := range tt.keys {
				s.now = s.now.Add(typingWithin)
				for _, k := range keys {
					_, cmd := s.Update(k)
					run(cmd)
				}
			}
			if tt.want.Decision == "" {
				if c.sent != "" || len(f.answers) > 0 {
					t.Errorf("it was answered: %q", c.sent)
				}
				return
			}
			if diff := cmp.Diff(answered{"i1", tt.want}, get(t, f.answers), cmp.AllowUnexported(answered{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// run carries out a command and those in it, as the program does: beside what goes on.
func run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		if batch, ok := cmd().(tea.BatchMsg); ok {
			for _, one := range batch {
				run(one)
			}
		}
	}()
}

func TestAQuestionIsShownWithItsChoices(t *testing.T) {
	t.Parallel()
	long := make([]api.Choice, 15)
	for n := range long {
		long[n].Label = string(rune('A' + n))
	}
	tests := []struct {
		name     string
		question api.Question
		keys     []tea.KeyPressMsg
		want     string
	}{
		{"with choices", api.Question{Text: "Which colour?", Choices: []api.Choice{{Label: "red", Description: "as in the\nlogo"}, {Label: "blue"}}}, nil,
			"│ Which colour?\n│ > 1  red — as in the logo\n│   2  blue\n│   t  an answer of your own\n│   s  skip the question\n│ a number or a letter, or enter\n"},
		{"with several answers", api.Question{Text: "Which?", Multiple: true, Choices: []api.Choice{{Label: "red"}, {Label: "blue"}}}, text("2"),
			"│ Which?\n│   1  [ ] red\n│ > 2  [x] blue\n│   t  with an answer of your own\n│   s  skip the question\n│ space marks, enter answers\n"},
		{"with nothing marked", api.Question{Text: "Which?", Multiple: true, Choices: []api.Choice{{Label: "red"}}}, []tea.KeyPressMsg{press(tea.KeyEnter)},
			"│ nothing is marked\n│ space marks, enter answers\n"},
		{"without choices", api.Question{Text: "What is it\ncalled?"}, nil, "│ What is it\n│ called?\n│ > t  an answer of your own\n│   s  skip the question\n│ a letter, or enter\n"},
		{"with more choices than keys", api.Question{Text: "Which?", Choices: long}, []tea.KeyPressMsg{press(tea.KeyDown), press(tea.KeyDown), press(tea.KeyDown), press(tea.KeyDown),
			press(tea.KeyDown), press(tea.KeyDown), press(tea.KeyDown), press(tea.KeyDown), press(tea.KeyDown)},
			"│   9  I\n│ >    J\n│      K\n│      L\n│      M\n│      N\n│      O\n│ … 5 more, up and down go through them\n"},
		{"while an answer is typed", api.Question{Text: "Which?", Choices: []api.Choice{{Label: "red"}}}, append(text("t"), text("mauve")...), "│ Which?\n│ Your answer:\n│ > mauve\n"},
		{"a model cannot steer the terminal", api.Question{Text: "W\x1b[2Jhich?", Choices: []api.Choice{{Label: "r\x1b[31med\u202e"}}}, nil, "│ W[2Jhich?\n│ > 1  r[31med\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			asks(s, tt.question)
			for _, k := range tt.keys {
				s.now = s.now.Add(typingWithin)
				s.Update(k)
			}
			if live := s.live(); !strings.Contains(live, tt.want) {
				t.Errorf("it is\n%s\nwant\n%s", live, tt.want)
			}
		})
	}
}

func TestAQuestionIsUnfoldedWhole(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	asks(s, api.Question{Text: strings.Repeat("line\n", 20) + "the end?", Choices: []api.Choice{{Label: "red", Description: "as in\nthe logo"}}})
	if live := s.live(); !strings.Contains(live, "… 11 more lines, ctrl+o shows them") || strings.Contains(live, "the end?") {
		t.Errorf("it is\n%s", live)
	}
	s.Update(ctrl('o'))
	if got := s.scrollback(); !strings.HasSuffix(got, "  line\n  the end?\n  - red — as in\n    the logo") {
		t.Errorf("it is\n%s", got)
	}
}

// Its arguments as JSON would say the same once more, and its choices too.
func TestACallThatAsksStandsOnItsCardAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	s.tell(api.EventModelCallFinished, finished(1, "", api.RequestCall{CallID: "c1", Name: "ask_user", Arguments: `{"question":"Which?","choices":[{"label":"red"}]}`}))
	if live := s.live(); !strings.Contains(live, "● ask_user(Which?)\n") {
		t.Errorf("before its card is there it is\n%s", live)
	}
	s.tell(api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionQuestion, Question: &api.Question{Text: "Which?", Choices: []api.Choice{{Label: "red"}}},
		Call: &api.InteractionCall{CallID: "c1", Name: "ask_user"}})
	if live := s.live(); strings.Contains(live, "ask_user") || !strings.Contains(live, "│ Which?\n") {
		t.Errorf("with its card it is\n%s", live)
	}
	s.tell(api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.Answered, Answers: []string{"red"}, By: "bob"})
	s.tell(api.EventToolCallFinished, api.ToolCallFinished{CallID: "c1", Output: `{"answers":["red"]}`})
	if diff := cmp.Diff("> go\n\n  answered elsewhere: Which? → red, by bob\n● ask_user(Which?) ✓\n  └ {\"answers\":[\"red\"]}", s.scrollback()); diff != "" {
		t.Error(diff)
	}
}
