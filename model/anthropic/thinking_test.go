package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model"
)

func TestModelsFrom51OnBindReasoning(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"claude-fable-5-1": true, "claude-opus-5-5": true, "claude-sonnet-5-5-20260928": true, "claude-haiku-6": true, "claude-opus-6-1-latest": true,
		"claude-fable-5": false, "claude-opus-5-20260901": false, "claude-opus-5-latest": false, "claude-opus-4-8": false,
		"claude-3-5-sonnet-20241022": false, "claude-sonnet-4-20250514": false, "claude-20260101": false, "claude": false,
		"deepseek-chat-5-1": false, "": false,
	} {
		if got := bindsReasoning(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestThinkingIsAskedForAsTheModelAllows(t *testing.T) {
	t.Parallel()
	const (
		dropped  = `{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
		budgeted = `{"type":"enabled","budget_tokens":2000}`
	)
	budget := Thinking{Mode: ThinkingBudget, Budget: 2000}
	own, other := reasoned("Anthropic", "m", "c2ln"), reasoned("Anthropic", "m-1", "c2ln")
	turn := func(items ...model.Item) []model.Item { return append([]model.Item{said("go")}, items...) }
	called, returned := called("c1", "f"), returned("c1", "x")
	next := []model.Item{{Kind: model.ToolCallItem, CallID: "c2", Name: "f", Arguments: json.RawMessage(`{}`)}, {Kind: model.ToolResultItem, CallID: "c2", Output: "y"}}
	for name, test := range map[string]struct {
		thinking Thinking
		model    string // "m" where empty
		limit    int
		items    []model.Item
		want     string // "" for no configuration
		beta     string
	}{
		"left to the model":                           {want: ""},
		"left to a model that binds reasoning":        {model: "claude-opus-5-5", want: dropped, beta: bindingBeta},
		"adaptive":                                    {thinking: Thinking{Mode: ThinkingAdaptive}, want: `{"type":"adaptive"}`},
		"adaptive and readable":                       {thinking: Thinking{Mode: ThinkingAdaptive, Display: "summarized"}, want: `{"type":"adaptive","display":"summarized"}`},
		"adaptive in a turn that another model began": {thinking: Thinking{Mode: ThinkingAdaptive}, items: turn(called, returned), want: `{"type":"adaptive"}`},
		"adaptive with a model that binds reasoning":  {thinking: Thinking{Mode: ThinkingAdaptive}, model: "claude-sonnet-5-5", want: dropped, beta: bindingBeta},
		"off":                            {thinking: Thinking{Mode: ThinkingOff}, model: "claude-haiku-5-5", want: `{"type":"disabled"}`},
		"a budget":                       {thinking: budget, want: budgeted},
		"a budget over the output limit": {thinking: budget, limit: 1500, want: `{"type":"enabled","budget_tokens":1499}`},
		"a budget that leaves no room":   {thinking: budget, limit: 1024, want: ""},
		"a budget in a turn that begins with own reasoning":  {thinking: budget, items: turn(own, called, returned), want: budgeted},
		"a budget in a turn whose later answers lack it":     {thinking: budget, items: turn(append([]model.Item{own, called, returned}, next...)...), want: budgeted},
		"a budget behind another model's dropped reasoning":  {thinking: budget, items: turn(other, own, called, returned), want: budgeted},
		"a budget in a turn that another model began":        {thinking: budget, items: turn(other, called, returned), want: ""},
		"a budget in a turn that begins without reasoning":   {thinking: budget, items: turn(append([]model.Item{called, returned, own}, next...)...), want: ""},
		"a budget where the user spoke behind the results":   {thinking: budget, items: turn(called, returned, said("now"), said("then")), want: ""},
		"a budget in a turn after one that another answered": {thinking: budget, items: turn(called, returned, answered("done"), said("on")), want: budgeted},
		"a budget in a turn of two messages":                 {thinking: budget, items: turn(answered("done"), said("on"), said("and"), own, called, returned), want: budgeted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := model.Request{Model: test.model, MaxOutputTokens: test.limit, Items: test.items}
			if req.Model == "" {
				req.Model = "m"
			}
			if req.Items == nil {
				req.Items = turn()
			}
			config := Config{Thinking: test.thinking}
			var got struct{ Thinking json.RawMessage }
			if err := json.Unmarshal(encodeWith(t, config, req), &got); err != nil {
				t.Fatal(err)
			}
			var want any
			if test.want != "" {
				want = value(t, []byte(test.want))
			}
			var have any
			if got.Thinking != nil {
				have = value(t, got.Thinking)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("thinking (-want +got):\n%s", diff)
			}
			p, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.betas(req.Model); got != test.beta {
				t.Errorf("got the betas %q, want %q", got, test.beta)
			}
		})
	}
}
