package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// think is what the model makes of a request: an answer of any kind, or a provider's error.
func (w *world) think(req model.Request) (model.Response, error) {
	if err := w.providerFault(req); err != nil {
		return model.Response{}, err
	}
	text := model.ResponseItem{Kind: model.AssistantItem, Text: w.words("t", 1500)}
	resp := model.Response{Stop: model.StopEnd, Usage: api.Usage{InputTokens: int64(w.tokens(req)), OutputTokens: int64(1 + w.rng.IntN(max(min(req.MaxOutputTokens, 60), 1)))}}
	if w.chance(0.15) {
		data, _ := json.Marshal(w.rng.IntN(100))
		resp.Items = append(resp.Items, model.ResponseItem{Kind: model.ReasoningItem, Text: "hm", Private: &model.Private{Provider: provider, Model: req.Model, Data: data}})
	}
	switch n := w.rng.IntN(100); {
	case n < 4:
		resp.Stop = model.StopOutputLimit
		resp.Usage.OutputTokens = int64(max(req.MaxOutputTokens, 1))
		resp.Items = append(resp.Items, text)
		if w.chance(0.5) {
			resp.Items = append(resp.Items, model.ResponseItem{Kind: model.ToolCallItem, Name: "app__pay", Arguments: `{"n":`})
		}
	case n < 6:
		resp.Stop = model.StopFiltered
	case n < 8: // an answer that says nothing
	case n < 60 && (!req.NoTools || w.chance(0.3)):
		resp.Stop = model.StopToolCalls
		if w.chance(0.3) {
			resp.Items = append(resp.Items, text)
		}
		for range 1 + w.rng.IntN(3) {
			resp.Items = append(resp.Items, w.toolCall())
		}
	default:
		resp.Items = append(resp.Items, text)
	}
	return resp, nil
}

// toolCall is a call as models make them: mostly sound.
func (w *world) toolCall() model.ResponseItem {
	call := model.ResponseItem{Kind: model.ToolCallItem, ProviderCallID: "call_0", Name: pick(w, []string{"app__pay", "app__pay", "app__pay", "app__mail", "app__put", "app__look"}),
		Arguments: fmt.Sprintf(`{"n":%d}`, w.rng.IntN(100))}
	switch w.rng.IntN(20) {
	case 0:
		call.Arguments = `{"n":"many"}`
	case 1:
		call.Arguments = `{"n":1`
	case 2:
		call.Name = "app__unknown"
	case 3:
		call.Name = "no such tool!"
	case 4, 5:
		call.Name, call.Arguments = question, fmt.Sprintf(`{"question":%q,"multiple":%t}`, w.newID("q"), w.chance(0.5))
	}
	return call
}

// judge is what the reviewer makes of a request: a verdict, something that is none, or a provider's error.
func (w *world) judge(req model.Request) (model.Response, error) {
	if err := w.providerFault(req); err != nil {
		return model.Response{}, err
	}
	verdict := pick(w, []string{"allow", "allow", "allow", "deny", "unsure", "maybe"})
	text := fmt.Sprintf(`{"verdict":%q,"reason":%q}`, verdict, w.newID("because "))
	resp := model.Response{Stop: model.StopEnd, Usage: api.Usage{InputTokens: int64(w.tokens(req)), OutputTokens: int64(1 + w.rng.IntN(40))}}
	switch w.rng.IntN(20) {
	case 0:
		resp.Stop = model.StopOutputLimit
	case 1:
		text = "Sure. " + text
	}
	resp.Items = []model.ResponseItem{{Kind: model.AssistantItem, Text: text}}
	return resp, nil
}

// condense is what the model makes of a request for a summary.
func (w *world) condense(req model.Request) (model.Response, error) {
	if err := w.providerFault(req); err != nil {
		return model.Response{}, err
	}
	resp := model.Response{Stop: model.StopEnd, Usage: api.Usage{InputTokens: int64(w.tokens(req)), OutputTokens: int64(1 + w.rng.IntN(max(req.MaxOutputTokens, 1)))}}
	item := model.ResponseItem{Kind: model.AssistantItem, Text: w.words("the story so far ", 900)}
	switch {
	case w.faulty(0.05):
		resp.Stop = model.StopOutputLimit
	case w.faulty(0.05):
		item.Text = " "
	case w.faulty(0.02):
		resp.Stop = model.StopFiltered
	}
	resp.Items = []model.ResponseItem{item}
	return resp, nil
}

// providerFault is the error that a provider answers a request with, nil for none: it has its bad moments, and never
// takes a request that is too long for its model.
func (w *world) providerFault(req model.Request) error {
	if w.tokens(req) > w.window(req.Model) {
		w.saw("request that was too long")
		return &model.Error{Kind: model.KindContext, Message: "too long"}
	}
	files := int64(0)
	for i := range req.Items {
		for _, part := range req.Items[i].Parts {
			files += int64(len(part.Data))
			if part.IsPDF() && req.Model == smallModel {
				w.saw("file that the model does not take")
				return &model.Error{Kind: model.KindRefused, Message: "no PDF"}
			}
		}
	}
	if files > w.most {
		w.saw("files that were too large")
		return &model.Error{Kind: model.KindTooLarge, Message: "too large"}
	}
	if !w.faulty(0.12) {
		return nil
	}
	return &model.Error{
		Kind: pick(w, []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindOverloaded, model.KindUnreachable, model.KindCut,
			model.KindCut, model.KindMalformed, model.KindContext, model.KindTooLarge, model.KindQuota, model.KindAuth, model.KindUnclassified}),
		Message: "no", RetryAfter: w.upTo(2 * time.Second), Received: w.rng.IntN(40),
	}
}

// tokens is what a provider counts of a request.
func (w *world) tokens(req model.Request) int {
	n := len(req.Instructions)
	for i := range req.Tools {
		n += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].InputSchema)
	}
	for i := range req.Items {
		it := &req.Items[i]
		n += 30 + len(it.Text) + len(it.Arguments) + len(it.Output)
		for _, part := range it.Parts {
			switch n += len(part.Text) + len(part.Name); {
			case part.IsImage():
				n += 3_000
			case part.IsPDF():
				n += 2_000 + int(part.Size)/60
			default:
				n += len(part.Data)
			}
		}
	}
	return 1 + int(float64(n)*w.rate)
}

// window is that of a model, whatever anybody believes of it.
func (w *world) window(name string) int {
	switch name {
	case reviewer:
		return 1 << 30
	case smallModel:
		return int(smallWindow * w.honest)
	}
	return w.large
}

// words are a new text that begins with a word; among people who talk a lot it may be of so many bytes.
func (w *world) words(first string, most int) string {
	text := w.newID(first)
	if w.wordy {
		text += strings.Repeat(" word", w.rng.IntN(most)/5)
	}
	return text
}
