package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
)

// CheckGuardrails checks guardrails that are to be registered together: names of the form that agents' have (AG3), each
// once; at least one point, all known, each once; a Check; a Timeout that is not negative. The error has code
// invalid_request and names the first that breaks a rule.
func CheckGuardrails(guards []guard.Guardrail) error {
	names := make(map[string]int, len(guards))
	for i, g := range guards {
		if err := checkEntry("guardrails", i, g.Name, g.Timeout, names); err != nil {
			return err
		}
		if len(g.Points) == 0 {
			return wrongEntry("guardrails", i, "%s looks at no point; give at least one of %s", g.Name, points())
		}
		for at, point := range g.Points {
			if !slices.Contains(guard.Points(), point) {
				return wrongEntry("guardrails", i, "%s looks at %q, which is no point; those are %s", g.Name, Plain(string(point), 40), points())
			}
			if slices.Contains(g.Points[:at], point) {
				return wrongEntry("guardrails", i, "%s names the point %s twice", g.Name, point)
			}
		}
		if g.Check == nil {
			return wrongEntry("guardrails", i, "%s has no Check", g.Name)
		}
	}
	return nil
}

// CheckHooks checks hooks like [CheckGuardrails]; each has at least one of its functions.
func CheckHooks(hooks []guard.Hook) error {
	names := make(map[string]int, len(hooks))
	for i, h := range hooks {
		if err := checkEntry("hooks", i, h.Name, h.Timeout, names); err != nil {
			return err
		}
		if h.BeforeModel == nil && h.ToolResult == nil {
			return wrongEntry("hooks", i, "%s has neither BeforeModel nor ToolResult", h.Name)
		}
	}
	return nil
}

func checkEntry(list string, i int, name string, timeout time.Duration, names map[string]int) error {
	if name == "" {
		return wrongEntry(list, i, "the name is missing")
	}
	if len(name) > api.MaxNameBytes {
		return wrongEntry(list, i, "the name %q is %d bytes long; at most %d are allowed", Plain(name, 40), len(name), api.MaxNameBytes)
	}
	for at, r := range name {
		alnum := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !alnum && (at == 0 || !strings.ContainsRune("._-", r)) {
			return wrongEntry(list, i, "the name %q holds %q at byte %d; a name is A–Z a–z 0–9 . _ - and starts with a letter or digit", Plain(name, 40), r, at)
		}
	}
	if first, taken := names[name]; taken {
		return wrongEntry(list, i, "the name %s is taken by %s[%d]", name, list, first)
	}
	names[name] = i
	if timeout < 0 {
		return wrongEntry(list, i, "%s has the time-out %v; it must not be negative, and 0 is %v", name, timeout, api.DefaultCheckTimeout)
	}
	return nil
}

func wrongEntry(list string, i int, format string, args ...any) error {
	return api.Errorf(api.CodeInvalidRequest, "%s[%d]: "+format, append([]any{list, i}, args...)...)
}

func points() string {
	var names []string
	for _, p := range guard.Points() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}
