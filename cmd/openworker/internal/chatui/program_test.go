package chatui

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
)

const (
	enter = "\r"
	up    = "\x1b[A"
	down  = "\x1b[B"
	esc   = "\x1b"
	tab   = "\t"
	ctrlC = "\x03"
	ctrlD = "\x04"
	ctrlJ = "\n"
	ctrlO = "\x0f"
	ctrlR = "\x12"
)

func TestAMessageIsSentAndItsAnswerStreams(t *testing.T) {
	t.Parallel()
	f := newFake("")
	d := sit(t, f, 80, 24, nil)
	message := d.say("hello there")
	if diff := cmp.Diff(Message{ID: "id1", Text: "hello there"}, message); diff != "" {
		t.Error(diff)
	}
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "hello there"})
	f.tell("r1", api.EventModelCallStarted, api.ModelCallStarted{Call: 1, Attempt: 1, Epoch: 1, Model: api.ModelRef{Provider: "Test", Name: "tiny"}})
	d.See(t, "session s1", "waiting for the model", "Test/model")
	f.tell("r1", api.EventTextDelta, api.Delta{Call: 1, Attempt: 1, Epoch: 1, Text: "This is **bold**"})
	d.See(t, "This is bold", "answering")
	f.tell("r1", api.EventModelCallFinished, api.ModelCallFinished{Call: 1, Attempt: 1, Text: "This is **bold** text.", Stop: "end", Usage: api.Usage{InputTokens: 1200, OutputTokens: 30}})
	f.tell("r1", api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted, Usage: api.Usage{InputTokens: 1200, OutputTokens: 30}})
	d.See(t, "This is bold text.", "1.2k tokens in, 30 out")
	d.Gone(t, "answering")
	d.press(ctrlD)
	if left := d.out(); left != (Left{Session: "s1"}) || d.err != nil {
		t.Errorf("%+v, %v", left, d.err)
	}
	if all := d.All(); strings.Count(all, "hello there") != 1 || strings.Count(all, "This is") != 1 || strings.Contains(all, "/help") {
		t.Errorf("behind the program the screen has\n%s", all)
	}
}

func TestAMessageThatIsRefusedComesBack(t *testing.T) {
	t.Parallel()
	f := newFake("")
	f.refuse = api.Errorf(api.CodeStoreBusy, "somebody else writes")
	d := sit(t, f, 80, 24, func(o *Options) { o.Advice = func(error) string { return "wait a little" } })
	first := d.say("hello there")
	d.See(t, "store_busy", "wait a little", "the message was not sent", "> hello there")
	f.mu.Lock()
	f.refuse = nil
	f.mu.Unlock()
	d.press(enter)
	if again := get(t, f.sent); !cmp.Equal(again, first) {
		t.Errorf("the second attempt is another submission: %+v, %+v", first, again)
	}
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "hello there"})
	d.See(t, "\n> hello there\n\n")
	if third := d.say("hello there"); third.ID == first.ID {
		t.Errorf("the same text later is the same submission: %+v", third)
	}
}

func TestWhatIsTypedWhileATurnRunsIsQueued(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	d := sit(t, f, 80, 24, nil)
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "first"})
	d.See(t, "> first")
	d.say("second")
	f.tell("r2", api.EventTurnAccepted, api.TurnAccepted{Text: "second", Queued: true})
	d.See(t, "queued: second")
	f.tell("r1", api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted})
	f.tell("r2", api.EventTurnStarted, nil)
	d.Gone(t, "queued: second")
	d.See(t, "> second")
}

func TestAnApprovalIsACard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		keys string
		want api.Answer
	}{
		{"its letter", "y", api.Answer{Decision: api.AllowOnce, By: "ada"}},
		{"its letter and enter", "a" + enter, api.Answer{Decision: api.AllowSession, By: "ada"}},
		{"its place", down + enter, api.Answer{Decision: api.AllowSession, By: "ada"}},
		{"a denial with its reason", "nit is late" + enter, api.Answer{Decision: api.Deny, Reason: "it is late", By: "ada"}},
		{"a denial without one", "n" + enter, api.Answer{Decision: api.Deny, By: "ada"}},
		{"a denial of two lines", "na" + ctrlJ + "b" + enter, api.Answer{Decision: api.Deny, Reason: "a\nb", By: "ada"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake("s1")
			d := sit(t, f, 80, 24, nil)
			f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "pay"})
			f.tell("r1", api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval,
				Call: &api.InteractionCall{CallID: "c1", Name: "pay", Arguments: `{"to":"Bob","amount":{"value":3,"currency":"EUR"}}`}})
			d.See(t, "May it call pay?", "to: Bob", `"currency": "EUR"`, "waiting for your answer", "a letter, or enter")
			d.press(tt.keys)
			if diff := cmp.Diff(answered{"i1", tt.want}, get(t, f.answers), cmp.AllowUnexported(answered{})); diff != "" {
				t.Error(diff)
			}
			f.tell("r1", api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: tt.want.Decision, By: "ada"})
			d.Gone(t, "May it call pay?")
			d.See(t, decide.Said(tt.want.Decision)+": pay")
		})
	}
}

func TestSeveralCardsAreAnsweredInAnyOrder(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	d := sit(t, f, 80, 24, nil)
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	for _, name := range []string{"one", "two", "three"} {
		f.tell("r1", api.EventInteractionRequired, api.InteractionRequired{ID: name, Kind: api.InteractionApproval, Call: &api.InteractionCall{Name: name, Arguments: "{}"}})
	}
	d.See(t, "1 of 3, tab goes on", "May it call three?")
	d.press(tab)
	d.See(t, "2 of 3")
	d.press("y")
	if got := get(t, f.answers); got.interaction != "two" {
		t.Errorf("%+v", got)
	}
	f.tell("r1", api.EventInteractionResolved, api.InteractionResolved{ID: "two", Decision: api.AllowOnce})
	d.See(t, "1 of 2")
	f.tell("r1", api.EventInteractionResolved, api.InteractionResolved{ID: "one", Decision: api.Deny, By: "bob", Reason: "no"})
	d.See(t, "answered elsewhere, denied: one, by bob: no")
	d.See(t, "tab goes to the question, then y, a, e or n")
	d.press("y") // it was meant for the one that is gone
	d.See(t, "> y")
	d.press(tab)
	d.See(t, "a letter, or enter")
	d.press("y")
	if got := get(t, f.answers); got.interaction != "three" {
		t.Errorf("%+v", got)
	}
}

func TestAMessageThatIsTypedOnACardIsNoAnswer(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	d := sit(t, f, 80, 24, nil)
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	f.tell("r1", api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionApproval, Call: &api.InteractionCall{Name: "pay", Arguments: "{}"}})
	d.See(t, "a letter, or enter")
	d.press("stop, any of it!" + enter)
	if got := get(t, f.sent); got.Text != "stop, any of it!" {
		t.Errorf("%+v was sent", got)
	}
	d.See(t, "May it call pay?", "tab goes to the question · esc cancels")
	select {
	case got := <-f.answers:
		t.Errorf("it was answered: %+v", got)
	default:
	}
}

func TestAnUnknownOutcomeIsSettled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, keys string
		want       api.Answer
	}{
		{"succeeded, with what it returned", "sreceipt 7" + enter, api.Answer{Decision: api.OutcomeSucceeded, Output: "receipt 7", By: "ada"}},
		{"failed, with a reason", "fthe bank is closed" + enter, api.Answer{Decision: api.OutcomeFailed, Reason: "the bank is closed", By: "ada"}},
		{"run again", "r", api.Answer{Decision: api.OutcomeRetry, By: "ada"}},
		{"another choice after all", "s", api.Answer{Decision: api.OutcomeRetry, By: "ada"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake("s1")
			d := sit(t, f, 80, 24, nil)
			f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "pay"})
			f.tell("r1", api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: api.InteractionUnknownOutcome, Call: &api.InteractionCall{Name: "pay", Arguments: "{}"}})
			d.See(t, "whether it acted is not known", "a letter, or enter")
			d.press(tt.keys)
			if tt.keys == "s" {
				d.See(t, "What did it return?")
				d.press(esc)
				d.Gone(t, "What did it return?")
				d.press("r")
			}
			if diff := cmp.Diff(answered{"i1", tt.want}, get(t, f.answers), cmp.AllowUnexported(answered{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAKindThatIsNotKnownIsShownAndNotAnswered(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	d := sit(t, f, 80, 24, nil)
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	f.tell("r1", api.EventInteractionRequired, api.InteractionRequired{ID: "i1", Kind: "seance"})
	d.See(t, "this version cannot answer (seance")
	d.press("y")
	d.See(t, "> y") // the keys are the input's
	select {
	case got := <-f.answers:
		t.Errorf("it was answered: %+v", got)
	default:
	}
}

func TestCtrlCCancelsAndSoonAgainLeaves(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	d := sit(t, f, 80, 24, nil)
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	d.See(t, "> go")
	d.press(ctrlC)
	get(t, f.cancels)
	d.See(t, "cancelling the turn; Ctrl-C again leaves")
	d.interrupts <- os.Interrupt // as a signal it is the same
	if left := d.out(); left != (Left{Session: "s1", Busy: true}) {
		t.Errorf("%+v", left)
	}
}

func TestTheEndOfTheContextLeaves(t *testing.T) {
	t.Parallel()
	d := sit(t, newFake("s1"), 80, 24, nil)
	d.See(t, "/help")
	d.leave()
	if left := d.out(); left != (Left{Session: "s1"}) || d.err != nil {
		t.Errorf("%+v, %v", left, d.err)
	}
	if raw := d.Raw(); !strings.Contains(raw, "\x1b[?2004l") {
		t.Errorf("bracketed paste stays on: %q", raw)
	}
}

func TestTheLogIsShownAndNotWrittenIntoTheScreen(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	d := sit(t, f, 80, 24, nil)
	d.See(t, "/help")
	for _, part := range []string{"level=ERROR ", "msg=broken\nnext"} {
		if _, err := d.notes.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	d.See(t, "  level=ERROR msg=broken")
}

func TestASessionIsGoneOnWithWhereItStands(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	for n := range 30 {
		run := "r" + string(rune('a'+n))
		f.tell(run, api.EventTurnAccepted, api.TurnAccepted{Text: "question " + run})
		f.tell(run, api.EventModelCallStarted, api.ModelCallStarted{Call: 1, Attempt: 1})
		f.tell(run, api.EventModelCallFinished, api.ModelCallFinished{Call: 1, Attempt: 1, Text: "answer " + run})
		f.tell(run, api.EventTurnEnded, api.TurnEnded{Status: api.StatusCompleted})
	}
	f.tell("last", api.EventTurnAccepted, api.TurnAccepted{Text: "the last question"})
	f.state = api.SessionState{Run: "last", Interactions: []api.Interaction{{ID: "i1", Kind: api.InteractionApproval, Run: "last", Call: &api.InteractionCall{Name: "pay", Arguments: "{}"}}}}
	d := sit(t, f, 80, 24, nil)
	d.See(t, "… 41 earlier", "> question r~", "answer r~", "> the last question", "May it call pay?")
	if all := d.All(); strings.Contains(all, "question rb") {
		t.Errorf("old questions are shown\n%s", all)
	}
	d.press(esc)
	d.See(t, "tab goes to the question, then y, a, e or n")
	d.press(up + up)
	d.See(t, "> question r~\n")
	f.tell("last", api.EventInteractionResolved, api.InteractionResolved{ID: "i1", Decision: api.AllowOnce, By: "bob"})
	d.See(t, "answered elsewhere, allowed once: pay, by bob")
}

func TestATurnThatWaitsForWhatIsMissingSaysWhatToDo(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	f.stands = &api.Result{Status: api.StatusInterrupted, WaitingFor: []api.WaitReason{{Code: api.CodeCredentialsMissing, Name: "Test", Message: "there is no key"}}}
	d := sit(t, f, 80, 24, func(o *Options) {
		o.Waits = func(session string, reason api.WaitReason) string {
			return "set a key for " + reason.Name + " of " + session
		}
	})
	f.tell("r1", api.EventTurnAccepted, api.TurnAccepted{Text: "go"})
	d.See(t, "the turn waits: credentials_missing Test: there is no key", "set a key for Test of s1", "○ waiting: credentials_missing")
}

func TestASessionThatCannotBeReadEndsTheProgram(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	d := sit(t, f, 80, 24, func(o *Options) { o.Conversation = unreadable{f} })
	d.out()
	if !errors.Is(d.err, api.Errorf(api.CodeStoreCorrupt, "")) {
		t.Errorf("%v", d.err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	f := newFake("s1")
	f.state = api.SessionState{Activity: api.Waiting, Agent: "clerk", Model: api.ModelRef{Provider: "Test", Name: "tiny"}, Queue: []string{"r9"},
		UnknownActions: []api.UnknownAction{{CallID: "c1", Tool: "pay", Attempt: 2}}}
	second := newFake("")
	d := sit(t, f, 80, 24, func(o *Options) {
		o.New = func(api.ModelRef) Conversation { return second }
		o.Models = testModels
		o.ParseModel = func(text string) (api.ModelRef, error) {
			provider, name, ok := strings.Cut(text, "/")
			if !ok {
				return api.ModelRef{}, api.Errorf(api.CodeUnknownProvider, "no provider in %q", text)
			}
			return api.ModelRef{Provider: provider, Name: name}, nil
		}
	})
	d.press("/s" + tab)
	d.See(t, "> /state")
	d.press(enter)
	d.See(t, "clerk", "waiting", "pay, call c1, attempt 2", "r9")
	d.press("/model" + enter)
	d.See(t, "Test/model answers", "Test/huge")
	d.press("/model huge" + enter)
	d.See(t, `no provider in "huge"`)
	d.press("/model Test/huge" + enter)
	d.See(t, "Test/huge answers the messages to come")
	if m := d.say("hello"); m.Model == nil || *m.Model != (api.ModelRef{Provider: "Test", Name: "huge"}) {
		t.Errorf("%+v", m)
	}
	d.press("/qiut" + enter)
	d.See(t, `"/qiut" is no command and was not sent`)
	d.press(ctrlC)
	d.Gone(t, "/qiut")
	d.press("//tmp is what?" + enter)
	if m := get(t, f.sent); m.Text != "/tmp is what?" {
		t.Errorf("%+v", m)
	}
	d.press("/help" + enter)
	d.See(t, "begin another session", "the last tool calls, whole")
	d.press("/new" + enter)
	d.See(t, "session s1 stays", "the next message begins a new session")
	d.press("hello again" + enter)
	if m := get(t, second.sent); m.Text != "hello again" {
		t.Errorf("%+v", m)
	}
	d.press("/quit" + enter)
	d.out()
}
