package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// defaultMaxTokens bounds an answer where neither the request nor the facts do: the API wants a bound.
const defaultMaxTokens = 8192

// body is the body of a request. It fails only on what model.Check refuses.
func (p *Provider) body(req model.Request) ([]byte, error) {
	head, err := p.head(req).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("the head of the request: %w", err)
	}
	body := make([]byte, 0, len(head)+req.Encoded.Bytes()+wire.Room(req.Items)+4<<10)
	body = append(body, head[:len(head)-1]...)
	body = append(body, `,"stream":true,"messages":[`...)
	body = req.Encoded.Append(body, p.form(req.Model), req.Items, func(dst []byte, items []model.Item) []byte {
		dst, err = p.appendMessages(dst, req.Model, items)
		return dst
	})
	if err != nil {
		req.Encoded.Append(nil, "", nil, func(dst []byte, _ []model.Item) []byte { return dst }) // what is kept has a hole
		return nil, err
	}
	if body[len(body)-1] == ',' {
		body = body[:len(body)-1]
	}
	return append(body, `]}`...), nil
}

// form names what the encoding of items depends on beside the items.
func (p *Provider) form(name string) string {
	return model.Form("messages", p.config.Name, name, string(p.config.Thinking.Mode))
}

// head is all of a request but its messages.
func (p *Provider) head(req model.Request) sdk.MessageNewParams {
	params := sdk.MessageNewParams{Model: req.Model, MaxTokens: int64(p.maxTokens(req)), Tools: tools(req)}
	if len(params.Tools) > 0 && (req.NoTools || len(req.Tools) == 0) {
		none := sdk.NewToolChoiceNoneParam()
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &none}
	}
	if !blank(req.Instructions) {
		params.System = []sdk.TextBlockParam{{Text: req.Instructions}}
	}
	params.Thinking = p.thinking(req, int(params.MaxTokens))
	if !p.config.NoCache {
		point := sdk.NewCacheControlEphemeralParam()
		params.CacheControl = point
		if n := len(params.Tools); n > 0 {
			params.Tools[n-1].OfTool.CacheControl = point
		}
		if len(params.System) > 0 {
			params.System[0].CacheControl = point
		}
	}
	return params
}

// maxTokens is the bound of an answer. The API refuses one that is above the model's own.
func (p *Provider) maxTokens(req model.Request) int {
	known, _ := p.Facts(req.Model)
	switch {
	case req.MaxOutputTokens == 0 && known.MaxOutputTokens == 0:
		return defaultMaxTokens
	case req.MaxOutputTokens == 0:
		return known.MaxOutputTokens
	case known.MaxOutputTokens == 0:
		return req.MaxOutputTokens
	}
	return min(req.MaxOutputTokens, known.MaxOutputTokens)
}

// tools are the declared tools. The API wants tools where the conversation has calls: where none is declared any
// more, those that were called are, by name, and their use is forbidden.
func tools(req model.Request) []sdk.ToolUnionParam {
	if len(req.Tools) > 0 {
		declared := make([]sdk.ToolUnionParam, len(req.Tools))
		for i, tool := range req.Tools {
			declared[i] = sdk.ToolUnionParamOfTool(inputSchema(tool.InputSchema), tool.Name)
			if tool.Description != "" {
				declared[i].OfTool.Description = param.NewOpt(tool.Description)
			}
		}
		return declared
	}
	var called []sdk.ToolUnionParam
	seen := map[string]bool{}
	for i := range req.Items {
		if item := &req.Items[i]; item.Kind == model.ToolCallItem && !seen[item.Name] {
			seen[item.Name] = true
			called = append(called, sdk.ToolUnionParamOfTool(inputSchema(nil), item.Name))
		}
	}
	return called
}

// inputSchema is a tool's schema in the form that the API takes.
func inputSchema(schema json.RawMessage) sdk.ToolInputSchemaParam {
	return param.Override[sdk.ToolInputSchemaParam](wire.ObjectSchema(schema))
}

// blank reports whether the API refuses a text as one without content.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
