package engine

import "github.com/openworkerai/openworker/api"

// ResolveLimits merges a turn's limits over the agent's, field by field, over the defaults, and checks
// them (LI1, LI4). modelMax is the chosen model's own output maximum, 0 if unknown.
func ResolveLimits(agent, turn api.Limits, modelMax int) (Limits, error) {
	l := Limits{Calls: api.DefaultMaxModelCalls, PerCall: api.DefaultMaxOutputTokensPerCall, Summary: api.DefaultSummaryTokens}
	explicit := false
	for _, f := range []struct {
		name        string
		agent, turn *int
		to          *int
		explicit    *bool
	}{
		{"maxModelCalls", agent.MaxModelCalls, turn.MaxModelCalls, &l.Calls, nil},
		{"maxOutputTokens", agent.MaxOutputTokens, turn.MaxOutputTokens, &l.Output, nil},
		{"maxOutputTokensPerCall", agent.MaxOutputTokensPerCall, turn.MaxOutputTokensPerCall, &l.PerCall, &explicit},
		{"summaryTokens", agent.SummaryTokens, turn.SummaryTokens, &l.Summary, nil},
	} {
		v := f.turn
		if v == nil {
			v = f.agent
		}
		if v == nil {
			continue
		}
		if *v <= 0 {
			return l, api.Errorf(api.CodeInvalidLimits, "limits.%s is %d; it must be at least 1, or left out for the default", f.name, *v).With("field", f.name)
		}
		*f.to = *v
		if f.explicit != nil {
			*f.explicit = true
		}
	}
	if modelMax > 0 && l.PerCall > modelMax {
		if explicit {
			return l, api.Errorf(api.CodeInvalidLimits, "limits.maxOutputTokensPerCall is %d, but the model gives at most %d output tokens a call; lower it or choose another model", l.PerCall, modelMax).With("field", "maxOutputTokensPerCall")
		}
		l.PerCall = modelMax
	}
	if l.Output > 0 && l.Summary >= l.Output {
		return l, api.Errorf(api.CodeInvalidLimits, "limits.summaryTokens is %d and limits.maxOutputTokens %d; the summary reserve must be smaller than the turn's total", l.Summary, l.Output).With("field", "summaryTokens")
	}
	return l, nil
}

// call is what the turn's next model call may be.
type call struct {
	none    bool // the budget allows no further call
	closing bool // without tools, the last one
	max     int  // output tokens
}

// nextCall applies LI2 and LI3: a working call may ask for min(per call, what is left − summary); when
// calls or tokens run out, one closing call is made, which is the last of the calls.
func nextCall(t *Turn) call {
	l := t.Limits
	if t.Calls >= l.Calls {
		return call{none: true}
	}
	last := t.Calls+1 == l.Calls
	if l.Output == 0 {
		switch {
		case !last:
			return call{max: l.PerCall}
		case t.Calls == 0:
			return call{closing: true, max: l.PerCall}
		}
		return call{closing: true, max: min(l.Summary, l.PerCall)}
	}
	left := l.Output - t.Output
	working := min(l.PerCall, left-l.Summary)
	switch {
	case left <= 0:
		return call{none: true}
	case !last && working > 0:
		return call{max: working}
	case t.Calls == 0 && working > 0:
		return call{closing: true, max: working}
	}
	return call{closing: true, max: min(l.Summary, l.PerCall, left)}
}
