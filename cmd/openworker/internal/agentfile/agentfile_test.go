package agentfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/agentfile"
	"github.com/openworkerai/openworker/cmd/openworker/internal/document"
	"github.com/openworkerai/openworker/internal/definition"
)

func host() agentfile.Host {
	schema := json.RawMessage(`{"type":"object"}`)
	return agentfile.Host{
		Providers: []string{"OpenAI", "Anthropic", "Google", "Local"},
		Tools: []api.ToolDeclaration{
			{Name: "current_time", InputSchema: schema, Effect: api.ReadOnly},
			{Name: "app.send", InputSchema: schema},
		},
		Guardrails: []string{"sensitive", "tone"},
	}
}

func set[T any](v T) *T { return &v }

func TestAnAgentFileIsAnAgent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       api.AgentDefinition
	}{
		{"the least", "defaultModel: openai/gpt-5-mini\n", api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "gpt-5-mini"},
		}},
		{"a model with slashes in its name", "defaultModel: local/openai/gpt-oss-20b\n", api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "Local", Name: "openai/gpt-oss-20b"},
		}},
		{"every field that this host has", `# An agent.
name: billing-1
instructions: |
  Be brief.
  Ask before you send.
tools: [current_time, app.send]
approvals:
  mode: only
  tools: [app.send]
defaultModel: {provider: anthropic, name: claude-sonnet-5}
limits:
  maxModelCalls: 8
  maxOutputTokens: 20_000
  maxOutputTokensPerCall: 4096
  summaryTokens: 1000
builtinTools:
  askUser: false
  readHistory: false
unknownOutcome: tell_model
autoSkipQuestions: true
autoApproverContext: careful
compaction:
  additionalInstructions: keep the numbers
guardrails: [tone, sensitive]
`, api.AgentDefinition{
			Name: "billing-1", Instructions: "Be brief.\nAsk before you send.\n",
			Tools:        host().Tools,
			Approvals:    api.Approvals{Mode: api.ApproveOnly, Tools: []string{"app.send"}},
			DefaultModel: api.ModelRef{Provider: "Anthropic", Name: "claude-sonnet-5"},
			Limits: api.Limits{MaxModelCalls: set(8), MaxOutputTokens: set(20_000), MaxOutputTokensPerCall: set(4096),
				SummaryTokens: set(1000)},
			BuiltinTools:        api.BuiltinTools{AskUser: set(false), ReadHistory: set(false)},
			UnknownOutcome:      api.OutcomeTellModel,
			AutoSkipQuestions:   true,
			AutoApproverContext: set("careful"),
			Compaction:          &api.CompactionOptions{AdditionalInstructions: set("keep the numbers")},
			Guardrails:          []string{"tone", "sensitive"},
		}},
		{"a reviewer", "defaultModel: OpenAI/m\napprovals: {mode: auto, reviewerModel: anthropic/claude-haiku-5}\nbuiltinTools: {askUser: true}\n", api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}, BuiltinTools: api.BuiltinTools{AskUser: set(true)},
			Approvals: api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "Anthropic", Name: "claude-haiku-5"}},
		}},
		{"fields that hold nothing are left out", "defaultModel: OpenAI/m\ntools:\nlimits:\napprovals: {mode: ~}\nmemory: null\nhooks: []\n", api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"},
		}},
		{"an anchor and its alias", "defaultModel: &m OpenAI/m\nautoApproverContext: *m\n", api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}, AutoApproverContext: set("OpenAI/m"),
		}},
		{"a merge", "defaultModel: OpenAI/m\ntools: [current_time]\nbuiltinTools:\n  <<: [{readHistory: false}, {readHistory: true}]\n", api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}, Tools: host().Tools[:1],
			BuiltinTools: api.BuiltinTools{ReadHistory: set(false)},
		}},
		{"JSON, which is YAML", `{"defaultModel": {"provider": "OpenAI", "name": "m"}, "limits": {"maxModelCalls": 2}}`, api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}, Limits: api.Limits{MaxModelCalls: set(2)},
		}},
		{"Windows line ends and a byte order mark", "\ufeffdefaultModel: OpenAI/m\r\ninstructions: hi\r\n", api.AgentDefinition{
			Name: "reviewer", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}, Instructions: "hi",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := agentfile.Parse("agents/reviewer.yaml", []byte(tt.text), host())
			if err != nil {
				t.Fatal(err)
			}
			if tt.want.Name == "reviewer" { // which the text does not name
				tt.want.Name = "reviewer-" + digest(tt.text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

func TestEachFaultIsToldWhereItStands(t *testing.T) {
	t.Parallel()
	const good = "defaultModel: OpenAI/m\n"
	tests := []struct {
		name, text string
		code       api.Code
		want       []string // each fault as LINE:COLUMN: beginning
	}{
		{"nothing", "", api.CodeInvalidAgent, []string{"1:1: defaultModel is missing"}},
		{"only a comment", "# hello\n", api.CodeInvalidAgent, []string{"1:1: defaultModel is missing"}},
		{"no map", "- a\n", api.CodeInvalidRequest, []string{"1:1: must be a map of fields and is a list; the fields are approvals, autoApproverContext, autoSkipQuestions, builtinTools, compaction, defaultModel, guardrails, hooks, instructions, limits, name, tools, unknownOutcome"}},
		{"no YAML", good + "instructions: [1,\n", api.CodeInvalidRequest, []string{"2:15: "}},
		{"an unknown field", good + "instruction: hi\n", api.CodeInvalidRequest, []string{`2:1: there is no field "instruction"; did you mean "instructions"?`}},
		{"a field of nothing like it", good + "xyz: 1\n", api.CodeInvalidRequest, []string{`2:1: there is no field "xyz"; there are approvals, autoApproverContext, autoSkipQuestions, builtinTools, compaction, defaultModel, guardrails, hooks, instructions, limits, name, tools, unknownOutcome`}},
		{"a field in another case", good + "Limits: {}\n", api.CodeInvalidRequest, []string{`2:1: there is no field "Limits"; did you mean "limits"?`}},
		{"an unknown field inside", good + "limits:\n  maxCalls: 3\n", api.CodeInvalidRequest, []string{`3:3: limits.maxCalls: there is no field "maxCalls"; `}},
		{"a wrong type", good + "limits:\n  maxModelCalls: many\n", api.CodeInvalidRequest, []string{"3:18: limits.maxModelCalls: must be a whole number and is text"}},
		{"a number with a point", good + "limits: {maxModelCalls: 1.5}\n", api.CodeInvalidRequest, []string{"2:25: limits.maxModelCalls: must be a whole number and is 1.5"}},
		{"a number that is no number", good + "limits: {maxModelCalls: .inf}\n", api.CodeInvalidRequest, []string{"2:25: limits.maxModelCalls: must be a whole number and is .inf"}},
		{"text that looks like a number", "name: 12\n" + good, api.CodeInvalidRequest, []string{`1:7: name: must be text and is a number; write "12"`}},
		{"no text but a list", good + "instructions: [a]\n", api.CodeInvalidRequest, []string{"2:15: instructions: must be text and is a list"}},
		{"yes is text", good + "autoSkipQuestions: yes\n", api.CodeInvalidRequest, []string{"2:20: autoSkipQuestions: must be true or false and is text"}},
		{"bounds", good + "limits:\n  maxModelCalls: 0\n  summaryTokens: -1\n", api.CodeInvalidLimits, []string{
			"3:18: limits.maxModelCalls is 0; it must be from 1", "4:18: limits.summaryTokens is -1",
		}},
		{"limits that contradict each other", good + "limits:\n  maxOutputTokens: 1000\n  summaryTokens: 2000\n", api.CodeInvalidLimits, []string{
			"4:18: limits.summaryTokens is 2000 and limits.maxOutputTokens 1000",
		}},
		{"a name that is none", "name: my agent\n" + good, api.CodeInvalidAgent, []string{`1:7: name "my agent" holds ' ' at byte 2`}},
		{"no provider's name", "defaultModel: gpt-5\n", api.CodeInvalidAgent, []string{`1:15: defaultModel: is "gpt-5"; write Provider/name`}},
		{"an unknown provider", "defaultModel: Nobody/x\n", api.CodeUnknownProvider, []string{`1:15: defaultModel.provider "Nobody" is not known: configured are Anthropic, Google, Local, OpenAI`}},
		{"a model that is half", "defaultModel:\n  provider: OpenAI\n", api.CodeInvalidRequest, []string{"2:3: defaultModel needs a provider and a name"}},
		{"a tool that the program has not", good + "tools:\n- current_tim\n- fly\n", api.CodeInvalidAgent, []string{
			`3:3: tools[0]: there is no tool "current_tim"; did you mean "current_time"?`, `4:3: tools[1]: there is no tool "fly"; there are current_time, app.send`,
		}},
		{"a tool twice", good + "tools: [app.send, app.send]\n", api.CodeInvalidAgent, []string{`2:19: tools[1]: the tool "app.send" is selected twice`}},
		{"an approval of no such tool", good + "tools: [app.send]\napprovals:\n  mode: only\n  tools: [app.send, app.sent]\n", api.CodeInvalidAgent, []string{
			`5:21: approvals.tools[1]: approvals.tools names "app.sent"`,
		}},
		{"an approval mode that is none", good + "approvals: {mode: maybe}\n", api.CodeInvalidAgent, []string{`2:19: approvals.mode: is "maybe"; write always, only, auto or never`}},
		{"an approval mode that is none, with tools", good + "approvals: {mode: maybe, tools: [a]}\n", api.CodeInvalidAgent, []string{`2:19: approvals.mode: is "maybe"; write always, only, auto or never`}},
		{"a number with a zero before it", good + "limits: {maxModelCalls: 010}\n", api.CodeInvalidRequest, []string{`2:25: limits.maxModelCalls: is 010; leave out the zero`}},
		{"approvals as text", good + "approvals: never\n", api.CodeInvalidRequest, []string{"2:12: approvals: must be a map of fields and is text; write {mode: never}"}},
		{"approvals as a text that is no mode", good + "approvals: ask\n", api.CodeInvalidRequest, []string{"2:12: approvals: must be a map of fields and is text; the fields are mode, reviewerModel, tools"}},
		{"a field that is nearly one of another host", good + "memry: {}\n", api.CodeInvalidRequest, []string{`2:1: there is no field "memry"; there are approvals, `}},
		{"an option of another host", good + "memory:\n  enabled: true\nsandbox: {}\n", api.CodeUnsupportedOption, []string{
			"3:3: this host does not support the option memory: ", "4:10: this host does not support the option sandbox: ",
		}},
		{"a guardrail that the program has not", good + "guardrails: [sensitve, pii]\n", api.CodeInvalidAgent, []string{
			`2:14: guardrails[0]: there is no guardrail "sensitve"; did you mean "sensitive"?`, `2:24: guardrails[1]: there is no guardrail "pii"; there are sensitive, tone`,
		}},
		{"a guardrail twice", good + "guardrails: [tone, tone]\n", api.CodeInvalidAgent, []string{`2:20: guardrails[1]: the guardrail "tone" is selected twice`}},
		{"a hook where the program has none", good + "hooks: [audit]\n", api.CodeInvalidAgent, []string{`2:9: hooks[0]: there is no hook "audit"; this program has none`}},
		{"a mode without its reviewer", good + "approvals: {mode: auto}\n", api.CodeInvalidAgent, []string{"2:12: approvals.reviewerModel is missing"}},
		{"a reviewer of an unknown provider", good + "approvals: {mode: auto, reviewerModel: Nobody/m}\n", api.CodeUnknownProvider, []string{`2:40: approvals.reviewerModel.provider "Nobody" is not known: configured are Anthropic, Google, Local, OpenAI`}},
		{"an outcome that is none", good + "unknownOutcome: shrug\n", api.CodeInvalidAgent, []string{`2:17: unknownOutcome "shrug" is not one of`}},
		{"too much guidance", good + "autoApproverContext: " + strings.Repeat("x", api.MaxGuidanceBytes+1) + "\n", api.CodeInvalidGuidance, []string{"2:22: autoApproverContext is 32001 bytes long"}},
		{"too many instructions", good + "instructions: " + strings.Repeat("x", api.MaxInstructionsBytes+1) + "\n", api.CodeInvalidAgent, []string{"2:15: instructions is "}},
		{"a key twice", good + "name: a\nname: b\n", api.CodeInvalidRequest, []string{`3:1: mapping key "name" already defined at [2:1]`}},
		{"a second document", good + "---\nname: b\n", api.CodeInvalidRequest, []string{"3:1: a second document begins here"}},
		{"an alias of nothing", good + "name: *who\n", api.CodeInvalidRequest, []string{"2:7: the alias *who names no value that stands before it"}},
		{"an alias of itself", good + "team: &a [*a]\n", api.CodeInvalidRequest, []string{"2:11: the alias *a names no value that stands before it"}},
		{"a tag", good + "name: !!int a\n", api.CodeInvalidRequest, []string{"2:7: the tag !!int is not read"}},
		{"a NUL", good + "name: a\x00b\n", api.CodeInvalidRequest, []string{"2:8: the file is not UTF-8 text"}},
		{"a NUL by another way", good + "instructions: \"a\\x00b\"\n", api.CodeInvalidAgent, []string{"2:15: instructions holds a NUL at byte 1"}},
		{"no UTF-8", good + "name: a\xff\n", api.CodeInvalidRequest, []string{"2:8: the file is not UTF-8 text"}},
		{"too deep", good + "team: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n", api.CodeInvalidRequest, []string{"2:71: values are nested more than 64 deep"}},
		{"too long", good + strings.Repeat("# x\n", 300_000), api.CodeInvalidRequest, []string{"1:1: the file is longer than 1048576 bytes"}},
		{"several at once", "name: a b\ntool: []\nlimits: {maxModelCalls: 0}\n", api.CodeInvalidAgent, []string{
			`1:1: defaultModel is missing`, `1:7: name "a b"`, `2:1: there is no field "tool"; did you mean "tools"?`, "3:25: limits.maxModelCalls is 0",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			def, err := agentfile.Parse("a.yaml", []byte(tt.text), host())
			if err == nil {
				t.Fatalf("it is taken: %+v", def)
			}
			got := strings.Split(api.AsError(err).Message, "\n")
			if api.CodeOf(err) != tt.code || len(got) != len(tt.want) {
				t.Fatalf("code %s, want %s; faults:\n%s", api.CodeOf(err), tt.code, strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], "a.yaml:"+want) {
					t.Errorf("got  %s\nwant a.yaml:%s…", got[i], want)
				}
			}
			if faults := agentfile.Faults(err); faults == nil || len(faults.List) != len(tt.want) {
				t.Errorf("as values: %+v", faults)
			}
		})
	}
}

func TestAFileThatMultipliesItselfIsRefusedSoon(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("defaultModel: OpenAI/m\nteam:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "- &a%d [%s]\n", i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	var merges strings.Builder
	merges.WriteString("defaultModel: OpenAI/m\nteam:\n- &m0 {a0: 1}\n")
	for i := range 30 {
		fmt.Fprintf(&merges, "- &m%d {<<: [*m%d, *m%d], a%d: 1}\n", i+1, i, i, i+1)
	}
	tests := map[string]string{
		"aliases": bomb.String(),
		"merges":  merges.String(),
		"many keys": func() string {
			var b strings.Builder
			for i := range 100_000 {
				fmt.Fprintf(&b, "k%d: 1\n", i)
			}
			return b.String()
		}(),
		"open brackets": strings.Repeat("[", 500_000),
		"dashes":        strings.Repeat("- ", 400_000) + "x",
		"open braces":   strings.Repeat("{a: ", 200_000),
		"anchors":       strings.Repeat("&a ", 300_000) + "x",
		"questions":     strings.Repeat("? ", 400_000) + "x",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			if _, err := agentfile.Parse("a.yaml", []byte(text), host()); err == nil {
				t.Error("it is taken")
			} else if len(err.Error()) > 5000 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestAWrittenAgentIsReadBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([ -~]|\n|\t| |#|:|-|'|"|\\)*`), rapid.SampledFrom([]string{
			"", " ", "\n", "a\n\n\n", "  indented\nnot", "a\r\nb", "null", "12", "true", "~", "- a\n- b\n", "a: b", "# no comment", "\ttab\n", "|", "&a *a", "---\n", "a\u2028b\n",
		})).Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
		h := host()
		def := api.AgentDefinition{
			Name: rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,20}`).Draw(t, "name"), Instructions: text.Draw(t, "instructions"),
			DefaultModel: api.ModelRef{Provider: "Local", Name: rapid.StringMatching(`[a-z0-9/:. @#'"-]{1,20}`).Draw(t, "model")},
		}
		if rapid.Bool().Draw(t, "with tools") {
			def.Tools = h.Tools
			def.Approvals = rapid.SampledFrom([]api.Approvals{{}, {Mode: api.ApproveNever}, {Mode: api.ApproveOnly, Tools: []string{"app.send"}}}).Draw(t, "approvals")
			def.BuiltinTools.ReadHistory = rapid.SampledFrom([]*bool{nil, set(false)}).Draw(t, "readHistory")
		}
		if rapid.Bool().Draw(t, "with checks") {
			def.Guardrails = []string{"tone", "sensitive"}
			def.Approvals = api.Approvals{Mode: api.ApproveAuto, ReviewerModel: &api.ModelRef{Provider: "Local", Name: "reviewer"}}
		}
		if rapid.Bool().Draw(t, "with limits") {
			def.Limits = api.Limits{MaxModelCalls: set(rapid.IntRange(1, 1<<31-1).Draw(t, "calls")), SummaryTokens: set(7)}
		}
		if rapid.Bool().Draw(t, "with guidance") {
			def.Compaction = &api.CompactionOptions{AdditionalInstructions: set(text.Draw(t, "compaction"))}
			def.AutoApproverContext = set(text.Draw(t, "context"))
			def.UnknownOutcome, def.AutoSkipQuestions = api.OutcomeTellModel, true
		}
		want, err := definition.Normalize(def, h.Providers)
		if err != nil {
			t.Fatal(err)
		}
		data := agentfile.Write(want)
		got, err := agentfile.Parse("other.yaml", data, h)
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", diff, data)
		}
	})
}

func TestAFileThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := filepath.Join(dir, "long.yaml")
	if err := os.WriteFile(long, []byte(strings.Repeat("#", document.MaxBytes+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "none.yaml: no such file", dir: "is not a regular file", long: "is longer than 1048576 bytes",
	} {
		if _, err := agentfile.Read(path, host()); api.CodeOf(err) != api.CodeInvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := agentfile.Read(filepath.Join(dir, "none.yaml"), host()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cause is %v", errors.Unwrap(err))
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "defaultModel: OpenAI/m\n", "a: &x [*x]\n", "? a\n: b\n", "<<: {a: 1}\n", "a: |\n  b\n", "a: >-\n b\n", "%YAML 1.2\n---\na: 1\n", "- - -\n", "{a: [", "!!str a", "a: 'b", "\"\\u12", "*a", "&a", "a:\n\t- b", "--- a\n...\n",
	} {
		f.Add(seed)
	}
	h := host()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		def, err := agentfile.Parse("a.yaml", []byte(text), h)
		if err != nil {
			if faults := agentfile.Faults(err); faults == nil || len(faults.List) == 0 || faults.List[0].Line < 1 {
				t.Fatalf("no place is told: %v", err)
			}
			return
		}
		if again, err := agentfile.Parse("a.yaml", agentfile.Write(def), h); err != nil || !cmp.Equal(def, again) {
			t.Fatalf("%v: %s", err, cmp.Diff(def, again))
		}
	})
}

// The page shows files as they are.
func TestTheFileInTheGuideIsAnAgent(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "guides", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, ok := strings.Cut(rest, "```")
	h := host()
	h.Tools = append(h.Tools, api.ToolDeclaration{Name: "calculate", InputSchema: json.RawMessage(`{"type":"object"}`)})
	def, err := agentfile.Parse("reviewer.yaml", []byte(text), h)
	if !ok || err != nil || def.Name != "reviewer-"+digest(text) || def.Approvals.Mode != api.ApproveOnly {
		t.Errorf("%+v, %v", def, err)
	}
}
