package openaichat_test

import (
	"os"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest"
	"github.com/openworkerai/openworker/model/openaichat"
)

const (
	weatherText = "It is 7 °C in Brno, with light rain. 🌧️"
	halfText    = "It is 7 °C"
	brno        = `{"city":"Brno"}`
)

func newProvider(t *testing.T, config openaichat.Config) *openaichat.Provider {
	t.Helper()
	provider, err := openaichat.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.CloseIdleConnections)
	return provider
}

func TestTheProviderPassesTheSuite(t *testing.T) {
	modeltest.Run(t, modeltest.Subject{
		New: func(t *testing.T, o modeltest.Options) model.Provider {
			return newProvider(t, openaichat.Config{BaseURL: o.URL + "/v1", StreamIdle: o.StreamIdle})
		},
		Recordings: os.DirFS("testdata/recordings"),
		Extra:      append(callCases(), append(textCases(), errorCases()...)...),
	})
}

var counted = api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30}

func callCases() []modeltest.Case {
	want := func(name string, calls ...modeltest.Call) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Calls: calls, Stop: model.StopToolCalls, Usage: counted}}
	}
	weather := func(id string) modeltest.Call { return modeltest.Call{ID: id, Name: "get_weather", Arguments: brno} }
	clock := func(id string) modeltest.Call { return modeltest.Call{ID: id, Name: "get_time", Arguments: brno} }
	return []modeltest.Case{
		want("C05 call IDs that repeat within an answer", weather("call_1"), clock("call_1")),
		want("a call in the form before tool_calls", weather("")),
		want("calls without IDs", weather(""), clock("")),
		want("calls without an index", weather("call_a"), clock("call_b")),
		want("calls without an index or IDs", weather(""), clock("")),
		want("two calls of one tool without an index or IDs", weather(""), weather("")),
		want("interleaved calls without an index", weather("call_a"), clock("call_b")),
		want("interleaved calls by index", weather("call_a"), clock("call_b")),
		want("whole calls in one chunk", weather("call_a"), clock("call_b")),
		want("whole calls in one chunk without an index and with one ID", weather("call_1"), weather("call_1")),
		want("calls without arguments in one chunk without an index or IDs",
			modeltest.Call{Name: "get_weather"}, modeltest.Call{Name: "get_time"}),
		want("every call has index 0", weather("call_a"), clock("call_b")),
		want("every call has index 0 and its ID comes with each piece", weather("call_a"), weather("call_b")),
		want("a name in pieces", weather("call_a")),
		want("a name with every piece", weather("call_a")),
		want("a fresh ID with every piece", weather("call_a")),
		want("null IDs and names in the later pieces", weather("call_a")),
		want("arguments that are an object", weather("call_a")),
		want("an index that is a string or null", weather("call_a"), clock("call_b")),
		want("C42 the reason is stop although calls are there", weather("call_a"), clock("call_b")),
		want("C42 the reason is other although calls are there", weather("call_a"), clock("call_b")),
		want("C42 no reason although calls are there", weather("call_a"), clock("call_b")),
	}
}

func textCases() []modeltest.Case {
	names := []string{
		"C41 a reason and a clean end without DONE", "DONE without a reason", "DONE without a line break", "null and absent content",
		"lines that end in CR LF", "data without a space", "events without an empty line between them", "events of several data lines",
		"a byte order mark before the stream", "a stream that does not say what it is", "another choice beside the first",
		"the whole message again at the end", "counts in the last chunk with content", "counts that grow with every chunk",
		"counts in another form",
	}
	var cases []modeltest.Case
	for _, name := range names {
		cases = append(cases, modeltest.Case{Name: name, Want: modeltest.Want{Text: weatherText, Stop: model.StopEnd, Usage: counted}})
	}
	thought := counted
	thought.ReasoningTokens = 12
	for _, name := range []string{"content in parts", "reasoning in the field reasoning", "reasoning in both fields"} {
		cases = append(cases, modeltest.Case{Name: name, Want: modeltest.Want{
			Reasoning: "The user wants the weather.", Text: weatherText, Stop: model.StopEnd, Usage: thought,
		}})
	}
	return append(cases,
		modeltest.Case{Name: "a refusal is text", Want: modeltest.Want{Text: "I can't help.", Stop: model.StopEnd, Usage: counted}},
		modeltest.Case{Name: "no counts", Want: modeltest.Want{
			Text: weatherText, Stop: model.StopEnd, Usage: api.Usage{InputTokens: 147, OutputTokens: 12, Estimated: true},
		}},
		modeltest.Case{Name: "a JSON answer to a stream request", Want: modeltest.Want{
			Text: "Let me look.", Stop: model.StopToolCalls, Usage: counted,
			Calls: []modeltest.Call{{ID: "call_a", Name: "get_weather", Arguments: brno}},
		}},
	)
}

func errorCases() []modeltest.Case {
	return []modeltest.Case{
		{Name: "C41 a reason and then torn off", Want: modeltest.Want{Kind: model.KindCut, Partial: halfText, Retryable: true}},
		{Name: "C41 DONE with nothing before it", Want: modeltest.Want{Kind: model.KindCut, Retryable: true}},
		{Name: "a JSON answer that is torn off", Want: modeltest.Want{Kind: model.KindCut, Retryable: true}},
		{Name: "JSON without an answer", Want: modeltest.Want{Kind: model.KindMalformed, Retryable: true}},
		{Name: "C48 an error that is a string", Want: modeltest.Want{Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "upstream", Retryable: true}},
		{Name: "C48 an error of no known kind before the text", Want: modeltest.Want{Kind: model.KindUnclassified, Status: 200, Message: "flux"}},
		{Name: "C48 an error of no known kind after the text", Want: modeltest.Want{Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "flux", Retryable: true}},
		{Name: "C48 an error without data before it", Want: modeltest.Want{Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "had an error", Retryable: true}},
		{Name: "C48 an error in the choice", Want: modeltest.Want{Kind: model.KindOverloaded, Status: 200, Partial: halfText, Message: "disconnected", Retryable: true}},
		{Name: "C48 a finish reason that is an error", Want: modeltest.Want{Kind: model.KindOverloaded, Partial: halfText, Retryable: true}},
		{Name: "C48 a status in the code of a 200 body", Want: modeltest.Want{Kind: model.KindRateLimited, Status: 200, Message: "Provider", Retryable: true}},
		{Name: "C48 an error object without a wrapper", Want: modeltest.Want{Kind: model.KindContext, Status: 400, Message: "maximum context"}},
		{Name: "C48 an error in a list", Want: modeltest.Want{Kind: model.KindContext, Status: 400, Message: "token count"}},
		{Name: "C48 an error in detail", Want: modeltest.Want{Kind: model.KindRefused, Status: 422, Message: "field required"}},
		{Name: "C45 llama.cpp tells an overflow", Want: modeltest.Want{Kind: model.KindContext, Status: 400, Message: "context size"}},
		{Name: "C45 an overflow as 500", Want: modeltest.Want{Kind: model.KindContext, Status: 500, Message: "exceed"}},
		{Name: "C48 402", Want: modeltest.Want{Kind: model.KindQuota, Status: 402, Message: "Balance"}},
		{Name: "404 without an error", Want: modeltest.Want{Kind: model.KindRefused, Status: 404, Message: "BaseURL"}},
		{Name: "501", Want: modeltest.Want{Kind: model.KindRefused, Status: 501, Message: "tools"}},
	}
}
