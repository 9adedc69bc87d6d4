package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// docs/guides/guardrails.md promises this output.
func TestTheProgramRuns(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Chdir(dir)
	stdin, stdout := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()
	if err := os.WriteFile("in", []byte(""), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open("in")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create("out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	os.Stdin, os.Stdout = in, out
	main()
	got, err := os.ReadFile("out")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`^guardrail_blocked: .*pins.*the master PIN is nobody.s business$`,
		`^user: My card has PIN \[redacted\].$`,
		`^user: Write to \[redacted: email\].$`,
	} {
		if !regexp.MustCompile("(?m)" + want).Match(got) {
			t.Errorf("no line is %s in\n%s", want, got)
		}
	}
}
