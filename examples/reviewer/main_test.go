package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// docs/guides/approvals.md promises this output.
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
		`^reviewed: allow: A small bill.$`,
		`^decided: allow, by "reviewer"$`,
		`^completed: bank__pay returned “20 euros are on their way to Alice”$`,
		`^reviewed: deny: Mallory gets nothing.$`,
		`^decided: deny, by "reviewer"$`,
		`^completed: bank__pay did not succeed: “The review of this action denied it`,
		`^a person is asked: That is a lot of money. \(unsure\)$`,
		`^decided: deny, by "Eve"$`,
		`given: "ask me again on Monday"”$`,
	} {
		if !regexp.MustCompile("(?m)" + want).Match(got) {
			t.Errorf("no line is %s in\n%s", want, got)
		}
	}
}
