package wire

import (
	"math"
	"strconv"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Count is the usage of an answer: what the server counted, and an estimate of four bytes a token where it counted
// nothing, so that a budget holds at a server that does not count. sent is the request's size in bytes, received the
// answer's, thought that of the reasoning in it. No request is without input, so a count of 0 is none; the same goes
// for the output of an answer that has some.
func Count(given api.Usage, sent, received, thought int) api.Usage {
	tokens := func(bytes int) int64 { return int64(bytes+3) / 4 }
	if given.InputTokens <= 0 {
		given.InputTokens, given.Estimated = tokens(sent), true
	}
	if given.OutputTokens <= 0 && received > 0 {
		given.OutputTokens, given.ReasoningTokens, given.Estimated = tokens(received), tokens(thought), true
	}
	// Some gateways count what came from the cache beside the input.
	given.InputTokens = max(given.InputTokens, given.CachedInputTokens)
	return given
}

// Number takes an integer, a float without a fraction or a string of digits; Given is false for null and absence.
// Negative and absurd ones are 0, and so is what is no number: a count is not worth an answer.
type Number struct {
	Value int64
	Given bool
}

// UnmarshalJSON takes any JSON value.
func (n *Number) UnmarshalJSON(data []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1<<53 {
		return nil
	}
	n.Value, n.Given = int64(f), true
	return nil
}
