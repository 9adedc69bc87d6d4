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
	if c.Usage.counts() {
		a.usage = c.Usage.usage()
	} else if c.Groq != nil && c.Groq.Usage.counts() {
		a.usage = c.Groq.Usage.usage()
	}
	if fault := c.fault(); fault != nil {
		return fault, nil
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index.Value != 0 {
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
		if ch.FinishReason != "" && ends[a.finish] != model.StopOutputLimit { // once cut off, it stays cut off
			a.finish = strings.ToLower(string(ch.FinishReason))
		}
		if brokenOff[a.finish] {
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
	fragments := m.ToolCalls
	if m.FunctionCall != nil && len(fragments) == 0 { // a server that fills both fills them alike
		fragments = []fragment{{Index: wire.Number{Given: true}, Function: *m.FunctionCall}}
	}
	if !a.calls.add(fragments) {
		return wire.ErrTooManyCalls
	}
	if a.received() > wire.MaxAnswerBytes {
		return wire.ErrAnswerTooLong
	}
	return nil
}

// response is the answer as a whole. sent is the size of the request, for an estimate where the server did not count.
func (a *answer) response(provider, name string, sent int) model.Response {
	resp := model.Response{Usage: wire.Count(a.usage, sent, a.received(), a.reasoning.Len()), Stop: a.stop()}
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
	return resp
}

// ends are the finish reasons, in small letters, after which an answer may not be whole. Beside OpenAI's there are
// Mistral's, Zhipu's, and those of Gemini, Cohere, Anthropic and Bedrock that gateways hand on.
var ends = map[string]model.StopReason{
	"length": model.StopOutputLimit, "max_tokens": model.StopOutputLimit, "max_output_tokens": model.StopOutputLimit,
	"model_length": model.StopOutputLimit, "model_context_window_exceeded": model.StopOutputLimit, "max_length": model.StopOutputLimit,
	"content_filter": model.StopFiltered, "content_filtered": model.StopFiltered, "safety": model.StopFiltered, "sensitive": model.StopFiltered,
	"recitation": model.StopFiltered, "prohibited_content": model.StopFiltered, "blocklist": model.StopFiltered,
	"refusal": model.StopFiltered, "guardrail_intervened": model.StopFiltered,
}

// brokenOff are those by which a server says that it failed: DeepSeek's, Zhipu's, vLLM's.
var brokenOff = map[string]bool{
	"error": true, "abort": true, "cancelled": true, "timeout": true, "network_error": true, "insufficient_system_resource": true,
}

func (a *answer) stop() model.StopReason {
	if reason, known := ends[a.finish]; known {
		return reason
	}
	if len(a.calls.list) > 0 {
		return model.StopToolCalls
	}
	return model.StopEnd
}
