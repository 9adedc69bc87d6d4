package tool

import (
	"strings"

	"github.com/openworkerai/openworker/api"
)

// ModelName is the name under which the model knows a catalogue name: "app.lookup" is "app__lookup" (AG5).
// A name that no provider would accept (anything but 1–64 of A–Z a–z 0–9 _ - once mapped) is invalid_tool.
func ModelName(name string) (string, error) {
	mapped := strings.ReplaceAll(name, ".", "__")
	if mapped == "" {
		return "", api.Errorf(api.CodeInvalidTool, "a tool needs a name, for example %q", "app.lookup")
	}
	if len(mapped) > api.MaxModelToolName {
		return "", api.Errorf(api.CodeInvalidTool,
			"tool name %q is %d bytes long as the model sees it (%q); providers accept at most %d",
			bound(name, 200), len(mapped), bound(mapped, 200), api.MaxModelToolName)
	}
	for _, r := range mapped {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		default:
			return "", api.Errorf(api.CodeInvalidTool,
				"tool name %q holds %q; use A–Z a–z 0–9 _ - and the dot", name, r)
		}
	}
	return mapped, nil
}

// bound cuts s to at most n bytes, at a character, and marks the cut.
func bound(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = " …"
	return strings.ToValidUTF8(s[:max(0, n-len(mark))], "") + mark
}
