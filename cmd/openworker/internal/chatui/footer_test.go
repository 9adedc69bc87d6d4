package chatui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

var (
	tiny = api.ModelRef{Provider: "Test", Name: "tiny"}
	huge = api.ModelRef{Provider: "Test", Name: "huge"}
)

// footerLine is the last line of the live area.
func (s *stage) footerLine() string { return s.live()[strings.LastIndexByte(s.live(), '\n')+1:] }

// resume lets the stage come back to a session: what is told in between is its past.
func (s *stage) resume(state api.SessionState, past ...happening) {
	var events []api.Event
	for n, h := range past {
		other := newFake("s1")
		other.tell("r1", h.kind, h.data)
		e := other.log[0]
		e.Number, e.Time = uint64(n+1), s.now
		events = append(events, e)
	}
	s.Update(attachedMsg{state: state, events: events})
}

func TestTheFooterNamesTheModelOfTheNextMessage(t *testing.T) {
	t.Parallel()
	onHuge := []happening{{api.EventTurnAccepted, api.TurnAccepted{Text: "hi", Model: huge}}, {api.EventModelCallStarted, api.ModelCallStarted{Call: 1, Attempt: 1, Model: huge}},
		{api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted}}}
	tests := []struct {
		name  string
		given api.ModelRef
		do    func(s *stage)
		want  api.ModelRef
	}{
		{"the session's own, though the last turn had another", api.ModelRef{}, func(*stage) {}, tiny},
		{"the one that was asked for", huge, func(*stage) {}, huge},
		{"the one that was chosen", api.ModelRef{}, func(s *stage) { s.choose("huge") }, huge},
		{"the chosen one in another session too", api.ModelRef{}, func(s *stage) { s.choose("huge"); s.command("/new") }, huge},
		{"the session's own in another session too", api.ModelRef{}, func(s *stage) { s.command("/new") }, tiny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked api.ModelRef
			s := newStage(t, func(o *Options) {
				o.Model = tt.given
				o.ParseModel = func(name string) (api.ModelRef, error) { return api.ModelRef{Provider: "Test", Name: name}, nil }
				o.New = func(model api.ModelRef) Conversation { asked = model; return newFake("") }
			})
			s.resume(api.SessionState{Model: tiny, LastEvent: 3}, onHuge...)
			tt.do(s)
			s.Update(frameMsg{})
			if got := s.footerLine(); !strings.HasPrefix(got, tt.want.String()+" · ") {
				t.Errorf("the footer is %q, want it to name %s", got, tt.want)
			}
			if strings.HasSuffix(tt.name, "another session too") && asked != tt.want {
				t.Errorf("the new session's model is %s, want %s", asked, tt.want)
			}
		})
	}
}

// A turn that waited for an answer is in the session's own count up to there, and in its end's count as a whole.
func TestTokensOfAResumedTurnAreCountedOnce(t *testing.T) {
	t.Parallel()
	first, second := api.Usage{InputTokens: 10, OutputTokens: 33}, api.Usage{InputTokens: 10, OutputTokens: 9}
	call := func(u api.Usage) happening {
		return happening{api.EventModelCallFinished, api.ModelCallFinished{Call: 1, Attempt: 1, Usage: u}}
	}
	tests := []struct {
		name string
		last uint64 // the last event of the state that was read
	}{
		{"read at once", 2},
		{"with a call that ended between reading the state and the events", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			state := api.SessionState{Run: "r1", LastEvent: tt.last}
			if tt.last == 2 {
				state.Usage = first
			}
			s.resume(state, happening{api.EventTurnAccepted, api.TurnAccepted{Text: "go"}}, call(first))
			s.tell(call(second).kind, call(second).data)
			s.tell(api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted, Usage: first.Add(second)})
			if got := s.footerLine(); !strings.Contains(got, "20 tokens in, 42 out") {
				t.Errorf("the footer is %q", got)
			}
		})
	}
}

func TestTokensAreToldWithTheirUnit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		usage  api.Usage
		coming int64
		want   string
	}{
		{api.Usage{}, 0, ""},
		{api.Usage{}, 8, "~8 tokens out"},
		{api.Usage{InputTokens: 820, OutputTokens: 192}, 0, "820 tokens in, 192 out"},
		{api.Usage{InputTokens: 820, OutputTokens: 192}, 8, "820 tokens in, ~200 out"},
		{api.Usage{InputTokens: 1_500, OutputTokens: 8_192, Estimated: true}, 0, "about 1.5k tokens in, 8.2k out"},
		{api.Usage{OutputTokens: 8_192, Estimated: true}, 0, "about 8.2k tokens out"},
	}
	for _, tt := range tests {
		if got := tokensText(tt.usage, tt.coming); got != tt.want {
			t.Errorf("%+v and %d coming: %q, want %q", tt.usage, tt.coming, got, tt.want)
		}
	}
}

func TestTheFooterSaysHowFullTheWindowIs(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) {
		o.Model = tiny
		o.Window = func(model api.ModelRef) int { return map[api.ModelRef]int{tiny: 1000}[model] }
		o.ParseModel = func(string) (api.ModelRef, error) { return huge, nil }
	})
	for _, step := range []struct {
		usage api.Usage
		want  string
	}{
		{api.Usage{InputTokens: 1, OutputTokens: 1}, "1 % of the window"},
		{api.Usage{InputTokens: 100, OutputTokens: 20}, "12 % of the window"},
		{api.Usage{InputTokens: 900, OutputTokens: 95}, "100 % of the window"},
	} {
		s.tell(api.EventModelCallFinished, api.ModelCallFinished{Call: 1, Attempt: 1, Usage: step.usage})
		if got := s.footerLine(); !strings.Contains(got, step.want) {
			t.Errorf("the footer is %q, want %q", got, step.want)
		}
	}
	s.choose("huge")
	s.Update(frameMsg{})
	if got := s.footerLine(); strings.Contains(got, "window") {
		t.Errorf("of a model whose window is not known the footer is %q", got)
	}
}

func TestAFooterThatIsTooLongLeavesItsEndOut(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{80: "Test/tiny · 1 tokens in, 2 out · /help", 30: "Test/tiny · 1 tokens in, 2 out", 29: "Test/tiny", 6: "Test/…"} {
		s := newStage(t, func(o *Options) { o.Model, o.Width = tiny, width })
		s.usage = api.Usage{InputTokens: 1, OutputTokens: 2}
		s.compose()
		if got := s.footerLine(); got != want {
			t.Errorf("in %d columns the footer is %q, want %q", width, got, want)
		}
	}
}

func TestWhatIsSaidOfCancelling(t *testing.T) {
	t.Parallel()
	begin := func() *stage {
		s := newStage(t, nil)
		s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
		return s
	}
	const again = "Ctrl-C again leaves"
	s := begin()
	s.Update(ctrl('c'))
	if live := s.live(); !strings.Contains(live, again) {
		t.Errorf("after Ctrl-C the live area is\n%s", live)
	}
	s.tell(api.EventTurnEnded, api.TurnEnded{Status: api.StatusCancelled})
	if live := s.live(); strings.Contains(live, again) {
		t.Errorf("after the turn the live area is\n%s", live)
	}
	for name, cancel := range map[string]func(s *stage){"esc": func(s *stage) { s.Update(press(tea.KeyEscape)) }, "/cancel": func(s *stage) { s.command("/cancel"); s.Update(frameMsg{}) }} {
		s := begin()
		cancel(s)
		if live := s.live(); strings.Contains(live, again) || !strings.Contains(live, "cancelling") {
			t.Errorf("after %s the live area is\n%s", name, live)
		}
	}
	s = begin()
	s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "next", Queued: true})
	if live := s.live(); !strings.Contains(live, "1 queued; esc cancels this turn, the next goes on") {
		t.Errorf("with a queued message the live area is\n%s", live)
	}
}

// What is said first is wrapped to the terminal that there is, which is known a moment later.
func TestTheOpeningIsWrapped(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) {
		o.Opening = []string{"gpt-5-mini at https://api.openai.com/v1 answers\nsince OPENAI_API_KEY is set, and OPENWORKER_MODEL is not", "session s1: idle, 3 events"}
	})
	s.Update(tea.WindowSizeMsg{Width: 40, Height: 20})
	s.Update(tea.WindowSizeMsg{Width: 60, Height: 20})
	want := "  gpt-5-mini at\n  https://api.openai.com/v1 answers\n  since OPENAI_API_KEY is set, and\n  OPENWORKER_MODEL is not\n  session s1: idle, 3 events"
	if diff := cmp.Diff(want, s.scrollback()); diff != "" {
		t.Error(diff)
	}
	if first, why := s.lines[0], s.lines[2]; first != ansi.Strip(first) || !strings.Contains(why, "\x1b[2m") {
		t.Errorf("only the reason is dim: %q, %q", first, why)
	}
}

// The end of an error says what went wrong: it is the middle that is left out.
func TestAReasonForTryingAgainIsNotCutAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/chat/completions", "/" + strings.Repeat("long/", 60)} {
		s := newStage(t, nil)
		s.tell(api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
		s.lines, s.last = nil, nothing
		s.tell(api.EventModelCallFailed, api.ModelCallFailed{Attempt: 1, Code: api.CodeProviderUnreachable, RetryAt: s.now.Add(3 * time.Second),
			Message: `Post "http://127.0.0.1:11434` + path + `": dial tcp 127.0.0.1:11434: connect: connection refused`})
		said := s.scrollback()
		flat := strings.Join(strings.Fields(said), " ")
		if !strings.HasPrefix(flat, "attempt 1 failed, again in 2.0s: provider_unreachable: Post") || !strings.HasSuffix(flat, "dial tcp 127.0.0.1:11434: connect: connection refused") {
			t.Errorf("it is said as\n%s", said)
		}
		if lines := strings.Count(said, "\n") + 1; lines > 3 {
			t.Errorf("it takes %d lines\n%s", lines, said)
		}
	}
}

func TestModelsAreListedAndCompleted(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) {
		o.Model, o.Providers = huge, []string{"Anthropic", "OpenAI", "OpenRouter", "Test"}
	})
	complete := func(typed string) string {
		s.input.set(typed)
		s.Update(press(tea.KeyTab))
		return s.input.area.Value()
	}
	if got := complete("/model test/h"); got != "/model test/h" {
		t.Errorf("before the list is there it becomes %q", got)
	}
	names, _ := testModels(t.Context())
	s.Update(modelsMsg{names: names})
	want := "  /model chooses another:\n  Test/tiny\n  Test/huge  (answers now)"
	if diff := cmp.Diff(want, s.scrollback()); diff != "" {
		t.Error(diff)
	}
	for typed, want := range map[string]string{
		"/model anth": "/model Anthropic/", "/model o": "/model Open", "/model openr": "/model OpenRouter/", "/model x": "/model x",
		"/model test/h": "/model Test/huge", "/model Test/": "/model Test/", "/model Test/huge or so": "/model Test/huge or so",
	} {
		if got := complete(typed); got != want {
			t.Errorf("%q becomes %q, want %q", typed, got, want)
		}
	}
	if complete("/model open"); !strings.Contains(s.live(), "OpenAI/  OpenRouter/") {
		t.Errorf("what there is to choose from is not shown:\n%s", s.live())
	}
	s.Update(modelsMsg{names: names[:1]})
	if got := s.scrollback(); !strings.HasSuffix(got, "  Test/huge answers\n\n  /model chooses another:\n  Test/tiny") {
		t.Errorf("a model that is not in the list is not named:\n%s", got)
	}
}

func TestAModelThatIsRefusedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := newStage(t, func(o *Options) {
		o.ParseModel = func(string) (api.ModelRef, error) {
			return api.ModelRef{}, api.Errorf(api.CodeCredentialsMissing, "Test needs a key")
		}
		o.Advice = func(error) string { return "set TEST_API_KEY and start again" }
	})
	s.choose("Test/huge")
	s.Update(frameMsg{})
	if live := s.live(); !strings.HasSuffix(live, "credentials_missing: Test needs a key\nset TEST_API_KEY and start again") {
		t.Errorf("the live area is\n%s", live)
	}
}
