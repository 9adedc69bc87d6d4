package engine_test

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func TestModelOutcomes(t *testing.T) {
	t.Parallel()
	asked := []move{say("hi"), begin}
	tell(t, []story{
		{
			name:     "the intent of a call names its bound",
			given:    []move{say("hi")},
			when:     begin,
			events:   []string{"model_started 1/1 max 8192"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a text ends the turn",
			given:    asked,
			when:     says("hello"),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed"},
			activity: "idle",
		},
		{
			name:     "an answer of nothing ends the turn too",
			given:    asked,
			when:     reply(engine.StopEnd),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed"},
			activity: "idle",
		},
		{
			name:     "an answer without a stop reason is one that ended",
			given:    asked,
			when:     reply("", text("hello")),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed"},
			activity: "idle",
		},
		{
			name:     "empty pieces of an answer are not stored, since no provider takes them back",
			given:    asked,
			when:     reply(engine.StopEnd, text(""), reasoning(""), text("hello")),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if items := p.events[0].(engine.ModelFinished).Items; len(items) != 1 || items[0].Text != "hello" {
					t.Errorf("stored items: %+v", items)
				}
			},
		},
		{
			name:     "RU7 parallel calls may all start, and the model is called when the last has its result",
			given:    asked,
			when:     asksFor("write", "read"),
			events:   []string{"model_finished 1/1 tool_calls c1:never c2:never"},
			pending:  []string{"tool c1/1", "tool c2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU7 the second of two parallel results leads to the next call",
			given:    append(asked[:2:2], asksFor("write", "read"), begin, returns(2, "b")),
			when:     returns(1, "a"),
			events:   []string{"tool_finished c1/1"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C40 RU8 calls of an answer that was cut off are not run, and the model hears of it",
			given:    asked,
			when:     reply(engine.StopOutputLimit, text("I will"), call("write")),
			events:   []string{"model_finished 1/1 output_limit c1:call_cut_off"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C40 calls that are cut off again and again end with the limit",
			agent:    worker(limited(api.Limits{MaxModelCalls: api.Set(2)})),
			given:    append(asked[:2:2], reply(engine.StopOutputLimit, call("write")), begin),
			when:     reply(engine.StopOutputLimit, call("write")),
			events:   []string{"model_finished 2/1 output_limit c2:call_cut_off", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "a text that was cut off is an answer, told as cut",
			given:    asked,
			when:     reply(engine.StopOutputLimit, text("once upon a")),
			events:   []string{"model_finished 1/1 output_limit", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "an answer that the provider's filter stopped fails the run",
			given:    asked,
			when:     reply(engine.StopFiltered, text("I ca")),
			events:   []string{"model_finished 1/1 filtered", "turn_ended r1 failed content_filtered"},
			activity: "idle",
		},
		{
			name:     "RU8 a call of an answer that the filter stopped is not run",
			given:    asked,
			when:     reply(engine.StopFiltered, call("write")),
			events:   []string{"model_finished 1/1 filtered c1:content_filtered", "turn_ended r1 failed content_filtered"},
			activity: "idle",
		},
		{
			name:     "C42 calls count, whatever the stop reason says",
			given:    asked,
			when:     reply(engine.StopEnd, text("let me see"), call("read")),
			events:   []string{"model_finished 1/1 end c1:never"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C42 a call with an unheard-of stop reason is run",
			given:    asked,
			when:     reply("other", call("read")),
			events:   []string{"model_finished 1/1 other c1:never"},
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU8 unknown and disabled tools get an error result, the others run",
			given:    asked,
			when:     asksFor("rm_rf", "ask_user", "read"),
			events:   []string{"model_finished 1/1 tool_calls c1:unknown_tool c2:tool_disabled c3:never"},
			pending:  []string{"tool c3/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RU8 the catalogue name is not the model's name",
			given:    asked,
			when:     asksFor("app.write"),
			events:   []string{"model_finished 1/1 tool_calls c1:unknown_tool"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C18 RU8 arguments that the host found wrong go straight back to the model",
			agent:    worker(always),
			given:    asked,
			when:     reply(engine.StopToolCalls, engine.Item{Kind: engine.ItemCall, Name: "write", Arguments: "{", Code: api.CodeArgumentsInvalid, Message: "no JSON"}),
			events:   []string{"model_finished 1/1 tool_calls c1:arguments_invalid"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "nobody but the engine approves a call",
			agent:    worker(always),
			given:    asked,
			when:     reply(engine.StopToolCalls, engine.Item{Kind: engine.ItemCall, Name: "write", Approved: engine.ApprovedByNever}),
			events:   []string{"model_finished 1/1 tool_calls c1:ask", "interaction_required i1 approval c1"},
			activity: "waiting",
		},
		{
			name:     "RE2 an answer that comes twice is taken once",
			given:    append(asked[:2:2], asksFor("write")),
			when:     do(engine.ModelDone{Run: "s-r2", Call: 1, Attempt: 1, Epoch: 1, Items: []engine.Item{call("write")}, Stop: engine.StopToolCalls}),
			pending:  []string{"tool c1/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "an answer of another claim's attempt is dropped",
			given:    asked,
			when:     do(engine.ModelDone{Run: "s-r2", Call: 1, Attempt: 1, Epoch: 9, Items: []engine.Item{text("old")}, Stop: engine.StopEnd}),
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "an answer to a turn that is over is dropped",
			given:    append(asked[:2:2], says("hello")),
			when:     do(engine.ModelDone{Run: "s-r2", Call: 1, Attempt: 1, Epoch: 1, Items: []engine.Item{text("old")}, Stop: engine.StopEnd}),
			activity: "idle",
		},
		{
			name:     "an intent for what already runs is dropped",
			given:    asked,
			when:     do(engine.Begin{Effect: engine.Effect{Kind: engine.ModelEffect, Run: "s-r2", Call: 1, Attempt: 1}, Epoch: 1}),
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "an intent for another run is dropped",
			given:    []move{say("hi")},
			when:     do(engine.Begin{Effect: engine.Effect{Kind: engine.ModelEffect, Run: "s-r1", Call: 1, Attempt: 1}, Epoch: 1}),
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
		},
	})
}

func TestProviderErrors(t *testing.T) {
	t.Parallel()
	after := func(d time.Duration) func(*engine.ModelError) {
		return func(e *engine.ModelError) { e.RetryAfter = d }
	}
	cost := func(n int64) func(*engine.ModelError) {
		return func(e *engine.ModelError) { e.Usage = api.Usage{OutputTokens: n} }
	}
	overloaded := fails(api.CodeProviderOverloaded, true)
	failed := func(n int) []move {
		return []move{say("hi"), times(n, begin, overloaded, wait(time.Minute))}
	}
	tell(t, []story{
		{
			name:     "LI5 a failure that may pass is tried again a little later",
			given:    []move{say("hi"), begin},
			when:     overloaded,
			events:   []string{"model_failed 1/1 provider_overloaded again +250ms"},
			pending:  []string{"model 1/2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
			check: func(t *testing.T, p *play) {
				if timers := engine.Timers(p.state); len(timers) != 1 || timers[0].Kind != "retry" || timers[0].At != p.state.Time.Add(250*time.Millisecond) {
					t.Errorf("timers: %+v", timers)
				}
			},
		},
		{
			name:     "LI5 the wait doubles",
			given:    append(failed(2), begin),
			when:     overloaded,
			events:   []string{"model_failed 1/3 provider_overloaded again +1s"},
			pending:  []string{"model 1/4 +1s"},
			due:      "+1s",
			activity: "waiting",
		},
		{
			name:     "LI5 a longer Retry-After is obeyed",
			given:    []move{say("hi"), begin},
			when:     fails(api.CodeRateLimited, true, after(7*time.Second)),
			events:   []string{"model_failed 1/1 rate_limited again +7s"},
			pending:  []string{"model 1/2 +7s"},
			due:      "+7s",
			activity: "waiting",
		},
		{
			name:     "LI5 a shorter Retry-After does not shorten the wait",
			given:    []move{say("hi"), begin},
			when:     fails(api.CodeRateLimited, true, after(time.Millisecond)),
			events:   []string{"model_failed 1/1 rate_limited again +250ms"},
			pending:  []string{"model 1/2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
		},
		{
			name:     "LI5 no attempt begins before its time, whatever the effect says",
			given:    []move{say("hi"), begin, overloaded},
			when:     do(engine.Begin{Effect: engine.Effect{Kind: engine.ModelEffect, Run: "s-r2", Call: 1, Attempt: 2}, Epoch: 1}),
			pending:  []string{"model 1/2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
		},
		{
			name:     "LI5 the next attempt is of the same call",
			given:    failed(1),
			when:     begin,
			events:   []string{"model_started 1/2 max 8192"},
			pending:  []string{"model 1/2 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI5 the last attempt's failure fails the run, which may be sent again",
			given:    append(failed(api.MaxModelAttempts-1), begin),
			when:     overloaded,
			events:   []string{"model_failed 1/6 provider_overloaded final", "turn_ended r1 failed provider_overloaded retryable"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				if got := p.events[1].(engine.TurnEnded).Message; got != "6 attempts failed; the last: sorry" {
					t.Errorf("message %q", got)
				}
			},
		},
		{
			name:     "LI5 attempts are counted for each call anew",
			given:    append(failed(api.MaxModelAttempts-1), begin, asksFor("read"), begin, returns(1, "x"), begin),
			when:     overloaded,
			events:   []string{"model_failed 2/1 provider_overloaded again +250ms"},
			pending:  []string{"model 2/2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
		},
		{
			name:     "LI5 a failure that will not pass fails the run with the provider's message",
			given:    []move{say("hi"), queued("next"), begin},
			when:     fails(api.CodeQuotaExhausted, false),
			events:   []string{"model_failed 1/1 quota_exhausted final", "turn_ended r1 failed quota_exhausted", "turn_started r2"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.events[1].(engine.TurnEnded).Message; got != "sorry" {
					t.Errorf("message %q", got)
				}
			},
		},
		{
			name:     "failed attempts that used up the turn's tokens end it",
			agent:    worker(limited(api.Limits{MaxOutputTokens: api.Set(1000), SummaryTokens: api.Set(100)})),
			given:    []move{say("hi"), begin},
			when:     fails(api.CodeStreamCut, true, cost(1000)),
			events:   []string{"model_failed 1/1 stream_cut again +250ms", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "an attempt that the host ended counts as a call, and the next follows at once",
			given:    []move{say("hi"), begin},
			when:     fails(api.CodeCancelled, false, func(e *engine.ModelError) { e.Cancelled = true }),
			events:   []string{"model_failed 1/1 cancelled lost"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "a failure that comes twice is taken once",
			given:    []move{say("hi"), begin, overloaded},
			when:     overloaded,
			pending:  []string{"model 1/2 +250ms"},
			due:      "+250ms",
			activity: "waiting",
		},
	})
}

func TestRetriesSpreadBetweenHalfTheDelayAndAllOfIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		failures int
		jitter   float64
		want     time.Duration
	}{{1, 0, 250 * time.Millisecond}, {1, 0.5, 375 * time.Millisecond}, {5, 0, 4 * time.Second}, {5, 0.999, 7996 * time.Millisecond}} {
		p := newPlay(t, worker()).play(say("hi"))
		p.jitter = test.jitter
		p.play(times(test.failures, begin, fails(api.CodeStreamCut, true), wait(time.Minute)))
		if got := p.state.Turn.Call.RetryAt.Sub(p.state.Time); got != test.want {
			t.Errorf("failure %d with jitter %v waits %v, want %v", test.failures, test.jitter, got, test.want)
		}
	}
}
