package policy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/policy"
)

func TestGuardrailsThatCannotBeRegisteredAreRefused(t *testing.T) {
	t.Parallel()
	allow := says(guard.Allow())
	at := func(points ...guard.Point) guard.Guardrail {
		return guard.Guardrail{Name: "g", Points: points, Check: allow}
	}
	for name, test := range map[string]struct {
		guards []guard.Guardrail
		want   string // "" for none
	}{
		"none":                          {nil, ""},
		"two of different names":        {[]guard.Guardrail{looks("a", allow), looks("B.2_-", allow)}, ""},
		"the longest name":              {[]guard.Guardrail{looks(strings.Repeat("n", 128), allow)}, ""},
		"no name":                       {[]guard.Guardrail{looks("", allow)}, "guardrails[0]: the name is missing"},
		"a name that is too long":       {[]guard.Guardrail{looks(strings.Repeat("n", 129), allow)}, "129 bytes long; at most 128"},
		"a name that starts with a dot": {[]guard.Guardrail{looks(".a", allow)}, `holds '.' at byte 0`},
		"a name with a space":           {[]guard.Guardrail{looks("a b", allow)}, `holds ' ' at byte 1`},
		"a name with an accent":         {[]guard.Guardrail{looks("aé", allow)}, `holds 'é' at byte 1`},
		"a name twice":                  {[]guard.Guardrail{looks("a", allow), looks("b", allow), looks("a", allow)}, "guardrails[2]: the name a is taken by guardrails[0]"},
		"no point":                      {[]guard.Guardrail{at()}, "looks at no point; give at least one of user_input, model_input, tool_result, model_output"},
		"an unknown point":              {[]guard.Guardrail{at(guard.UserInput, "output")}, `looks at "output"`},
		"a point twice":                 {[]guard.Guardrail{at(guard.UserInput, guard.UserInput)}, "names the point user_input twice"},
		"no Check":                      {[]guard.Guardrail{looks("g", nil)}, "g has no Check"},
		"a negative time-out":           {[]guard.Guardrail{{Name: "g", Points: guard.Points(), Check: allow, Timeout: -time.Second}}, "the time-out -1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, policy.CheckGuardrails(test.guards), test.want)
		})
	}
}

func TestHooksThatCannotBeRegisteredAreRefused(t *testing.T) {
	t.Parallel()
	before := func(context.Context, guard.ModelCall) error { return nil }
	after := func(_ context.Context, r guard.ToolOutput) (string, error) { return r.Output, nil }
	for name, test := range map[string]struct {
		hooks []guard.Hook
		want  string
	}{
		"one of each":         {[]guard.Hook{{Name: "a", BeforeModel: before}, {Name: "b", ToolResult: after}}, ""},
		"a name twice":        {[]guard.Hook{{Name: "a", BeforeModel: before}, {Name: "a", ToolResult: after}}, "hooks[1]: the name a is taken by hooks[0]"},
		"no function":         {[]guard.Hook{{Name: "a"}}, "hooks[0]: a has neither"},
		"a bad name":          {[]guard.Hook{{Name: "-", BeforeModel: before}}, "hooks[0]: the name"},
		"a negative time-out": {[]guard.Hook{{Name: "a", BeforeModel: before, Timeout: -1}}, "the time-out -1ns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, policy.CheckHooks(test.hooks), test.want)
		})
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (api.CodeOf(err) != api.CodeInvalidRequest || !strings.Contains(err.Error(), want)):
		t.Errorf("got %v, want invalid_request with %q", err, want)
	}
}

func TestWhetherAnybodyLooksAtAPointIsKnown(t *testing.T) {
	t.Parallel()
	guards := []guard.Guardrail{{Name: "a", Points: []guard.Point{guard.UserInput}}, {Name: "b", Points: []guard.Point{guard.ModelOutput}}}
	for point, want := range map[guard.Point]bool{guard.UserInput: true, guard.ModelInput: false, guard.ToolResult: false, guard.ModelOutput: true} {
		if got := policy.Has(guards, point); got != want {
			t.Errorf("%s: got %v", point, got)
		}
	}
}
