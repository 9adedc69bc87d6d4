package anthropic

import (
	"encoding/base64"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/openworkerai/openworker/model"
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
			n = 1
			message = sdk.NewUserMessage(userBlocks(&items[0])...)
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

// userBlocks are text and files in the user's order (AT2).
func userBlocks(item *model.Item) []sdk.ContentBlockParamUnion {
	parts := item.Parts
	if len(parts) == 0 {
		parts = []model.Part{{Text: item.Text}}
	}
	var blocks []sdk.ContentBlockParamUnion
	for _, part := range parts {
		switch {
		case part.IsImage():
			blocks = append(blocks, sdk.NewImageBlockBase64(part.MediaType, base64.StdEncoding.EncodeToString(part.Data)))
		case part.IsPDF():
			block := sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(part.Data)})
			block.OfDocument.Title = param.NewOpt(part.Name)
			blocks = append(blocks, block)
		case !blank(part.NamedText()):
			blocks = append(blocks, sdk.NewTextBlock(part.NamedText()))
		}
	}
	if len(blocks) == 0 {
		blocks = append(blocks, sdk.NewTextBlock(blankMessage))
	}
	return blocks
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
