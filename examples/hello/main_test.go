package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// The README promises this output.
func TestTheProgramOfTheReadmeRuns(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Chdir(dir)
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	out, err := os.Create("out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	os.Stdout = out
	main()
	main() // the next day: the agent is registered already, and a new session begins
	got, err := os.ReadFile("out")
	if err != nil {
		t.Fatal(err)
	}
	once := `completed parcels__find returned “parcel 42 is in Oslo”\nkeep this to find the session again: \{"store":"[^"]+","session":"s[a-z0-9]{20}","agent":"support"\}\n`
	if !regexp.MustCompile("^" + once + once + "$").Match(got) {
		t.Errorf("it printed:\n%s", got)
	}
}
