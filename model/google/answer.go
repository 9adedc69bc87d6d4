package google

import (
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// answer is what has come so far.
type answer struct {
	items    []*answerItem
	calls    int
	received int // bytes of texts, thoughts, names and arguments
	held     int // bytes of what is beside them: signatures, IDs, and what an item takes
	thoughts int // of them in thoughts
	finish   genai.FinishReason
	message  string // beside finish
	blocked  genai.BlockedReason
	usage    api.Usage
}

// answerItem is a text, thoughts or a call as it is put together.
type answerItem struct {
	kind   model.ItemKind
	text   strings.Builder
	call   *answerCall
	signed signed
}

// overhead is about what an item or a signature takes beside its bytes.
const overhead = 100

// take adds a chunk and emits what it brings.
func (a *answer) take(watch *wire.Watch, data []byte, emit func(model.Delta)) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return wire.Malformed("a chunk of the answer is not what the protocol has: " + err.Error())
	}
	if c.UsageMetadata != nil {
		a.usage = c.UsageMetadata.usage()
	}
	if c.Error.Given {
		return watch.Fault(c.Error.Fault, a.received)
	}
	if c.PromptFeedback != nil && c.PromptFeedback.BlockReason != "" {
		a.blocked = c.PromptFeedback.BlockReason
	}
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		if candidate.Index != 0 {
			continue // we ask for one
		}
		for j := range candidate.Content.Parts {
			if err := a.add(&candidate.Content.Parts[j], emit); err != nil {
				return err
			}
		}
		if candidate.FinishReason != "" {
			a.finish, a.message = candidate.FinishReason, candidate.FinishMessage
		}
	}
	return nil
}

func (a *answer) add(p *answerPart, emit func(model.Delta)) error {
	if what := p.foreign(); what != "" {
		return &model.Error{Kind: model.KindUnclassified, Message: "the answer holds " + what + ", which was not asked for: the model is not one of text and tool calls"}
	}
	if p.FunctionCall != nil {
		return a.addCall(p)
	}
	a.received += len(p.Text)
	if p.ThoughtSignature != "" {
		a.held += len(p.ThoughtSignature) + overhead
	}
	if a.received+a.held > wire.MaxAnswerBytes {
		return wire.ErrAnswerTooLong
	}
	if p.Text == "" && p.ThoughtSignature == "" {
		return nil
	}
	item := a.place(p)
	item.signed.add(piece{Length: len(p.Text), Thought: p.Thought, Signature: p.ThoughtSignature})
	if p.Text != "" {
		item.text.WriteString(p.Text)
		if p.Thought {
			a.thoughts += len(p.Text)
		}
		emit(model.Delta{Text: p.Text, Reasoning: p.Thought})
	}
	return nil
}

// place is the item that a text goes on with, else a new one. A signature without a text goes to whatever stands
// before it, and to an item of its own where no text does: one of reasoning, since no other may be empty.
func (a *answer) place(p *answerPart) *answerItem {
	kind := model.AssistantItem
	if p.Thought || p.Text == "" {
		kind = model.ReasoningItem
	}
	if len(a.items) > 0 {
		last := a.items[len(a.items)-1]
		if last.kind == kind || p.Text == "" && last.call == nil {
			return last
		}
	}
	item := &answerItem{kind: kind}
	a.held += overhead
	a.items = append(a.items, item)
	return item
}

func (a *answer) addCall(p *answerPart) error {
	call := p.FunctionCall
	if call.WillContinue {
		return wire.Malformed("a function call came in pieces, which was not asked for")
	}
	if a.calls++; a.calls > wire.MaxCalls {
		return wire.ErrTooManyCalls
	}
	a.received += len(call.Name) + len(call.Args)
	a.held += len(call.ID) + len(p.ThoughtSignature) + overhead
	if a.received+a.held > wire.MaxAnswerBytes {
		return wire.ErrAnswerTooLong
	}
	a.items = append(a.items, &answerItem{kind: model.ToolCallItem, call: call, signed: signed{Signature: p.ThoughtSignature}})
	return nil
}

// ended reports whether the answer's end was told.
func (a *answer) ended() bool { return a.finish != "" || a.blocked != "" }

// stop is why the answer ended, or the error where it ended in no answer.
func (a *answer) stop() (model.StopReason, error) {
	switch a.finish {
	case genai.FinishReasonMaxTokens:
		return model.StopOutputLimit, nil
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return model.StopFiltered, nil
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall:
		return "", a.broken("the model's call is none")
	case genai.FinishReasonStop:
		if a.calls == 0 {
			return model.StopEnd, nil
		}
	case "": // then the prompt was blocked
		return model.StopFiltered, nil
	}
	if a.calls == 0 {
		return "", a.broken("the answer was broken off")
	}
	return model.StopToolCalls, nil
}

func (a *answer) broken(what string) error {
	message := what + ": finishReason is " + string(a.finish)
	if a.message != "" {
		message += ": " + a.message
	}
	return wire.Malformed(message)
}

// response is the answer as a whole. sent is the size of the request, for an estimate where the server did not count.
func (a *answer) response(provider string, req model.Request, sent int) (model.Response, error) {
	stop, err := a.stop()
	if err != nil {
		return model.Response{}, err
	}
	resp := model.Response{Usage: wire.Count(a.usage, sent, a.received, a.thoughts), Stop: stop}
	for _, item := range a.items {
		out := model.ResponseItem{Kind: item.kind, Text: item.text.String(), Private: item.signed.private(provider, req.Model)}
		if item.call != nil {
			out.ProviderCallID, out.Name, out.Arguments = item.call.ID, ownName(item.call.Name, req.Tools), item.call.arguments()
		}
		resp.Items = append(resp.Items, out)
	}
	return resp, nil
}
