package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
)

// ScreenSummary runs the model_input guardrails over what a summary is to be made of: each text of the items, the
// summary before it, and the guidance (GR2). They see the texts themselves, before [SummaryRequest] cuts and quotes
// them; its request needs no look. Files, of which it has a description alone (CO3), pass. tools is as in [Input]; memo may be nil, and is only read.
//
// A text over [api.MaxGuardedBytes] is left out, with a marker in its place and a verdict that says so. The rest is as
// in [ScreenRequest].
func ScreenSummary(ctx context.Context, guards []guard.Guardrail, who guard.Context, in SummaryInput, tools map[string]string, memo *Memo) (SummaryInput, []api.GuardVerdict, *api.Error) {
	s := sourceScreening(ctx, guards, who, memo)
	if s == nil {
		return in, nil, nil
	}
	var err *api.Error
	if in.Guidance, err = s.text(in.Guidance); err != nil {
		return SummaryInput{}, s.brief(), about(err, "the guidance")
	}
	if in.Previous, err = s.text(in.Previous); err != nil {
		return SummaryInput{}, s.brief(), about(err, "the summary before it")
	}
	if in.Items, err = s.items(in.Items, nil, tools); err != nil {
		return SummaryInput{}, s.brief(), err
	}
	return in, s.brief(), nil
}

// ScreenReview runs the model_input guardrails over what a reviewer is shown, like [ScreenSummary]: the guidance, the
// conversation as far as it is shown, and the action's description and arguments, units that have its tool and its call.
// The arguments are one text without needless escapes, and each text in them that does not stand there as it is. Where
// the action was changed, the result is Partial.
//
// The error is review_invalid where the arguments cannot be reviewed.
func ScreenReview(ctx context.Context, guards []guard.Guardrail, who guard.Context, in ReviewInput, tools map[string]string, memo *Memo) (ReviewInput, []api.GuardVerdict, *api.Error) {
	if err := in.fit(); err != nil {
		return ReviewInput{}, nil, err
	}
	s := sourceScreening(ctx, guards, who, memo)
	if s == nil {
		return in, nil, nil
	}
	var err *api.Error
	if in.Guidance, err = s.text(in.Guidance); err != nil {
		return ReviewInput{}, s.brief(), about(err, "the guidance")
	}
	if in.Conversation, err = s.items(in.Conversation, recent(in.Conversation), tools); err != nil {
		return ReviewInput{}, s.brief(), err
	}
	given := in.Action
	s.unit.CallID, s.unit.Tool = who.CallID, given.Tool
	if in.Action.Description, err = s.text(given.Description); err != nil {
		return ReviewInput{}, s.brief(), about(err, "the action's description")
	}
	if in.Action.Arguments, err = s.arguments(given.Arguments); err != nil {
		return ReviewInput{}, s.brief(), about(err, "the action's arguments")
	}
	in.Partial = in.Partial || in.Action != given
	return in, s.brief(), nil
}

// sourceScreening is the pass over what a document is made of, nil where no guardrail is to look.
func sourceScreening(ctx context.Context, guards []guard.Guardrail, who guard.Context, memo *Memo) *screening {
	s := newScreening(ctx, guards, guard.Unit{Context: who, Point: guard.ModelInput}, memo)
	if s != nil {
		s.source, s.unit.CallID = true, ""
	}
	return s
}

// arguments screens an action's arguments, which are JSON. No spelling of a text is looked past: what a quoted string
// has to escape is looked at as it is meant.
func (s *screening) arguments(given string) (string, *api.Error) {
	plain := plainJSON(given)
	pass, err := s.text(plain)
	if err != nil {
		return "", err
	}
	for _, text := range stringsIn(given) {
		if strings.Contains(plain, text) {
			continue
		}
		left, err := s.text(text)
		if err != nil {
			return "", err
		}
		if left != text {
			pass = removed
		}
	}
	if pass == plain {
		return given, nil
	}
	return pass, nil
}

// plainJSON is a JSON text with no more escapes than it needs, and each number as it was written.
func plainJSON(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // what was decoded encodes
	return strings.TrimSuffix(b.String(), "\n")
}
