package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// A summary that never succeeds does not end a conversation: what it was to stand for is left out, and said to be.
func TestASummaryThatIsGivenUp(t *testing.T) {
	t.Parallel()
	before := []move{say("hi")}
	cut := []move{summarises, summaryFails(api.CodeStreamCut, true), wait(time.Hour)}
	givenUp := then(before, summarises, summaryFails(api.CodeContentFiltered, false))
	var stories []story
	for _, code := range []api.Code{api.CodeContentFiltered, api.CodeGuardrailBlocked, api.CodeGuardrailFailed, api.CodeHookVetoed, api.CodeHookFailed,
		api.CodeRequestTooLarge, api.CodeProviderError, api.CodeStreamCut} {
		stories = append(stories, story{
			name:     "it is given up at once for " + string(code) + ", which would stay",
			given:    then(before, summarises),
			when:     summaryFails(code, false),
			events:   []string{"compaction_failed 1 " + string(code) + " given up"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
		})
	}
	for _, code := range []api.Code{api.CodeProviderUnreachable, api.CodeProviderOverloaded, api.CodeAuthenticationFailed, api.CodeQuotaExhausted,
		api.CodeCredentialsMissing, api.CodeRegistrationMissing, api.CodeModelNotFound, api.CodeRateLimited, api.CodeInternal} {
		stories = append(stories, story{
			name:     "but the run fails of " + string(code) + ": the next call would too",
			given:    then(before, summarises),
			when:     summaryFails(code, false),
			events:   []string{"compaction_failed 1 " + string(code) + " final", "turn_ended r1 failed " + string(code)},
			activity: "idle",
		})
	}
	tell(t, append(stories,
		story{
			name:     "what may go better is tried as often as any call",
			given:    then(before, times(api.MaxModelAttempts-1, cut...), summarises),
			when:     summaryFails(api.CodeStreamCut, true),
			events:   []string{"compaction_failed 6 stream_cut given up"},
			pending:  []string{"compact 7"},
			due:      "+0s",
			activity: "active",
		},
		story{
			name:     "what does not fit is shown in ever smaller parts, but not for ever",
			given:    then(before, times(6, summarises, summaryFails(api.CodeContextExhausted, false)), summarises),
			when:     summaryFails(api.CodeContextExhausted, false),
			events:   []string{"compaction_failed 7 context_exhausted given up"},
			pending:  []string{"compact 8"},
			due:      "+0s",
			activity: "active",
		},
		story{
			name:     "then the plan takes effect without a model, with the host's word",
			given:    givenUp,
			when:     leavesOut,
			events:   []string{"compaction_finished 0 leaves out"},
			pending:  []string{"model 1/1"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := p.events[0].(engine.CompactionFinished); got.Summary != "left out" || got.Plan.Items != 3 {
					t.Errorf("finished as %+v", got)
				}
			},
		},
		story{
			name:     "all that is older is left out at once",
			given:    then(before, summarises),
			when:     summaryFails(api.CodeContentFiltered, false),
			events:   []string{"compaction_failed 1 content_filtered given up"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
			check: func(t *testing.T, p *play) {
				if got := engine.Room(p.state, 0, 900, 1000).Source; got < 1<<20 {
					t.Errorf("a plan may take %d bytes", got)
				}
			},
		},
		story{
			name:     "the next summary of the turn is tried, and once",
			given:    then(givenUp, leavesOut, summarises),
			when:     summaryFails(api.CodeStreamCut, true),
			events:   []string{"compaction_failed 2 stream_cut given up"},
			pending:  []string{"compact 3"},
			due:      "+0s",
			activity: "active",
		},
		story{
			name:     "the next summary of the turn waits for a provider as any does",
			given:    then(givenUp, leavesOut, summarises),
			when:     summaryFails(api.CodeProviderOverloaded, true),
			events:   []string{"compaction_failed 2 provider_overloaded again +250ms"},
			pending:  []string{"compact 3 +250ms"},
			due:      "+250ms",
			activity: "waiting",
		},
		story{
			name:     "it survives a take-over",
			given:    givenUp,
			when:     takeOver,
			events:   []string{"taken_over 2"},
			pending:  []string{"compact 2"},
			due:      "+0s",
			activity: "active",
		},
		story{
			name:     "a summary by hand fails instead",
			given:    []move{say("hi"), begin, says("hello"), say("", compactNow), summarises},
			when:     summaryFails(api.CodeContentFiltered, false),
			events:   []string{"compaction_failed 1 content_filtered final", "turn_ended r2 failed content_filtered"},
			activity: "idle",
		},
		story{
			name:     "RU5 a cancel ends the run, and nothing is left out",
			given:    then(before, summarises, cancelCurrent),
			when:     summaryFails(api.CodeContentFiltered, false),
			events:   []string{"compaction_failed 1 content_filtered", "turn_ended r1 cancelled"},
			activity: "idle",
		},
	))
}

func TestTheWordThatStandsForWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	const says = "[Word of the host: items of the conversation that are left out here, and could not be summarised: "
	note := func(p engine.Plan, parts ...string) (string, *engine.Transcript) {
		tr := sized(parts...)
		text := tr.Note(p)
		return text, tr
	}
	first, tr := note(engine.Plan{Keep: 3, Items: 2}, "message 10", "answer 10", "message 10")
	if !strings.HasPrefix(first, says+"2. ") || !strings.Contains(first, "read_history") {
		t.Errorf("it says %q", first)
	}
	written(tr, compacted("r3", first, engine.Plan{Keep: 3, Items: 2}), answered(text("so")))
	if got := tr.Note(engine.Plan{Items: 2}); !strings.HasPrefix(got, says+"3. ") || strings.Count(got, says) != 1 {
		t.Errorf("behind another one it says %q", got)
	}
	if got, _ := note(engine.Plan{Items: 2}, "message 10", "summary 7", "answer 10"); !strings.HasPrefix(got, "xxxxxxx\n\n"+says+"1. ") {
		t.Errorf("behind a summary it says %q", got)
	}
}

// Who reads why a conversation does not fit is told what to shorten.
func TestWhatIsBlamedForAFullWindow(t *testing.T) {
	t.Parallel()
	full := engine.Full{Item: "the message of run s-r2", Bytes: 242, Room: 20}
	for name, test := range map[string]struct {
		addendum string
		fixed    int
		full     engine.Full
		want     []string
		not      string
	}{
		"the instructions": {"", 60_000, full, []string{"instructions and tools have 60000 bytes", "about 20 are left", "has 242", "shorten them"}, "addendum"},
		"the addendum":     {strings.Repeat("x", 900), 100, full, []string{"instruction addendum 900", "shorten the addendum"}, "the message of run"},
		"the message":      {"be brief", 100, full, []string{"the message of run s-r2 alone has 242 bytes"}, "instructions"},
		"many items":       {"", 100, engine.Full{Item: "the message of run s-r2", Bytes: 242, Room: 300}, []string{"its newest part has more than the 300 bytes", "s-r2 with 242"}, "instructions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t, worker()).play(say("hi", func(m *engine.Message) { m.Addendum = test.addendum }))
			p.do(engine.Compact{Run: p.state.Turn.Run, Epoch: 1, Full: &test.full, Fixed: test.fixed})
			m := p.events[0].(engine.TurnEnded).Message
			for _, want := range test.want {
				if !strings.Contains(m, want) {
					t.Errorf("%q does not say %q", m, want)
				}
			}
			if strings.Contains(m, test.not) {
				t.Errorf("%q tells of %q", m, test.not)
			}
		})
	}
}
