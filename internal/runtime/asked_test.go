package runtime_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// agentOf may pay, and ask, in a mode.
func agentOf(mode api.ApprovalMode) engine.Agent {
	model := api.ModelRef{Provider: "P", Name: "m"}
	return engine.Agent{Name: "a", Digest: "d", Model: model, Reviewer: model, Mode: mode, UnknownOutcome: api.OutcomeAsk, Tools: []engine.Tool{
		{Name: "app.pay", ModelName: "app__pay", Effect: api.SideEffect, Ask: true},
		{Name: "ask_user", ModelName: "ask_user", Effect: api.ReadOnly, Free: true, Question: true},
	}}
}

// AP8, LI3: an answer of many calls has as many reviews, or checks of the application, at once as it has bodies. The
// others begin as these end, and none is left out.
func TestReviewsAndChecksAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	const calls, parallel = 11, 4 // of the rig
	for name, test := range map[string]struct {
		mode api.ApprovalMode
		kind engine.EffectKind
		ends func(runtime.Start) engine.Command
	}{
		"reviews": {api.ApproveAuto, engine.ReviewEffect, func(s runtime.Start) engine.Command {
			return engine.Reviewed{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Epoch, Review: api.Review{Verdict: api.ReviewDeny}}
		}},
		"checks": {api.ApproveNever, engine.CheckEffect, func(s runtime.Start) engine.Command {
			return engine.Checked{CallID: s.Effect.CallID, Code: api.CodeDenied, Message: "no"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOf(t, agentOf(test.mode))
			r.send("pay them all")
			asked, _ := r.begun()
			r.step(runtime.Done{Ticket: asked.Ticket, Command: engine.ModelDone{Run: asked.Effect.Run, Call: 1, Attempt: 1, Epoch: asked.Epoch,
				Items: slices.Repeat([]engine.Item{pay}, calls), HardChecks: test.kind == engine.CheckEffect}})
			begun := func() []runtime.Start {
				return slices.DeleteFunc(slices.Clone(r.starts), func(s runtime.Start) bool { return s.Effect.Kind != test.kind })
			}
			var of []string
			for ended := range calls {
				if want := min(calls, ended+parallel); len(begun()) != want {
					t.Fatalf("behind %d ends %d have begun, want %d", ended, len(begun()), want)
				}
				s := begun()[ended]
				of = append(of, s.Effect.CallID)
				r.step(runtime.Done{Ticket: s.Ticket, Command: test.ends(s)})
			}
			if slices.Sort(of); len(slices.Compact(of)) != calls {
				t.Errorf("they were about %q", of)
			}
			if last, _ := r.begun(); last.Effect.Kind != engine.ModelEffect || last.Effect.Call != 2 {
				t.Errorf("what began last is %s; want the next model call", last.Effect.Key())
			}
		})
	}
}

// required are the questions that the journal puts.
func (r *rig) required() (asked []engine.InteractionRequired) {
	r.t.Helper()
	records, err := r.mem.Records(r.t.Context(), store.RecordQuery{Session: "s"})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, record := range records {
		e, err := engine.Decode(engine.Kind(record.Kind), record.Version, record.Data)
		if err != nil {
			r.t.Fatal(err)
		}
		if e, ok := e.(engine.InteractionRequired); ok {
			asked = append(asked, e)
		}
	}
	return asked
}

// AP3, AP4: a person is asked with the arguments also where the decision to ask has not the model's answer at hand.
func TestARevokedGrantAsksWithTheCallsArguments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		here bool // the conversation is
		want []string
	}{
		"in the process that runs the session":         {true, []string{`{"n":4}`, `{"n":5}`}},
		"in one that has not read what the model said": {false, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOf(t, agentOf(api.ApproveAlways))
			r.send("pay")
			r.answer(pay)
			r.step(runtime.Submit{Command: engine.Answer{Interaction: r.required()[0].ID, Answer: api.Answer{Decision: api.AllowSession}}, Waiter: 2})
			body, _ := r.begun()
			r.step(runtime.Done{Ticket: body.Ticket, Command: engine.ToolOutcome{CallID: body.Effect.CallID, Attempt: 1, Epoch: body.Epoch}})
			var calls []engine.Item
			for _, arguments := range []string{`{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`, `{"n":5}`} {
				calls = append(calls, engine.Item{Kind: engine.ItemCall, Name: "app__pay", Arguments: arguments})
			}
			r.answer(calls...) // four of them run
			if !test.here {
				r.lacks = engine.Needs(r.actor.State())[0]
				r.load()
			}
			r.step(runtime.Submit{Command: engine.Revoke{Tool: "app.pay", By: "ann"}, Waiter: 3})
			var got []string
			for _, asked := range r.required()[1:] {
				got = append(got, asked.Arguments)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the arguments (-want +got):\n%s", diff)
			}
		})
	}
}

// AP9: the process that stored the answer of the model ended before it put the question.
func TestAQuestionThatAnotherProcessPutsHasItsText(t *testing.T) {
	t.Parallel()
	r := rigOf(t, agentOf(api.ApproveNever))
	r.send("hi")
	s, _ := r.begun()
	state := r.actor.State()
	answer, _, err := engine.Decide(state, engine.ModelDone{Run: s.Effect.Run, Call: 1, Attempt: 1, Epoch: s.Epoch, Items: []engine.Item{{Kind: engine.ItemCall, Name: "ask_user",
		Arguments: `{"question":"Which colour?","choices":[{"label":"red","description":"like a rose"},{"label":"blue"}],"multiple":true}`}}}, engine.Env{Now: r.now})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := engine.Apply(state, engine.Fact{Number: state.Head + 1, Time: r.now, Event: answer[0]})
	if err != nil {
		t.Fatal(err)
	}
	r.step(runtime.Moved{Head: r.stored(state.Head, bare, answer[0])})
	want := &api.Question{Text: "Which colour?", Choices: []api.Choice{{Label: "red", Description: "like a rose"}, {Label: "blue"}}, Multiple: true}
	if asked := r.required(); len(asked) != 1 {
		t.Fatalf("asked are %+v", asked)
	} else if diff := cmp.Diff(want, asked[0].Question); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
	r.want("turn_accepted", "model_started", "model_finished", "interaction_required")
}
