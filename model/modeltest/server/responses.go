package modeltestserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

type responsesRequest struct {
	Model              string              `json:"model"`
	Input              json.RawMessage     `json:"input"`
	Instructions       string              `json:"instructions"`
	Tools              []responsesTool     `json:"tools"`
	ToolChoice         json.RawMessage     `json:"tool_choice"`
	ParallelToolCalls  *bool               `json:"parallel_tool_calls"`
	MaxOutputTokens    *int                `json:"max_output_tokens"`
	Stream             bool                `json:"stream"`
	StreamOptions      *responsesStreaming `json:"stream_options"`
	Store              *bool               `json:"store"`
	Include            []string            `json:"include"`
	Reasoning          *responsesEffort    `json:"reasoning"`
	Text               *responsesText      `json:"text"`
	Truncation         string              `json:"truncation"`
	PromptCacheKey     string              `json:"prompt_cache_key"`
	PromptCacheOptions json.RawMessage     `json:"prompt_cache_options"`
	PromptCacheLife    string              `json:"prompt_cache_retention"`
	SafetyIdentifier   string              `json:"safety_identifier"`
	ServiceTier        string              `json:"service_tier"`
	Metadata           map[string]string   `json:"metadata"`
	User               string              `json:"user"`
}

type responsesStreaming struct {
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

type responsesEffort struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary"`
}

type responsesText struct {
	Format    json.RawMessage `json:"format"`
	Verbosity string          `json:"verbosity"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

var includable = []string{
	"file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
	"computer_call_output.output.image_url", "code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs",
}

// DecodeResponses decodes the body of a Responses request and says what a strict server would refuse it for. It is
// the stateless half of the API: nothing is looked up, so a previous response or an item by reference is refused.
func DecodeResponses(body []byte) (Request, error) {
	req := Request{Protocol: Responses, Body: body}
	var wire responsesRequest
	if err := decodeBody(body, &wire); err != nil {
		return req, err
	}
	req.Model, req.Stream, req.CacheKey = wire.Model, wire.Stream, wire.PromptCacheKey
	req.private = slices.Contains(wire.Include, "reasoning.encrypted_content")
	if err := req.takeResponsesHead(wire); err != nil {
		return req, err
	}
	if err := req.takeResponsesTools(wire); err != nil {
		return req, err
	}
	items, err := stringOrList(wire.Input, func(s string) responsesItem {
		content, _ := json.Marshal(s) // a string always encodes
		return responsesItem{Role: "user", Content: content}
	})
	if err != nil {
		return req, fmt.Errorf("input: %w", err)
	}
	return req, req.takeResponsesInput(wire.Instructions, items)
}

func (r *Request) takeResponsesHead(wire responsesRequest) error {
	if wire.Model == "" {
		return errors.New("no model")
	}
	if len(wire.Input) == 0 {
		return errors.New("no input")
	}
	if wire.StreamOptions != nil && !wire.Stream {
		return errors.New("stream_options without stream")
	}
	if wire.MaxOutputTokens != nil {
		if r.MaxTokens = *wire.MaxOutputTokens; r.MaxTokens < 16 {
			return fmt.Errorf("max_output_tokens is %d, the minimum is 16", r.MaxTokens)
		}
	}
	if len(wire.PromptCacheKey) > 64 {
		return fmt.Errorf("prompt_cache_key has %d characters, the maximum is 64", len(wire.PromptCacheKey))
	}
	for _, value := range wire.Include {
		if !slices.Contains(includable, value) {
			return fmt.Errorf("unknown include value %q", value)
		}
	}
	efforts, summaries := []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, []string{"", "auto", "concise", "detailed"}
	if e := wire.Reasoning; e != nil && (!slices.Contains(efforts, e.Effort) || !slices.Contains(summaries, e.Summary)) {
		return fmt.Errorf("unknown reasoning effort %q or summary %q", e.Effort, e.Summary)
	}
	if !slices.Contains([]string{"", "auto", "disabled"}, wire.Truncation) {
		return fmt.Errorf("unknown truncation %q", wire.Truncation)
	}
	return nil
}

func (r *Request) takeResponsesTools(wire responsesRequest) error {
	for _, tool := range wire.Tools {
		if tool.Type != "function" || !validName.MatchString(tool.Name) || slices.Contains(r.Tools, tool.Name) {
			return fmt.Errorf("tool %q is no function, has a bad name or is there twice", tool.Name)
		}
		if err := tool.checkSchema(); err != nil {
			return fmt.Errorf("tool %q: %w", tool.Name, err)
		}
		r.Tools = append(r.Tools, tool.Name)
	}
	if len(wire.ToolChoice) == 0 {
		return nil
	}
	if len(wire.Tools) == 0 {
		return errors.New("tool_choice without tools")
	}
	if json.Unmarshal(wire.ToolChoice, &r.ToolChoice) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, r.ToolChoice) {
			return fmt.Errorf("unknown tool_choice %q", r.ToolChoice)
		}
		return nil
	}
	var one struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if err := decodeStrict(wire.ToolChoice, &one); err != nil || one.Type != "function" || !slices.Contains(r.Tools, one.Name) {
		return fmt.Errorf("tool_choice names no function of tools: %s", wire.ToolChoice)
	}
	r.ToolChoice = one.Name
	return nil
}

func (t responsesTool) checkSchema() error {
	if err := checkObjectSchema(t.Parameters); err != nil {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(t.Parameters, &schema); err != nil {
		return err
	}
	if _, has := schema["properties"].(map[string]any); !has {
		return errors.New("object schema missing properties")
	}
	if t.Strict != nil && *t.Strict {
		return checkStrictSchema("the root", schema)
	}
	return nil
}
