package window

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// inBubble runs a test in a world with a clock of its own, and ends it with what must hold in each.
func inBubble(t *testing.T, s set, overflows int, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, s)
		defer func() { w.close() }()
		test(w)
		w.check(overflows)
		w.report()
	})
}

// A long conversation with a small window, whose size the provider tells: nothing is ever too much (CO1), nothing
// is lost, and every turn knows what all turns before were told (CO2).
func TestALongConversation(t *testing.T) {
	t.Parallel()
	const turns = 300
	written := &meter{Store: memstore.New(memstore.Config{})}
	inBubble(t, set{provider: "Chat", model: small, count: every(4), summary: 1500, store: written}, 0, func(w *world) {
		var at [4]int64 // bytes written behind each third
		for part := range 3 {
			converse(w, turns/3, uint64(part))
			at[part+1] = written.bytes.Load()
		}
		w.checkHistory()
		if w.bytes < 2_000_000 {
			t.Errorf("the history has only %d bytes", w.bytes)
		}
		spent := w.mind.spent
		if spent.summaries < turns/10 || spent.summaries > turns {
			t.Errorf("%d summaries were made in %d turns (C45)", spent.summaries, turns)
		}
		if spent.summaryTokens > spent.turnTokens/2 {
			t.Errorf("summaries took %d tokens and turns %d", spent.summaryTokens, spent.turnTokens)
		}
		first, last := at[1], at[3]-at[2]
		if last > first*5/4 {
			t.Errorf("%d bytes were written in the first hundred turns, %d in the last (ST3)", first, last)
		}
		t.Logf("%d bytes were written in the first hundred turns, %d in the last", first, last)
	})
}

// Whoever answers, however it counts, and whether or not anybody knows the window, a conversation goes on. With a
// window that is known and texts of one density nothing is ever too much; otherwise a call is, at most once (LI5).
func TestAConversationWithEachProviderAndTokenizer(t *testing.T) {
	t.Parallel()
	const turns = 25
	for _, provider := range everyProvider {
		for _, name := range []string{small, unknown} {
			for _, test := range []struct {
				rule      string
				count     tokenizer
				overflows map[string]int
			}{
				{"2 bytes a token", every(2), map[string]int{small: 0, unknown: 1}},
				{"3 bytes a token", every(3), map[string]int{small: 0, unknown: 1}},
				{"4 bytes a token", every(4), map[string]int{small: 0, unknown: 1}},
				{"5 bytes a token", every(5), map[string]int{small: 0, unknown: 1}},
				{"a token for a word, or for two bytes of base64", modern, map[string]int{small: 3, unknown: 4}},
			} {
				t.Run(fmt.Sprintf("%s, %s, %s", provider, name, test.rule), func(t *testing.T) {
					t.Parallel()
					inBubble(t, set{provider: provider, model: name, count: test.count, summary: 1500}, test.overflows[name], func(w *world) {
						converse(w, turns, 1)
						w.fits()
					})
				})
			}
		}
	}
}

// converse goes through turns of all kinds.
func converse(w *world, turns int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	for range turns {
		n, kind := w.turns+1, kinds[rng.IntN(len(kinds))]
		k := task{Kind: kind, Say: rng.IntN(1500), Rounds: rng.IntN(3), Parallel: 1 + rng.IntN(3), Bytes: 200 + rng.IntN(3500), Fact: n%20 == 5}
		switch {
		case n%7 == 0:
			k.Think = 400
		case n%11 == 0:
			k.Cut = true
		case n%13 == 0:
			k.Broken = true
		}
		w.turn(k, n%20 == 1, text(rng, kind, 200+rng.IntN(3000)))
		if n%50 == 0 {
			w.restart()
		}
	}
}

// fits checks that each request left the answer what it was said to have, and that this was something.
func (w *world) fits() {
	w.t.Helper()
	for _, r := range w.server.Requests() {
		if r.MaxTokens < 500 || r.MaxTokens > api.DefaultMaxOutputTokensPerCall {
			w.t.Errorf("request %d of %d tokens lets the answer have %d", r.Number, r.Tokens, r.MaxTokens)
		}
	}
}

func isSummary(r modeltestserver.Request) bool {
	return r.Messages[0].Role == "system" && strings.HasPrefix(r.Messages[0].Content, "You summarise")
}

func (w *world) report() {
	s, summaries := w.mind.spent, 0
	for _, r := range w.server.Overflows() {
		if isSummary(r) {
			summaries++
		}
	}
	w.t.Logf("%d turns, %d bytes; %d calls of %d tokens, %d summaries of %d tokens; %d calls and %d summaries were too much",
		w.turns, w.bytes, s.turns, s.turnTokens, s.summaries, s.summaryTokens, len(w.server.Overflows())-summaries, summaries)
}

// meter counts what is written to a store.
type meter struct {
	store.Store
	bytes atomic.Int64
}

func (m *meter) Append(ctx context.Context, a store.Append) (store.Appended, error) {
	for _, r := range a.Records {
		m.bytes.Add(int64(len(r.Data)))
	}
	if a.Snapshot != nil {
		m.bytes.Add(int64(len(a.Snapshot.Data)))
	}
	return m.Store.Append(ctx, a)
}
