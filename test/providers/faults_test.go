package providers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

type (
	reply  = modeltestserver.Reply
	fault  = modeltestserver.Error
	called = modeltestserver.Call
)

// said is what a model answers where all is well.
const said = "It is 7 °C in Brno, with light rain."

// sick is a fault of a provider and what must become of a turn in which its first answer has it; the next is good.
type sick struct {
	reply func(modeltestserver.Protocol) reply
	// code is of the failed attempt; after, where it is retried, is the least and the most time until the next one.
	code  api.Code
	after [2]time.Duration
	// status and failure are of the turn.
	status  api.RunStatus
	failure api.Code
	message string // a part of the failure's, or of the attempt's where it is retried
}

func same(r reply) func(modeltestserver.Protocol) reply {
	return func(modeltestserver.Protocol) reply { return r }
}

// soon is the first delay between attempts.
var soon = [2]time.Duration{time.Millisecond, 2 * time.Second}

func retried(code api.Code, message string, after [2]time.Duration, r reply) sick {
	return sick{reply: same(r), code: code, after: after, status: api.StatusCompleted, message: message}
}

func fatal(code api.Code, message string, of func(modeltestserver.Protocol) reply) sick {
	return sick{reply: of, code: code, status: api.StatusFailed, failure: code, message: message}
}

// byProtocol is an error in the words that each provider has for it.
func byProtocol(status int, errors map[modeltestserver.Protocol]fault) func(modeltestserver.Protocol) reply {
	return func(p modeltestserver.Protocol) reply { return reply{Status: status, Error: errors[p]} }
}

func faults() map[string]sick {
	overflow := byProtocol(400, map[modeltestserver.Protocol]fault{
		modeltestserver.Chat:      {Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens."},
		modeltestserver.Responses: {Code: "context_length_exceeded", Message: "Your input exceeds the context window of this model."},
		modeltestserver.Messages:  {Message: "prompt is too long: 209999 tokens > 200000 maximum"},
		modeltestserver.Gemini:    {Message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."},
	})
	quota := func(p modeltestserver.Protocol) reply {
		switch p {
		case modeltestserver.Messages:
			return reply{Status: 400, Error: fault{Message: "Your credit balance is too low to access the Anthropic API."}}
		case modeltestserver.Gemini:
			return reply{Status: 429, Error: fault{
				Message: "You exceeded your current quota, please check your plan and billing details.",
				Details: json.RawMessage(`[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]`),
			}}
		}
		return reply{Status: 429, Error: fault{Code: "insufficient_quota", Type: "insufficient_quota", Message: "You exceeded your current quota."}}
	}
	wrongKey := func(p modeltestserver.Protocol) reply {
		if p == modeltestserver.Gemini {
			return reply{Status: 400, Error: fault{Message: "API key not valid. Please pass a valid API key.", Details: json.RawMessage(`[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]`)}}
		}
		return reply{Status: 401, Error: fault{Code: "invalid_api_key", Message: "API key is wrong"}}
	}
	ok200 := func(p modeltestserver.Protocol) reply {
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "overloaded, try again", "type": "overloaded_error"}})
		return reply{Status: 200, Body: string(body), Header: map[string]string{"Content-Type": "application/json"}}
	}
	busy := &fault{Message: "The server had an error while processing your request"}
	const cut = "the stream broke off"
	minute := [2]time.Duration{time.Minute, time.Minute + 3*time.Second}
	return map[string]sick{
		"C48 an error before the text":      retried(api.CodeProviderOverloaded, "had an error", soon, reply{Broken: busy}),
		"C48 an error after the text":       retried(api.CodeProviderOverloaded, "had an error", soon, reply{Text: "It is 7", Broken: busy}),
		"C48 an error inside the text":      retried(api.CodeProviderOverloaded, "had an error", soon, reply{Text: "It is 7", Chunk: 1, Broken: busy}),
		"C48 an error inside a call":        retried(api.CodeProviderOverloaded, "had an error", soon, reply{Calls: []called{weather("Brno")}, Broken: busy}),
		"C48 429 with Retry-After":          retried(api.CodeRateLimited, "slow down", [2]time.Duration{7 * time.Second, 8 * time.Second}, reply{Status: 429, Error: fault{Message: "slow down"}, Header: map[string]string{"Retry-After": "7"}}),
		"C48 529":                           retried(api.CodeProviderOverloaded, "Overloaded", soon, reply{Status: 529, Error: fault{Message: "Overloaded"}}),
		"C48 503 of a proxy":                retried(api.CodeProviderOverloaded, "HTML", soon, reply{Status: 503, Body: "<html>busy</html>"}),
		"C48 HTTP 200 with an error body":   {reply: ok200, code: api.CodeProviderOverloaded, after: soon, status: api.StatusCompleted, message: "overloaded"},
		"C41 a stream without its end":      retried(api.CodeStreamCut, cut, soon, reply{Text: "It is 7", Cut: true}),
		"C41 a call without its end":        retried(api.CodeStreamCut, cut, soon, reply{Calls: []called{weather("Brno")}, Cut: true}),
		"a stream that stops for a minute":  retried(api.CodeStreamCut, "nothing came for 1m0s", minute, reply{Text: "It is 7", Silent: true}),
		"a call that stops for a minute":    retried(api.CodeStreamCut, "nothing came for 1m0s", minute, reply{Calls: []called{weather("Brno")}, Silent: true}),
		"a server that says nothing at all": retried(api.CodeStreamCut, "nothing came for 1m0s", minute, reply{Delay: time.Hour}),
		"C48 413 from the edge":             fatal(api.CodeRequestTooLarge, "HTML", same(reply{Status: 413, Body: "<html>413</html>"})),
		"C45 an overflow of the context":    {reply: overflow, code: api.CodeContextExhausted, status: api.StatusCompleted}, // a shorter answer is asked for
		"C48 insufficient quota":            fatal(api.CodeQuotaExhausted, "", quota),
		"a key that is wrong":               fatal(api.CodeAuthenticationFailed, "API key", wrongKey),
		"a request that the server refuses": fatal(api.CodeProviderError, "bad thing", same(reply{Status: 400, Error: fault{Message: "bad thing"}})),
		"an answer that the filter stopped": {reply: same(reply{Text: "It is 7", Finish: "content_filter"}), status: api.StatusFailed, failure: api.CodeContentFiltered},
		"a model that is not there": fatal(api.CodeModelNotFound, "model", byProtocol(404, map[modeltestserver.Protocol]fault{
			modeltestserver.Chat:      {Code: "model_not_found", Message: "The model does not exist"},
			modeltestserver.Responses: {Code: "model_not_found", Message: "The model does not exist"},
			modeltestserver.Messages:  {Message: "model: claude-0"},
			modeltestserver.Gemini:    {Message: "models/gemini-0 is not found for API version v1beta"},
		})),
	}
}

// C37, C41, C48, LI5: each fault ends as it should, each attempt is in the journal, what was said before the fault is
// void, and no call of a failed attempt runs.
func TestEachFaultOfEachProviderEndsAsItShould(t *testing.T) {
	t.Parallel()
	for name, sick := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachSubject(t, func(t *testing.T, s subject) {
				synctest.Test(t, func(t *testing.T) { testFault(t, s, sick) })
			})
		})
	}
}

func testFault(t *testing.T, s subject, sick sick) {
	var at []time.Time // of the requests
	h := open(t, newStore(), func(r modeltestserver.Request) reply {
		if r.Protocol != s.protocol {
			t.Errorf("a request of protocol %s", r.Protocol)
		}
		if at = append(at, time.Now()); len(at) == 1 {
			return sick.reply(s.protocol)
		}
		return reply{Text: said}
	})
	defer h.close()
	h.begin(s, api.Limits{})
	result, _ := h.turn("weather?", api.TurnOptions{})
	h.refusals()
	if result.Status != sick.status {
		t.Fatalf("got %s, %+v; want %s", result.Status, result.Error, sick.status)
	}
	failed := events[api.ModelCallFailed](h, api.EventModelCallFailed)
	if len(h.ran) > 0 {
		t.Errorf("a call of an attempt that failed ran: %v", h.ran)
	}
	if sick.status == api.StatusFailed {
		if result.Error == nil || result.Error.Code != sick.failure || !strings.Contains(result.Error.Message, sick.message) {
			t.Errorf("the turn's error is %+v, want %s with %q", result.Error, sick.failure, sick.message)
		}
		if len(at) != 1 {
			t.Errorf("%d requests, want 1: another try cannot help", len(at))
		}
	} else if result.Text != said || len(at) != 2 {
		t.Errorf("got %q after %d requests", result.Text, len(at))
	}
	if sick.code == "" {
		return
	}
	if len(failed) != 1 || failed[0].Code != sick.code || failed[0].Call != 1 || failed[0].Attempt != 1 || !strings.Contains(failed[0].Message, sick.message) {
		t.Fatalf("failed attempts: %+v, want one with %s and %q", failed, sick.code, sick.message)
	}
	if wants := sick.after[1] > 0; wants == failed[0].RetryAt.IsZero() {
		t.Errorf("the next attempt is at %v", failed[0].RetryAt)
	}
	if sick.after[1] > 0 {
		if waited := at[1].Sub(at[0]); waited < sick.after[0] || waited > sick.after[1] {
			t.Errorf("the next attempt came after %v, want %v", waited, sick.after)
		}
	}
}

// A provider that stays ill: six attempts, each in the journal, then the turn fails and the next one works.
func TestAProviderThatStaysIllFailsTheTurnAndNotTheSession(t *testing.T) {
	t.Parallel()
	eachSubject(t, func(t *testing.T, s subject) {
		synctest.Test(t, func(t *testing.T) {
			requests, cut := 0, strings.Repeat("It is 7 and cloudy. ", 40)
			h := open(t, newStore(), func(modeltestserver.Request) reply {
				if requests++; requests <= api.MaxModelAttempts {
					return reply{Text: cut, Cut: true}
				}
				return reply{Text: said}
			})
			defer h.close()
			h.begin(s, api.Limits{})
			result, _ := h.turn("weather?", api.TurnOptions{})
			failed := events[api.ModelCallFailed](h, api.EventModelCallFailed)
			for _, f := range failed { // LI1: half of the text came, and is charged for
				if f.Usage.OutputTokens < int64(len(cut)/8) || !f.Usage.Estimated {
					t.Errorf("an attempt that broke off counts %+v", f.Usage)
				}
			}
			if result.Status != api.StatusFailed || result.Error.Code != api.CodeStreamCut || !result.Error.Retryable || len(failed) != api.MaxModelAttempts {
				t.Fatalf("got %s, %+v after %d attempts", result.Status, result.Error, len(failed))
			}
			if result, _ = h.turn("and now?", api.TurnOptions{}); result.Text != said {
				t.Errorf("the next turn: %+v", result)
			}
			h.refusals()
		})
	})
}

func TestTextStreams(t *testing.T) {
	t.Parallel()
	eachSubject(t, func(t *testing.T, s subject) {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, newStore(), func(modeltestserver.Request) reply {
				return reply{Reasoning: "The user wants the weather.", Text: said, Chunk: 4, Pace: time.Second, InputTokens: 120, CachedTokens: 100, OutputTokens: 30, ReasoningTokens: 12}
			})
			defer h.close()
			h.begin(s, api.Limits{})
			stream := h.deltas()
			result, _ := h.turn("weather?", api.TurnOptions{})
			want := api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30, ReasoningTokens: 12}
			if diff := cmp.Diff(want, result.Usage); diff != "" || result.Text != said {
				t.Errorf("got %q and usage (-want +got):\n%s", result.Text, diff)
			}
			text, pieces := stream()
			if text != said || pieces < 5 {
				t.Errorf("%d pieces came: %q", pieces, text)
			}
			h.refusals()
		})
	})
}

// RU7, RU9: three calls of one answer, with IDs that recur from turn to turn, run once each, and their results stand in
// the order of the calls.
func TestThreeParallelCalls(t *testing.T) {
	t.Parallel()
	eachSubject(t, func(t *testing.T, s subject) {
		synctest.Test(t, func(t *testing.T) {
			var results []string
			h := open(t, newStore(), func(r modeltestserver.Request) reply {
				if r.LastRole == "user" {
					clock := called{ID: "call_1", Name: "get_time", Arguments: `{"city":"Brno"}`}
					return reply{Text: "Let me look.", Chunk: 3, Calls: []called{weather("Brno"), clock, weather("Atlantis")}}
				}
				results = nil
				for _, m := range r.Messages[len(r.Messages)-3:] {
					results = append(results, m.Content)
				}
				return reply{Text: said}
			})
			defer h.close()
			h.begin(s, api.Limits{})
			for range 2 {
				if result, _ := h.turn("weather?", api.TurnOptions{}); result.Text != said || result.ModelCalls != 2 {
					t.Fatalf("got %+v", result)
				}
				if len(results) != 3 || !strings.Contains(results[0], "get_weather of Brno") || !strings.Contains(results[1], "get_time of Brno") || !strings.Contains(results[2], "no such city") {
					t.Errorf("the results are %q", results)
				}
			}
			if len(h.ran) != 6 {
				t.Errorf("ran %v", h.ran)
			}
			h.refusals()
		})
	})
}

// C40: what the output limit cut off is told as cut, and a call in it never runs, half or whole.
func TestAnAnswerThatIsCutOff(t *testing.T) {
	t.Parallel()
	half := called{ID: "call_2", Name: "get_time", Arguments: `{"ci`}
	for name, test := range map[string]struct {
		first  reply
		status api.RunStatus
		text   string
		calls  int // model calls
	}{
		"without a call":      {reply{Text: "It is 7", Finish: "length"}, api.StatusLimitReached, "It is 7", 1},
		"with half a call":    {reply{Text: "Wait.", Calls: []called{half}, Finish: "length"}, api.StatusCompleted, said, 2},
		"with a whole call":   {reply{Calls: []called{weather("Brno")}, Finish: "length"}, api.StatusCompleted, said, 2},
		"with one and a half": {reply{Calls: []called{weather("Brno"), half}, Finish: "length"}, api.StatusCompleted, said, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachSubject(t, func(t *testing.T, s subject) {
				synctest.Test(t, func(t *testing.T) {
					requests := 0
					h := open(t, newStore(), func(modeltestserver.Request) reply {
						if requests++; requests == 1 {
							return test.first
						}
						return reply{Text: said}
					})
					defer h.close()
					h.begin(s, api.Limits{})
					result, _ := h.turn("weather?", api.TurnOptions{})
					want := test
					if s.protocol == modeltestserver.Gemini && slices.Contains(test.first.Calls, half) && len(test.first.Calls) == 1 {
						// Gemini leaves half a call out: what came before it is all there is.
						want.status, want.text, want.calls = api.StatusLimitReached, test.first.Text, 1
					}
					if result.Status != want.status || result.Text != want.text || result.ModelCalls != want.calls {
						t.Errorf("got %s, %q, %d calls: %+v; want %s, %q, %d", result.Status, result.Text, result.ModelCalls, result.Error, want.status, want.text, want.calls)
					}
					if len(h.ran) > 0 {
						t.Errorf("a call that was cut off ran: %v", h.ran)
					}
					if next, _ := h.turn("and now?", api.TurnOptions{}); next.Text != said {
						t.Errorf("the next turn: %+v", next)
					}
					h.refusals()
				})
			})
		})
	}
}

// C40: half a character in a call's arguments, which a JSON decoder takes and some APIs refuse whenever it is said
// again, is mended before it is stored: the tool runs, and the session goes on at every provider.
func TestArgumentsWithHalfACharacter(t *testing.T) {
	t.Parallel()
	eachSubject(t, func(t *testing.T, s subject) {
		synctest.Test(t, func(t *testing.T) {
			h := open(t, newStore(), func(r modeltestserver.Request) reply {
				if len(r.Messages) < 3 && r.LastRole == "user" {
					return reply{Calls: []called{{ID: "call_1", Name: "get_weather", Arguments: `{"city":"Brno \ud83d"}`}}}
				}
				return reply{Text: said}
			})
			defer h.close()
			h.begin(s, api.Limits{})
			for _, at := range subjects() {
				if result, _ := h.turn("weather?", api.TurnOptions{Model: &api.ModelRef{Provider: at.name, Name: at.model}}); result.Text != said {
					t.Fatalf("at %s: got %s %+v; refused: %q", at.name, result.Status, result.Error, h.server.Refusals())
				}
			}
			if len(h.ran) != 1 {
				t.Errorf("ran %v", h.ran)
			}
			h.refusals()
		})
	})
}

// C06: an answer of reasoning alone, or of nothing, says nothing that could be said again; the session goes on with it at
// every provider.
func TestAnAnswerThatSaysNothing(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]reply{"reasoning alone": {Reasoning: "Hm."}, "nothing": {}, "white space": {Text: " \n"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachSubject(t, func(t *testing.T, s subject) {
				synctest.Test(t, func(t *testing.T) {
					requests := 0
					h := open(t, newStore(), func(modeltestserver.Request) reply {
						if requests++; requests == 1 {
							return first
						}
						return reply{Text: said}
					})
					defer h.close()
					h.begin(s, api.Limits{})
					if result, _ := h.turn("weather?", api.TurnOptions{}); result.Status != api.StatusCompleted {
						t.Fatalf("got %+v", result)
					}
					for _, at := range append([]subject{s}, subjects()...) {
						if result, _ := h.turn("and now?", api.TurnOptions{Model: &api.ModelRef{Provider: at.name, Name: at.model}}); result.Text != said {
							t.Errorf("at %s: %s %+v", at.name, result.Status, result.Error)
						}
					}
					h.refusals()
				})
			})
		})
	}
}
