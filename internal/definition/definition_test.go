package definition_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/definition"
)

var providers = []string{"OpenAI", "Anthropic", "Google", "scripted"}

func minimal() api.AgentDefinition {
	return api.AgentDefinition{Name: "support", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}}
}

func with(change func(*api.AgentDefinition)) api.AgentDefinition {
	def := minimal()
	change(&def)
	return def
}

func declared(name string) api.ToolDeclaration {
	return api.ToolDeclaration{Name: name, Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)}
}

func TestNormalizeRefusesAndNamesTheField(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*api.AgentDefinition)
		code   api.Code
		want   string
	}{
		{"AG3 no name", func(d *api.AgentDefinition) { d.Name = "" }, api.CodeInvalidAgent, "name is missing"},
		{"AG3 a name that starts with a dot", func(d *api.AgentDefinition) { d.Name = ".a" }, api.CodeInvalidAgent, `'.' at byte 0`},
		{"AG3 a name with a slash", func(d *api.AgentDefinition) { d.Name = "a/b" }, api.CodeInvalidAgent, `'/' at byte 1`},
		{"AG3 a name of 129 bytes", func(d *api.AgentDefinition) { d.Name = strings.Repeat("a", 129) }, api.CodeInvalidAgent, "129 bytes"},
		{"instructions over their bound", func(d *api.AgentDefinition) { d.Instructions = strings.Repeat("a", api.MaxInstructionsBytes+1) }, api.CodeInvalidAgent, "instructions is 512001 bytes"},
		{"instructions with a NUL", func(d *api.AgentDefinition) { d.Instructions = "a\x00" }, api.CodeInvalidAgent, "NUL at byte 1"},
		{"instructions that are not UTF-8", func(d *api.AgentDefinition) { d.Instructions = "\xff" }, api.CodeInvalidAgent, "UTF-8"},
		{"AG1 no model", func(d *api.AgentDefinition) { d.DefaultModel = api.ModelRef{} }, api.CodeInvalidRequest, "defaultModel needs"},
		{"AG1 an unknown provider, with the list", func(d *api.AgentDefinition) { d.DefaultModel.Provider = "Acme" }, api.CodeUnknownProvider, "Anthropic, Google, OpenAI, scripted"},
		{"AG5 a name that no provider accepts", func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{declared("app lookup")} }, api.CodeInvalidTool, "app lookup"},
		{"AG5 two tools of one model name", func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{declared("app.lookup"), declared("app__lookup")}
		}, api.CodeInvalidTool, `"app.lookup" and "app__lookup" are both`},
		{"a tool twice", func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{declared("a"), declared("a")} }, api.CodeInvalidTool, "selected twice"},
		{"a tool with the name of a built-in", func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{declared("read_history")} }, api.CodeInvalidTool, "built-in"},
		{"a tool with the name of the other built-in", func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{declared("ask_user")} }, api.CodeInvalidTool, "built-in"},
		{"a tool without a schema", func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{{Name: "a"}} }, api.CodeInvalidTool, "there is nothing"},
		{"a tool whose schema reads a file", func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{{Name: "a", InputSchema: json.RawMessage(`{"type":"object","$ref":"file:///etc/hostname"}`)}}
		}, api.CodeInvalidTool, "only references within"},
		{"a schema without a canonical form", func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{{Name: "a", InputSchema: json.RawMessage(`{"type":"object","title":"\ud800"}`)}}
		}, api.CodeInvalidTool, "canonical"},
		{"an unknown effect", func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`), Effect: "none"}}
		}, api.CodeInvalidTool, `effect "none"`},
		{"129 tools", func(d *api.AgentDefinition) {
			for i := range 129 {
				d.Tools = append(d.Tools, declared(fmt.Sprintf("t%d", i)))
			}
		}, api.CodeInvalidAgent, "129 are selected"},
		{"LI4 zero calls", func(d *api.AgentDefinition) { d.Limits.MaxModelCalls = api.Set(0) }, api.CodeInvalidLimits, "limits.maxModelCalls is 0"},
		{"LI4 negative tokens", func(d *api.AgentDefinition) { d.Limits.MaxOutputTokens = api.Set(-1) }, api.CodeInvalidLimits, "limits.maxOutputTokens is -1"},
		{"LI4 zero tokens a call", func(d *api.AgentDefinition) { d.Limits.MaxOutputTokensPerCall = api.Set(0) }, api.CodeInvalidLimits, "maxOutputTokensPerCall"},
		{"LI4 a reserve of nothing", func(d *api.AgentDefinition) { d.Limits.SummaryTokens = api.Set(0) }, api.CodeInvalidLimits, "summaryTokens"},
		{"LI4 a reserve as large as the budget", func(d *api.AgentDefinition) {
			d.Limits = api.Limits{MaxOutputTokens: api.Set(600), SummaryTokens: api.Set(600)}
		}, api.CodeInvalidLimits, "must be smaller"},
		{"LI4 a budget no larger than the default reserve", func(d *api.AgentDefinition) { d.Limits.MaxOutputTokens = api.Set(512) }, api.CodeInvalidLimits, "must be smaller"},
		{"GU3 reviewer context over its bound", func(d *api.AgentDefinition) { d.AutoApproverContext = api.Set(strings.Repeat("é", 16_001)) }, api.CodeInvalidGuidance, "autoApproverContext is 32002 bytes"},
		{"GU3 compaction guidance with a NUL", func(d *api.AgentDefinition) {
			d.Compaction = &api.CompactionOptions{AdditionalInstructions: api.Set("\x00")}
		}, api.CodeInvalidGuidance, "compaction.additionalInstructions"},
		{"AP1 an unknown mode", func(d *api.AgentDefinition) { d.Approvals.Mode = "sometimes" }, api.CodeInvalidAgent, `"sometimes"`},
		{"AP1 only without tools", func(d *api.AgentDefinition) { d.Approvals.Mode = api.ApproveOnly }, api.CodeInvalidAgent, "approvals.tools is empty"},
		{"AP1 only with a tool that is not selected", func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{declared("a")}
			d.Approvals = api.Approvals{Mode: api.ApproveOnly, Tools: []string{"b"}}
		}, api.CodeInvalidAgent, `"b", which is no tool`},
		{"AP1 only with a tool twice", func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{declared("a")}
			d.Approvals = api.Approvals{Mode: api.ApproveOnly, Tools: []string{"a", "a"}}
		}, api.CodeInvalidAgent, "twice"},
		{"AP1 tools with a mode that takes none", func(d *api.AgentDefinition) { d.Approvals.Tools = []string{"a"} }, api.CodeInvalidAgent, "approvals.tools"},
		{"AP1 a reviewer with a mode that takes none", func(d *api.AgentDefinition) { d.Approvals.ReviewerModel = &api.ModelRef{} }, api.CodeInvalidAgent, "approvals.reviewerModel"},
		{"AP1 auto without a reviewer", func(d *api.AgentDefinition) { d.Approvals.Mode = api.ApproveAuto }, api.CodeInvalidAgent, "reviewerModel is missing"},
		{"AP1 auto with a reviewer of no name", func(d *api.AgentDefinition) {
			d.Approvals = api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "OpenAI"}}
		}, api.CodeInvalidRequest, "approvals.reviewerModel needs"},
		{"AP1 auto with a reviewer of a provider that nobody knows", func(d *api.AgentDefinition) {
			d.Approvals = api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "x", Name: "m"}}
		}, api.CodeUnknownProvider, `"x"`},
		{"RE3 an unknown rule for unknown outcomes", func(d *api.AgentDefinition) { d.UnknownOutcome = "retry" }, api.CodeInvalidAgent, `"retry"`},
		{"GR1 a guardrail with a name that none can have", func(d *api.AgentDefinition) { d.Guardrails = []string{"a guard"} }, api.CodeInvalidAgent, "guardrails"},
		{"GR1 a guardrail twice", func(d *api.AgentDefinition) { d.Guardrails = []string{"g", "g"} }, api.CodeInvalidAgent, "guardrails"},
		{"GR1 33 guardrails", func(d *api.AgentDefinition) { d.Guardrails = numbered(33) }, api.CodeInvalidAgent, "at most 32"},
		{"GR4 a hook without a name", func(d *api.AgentDefinition) { d.Hooks = []string{""} }, api.CodeInvalidAgent, "hooks"},
		{"GR4 33 hooks", func(d *api.AgentDefinition) { d.Hooks = numbered(33) }, api.CodeInvalidAgent, "at most 32"},
		{"FA9 memory", func(d *api.AgentDefinition) { d.Memory = json.RawMessage(`true`) }, api.CodeUnsupportedOption, "memory"},
		{"FA9 planning", func(d *api.AgentDefinition) { d.Planning = json.RawMessage(`{}`) }, api.CodeUnsupportedOption, "planning"},
		{"FA9 scheduling", func(d *api.AgentDefinition) { d.Scheduling = json.RawMessage(`true`) }, api.CodeUnsupportedOption, "scheduling"},
		{"FA9 delegation", func(d *api.AgentDefinition) { d.Delegation = json.RawMessage(`{}`) }, api.CodeUnsupportedOption, "delegation"},
		{"FA9 team", func(d *api.AgentDefinition) { d.Team = json.RawMessage(`{}`) }, api.CodeUnsupportedOption, "team"},
		{"FA9 workspace tools", func(d *api.AgentDefinition) { d.WorkspaceTools = json.RawMessage(`["read"]`) }, api.CodeUnsupportedOption, "workspaceTools"},
		{"FA9 a sandbox", func(d *api.AgentDefinition) { d.Sandbox = json.RawMessage(`{}`) }, api.CodeUnsupportedOption, "sandbox"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := definition.Normalize(with(tt.change), providers)
			if api.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s that says %q", err, tt.code, tt.want)
			}
		})
	}
}

func TestNormalizeLeavesOutWhatTheDefaultSays(t *testing.T) {
	t.Parallel()
	explicit := with(func(d *api.AgentDefinition) {
		d.DefaultModel.Provider = "openai"
		d.Tools = []api.ToolDeclaration{declared("a")}
		d.Tools[0].Effect = api.SideEffect
		d.Approvals.Mode = api.ApproveAlways
		d.Limits = api.Limits{MaxModelCalls: api.Set(32), MaxOutputTokensPerCall: api.Set(8_192), SummaryTokens: api.Set(512)}
		d.BuiltinTools.ReadHistory = api.Set(true)
		d.UnknownOutcome = api.OutcomeAsk
		d.AutoApproverContext = api.Set("")
		d.Compaction = &api.CompactionOptions{AdditionalInstructions: api.Set("")}
		d.Guardrails, d.Hooks = []string{}, []string{}
		d.Memory, d.Planning = json.RawMessage(`false`), json.RawMessage(`null`)
	})
	want := with(func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{declared("a")} })
	before := definition.Fingerprint(explicit)
	got, err := definition.Normalize(explicit, providers)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if definition.Fingerprint(explicit) != before {
		t.Error("the argument was changed")
	}
}

// BT1: on with any tool, off for a tool-free agent, and each overridden on its own.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	tooled := func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{declared("a")} }
	both := []string{definition.AskUser, definition.ReadHistory}
	tests := []struct {
		name     string
		tools    func(*api.AgentDefinition)
		builtins api.BuiltinTools
		on       []string
		normal   api.BuiltinTools // what stays of the option
	}{
		{"a tool-free agent has none", func(*api.AgentDefinition) {}, api.BuiltinTools{}, nil, api.BuiltinTools{}},
		{"an agent with a tool has them", tooled, api.BuiltinTools{}, both, api.BuiltinTools{}},
		{"true turns one on without tools", func(*api.AgentDefinition) {}, api.BuiltinTools{AskUser: api.Set(true)}, []string{definition.AskUser}, api.BuiltinTools{AskUser: api.Set(true)}},
		{"false without tools is the default", func(*api.AgentDefinition) {}, api.BuiltinTools{AskUser: api.Set(false), ReadHistory: api.Set(false)}, nil, api.BuiltinTools{}},
		{"false turns one off with tools", tooled, api.BuiltinTools{ReadHistory: api.Set(false)}, []string{definition.AskUser}, api.BuiltinTools{ReadHistory: api.Set(false)}},
		{"true with tools is the default", tooled, api.BuiltinTools{AskUser: api.Set(true), ReadHistory: api.Set(true)}, both, api.BuiltinTools{}},
		{"each is switched on its own", tooled, api.BuiltinTools{AskUser: api.Set(false), ReadHistory: api.Set(true)}, []string{definition.ReadHistory}, api.BuiltinTools{AskUser: api.Set(false)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			def, err := definition.Normalize(with(func(d *api.AgentDefinition) { tt.tools(d); d.BuiltinTools = tt.builtins }), providers)
			if err != nil {
				t.Fatal(err)
			}
			var on []string
			for _, d := range definition.Builtins(def) {
				on = append(on, d.Name)
			}
			if diff := cmp.Diff(tt.on, on); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.normal, def.BuiltinTools); diff != "" {
				t.Errorf("in the normal form: %s", diff)
			}
		})
	}
}

func TestABuiltInIsAcceptableAsATool(t *testing.T) {
	t.Parallel()
	def, err := definition.Normalize(with(func(d *api.AgentDefinition) {
		d.BuiltinTools = api.BuiltinTools{AskUser: api.Set(true), ReadHistory: api.Set(true)}
		d.Approvals = api.Approvals{Mode: api.ApproveOnly, Tools: []string{"read_history"}}
	}), providers)
	if err != nil {
		t.Fatal(err)
	}
	for _, builtin := range definition.Builtins(def) {
		builtin.Name = "other" // its own name is taken
		if _, err := definition.Normalize(with(func(d *api.AgentDefinition) { d.Tools = []api.ToolDeclaration{builtin} }), providers); err != nil {
			t.Error(err)
		}
	}
}

func TestDiffNamesTheFields(t *testing.T) {
	t.Parallel()
	tools := func(names ...string) func(*api.AgentDefinition) {
		return func(d *api.AgentDefinition) {
			for _, n := range names {
				d.Tools = append(d.Tools, declared(n))
			}
		}
	}
	tests := []struct {
		name string
		a, b func(*api.AgentDefinition)
		want []string
	}{
		{"equal", tools("a"), tools("a"), nil},
		{"a plain field", func(d *api.AgentDefinition) { d.Instructions = "x" }, func(*api.AgentDefinition) {}, []string{"instructions"}},
		{"a nested field, absent in one", func(d *api.AgentDefinition) { d.Limits.MaxModelCalls = api.Set(3) }, func(*api.AgentDefinition) {}, []string{"limits.maxModelCalls"}},
		{"several, sorted", func(d *api.AgentDefinition) { d.UnknownOutcome = api.OutcomeTellModel },
			func(d *api.AgentDefinition) { d.DefaultModel.Name = "n"; d.Approvals.Mode = api.ApproveNever },
			[]string{"approvals.mode", "defaultModel.name", "unknownOutcome"}},
		{"a tool more", tools("a"), tools("a", "b"), []string{"tools[b]"}},
		{"a tool's order", tools("a", "b"), tools("b", "a"), []string{"tools"}},
		{"what a tool says", tools("a"), func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{{Name: "a", Description: "other", Effect: api.ReadOnly, InputSchema: json.RawMessage(`{"type":"object","title":"t"}`)}}
		}, []string{"tools[a].description", "tools[a].effect", "tools[a].inputSchema"}},
		{"a schema's spelling is no difference", tools("a"), func(d *api.AgentDefinition) {
			d.Tools = []api.ToolDeclaration{{Name: "a", Description: "d", InputSchema: json.RawMessage(` { "type" : "object" } `)}}
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := with(tt.a), with(tt.b)
			if diff := cmp.Diff(tt.want, definition.Diff(a, b)); diff != "" {
				t.Error(diff)
			}
			if (len(tt.want) == 0) != (definition.Digest(a) == definition.Digest(b)) {
				t.Error("the digests do not say the same")
			}
		})
	}
}

// numbered are as many names.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}

var update = flag.Bool("update", false, "add digests of new definitions to testdata/digests.json")

// AG2: adding an option must never change the digest of a definition that does not use it. A failure here
// means that stored agents would turn into conflicts: give the new option a default that is omitted. Entries
// are added with -update, which refuses to change one that stands.
func TestDigestsNeverChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "digests.json")
	data, err := os.ReadFile("testdata/definitions.json")
	if err != nil {
		t.Fatal(err)
	}
	var definitions map[string]json.RawMessage
	if err := json.Unmarshal(data, &definitions); err != nil {
		t.Fatal(err)
	}
	golden := map[string]string{}
	if data, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(data, &golden); err != nil {
			t.Fatal(err)
		}
	}
	if len(definitions) < 12 {
		t.Errorf("only %d definitions", len(definitions))
	}
	for name, raw := range definitions {
		var digest string
		if strings.HasPrefix(name, "session ") {
			opts, err := definition.NormalizeSession(strict[api.SessionOptions](t, raw), providers)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			digest = definition.Fingerprint(opts)
		} else {
			def, err := definition.Normalize(strict[api.AgentDefinition](t, raw), providers)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			digest = definition.Digest(def)
		}
		switch was, ok := golden[name]; {
		case ok && was != digest:
			t.Errorf("%s: the digest was %s and is now %s", name, was, digest)
		case !ok && *update:
			golden[name] = digest
		case !ok:
			t.Errorf("%s: no golden digest; run with -update", name)
		}
	}
	for name := range golden {
		if _, ok := definitions[name]; !ok {
			t.Errorf("%s: a golden digest without its definition", name)
		}
	}
	if *update && !t.Failed() {
		data, _ := json.MarshalIndent(golden, "", "  ")
		if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func strict[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}
