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
	if err := os.WriteFile("in", []byte("{\"number\":42,\"city\":\"Bergen\"}\nFriday\n"), 0o600); err != nil {
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
		`^completed parcels__redirect returned “\[A person changed the arguments of this call to: \{"city":"Bergen","number":42\}\]$`,
		`^parcel 42 goes to Bergen”$`,
		`^completed ask_user returned “\{"answers":\["Friday"\]\}”$`,
	} {
		if !regexp.MustCompile("(?m)" + want).Match(got) {
			t.Errorf("no line is %s in\n%s", want, got)
		}
	}
}
