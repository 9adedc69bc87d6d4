package definition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/definition"
)

// AG2: the digest says what the definition means, not how it was written.
func TestADigestIsTheSameForEveryOrderOfKeysAndForExplicitDefaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		def := arbitrary(t)
		first, err := definition.Normalize(def, providers)
		if err != nil {
			t.Fatalf("normalize: %v", err)
		}
		want := definition.Digest(first)

		again, err := definition.Normalize(first, providers)
		if err != nil || definition.Digest(again) != want {
			t.Fatalf("normalizing twice gives %s, %v; want %s", definition.Digest(again), err, want)
		}

		data, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		var shuffled api.AgentDefinition
		if err := json.Unmarshal([]byte(shuffle(t, data)), &shuffled); err != nil {
			t.Fatal(err)
		}
		explicit, err := definition.Normalize(withDefaults(t, shuffled), providers)
		if err != nil {
			t.Fatalf("normalize with defaults: %v", err)
		}
		if got := definition.Digest(explicit); got != want {
			t.Fatalf("digest %s, want %s; they differ in %v", got, want, definition.Diff(first, explicit))
		}
	})
}

func arbitrary(t *rapid.T) api.AgentDefinition {
	def := minimal()
	def.Instructions = rapid.StringMatching(`[ -~äß€\n]{0,20}`).Draw(t, "instructions")
	for i := range rapid.IntRange(0, 3).Draw(t, "tools") {
		schema := rapid.SampledFrom([]string{
			`{"type":"object"}`,
			`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number","minimum":1.0}},"required":["b","a"]}`,
			`{"title":"<x>","type":"object","additionalProperties":false}`,
		}).Draw(t, "schema")
		def.Tools = append(def.Tools, api.ToolDeclaration{
			Name: fmt.Sprintf("t.%d", i), InputSchema: json.RawMessage(schema),
			Effect: rapid.SampledFrom([]api.Effect{"", api.ReadOnly, api.Idempotent}).Draw(t, "effect"),
		})
	}
	if len(def.Tools) > 0 && rapid.Bool().Draw(t, "only") {
		def.Approvals = api.Approvals{Mode: api.ApproveOnly, Tools: []string{def.Tools[0].Name}}
	}
	if rapid.Bool().Draw(t, "limits") {
		def.Limits.MaxModelCalls = api.Set(rapid.IntRange(1, 40).Draw(t, "calls"))
		def.Limits.MaxOutputTokens = api.Set(rapid.IntRange(600, 700).Draw(t, "tokens"))
	}
	if rapid.Bool().Draw(t, "history") {
		def.BuiltinTools.ReadHistory = api.Set(rapid.Bool().Draw(t, "readHistory"))
	}
	if rapid.Bool().Draw(t, "guidance") {
		def.AutoApproverContext = api.Set(rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "context"))
	}
	return def
}

// withDefaults writes out some of the defaults that def leaves out.
func withDefaults(t *rapid.T, def api.AgentDefinition) api.AgentDefinition {
	yes := func(what string) bool { return rapid.Bool().Draw(t, what) }
	if def.Limits.MaxModelCalls == nil && yes("default calls") {
		def.Limits.MaxModelCalls = api.Set(api.DefaultMaxModelCalls)
	}
	if def.Limits.SummaryTokens == nil && yes("default reserve") {
		def.Limits.SummaryTokens = api.Set(api.DefaultSummaryTokens)
	}
	if def.Approvals.Mode == "" && yes("default mode") {
		def.Approvals.Mode = api.ApproveAlways
	}
	if def.BuiltinTools.ReadHistory == nil && yes("default built-in") {
		def.BuiltinTools.ReadHistory = api.Set(len(def.Tools) > 0)
	}
	if def.AutoApproverContext == nil && yes("empty guidance") {
		def.AutoApproverContext = api.Set("")
	}
	if yes("default outcome") {
		def.UnknownOutcome = api.OutcomeAsk
	}
	for i := range def.Tools {
		if def.Tools[i].Effect == "" && yes("default effect") {
			def.Tools[i].Effect = api.SideEffect
		}
	}
	return def
}

// shuffle rewrites JSON with the keys of each object in some order.
func shuffle(t *rapid.T, data []byte) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) == nil && object != nil {
		var members []string
		for key, value := range object {
			name, _ := json.Marshal(key)
			members = append(members, string(name)+" : "+shuffle(t, value))
		}
		return "{ " + strings.Join(rapid.Permutation(members).Draw(t, "keys"), " , ") + "\n}"
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && list != nil {
		var elements []string
		for _, value := range list {
			elements = append(elements, shuffle(t, value))
		}
		return "[ " + strings.Join(elements, " , ") + " ]"
	}
	return string(data)
}
