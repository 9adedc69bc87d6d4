package anthropic

import (
	"encoding/json"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
)

// ThinkingMode says how a model reasons.
type ThinkingMode string

const (
	// ThinkingDefault leaves it to the model: models of generation 5 think of themselves, older ones do not.
	ThinkingDefault ThinkingMode = ""
	// ThinkingAdaptive lets the model decide when and how much to think. Models before 4.6 refuse it.
	ThinkingAdaptive ThinkingMode = "adaptive"
	// ThinkingBudget thinks within Budget. Models from 4.7 on refuse it.
	ThinkingBudget ThinkingMode = "enabled"
	// ThinkingOff forbids it, and sends no reasoning back. Some models refuse it.
	ThinkingOff ThinkingMode = "disabled"
)

// MinThinkingBudget is the least budget that the API takes.
const MinThinkingBudget = 1024

// Thinking configures the models' reasoning.
type Thinking struct {
	Mode ThinkingMode
	// Budget is the bound of ThinkingBudget in tokens, at least MinThinkingBudget. It is part of an answer's output:
	// of a call whose output limit is not above it, it takes what leaves room for one token of answer, and a limit too
	// low even for MinThinkingBudget makes the call one without thinking.
	Budget int
	// Display is "summarized" or "omitted": whether the reasoning can be read. "" leaves it to the model. It is for
	// ThinkingAdaptive and ThinkingBudget.
	Display string
}

func (t Thinking) check() error {
	switch t.Mode {
	case ThinkingDefault, ThinkingAdaptive, ThinkingBudget, ThinkingOff:
	default:
		return api.Errorf(api.CodeInvalidRequest, "Thinking.Mode is %q and must be empty, %q, %q or %q", t.Mode, ThinkingAdaptive, ThinkingBudget, ThinkingOff)
	}
	switch {
	case t.Mode == ThinkingBudget && t.Budget < MinThinkingBudget:
		return api.Errorf(api.CodeInvalidRequest, "Thinking.Budget is %d and must be at least %d", t.Budget, MinThinkingBudget)
	case t.Mode != ThinkingBudget && t.Budget != 0:
		return api.Errorf(api.CodeInvalidRequest, "Thinking.Budget is for the mode %q only", ThinkingBudget)
	case t.Display != "" && t.Display != "summarized" && t.Display != "omitted":
		return api.Errorf(api.CodeInvalidRequest, `Thinking.Display is %q and must be "summarized" or "omitted"`, t.Display)
	case t.Display != "" && t.Mode != ThinkingAdaptive && t.Mode != ThinkingBudget:
		return api.Errorf(api.CodeInvalidRequest, "Thinking.Display is for the modes %q and %q only", ThinkingAdaptive, ThinkingBudget)
	}
	return nil
}

const (
	betaHeader = "anthropic-beta"
	// bindingBeta lets a request say what happens to reasoning that no longer fits what stands before it.
	bindingBeta = "thinking-binding-controls-2026-08-01"
)

// thinking is the configuration for one request.
func (p *Provider) thinking(req model.Request, maxTokens int) sdk.ThinkingConfigParamUnion {
	t := p.config.Thinking
	switch t.Mode {
	case ThinkingOff:
		off := sdk.NewThinkingConfigDisabledParam()
		return sdk.ThinkingConfigParamUnion{OfDisabled: &off}
	case ThinkingBudget:
		budget := min(t.Budget, maxTokens-1)
		if budget < MinThinkingBudget || !p.mayThinkOn(req) {
			return sdk.ThinkingConfigParamUnion{}
		}
		return sdk.ThinkingConfigParamUnion{OfEnabled: &sdk.ThinkingConfigEnabledParam{
			BudgetTokens: int64(budget), Display: sdk.ThinkingConfigEnabledDisplay(t.Display),
		}}
	}
	bound := bindsReasoning(req.Model)
	if t.Mode == ThinkingDefault && !bound {
		return sdk.ThinkingConfigParamUnion{}
	}
	adaptive := sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplay(t.Display)}
	if bound { // adaptive is the default of these models
		adaptive.SetExtraFields(map[string]any{"block_binding": map[string]string{"prefix_mismatch_behavior": "drop_block"}})
	}
	return sdk.ThinkingConfigParamUnion{OfAdaptive: &adaptive}
}

// betas is the value of anthropic-beta for one request, "" for none.
func (p *Provider) betas(name string) string {
	mode := p.config.Thinking.Mode
	if !bindsReasoning(name) || mode == ThinkingOff || mode == ThinkingBudget {
		return p.beta
	}
	if p.beta == "" {
		return bindingBeta
	}
	return p.beta + "," + bindingBeta
}

// bindsReasoning reports whether a model binds reasoning to what stands before it: claude-<family>-5-1 and all that
// come later. A date in the place of the minor version is none.
func bindsReasoning(name string) bool {
	parts := strings.Split(name, "-")
	if len(parts) < 3 || parts[0] != "claude" {
		return false
	}
	major, err := strconv.Atoi(parts[2])
	if err != nil || major > 99 {
		return false
	}
	minor := 0
	if len(parts) > 3 {
		if n, err := strconv.Atoi(parts[3]); err == nil && n < 100 {
			minor = n
		}
	}
	return major > 5 || major == 5 && minor >= 1
}

// mayThinkOn reports whether the open turn allows thinking with a budget: nothing was answered in it yet, or the
// first that was begins with reasoning that goes back. The answers of one turn, with results between them, are one
// to the API.
func (p *Provider) mayThinkOn(req model.Request) bool {
	items := req.Items
	from := len(items)
	for from > 0 && !beginsTurn(items, from-1) {
		from--
	}
	for i := from; i < len(items); i++ {
		if items[i].Kind != model.ReasoningItem {
			return false
		}
		if _, own := p.reasoningBlock(req.Model, &items[i]); own {
			return true
		}
	}
	return true
}

// beginsTurn reports whether item i is the last of the user's items that begin a turn. What a user says behind
// results stands in one message with them and begins none.
func beginsTurn(items []model.Item, i int) bool {
	if items[i].Kind != model.UserItem {
		return false
	}
	for i > 0 && items[i-1].Kind == model.UserItem {
		i--
	}
	return i == 0 || items[i-1].Kind != model.ToolResultItem
}

// reasoningBlock is the block in which reasoning goes back, if it does: it is of this provider and model.
func (p *Provider) reasoningBlock(name string, item *model.Item) (sdk.ContentBlockParamUnion, bool) {
	own := item.Private
	if own == nil || own.Provider != p.config.Name || own.Model != name || p.config.Thinking.Mode == ThinkingOff {
		return sdk.ContentBlockParamUnion{}, false
	}
	var kept reasoning
	if json.Unmarshal(own.Data, &kept) != nil {
		return sdk.ContentBlockParamUnion{}, false
	}
	switch kept.Type {
	case blockThinking:
		return sdk.NewThinkingBlock(kept.Signature, kept.Thinking), true
	case blockRedacted:
		return sdk.NewRedactedThinkingBlock(kept.Data), kept.Data != ""
	}
	return sdk.ContentBlockParamUnion{}, false
}

// reasoning is what we keep beside a reasoning item: the block as it came.
type reasoning struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}
