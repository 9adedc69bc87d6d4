package window

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/tool"
)

// works goes through turns that need not know anything.
func (w *world) works(turns int, k task, bytes int) {
	w.t.Helper()
	for range turns {
		next, run := w.begin(k, false, filler("prose", bytes), api.TurnOptions{})
		if result := w.end(run); result.Status != api.StatusCompleted {
			w.t.Fatalf("turn %d is %s: %+v", next.Turn, result.Status, result.Error)
		}
	}
}

func wordy(t *testing.T, n, size int) (out []tool.Tool) {
	t.Helper()
	for i := range n {
		one, err := tool.New(fmt.Sprintf("t%d", i), filler("prose", size), func(context.Context, tool.Call, struct{}) (string, error) { return "done", nil }, tool.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// CO1: a conversation goes on however much of the window is taken by what stands beside it.
func TestInstructionsThatTakeMostOfTheWindow(t *testing.T) {
	t.Parallel()
	sets := map[string]set{"tools in a window of 32,000": {model: medium, tools: wordy(t, 100, 750)}}
	for _, percent := range []int{50, 65, 70, 75, 80} {
		sets[fmt.Sprintf("instructions of %d%% of 8,000", percent)] = set{model: small, instructions: filler("prose", 320*percent)}
	}
	sets["instructions of 75% of 32,000"] = set{model: medium, instructions: filler("prose", 96_000)}
	for name, s := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.provider, s.count, s.summary = "Chat", every(4), 200
			inBubble(t, s, 0, func(w *world) {
				w.works(40, task{Kind: "prose", Say: 500}, 500)
				if w.mind.spent.summaries == 0 {
					t.Error("nothing was summarised")
				}
			})
		})
	}
}

func TestAWindowOfAThousandTokens(t *testing.T) {
	t.Parallel()
	for _, by := range []int{3, 4} {
		inBubble(t, set{provider: "Chat", model: tiny, count: every(by), summary: 100}, 30, func(w *world) {
			w.works(20, task{Kind: "prose", Say: 100}, 200)
		})
	}
}

// A message that a fresh session takes is taken behind history too.
func TestALongMessageBehindHistory(t *testing.T) {
	t.Parallel()
	for _, size := range []int{18_000, 22_000, 24_000, 27_000} {
		for _, turns := range []int{0, 1, 3, 6} {
			t.Run(fmt.Sprintf("of %d bytes behind %d turns", size, turns), func(t *testing.T) {
				t.Parallel()
				inBubble(t, set{provider: "Chat", model: small, count: every(4), summary: 500}, 0, func(w *world) {
					w.works(turns, task{Kind: "prose", Say: 1000, Rounds: 1, Bytes: 1500}, 800)
					w.works(1, task{Kind: "prose", Say: 100}, size)
				})
			})
		}
	}
}

// A summary that never succeeds does not end the conversation: what it was to stand for is left out, and said to be.
func TestSummariesThatNeverSucceed(t *testing.T) {
	t.Parallel()
	blocks := guard.Guardrail{Name: "no-summaries", Points: []guard.Point{guard.ModelOutput}, Check: func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if strings.Contains(u.Text, "# Goal") {
			return guard.Block("no"), nil
		}
		return guard.Allow(), nil
	}}
	reply := func(r modeltestserver.Reply) func(*modeltestserver.Reply) {
		return func(out *modeltestserver.Reply) { *out = r }
	}
	for name, test := range map[string]struct {
		provider   string
		guardrails []guard.Guardrail
		answers    func(*modeltestserver.Reply)
		code       api.Code
		attempts   int // at a summary that is given up
	}{
		"reasoning that ends at the limit, Chat":      {"Chat", nil, reply(modeltestserver.Reply{Reasoning: "hm", Finish: "length"}), api.CodeStreamCut, 6},
		"reasoning that ends at the limit, OpenAI":    {"OpenAI", nil, reply(modeltestserver.Reply{Reasoning: "hm", Finish: "length"}), api.CodeStreamCut, 6},
		"reasoning that ends at the limit, Anthropic": {"Anthropic", nil, reply(modeltestserver.Reply{Reasoning: "hm", Finish: "length"}), api.CodeStreamCut, 6},
		"reasoning that ends at the limit, Google":    {"Google", nil, reply(modeltestserver.Reply{Reasoning: "hm", Finish: "length"}), api.CodeStreamCut, 6},
		"a provider's filter":                         {"Chat", nil, reply(modeltestserver.Reply{Text: "x", Finish: "content_filter"}), api.CodeContentFiltered, 1},
		"a request that is refused":                   {"Chat", nil, reply(modeltestserver.Reply{Status: 400, Error: modeltestserver.Error{Message: "no"}}), api.CodeProviderError, 1},
		"a guardrail":                                 {"Chat", []guard.Guardrail{blocks}, nil, api.CodeGuardrailBlocked, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: test.provider, model: small, count: every(4), summary: 500, guardrails: test.guardrails}, 0, func(w *world) {
				w.mind.asSummary = test.answers
				w.works(12, task{Kind: "prose", Say: 1000, Rounds: 1, Bytes: 3000}, 1500)
				failed, noted, most := events[api.CompactionFailed](w, api.EventCompactionFailed), 0, 0
				for _, e := range events[api.CompactionFinished](w, api.EventCompactionFinished) {
					if e.Items > 0 {
						noted++
						if e.Attempt != 0 || strings.Count(e.Summary, "Word of the host") != 1 || len(e.Summary) > 500 {
							t.Errorf("a plan took effect as %+v", e)
						}
					}
				}
				given, attempts := 0, 0
				for _, e := range failed {
					attempts++
					if e.Code != test.code || e.GivenUp != e.RetryAt.IsZero() {
						t.Errorf("a summary failed as %+v", e)
					}
					if e.GivenUp {
						given, most, attempts = given+1, max(most, attempts), 0
					}
				}
				if noted < 3 || noted != given || most != test.attempts {
					t.Errorf("%d plans took effect, %d summaries were given up, after %d attempts", noted, given, most)
				}
				run, err := w.Compact(w.t.Context(), w.session, api.TurnOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if result := w.end(run); result.Status != api.StatusFailed || result.Error.Code != test.code {
					t.Errorf("by hand it is %s: %+v", result.Status, result.Error)
				}
				w.restart()
				w.mind.asSummary = func(*modeltestserver.Reply) {}
				w.works(3, task{Kind: "prose", Say: 1000}, 1500)
			})
		})
	}
}

// What keeps a summary from being made at all keeps the next call too: the run fails, and the next one works again.
func TestASummaryThatNobodyIsThereToMake(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]api.Code{503: api.CodeProviderOverloaded, 401: api.CodeAuthenticationFailed} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: "Chat", model: small, count: every(4), summary: 500}, 0, func(w *world) {
				w.mind.asSummary = func(r *modeltestserver.Reply) {
					*r = modeltestserver.Reply{Status: status, Error: modeltestserver.Error{Message: "no"}}
				}
				for {
					_, run := w.begin(task{Kind: "prose", Say: 1000}, false, filler("prose", 3000), api.TurnOptions{})
					result := w.end(run)
					if result.Status == api.StatusCompleted && w.turns < 20 {
						continue
					}
					if result.Status != api.StatusFailed || result.Error.Code != code {
						t.Errorf("it is %s: %+v", result.Status, result.Error)
					}
					break
				}
				w.mind.asSummary = nil
				w.works(3, task{Kind: "prose"}, 100)
			})
		})
	}
}

// LI5: a call that was too much twice ends its turn. Where nobody tells how small a window is, a turn or two end so, each
// with less history left for the next, and then all go on.
func TestAWindowThatIsLearntOverflowByOverflow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		provider, to string
		failed       int // turns that end behind the switch
		first, all   int // overflows at the switch, and together
	}{
		"nobody tells": {"OpenAI", unknown, 2, 8, 10},
		"a table is wrong, and the provider tells":  {"Chat", wrong, 0, 1, 1},
		"a table is wrong, and the provider too":    {"Google", wrong, 0, 1, 1},
		"a table is wrong, and nobody tells better": {"OpenAI", wrong, 2, 8, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: test.provider, model: large, count: every(4), summary: 500}, test.all, func(w *world) {
				w.works(10, task{Kind: "prose", Say: 1000, Rounds: 2, Bytes: 6000}, 2000)
				w.agent.DefaultModel.Name = test.to
				for n := range 12 {
					k, run := w.begin(task{Kind: "prose"}, false, "hi", api.TurnOptions{Model: &w.agent.DefaultModel})
					result := w.end(run)
					if result.Status != api.StatusCompleted && (n >= test.failed || result.Error.Code != api.CodeContextExhausted) {
						t.Errorf("turn %d is %s: %+v", k.Turn, result.Status, result.Error)
					}
					if got := len(w.server.Overflows()); n == 0 && got > test.first {
						t.Errorf("at the switch %d requests were too much", got)
					}
				}
			})
		})
	}
}

// C44: a batch that no summary can be shown all of is summarised as far as it can be.
func TestABatchOfManyCalls(t *testing.T) {
	t.Parallel()
	for _, n := range []int{20, 60, 150} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: "Chat", model: small, count: every(4), summary: 500}, 8, func(w *world) {
				w.works(1, task{Kind: "prose", Say: 100, Rounds: 1, Parallel: n, Bytes: 1000}, 300)
				w.works(3, task{Kind: "prose"}, 10)
			})
		})
	}
}

// GU4: guidance for which a summary's request has no room is cut, and the model is told.
func TestGuidanceThatIsLongerThanTheWindow(t *testing.T) {
	t.Parallel()
	for _, size := range []int{4_000, 12_000, 32_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			inBubble(t, set{provider: "Chat", model: small, count: every(4), summary: 500, guidance: filler("prose", size)}, 0, func(w *world) {
				told := 0
				w.mind.before = func(r modeltestserver.Request) {
					if isSummary(r) && strings.Contains(string(r.Body), "bytes are left out here: the model's window has no room for them") {
						told++
					}
				}
				w.works(12, task{Kind: "prose", Say: 1000, Rounds: 1, Bytes: 3000}, 1500)
				if s := w.mind.spent.summaries; s == 0 || size > 8_000 && told != s {
					t.Errorf("%d of %d requests say that guidance is left out", told, s)
				}
			})
		})
	}
}

// By hand all that is older is summarised, however many calls that takes, and the estimate falls with each.
func TestASummaryByHandGoesOnToItsEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, set{provider: "Chat", model: large, count: every(4), summary: 300}, 0, func(w *world) {
		w.works(20, task{Kind: "prose", Say: 1000, Rounds: 2, Bytes: 6000}, 2000)
		at := time.Now()
		run, err := w.Compact(w.t.Context(), w.session, api.TurnOptions{Model: &api.ModelRef{Provider: "Chat", Name: small}})
		if err != nil {
			t.Fatal(err)
		}
		if result := w.end(run); result.Status != api.StatusCompleted {
			t.Fatalf("it is %s: %+v", result.Status, result.Error)
		}
		before, after := events[api.CompactionStarted](w, api.EventCompactionStarted), events[api.CompactionFinished](w, api.EventCompactionFinished)
		if len(after) < 10 || len(before) != len(after) {
			t.Fatalf("%d summaries were begun, %d made", len(before), len(after))
		}
		for i := range after {
			if after[i].Tokens >= before[i].Tokens {
				t.Errorf("summary %d leaves %d tokens of %d", i+1, after[i].Tokens, before[i].Tokens)
			}
		}
		if last := after[len(after)-1].Tokens; last > 4_000 || time.Since(at) > time.Minute {
			t.Errorf("%d tokens are left after %s", last, time.Since(at))
		}
	})
}

// Who is to blame for a request that is too large is told.
func TestWhatStandsBesideTheConversationIsNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set      set
		addendum string
		want     string
	}{
		"instructions": {set{instructions: filler("prose", 100_000)}, "", "the agent's instructions and tools have 10"},
		"tools":        {set{tools: wordy(t, 100, 2000)}, "", "the agent's instructions and tools have 21"},
		"an addendum":  {set{}, filler("prose", 32_000), "the turn's instruction addendum 32000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.set
			s.provider, s.model, s.count = "Chat", small, every(4)
			inBubble(t, s, 1, func(w *world) {
				_, run := w.begin(task{}, false, "hello", api.TurnOptions{InstructionAddendum: test.addendum})
				if e := w.end(run).Error; e == nil || e.Code != api.CodeContextExhausted || !strings.Contains(e.Message, test.want) {
					t.Errorf("the error is %+v", e)
				}
			})
		})
	}
}
