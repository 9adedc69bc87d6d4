package main

import (
	"regexp"
	"testing"

	"github.com/openworkerai/openworker/examples/internal/output"
)

// The README promises this output.
func TestTheProgramOfTheReadmeRuns(t *testing.T) {
	got := output.Of(t, "", main, main) // the next day: the agent is registered already, and a new session begins
	once := `completed parcels__find returned “parcel 42 is in Oslo”\nkeep this to find the session again: \{"store":"[^"]+","session":"s[a-z0-9]{20}","agent":"support"\}\n`
	if !regexp.MustCompile("^" + once + once + "$").MatchString(got) {
		t.Errorf("it printed:\n%s", got)
	}
}
