package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)\n```go\n(.*?)\n```")

// The Go code in the written pages stands, line by line, in a file that is compiled: in an Example, mostly.
func TestTheCodeInPagesIsCompiled(t *testing.T) {
	t.Parallel()
	var compiled []string
	err := walk(func(path string) error {
		if strings.HasSuffix(path, ".go") && !strings.HasPrefix(path, "internal/archtest/") {
			data, err := os.ReadFile(filepath.Join(root, path))
			compiled = append(compiled, flatten(string(data)))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	err = walk(func(path string) error {
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		for _, block := range goBlock.FindAllStringSubmatch(string(data), -1) {
			blocks++
			if !containsBlock(compiled, flatten(block[1])) {
				t.Errorf("%s shows code that is in no compiled file:\n%s", path, block[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if blocks == 0 {
		t.Error("no page shows any code")
	}
}

// flatten removes what differs between a page and a function's body: indentation and empty lines.
func flatten(code string) string {
	var lines []string
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

func containsBlock(files []string, block string) bool {
	for _, f := range files {
		if strings.Contains(f, block) {
			return true
		}
	}
	return false
}

var (
	link      = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	codeBlock = regexp.MustCompile("(?s)\n```.*?\n```")
)

func TestTheLinksInPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	err := walk(func(path string) error {
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		data, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		for _, found := range link.FindAllSubmatch(codeBlock.ReplaceAll(data, nil), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(path), string(found[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", path, found[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var heading = regexp.MustCompile(`(?m)^\| ([A-Z]{2}\d+) \|`)

// Each requirement number that the code and its tests name is one that docs/requirements.md explains.
func TestTheRequirementsThatCodeNamesAreWrittenDown(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, "docs/requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(data), -1) {
		if known[m[1]] {
			t.Errorf("docs/requirements.md has %s twice", m[1])
		}
		known[m[1]] = true
	}
	if len(known) < 90 {
		t.Errorf("docs/requirements.md has only %d requirements", len(known))
	}
	named := regexp.MustCompile(`\b(?:AG|SE|RU|RE|LI|GU|AP|GR|CO|IM|AT|BT|DE|FA|CL|ST|OB)\d+\b`)
	for _, f := range allGoFiles(t) {
		for _, group := range f.ast.Comments {
			for _, number := range named.FindAllString(group.Text(), -1) {
				if !known[number] {
					t.Errorf("%s names %s, which docs/requirements.md does not have", f.path, number)
				}
			}
		}
	}
}
