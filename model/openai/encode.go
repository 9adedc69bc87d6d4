package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

const (
	minOutputTokens = 16 // the API refuses less
	maxCacheKey     = 64 // bytes
)

// body encodes a request: what stands before the items anew, the items as far as req.Encoded does not have them. A
// limit under 16 tokens goes out as 16, the least that the API takes.
func (p *Provider) body(req model.Request) ([]byte, error) {
	head := responses.ResponseNewParams{
		Model: req.Model,
		Store: param.NewOpt(false),
	}
	if req.Instructions != "" {
		head.Instructions = param.NewOpt(req.Instructions)
	}
	if req.MaxOutputTokens > 0 {
		head.MaxOutputTokens = param.NewOpt(int64(max(req.MaxOutputTokens, minOutputTokens)))
	}
	if req.Session != "" {
		head.PromptCacheKey = param.NewOpt(cacheKey(req.Session))
	}
	if p.config.Reasons(req.Model) {
		head.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
		head.Reasoning = shared.ReasoningParam{
			Effort:  shared.ReasoningEffort(p.config.Effort),
			Summary: shared.ReasoningSummary(p.config.Summary),
		}
	}
	tools, err := toolParams(req.Tools)
	if err != nil {
		return nil, err
	}
	head.Tools = tools
	if req.NoTools && len(req.Tools) > 0 {
		head.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsNone)
	}
	start, err := head.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	b := make([]byte, 0, len(start)+req.Encoded.Bytes()+wire.Room(req.Items)+4096)
	b = append(b, start[:len(start)-1]...)
	b = append(b, `,"stream":true,"input":[`...)
	form := model.Form("responses", p.config.Name, req.Model)
	b = req.Encoded.Append(b, form, req.Items, func(b []byte, items []model.Item) []byte {
		return p.appendItems(b, req.Model, items)
	})
	b = trimComma(b)
	return append(b, `]}`...), nil
}

// toolParams declares tools. The API's strict mode is off: it takes no schema with optional fields. It refuses an
// object schema without type or properties, so they are added.
func toolParams(tools []model.Tool) ([]responses.ToolUnionParam, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	out := make([]responses.ToolUnionParam, 0, len(tools))
	for _, tool := range tools {
		var schema map[string]json.RawMessage // one level: what is below stays as the host wrote it
		if len(tool.InputSchema) > 0 {
			if err := json.Unmarshal(wire.ObjectSchema(tool.InputSchema), &schema); err != nil {
				return nil, fmt.Errorf("tool %s: the input schema is not a JSON object: %w", tool.Name, err)
			}
		}
		parameters := map[string]any{"type": "object", "properties": json.RawMessage(`{}`)}
		for name, value := range schema {
			parameters[name] = value
		}
		function := &responses.FunctionToolParam{Name: tool.Name, Parameters: parameters, Strict: param.NewOpt(false)}
		if tool.Description != "" {
			function.Description = param.NewOpt(tool.Description)
		}
		out = append(out, responses.ToolUnionParam{OfFunction: function})
	}
	return out, nil
}

// cacheKey is the session's key, or where that is longer than the API takes, a digest of it.
func cacheKey(session string) string {
	if len(session) <= maxCacheKey {
		return session
	}
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:])
}

// reasons goes by OpenAI's names, also behind a gateway's prefix.
func reasons(name string) bool {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	if rest, ok := strings.CutPrefix(name, "gpt-"); ok {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		return (len(digits) > 1 || digits >= "5") && !strings.HasPrefix(name, "gpt-5-chat")
	}
	if strings.HasPrefix(name, "codex-") {
		return true
	}
	return len(name) > 1 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9'
}
