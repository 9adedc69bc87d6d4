package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// AP4: session grants, and taking them back.
func TestGrants(t *testing.T) {
	t.Parallel()
	granted := []move{say("hi"), begin, asksFor("write"), decide(1, api.AllowSession, ""), begin, returns(1, "ok"), begin}
	tell(t, []story{
		{
			name:     "AP4 a grant covers a call with other arguments, also after a restart",
			agent:    worker(always),
			given:    then(granted, takeOver, begin),
			when:     reply(engine.StopToolCalls, engine.Item{Kind: engine.ItemCall, Name: "write", Arguments: `{"quite":"other"}`}),
			events:   []string{"model_finished 3/1 tool_calls c2:grant"},
			pending:  []string{"tool c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "AP7 a grant of another tool does not cover a privileged action",
			agent:    worker(always, privileged),
			given:    granted,
			when:     asksFor("spawn", "make_agent"),
			events:   []string{"model_finished 2/1 tool_calls c2:ask c3:denied", "interaction_required i2 approval c2"},
			activity: "waiting",
		},
		{
			name:     "AP4 a grant that was revoked covers nothing",
			agent:    worker(always),
			given:    then(granted, revoke("app.write")),
			when:     asksFor("write"),
			events:   []string{"model_finished 2/1 tool_calls c2:ask", "interaction_required i2 approval c2"},
			activity: "waiting",
		},
		{
			name:     "AP4 a revoked grant holds for nothing that turned out not to have begun",
			agent:    worker(always),
			given:    then(granted, asksFor("write"), begin, takeOver, inspected(2, engine.InspectedNotStarted, "")),
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write", "interaction_required i2 approval c2"},
			activity: "waiting",
		},
		{
			name:  "AP4 nor for what its process gave back before its body began",
			agent: worker(always),
			given: then(granted, asksFor("write"), begin, func(p *play) {
				c := p.tool(2)
				p.do(engine.Interrupted{CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch, NotStarted: true})
			}),
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write", "interaction_required i2 approval c2"},
			activity: "waiting",
		},
		{
			name:     "AP4 a grant that is revoked is gone",
			agent:    worker(always),
			given:    granted,
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    grants(),
		},
		{
			name:     "AP4 a revocation leaves the grants of other tools",
			agent:    worker(always),
			given:    []move{say("hi"), begin, asksFor("write", "put"), decide(1, api.AllowSession, ""), decide(2, api.AllowSession, "")},
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write"},
			pending:  []string{"tool c1/1", "tool c2/1"}, // what a person has let run itself runs
			due:      "+0s",
			activity: "active",
			check:    grants("app.put"),
		},
		{
			name:     "AP4 a call that the grant let pass and that has not begun is asked about after all",
			agent:    worker(always),
			given:    then(granted, asksFor("write", "write")),
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write", "interaction_required i2 approval c2", "interaction_required i3 approval c3"},
			activity: "waiting",
			check:    open("i2", "i3"),
		},
		{
			name:     "AP4 a call that runs under the grant goes on",
			agent:    worker(always),
			given:    then(granted, asksFor("write"), begin),
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write"},
			pending:  []string{"tool c2/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    grants(),
		},
		{
			name:     "AP4 a call that the check holds is asked about behind it once the grant is revoked",
			agent:    worker(always),
			given:    then(granted, asksForChecked("write"), revoke("app.write")),
			when:     checked(2, ""),
			events:   []string{"tool_checked c2:ask", "interaction_required i2 approval c2"},
			activity: "waiting",
		},
		{
			name:     "AP4 a grant is given again after it was revoked",
			agent:    worker(always),
			given:    then(granted, asksFor("write"), revoke("app.write")),
			when:     decide(2, api.AllowSession, ""),
			events:   []string{"interaction_resolved i2 allow_session"},
			pending:  []string{"tool c2/1"},
			due:      "+0s",
			activity: "active",
			check:    grants("app.write"),
		},
		{
			name:     "AP4 revoking in an idle session",
			agent:    worker(always),
			given:    then(granted, says("done")),
			when:     revoke("app.write"),
			events:   []string{"grant_revoked app.write"},
			activity: "idle",
			check:    grants(),
		},
		{
			name:     "revoking what was not granted changes nothing",
			agent:    worker(always),
			given:    granted,
			when:     revoke("app.put"),
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    grants("app.write"),
		},
		{
			name:     "revoking twice changes nothing",
			agent:    worker(always),
			given:    then(granted, revoke("app.write")),
			when:     revoke("app.write"),
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a tool that the agent does not have is refused",
			agent:    worker(always),
			given:    granted,
			when:     revoke("app.nothing"),
			code:     api.CodeInvalidRequest,
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    grants("app.write"),
		},
		{
			name:     "a tool is named as in the catalogue, not as to the model",
			agent:    worker(always),
			given:    granted,
			when:     revoke("write"),
			code:     api.CodeInvalidRequest,
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
			check:    grants("app.write"),
		},
	})
}

// The owner decides on an answer without knowing that another process has revoked the grant meanwhile.
func TestAGrantThatIsRevokedWhileTheAnswerIsOnItsWayCoversNothing(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(always)).play(say("hi"), begin, asksFor("write"), decide(1, api.AllowSession, ""), begin, returns(1, "ok"), begin)
	events, _, err := engine.Decide(p.state, p.modelDone(engine.StopToolCalls, 10, call("write")), engine.Env{Now: p.now})
	if err != nil {
		t.Fatal(err)
	}
	p.play(revoke("app.write"))
	p.append(p.state.Time, events[0])
	if p.state, err = engine.Apply(p.state, p.facts[len(p.facts)-1]); err != nil {
		t.Fatal(err)
	}
	if got := pending(p); len(got) != 0 {
		t.Errorf("pending %v", got)
	}
	p.play(advance)
	if diff := cmp.Diff([]string{"interaction_required i2 approval c2"}, p.lines(p.events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func grants(want ...string) func(*testing.T, *play) {
	return func(t *testing.T, p *play) {
		t.Helper()
		var got []string
		for _, g := range p.state.Grants {
			got = append(got, g.Tool)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("grants (-want +got):\n%s", diff)
		}
	}
}
