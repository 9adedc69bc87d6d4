package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// think is what the model makes of a request: an answer of any kind, or a provider's error.
func (w *world) think(req model.Request) (model.Response, error) {
	if w.faulty(0.12) {
		return model.Response{}, &model.Error{
			Kind: pick(w, []model.ErrorKind{model.KindRateLimited, model.KindOverloaded, model.KindOverloaded, model.KindUnreachable, model.KindCut,
				model.KindCut, model.KindMalformed, model.KindContext, model.KindQuota, model.KindAuth, model.KindUnclassified}),
			Message: "no", RetryAfter: w.upTo(2 * time.Second), Received: w.rng.IntN(40),
		}
	}
	text := model.ResponseItem{Kind: model.AssistantItem, Text: w.newID("t")}
	resp := model.Response{Stop: model.StopEnd, Usage: api.Usage{InputTokens: int64(10 + w.rng.IntN(90)), OutputTokens: int64(1 + w.rng.IntN(max(min(req.MaxOutputTokens, 60), 1)))}}
	if w.chance(0.15) {
		data, _ := json.Marshal(w.rng.IntN(100))
		resp.Items = append(resp.Items, model.ResponseItem{Kind: model.ReasoningItem, Text: "hm", Private: &model.Private{Provider: provider, Model: modelName, Data: data}})
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
	}
	return call
}
