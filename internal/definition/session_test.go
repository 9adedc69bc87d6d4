package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/definition"
)

func TestNormalizeSession(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts api.SessionOptions
		want api.SessionOptions
		code api.Code
	}{
		{"the zero value stays", api.SessionOptions{}, api.SessionOptions{}, ""},
		{"SE5 scratch without a workspace is the default", api.SessionOptions{Scratch: api.Set(true)}, api.SessionOptions{}, ""},
		{"SE5 no scratch beside a workspace is the default", api.SessionOptions{Scratch: api.Set(false), Workspace: "/w"}, api.SessionOptions{Workspace: "/w"}, ""},
		{"SE5 scratch beside a workspace", api.SessionOptions{Scratch: api.Set(true), Workspace: "/w"}, api.SessionOptions{}, api.CodeInvalidWorkspace},
		{"SE5 neither", api.SessionOptions{Scratch: api.Set(false)}, api.SessionOptions{}, api.CodeInvalidWorkspace},
		{"the key is not part of what is compared", api.SessionOptions{IdempotencyKey: "k"}, api.SessionOptions{}, ""},
		{"a key over its bound", api.SessionOptions{IdempotencyKey: strings.Repeat("k", 257)}, api.SessionOptions{}, api.CodeInvalidRequest},
		{"GU2 an empty text clears and stays", api.SessionOptions{AutoApproverContext: api.Set(""), Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set("")}},
			api.SessionOptions{AutoApproverContext: api.Set(""), Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set("")}}, ""},
		{"GU2 compaction without a text inherits", api.SessionOptions{Compaction: &api.CompactionOptions{}}, api.SessionOptions{}, ""},
		{"GU3 guidance over its bound", api.SessionOptions{AutoApproverContext: api.Set(strings.Repeat("a", 32_001))}, api.SessionOptions{}, api.CodeInvalidGuidance},
		{"AG1 a provider in another spelling", api.SessionOptions{Model: &api.ModelRef{Provider: "ANTHROPIC", Name: "m"}},
			api.SessionOptions{Model: &api.ModelRef{Provider: "Anthropic", Name: "m"}}, ""},
		{"an unknown provider", api.SessionOptions{Model: &api.ModelRef{Provider: "x", Name: "m"}}, api.SessionOptions{}, api.CodeUnknownProvider},
		{"a model without a name", api.SessionOptions{Model: &api.ModelRef{Provider: "OpenAI"}}, api.SessionOptions{}, api.CodeInvalidRequest},
		{"an import is the host's", api.SessionOptions{InitialHistory: []api.HistoryImport{{Type: "user", Text: "x"}}}, api.SessionOptions{}, ""},
		{"an empty import is none", api.SessionOptions{InitialHistory: []api.HistoryImport{}, Metadata: map[string]string{}}, api.SessionOptions{}, ""},
		{"metadata that is not UTF-8", api.SessionOptions{Metadata: map[string]string{"k": "\xff"}}, api.SessionOptions{}, api.CodeInvalidRequest},
		{"metadata over its bound in all", api.SessionOptions{Metadata: map[string]string{"a": strings.Repeat("x", 9_000), "b": strings.Repeat("x", 9_000)}}, api.SessionOptions{}, api.CodeInvalidRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := definition.NormalizeSession(tt.opts, providers)
			if api.CodeOf(err) != tt.code {
				t.Fatalf("got %v, want code %q", err, tt.code)
			}
			if err == nil {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestNormalizeTurn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts api.TurnOptions
		want api.TurnOptions
		code api.Code
	}{
		{"the zero value stays", api.TurnOptions{}, api.TurnOptions{}, ""},
		{"RU4 the idempotency key is the submission ID", api.TurnOptions{IdempotencyKey: "k"}, api.TurnOptions{SubmissionID: "k"}, ""},
		{"RU4 both, the same", api.TurnOptions{IdempotencyKey: "k", SubmissionID: "k"}, api.TurnOptions{SubmissionID: "k"}, ""},
		{"RU4 both, different", api.TurnOptions{IdempotencyKey: "k", SubmissionID: "j"}, api.TurnOptions{}, api.CodeInvalidRequest},
		{"a submission ID over its bound", api.TurnOptions{SubmissionID: strings.Repeat("k", 257)}, api.TurnOptions{}, api.CodeInvalidRequest},
		{"SE4 reject is the default", api.TurnOptions{WhenBusy: api.BusyReject}, api.TurnOptions{}, ""},
		{"SE4 queue", api.TurnOptions{WhenBusy: api.BusyQueue}, api.TurnOptions{WhenBusy: api.BusyQueue}, ""},
		{"SE4 anything else", api.TurnOptions{WhenBusy: "wait"}, api.TurnOptions{}, api.CodeInvalidRequest},
		{"GU3 an addendum at its bound", api.TurnOptions{InstructionAddendum: strings.Repeat("a", 32_000)}, api.TurnOptions{InstructionAddendum: strings.Repeat("a", 32_000)}, ""},
		{"GU3 an addendum over its bound", api.TurnOptions{InstructionAddendum: strings.Repeat("a", 32_001)}, api.TurnOptions{}, api.CodeInvalidGuidance},
		{"LI4 a zero limit", api.TurnOptions{Limits: api.Limits{MaxModelCalls: api.Set(0)}}, api.TurnOptions{}, api.CodeInvalidLimits},
		{"LI1 a default over an agent's smaller limit stays", api.TurnOptions{Limits: api.Limits{MaxModelCalls: api.Set(32)}}, api.TurnOptions{Limits: api.Limits{MaxModelCalls: api.Set(32)}}, ""},
		{"LI1 a small budget may meet an agent's smaller reserve", api.TurnOptions{Limits: api.Limits{MaxOutputTokens: api.Set(100)}}, api.TurnOptions{Limits: api.Limits{MaxOutputTokens: api.Set(100)}}, ""},
		{"GR1 guardrails, in the order in which they look", api.TurnOptions{Guardrails: []string{"h", "g"}}, api.TurnOptions{Guardrails: []string{"h", "g"}}, ""},
		{"GR1 no guardrails are none", api.TurnOptions{Guardrails: []string{}}, api.TurnOptions{}, ""},
		{"GR1 a guardrail with a name that none can have", api.TurnOptions{Guardrails: []string{"a\nb"}}, api.TurnOptions{}, api.CodeInvalidRequest},
		{"GR1 a guardrail twice", api.TurnOptions{Guardrails: []string{"g", "g"}}, api.TurnOptions{}, api.CodeInvalidRequest},
		{"GR1 33 guardrails", api.TurnOptions{Guardrails: numbered(33)}, api.TurnOptions{}, api.CodeInvalidRequest},
		{"GU2 an empty text clears and stays", api.TurnOptions{AutoApproverContext: api.Set(""), Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set("")}},
			api.TurnOptions{AutoApproverContext: api.Set(""), Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set("")}}, ""},
		{"GU3 reviewer context over its bound", api.TurnOptions{AutoApproverContext: api.Set(strings.Repeat("a", 32_001))}, api.TurnOptions{}, api.CodeInvalidGuidance},
		{"GU3 compaction guidance with a NUL", api.TurnOptions{Compaction: &api.CompactionOptions{AdditionalInstructions: api.Set("\x00")}}, api.TurnOptions{}, api.CodeInvalidGuidance},
		{"an unknown provider", api.TurnOptions{Model: &api.ModelRef{Provider: "x", Name: "m"}}, api.TurnOptions{}, api.CodeUnknownProvider},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := definition.NormalizeTurn(tt.opts, providers)
			if api.CodeOf(err) != tt.code {
				t.Fatalf("got %v, want code %q", err, tt.code)
			}
			if err == nil {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestCheckLimitsAgainstAModel(t *testing.T) {
	t.Parallel()
	perCall := api.Limits{MaxOutputTokensPerCall: api.Set(10_000)}
	if err := definition.CheckLimits("limits", perCall, 10_000); err != nil {
		t.Errorf("at the model's maximum: %v", err)
	}
	if err := definition.CheckLimits("limits", perCall, 0); err != nil {
		t.Errorf("with an unknown model: %v", err)
	}
	err := definition.CheckLimits("limits", perCall, 9_999)
	if api.CodeOf(err) != api.CodeInvalidLimits || !strings.Contains(err.Error(), "at most 9999") {
		t.Errorf("above the model's maximum: %v", err)
	}
	if err := definition.CheckLimits("limits", api.Limits{}, 100); err != nil {
		t.Errorf("the default is lowered, not refused: %v", err)
	}
}
