package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// The types of blocks that an answer is made of.
const (
	blockText     = "text"
	blockThinking = "thinking"
	blockRedacted = "redacted_thinking"
	blockCall     = "tool_use"
)

// maxBlocks bounds the blocks of an answer, those that we leave out included.
const maxBlocks = 8 * wire.MaxCalls

// answer is what has come so far. The SDK has an accumulator too, but it makes {} of arguments that were cut off.
type answer struct {
	emit     func(model.Delta)
	blocks   []*block
	open     map[int64]*block // by the protocol's index
	calls    int
	received int // bytes of text, reasoning and calls
	private  int // bytes of signatures and of redacted reasoning
	stop     string
	done     bool // message_stop came

	input, read, written, out, think int64
	told                             bool // the output was counted after it had begun
}

// block is a content block as it is put together.
type block struct {
	kind      string
	content   strings.Builder // text, thinking, or a call's arguments
	signature strings.Builder
	data      string // of redacted thinking
	id, name  string
	initial   string // arguments that stood in the block's start
}

// take adds one event and emits what it brings. Events of unknown types bring nothing.
func (a *answer) take(event *sdk.MessageStreamEventUnion) error {
	switch event.Type {
	case "message_start":
		usage := &event.Message.Usage
		a.count(usage.InputTokens, usage.CacheReadInputTokens, usage.CacheCreationInputTokens, usage.OutputTokens, usage.OutputTokensDetails.ThinkingTokens)
	case "content_block_start":
		return a.start(event)
	case "content_block_delta":
		return a.add(event)
	case "message_delta":
		usage := &event.Usage
		a.told = a.told || usage.OutputTokens > 0
		a.count(usage.InputTokens, usage.CacheReadInputTokens, usage.CacheCreationInputTokens, usage.OutputTokens, usage.OutputTokensDetails.ThinkingTokens)
		if event.Delta.StopReason != "" {
			a.stop = string(event.Delta.StopReason)
		}
	case "message_stop":
		a.done = true
	}
	return nil
}

// count takes the counts of an event. They grow from event to event, and one may lack what another had.
func (a *answer) count(input, read, written, out, think int64) {
	grow := func(have *int64, given int64) {
		given = min(given, 1<<40) // so that sums hold
		*have = max(*have, given)
	}
	grow(&a.input, input)
	grow(&a.read, read)
	grow(&a.written, written)
	grow(&a.out, out)
	grow(&a.think, think)
}

func (a *answer) start(event *sdk.MessageStreamEventUnion) error {
	if len(a.blocks) == maxBlocks {
		return wire.Malformed(fmt.Sprintf("the answer holds more than %d blocks", maxBlocks))
	}
	from := &event.ContentBlock
	if from.Type == blockCall {
		if a.calls++; a.calls > wire.MaxCalls {
			return wire.ErrTooManyCalls
		}
		if before := a.open[event.Index]; before != nil && before.kind == blockCall && from.ID != "" && before.id == from.ID {
			return nil // it comes again: as another block the call would run twice
		}
	}
	b := &block{kind: from.Type}
	a.blocks = append(a.blocks, b)
	if a.open == nil {
		a.open = map[int64]*block{}
	}
	a.open[event.Index] = b
	switch b.kind {
	case blockText:
		return a.say(b, from.Text)
	case blockThinking:
		if err := a.sign(b, from.Signature); err != nil {
			return err
		}
		return a.say(b, from.Thinking)
	case blockRedacted:
		b.data = from.Data
		a.private += len(b.data)
		return a.bounded()
	case blockCall:
		b.id, b.name, b.initial = from.ID, from.Name, from.JSON.Input.Raw()
		a.received += len(b.name) + len(b.initial)
		return a.bounded()
	}
	return nil
}

func (a *answer) add(event *sdk.MessageStreamEventUnion) error {
	b := a.open[event.Index]
	if b == nil {
		return wire.Malformed(fmt.Sprintf("the answer goes on in block %d, which has not begun", event.Index))
	}
	switch delta := &event.Delta; {
	case delta.Type == "text_delta" && b.kind == blockText:
		return a.say(b, delta.Text)
	case delta.Type == "thinking_delta" && b.kind == blockThinking:
		return a.say(b, delta.Thinking)
	case delta.Type == "signature_delta" && b.kind == blockThinking:
		return a.sign(b, delta.Signature)
	case delta.Type == "input_json_delta" && b.kind == blockCall:
		b.content.WriteString(delta.PartialJSON)
		a.received += len(delta.PartialJSON)
		return a.bounded()
	case known(delta.Type) && known(b.kind):
		return wire.Malformed(fmt.Sprintf("the answer goes on with a %s in a block of type %s", delta.Type, b.kind))
	}
	return nil
}

// known reports whether a type of block or delta is one that an answer is made of.
func known(kind string) bool {
	switch kind {
	case blockText, blockThinking, blockRedacted, blockCall, "text_delta", "thinking_delta", "signature_delta", "input_json_delta":
		return true
	}
	return false
}

// say adds text or thinking. What is emitted must be in the answer's order, so only the last block of its kind grows.
func (a *answer) say(b *block, text string) error {
	if text == "" {
		return nil
	}
	for i := len(a.blocks) - 1; a.blocks[i] != b; i-- {
		if a.blocks[i].kind == b.kind {
			return wire.Malformed("the answer goes on in a block of " + b.kind + " after the next has begun")
		}
	}
	b.content.WriteString(text)
	a.received += len(text)
	if err := a.bounded(); err != nil {
		return err
	}
	a.emit(model.Delta{Text: text, Reasoning: b.kind == blockThinking})
	return nil
}

func (a *answer) sign(b *block, signature string) error {
	b.signature.WriteString(signature)
	a.private += len(signature)
	return a.bounded()
}

func (a *answer) bounded() error {
	if a.received+a.private > wire.MaxAnswerBytes {
		return wire.ErrAnswerTooLong
	}
	return nil
}

// usage counts as input all that was sent: the API counts what it reads from its cache, and what it writes to it,
// apart.
func (a *answer) usage() api.Usage {
	return api.Usage{
		InputTokens: a.input + a.read + a.written, CachedInputTokens: a.read,
		OutputTokens: a.out, ReasoningTokens: a.think,
	}
}

// lost is the usage of an answer that broke off. The count of output that it begins with is a token or two, whatever
// came since: it says nothing, and who adds up goes by what was received.
func (a *answer) lost() api.Usage {
	usage := a.usage()
	if !a.told {
		usage.OutputTokens, usage.ReasoningTokens = 0, 0
	}
	return usage
}

// response is the answer as a whole. sent is the size of the request, for an estimate where the server did not count.
func (a *answer) response(provider, name string, sent int) model.Response {
	thought := 0
	for _, b := range a.blocks {
		if b.kind == blockThinking {
			thought += b.content.Len()
		}
	}
	resp := model.Response{Stop: a.stopReason(), Usage: wire.Count(a.usage(), sent, a.received, thought)}
	cut := resp.Stop == model.StopOutputLimit
	for i, b := range a.blocks {
		item := model.ResponseItem{Text: b.content.String()}
		switch b.kind {
		case blockText:
			if item.Text == "" {
				continue
			}
			item.Kind = model.AssistantItem
		case blockThinking, blockRedacted:
			item.Kind = model.ReasoningItem
			// Reasoning that was cut off has no signature and cannot go back.
			if b.kind == blockRedacted || b.signature.Len() > 0 || !cut {
				item.Private = b.private(provider, name)
			} else if item.Text == "" {
				continue
			}
		case blockCall:
			item = model.ResponseItem{
				Kind: model.ToolCallItem, ProviderCallID: b.id, Name: b.name, Arguments: b.arguments(cut && i == len(a.blocks)-1),
			}
		default:
			continue
		}
		resp.Items = append(resp.Items, item)
	}
	return resp
}

// arguments of a call without any are an empty object, unless the call was cut off before they came (C40).
func (b *block) arguments(cut bool) string {
	if b.content.Len() > 0 || cut {
		return b.content.String()
	}
	if b.initial == "" {
		return "{}"
	}
	return b.initial
}

func (b *block) private(provider, name string) *model.Private {
	kept := reasoning{Type: b.kind, Thinking: b.content.String(), Signature: b.signature.String(), Data: b.data}
	data, _ := json.Marshal(kept) // strings cannot fail
	return &model.Private{Provider: provider, Model: name, Data: data}
}

func (a *answer) stopReason() model.StopReason {
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded":
		return model.StopOutputLimit
	case "refusal":
		return model.StopFiltered
	}
	if a.calls > 0 {
		return model.StopToolCalls
	}
	return model.StopEnd
}
