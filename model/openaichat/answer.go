package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// The fields in which servers give reasoning.
const (
	fieldReasoning        = "reasoning"
	fieldReasoningContent = "reasoning_content"
)

// answer is what has come so far.
type answer struct {
	text      strings.Builder
	reasoning strings.Builder
	field     string // in which the reasoning came
	calls     calls
	finish    string
	usage     api.Usage
	hasUsage  bool
	done      bool // [DONE] came
}

// received counts the bytes of the answer.
func (a *answer) received() int { return a.text.Len() + a.reasoning.Len() + a.calls.bytes }

// take adds one chunk and emits what it brings, or returns the error that it reports.
func (a *answer) take(data []byte, emit func(model.Delta)) (*wire.Fault, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, wire.Malformed("a chunk of the answer is not what the protocol has: " + err.Error())
	}
	if c.Usage != nil {
		a.usage, a.hasUsage = c.Usage.usage(), true
	} else if c.Groq != nil && c.Groq.Usage != nil {
		a.usage, a.hasUsage = c.Groq.Usage.usage(), true
	}
	if fault := c.fault(); fault != nil {
		return fault, nil
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index.value != 0 {
			continue // we ask for one
		}
		if ch.Delta != nil {
			if err := a.add(ch.Delta, emit); err != nil {
				return nil, err
			}
		}
		// Some servers repeat the whole message at the end of a stream: it counts where nothing came before.
		if ch.Message != nil && a.received() == 0 {
			if err := a.add(ch.Message, emit); err != nil {
				return nil, err
			}
		}
		if ch.FinishReason != "" {
			a.finish = string(ch.FinishReason)
		}
		if a.finish == "error" || a.finish == "abort" {
			return nil, &model.Error{Kind: model.KindOverloaded, Message: "the server broke the answer off: finish_reason is " + a.finish}
		}
	}
	return nil, nil
}

func (a *answer) add(m *message, emit func(model.Delta)) error {
	reasoning, field := string(m.ReasoningContent), fieldReasoningContent
	if reasoning == "" { // a server that fills both fills them alike
		reasoning, field = string(m.Reasoning), fieldReasoning
	}
	if reasoning == "" {
		reasoning, field = m.Content.reasoning, ""
	}
	said := m.Content.text + string(m.Refusal)
	if a.received()+len(reasoning)+len(said) > wire.MaxAnswerBytes {
		return wire.ErrAnswerTooLong
	}
	if reasoning != "" {
		if a.field == "" {
			a.field = field
		}
		a.reasoning.WriteString(reasoning)
		emit(model.Delta{Text: reasoning, Reasoning: true})
	}
	if said != "" {
		a.text.WriteString(said)
		emit(model.Delta{Text: said})
	}
	if !a.calls.add(m.ToolCalls) {
		return wire.ErrTooManyCalls
	}
	if a.received() > wire.MaxAnswerBytes {
		return wire.ErrAnswerTooLong
	}
	return nil
}

// response is the answer as a whole. sent is the size of the request, for an estimate where the server did not count.
func (a *answer) response(provider, name string, sent int) model.Response {
	resp := model.Response{Usage: a.usage, Stop: a.stop()}
	if a.reasoning.Len() > 0 {
		item := model.ResponseItem{Kind: model.ReasoningItem, Text: a.reasoning.String()}
		if a.field != "" {
			data, _ := json.Marshal(private{Field: a.field}) // a string cannot fail
			item.Private = &model.Private{Provider: provider, Model: name, Data: data}
		}
		resp.Items = append(resp.Items, item)
	}
	if a.text.Len() > 0 {
		resp.Items = append(resp.Items, model.ResponseItem{Kind: model.AssistantItem, Text: a.text.String()})
	}
	for _, c := range a.calls.list {
		resp.Items = append(resp.Items, model.ResponseItem{
			Kind: model.ToolCallItem, ProviderCallID: c.id, Name: c.name, Arguments: string(c.arguments),
		})
	}
	if !a.hasUsage {
		resp.Usage = a.estimate(sent)
	}
	return resp
}

func (a *answer) stop() model.StopReason {
	switch a.finish {
	case "length", "max_tokens", "model_length":
		return model.StopOutputLimit
	case "content_filter":
		return model.StopFiltered
	}
	if len(a.calls.list) > 0 {
		return model.StopToolCalls
	}
	return model.StopEnd
}

// estimate counts four bytes a token, so that a budget holds at a server that does not count.
func (a *answer) estimate(sent int) api.Usage {
	tokens := func(bytes int) int64 { return int64(bytes+3) / 4 }
	return api.Usage{
		InputTokens: tokens(sent), OutputTokens: tokens(a.received()), ReasoningTokens: tokens(a.reasoning.Len()), Estimated: true,
	}
}
