package window

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// LI6: what summaries use is told apart, and no limit of the turn counts it.
func TestSummariesAreOutsideTheTurnsLimits(t *testing.T) {
	t.Parallel()
	const rounds = 10
	turn := func(name string) (result api.Result, largest int) {
		limits := api.Limits{MaxModelCalls: api.Set(rounds + 2), MaxOutputTokens: api.Set(4_000), SummaryTokens: api.Set(300)}
		inBubble(t, set{provider: "Chat", model: name, count: every(4), summary: 1500, limits: limits}, 0, func(w *world) {
			result = w.turn(task{Kind: "prose", Say: 400, Rounds: rounds, Bytes: 4000}, true, filler("prose", 500))
			for _, r := range w.server.Requests() {
				if !isSummary(r) {
					largest = max(largest, r.MaxTokens)
				}
			}
		})
		return result, largest
	}
	with, asked := turn(small)
	without, _ := turn(large)
	if with.AuxiliaryUsage.OutputTokens < 400 || with.AuxiliaryUsage.InputTokens == 0 || without.AuxiliaryUsage != (api.Usage{}) {
		t.Errorf("summaries used %+v, and where there were none %+v", with.AuxiliaryUsage, without.AuxiliaryUsage)
	}
	own := with.Usage.OutputTokens - with.AuxiliaryUsage.OutputTokens
	if own != without.Usage.OutputTokens || with.ModelCalls != without.ModelCalls || with.ModelCalls != rounds+1 {
		t.Errorf("with summaries the turn used %d of its output in %d calls, without them %d in %d", own, with.ModelCalls, without.Usage.OutputTokens, without.ModelCalls)
	}
	if asked > 3_700 {
		t.Errorf("a call asked for %d tokens", asked)
	}
}

// Each answer may have what its window has left, and no more than its limit.
func TestAnAnswerMayHaveWhatTheWindowHasLeft(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ least, most int }{small: {2000, 7_900}, large: {8_192, 8_192}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: "Chat", model: name, count: every(3), summary: 500}, 0, func(w *world) {
				for range 10 {
					w.turn(task{Kind: "prose", Say: 300, Rounds: 1, Bytes: 3000}, true, filler("prose", 1000))
				}
				for _, r := range w.server.Requests() {
					if !isSummary(r) && (r.MaxTokens < want.least || r.MaxTokens > want.most) {
						t.Errorf("behind %d tokens an answer may have %d", r.Tokens, r.MaxTokens)
					}
				}
			})
		})
	}
}

// CO1, GU2: a summary is made when somebody asks for it, and heeds what the application says.
func TestASummaryByHand(t *testing.T) {
	t.Parallel()
	for _, provider := range everyProvider {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: provider, model: large, count: every(4), summary: 300}, 0, func(w *world) {
				var asked []modeltestserver.Request
				w.mind.before = func(r modeltestserver.Request) { asked = append(asked, r) }
				for range 8 {
					w.turn(task{Kind: "prose", Say: 1000, Rounds: 1, Bytes: 3000, Fact: w.turns == 2}, true, filler("prose", 1000))
				}
				before := asked[len(asked)-1].Tokens
				asked = nil
				run, err := w.Compact(w.t.Context(), w.session, api.TurnOptions{Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set("Keep each FACT.")}})
				if err != nil {
					t.Fatal(err)
				}
				result := w.end(run)
				if result.Status != api.StatusCompleted || result.AuxiliaryUsage != result.Usage || result.Usage.InputTokens == 0 {
					t.Errorf("it ended as %+v", result)
				}
				if len(asked) != 1 || !isSummary(asked[0]) || !strings.Contains(asked[0].Messages[0].Content, "Keep each FACT.") {
					t.Errorf("%d requests were made", len(asked))
				}
				w.turn(task{Kind: "prose"}, true, "go on")
				if after := asked[len(asked)-1].Tokens; after > before/2 {
					t.Errorf("a request has %d tokens, before it had %d", after, before)
				}
			})
		})
	}
}

// BenchmarkTurn is the cost of a turn with two rounds of calls, early and late in a session that is summarised again and
// again. The server reads and counts each request.
func BenchmarkTurn(b *testing.B) {
	for _, at := range []int{30, 300} {
		b.Run(fmt.Sprintf("at turn %d", at), func(b *testing.B) {
			w := newWorld(b, set{provider: "Chat", model: small, count: every(4), summary: 1500})
			defer func() { _ = w.Close(context.Background()) }()
			k, message := task{Kind: "prose", Say: 800, Rounds: 2, Parallel: 2, Bytes: 1500}, filler("prose", 800)
			for range at - 1 {
				w.turn(k, false, message)
			}
			before := w.mind.spent.summaries
			for b.Loop() {
				w.turn(k, false, message)
			}
			b.ReportMetric(float64(w.mind.spent.summaries-before)/float64(b.N), "summaries/op")
		})
	}
}

// BenchmarkTurnThatFits is the cost of a turn in a session that is never summarised, where the window is known and where it
// is not: nothing is planned, and nothing is counted but bytes.
func BenchmarkTurnThatFits(b *testing.B) {
	for _, name := range []string{large, unknown} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, set{provider: "Chat", model: name, count: every(4), fast: true})
			defer func() { _ = w.Close(context.Background()) }()
			for b.Loop() {
				_, run := w.begin(task{}, false, "hello", api.TurnOptions{})
				if result := w.end(run); result.Status != api.StatusCompleted {
					b.Fatal(result.Error)
				}
			}
		})
	}
}
