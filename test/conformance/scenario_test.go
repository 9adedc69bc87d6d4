package conformance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/openworkerai/openworker/api"
)

// directory is where the scenarios are.
const directory = "../../spec/conformance"

// scenario is one case: an application, a model and steps. See spec/conformance/README.md.
type scenario struct {
	Name        string            `json:"name"`
	Tools       map[string]tool   `json:"tools,omitempty"` // by catalogue name
	Guardrails  []guardrail       `json:"guardrails,omitempty"`
	Hooks       []hook            `json:"hooks,omitempty"`
	ActionCheck []textRule        `json:"actionCheck,omitempty"`
	Agents      []definition      `json:"agents,omitempty"`
	Model       json.RawMessage   `json:"model,omitempty"` // a script of test/modelserver
	Providers   []provider        `json:"providers,omitempty"`
	Credentials map[string]string `json:"credentials,omitempty"` // secrets by provider
	Steps       []step            `json:"steps"`
}

// step is one act. It fails unless what comes out is expected.
type step struct {
	Do string `json:"do"`
	// With are its arguments, As a name for its result.
	With map[string]any `json:"with,omitempty"`
	As   string         `json:"as,omitempty"`
	// Times repeats it, with $index from 0. Background lets the next step begin beside it, until a join.
	Times      int  `json:"times,omitempty"`
	Background bool `json:"background,omitempty"`
	// Expect is a part of the result, Error the code that it fails with, or a part of the error.
	Expect any `json:"expect,omitempty"`
	Error  any `json:"error,omitempty"`
}

// tool is a tool by its behaviour.
type tool struct {
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"` // absent: any object
	Effect      api.Effect      `json:"effect,omitempty"`
	TimeoutMs   int64           `json:"timeoutMs,omitempty"`
	Does        does            `json:"does,omitzero"`
	Inspect     *inspection     `json:"inspect,omitempty"` // absent: it cannot be inspected
}

// does is what a body does: it waits for a gate, if one is named, and then fails, or returns.
type does struct {
	Waits   string `json:"waits,omitempty"`
	Fails   string `json:"fails,omitempty"`
	Echoes  bool   `json:"echoes,omitempty"` // returns its arguments
	Returns any    `json:"returns,omitempty"`
}

type inspection struct {
	Outcome string `json:"outcome"`
	Output  string `json:"output,omitempty"`
}

// guardrail allows what no rule is about.
type guardrail struct {
	Name      string     `json:"name"`
	Points    []string   `json:"points"`
	TimeoutMs int64      `json:"timeoutMs,omitempty"`
	Rules     []textRule `json:"rules"`
}

type hook struct {
	Name        string     `json:"name"`
	TimeoutMs   int64      `json:"timeoutMs,omitempty"`
	BeforeModel []textRule `json:"beforeModel,omitempty"`
	ToolResult  []textRule `json:"toolResult,omitempty"`
}

// textRule is about texts that have Contains in them. Exactly one of the others says what happens: Redact puts a text for each
// occurrence (and for all of a hook's result), Block refuses with a reason (a hook: vetoes), Fails is an error, Waits waits for
// a gate and lets it pass then.
type textRule struct {
	Contains string  `json:"contains"`
	Redact   *string `json:"redact,omitempty"`
	Block    string  `json:"block,omitempty"`
	Fails    string  `json:"fails,omitempty"`
	Waits    string  `json:"waits,omitempty"`
}

// definition is an agent's, with its tools by name. Without a model it has the standard one.
type definition struct {
	api.AgentDefinition
	Tools []string `json:"tools,omitempty"`
}

// provider is a speaker to models. Without an address it is at the scenario's model, without a protocol it speaks Chat
// Completions.
type provider struct {
	Name        string `json:"name"`
	Protocol    string `json:"protocol,omitempty"`
	BaseURL     string `json:"baseURL,omitempty"`
	KeyOptional bool   `json:"keyOptional,omitempty"`
}

// standard is the model that agents have unless they name one.
var standard = api.ModelRef{Provider: "Model", Name: "m"}

// topic is a file of scenarios.
type topic struct {
	Scenarios []scenario `json:"scenarios"`
}

// strictly decodes one JSON value, in which unknown fields are refused.
func strictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its JSON")
	}
	return nil
}

// load reads all scenarios, by topic.
func load(t *testing.T) map[string][]scenario {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "scenarios", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	all, names := map[string][]scenario{}, map[string]bool{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var file topic
		if err := strictly(data, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, s := range file.Scenarios {
			if err := s.check(); err != nil {
				t.Errorf("%s: %q: %v", path, s.Name, err)
			}
			if names[s.Name] {
				t.Errorf("%s: %q is there twice", path, s.Name)
			}
			names[s.Name] = true
		}
		all[filepath.Base(path)] = file.Scenarios
	}
	return all
}

// check finds what cannot be meant.
func (s scenario) check() error {
	if s.Name == "" || len(s.Steps) == 0 {
		return errors.New("a scenario needs a name and steps")
	}
	rules := append([]textRule(nil), s.ActionCheck...)
	for _, g := range s.Guardrails {
		rules = append(rules, g.Rules...)
	}
	for _, h := range s.Hooks {
		rules = append(append(rules, h.BeforeModel...), h.ToolResult...)
	}
	for _, r := range rules {
		given := 0
		for _, is := range []bool{r.Redact != nil, r.Block != "", r.Fails != "", r.Waits != ""} {
			if is {
				given++
			}
		}
		if given != 1 {
			return fmt.Errorf("the rule about %q has %d verdicts; give one", r.Contains, given)
		}
	}
	for i, st := range s.Steps {
		if st.Error != nil && (st.Expect != nil || st.As != "") {
			return fmt.Errorf("step %d has an error and a result", i+1)
		}
		if st.Background && st.As == "" {
			return fmt.Errorf("step %d goes on in the background and has no name to join it by", i+1)
		}
	}
	return nil
}
