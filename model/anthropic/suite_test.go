package anthropic_test

import (
	"os"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
	"github.com/openworkerai/openworker/model/modeltest"
)

const (
	weatherText = "It is 7 °C in Brno, with light rain. 🌧️"
	halfText    = "It is 7 °C"
	thought     = "The user wants the weather."
	brno        = `{"city":"Brno"}`
)

func newProvider(t testing.TB, config anthropic.Config) *anthropic.Provider {
	t.Helper()
	provider, err := anthropic.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.CloseIdleConnections)
	return provider
}

func TestTheProviderPassesTheSuite(t *testing.T) {
	modeltest.Run(t, modeltest.Subject{
		New: func(t *testing.T, o modeltest.Options) model.Provider {
			return newProvider(t, anthropic.Config{BaseURL: o.URL, StreamIdle: o.StreamIdle})
		},
		Recordings: os.DirFS("testdata/recordings"),
		Extra:      append(append(callCases(), textCases()...), append(streamFailures(), refusals()...)...),
	})
}

// What the recordings count: of 120 tokens of input 100 came from the cache and 12 went into it.
var (
	counted = api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30}
	mused   = api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30, ReasoningTokens: 12}
)

func weather(id string) modeltest.Call {
	return modeltest.Call{ID: id, Name: "get_weather", Arguments: brno}
}

func clock(id, arguments string) modeltest.Call {
	return modeltest.Call{ID: id, Name: "get_time", Arguments: arguments}
}

func callCases() []modeltest.Case {
	want := func(name string, stop model.StopReason, calls ...modeltest.Call) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Calls: calls, Stop: stop, Usage: counted}}
	}
	both := []modeltest.Call{weather("call_a"), clock("call_b", brno)}
	return []modeltest.Case{
		{Name: "reasoning and tool calls", Want: modeltest.Want{Reasoning: thought, Calls: both, Stop: model.StopToolCalls, Usage: mused}},
		{Name: "reasoning between text and a call", Want: modeltest.Want{
			Reasoning: thought, Text: "Let me look.", Calls: both[:1], Stop: model.StopToolCalls, Usage: mused,
		}},
		want("calls whose pieces come by turns", model.StopToolCalls, both...),
		want("a call without arguments", model.StopToolCalls, clock("call_a", "{}"), clock("call_b", "{}")),
		want("a whole call in the start of its block", model.StopToolCalls, both[0]),
		want("C05 call IDs that repeat within an answer", model.StopToolCalls, weather("call_a"), clock("call_a", brno)),
		want("C40 a call cut off before its arguments", model.StopOutputLimit, weather("call_a"), clock("call_b", "")),
		want("C40 a call cut off by the context window", model.StopOutputLimit, modeltest.Call{ID: "call_a", Name: "get_weather", Arguments: `{"ci`}),
		want("C42 the reason is end_turn although calls are there", model.StopToolCalls, both[0]),
		want("C42 the reason is unknown although calls are there", model.StopToolCalls, both[0]),
		{Name: "C42 no reason although calls are there", Want: modeltest.Want{
			Calls: both[:1], Stop: model.StopToolCalls, Usage: api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 1},
		}},
	}
}

func textCases() []modeltest.Case {
	var cases []modeltest.Case
	for _, name := range []string{
		"C42 the reason is tool_use although no calls are there", "an answer that a stop sequence ended", "an answer that the server paused",
		"text in two blocks", "text in the start of its block", "blocks and events that we do not know", "events without names",
		"lines that end in CR LF", "counts at the start only", "counts at the end only", "counts that are zero at the start",
	} {
		cases = append(cases, modeltest.Case{Name: name, Want: modeltest.Want{Text: weatherText, Stop: model.StopEnd, Usage: counted}})
	}
	for _, name := range []string{"redacted reasoning", "reasoning whose text is omitted"} {
		cases = append(cases, modeltest.Case{Name: name, Want: modeltest.Want{Text: weatherText, Stop: model.StopEnd, Usage: mused}})
	}
	return append(cases,
		modeltest.Case{Name: "a refusal without text", Want: modeltest.Want{Stop: model.StopFiltered, Usage: counted}},
		modeltest.Case{Name: "C40 reasoning cut off by the output limit", Want: modeltest.Want{Reasoning: thought, Stop: model.StopOutputLimit, Usage: mused}},
		modeltest.Case{Name: "no counts", Want: modeltest.Want{
			Text: weatherText, Stop: model.StopEnd, Usage: api.Usage{InputTokens: 158, OutputTokens: 12, Estimated: true},
		}},
	)
}

func streamFailures() []modeltest.Case {
	cut := modeltest.Want{Kind: model.KindCut, Partial: halfText, Message: "broke off", Retryable: true}
	malformed := func(partial, message string) modeltest.Want {
		return modeltest.Want{Kind: model.KindMalformed, Partial: partial, Message: message, Retryable: true}
	}
	return []modeltest.Case{
		{Name: "C41 a reason and then the end", Want: cut},
		{Name: "C41 a reason and then torn off", Want: cut},
		{Name: "a piece of a block that has not begun", Want: malformed(halfText, "block 7")},
		{Name: "a piece of text in a call", Want: malformed("", "text_delta in a block of type tool_use")},
		{Name: "text that goes on after the next text", Want: malformed(halfText, "after the next has begun")},
		{Name: "a JSON answer to a stream request", Want: malformed("", "no event stream")},
		{Name: "C45 a prompt that is too long inside a 200 stream", Want: modeltest.Want{Kind: model.KindContext, Status: 200, Message: "too long"}},
		{Name: "C48 an invalid request inside a 200 stream", Want: modeltest.Want{Kind: model.KindRefused, Status: 200, Message: "unexpected block"}},
		{Name: "C48 an error of no known kind before the text", Want: modeltest.Want{Kind: model.KindUnclassified, Status: 200, Message: "flux"}},
		{Name: "C48 an error of no known kind after the text", Want: modeltest.Want{
			Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "flux", Retryable: true,
		}},
		{Name: "C48 an error without a type", Want: modeltest.Want{
			Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "upstream", Retryable: true,
		}},
		{Name: "C48 an error without an object", Want: modeltest.Want{
			Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "no message", Retryable: true,
		}},
	}
}

func refusals() []modeltest.Case {
	want := func(name string, kind model.ErrorKind, status int, message string) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Kind: kind, Status: status, Message: message, Retryable: kind == model.KindOverloaded}}
	}
	return []modeltest.Case{
		want("C45 a prompt that is too long", model.KindContext, 400, "too long"),
		want("C48 a credit balance that is too low", model.KindQuota, 400, "credit balance"),
		want("C48 usage limits that the organization set", model.KindQuota, 400, "2026-12-01"),
		want("C48 402", model.KindQuota, 402, "billing"),
		want("C48 413 as JSON", model.KindTooLarge, 413, "maximum size"),
		want("C48 504", model.KindOverloaded, 504, "timed out"),
		want("reasoning that the server does not take back", model.KindRefused, 400, "different conversation"),
		want("404 without an error", model.KindRefused, 404, "BaseURL"),
	}
}
