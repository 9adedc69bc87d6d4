package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func then(given []move, more ...move) []move { return append(slices.Clip(given), more...) }

// AP2: the application's own check, before a call is decided on.
func TestTheApplicationsOwnCheck(t *testing.T) {
	t.Parallel()
	checking := func(tools ...string) []move { return []move{say("hi"), begin, asksForChecked(tools...)} }
	tell(t, []story{
		{
			name:     "AP2 what cannot run is refused before it, everything else is checked, in every mode",
			agent:    worker(only, privileged),
			given:    []move{say("hi"), begin},
			when:     asksForChecked("nothing", "ask_user", "make_agent", "free", "read_history", "write", "spawn"),
			events:   []string{"model_finished 1/1 tool_calls c1:unknown_tool c2:tool_disabled c3:denied c4:check c5:check c6:check c7:check"},
			pending:  []string{"check c4/0", "check c5/0", "check c6/0", "check c7/0"},
			due:      "+0s",
			activity: "active",
			check:    autoApproved(0),
		},
		{
			name:     "a pass leads to the mode: policy lets an unlisted tool pass, which is counted then",
			agent:    worker(only),
			given:    checking("free", "write"),
			when:     checked(1, ""),
			events:   []string{"tool_checked c1:policy"},
			pending:  []string{"tool c1/1", "check c2/0"},
			due:      "+0s",
			activity: "active",
			check:    autoApproved(1),
		},
		{
			name:     "a pass leads to the mode: a person is asked",
			agent:    worker(always),
			given:    checking("write"),
			when:     checked(1, ""),
			events:   []string{"tool_checked c1:ask", "interaction_required i1 approval c1"},
			activity: "waiting",
			check: func(t *testing.T, p *play) {
				if got := p.events[1].(engine.InteractionRequired).Arguments; got != `{"a":1}` {
					t.Errorf("the person sees the arguments %q", got)
				}
			},
		},
		{
			name:     "a pass leads to the mode: never",
			given:    checking("write"),
			when:     checked(1, ""),
			events:   []string{"tool_checked c1:never"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
			check:    autoApproved(0),
		},
		{
			name:     "a pass leads to the mode: the reviewer",
			agent:    worker(auto),
			given:    checking("write"),
			when:     checked(1, ""),
			events:   []string{"tool_checked c1:review"},
			pending:  []string{"review c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP7 a pass does not let a privileged action run",
			agent:    worker(auto, privileged),
			given:    checking("spawn"),
			when:     checked(1, ""),
			events:   []string{"tool_checked c1:ask", "interaction_required i1 approval c1"},
			activity: "waiting",
		},
		{
			name:  "AP2 AP4 behind the check comes the grant, before the mode",
			agent: worker(always),
			given: []move{say("hi"), begin, asksFor("write"), decide(1, api.AllowSession, ""), begin, returns(1, "ok"), begin, asksForChecked("write", "put")},
			when: func(p *play) {
				checked(2, "")(p)
				passed := p.events
				checked(3, "")(p)
				p.events = append(passed, p.events...)
			},
			events:   []string{"tool_checked c2:grant", "tool_checked c3:ask", "interaction_required i2 approval c3"},
			pending:  []string{"tool c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP2 AP4 a denial is the result, whatever was granted",
			agent:    worker(always),
			given:    []move{say("hi"), begin, asksFor("write"), decide(1, api.AllowSession, ""), begin, returns(1, "ok"), begin, asksForChecked("write")},
			when:     checked(2, api.CodeDenied),
			events:   []string{"tool_finished c2/0 denied"},
			pending:  []string{"model 3/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP2 a denial is the result in mode never too",
			given:    checking("write"),
			when:     checked(1, api.CodeDenied),
			events:   []string{"tool_finished c1/0 denied"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check:    outputIs("the check says denied"),
		},
		{
			name:     "AP6 a check that fails is told as failed, not as a refusal",
			given:    checking("write"),
			when:     checked(1, api.CodeCheckFailed),
			events:   []string{"tool_finished c1/0 check_failed"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check:    outputIs("the check says check_failed"),
		},
		{
			name:     "a denied call is not checked again",
			given:    then(checking("write", "put"), checked(1, api.CodeDenied)),
			when:     checked(1, ""),
			pending:  []string{"check c2/0"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a call that passed is not denied afterwards",
			given:    then(checking("write"), checked(1, "")),
			when:     checked(1, api.CodeDenied),
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a check of nobody's call changes nothing",
			given:    checking("write"),
			when:     do(engine.Checked{CallID: "s-c9-9", Code: api.CodeDenied}),
			pending:  []string{"check c1/0"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a check for a start that nobody asked for changes nothing",
			given:    checking("write"),
			when:     checkedAtStart(1, ""),
			pending:  []string{"check c1/0"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a take-over asks the check again",
			given:    checking("write"),
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"check c1/0"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a cancel while it is checked ends the call, which never ran",
			given:    checking("write"),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "tool_finished c1/0 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 what the check says after the cancel changes nothing",
			given:    then(checking("free", "write"), checked(1, ""), begin, cancelCurrent),
			when:     checked(2, ""),
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a question goes through the check too, and is asked behind it with its text",
			agent:    worker(asking),
			given:    []move{say("hi"), begin, asksForChecked("ask_user")},
			when:     func(p *play) { p.do(engine.Checked{CallID: p.calls[0], Arguments: `{"question":"Which?"}`}) },
			events:   []string{"tool_checked c1:ask", "interaction_required i1 question c1"},
			activity: "waiting",
			check: func(t *testing.T, p *play) {
				if got := p.events[1].(engine.InteractionRequired).Question; got == nil || got.Text != "Which?" {
					t.Errorf("the person is asked %+v", got)
				}
			},
		},
	})
}

// AP3: a person lets a call run with other arguments.
func TestChangedArguments(t *testing.T) {
	t.Parallel()
	asked := []move{say("hi"), begin, asksFor("write")}
	changed := then(asked, change(1, `{"a": 2}`))
	tell(t, []story{
		{
			name:     "AP3 the answer alone starts nothing: the arguments are checked first",
			agent:    worker(always),
			given:    asked,
			when:     change(1, ` { "b" : [1, 2] , "a" : 2 } `),
			events:   []string{"interaction_resolved i1 allow"},
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.events[0].(engine.InteractionResolved).Arguments; got != `{"a":2,"b":[1,2]}` {
					t.Errorf("stored as %s", got)
				}
			},
		},
		{
			name:     "numbers stay as they were given, however long",
			agent:    worker(always),
			given:    asked,
			when:     change(1, `{"id":9007199254740993,"price":1.10,"html":"<b>&"}`),
			events:   []string{"interaction_resolved i1 allow"},
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.events[0].(engine.InteractionResolved).Arguments; got != `{"html":"<b>&","id":9007199254740993,"price":1.10}` {
					t.Errorf("stored as %s", got)
				}
			},
		},
		{
			name:     "AP3 a check that passes is the start, in one append, with the digest of what it runs with",
			agent:    worker(always),
			given:    changed,
			when:     checkedAtStart(1, ""),
			events:   []string{"tool_started c1/1 app.write changed"},
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.events[0].(engine.ToolStarted); got.Digest != "digest" || got.Epoch != 1 {
					t.Errorf("started as %+v", got)
				}
			},
		},
		{
			name:     "AP2 AP3 a check that denies at the start is the result: it never ran",
			agent:    worker(always),
			given:    changed,
			when:     checkedAtStart(1, api.CodeDenied),
			events:   []string{"tool_finished c1/0 denied"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check:    outputIs("the check says denied"),
		},
		{
			name:     "AP3 arguments that turn out not to match at the start are the result",
			agent:    worker(always),
			given:    changed,
			when:     checkedAtStart(1, api.CodeArgumentsInvalid),
			events:   []string{"tool_finished c1/0 arguments_invalid"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:  "a changed call does not begin without its check",
			agent: worker(always),
			given: changed,
			when: func(p *play) {
				p.do(engine.Begin{Effect: engine.Effect{Kind: engine.ToolEffect, Run: p.runs[0], CallID: p.calls[0], Attempt: 1}, Epoch: 1})
			},
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "the check before the decision is none for the start",
			agent:    worker(always),
			given:    changed,
			when:     checked(1, ""),
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "what passed once does not start a second time",
			agent:    worker(always),
			given:    then(changed, checkedAtStart(1, "")),
			when:     func(p *play) { p.do(engine.Checked{CallID: p.calls[0], Attempt: 1, Epoch: 1, Digest: "digest"}) },
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 a take-over before the start checks them again",
			agent:    worker(always),
			given:    changed,
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 a repeatable call that was lost is checked again before it starts again",
			agent:    worker(always),
			given:    []move{say("hi"), begin, asksFor("put"), change(1, `{"a":2}`), checkedAtStart(1, ""), takeOver},
			when:     checkedAtStart(1, ""),
			events:   []string{"tool_started c1/2 app.put changed"},
			pending:  []string{"tool c1/2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a person who has it run again has it run as changed, behind the check",
			agent:    worker(always),
			given:    then(changed, checkedAtStart(1, ""), takeOver, inspected(1, engine.InspectedUnknown, "")),
			when:     decide(2, api.OutcomeRetry, ""),
			events:   []string{"interaction_resolved i2 retry"},
			pending:  []string{"check c1/2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a cancel before the start ends it, and the check starts nothing any more",
			agent:    worker(always),
			given:    then([]move{say("hi"), begin, asksFor("write", "put")}, change(1, `{"a":2}`), decide(2, api.AllowOnce, ""), begin, cancelCurrent),
			when:     checkedAtStart(1, ""),
			due:      "+0s",
			activity: "active",
		},
		{
			name:  "RE3 a check that does not let it run again leaves open what the first run did",
			agent: worker(always),
			given: then(changed, checkedAtStart(1, ""), takeOver, inspected(1, engine.InspectedUnknown, ""), decide(2, api.OutcomeRetry, "")),
			when:  checkedAtStart(1, api.CodeDenied),
			check: func(t *testing.T, p *play) {
				got := p.events[0].(engine.ToolFinished)
				if got.Code != api.CodeOutcomeUnknown || !strings.Contains(got.Output, "inspected") || !strings.Contains(got.Output, "the check says denied") {
					t.Errorf("the result is %q, code %s", got.Output, got.Code)
				}
			},
			events:   []string{"tool_finished c1/1 outcome_unknown"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:  "RE3 nor does it of an action that would have been repeated without a word of anybody",
			agent: worker(always),
			given: []move{say("hi"), begin, asksFor("put"), change(1, `{"a":2}`), checkedAtStart(1, ""), takeOver},
			when:  checkedAtStart(1, api.CodeCheckFailed),
			check: func(t *testing.T, p *play) {
				if got := p.events[0].(engine.ToolFinished); !strings.Contains(got.Output, "the check says check_failed") {
					t.Errorf("the result is %q", got.Output)
				}
			},
			events:   []string{"tool_finished c1/1 outcome_unknown"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP4 changed arguments are for this call: a grant with them is refused",
			agent:    worker(always),
			given:    asked,
			when:     answerWith(1, api.Answer{Decision: api.AllowSession, Arguments: json.RawMessage(`{"a":2}`)}),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "changed arguments with a denial are refused",
			agent:    worker(always),
			given:    asked,
			when:     answerWith(1, api.Answer{Decision: api.Deny, Arguments: json.RawMessage(`{"a":2}`)}),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "AP3 the same arguments in another spelling and order are the same answer",
			agent:    worker(always),
			given:    then(asked, change(1, `{"a":1,"b":{"c":[1,2],"d":"é"}}`)),
			when:     change(1, "{\n  \"b\": {\"d\": \"\\u00e9\", \"c\": [ 1, 2 ]},\n  \"a\": 1\n}"),
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 other arguments are another answer",
			agent:    worker(always),
			given:    changed,
			when:     change(1, `{"a":3}`),
			code:     api.CodeAlreadyResolved,
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 the call's own arguments are another answer than changed ones",
			agent:    worker(always),
			given:    changed,
			when:     decide(1, api.AllowOnce, ""),
			code:     api.CodeAlreadyResolved,
			pending:  []string{"check c1/1"},
			due:      "+0s",
			activity: "active",
		},
	})
}

func TestChangedArgumentsAreAnObject(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{`null`, `[]`, `"x"`, `1`, `{`, `{} {}`, `nonsense`, ` `} {
		p := newPlay(t, worker(always)).play(say("hi"), begin, asksFor("write"))
		change(1, arguments)(p)
		if got := api.CodeOf(p.err); got != api.CodeInvalidRequest {
			t.Errorf("arguments %s gave %v", arguments, p.err)
			continue
		}
		if !strings.Contains(p.err.Error(), "object") || len(p.state.Interactions) != 1 {
			t.Errorf("arguments %s: %v, open %v", arguments, p.err, p.state.Interactions)
		}
	}
}

func TestAnAnswerIsRecognisedWhateverItsSpelling(t *testing.T) {
	t.Parallel()
	stored := engine.InteractionResolved{Decision: api.AllowOnce, By: "ann", Arguments: `{"a":1,"b":2}`}
	for arguments, want := range map[string]bool{`{"b": 2, "a": 1}`: true, `{"a":1,"b":2}`: true, `{"a":1}`: false, ``: false} {
		if got := stored.SameAs(api.Answer{Decision: api.AllowOnce, Arguments: json.RawMessage(arguments)}); got != want {
			t.Errorf("%s is the same answer: %t", arguments, got)
		}
	}
	several := engine.InteractionResolved{Decision: api.Answered, Answers: []string{"red", "blue"}}
	got := []bool{several.SameAs(api.Answer{Decision: api.Answered, Answers: []string{"red", "blue"}}),
		several.SameAs(api.Answer{Decision: api.Answered, Answers: []string{"blue", "red"}}), several.SameAs(api.Answer{Decision: api.Answered, Answers: []string{"redblue"}})}
	if diff := cmp.Diff([]bool{true, false, false}, got); diff != "" {
		t.Errorf("the same answers (-want +got):\n%s", diff)
	}
}

// outputIs checks the first result among the events.
func outputIs(want string) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		i := slices.IndexFunc(p.events, func(e engine.Event) bool { return e.Kind() == "tool_finished" })
		if i < 0 {
			t.Fatalf("there is no result among %v", p.lines(p.events))
		}
		if got := p.events[i].(engine.ToolFinished).Output; !strings.Contains(got, want) {
			t.Errorf("the model is told %q, not %q", got, want)
		}
	}
}

func autoApproved(want int) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		if got := p.state.Turn.AutoApproved; got != want {
			t.Errorf("approved by policy: %d, want %d", got, want)
		}
	}
}
