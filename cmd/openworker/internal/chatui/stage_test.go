package chatui

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
)

// stage is the program's state without a program: messages go in, and the screen is read.
type stage struct {
	*chat
	now time.Time
}

func newStage(t *testing.T, change func(*Options)) *stage {
	t.Helper()
	s := &stage{now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	opt := Options{Conversation: newFake("s1"), Width: 80, Height: 24, Now: func() time.Time { return s.now }, NewID: func() string { return "id" }}
	if change != nil {
		change(&opt)
	}
	s.chat = newChat(context.Background(), opt) // nothing is drawn, and so nothing taken away: lines is the whole scrollback
	t.Cleanup(s.cancel)
	return s
}

// tell lets an event happen, a second after the one before.
func (s *stage) tell(kind api.EventType, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	s.now = s.now.Add(time.Second)
	e := api.Event{Type: kind, Run: "r1", Time: s.now, Data: encoded}
	if kind != api.EventTextDelta && kind != api.EventReasoningDelta {
		e.Number = s.number + 1
	}
	s.Update(eventsMsg{follower: &follower{}, events: []api.Event{e}})
	s.Update(frameMsg{})
}

// choose types /model, and waits for what comes of it.
func (s *stage) choose(model string) { s.Update(s.command("/model " + model)()) }

// scrollback is what was printed, and live the live area, both as text.
func (s *stage) scrollback() string { return ansi.Strip(strings.Join(s.lines, "\n")) }
func (s *stage) live() string       { return ansi.Strip(s.content) }

func delta(attempt, from int, text string) api.Delta {
	return api.Delta{Call: 1, Attempt: attempt, Epoch: 1, From: from, Text: text}
}

func started(attempt int) api.ModelCallStarted {
	return api.ModelCallStarted{Call: 1, Attempt: attempt, Epoch: 1}
}

func finished(attempt int, text string, calls ...api.RequestCall) api.ModelCallFinished {
	return api.ModelCallFinished{Call: 1, Attempt: attempt, Text: text, Calls: calls}
}

type happening struct {
	kind api.EventType
	data any
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	start, text, end := api.EventModelCallStarted, api.EventTextDelta, api.EventModelCallFinished
	tests := []struct {
		name   string
		events []happening
		want   string
	}{
		{"an answer that streams", []happening{{start, started(1)}, {text, delta(1, 0, "Hel")}, {text, delta(1, 3, "lo")}, {end, finished(1, "Hello")}}, "Hello"},
		{"an answer without deltas", []happening{{start, started(1)}, {end, finished(1, "Hello")}}, "Hello"},
		{"deltas that were missed are made up for", []happening{{start, started(1)}, {text, delta(1, 0, "Hel")}, {text, delta(1, 7, "rld")}, {end, finished(1, "Hello world")}}, "Hello world"},
		{"one who joins midway is given the text so far again", []happening{{start, started(1)}, {text, delta(1, 0, "Hel")}, {text, delta(1, 0, "Hello ")}, {text, delta(1, 6, "world")}, {end, finished(1, "Hello world")}}, "Hello world"},
		{"finished paragraphs are printed once", []happening{{start, started(1)}, {text, delta(1, 0, "One.\n\nTwo.\n\nThr")}, {text, delta(1, 15, "ee.")}, {end, finished(1, "One.\n\nTwo.\n\nThree.")}}, "One.\n\nTwo.\n\nThree."},
		{"a failed attempt's text is void", []happening{
			{start, started(1)}, {text, delta(1, 0, "Hel")}, {api.EventModelCallFailed, api.ModelCallFailed{Attempt: 1, Code: api.CodeStreamCut, Message: "cut", RetryAt: time.Date(2026, 1, 1, 12, 0, 5, 0, time.UTC)}},
			{start, started(2)}, {text, delta(2, 0, "Good day")}, {end, finished(2, "Good day")},
		}, "  (that attempt failed, its text is void)\n  attempt 1 failed, again in 2.0s: stream_cut: cut\n\nGood day"},
		{"what was printed of a failed attempt is void", []happening{
			{start, started(1)}, {text, delta(1, 0, "One.\n\nTwo.\n")}, {api.EventModelCallFailed, api.ModelCallFailed{Attempt: 1, Code: api.CodeCallLost, Message: "gone"}},
			{start, started(2)}, {end, finished(2, "Good day")},
		}, "One.\n\n  (that attempt failed, its text is void)\n  attempt 1 failed, it is asked again: call_lost: gone\n\nGood day"},
		{"another attempt begins anew", []happening{{start, started(1)}, {text, delta(1, 0, "Hel")}, {start, started(2)}, {text, delta(2, 0, "Good day")}, {end, finished(2, "Good day")}},
			"  (that attempt failed, its text is void)\n\nGood day"},
		{"an answer that is not what streamed is printed whole", []happening{{start, started(1)}, {text, delta(1, 0, "One.\n\nTwo.\n")}, {end, finished(1, "Three.")}},
			"One.\n\n  (that attempt failed, its text is void)\n\nThree."},
		{"what a cancelled call said stands", []happening{
			{start, started(1)}, {text, delta(1, 0, "One, two")}, {api.EventModelCallFailed, api.ModelCallFailed{Attempt: 1, Code: api.CodeCancelled}},
			{api.EventTurnEnded, api.TurnEnded{Status: api.StatusCancelled}},
		}, "One, two\n\n  (cancelled)"},
		{"an answer that streams before it is announced waits for what came first", []happening{
			{text, delta(1, 0, "Hel")}, {api.EventToolCallFinished, api.ToolCallFinished{CallID: "c1", Name: "look", Output: "seen"}}, {text, delta(1, 3, "lo")}, {start, started(1)}, {end, finished(1, "Hello")},
		}, "● look() ✓\n  └ seen\n\nHello"},
		{"what a lost attempt said before it was announced is not shown", []happening{{text, delta(1, 0, "Hel")}, {start, started(2)}, {end, finished(2, "Good day")}}, "Good day"},
		{"calls are folded, in their order", []happening{
			{end, finished(1, "Let me see.", api.RequestCall{CallID: "a", Name: "look", Arguments: "{\n  \"x\": 1, \"y\": \"z\"\n}"}, api.RequestCall{CallID: "b", Name: "pay", Arguments: "{}"},
				api.RequestCall{CallID: "c", Name: "none", Arguments: "{}", Code: api.CodeUnknownTool})},
			{api.EventToolCallStarted, api.ToolCallStarted{CallID: "a", Name: "look"}}, {api.EventToolCallStarted, api.ToolCallStarted{CallID: "b", Name: "pay"}},
			{api.EventToolCallFinished, api.ToolCallFinished{CallID: "b", Code: api.CodeToolFailed, Output: "no money"}},
			{api.EventToolCallFinished, api.ToolCallFinished{CallID: "a", Output: "one\ntwo"}},
		}, "Let me see.\n\n● look(x: 1, y: z) ✓ 3.0s\n  └ one two (2 lines, ctrl+o shows them)\n● pay() ✗ 1.0s\n  └ tool_failed: no money\n● none() ✗\n  └ not run: unknown_tool"},
		{"a call whose process died", []happening{
			{end, finished(1, "", api.RequestCall{CallID: "a", Name: "pay", Arguments: "{}"})}, {api.EventToolCallStarted, api.ToolCallStarted{CallID: "a", Name: "pay"}},
			{api.EventToolCallLost, api.ToolCallLost{CallID: "a"}},
		}, "  pay: the process died inside it: did it act?"},
		{"a failed turn says why", []happening{{api.EventTurnAccepted, api.TurnAccepted{Text: "hi"}}, {api.EventTurnEnded, api.TurnEnded{Status: api.StatusFailed, Error: &api.Failure{Code: api.CodeQuotaExhausted, Message: "pay first"}}}},
			"> hi\n\n  the turn failed: quota_exhausted: pay first"},
		{"a turn at its limit says so", []happening{{api.EventTurnAccepted, api.TurnAccepted{Text: "hi"}}, {api.EventTurnEnded, api.TurnEnded{Status: api.StatusLimitReached}}}, "> hi\n\n  (the turn reached its limit)"},
		{"an answer that was cut off says so", []happening{{end, api.ModelCallFinished{Text: "One", Stop: "output_limit"}}}, "One\n\n  (cut off: the answer reached the most that one call may write)"},
		{"a message of several lines", []happening{{api.EventTurnAccepted, api.TurnAccepted{Text: "a\n\tb"}}}, "> a\n      b"},
		{"an outcome that comes late", []happening{{api.EventToolOutcomeLate, api.ToolCallFinished{Output: "after all"}}}, "  came after the turn had ended: after all"},
		{"an inspection", []happening{{api.EventToolCallInspected, api.ToolCallInspected{Answer: "running"}}}, "  the tool looked: running"},
		{"a model cannot steer the terminal", []happening{{start, started(1)}, {text, delta(1, 0, "a\x1b]0;title\x07b &#27;[31mc")}, {end, finished(1, "a\x1b]0;title\x07b &#27;[31mc `&#x1b;]0;x`")}}, "a]0;titleb [31mc ]0;x"},
		{"an event of a later version is passed over", []happening{{"moon_phase", "full"}}, ""},
		{"data of another shape is passed over", []happening{{text, "x"}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			for _, h := range tt.events {
				s.tell(h.kind, h.data)
			}
			if diff := cmp.Diff(tt.want, s.scrollback()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheStatusLineSaysWhatHappens(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	steps := []struct {
		happening
		want string
	}{
		{happening{api.EventTurnAccepted, api.TurnAccepted{Text: "hi"}}, "working · 0s · esc cancels"},
		{happening{api.EventModelCallStarted, started(1)}, "waiting for the model · 1s"},
		{happening{api.EventReasoningDelta, delta(1, 0, "Let me think about it.")}, "thinking · 2s"},
		{happening{api.EventTextDelta, delta(1, 0, "I know it.")}, "answering · 3s · esc cancels · ~8 tokens out"},
		{happening{api.EventModelCallFailed, api.ModelCallFailed{Call: 1, Attempt: 1, Code: api.CodeRateLimited, RetryAt: s.now.Add(10 * time.Second)}}, "trying again in 5s: rate_limited · 4s"},
		{happening{api.EventModelCallStarted, started(2)}, "waiting for the model"},
		{happening{api.EventModelCallFinished, api.ModelCallFinished{Call: 1, Attempt: 2, Usage: api.Usage{InputTokens: 1500, OutputTokens: 20}, Calls: []api.RequestCall{{CallID: "a", Name: "look"}, {CallID: "b", Name: "pay"}}}},
			"esc cancels · 1.5k tokens in, 20 out"},
		{happening{api.EventToolCallStarted, api.ToolCallStarted{CallID: "a", Name: "look"}}, "calling look"},
		{happening{api.EventToolCallStarted, api.ToolCallStarted{CallID: "b", Name: "pay"}}, "calling 2 tools"},
		{happening{api.EventToolCallFinished, api.ToolCallFinished{CallID: "b", Name: "pay"}}, "calling look"},
		{happening{api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval}}, "calling look · 10s · ctrl-c cancels"},
		{happening{api.EventToolCallFinished, api.ToolCallFinished{CallID: "a", Name: "look"}}, "waiting for your answer · ctrl-c cancels"},
		{happening{api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.InteractionCancelled}}, "working"},
		{happening{api.EventCancelRequested, api.CancelRequested{}}, "cancelling"},
	}
	for _, step := range steps {
		s.tell(step.kind, step.data)
		if !strings.Contains(s.live(), step.want) {
			t.Errorf("after %s the live area is\n%s\nwant %q", step.kind, s.live(), step.want)
		}
	}
	s.tell(api.EventTurnEnded, api.TurnEnded{Status: api.StatusCancelled})
	if strings.Contains(s.live(), "cancel") || s.moving() {
		t.Errorf("after the turn something moves\n%s", s.live())
	}
}

func TestReasoningIsFolded(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "hi"})
	s.tell(api.EventModelCallStarted, started(1))
	s.tell(api.EventReasoningDelta, delta(1, 0, "First this.\nThen that."))
	if live := s.live(); strings.Contains(live, "First this.") || !strings.Contains(live, "  Then that.") {
		t.Errorf("folded it is\n%s", live)
	}
	s.Update(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	if live := s.live(); !strings.Contains(live, "  First this.\n  Then that.") {
		t.Errorf("unfolded it is\n%s", live)
	}
	s.tell(api.EventModelCallFinished, finished(1, "Done."))
	s.Update(tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl})
	want := "> hi\n\n  thought for 1.0s (ctrl+r shows it)\n\nDone.\n\n  First this.\n  Then that."
	if diff := cmp.Diff(want, s.scrollback()); diff != "" {
		t.Error(diff)
	}
}

func TestResultsAreUnfolded(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventModelCallFinished, finished(1, "", api.RequestCall{CallID: "a", Name: "look", Arguments: `{"where": "here", "deep": {"er": true}, "text": "one\ntwo"}`}))
	s.tell(api.EventToolCallFinished, api.ToolCallFinished{CallID: "a", Output: "three\nfour\x1b[2J\n" + strings.Repeat("x\n", 2*wholeLines)})
	s.lines, s.last = nil, nothing
	s.Update(tea.KeyPressMsg{Code: 'o', Mod: tea.ModCtrl})
	got := s.scrollback()
	if want := "  look\n  where: here\n  deep:\n    {\n      \"er\": true\n    }\n  text:\n    one\n    two\n  └ three\n    four[2J\n    x\n"; !strings.HasPrefix(got, want) {
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
	if want := "    … 402 more lines; openworker export has them"; !strings.HasSuffix(got, want) {
		t.Errorf("it ends with\n%s", got[len(got)-200:])
	}
}

func TestCtrlC(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	press := func(after time.Duration) {
		s.now = s.now.Add(after)
		s.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	}
	s.Update(tea.PasteMsg{Content: "a text"})
	press(time.Second)
	if live := s.live(); strings.Contains(live, "a text") || strings.Contains(live, "again") {
		t.Errorf("it clears the input:\n%s", live)
	}
	for range 2 {
		press(leaveWithin)
		if live := s.live(); !strings.Contains(live, "Ctrl-C again, or Ctrl-D, leaves") || s.leaving {
			t.Errorf("alone it does not leave:\n%s", live)
		}
	}
	press(leaveWithin - time.Millisecond)
	if !s.leaving || s.left.Busy {
		t.Errorf("soon again it leaves: %+v", s.left)
	}
}

func TestCtrlCBeforeAMessageIsStoredCancelsItsTurn(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	s := newStage(t, func(o *Options) { o.Conversation = f })
	s.Update(tea.PasteMsg{Content: "hello"})
	s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	s.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if live := s.live(); !strings.Contains(live, "the turn is cancelled once its message is stored") || s.leaving {
		t.Errorf("the live area is\n%s", live)
	}
	s.following = true
	cancel := s.sent(sentMsg{message: s.outbox[0]})
	if cancel == nil || s.unwanted {
		t.Fatal("it is forgotten")
	}
	if msg := cancel(); msg != (cancelledMsg{}) {
		t.Errorf("it is %#v", msg)
	}
	get(t, f.cancels)
}

func TestLeavingTellsWhatMayNotBeSent(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	for _, text := range []string{"one", "two"} {
		s.Update(tea.PasteMsg{Content: text})
		s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	}
	s.Update(ctrl('d'))
	want := "  it is not known whether this was sent: one\n  not sent: two"
	if diff := cmp.Diff(want, s.scrollback()); diff != "" || !s.leaving {
		t.Error(diff)
	}
}

func TestAMessageThatNoSessionTakesIsRefusedInPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) {
		o.Check = func(text string, _ []attached.File) error {
			if len(text) > 10 {
				return api.Errorf(api.CodeInvalidRequest, "the message has more than 10 bytes")
			}
			return nil
		}
	})
	s.Update(tea.PasteMsg{Content: "twelve bytes"})
	s.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	if live := s.live(); !strings.Contains(live, "> twelve bytes\ninvalid_request: the message has more than 10 bytes") || len(s.outbox) > 0 {
		t.Errorf("the live area is\n%s", live)
	}
	s.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	if live := s.live(); strings.Contains(live, "invalid_request") {
		t.Errorf("a key does not take the error away:\n%s", live)
	}
}

// A narrow terminal is not written over its edge, and no colour is written where none is wanted.
func TestANarrowScreenWithoutColours(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 20} {
		s := newStage(t, func(o *Options) { o.Width, o.Height, o.Colors = width, 12, false })
		long := strings.Repeat("a long word and ", 10)
		s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: long + strings.Repeat("x", 100)})
		s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: long, Queued: true})
		s.tell(api.EventModelCallStarted, started(1))
		s.tell(api.EventTextDelta, delta(1, 0, long+"\n\n```go\nfunc main() { println(\"a long line of code\") }\n```\n\n| a | b |\n|---|---|\n| "+long+" | x |\n\n日本語日本語日本語日本語日本語日本語日本語日本語\n\n- "+long))
		s.tell(api.EventModelCallFinished, finished(1, long, api.RequestCall{CallID: "a", Name: "look", Arguments: `{"where":"` + long + `"}`}))
		s.tell(api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{Name: "look", Arguments: `{"where":"` + long + `"}`}})
		s.Update(tea.KeyPressMsg{Code: 'o', Mod: tea.ModCtrl})
		s.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
		s.command("/help")
		s.command("/nothing of the kind")
		s.Update(frameMsg{})
		for _, line := range append(s.lines, strings.Split(s.content, "\n")...) {
			if n := ansi.StringWidth(line); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
		}
		for _, color := range []string{"\x1b[3", "\x1b[9", "\x1b[4", "\x1b[38;"} {
			if all := strings.Join(s.lines, "\n") + s.content; strings.Contains(strings.ReplaceAll(all, "\x1b[3m", ""), color) {
				t.Errorf("there is a colour: %q", color)
			}
		}
		if rows := strings.Count(s.content, "\n") + 1; rows > 12 {
			t.Errorf("the live area has %d rows of 12", rows)
		}
	}
}

func TestALongAnswerLeavesTheLiveAreaAsItGrows(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go on"})
	s.tell(api.EventModelCallStarted, started(1))
	var whole strings.Builder
	for whole.Len() < 40_000 {
		piece := "Some words of a paragraph.\nMore of it.\n"
		if whole.Len()%7 == 0 {
			piece += "\n"
		}
		s.tell(api.EventTextDelta, delta(1, whole.Len(), piece))
		whole.WriteString(piece)
		if n := len(s.turn.split.rest); n > mostText+len(piece) {
			t.Fatalf("%d bytes are drawn anew each time", n)
		}
	}
	s.tell(api.EventModelCallFinished, finished(1, whole.String()))
	if got, want := strings.Count(s.scrollback(), "More of it."), strings.Count(whole.String(), "More of it."); got != want {
		t.Errorf("%d lines of %d are there", got, want)
	}
}

func TestWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local)
	for want, reason := range map[string]api.WaitReason{
		"an answer to i1":                              {Interaction: "i1"},
		"until 12:00:00":                               {Until: at},
		"credentials_missing Test: no key":             {Code: api.CodeCredentialsMissing, Name: "Test", Message: "no key"},
		"rate_limited Test: slow down, until 12:00:00": {Code: api.CodeRateLimited, Name: "Test", Message: "slow down", Until: at},
	} {
		if got := waitText(reason); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
