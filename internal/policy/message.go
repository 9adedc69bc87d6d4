package policy

import (
	"context"
	"fmt"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/model"
)

// Inspects names the first guardrail that looks at what models are sent. While one is in force, no image and no PDF may
// be in a conversation (AT7).
func Inspects(guards []guard.Guardrail) (name string, ok bool) {
	for i := range guards {
		if slices.Contains(guards[i].Points, guard.ModelInput) {
			return guards[i].Name, true
		}
	}
	return "", false
}

// ScreenMessage runs the user_input guardrails over the blocks of a message before it is stored: each text and each text
// file, in their order, is a unit (GR2, GR3). A text file has its whole text in Data; of other files and of those over
// [api.MaxGuardedBytes] the description is enough.
//
// It returns the parts that may be stored, and the verdicts that were no plain allow, each once, at most 64. What passes
// of a text file that was changed is a new file: it has the name and the media type, its Size, and no ID (AT7). Where
// nothing but white space is left, the text says so. Nothing of the caller's is changed. Without guardrails that look at
// user_input or model_input all passes.
//
// What no request could be sent with is refused before any guardrail is asked, those of model_input counted in:
// uninspectable_content where there is an image, a PDF or what else is no text, which names the first and counts the
// others; guardrail_failed where a text or a text file has over [api.MaxGuardedBytes]. It is guardrail_failed as well
// where redactions made the text blocks grow over [api.MaxBlockTextBytes] together. Otherwise the error is as in
// [Screened]. Messages begin with the number of the block, from 1; the parts are nil then.
func ScreenMessage(ctx context.Context, guards []guard.Guardrail, who guard.Context, parts []model.Part) ([]model.Part, []api.GuardVerdict, *api.Error) {
	if v, err := admissible(guards, parts); err != nil {
		return nil, []api.GuardVerdict{v}, err
	}
	s := newScreening(ctx, guards, guard.Unit{Context: who, Point: guard.UserInput}, nil)
	if s == nil {
		return parts, nil, nil
	}
	pass := make([]model.Part, len(parts))
	before, after := 0, 0
	for i := range parts {
		var err *api.Error
		if pass[i], err = s.part(parts[i]); err != nil {
			return nil, s.brief(), inBlock(err, i)
		}
		before, after = before+len(parts[i].Text), after+len(pass[i].Text)
	}
	if most := max(before, api.MaxBlockTextBytes); after > most {
		return nil, s.brief(), api.Errorf(api.CodeGuardrailFailed, "the text blocks have %d bytes together after their redactions; at most %d are taken", after, most)
	}
	return pass, s.brief(), nil
}

// admissible refuses what every later request would be refused for.
func admissible(guards []guard.Guardrail, parts []model.Part) (api.GuardVerdict, *api.Error) {
	g, point := onTheWay(guards)
	if g == nil {
		return api.GuardVerdict{}, nil
	}
	first, others := -1, -1
	for i := range parts {
		if opaque(parts[i]) {
			if others++; first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		v, err := uninspectable(g, point, parts[first], others)
		return v, inBlock(err, first)
	}
	for i := range parts {
		if size(parts[i]) > api.MaxGuardedBytes {
			v, err := oversized(g, point, parts[i])
			return v, inBlock(err, i)
		}
	}
	return api.GuardVerdict{}, nil
}

// onTheWay is the first guardrail on the way from a user to a model, and where it looks; nil where there is none.
func onTheWay(guards []guard.Guardrail) (*guard.Guardrail, guard.Point) {
	for i := range guards {
		for _, point := range []guard.Point{guard.UserInput, guard.ModelInput} {
			if slices.Contains(guards[i].Points, point) {
				return &guards[i], point
			}
		}
	}
	return nil, ""
}

func inBlock(err *api.Error, i int) *api.Error { return about(err, fmt.Sprintf("block %d", i+1)) }
