package openai_test

import (
	"os"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest"
	"github.com/openworkerai/openworker/model/openai"
)

const (
	weatherText = "It is 7 °C in Brno, with light rain. 🌧️"
	halfText    = "It is 7 °C"
	thoughtText = "The user wants the weather."
	brno        = `{"city":"Brno"}`
)

func newProvider(t testing.TB, config openai.Config) *openai.Provider {
	t.Helper()
	provider, err := openai.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(provider.CloseIdleConnections)
	return provider
}

func TestTheProviderPassesTheSuite(t *testing.T) {
	modeltest.Run(t, modeltest.Subject{
		New: func(t *testing.T, o modeltest.Options) model.Provider {
			return newProvider(t, openai.Config{BaseURL: o.URL + "/v1", StreamIdle: o.StreamIdle})
		},
		Recordings: os.DirFS("testdata/recordings"),
		Extra:      append(answerCases(), append(serverCases(), errorCases()...)...),
	})
}

var (
	counted = api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30}
	thought = api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30, ReasoningTokens: 12}
	weather = modeltest.Call{ID: "call_a", Name: "get_weather", Arguments: brno}
	clock   = modeltest.Call{ID: "call_b", Name: "get_time", Arguments: brno}
)

// answerCases are answers that only this protocol has.
func answerCases() []modeltest.Case {
	half := modeltest.Call{ID: "call_a", Name: "get_weather", Arguments: `{"city":"Br`}
	cut := func(name, text string) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{
			Text: text, Calls: []modeltest.Call{half}, Stop: model.StopOutputLimit, Usage: counted,
		}}
	}
	return []modeltest.Case{
		{Name: "reasoning of several summaries before calls", Want: modeltest.Want{
			Reasoning: "**Looking up**\n\nThe user wants both.", Calls: []modeltest.Call{weather, clock}, Stop: model.StopToolCalls, Usage: thought,
		}},
		{Name: "sealed reasoning without a summary", Want: modeltest.Want{
			Text: "Let me look.", Calls: []modeltest.Call{weather}, Stop: model.StopToolCalls, Usage: thought,
		}},
		{Name: "an answer of reasoning alone", Want: modeltest.Want{Reasoning: thoughtText, Stop: model.StopEnd, Usage: thought}},
		{Name: "open reasoning", Want: modeltest.Want{Reasoning: thoughtText, Text: weatherText, Stop: model.StopEnd, Usage: thought}},
		{Name: "reasoning that led to an item of another kind", Want: modeltest.Want{
			Reasoning: thoughtText, Text: weatherText, Stop: model.StopEnd, Usage: thought,
		}},
		{Name: "a refusal is text", Want: modeltest.Want{Text: "I can't help.", Stop: model.StopEnd, Usage: counted}},
		cut("C40 text and a call cut off by the output limit", halfText),
		cut("C40 a cut call whose end comes with the last event only", ""),
		cut("C40 a completed answer with an incomplete call", ""),
		{Name: "C42 the status is in_progress although calls are there", Want: modeltest.Want{
			Text: "Let me look.", Calls: []modeltest.Call{weather}, Stop: model.StopToolCalls, Usage: counted,
		}},
		{Name: "completed by its name and incomplete by its status", Want: modeltest.Want{Text: halfText, Stop: model.StopOutputLimit, Usage: counted}},
		{Name: "incomplete without a reason", Want: modeltest.Want{Text: halfText, Stop: model.StopOutputLimit, Usage: counted}},
		{Name: "C05 call IDs that repeat within an answer", Want: modeltest.Want{
			Calls: []modeltest.Call{{ID: "call_1", Name: "get_weather", Arguments: brno}, {ID: "call_1", Name: "get_time", Arguments: brno}},
			Stop:  model.StopToolCalls, Usage: counted,
		}},
		{Name: "the first of two calls comes with the last event only", Want: modeltest.Want{Calls: []modeltest.Call{weather, clock}, Stop: model.StopToolCalls, Usage: counted}},
		{Name: "equal calls under other IDs in the last event", Want: modeltest.Want{
			Calls: []modeltest.Call{weather, {ID: "call_b", Name: "get_weather", Arguments: brno}}, Stop: model.StopToolCalls, Usage: counted,
		}},
		{Name: "an end of a call that comes twice", Want: modeltest.Want{Calls: []modeltest.Call{weather, clock}, Stop: model.StopToolCalls, Usage: counted}},
		{Name: "calls whose pieces are mixed", Want: modeltest.Want{Calls: []modeltest.Call{weather, clock}, Stop: model.StopToolCalls, Usage: counted}},
	}
}

// serverCases are what servers of the protocol do that are not OpenAI's.
func serverCases() []modeltest.Case {
	var cases []modeltest.Case
	for _, name := range []string{
		"unknown events and items", "the rest of a text comes with its end", "events without names",
		"lines that end in CR LF", "an end mark without a line break",
	} {
		cases = append(cases, modeltest.Case{Name: name, Want: modeltest.Want{Text: weatherText, Stop: model.StopEnd, Usage: counted}})
	}
	for _, name := range []string{
		"everything in the last event only", "whole items and an empty last event", "reasoning and a call that come with the last event only, under other IDs",
	} {
		cases = append(cases, modeltest.Case{Name: name, Want: modeltest.Want{
			Reasoning: thoughtText, Text: "Let me look.", Calls: []modeltest.Call{weather}, Stop: model.StopToolCalls, Usage: thought,
		}})
	}
	for _, name := range []string{"an ID that changes with each event", "every item has index 0"} {
		cases = append(cases, modeltest.Case{Name: name, Want: modeltest.Want{
			Text: "Let me look.", Calls: []modeltest.Call{weather, clock}, Stop: model.StopToolCalls, Usage: counted,
		}})
	}
	return append(cases,
		modeltest.Case{Name: "calls without IDs", Want: modeltest.Want{
			Calls: []modeltest.Call{{Name: "get_weather", Arguments: brno}, {Name: "get_time", Arguments: brno}},
			Stop:  model.StopToolCalls, Usage: counted,
		}},
		modeltest.Case{Name: "no counts", Want: modeltest.Want{
			Text: weatherText, Stop: model.StopEnd, Usage: api.Usage{InputTokens: 144, OutputTokens: 12, Estimated: true},
		}},
	)
}

func errorCases() []modeltest.Case {
	inside := func(name string, kind model.ErrorKind, partial, message string, retryable bool) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Kind: kind, Status: 200, Partial: partial, Message: message, Retryable: retryable}}
	}
	broken := func(name string, kind model.ErrorKind, partial string) modeltest.Case {
		return modeltest.Case{Name: name, Want: modeltest.Want{Kind: kind, Partial: partial, Retryable: true}}
	}
	counting := inside("C48 failed without an error but with counts", model.KindOverloaded, halfText, "no message", true)
	counting.Want.Usage = counted
	return []modeltest.Case{
		inside("C48 failed for a rate limit", model.KindRateLimited, halfText, "Rate limit", true),
		inside("C45 failed for the context inside a stream", model.KindContext, "", "context window", false),
		inside("C48 failed for want of quota", model.KindQuota, "", "quota", false),
		inside("C48 failed for the prompt", model.KindRefused, "", "flagged", false),
		inside("C48 failed for an image after text", model.KindRefused, halfText, "image", false),
		inside("C41 a cancelled answer", model.KindOverloaded, halfText, "no message", true),
		inside("C48 an error object in place of an event", model.KindOverloaded, halfText, "upstream", true),
		inside("C48 an error of no known kind after the text", model.KindOverloaded, halfText, "flux", true),
		inside("C48 an error of no known kind before the text", model.KindUnclassified, "", "flux", false),
		counting,
		broken("C41 DONE without an end mark", model.KindCut, halfText),
		broken("C41 an end mark that is torn off", model.KindMalformed, weatherText),
		broken("texts whose pieces are mixed", model.KindMalformed, "ab"),
		broken("a piece that is no text", model.KindMalformed, halfText),
	}
}
