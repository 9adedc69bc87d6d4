package modeltest

import (
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// What the recordings of every protocol say.
const (
	sayText      = "It is 7 °C in Brno, with light rain. 🌧️"
	sayReasoning = "The user wants the weather."
	saidHalf     = "It is 7 °C"
)

func weather(id string) Call { return Call{id, "get_weather", `{"city":"Brno"}`} }
func clock(id string) Call   { return Call{id, "get_time", `{"city":"Brno"}`} }

// Cases are the cases that every protocol can have. IDs of calls are "call_a" and "call_b".
func Cases() []Case {
	return append(answers(), append(broken(), refused()...)...)
}

func answers() []Case {
	usage := api.Usage{InputTokens: 120, CachedInputTokens: 100, OutputTokens: 30}
	thought := usage
	thought.ReasoningTokens = 12
	return []Case{
		{Name: "text", Want: Want{Text: sayText, Stop: model.StopEnd, Usage: usage}},
		{Name: "text whose characters are split over writes", Want: Want{Text: sayText, Stop: model.StopEnd, Usage: usage}},
		{Name: "text between keep-alives", Want: Want{Text: sayText, Stop: model.StopEnd, Usage: usage}},
		{Name: "reasoning before text", Want: Want{Reasoning: sayReasoning, Text: sayText, Stop: model.StopEnd, Usage: thought}},
		{Name: "tool calls in parallel", Want: Want{Calls: []Call{weather("call_a"), clock("call_b")}, Stop: model.StopToolCalls, Usage: usage}},
		{Name: "text before a tool call", Want: Want{Text: "Let me look.", Calls: []Call{weather("call_a")}, Stop: model.StopToolCalls, Usage: usage}},
		{Name: "an answer without content", Want: Want{Stop: model.StopEnd, Usage: api.Usage{InputTokens: 120}}},
		{Name: "C40 a tool call cut off by the output limit", Want: Want{
			Calls: []Call{weather("call_a"), {"call_b", "get_time", `{"ci`}}, Stop: model.StopOutputLimit, Usage: usage,
		}},
		{Name: "C40 a whole tool call in an answer cut off by the output limit", Want: Want{
			Calls: []Call{weather("call_a")}, Stop: model.StopOutputLimit, Usage: usage,
		}},
		{Name: "text cut off by the output limit", Want: Want{Text: saidHalf, Stop: model.StopOutputLimit, Usage: usage}},
		{Name: "an answer that the filter stopped", Want: Want{Text: saidHalf, Stop: model.StopFiltered, Usage: usage}},
	}
}

func broken() []Case {
	const silence = 150 * time.Millisecond
	cut := Want{Kind: model.KindCut, Partial: saidHalf, Retryable: true, Message: "broke off"}
	return []Case{
		{Name: "C41 a stream that just ends", Want: cut},
		{Name: "C41 a stream that is torn off", Want: cut},
		{Name: "C41 a tool call that just ends", Want: Want{Kind: model.KindCut, Retryable: true}},
		{Name: "C41 a tool call that is torn off", Want: Want{Kind: model.KindCut, Retryable: true}},
		{Name: "C41 an empty body", Want: Want{Kind: model.KindCut, Retryable: true}},
		{Name: "a silent stream", Idle: silence, Want: cut},
		{Name: "silence before the first event", Idle: silence, Want: Want{Kind: model.KindCut, Retryable: true}},
		{Name: "a chunk that is not JSON", Want: Want{Kind: model.KindMalformed, Partial: saidHalf, Retryable: true}},
		{Name: "C48 an error before the text of a 200 stream", Want: Want{Kind: model.KindOverloaded, Status: 200, Message: "overloaded", Retryable: true}},
		{Name: "C48 an error after the text of a 200 stream", Want: Want{
			Kind: model.KindOverloaded, Status: 200, Partial: saidHalf, Message: "had an error", Retryable: true,
		}},
		{Name: "C48 an error inside a tool call of a 200 stream", Want: Want{
			Kind: model.KindOverloaded, Status: 200, Message: "had an error", Retryable: true,
		}},
		{Name: "C48 a rate limit inside a 200 stream", Want: Want{
			Kind: model.KindRateLimited, Status: 200, Partial: saidHalf, Message: "Rate limit", Retryable: true,
		}},
		{Name: "C48 HTTP 200 with an error body", Want: Want{Kind: model.KindOverloaded, Status: 200, Message: "overloaded", Retryable: true}},
		{Name: "C48 HTTP 200 with an HTML page", Want: Want{Kind: model.KindMalformed, Message: "HTML", Retryable: true}},
	}
}

func refused() []Case {
	return []Case{
		{Name: "C48 429 with Retry-After", Want: Want{
			Kind: model.KindRateLimited, Status: 429, RetryAfter: 7 * time.Second, Message: "Rate limit reached", Retryable: true,
		}},
		{Name: "C48 429 with Retry-After as a date", Want: Want{
			Kind: model.KindRateLimited, Status: 429, RetryAfter: 30 * time.Second, Message: "Rate limit reached", Retryable: true,
		}},
		{Name: "C48 429 for want of quota", Want: Want{Kind: model.KindQuota, Status: 429, Message: "quota"}},
		{Name: "C48 500", Want: Want{Kind: model.KindOverloaded, Status: 500, Message: "had an error", Retryable: true}},
		{Name: "C48 503 with Retry-After", Want: Want{
			Kind: model.KindOverloaded, Status: 503, RetryAfter: 1500 * time.Millisecond, Message: "overloaded", Retryable: true,
		}},
		{Name: "C48 529", Want: Want{Kind: model.KindOverloaded, Status: 529, Message: "Overloaded", Retryable: true}},
		{Name: "C48 413 from the edge", Want: Want{Kind: model.KindTooLarge, Status: 413, Message: "HTML"}},
		{Name: "C48 an HTML page from a proxy", Want: Want{Kind: model.KindOverloaded, Status: 502, Message: "HTML", Retryable: true}},
		{Name: "C45 a conversation that overflows the context", Want: Want{Kind: model.KindContext, Status: 400, Message: "context"}},
		{Name: "an unknown model", Want: Want{Kind: model.KindNotFound, Status: 404, Message: "test-model"}},
		{Name: "a refused credential that the server repeats", Want: Want{Kind: model.KindAuth, Status: 401, Message: "[credential]"}},
		{Name: "a forbidden credential", Want: Want{Kind: model.KindAuth, Status: 403, Message: "not allowed"}},
		{Name: "a request that is refused", Want: Want{Kind: model.KindRefused, Status: 400, Message: "Invalid schema for function"}},
		{Name: "a redirect is not followed", Want: Want{Kind: model.KindRefused, Status: 307, Message: "redirects"}},
	}
}
