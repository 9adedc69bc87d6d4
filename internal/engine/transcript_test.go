package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
)

func transcribe(p *play) *engine.Transcript {
	t := engine.NewTranscript()
	for _, f := range p.facts {
		t.Apply(f)
	}
	return t
}

// conversation is one line an entry, with short names and the beginning of each text.
func conversation(p *play) []string {
	var out []string
	for _, e := range transcribe(p).Entries() {
		words := []string{string(e.Kind)}
		if e.CallID != "" {
			words = append(words, p.short(e.CallID+"\x00"))
		}
		switch {
		case e.Open:
			words = append(words, "open")
		case e.Code != "":
			words = append(words, string(e.Code))
		case e.Kind == engine.EntryCall:
			words = append(words, e.Name)
		default:
			words = append(words, e.Text[:min(len(e.Text), 12)])
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func TestConversations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent engine.Agent
		moves []move
		want  []string
	}{
		"RU7 results stand in call order, right behind their answer, whatever order they came in": {
			worker(), []move{say("hi"), begin, asksFor("write", "read"), begin, returns(2, "b"), returns(1, "a")},
			[]string{"user hi", "tool_call c1 write", "tool_call c2 read", "tool_result c1 a", "tool_result c2 b"},
		},
		"a result that is not there yet keeps its place": {
			worker(), []move{say("hi"), begin, asksFor("write", "read"), begin, returns(2, "b")},
			[]string{"user hi", "tool_call c1 write", "tool_call c2 read", "tool_result c1 open", "tool_result c2 b"},
		},
		"RU8 the verdict on a refused call is its result": {
			worker(), []move{say("hi"), begin, asksFor("nothing", "read"), begin, returns(2, "b")},
			[]string{"user hi", "tool_call c1 nothing", "tool_call c2 read", "tool_result c1 unknown_tool", "tool_result c2 b"},
		},
		"a queued message stands where its turn starts": {
			worker(), []move{say("hi"), begin, queued("next"), says("hello")},
			[]string{"user hi", "assistant hello", "user next"},
		},
		"an interrupting message stands ahead of the queue": {
			worker(), []move{say("hi"), queued("next"), interrupt("now")},
			[]string{"user hi", "user now"},
		},
		"a queued message that was cancelled is not told": {
			worker(), []move{say("hi"), queued("never"), queued("next"), cancelRun(2), begin, says("hello")},
			[]string{"user hi", "assistant hello", "user next"},
		},
		"reasoning, text and calls keep their order": {
			worker(), []move{say("hi"), begin, reply(engine.StopToolCalls, reasoning("hm"), text("look"), call("read")), begin, returns(1, "a")},
			[]string{"user hi", "reasoning hm", "assistant look", "tool_call c1 read", "tool_result c1 a"},
		},
		"C02 C03 a cancel leaves no hole": {
			worker(), []move{say("hi"), begin, asksFor("write", "write"), begin, cancelCurrent, returns(2, "b"), overdue(1), say("again")},
			[]string{"user hi", "tool_call c1 write", "tool_call c2 write", "tool_result c1 outcome_unknown", "tool_result c2 b", "user again"},
		},
		"a late outcome is a notice ahead of the next turn's message": {
			worker(), []move{say("hi"), begin, asksFor("write"), begin, cancelCurrent, overdue(1), returnsOf(1, 1, 1, "it was done"), say("and?")},
			[]string{"user hi", "tool_call c1 write", "tool_result c1 outcome_unknown", "notice c1 Notice from ", "user and?"},
		},
		"a late outcome is told once": {
			worker(), []move{say("hi"), begin, asksFor("write"), begin, cancelCurrent, overdue(1), returnsOf(1, 1, 1, "it was done"), say("and?"), begin, says("well"), say("so")},
			[]string{"user hi", "tool_call c1 write", "tool_result c1 outcome_unknown", "notice c1 Notice from ", "user and?", "assistant well", "user so"},
		},
		"a late outcome waits while a turn is under way": {
			worker(), []move{say("hi"), begin, asksFor("write"), begin, cancelCurrent, overdue(1), say("more"), returnsOf(1, 1, 1, "it was done"), begin, says("well")},
			[]string{"user hi", "tool_call c1 write", "tool_result c1 outcome_unknown", "user more", "assistant well"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, test.agent).play(test.moves...)
			if diff := cmp.Diff(test.want, conversation(p)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// C05 C40: whatever the model gave as ID, name and arguments, the next request is one that providers accept.
func TestWhatTheModelGotWrongDoesNotSpoilTheNextRequest(t *testing.T) {
	t.Parallel()
	twin := engine.Item{Kind: engine.ItemCall, CallID: "call_1", Name: "read", Arguments: `{}`}
	bad := engine.Item{Kind: engine.ItemCall, CallID: "call_1", Name: strings.Repeat("ä", 99), Arguments: `{"a":`}
	p := newPlay(t, worker()).play(say("hi"), begin, reply(engine.StopToolCalls, twin, bad, twin), begin, returns(1, ""), returns(3, "x"),
		begin, reply(engine.StopOutputLimit, bad, twin), begin)
	req := request(transcribe(p).Entries())
	if err := model.Check(req); err != nil {
		t.Fatal(err)
	}
	if n := len(p.calls); n != 5 {
		t.Errorf("%d calls, want 5", n)
	}
}

func TestTheTranscriptFindsAnOpenCall(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi", func(m *engine.Message) { m.Addendum = "be brief" }), begin, asksFor("write", "read"), begin, returns(1, "a"))
	tr := transcribe(p)
	if _, ok := tr.Call(p.calls[0]); ok {
		t.Error("a call with a result is open")
	}
	if _, ok := tr.Call("x"); ok {
		t.Error("an unknown call is open")
	}
	if c, ok := tr.Call(p.calls[1]); !ok || c.Name != "read" || c.Arguments != `{"a":1}` {
		t.Errorf("the open call is %+v, %t", c, ok)
	}
	if tr.Head() != p.state.Head || tr.Guidance().Addendum != "be brief" || tr.Bytes() < 160*5 {
		t.Errorf("head %d, addendum %q, bytes %d", tr.Head(), tr.Guidance().Addendum, tr.Bytes())
	}
	before := conversation(p)
	tr.Apply(p.facts[1])
	if diff := cmp.Diff(len(before), len(tr.Entries())); diff != "" {
		t.Errorf("a fact that was applied already counts again:\n%s", diff)
	}
}

func TestUnknownActionsAndWaitingAreTold(t *testing.T) { // SE3
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi"), begin, asksFor("write", "write"), begin, takeOver, inspected(1, engine.InspectedUnknown, ""))
	want := []api.UnknownAction{{CallID: p.calls[0], Tool: "app.write", Attempt: 1, Interaction: p.asks[0]}, {CallID: p.calls[1], Tool: "app.write", Attempt: 1}}
	if diff := cmp.Diff(want, engine.UnknownActions(p.state)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if engine.Waiting(p.state) {
		t.Error("it waits for people only, though an inspection is due")
	}
	p.play(inspected(2, engine.InspectedUnknown, ""))
	if !engine.Waiting(p.state) {
		t.Error("it does not wait for people")
	}
	p.play(cancelCurrent)
	want[0].Interaction = ""
	if diff := cmp.Diff(want, engine.UnknownActions(p.state)); diff != "" {
		t.Errorf("after the turn (-want +got):\n%s", diff)
	}
	var told []api.Interaction
	for _, f := range p.facts {
		if in, ok := engine.PublicInteraction(f); ok {
			told = append(told, in)
		}
	}
	if len(told) != 2 || told[0].ID != p.asks[0] || told[0].Call.CallID != p.calls[0] || told[0].Kind != api.InteractionUnknownOutcome {
		t.Errorf("interactions as told: %+v", told)
	}
}
