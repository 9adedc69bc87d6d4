package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

func limits(calls, output, perCall, summary int) api.Limits {
	set := func(n int) *int {
		if n == 0 {
			return nil
		}
		return &n
	}
	return api.Limits{MaxModelCalls: set(calls), MaxOutputTokens: set(output), MaxOutputTokensPerCall: set(perCall), SummaryTokens: set(summary)}
}

func TestLimitsResolveFieldByField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent, turn api.Limits
		modelMax    int
		want        engine.Limits
	}{
		"LI1 the defaults":                                 {want: engine.Limits{Calls: 32, PerCall: 8192, Summary: 512}},
		"LI1 the agent's come before the defaults":         {agent: limits(5, 0, 100, 0), want: engine.Limits{Calls: 5, PerCall: 100, Summary: 512}},
		"LI1 the turn's come before the agent's":           {agent: limits(5, 9000, 100, 20), turn: limits(6, 0, 0, 30), want: engine.Limits{Calls: 6, Output: 9000, PerCall: 100, Summary: 30}},
		"LI1 the default per call is lowered to a model's": {modelMax: 4096, want: engine.Limits{Calls: 32, PerCall: 4096, Summary: 512}},
		"LI1 a model that gives more changes nothing":      {modelMax: 100_000, want: engine.Limits{Calls: 32, PerCall: 8192, Summary: 512}},
		"LI4 an explicit per-call limit at the maximum":    {turn: limits(0, 0, 4096, 0), modelMax: 4096, want: engine.Limits{Calls: 32, PerCall: 4096, Summary: 512}},
		"LI4 an explicit per-call limit, model unknown":    {turn: limits(0, 0, 1_000_000, 0), want: engine.Limits{Calls: 32, PerCall: 1_000_000, Summary: 512}},
		"LI4 a summary of one less than the total":         {turn: limits(0, 513, 0, 0), want: engine.Limits{Calls: 32, Output: 513, PerCall: 8192, Summary: 512}},
		"LI1 one call of one token":                        {turn: limits(1, 2, 1, 1), want: engine.Limits{Calls: 1, Output: 2, PerCall: 1, Summary: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := engine.ResolveLimits(test.agent, test.turn, test.modelMax)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestContradictoryLimitsAreRefusedWithTheField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agent, turn api.Limits
		modelMax    int
		field       string
	}{
		"LI4 no calls":                                   {turn: api.Limits{MaxModelCalls: api.Set(0)}, field: "maxModelCalls"},
		"LI4 fewer than no calls":                        {agent: api.Limits{MaxModelCalls: api.Set(-1)}, field: "maxModelCalls"},
		"LI4 no output":                                  {turn: api.Limits{MaxOutputTokens: api.Set(0)}, field: "maxOutputTokens"},
		"LI4 no output per call":                         {turn: api.Limits{MaxOutputTokensPerCall: api.Set(0)}, field: "maxOutputTokensPerCall"},
		"LI4 no summary":                                 {turn: api.Limits{SummaryTokens: api.Set(0)}, field: "summaryTokens"},
		"LI4 a summary as large as the total":            {turn: limits(0, 512, 0, 0), field: "summaryTokens"},
		"LI4 the agent's summary over the turn's total":  {agent: limits(0, 0, 0, 600), turn: limits(0, 600, 0, 0), field: "summaryTokens"},
		"LI4 an explicit per call over the model's":      {turn: limits(0, 0, 4097, 0), modelMax: 4096, field: "maxOutputTokensPerCall"},
		"LI4 the agent's per call over the turn's model": {agent: limits(0, 0, 4097, 0), modelMax: 4096, field: "maxOutputTokensPerCall"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := engine.ResolveLimits(test.agent, test.turn, test.modelMax)
			if e := api.AsError(err); e == nil || e.Code != api.CodeInvalidLimits || e.Details["field"] != test.field {
				t.Errorf("got %v, want invalid_limits for %s", err, test.field)
			}
		})
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	// round is a call that asks for a read, costs n, and the read.
	round := func(k int, n int64) []move {
		return []move{begin, costly(n, engine.StopToolCalls, call("read")), begin, returns(k, "x")}
	}
	turn := func(rounds ...[]move) []move {
		out := []move{say("hi")}
		for _, r := range rounds {
			out = append(out, r...)
		}
		return out
	}
	tell(t, []story{
		{
			name:     "LI4 a message with contradictory limits leaves no trace",
			when:     say("hi", func(m *engine.Message) { m.Limits = limits(0, 512, 0, 512) }),
			code:     api.CodeInvalidLimits,
			activity: "idle",
		},
		{
			name:     "LI2 a working call may ask for what is left of the total without the summary reserve",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    turn(),
			when:     begin,
			events:   []string{"model_started 1/1 max 900"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI2 and for no more than the bound per call",
			agent:    worker(limited(limits(0, 1000, 300, 100))),
			given:    turn(round(1, 200)),
			when:     begin,
			events:   []string{"model_started 2/1 max 300"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI2 one token beyond the reserve is still a working call",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    turn(round(1, 899)),
			when:     begin,
			events:   []string{"model_started 2/1 max 1"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 when the tokens are down to the reserve, a closing call is made",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    turn(round(1, 900)),
			when:     begin,
			events:   []string{"model_started 2/1 max 100 closing"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 a provider that gave too much leaves the closing call what is left",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    turn(round(1, 960)),
			when:     begin,
			events:   []string{"model_started 2/1 max 40 closing"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 a provider that overshot the whole total ends the turn without a closing call",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    []move{say("hi"), begin, costly(1001, engine.StopToolCalls, call("read")), begin},
			when:     returns(1, "x"),
			events:   []string{"tool_finished c1/1", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "a provider's impossible figure raises no budget",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    turn(round(1, -5000)),
			when:     begin,
			events:   []string{"model_started 2/1 max 900"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 the last of the calls is the closing one",
			agent:    worker(limited(limits(3, 0, 0, 0))),
			given:    turn(round(1, 10), round(2, 10)),
			when:     begin,
			events:   []string{"model_started 3/1 max 512 closing"},
			pending:  []string{"model 3/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 the one before it is a working call",
			agent:    worker(limited(limits(3, 0, 0, 0))),
			given:    turn(round(1, 10)),
			when:     begin,
			events:   []string{"model_started 2/1 max 8192"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "C43 LI3 the closing call's answer is the result of a turn that reached its limit",
			agent:    worker(limited(limits(2, 0, 0, 0))),
			given:    append(turn(round(1, 10)), begin),
			when:     says("so far"),
			events:   []string{"model_finished 2/1 end", "turn_ended r1 limit_reached"},
			activity: "idle",
			check: func(t *testing.T, p *play) {
				want := engine.TurnEnded{Run: p.runs[0], Status: api.StatusLimitReached, Answer: p.state.Head - 1, Calls: 2,
					Usage: api.Usage{InputTokens: 14, OutputTokens: 20}}
				if diff := cmp.Diff(want, p.events[1]); diff != "" {
					t.Errorf("the end (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "C43 the next turn after a limit has its whole budget",
			agent:    worker(limited(limits(2, 0, 0, 0))),
			given:    append(turn(round(1, 10)), begin, says("so far"), say("go on")),
			when:     begin,
			events:   []string{"model_started 1/1 max 8192"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 no tool is used in the closing call",
			agent:    worker(limited(limits(2, 0, 0, 0))),
			given:    append(turn(round(1, 10)), begin),
			when:     asksFor("read"),
			events:   []string{"model_finished 2/1 tool_calls c2:tool_disabled", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "LI3 a closing call that is the first has the bound per call",
			agent:    worker(limited(limits(1, 0, 0, 0))),
			given:    turn(),
			when:     begin,
			events:   []string{"model_started 1/1 max 8192 closing"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 a closing call that is the first, with a total",
			agent:    worker(limited(limits(1, 1000, 300, 100))),
			given:    turn(),
			when:     begin,
			events:   []string{"model_started 1/1 max 300 closing"},
			pending:  []string{"model 1/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI3 a closing call that is the first completes the turn",
			agent:    worker(limited(limits(1, 0, 0, 0))),
			given:    append(turn(), begin),
			when:     says("hello"),
			events:   []string{"model_finished 1/1 end", "turn_ended r1 completed"},
			activity: "idle",
		},
		{
			name:     "LI3 unless it is cut off",
			agent:    worker(limited(limits(1, 0, 0, 0))),
			given:    append(turn(), begin),
			when:     reply(engine.StopOutputLimit, text("hel")),
			events:   []string{"model_finished 1/1 output_limit", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "LI1 the closing call asks for no more than the bound per call",
			agent:    worker(limited(limits(2, 0, 100, 512))),
			given:    turn(round(1, 10)),
			when:     begin,
			events:   []string{"model_started 2/1 max 100 closing"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "LI1 nor with a total",
			agent:    worker(limited(limits(2, 9000, 100, 512))),
			given:    turn(round(1, 10)),
			when:     begin,
			events:   []string{"model_started 2/1 max 100 closing"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 a lost call counts, so the next may be the closing one",
			agent:    worker(limited(limits(2, 0, 0, 0))),
			given:    append(turn(), begin, takeOver),
			when:     begin,
			events:   []string{"model_started 2/1 max 512 closing"},
			pending:  []string{"model 2/1 runs"},
			due:      "+0s",
			activity: "active",
		},
		{
			name:     "RE7 lost calls that use up the calls end the turn",
			agent:    worker(limited(limits(1, 0, 0, 0))),
			given:    append(turn(), begin),
			when:     takeOver,
			events:   []string{"taken_over 2", "model_failed 1/1 call_lost lost", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "RE7 a lost call is charged at its bound, marked estimated",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    append(turn(), begin),
			when:     takeOver,
			events:   []string{"taken_over 2", "model_failed 1/1 call_lost lost"},
			pending:  []string{"model 2/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if diff := cmp.Diff(api.Usage{OutputTokens: 900, Estimated: true}, p.state.Usage); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
			},
		},
		{
			name:     "RE7 a lost closing call leaves nothing for another",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    append(turn(), begin, takeOver, begin),
			when:     takeOver,
			events:   []string{"taken_over 3", "model_failed 2/1 call_lost lost", "turn_ended r1 limit_reached"},
			activity: "idle",
		},
		{
			name:     "a failed attempt's tokens are not there for the next",
			agent:    worker(limited(limits(0, 1000, 0, 100))),
			given:    append(turn(), begin, fails(api.CodeStreamCut, true, func(e *engine.ModelError) { e.Usage.OutputTokens = 500 }), wait(time.Second)),
			when:     begin,
			events:   []string{"model_started 1/2 max 400"},
			pending:  []string{"model 1/2 runs"},
			due:      "+0s",
			activity: "active",
		},
	})
}
