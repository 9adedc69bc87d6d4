package conformance_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/openworkerai/openworker/api"
)

// FA8: a code that no scenario meets is one that nobody has seen at all faces. Why it cannot be met stands in codes.json.
func TestEachCodeIsMetByAScenarioOrHasAReason(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(directory, "codes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		NotReachable map[api.Code]string `json:"notReachable"`
	}
	if err := strictly(data, &list); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(directory, "scenarios", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	met := map[api.Code]bool{}
	expected := regexp.MustCompile(`"(?:code|error)": "([a-z_]+)"`)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range expected.FindAllSubmatch(data, -1) {
			met[api.Code(found[1])] = true
		}
	}
	known := map[api.Code]bool{}
	for _, c := range api.Codes() {
		known[c.Code] = true
		reason, stands := list.NotReachable[c.Code]
		switch {
		case met[c.Code] && stands:
			t.Errorf("%s is met by a scenario; take it out of codes.json", c.Code)
		case !met[c.Code] && !stands:
			t.Errorf("%s is met by no scenario; write one, or say in codes.json why there can be none", c.Code)
		case stands && len(reason) < 20:
			t.Errorf("%s: %q is no reason", c.Code, reason)
		}
	}
	for code := range list.NotReachable {
		if !known[code] {
			t.Errorf("codes.json has %q, which is no code", code)
		}
	}
}
