package modeltestserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
)

// messagesRequest has no temperature, top_p and top_k: the API's version of 2026-10-21 refuses them.
type messagesRequest struct {
	Model         string                `json:"model"`
	MaxTokens     *int                  `json:"max_tokens"`
	Messages      []messagesMessage     `json:"messages"`
	System        json.RawMessage       `json:"system"` // text or blocks
	Tools         []messagesTool        `json:"tools"`
	ToolChoice    *messagesToolChoice   `json:"tool_choice"`
	Thinking      *messagesThinking     `json:"thinking"`
	OutputConfig  *messagesOutputConfig `json:"output_config"`
	CacheControl  *cacheControl         `json:"cache_control"`
	StopSequences []string              `json:"stop_sequences"`
	Stream        bool                  `json:"stream"`
	ServiceTier   string                `json:"service_tier"`
	Metadata      *messagesMetadata     `json:"metadata"`
}

type messagesMetadata struct {
	UserID string `json:"user_id"`
}

type messagesTool struct {
	Type                string          `json:"type"`
	Name                string          `json:"name"`
	Description         string          `json:"description"`
	InputSchema         json.RawMessage `json:"input_schema"`
	Strict              *bool           `json:"strict"`
	EagerInputStreaming *bool           `json:"eager_input_streaming"`
	CacheControl        *cacheControl   `json:"cache_control"`
}

type messagesToolChoice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name"`
	DisableParallelToolUse *bool  `json:"disable_parallel_tool_use"`
}

type messagesThinking struct {
	Type         string           `json:"type"`
	BudgetTokens *int             `json:"budget_tokens"`
	Display      string           `json:"display"`
	BlockBinding *messagesBinding `json:"block_binding"`
}

// messagesBinding says what happens to thinking that no longer fits what stands before it. The server checks none.
type messagesBinding struct {
	PrefixMismatchBehavior string `json:"prefix_mismatch_behavior"`
}

type messagesOutputConfig struct {
	Effort string          `json:"effort"`
	Format json.RawMessage `json:"format"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

var (
	validMessagesID  = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	messagesVersions = []string{"2023-06-01", "2026-10-21"}
)

// checkMessagesHeader refuses a request that does not name a version of the API.
func checkMessagesHeader(header http.Header) error {
	version := header.Get("anthropic-version")
	if version == "" {
		return errors.New("anthropic-version: header is required")
	}
	if !slices.Contains(messagesVersions, version) {
		return fmt.Errorf("anthropic-version: %q is not a valid version", version)
	}
	return nil
}

// DecodeMessages decodes the body of an Anthropic Messages request and says what a strict server would refuse it
// for.
func DecodeMessages(body []byte) (Request, error) {
	req := Request{Protocol: Messages, Body: body}
	var wire messagesRequest
	if err := decodeBody(body, &wire); err != nil {
		return req, err
	}
	req.Model, req.Stream = wire.Model, wire.Stream
	d := &messagesDecoder{req: &req, wire: wire, talk: newConversation(validName)}
	for _, step := range []func() error{d.takeHead, d.takeTools, d.takeSystem, d.takeMessages, d.checkThinking} {
		if err := step(); err != nil {
			return req, err
		}
	}
	return req, nil
}

// messagesDecoder decodes in the order in which a request is cached: tools, system, messages.
type messagesDecoder struct {
	req   *Request
	wire  messagesRequest
	talk  *conversation
	short bool // a cache mark of five minutes has come
}

func (d *messagesDecoder) takeHead() error {
	switch wire := d.wire; {
	case wire.Model == "":
		return errors.New("model: Field required")
	case wire.MaxTokens == nil:
		return errors.New("max_tokens: Field required")
	case *wire.MaxTokens < 1:
		return fmt.Errorf("max_tokens: %d is below 1", *wire.MaxTokens)
	}
	d.req.MaxTokens = *d.wire.MaxTokens
	if c := d.wire.OutputConfig; c != nil && !slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, c.Effort) {
		return fmt.Errorf("output_config.effort: unknown value %q", c.Effort)
	}
	return d.mark("cache_control", d.wire.CacheControl)
}

func (d *messagesDecoder) takeTools() error {
	for i, tool := range d.wire.Tools {
		at := fmt.Sprintf("tools.%d", i)
		switch {
		case tool.Type != "" && tool.Type != "custom":
			return fmt.Errorf("%s: unknown type %q", at, tool.Type)
		case !validName.MatchString(tool.Name):
			return fmt.Errorf("%s.name: %q does not match %s", at, tool.Name, validName)
		case slices.Contains(d.req.Tools, tool.Name):
			return fmt.Errorf("tools: Tool names must be unique: %q", tool.Name)
		}
		if err := checkObjectSchema(tool.InputSchema); err != nil {
			return fmt.Errorf("%s.input_schema: %w", at, err)
		}
		if err := d.mark(at, tool.CacheControl); err != nil {
			return err
		}
		d.req.Tools = append(d.req.Tools, tool.Name)
	}
	return d.takeToolChoice()
}

func (d *messagesDecoder) takeToolChoice() error {
	choice := d.wire.ToolChoice
	if choice == nil {
		return nil
	}
	neutral, known := map[string]string{"none": "none", "auto": "auto", "any": "required", "tool": choice.Name}[choice.Type]
	switch {
	case !known:
		return fmt.Errorf("tool_choice: unknown type %q", choice.Type)
	case len(d.wire.Tools) == 0:
		return errors.New("tool_choice may only be specified while providing tools")
	case (choice.Type == "tool") != (choice.Name != "") || choice.Type == "tool" && !slices.Contains(d.req.Tools, choice.Name):
		return fmt.Errorf("tool_choice: type %q with the name %q, which is missing, extra or no tool", choice.Type, choice.Name)
	case choice.Type == "none" && choice.DisableParallelToolUse != nil:
		return errors.New("tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted")
	}
	d.req.ToolChoice = neutral
	return nil
}

func (d *messagesDecoder) takeSystem() error {
	if len(d.wire.System) == 0 {
		return nil
	}
	blocks, err := messagesBlocks(d.wire.System)
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}
	message := Message{Role: "system"}
	for i, block := range blocks {
		at := fmt.Sprintf("system.%d", i)
		if block.Type != "text" {
			return fmt.Errorf("%s: a block of type %q", at, block.Type)
		}
		if err := d.take(at, block, &message); err != nil {
			return err
		}
	}
	if message.Content == "" {
		return nil
	}
	return d.talk.add(message)
}

// mark counts a cache mark.
func (d *messagesDecoder) mark(at string, c *cacheControl) error {
	if c == nil {
		return nil
	}
	d.req.CacheMarks++
	switch {
	case c.Type != "ephemeral" || !slices.Contains([]string{"", "5m", "1h"}, c.TTL):
		return fmt.Errorf("%s.cache_control: unknown type %q or ttl %q", at, c.Type, c.TTL)
	case d.req.CacheMarks > 4:
		return fmt.Errorf("a maximum of 4 blocks with cache_control may be provided, %s is one more", at)
	case c.TTL == "1h" && d.short:
		return fmt.Errorf("%s: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block", at)
	}
	d.short = d.short || c.TTL != "1h" && at != "cache_control"
	return nil
}

// checkThinking checks the thinking configuration, which depends on all the rest.
func (d *messagesDecoder) checkThinking() error {
	thinking := d.wire.Thinking
	if thinking == nil || thinking.Type == "disabled" && *thinking == (messagesThinking{Type: "disabled"}) {
		return nil
	}
	if !slices.Contains([]string{"", "summarized", "omitted"}, thinking.Display) {
		return fmt.Errorf("thinking.display: unknown value %q", thinking.Display)
	}
	if b := thinking.BlockBinding; b != nil && !slices.Contains([]string{"", "error", "drop_block"}, b.PrefixMismatchBehavior) {
		return fmt.Errorf("thinking.block_binding.prefix_mismatch_behavior: unknown value %q", b.PrefixMismatchBehavior)
	}
	if choice := d.req.ToolChoice; choice != "" && choice != "auto" && choice != "none" {
		return errors.New("thinking may not be enabled when tool_choice forces tool use")
	}
	switch {
	case thinking.Type == "adaptive" && thinking.BudgetTokens == nil:
		return nil
	case thinking.Type != "enabled":
		return fmt.Errorf("thinking: type %q is unknown or has a field of another type", thinking.Type)
	case thinking.BudgetTokens == nil || *thinking.BudgetTokens < 1024:
		return errors.New("thinking.enabled.budget_tokens: required, and at least 1024")
	case *thinking.BudgetTokens >= d.req.MaxTokens:
		return errors.New("max_tokens must be greater than thinking.budget_tokens")
	}
	return d.checkThinkingGoesOn()
}

// checkThinkingGoesOn holds with a budget only: an answer that is followed by the results of its calls and by
// nothing else must begin with what was thought. Adaptive thinking asks for no such thing.
func (d *messagesDecoder) checkThinkingGoesOn() error {
	if d.req.LastRole != "tool" {
		return nil
	}
	messages := d.req.Messages
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "assistant" {
			if len(messages[i].Reasoning) == 0 {
				return errors.New("expected `thinking` or `redacted_thinking`, but found `tool_use`: " +
					"when `thinking` is enabled, a final `assistant` message must start with a thinking block")
			}
			return nil
		}
	}
	return nil
}
