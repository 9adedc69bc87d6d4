package anthropic

import (
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// What stands in the place of a text without content where the API wants one.
const (
	blankMessage = "(a message without text)"
	blankFailure = "(it failed without a message)"
)

// appendMessages appends the messages of items, a comma after each.
func (p *Provider) appendMessages(b []byte, name string, items []model.Item) ([]byte, error) {
	for len(items) > 0 {
		var (
			message sdk.MessageParam
			n       int
		)
		switch items[0].Kind {
		case model.UserItem:
			b = appendUser(b, &items[0])
			items = items[1:]
			continue
		case model.ToolResultItem:
			n = run(items, func(kind model.ItemKind) bool { return kind == model.ToolResultItem })
			message = sdk.NewUserMessage(resultBlocks(items[:n])...)
		default:
			n = run(items, func(kind model.ItemKind) bool { return kind != model.UserItem && kind != model.ToolResultItem })
			message = sdk.NewAssistantMessage(p.answerBlocks(name, items[:n])...)
			if len(message.OfAssistant.Content) == 0 { // nothing that may be said again
				items = items[n:]
				continue
			}
		}
		encoded, err := message.MarshalJSON()
		if err != nil {
			return b, fmt.Errorf("an item of kind %s: %w", items[0].Kind, err)
		}
		b = append(append(b, encoded...), ',')
		items = items[n:]
	}
	return b, nil
}

// run is the number of items at the start whose kinds belong together.
func run(items []model.Item, belongs func(model.ItemKind) bool) int {
	n := 1
	for n < len(items) && belongs(items[n].Kind) {
		n++
	}
	return n
}

// appendUser appends a message of text and files in the user's order (AT2). It is written by hand: the SDK's types hold
// a file as a string of base64, of which an encoder makes copy after copy.
func appendUser(b []byte, item *model.Item) []byte {
	parts := item.Parts
	if len(parts) == 0 {
		parts = []model.Part{{Text: item.Text}}
	}
	b = append(b, `{"content":[`...)
	empty := len(b)
	for i := range parts {
		switch part := &parts[i]; {
		case part.IsImage():
			b = append(b, `{"source":{"data":`...)
			b = append(wire.AppendBase64(b, part), `,"media_type":`...)
			b = append(wire.AppendString(b, part.MediaType), `,"type":"base64"},"type":"image"},`...)
		case part.IsPDF():
			b = append(b, `{"source":{"data":`...)
			b = append(wire.AppendBase64(b, part), `,"media_type":"application/pdf","type":"base64"},"title":`...)
			b = append(wire.AppendString(b, part.Name), `,"type":"document"},`...)
		case part.MediaType != "" || !blank(part.Text):
			b = append(b, `{"text":`...)
			b = append(wire.AppendText(b, part), `,"type":"text"},`...)
		}
	}
	if len(b) == empty {
		b = append(wire.AppendString(append(b, `{"text":`...), blankMessage), `,"type":"text"},`...)
	}
	return append(b[:len(b)-1], `],"role":"user"},`...)
}

func resultBlocks(items []model.Item) []sdk.ContentBlockParamUnion {
	blocks := make([]sdk.ContentBlockParamUnion, 0, len(items))
	for i := range items {
		item := &items[i]
		result := sdk.ToolResultBlockParam{ToolUseID: item.CallID}
		output := item.Output
		if item.Failed {
			result.IsError = param.NewOpt(true)
			if blank(output) {
				output = blankFailure
			}
		}
		if !blank(output) {
			result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: output}}}
		}
		blocks = append(blocks, sdk.ContentBlockParamUnion{OfToolResult: &result})
	}
	return blocks
}

// answerBlocks are what an answer said, in its order. Reasoning at its end is left out: the API takes none there.
func (p *Provider) answerBlocks(name string, items []model.Item) []sdk.ContentBlockParamUnion {
	blocks := make([]sdk.ContentBlockParamUnion, 0, len(items))
	said := 0 // blocks up to the last that is no reasoning
	for i := range items {
		switch item := &items[i]; item.Kind {
		case model.ReasoningItem:
			if block, own := p.reasoningBlock(name, item); own {
				blocks = append(blocks, block)
			}
			continue
		case model.ToolCallItem:
			blocks = append(blocks, sdk.NewToolUseBlock(item.CallID, item.Arguments, item.Name))
		default:
			if blank(item.Text) {
				continue
			}
			blocks = append(blocks, sdk.NewTextBlock(item.Text))
		}
		said = len(blocks)
	}
	return blocks[:said]
}
