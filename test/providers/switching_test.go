package providers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// thinker answers like a reasoning model: a few rounds of calls, then text. Now and then an attempt fails.
type thinker struct {
	rng    *rand.Rand
	rounds int // of calls that are left in this turn
	ids    int
	// own counts the requests that bring back private reasoning of their own model, by protocol.
	own map[modeltestserver.Protocol]int
}

func (k *thinker) answer(r modeltestserver.Request) reply {
	for _, m := range r.Messages {
		if slices.ContainsFunc(m.Reasoning, func(part modeltestserver.Reasoning) bool { return part.Private != "" }) {
			k.own[r.Protocol]++ // the server has checked that it is this model's
			break
		}
	}
	if k.rng.IntN(12) == 0 {
		return reply{Reasoning: "Hm.", Text: "It is", Calls: []called{weather("Nowhere")}, Cut: true}
	}
	out := reply{Chunk: k.rng.IntN(5), Reasoning: "Let me think.\nThen look.", Withheld: k.rng.IntN(4) == 0}
	if k.rng.IntN(5) == 0 {
		out.Reasoning = ""
	}
	if k.rounds == 0 {
		out.Text = said
		return out
	}
	k.rounds--
	if k.rng.IntN(2) == 0 {
		out.Text = "Let me look."
	}
	for range 1 + k.rng.IntN(3) {
		k.ids = (k.ids + 1) % 4 // they recur (C05)
		call := called{ID: fmt.Sprintf("call_%d", k.ids), Name: []string{"get_weather", "get_time"}[k.rng.IntN(2)], Arguments: `{"city":"Brno"}`}
		switch k.rng.IntN(8) {
		case 0:
			call.Arguments = `{"city":"Atlantis"}` // the tool fails
		case 1:
			call.Arguments = `{"town":"Brno"}` // the schema refuses it
		case 2:
			call.Name = "no_such_tool"
		}
		out.Calls = append(out.Calls, call)
	}
	return out
}

// C08, RU11: forty turns with tools and reasoning, each at another provider than the one before (with odd seeds, at
// another model), with cut answers, failing calls and a new process now and then: every request is one that the
// strict server takes, and private reasoning goes back to its own model alone.
func TestAConversationThatChangesItsProviderAtEveryTurn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { converse(t, seed) })
		})
	}
}

func converse(t *testing.T, seed uint64) {
	const turns = 40
	k := &thinker{rng: rand.New(rand.NewPCG(seed, 1)), own: map[modeltestserver.Protocol]int{}}
	st, all := newStore(), subjects()
	h := open(t, st, k.answer)
	defer func() { h.close() }()
	h.begin(all[0], api.Limits{})
	last, requests := api.ModelRef{}, 0
	for turn := range turns {
		s := all[k.rng.IntN(len(all))]
		ref := api.ModelRef{Provider: s.name, Name: []string{s.model, s.other}[k.rng.IntN(2)]}
		for ref.Provider == last.Provider && (ref == last || seed%2 == 0) {
			s = all[k.rng.IntN(len(all))]
			ref = api.ModelRef{Provider: s.name, Name: []string{s.model, s.other}[k.rng.IntN(2)]}
		}
		last, k.rounds = ref, k.rng.IntN(4)
		result, _ := h.turn(fmt.Sprintf("question %d", turn), api.TurnOptions{Model: &ref})
		if result.Status != api.StatusCompleted || result.Text != said {
			t.Fatalf("turn %d at %s: %s %q %+v; refused: %q", turn, ref, result.Status, result.Text, result.Error, h.server.Refusals())
		}
		if k.rng.IntN(8) == 0 { // another process goes on
			session, ran := h.session, h.ran
			h.close()
			h.refusals()
			requests += h.server.Calls()
			h = open(t, st, k.answer)
			h.register(all[0], api.Limits{})
			h.session, h.ran = session, ran
		}
	}
	h.refusals()
	requests += h.server.Calls()
	if requests < turns {
		t.Errorf("only %d requests were made", requests)
	}
	for _, s := range all {
		if s.protocol != modeltestserver.Chat && k.own[s.protocol] == 0 { // Chat has no private parts
			t.Errorf("no request brought %s's own reasoning back", s.name)
		}
	}
	// What the tools were told is whole: a result for each call, in the history that a reader sees.
	var calls, results []string
	page, err := h.History(t.Context(), api.HistoryQuery{Session: h.session, Limit: api.MaxPage})
	for {
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			switch item.Type {
			case "tool_call":
				calls = append(calls, item.CallID)
			case "tool_result":
				results = append(results, item.CallID)
			}
		}
		if page.Next == "" {
			break
		}
		page, err = h.History(t.Context(), api.HistoryQuery{Session: h.session, Cursor: page.Next, Limit: api.MaxPage})
	}
	if strings.Join(calls, " ") != strings.Join(results, " ") || len(calls) == 0 {
		t.Errorf("%d calls and %d results, or in another order", len(calls), len(results))
	}
}
