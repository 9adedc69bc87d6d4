package engine_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// CO1: older history is summarised before a call that would not fit.
func TestCompaction(t *testing.T) {
	t.Parallel()
	before := []move{say("hi")}
	running := then(before, summarises)
	tell(t, []story{
		{
			name:     "CO1 a summary begins with its intent, and no call begins beside it",
			given:    before,
			when:     summarises,
			events:   []string{"compaction_started 1 of 3 items"},
			pending:  []string{"compact 1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "CO1 the model call comes behind the summary",
			given:    running,
			when:     summarised,
			events:   []string{"compaction_finished 1"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				want := engine.Plan{Keep: 5, Items: 3, Bytes: 100}
				got := p.events[0].(engine.CompactionFinished)
				if !reflect.DeepEqual(got.Plan, want) || got.Summary != "what was" || got.Tokens <= 0 {
					t.Errorf("finished as %+v", got)
				}
				if b := p.state.Context.Bytes; b < 100+len("what was") || b > 400 {
					t.Errorf("the context is of %d bytes", b)
				}
			},
		},
		{
			name:     "CO3 what is only shortened needs no call to a model",
			given:    before,
			when:     plan(engine.Plan{ItemBytes: 512, Bytes: 600}),
			events:   []string{"compaction_finished 0 shortened"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if b := p.state.Context.Bytes; b != 600 {
					t.Errorf("the context is of %d bytes", b)
				}
				auxiliary(api.Usage{})(t, p)
			},
		},
		{
			name:     "CO3 what cannot be made to fit ends the run, naming the item",
			given:    then(before, queued("next")),
			when:     isFull(engine.Full{Item: "the message of run s-r2", Bytes: 90_000, Room: -5}),
			events:   []string{"turn_ended r1 failed context_exhausted", "turn_started r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				m := p.events[0].(engine.TurnEnded).Message
				for _, want := range []string{"the message of run s-r2", "90000 bytes", "about 0 are left"} {
					if !strings.Contains(m, want) {
						t.Errorf("the message %q does not say %q", m, want)
					}
				}
			},
		},
		{
			name:     "what cannot be made smaller is tried as it is: the provider may take what an estimate forbids",
			given:    before,
			when:     plan(engine.Plan{}),
			events:   []string{"compaction_finished 0"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if !engine.Fits(p.state, 1<<20, 100) {
					t.Error("it does not fit, and would be planned for again")
				}
			},
		},
		{
			name:     "C45 and that once",
			given:    then(before, plan(engine.Plan{})),
			when:     plan(engine.Plan{}),
			events:   []string{"turn_ended r1 failed context_exhausted"},
			activity: "idle",
		},
		{
			name:     "once something was summarised after all, the rest is tried again",
			given:    then(before, plan(engine.Plan{}), begin, fails(api.CodeContextExhausted, false), summarises, summarised),
			when:     plan(engine.Plan{}),
			events:   []string{"compaction_finished 0"},
			pending:  []string{"model 1/2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C45 what overflowed when it was tried ends the run",
			given:    then(before, plan(engine.Plan{}), begin, fails(api.CodeContextExhausted, false)),
			when:     plan(engine.Plan{}),
			events:   []string{"turn_ended r1 failed context_exhausted"},
			activity: "idle",
		},
		{
			name:     "LI6 a summary is counted in the usage and not in the turn's budget, nor as a call",
			agent:    worker(limited(limits(1, 50, 40, 5))),
			given:    running,
			when:     summarised,
			events:   []string{"compaction_finished 1"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				auxiliary(summaryUsage)(t, p)
				if got := p.state.Turn; got.Output != 0 || got.Calls != 0 || got.Usage != summaryUsage || p.state.Usage != summaryUsage {
					t.Errorf("output %d, calls %d, usage %+v, of the session %+v", got.Output, got.Calls, got.Usage, p.state.Usage)
				}
			},
		},
		{
			name:     "CO2 none begins while a call is open",
			agent:    worker(always),
			given:    then(before, begin, asksFor("write")),
			when:     summarises,
			activity: "waiting",
		},
		{
			name:     "none begins while a call runs",
			given:    then(before, begin, asksFor("write"), begin),
			when:     summarises,
			pending:  []string{"tool c1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "none begins while the model answers",
			given:    then(before, begin),
			when:     summarises,
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "none begins beside another one",
			given:    running,
			when:     summarises,
			pending:  []string{"compact 1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "none begins for another run",
			given:    before,
			when:     do(engine.Compact{Run: "s-r99", Plan: engine.Plan{Items: 3}}),
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "none begins in an idle session",
			given:    then(before, begin, says("done")),
			when:     do(engine.Compact{Run: "s-r2", Plan: engine.Plan{Items: 3}}),
			activity: "idle",
		},
		{
			name:     "none begins for a cancelled turn",
			given:    then(before, begin, cancelCurrent),
			when:     summarises,
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "CO1 several follow one another until the call fits",
			given:    then(running, summarised),
			when:     summarises,
			events:   []string{"compaction_started 2 of 3 items"},
			pending:  []string{"compact 2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "CO1 between two calls of a turn too",
			given:    then(before, begin, asksFor("write"), begin, returns(1, "long"), summarises),
			when:     summarised,
			events:   []string{"compaction_finished 1"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI5 a failure that may pass is tried again later",
			given:    running,
			when:     summaryFails(api.CodeProviderOverloaded, true),
			events:   []string{"compaction_failed 1 provider_overloaded again +250ms"},
			pending:  []string{"compact 2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
			check:    auxiliary(api.Usage{InputTokens: 9}),
		},
		{
			name:     "LI5 and not before its time",
			given:    then(running, summaryFails(api.CodeProviderOverloaded, true)),
			when:     summarises,
			pending:  []string{"compact 2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
		},
		{
			name:     "LI5 and then it goes on",
			given:    then(running, summaryFails(api.CodeProviderOverloaded, true), wait(time.Second)),
			when:     summarises,
			events:   []string{"compaction_started 2 of 3 items"},
			pending:  []string{"compact 2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI5 the last failure ends the run, and says what it was about",
			given:    then(before, times(api.MaxModelAttempts-1, summarises, summaryFails(api.CodeProviderOverloaded, true), wait(time.Hour)), summarises),
			when:     summaryFails(api.CodeProviderOverloaded, true),
			events:   []string{"compaction_failed 6 provider_overloaded final", "turn_ended r1 failed provider_overloaded retryable"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if m := p.events[1].(engine.TurnEnded).Message; !strings.Contains(m, "summarised") || !strings.Contains(m, "sorry") {
					t.Errorf("the message is %q", m)
				}
			},
		},
		{
			name:     "a failure that stays ends the run at once",
			given:    running,
			when:     summaryFails(api.CodeQuotaExhausted, false),
			events:   []string{"compaction_failed 1 quota_exhausted final", "turn_ended r1 failed quota_exhausted"},
			activity: "idle",
		},
		{
			name:     "what does not fit the summary's own request is tried with less, at once",
			given:    running,
			when:     summaryFails(api.CodeContextExhausted, false),
			events:   []string{"compaction_failed 1 context_exhausted"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.state.Turn.Compaction.Shrink; got != 1 {
					t.Errorf("shrunk %d times", got)
				}
			},
		},
		{
			name:     "RE7 one that was lost in a take-over is charged as estimated, and made again",
			given:    running,
			when:     takeOver,
			events:   []string{"taken_over 2", "compaction_failed 1 call_lost lost"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
			check:    auxiliary(api.Usage{OutputTokens: api.MaxCompactionTokens, Estimated: true}),
		},
		{
			name:     "one that was lost does nothing when it comes late",
			given:    then(running, takeOver, summarises),
			when:     do(engine.Compacted{Run: "s-r2", Attempt: 1, Epoch: 1, Summary: "late"}),
			pending:  []string{"compact 2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a failure of one that was lost does nothing either",
			given:    then(running, takeOver, summarises),
			when:     do(engine.CompactError{Run: "s-r2", Attempt: 1, Epoch: 1, Code: api.CodeQuotaExhausted}),
			pending:  []string{"compact 2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "one that the host gave up is made again",
			given:    running,
			when:     summaryCancelled,
			events:   []string{"compaction_failed 1 cancelled lost"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 take-overs in a row end the run during summaries too",
			given:    then(before, times(api.MaxTakeOvers-1, summarises, takeOver), summarises),
			when:     takeOver,
			events:   []string{"taken_over 4", "compaction_failed 3 call_lost lost", "turn_ended r1 failed recovery_exhausted"},
			activity: "idle",
		},
		{
			name:     "RU5 a cancel waits for the summary that runs",
			given:    running,
			when:     cancelCurrent,
			events:   []string{"cancel_requested r1 by ann"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := engine.Begun(p.state); len(got) != 1 || got[0].Kind != engine.CompactEffect {
					t.Errorf("begun %+v", got)
				}
			},
		},
		{
			name:     "RU5 and ends the run once it was given up",
			given:    then(running, cancelCurrent),
			when:     summaryCancelled,
			events:   []string{"compaction_failed 1 cancelled lost", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "RU5 a summary that comes behind the cancel is kept: it was paid for",
			given:    then(running, cancelCurrent),
			when:     summarised,
			events:   []string{"compaction_finished 1", "turn_ended r1 cancelled"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if diff := cmp.Diff(summaryUsage, p.events[1].(engine.TurnEnded).Auxiliary); diff != "" {
					t.Errorf("auxiliary usage (-want +got):\n%s", diff)
				}
			},
		},
	})
}

// LI5, CO1: the provider says that a conversation does not fit.
func TestOverflow(t *testing.T) {
	t.Parallel()
	overflows := fails(api.CodeContextExhausted, false)
	given := []move{say("hi"), begin, overflows}
	tell(t, []story{
		{
			name:     "LI5 older history is summarised, and the call is not counted",
			given:    []move{say("hi"), begin},
			when:     overflows,
			events:   []string{"model_failed 1/1 context_exhausted compact"},
			pending:  []string{"compact 1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.state.Turn.Calls; got != 0 {
					t.Errorf("%d calls", got)
				}
			},
		},
		{
			name:  "no call begins before that",
			given: given,
			when: func(p *play) {
				p.do(engine.Begin{Effect: engine.Effect{Kind: engine.ModelEffect, Run: p.runs[0], Call: 1, Attempt: 2}, Epoch: 1})
			},
			pending:  []string{"compact 1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI5 then the same call is made again",
			given:    then(given, summarises),
			when:     summarised,
			events:   []string{"compaction_finished 1"},
			pending:  []string{"model 1/2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI5 a second overflow of one call ends the run",
			given:    then(given, summarises, summarised, begin),
			when:     overflows,
			events:   []string{"model_failed 1/2 context_exhausted final", "turn_ended r1 failed context_exhausted"},
			activity: "idle",
		},
		{
			name:     "LI5 C45 also where the second request was smaller",
			given:    []move{say(strings.Repeat("x", 1000)), begin, overflows, summarises, summarised, begin},
			when:     overflows,
			events:   []string{"model_failed 1/2 context_exhausted final", "turn_ended r1 failed context_exhausted"},
			activity: "idle",
		},
		{
			name:     "LI5 the next call may overflow once as well",
			given:    then(given, summarises, summarised, begin, asksFor("read"), begin, returns(1, "long"), begin),
			when:     overflows,
			events:   []string{"model_failed 2/1 context_exhausted compact"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a summary that fails ends the run that overflowed",
			given:    then(given, summarises),
			when:     summaryFails(api.CodeQuotaExhausted, false),
			events:   []string{"compaction_failed 1 quota_exhausted final", "turn_ended r1 failed quota_exhausted"},
			activity: "idle",
		},
		{
			name:     "CO3 what cannot be summarised ends the run that overflowed",
			given:    given,
			when:     isFull(engine.Full{Item: "the instructions", Bytes: 9, Room: 3}),
			events:   []string{"turn_ended r1 failed context_exhausted"},
			activity: "idle",
		},
		{
			name:     "RU5 an overflow of a cancelled turn summarises nothing",
			given:    []move{say("hi"), begin, cancelCurrent},
			when:     overflows,
			events:   []string{"model_failed 1/1 context_exhausted", "turn_ended r1 cancelled"},
			activity: "idle",
		},
		{
			name:     "a summary is still due behind a take-over",
			given:    given,
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"compact 1"},
			due:      "+0s",
			activity: "active",
		},
	})
}

// A process that stored the bare last answer and ended leaves a turn that is to end, not one to summarise for.
func TestNoSummaryBeginsForATurnThatIsToEnd(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi"), begin)
	bare := engine.ModelFinished{Run: p.runs[0], Call: 1, Attempt: 1, Epoch: 1, Items: []engine.Item{text("done")}, Stop: engine.StopEnd}
	after, err := engine.Apply(p.state, engine.Fact{Number: p.state.Head + 1, Time: p.state.Time, Event: bare})
	if err != nil {
		t.Fatal(err)
	}
	p.append(p.state.Time, bare)
	p.state = after
	if summarises(p); p.err != nil || len(p.events) > 0 {
		t.Errorf("the plan gave %v, %v", p.events, p.err)
	}
	p.play(advance)
	if diff := cmp.Diff([]string{"turn_ended r1 completed"}, p.lines(p.events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
