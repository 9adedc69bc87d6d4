package policy

import (
	"context"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/model"
)

// ScreenAnswer runs the model_output guardrails over an answer: its visible text, all of it one unit, and each text of
// reasoning (GR2). Calls pass. Reasoning that is there only in the provider's own form is shown to nobody, and passes.
//
// It returns the answer that may be recorded and the verdicts that were no plain allow, each once. A redacted text is
// one item, without Private data, in the place of the first; one of which nothing is left says so. Reasoning that a
// guardrail would change is left out as a whole, since its provider takes it back only as it was. Nothing of the
// caller's is changed. The error is as in [Screened]; the answer then has its usage and nothing else.
func ScreenAnswer(ctx context.Context, guards []guard.Guardrail, who guard.Context, resp model.Response) (model.Response, []api.GuardVerdict, *api.Error) {
	s := newScreening(ctx, guards, guard.Unit{Context: who, Point: guard.ModelOutput}, nil)
	if s == nil {
		return resp, nil, nil
	}
	items, err := s.answer(resp.Items)
	if err != nil {
		return model.Response{Usage: resp.Usage}, s.brief(), about(err, "the answer")
	}
	resp.Items = items
	return resp, s.brief(), nil
}

func (s *screening) answer(given []model.ResponseItem) ([]model.ResponseItem, *api.Error) {
	items := slices.Clone(given)
	text := ""
	for i := range items {
		// What is stored is UTF-8, so that is what is looked at.
		items[i].Text = strings.ToValidUTF8(items[i].Text, "\uFFFD")
		if items[i].Kind == model.AssistantItem {
			text += items[i].Text
		}
	}
	pass, err := s.text(text)
	if err != nil {
		return nil, err
	}
	kept, said := items[:0], false
	for _, item := range items {
		switch item.Kind {
		case model.ReasoningItem:
			thought, err := s.text(item.Text)
			if err != nil {
				return nil, err
			}
			if thought != item.Text {
				continue
			}
		case model.AssistantItem:
			if pass == text {
				break
			}
			if said {
				continue
			}
			said, item.Text, item.Private = true, pass, nil
		}
		kept = append(kept, item)
	}
	return kept, nil
}
