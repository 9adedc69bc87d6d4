package google

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/internal/wire"
)

// head is a request without its contents.
type head struct {
	SystemInstruction *genai.Content         `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool          `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig      `json:"toolConfig,omitempty"`
	SafetySettings    []*genai.SafetySetting `json:"safetySettings,omitempty"`
	GenerationConfig  *generation            `json:"generationConfig,omitempty"`
}

type generation struct {
	MaxOutputTokens int                   `json:"maxOutputTokens,omitempty"`
	ThinkingConfig  *genai.ThinkingConfig `json:"thinkingConfig,omitempty"`
}

// encode makes the body of a request. The contents are kept from call to call in req.Encoded.
func (p *Provider) encode(req model.Request) ([]byte, error) {
	rest, err := marshal(p.head(req))
	if err != nil {
		return nil, err
	}
	writer := contentWriter{provider: p.config.Name, model: req.Model, signs: signs(req.Model)}
	const begin, news = `{"contents":[`, 16 << 10 // news: what a call usually adds
	body := append(make([]byte, 0, len(begin)+req.Encoded.Bytes()+wire.Room(req.Items)+news+len(rest)), begin...)
	body = bytes.TrimSuffix(req.Encoded.Append(body, model.Form("gemini", p.config.Name, req.Model), req.Items, writer.append), []byte(","))
	body = append(body, ']')
	if len(rest) > len(`{}`) {
		body = append(body, ',')
	}
	return append(body, rest[1:]...), nil
}

func (p *Provider) head(req model.Request) head {
	h := head{SafetySettings: p.config.Safety}
	if req.Instructions != "" {
		h.SystemInstruction = genai.NewContentFromText(req.Instructions, genai.RoleUser)
	}
	if len(req.Tools) > 0 {
		h.Tools = []*genai.Tool{{FunctionDeclarations: declarations(req.Tools)}}
		if req.NoTools {
			h.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: genai.FunctionCallingConfigModeNone}}
		}
	}
	if req.MaxOutputTokens > 0 || p.config.Thinking != nil {
		h.GenerationConfig = &generation{MaxOutputTokens: req.MaxOutputTokens, ThinkingConfig: p.config.Thinking}
	}
	return h
}

func declarations(tools []model.Tool) []*genai.FunctionDeclaration {
	all := make([]*genai.FunctionDeclaration, len(tools))
	for i, tool := range tools {
		all[i] = &genai.FunctionDeclaration{Name: sentName(tool.Name), Description: tool.Description}
		if len(tool.InputSchema) > 0 {
			all[i].ParametersJsonSchema = tool.InputSchema
		}
	}
	return all
}

// sentName is a tool's name as Gemini takes it: with a letter or an underscore first. No two names are sent alike, so
// one that another could become gets an underscore as well: 3d is _3d, and _3d is __3d.
func sentName(name string) string {
	bare := strings.TrimLeft(name, "_")
	if c := bare[:min(1, len(bare))]; c == "-" || c >= "0" && c <= "9" {
		return "_" + name
	}
	return name
}

// ownName is the name of the tool that was sent under name. A name that was not sent is as it came.
func ownName(name string, tools []model.Tool) string {
	for _, tool := range tools {
		if sentName(tool.Name) == name {
			return tool.Name
		}
	}
	return name
}

// marshal encodes without escapes for HTML, so that what goes over the wire is what was said.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
