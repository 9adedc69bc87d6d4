package engine_test

import (
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// GR1, GR4: hooks and guardrails see an output before the journal does.
func TestScreenedResults(t *testing.T) {
	t.Parallel()
	ran := func(tool string) []move { return []move{say("hi"), begin, asksFor(tool), begin} }
	tell(t, []story{
		{
			name:     "a body that has returned is stored as such, without its output",
			given:    ran("write"),
			when:     screened(1, ""),
			events:   []string{"tool_returned c1/1"},
			pending:  []string{"screen c1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				stored, err := engine.Encode(p.events[0])
				if err != nil {
					t.Fatal(err)
				}
				if want := `{"run":"` + p.runs[0] + `","call_id":"` + p.calls[0] + `","attempt":1}`; string(stored.Data) != want {
					t.Errorf("stored as %s, want %s", stored.Data, want)
				}
			},
		},
		{
			name:     "what hooks and guardrails made of it is the result",
			given:    then(ran("write"), screened(1, "")),
			when:     returns(1, "redacted"),
			events:   []string{"tool_finished c1/1"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check:    outputIs("redacted"),
		},
		{
			name:     "a result that was blocked is a failed one",
			given:    then(ran("write"), screened(1, "")),
			when:     outcome(1, "withheld", api.CodeGuardrailBlocked),
			events:   []string{"tool_finished c1/1 guardrail_blocked"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a body returns once",
			given:    then(ran("write"), screened(1, "")),
			when:     screened(1, api.CodeToolFailed),
			pending:  []string{"screen c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a body that has its result does not return any more",
			given:    then(ran("write"), returns(1, "ok")),
			when:     screened(1, ""),
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a body of an attempt that was lost does not return for the next one",
			given:    then(ran("put"), takeOver, begin),
			when:     func(p *play) { p.do(engine.Returned{CallID: p.calls[0], Attempt: 1, Epoch: 1}) },
			pending:  []string{"tool c1/2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU7 AP8 others go on while an output is looked at",
			given:    then([]move{say("hi"), begin, asksFor("write", "read"), begin}, screened(1, "")),
			when:     returns(2, "read"),
			events:   []string{"tool_finished c2/1"},
			pending:  []string{"screen c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a cancel waits for the result of what has returned",
			given:    then(ran("write"), screened(1, "")),
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann"},
			pending:  []string{"screen c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a body that returns behind the cancel is looked at too: what was done is done",
			given:    then(ran("write"), cancelCurrent),
			when:     screened(1, ""),
			events:   []string{"tool_returned c1/1"},
			pending:  []string{"screen c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 its result is stored, and the run ends",
			given:    then(ran("write"), screened(1, ""), cancelCurrent),
			when:     returns(1, "redacted"),
			events:   []string{"tool_finished c1/1", "turn_ended r1 cancelled"},
			activity: "idle",
			check:    outputIs("redacted"),
		},
		{
			name:     "a call whose output is looked at is not overdue: its body has returned",
			given:    then(ran("write"), screened(1, ""), cancelCurrent),
			when:     overdue(1),
			pending:  []string{"screen c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE3 a side effect whose output is lost in a take-over has succeeded, and is not to be repeated",
			given:    then(ran("write"), screened(1, "")),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_finished c1/1 output_lost"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				outputIs("This action took effect")(t, p)
				outputIs("Do not repeat the action")(t, p)
			},
		},
		{
			name:     "AP6 a side effect that had failed is told as failed where its report is lost",
			given:    then(ran("write"), screened(1, api.CodeToolFailed)),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_finished c1/1 tool_failed"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check:    outputIs("This action failed"),
		},
		{
			name:     "RE2 an idempotent action whose output is lost in a take-over runs again",
			given:    then(ran("put"), screened(1, "")),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_lost c1/1 again"},
			pending:  []string{"tool c1/2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE2 a read whose output is lost in a take-over runs again",
			given:    then(ran("read"), screened(1, api.CodeToolFailed)),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_lost c1/1 again"},
			pending:  []string{"tool c1/2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 a take-over of a cancelled turn runs nothing again",
			given:    then(ran("read"), screened(1, ""), cancelCurrent),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_lost c1/1 again", "tool_finished c1/1 cancelled", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 a take-over of a cancelled turn tells that a side effect took effect",
			given:    then(ran("write"), screened(1, ""), cancelCurrent),
			when:     takeOver,
			events:   []string{"taken_over 2", "tool_finished c1/1 output_lost", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "an output that nobody has any more is lost",
			given:    then(ran("write"), screened(1, "")),
			when:     interrupted(1),
			events:   []string{"tool_finished c1/1 output_lost"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a result that comes behind the lost output is dropped: the call has one",
			given:    then(ran("write"), screened(1, ""), takeOver),
			when:     returnsOf(1, 1, 1, "late"),
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
	})
}
