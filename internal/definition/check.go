package definition

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openworkerai/openworker/api"
)

// maxModelNameBytes bounds a model's name.
const maxModelNameBytes = 256

// CheckModel checks a model's reference and returns it with the provider in its one spelling. field names
// it in messages. Errors: invalid_request, unknown_provider.
func CheckModel(field string, m api.ModelRef, providers []string) (api.ModelRef, error) {
	if m.Provider == "" || m.Name == "" {
		return m, api.Errorf(api.CodeInvalidRequest, "%s needs a provider and a name, for example {%q: %q, %q: %q}", field, "provider", "OpenAI", "name", "gpt-5")
	}
	if err := checkText(api.CodeInvalidRequest, field+".name", m.Name, maxModelNameBytes); err != nil {
		return m, err
	}
	i := slices.IndexFunc(providers, func(p string) bool { return strings.EqualFold(p, m.Provider) })
	if i < 0 {
		known := "no provider is configured"
		if len(providers) > 0 {
			known = "configured are " + strings.Join(slices.Sorted(slices.Values(providers)), ", ")
		}
		return m, api.Errorf(api.CodeUnknownProvider, "%s.provider %q is not known: %s", field, short(m.Provider), known)
	}
	return api.ModelRef{Provider: providers[i], Name: m.Name}, nil
}

// CheckLimits checks limits as they will hold (LI1, LI4): of an agent, or of a turn after its fields were
// laid over the agent's. modelMax is the model's own maximum of output tokens, 0 where it is not known.
// Errors are invalid_limits; field names the limits in messages.
func CheckLimits(field string, l api.Limits, modelMax int) error {
	if err := checkEach(field, l); err != nil {
		return err
	}
	summary := api.DefaultSummaryTokens
	if l.SummaryTokens != nil {
		summary = *l.SummaryTokens
	}
	if l.MaxOutputTokens != nil && summary >= *l.MaxOutputTokens {
		return api.Errorf(api.CodeInvalidLimits, "%s.summaryTokens is %d and %s.maxOutputTokens %d: the reserve for the closing call must be smaller than the whole turn's budget",
			field, summary, field, *l.MaxOutputTokens)
	}
	if l.MaxOutputTokensPerCall != nil && modelMax > 0 && *l.MaxOutputTokensPerCall > modelMax {
		return api.Errorf(api.CodeInvalidLimits, "%s.maxOutputTokensPerCall is %d; the model writes at most %d tokens in one call",
			field, *l.MaxOutputTokensPerCall, modelMax)
	}
	return nil
}

// checkEach checks each limit by itself.
func checkEach(field string, l api.Limits) error {
	for _, limit := range []struct {
		name  string
		value *int
	}{
		{"maxModelCalls", l.MaxModelCalls},
		{"maxOutputTokens", l.MaxOutputTokens},
		{"maxOutputTokensPerCall", l.MaxOutputTokensPerCall},
		{"summaryTokens", l.SummaryTokens},
	} {
		if limit.value == nil {
			continue
		}
		if *limit.value <= 0 || *limit.value > math.MaxInt32 {
			return api.Errorf(api.CodeInvalidLimits, "%s.%s is %d; it must be from 1 to %d, or left out", field, limit.name, *limit.value, math.MaxInt32)
		}
	}
	return nil
}

// withoutDefaults leaves out limits that stand at their default.
func withoutDefaults(l api.Limits) api.Limits {
	for _, limit := range []struct {
		value    **int
		standard int
	}{
		{&l.MaxModelCalls, api.DefaultMaxModelCalls},
		{&l.MaxOutputTokensPerCall, api.DefaultMaxOutputTokensPerCall},
		{&l.SummaryTokens, api.DefaultSummaryTokens},
	} {
		if *limit.value != nil && **limit.value == limit.standard {
			*limit.value = nil
		}
	}
	return l
}

// CheckGuidance checks one of the three guidance texts (GU3). Errors are invalid_guidance.
func CheckGuidance(field, text string) error {
	return checkText(api.CodeInvalidGuidance, field, text, api.MaxGuidanceBytes)
}

// agentGuidance checks guidance of the widest scope, where clearing says the same as leaving out.
func agentGuidance(field string, text *string) (*string, error) {
	if text == nil || *text == "" {
		return nil, nil
	}
	return text, CheckGuidance(field, *text)
}

func checkText(code api.Code, field, text string, limit int) error {
	switch {
	case len(text) > limit:
		return api.Errorf(code, "%s is %d bytes long; at most %d are allowed", field, len(text), limit)
	case !utf8.ValidString(text):
		return api.Errorf(code, "%s is not valid UTF-8", field)
	case strings.ContainsRune(text, 0):
		return api.Errorf(code, "%s holds a NUL at byte %d", field, strings.IndexByte(text, 0))
	}
	return nil
}

// short bounds a value that is quoted in a message.
func short(s string) string {
	const limit = 100
	if len(s) > limit {
		s = s[:limit] + " …"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
