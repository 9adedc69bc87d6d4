package google_test

import (
	"os"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/google"
	"github.com/openworkerai/openworker/model/modeltest"
)

const (
	weatherText   = "It is 7 °C in Brno, with light rain. 🌧️"
	halfText      = "It is 7 °C"
	reasoningText = "The user wants the weather."
	brno          = `{"city":"Brno"}`
)

func newProvider(t testing.TB, config google.Config) *google.Provider {
	t.Helper()
	provider, err := google.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.CloseIdleConnections)
	return provider
}

func TestTheProviderPassesTheSuite(t *testing.T) {
	modeltest.Run(t, modeltest.Subject{
		New: func(t *testing.T, o modeltest.Options) model.Provider {
			return newProvider(t, google.Config{BaseURL: o.URL, StreamIdle: o.StreamIdle})
		},
		Recordings: os.DirFS("testdata/recordings"),
		Extra:      append(answerCases(), append(brokenCases(), refusedCases()...)...),
		Without: map[string]string{
			"C40 a tool call cut off by the output limit": "a call comes whole, its arguments are an object",
		},
	})
}

var counted = api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30}

func weather(id string) modeltest.Call {
	return modeltest.Call{ID: id, Name: "get_weather", Arguments: brno}
}
func clock(id string) modeltest.Call {
	return modeltest.Call{ID: id, Name: "get_time", Arguments: brno}
}

func answerCases() []modeltest.Case {
	calls := func(name string, calls ...modeltest.Call) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Calls: calls, Stop: model.StopToolCalls, Usage: counted}}
	}
	text := func(name string, usage api.Usage) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Text: weatherText, Stop: model.StopEnd, Usage: usage}}
	}
	thought := counted
	thought.ReasoningTokens = 12
	return []modeltest.Case{
		{Name: "thoughts and signatures in every place", Want: modeltest.Want{
			Reasoning: reasoningText, Text: "Let me look.", Calls: []modeltest.Call{weather("call_a"), clock("call_b")}, Stop: model.StopToolCalls, Usage: thought,
		}},
		text("a signature before anything else", counted),
		calls("calls without IDs", weather(""), clock("")),
		calls("a call without arguments", modeltest.Call{ID: "call_a", Name: "get_weather"}, modeltest.Call{ID: "call_b", Name: "get_time", Arguments: "{}"}),
		calls("numbers that no float holds", modeltest.Call{Name: "get_weather", Arguments: `{"id":9007199254740993,"at":1.10}`}),
		calls("C05 call IDs that repeat within an answer", weather("call_1"), clock("call_1")),
		calls("C42 the reason is OTHER although calls are there", weather("call_a")),
		{Name: "a prompt that is blocked", Want: modeltest.Want{Stop: model.StopFiltered, Usage: api.Usage{InputTokens: 120}}},
		{Name: "an answer stopped for recitation", Want: modeltest.Want{Text: halfText, Stop: model.StopFiltered, Usage: counted}},
		text("no counts", api.Usage{InputTokens: 140, OutputTokens: 12, Estimated: true}),
		text("the tokens of tools' results", counted),
		text("another candidate beside the first", counted),
		text("a gateway that adds DONE", counted),
	}
}

func brokenCases() []modeltest.Case {
	cut := modeltest.Want{Kind: model.KindCut, Message: "broke off", Retryable: true}
	half := cut
	half.Partial = halfText
	begun := cut
	begun.Partial = "It is "
	counts := cut
	counts.Usage = api.Usage{InputTokens: 120}
	malformed := func(name, partial, message string, usage api.Usage) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Kind: model.KindMalformed, Partial: partial, Message: message, Usage: usage, Retryable: true}}
	}
	return []modeltest.Case{
		{Name: "C41 a reason and then torn off", Want: half},
		{Name: "C41 a stream without a candidate", Want: counts},
		{Name: "C41 a call and half an answer then", Want: begun},
		malformed("the reason is OTHER and no calls are there", halfText, "OTHER", api.Usage{}),
		malformed("a reason that is not known", halfText, "CONTINUATION", api.Usage{}),
		malformed("a malformed function call", "", "MALFORMED_FUNCTION_CALL: Malformed function call: print(", api.Usage{InputTokens: 120}),
		malformed("a call although none is allowed", "", "UNEXPECTED_TOOL_CALL", api.Usage{}),
		malformed("a call in pieces", "", "in pieces", api.Usage{}),
		malformed("a chunk of another protocol", halfText, "protocol", api.Usage{}),
		malformed("a whole answer as JSON", "", "no event stream", api.Usage{}),
		{Name: "an answer that is an image", Want: modeltest.Want{Kind: model.KindUnclassified, Message: "inlineData", Usage: counted}},
		{Name: "counts with every chunk and an error then", Want: modeltest.Want{
			Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "had an error", Retryable: true,
			Usage: api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 7, ReasoningTokens: 3},
		}},
		{Name: "C48 an error on lines of its own after the text", Want: modeltest.Want{
			Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "had an error", Retryable: true,
		}},
	}
}

func refusedCases() []modeltest.Case {
	return []modeltest.Case{
		{Name: "a credential that is none as 400", Want: modeltest.Want{Kind: model.KindAuth, Status: 400, Message: "API key not valid"}},
		{Name: "C48 a list of one error", Want: modeltest.Want{Kind: model.KindAuth, Status: 400, Message: "API key not valid"}},
		{Name: "C45 an overflow in the API's own words", Want: modeltest.Want{Kind: model.KindContext, Status: 400, Message: "input token count (1048590)"}},
		{Name: "a place where the API is not offered", Want: modeltest.Want{Kind: model.KindRefused, Status: 400, Message: "location"}},
		{Name: "C48 429 for the quota of a minute", Want: modeltest.Want{
			Kind: model.KindRateLimited, Status: 429, RetryAfter: 24178 * time.Millisecond, Message: "limit: 250", Retryable: true,
		}},
	}
}
