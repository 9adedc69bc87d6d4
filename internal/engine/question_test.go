package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// askUser is a call of ask_user.
func askUser(arguments string) engine.Item {
	return engine.Item{Kind: engine.ItemCall, Name: "ask_user", Arguments: arguments}
}

const colours = `{"question":"Which colour?","choices":[{"label":"red","description":"like a rose"},{"label":"blue"}],"multiple":true}`

// AP9: the model asks a person.
func TestQuestions(t *testing.T) {
	t.Parallel()
	asks := reply(engine.StopToolCalls, askUser(colours))
	asked := []move{say("hi"), begin, asks}
	opens := []string{"model_finished 1/1 tool_calls c1:ask", "interaction_required i1 question c1"}
	skips := append(opens[:2:2], "interaction_resolved i1 skipped by agent", "tool_finished c1/0")
	skipped := story{events: skips, pending: []string{"model 2/1"}, due: "+0s", activity: "active", given: []move{say("hi"), begin}, when: asks}
	waits := story{events: opens, activity: "waiting", given: []move{say("hi"), begin}, when: asks}
	of := func(name string, s story, agent engine.Agent, more ...move) story {
		s.name, s.agent, s.given = name, agent, append(more, s.given...)
		return s
	}
	tell(t, []story{
		{
			name:     "AP9 a question is an interaction of its own kind, with its text and choices",
			agent:    worker(asking),
			given:    []move{say("hi"), begin},
			when:     asks,
			events:   opens,
			activity: "waiting",
			check: func(t *testing.T, p *play) {
				want := &api.Question{Text: "Which colour?", Choices: []api.Choice{{Label: "red", Description: "like a rose"}, {Label: "blue"}}, Multiple: true}
				if diff := cmp.Diff(want, p.events[1].(engine.InteractionRequired).Question); diff != "" {
					t.Errorf("question (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "AP9 a question without choices has its text alone",
			agent:    worker(asking),
			given:    []move{say("hi"), begin},
			when:     reply(engine.StopToolCalls, askUser(`{"question":"Why?"}`)),
			events:   opens,
			activity: "waiting",
			check: func(t *testing.T, p *play) {
				if diff := cmp.Diff(&api.Question{Text: "Why?"}, p.events[1].(engine.InteractionRequired).Question); diff != "" {
					t.Errorf("question (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "AP9 several answers are the result",
			agent:    worker(asking),
			given:    asked,
			when:     answerWith(1, api.Answer{Decision: api.Answered, Answers: []string{"red", `none of "these" <b>`}}),
			events:   []string{"interaction_resolved i1 answered", "tool_finished c1/0"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check:    outputIs(`{"answers":["red","none of \"these\" <b>"]}`),
		},
		{
			name:     "AP9 a skipped question is no failure, and the model is told to go on",
			agent:    worker(asking),
			given:    asked,
			when:     answerWith(1, api.Answer{Decision: api.Skipped, Reason: "no time"}),
			events:   []string{"interaction_resolved i1 skipped", "tool_finished c1/0"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				outputIs("Go on with your own judgement")(t, p)
				outputIs(`"no time"`)(t, p)
			},
		},
		{
			name:     "an answered question without answers is refused",
			agent:    worker(asking),
			given:    asked,
			when:     answerWith(1, api.Answer{Decision: api.Answered}),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "a skipped question with answers is refused",
			agent:    worker(asking),
			given:    asked,
			when:     answerWith(1, api.Answer{Decision: api.Skipped, Answers: []string{"red"}}),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "AP4 a question is not allowed for the session: it is no approval",
			agent:    worker(asking),
			given:    asked,
			when:     decide(1, api.AllowSession, ""),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check: func(t *testing.T, p *play) {
				open("i1")(t, p)
				if !strings.Contains(p.err.Error(), `"answered", "skipped"`) {
					t.Errorf("the refusal %v does not say what answers it", p.err)
				}
			},
		},
		{
			name:     "an approval is not answered with text",
			agent:    worker(always),
			given:    []move{say("hi"), begin, asksFor("write")},
			when:     answerWith(1, api.Answer{Decision: api.Answered, Answers: []string{"yes"}}),
			code:     api.CodeInvalidRequest,
			activity: "waiting",
			check:    open("i1"),
		},
		{
			name:     "AP3 the same answers again change nothing",
			agent:    worker(asking),
			given:    then(asked, answerWith(1, api.Answer{Decision: api.Answered, Answers: []string{"red"}})),
			when:     answerWith(1, api.Answer{Decision: api.Answered, Answers: []string{"red"}}),
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP3 other answers are refused",
			agent:    worker(asking),
			given:    then(asked, answerWith(1, api.Answer{Decision: api.Answered, Answers: []string{"red"}})),
			when:     answerWith(1, api.Answer{Decision: api.Answered, Answers: []string{"red", "blue"}}),
			code:     api.CodeAlreadyResolved,
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP8 a question waits beside an action that runs",
			agent:    worker(asking),
			given:    []move{say("hi"), begin, reply(engine.StopToolCalls, askUser(colours), call("write"))},
			when:     begin,
			events:   []string{"tool_started c2/1 app.write"},
			pending:  []string{"tool c2/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    open("i1"),
		},
		{
			name:     "RU5 a cancel closes the question",
			agent:    worker(asking),
			given:    asked,
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann", "interaction_resolved i1 cancelled", "tool_finished c1/0 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "AP9 a question that is off is refused",
			given:    []move{say("hi"), begin},
			when:     asks,
			events:   []string{"model_finished 1/1 tool_calls c1:tool_disabled"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		of("AP9 an agent that skips questions skips it at once", skipped, worker(asking, skipping)),
		of("AP9 a session that skips questions skips it, whatever the agent says", skipped, worker(asking), skipQuestions(true)),
		of("AP9 a session that does not skip questions asks, whatever the agent says", waits, worker(asking, skipping), skipQuestions(false)),
		of("AP9 skipping questions is no approval setting: an action is still asked about",
			story{given: []move{say("hi"), begin}, when: asksFor("write"), events: []string{"model_finished 1/1 tool_calls c1:ask", "interaction_required i1 approval c1"}, activity: "waiting"},
			worker(always, asking, skipping)),
	})
}

// skipQuestions begins the session anew with a word of its own on questions.
func skipQuestions(skip bool) move {
	return func(p *play) {
		*p = play{t: p.t, agent: p.agent, state: &engine.State{Session: "s"}, now: p.now, epoch: 1}
		p.must(engine.Create{Event: engine.SessionCreated{Secret: []byte("secret"), Agent: p.agent, AutoSkipQuestions: &skip}})
	}
}

// The answer was stored alone, and its question is opened by somebody who does not have the arguments at hand.
func TestAQuestionThatIsOpenedWithoutItsArgumentsStillTakesSeveralAnswers(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(asking)).play(say("hi"), begin)
	answer, _, err := engine.Decide(p.state, p.modelDone(engine.StopToolCalls, 10, askUser(colours)), engine.Env{Now: p.now})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := engine.Apply(p.state, engine.Fact{Number: p.state.Head + 1, Time: p.state.Time, Event: answer[0]})
	if err != nil {
		t.Fatal(err)
	}
	opened, open, err := engine.Decide(bare, engine.Advance{}, engine.Env{Now: p.now})
	if err != nil || len(opened) != 1 {
		t.Fatalf("got %+v, %v; want one interaction", opened, err)
	}
	asked := opened[0].(engine.InteractionRequired)
	both := engine.Answer{Interaction: asked.ID, Answer: api.Answer{Decision: api.Answered, Answers: []string{"red", "blue"}}}
	if events, _, err := engine.Decide(open, both, engine.Env{Now: p.now}); err != nil || !asked.Question.Multiple {
		t.Errorf("asked as %+v; two answers give %+v, %v", asked.Question, events, err)
	}
}
