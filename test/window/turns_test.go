package window

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

func filler(kind string, bytes int) string { return text(rand.New(rand.NewPCG(9, 9)), kind, bytes) }

// The message of a turn stays in front of the model however long its turn becomes (CO3).
func TestATurnOfSixtyRounds(t *testing.T) {
	t.Parallel()
	for _, provider := range everyProvider {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: provider, model: small, count: every(4), summary: 1000}, 0, func(w *world) {
				w.turn(task{Kind: "prose", Say: 500}, true, filler("prose", 3000))
				result := w.turn(task{Kind: "json", Say: 500, Rounds: 60, Parallel: 2, Bytes: 1500, Fact: true, Think: 200}, true, filler("prose", 3000))
				if result.ModelCalls != 61 {
					t.Errorf("the turn took %d calls", result.ModelCalls)
				}
				w.turn(task{Kind: "prose", Say: 500}, true, "and again")
			})
		})
	}
}

// CO3: a result is kept whole up to its bound, and shortened for the model.
func TestAResultOfAMegabyte(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		model     string
		parallel  int
		kind      string
		overflows int
	}{
		"one":                               {small, 1, "prose", 0},
		"four at once":                      {small, 4, "prose", 0},
		"of base64":                         {small, 2, "base64", 0},
		"to a model whose window is known":  {small, 1, "cjk", 0},
		"to a model whose window is not":    {unknown, 1, "prose", 1},
		"four at once, the window unknown":  {unknown, 4, "json", 1},
		"to a model with a window for half": {large, 4, "prose", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: "Chat", model: test.model, count: every(4), summary: 1000}, test.overflows, func(w *world) {
				w.turn(task{Kind: "prose", Say: 300}, true, filler("prose", 300))
				w.turn(task{Kind: test.kind, Say: 300, Rounds: 2, Parallel: test.parallel, Bytes: 1 << 20, Fact: true}, true, filler("prose", 300))
				w.turn(task{Kind: "prose", Say: 300, Rounds: 1, Bytes: 1000}, true, filler("prose", 300))
			})
		})
	}
}

// C45, CO3: a message is never shortened. One that the window cannot have ends its turn, and the next one works.
func TestAMessageThatIsLargerThanTheWindow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		model     string
		count     tokenizer
		turns     int // before it
		kind      string
		bytes     int
		overflows int
		takes     bool
	}{
		"far too long":                          {small, every(4), 0, "prose", 200_000, 0, false},
		"far too long, in the middle":           {small, every(4), 6, "prose", 200_000, 0, false},
		"too long by any rule":                  {small, every(4), 0, "prose", 45_000, 0, false},
		"too long for a dense text":             {small, every(2), 0, "base64", 30_000, 1, false},
		"long, and it fits":                     {small, every(4), 0, "prose", 20_000, 0, true},
		"long, and it fits, in the middle":      {small, every(4), 6, "prose", 20_000, 0, true},
		"long, and it fits by a sparse rule":    {small, every(5), 0, "prose", 30_000, 0, true},
		"too long where nobody knows":           {unknown, every(4), 0, "prose", 45_000, 1, false},
		"too long where it was learnt":          {unknown, every(4), 6, "prose", 45_000, 1, false},
		"long, and it fits where nobody knew":   {unknown, every(4), 0, "prose", 16_000, 1, true},
		"long, and it fits where it was learnt": {unknown, every(4), 6, "prose", 16_000, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: "Chat", model: test.model, count: test.count, summary: 1000}, test.overflows, func(w *world) {
				for range test.turns {
					w.turn(task{Kind: "prose", Say: 1000, Rounds: 1, Bytes: 1500}, true, filler("prose", 800))
				}
				before := w.server.Calls()
				k, run := w.begin(task{Kind: "prose", Say: 100}, test.takes, filler(test.kind, test.bytes), api.TurnOptions{})
				result := w.end(run)
				if test.takes {
					w.knows(k, result)
				} else if e := result.Error; result.Status != api.StatusFailed || e == nil || e.Code != api.CodeContextExhausted || !strings.Contains(e.Message, "the message of run "+run.Run) {
					t.Errorf("it is %s: %+v", result.Status, e)
				}
				if calls := w.server.Calls() - before; calls > 6 {
					t.Errorf("%d calls were made", calls)
				}
				w.turn(task{Kind: "prose", Say: 300, Rounds: 1, Bytes: 1000}, true, "go on")
			})
		})
	}
}

// C45: where nothing of the conversation is to blame, that is said, and nothing is summarised over and over.
func TestInstructionsThatAreLargerThanTheWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, set{provider: "Chat", model: small, count: every(4), instructions: filler("prose", 60_000)}, 1, func(w *world) {
		for range 3 {
			_, run := w.begin(task{}, false, "hello", api.TurnOptions{})
			if result := w.end(run); result.Status != api.StatusFailed || result.Error.Code != api.CodeContextExhausted || strings.Contains(result.Error.Message, "message of run") {
				t.Errorf("it is %s: %+v", result.Status, result.Error)
			}
		}
		if calls := w.server.Calls(); calls > 3 {
			t.Errorf("%d calls were made", calls)
		}
	})
}

// A conversation moves to a model with a smaller window and back. Of the small one nobody need know how large it is, if its
// provider tells with the overflow, as all do but OpenAI's Responses.
func TestASwitchToASmallerWindowAndBack(t *testing.T) {
	t.Parallel()
	for _, provider := range everyProvider {
		for _, name := range []string{small, unknown} {
			if name == unknown && provider == "OpenAI" {
				continue
			}
			t.Run(provider+", "+name, func(t *testing.T) {
				t.Parallel()
				inBubble(t, set{provider: provider, model: large, count: every(4), summary: 1000}, 1, func(w *world) {
					turns := func(n int, name string) {
						for range n {
							w.turn(task{Kind: "prose", Say: 1000, Rounds: 2, Bytes: 6000, Fact: w.turns%4 == 0, Think: 100}, true, filler("prose", 2000),
								api.TurnOptions{Model: &api.ModelRef{Provider: provider, Name: name}})
						}
					}
					turns(10, large)
					if s := w.mind.spent; s.summaries > 0 || s.turnTokens < 8_000 {
						t.Errorf("before the switch there are %d summaries, and %d tokens", s.summaries, s.turnTokens)
					}
					turns(3, name)
					made := w.mind.spent.summaries
					if made == 0 || made > 60 {
						t.Errorf("%d summaries were made at the switch", made)
					}
					turns(3, large)
					if got := w.mind.spent.summaries; got != made {
						t.Errorf("%d more summaries were made in the large window", got-made)
					}
				})
			})
		}
	}
}

// A process ends in the middle of a summary, and of a long turn; the next one goes on (CO2, RE7).
func TestARestartInTheMiddle(t *testing.T) {
	t.Parallel()
	inBubble(t, set{provider: "Chat", model: small, count: every(4), summary: 1000}, 0, func(w *world) {
		for range 4 {
			asked, stopped := make(chan struct{}), false
			w.mind.asSummary = func(r *modeltestserver.Reply) {
				if !stopped {
					stopped, r.Silent = true, true
					close(asked)
				}
			}
			k, run := w.begin(task{Kind: "json", Say: 500, Rounds: 12, Parallel: 2, Bytes: 2000, Fact: true}, true, filler("prose", 1000), api.TurnOptions{})
			<-asked
			w.restart()
			w.knows(k, w.end(run))
		}
		lost := 0
		for _, e := range events[api.CompactionFailed](w, api.EventCompactionFailed) {
			if e.Code == api.CodeCallLost || e.Code == api.CodeCancelled {
				lost++
			}
		}
		if lost < 4 {
			t.Errorf("%d summaries were lost", lost)
		}
	})
}

// A summary that always reaches its limit is one that was cut off, and the conversation goes on.
func TestSummariesThatAreCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, set{provider: "Chat", model: small, count: every(4), summary: 1000}, 0, func(w *world) {
		w.mind.asSummary = func(r *modeltestserver.Reply) { r.Finish = "length" }
		for range 8 {
			w.turn(task{Kind: "prose", Say: 1000, Rounds: 2, Bytes: 4000}, true, filler("prose", 1000))
		}
		made := events[api.CompactionFinished](w, api.EventCompactionFinished)
		if len(made) < 3 || len(events[api.CompactionFailed](w, api.EventCompactionFailed)) > 0 {
			t.Errorf("%d summaries were made, or some failed", len(made))
		}
		for _, e := range made {
			if e.Items > 0 && !strings.HasSuffix(e.Summary, "what was to follow is missing]") {
				t.Errorf("the summary ends with %q", e.Summary[max(len(e.Summary)-100, 0):])
			}
		}
	})
}
