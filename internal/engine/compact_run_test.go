package engine_test

import (
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// A run of its own that summarises and ends.
func TestCompactRuns(t *testing.T) {
	t.Parallel()
	past := []move{say("hi"), begin, says("hello")}
	asked := then(past, say("", compactNow))
	tell(t, []story{
		{
			name:     "it asks for a summary and for no model call",
			given:    past,
			when:     say("", compactNow),
			events:   []string{"turn_accepted r2"},
			pending:  []string{"compact 1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "it goes on behind a summary: one call may not have been shown all that is older",
			given:    then(asked, summarises),
			when:     summarised,
			events:   []string{"compaction_finished 1"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "it ends when there is nothing more to summarise",
			given:    then(asked, summarises, summarised),
			when:     plan(engine.Plan{}),
			events:   []string{"turn_ended r2 completed"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if got := p.events[0].(engine.TurnEnded); got.Auxiliary != summaryUsage || got.Usage != summaryUsage || got.Calls != 0 {
					t.Errorf("ended as %+v", got)
				}
			},
		},
		{
			name:     "it ends at once where there is nothing to summarise",
			given:    asked,
			when:     plan(engine.Plan{}),
			events:   []string{"turn_ended r2 completed"},
			activity: "idle",
		},
		{
			name:     "it ends where nothing can be summarised: that is no failure of it",
			given:    asked,
			when:     isFull(engine.Full{Item: "the newest answer", Bytes: 9, Room: 3}),
			events:   []string{"turn_ended r2 completed"},
			activity: "idle",
		},
		{
			name:     "it ends where entries were only shortened",
			given:    then(asked, plan(engine.Plan{ItemBytes: 512, Bytes: 90})),
			when:     plan(engine.Plan{}),
			events:   []string{"turn_ended r2 completed"},
			activity: "idle",
		},
		{
			name:     "it fails where the summary fails",
			given:    then(asked, summarises),
			when:     summaryFails(api.CodeQuotaExhausted, false),
			events:   []string{"compaction_failed 1 quota_exhausted final", "turn_ended r2 failed quota_exhausted"},
			activity: "idle",
		},
		{
			name:     "SE4 it waits in the queue like a message",
			given:    []move{say("hi"), begin, say("", compactNow, busy(api.BusyQueue))},
			when:     says("hello"),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed", "turn_started r2"},
			pending:  []string{"compact 1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "SE4 it is refused in a busy session",
			given:    []move{say("hi"), begin},
			when:     say("", compactNow),
			code:     api.CodeSessionBusy,
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "SE4 a message waits behind it",
			given:    then(asked, queued("next"), summarises, summarised),
			when:     plan(engine.Plan{}),
			events:   []string{"turn_ended r2 completed", "turn_started r3"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU5 it is cancelled at once where its summary has not begun",
			given:    asked,
			when:     cancelCurrent,
			events:   []string{"cancel_requested r2 by ann", "turn_ended r2 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 it is cancelled in the queue",
			given:    []move{say("hi"), begin, say("", compactNow, busy(api.BusyQueue))},
			when:     cancelRun(2),
			events:   []string{"turn_ended r2 cancelled"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 it goes on behind a take-over",
			given:    then(asked, summarises, takeOver),
			when:     summarises,
			events:   []string{"compaction_started 2 of 3 items"},
			pending:  []string{"compact 2 runs"},
			due:      "+0s",
			activity: "active",
		},
	})
}
