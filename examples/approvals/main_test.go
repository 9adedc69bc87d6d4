package main

import (
	"regexp"
	"testing"

	"github.com/openworkerai/openworker/examples/internal/output"
)

// docs/guides/approvals.md promises this output.
func TestTheProgramRuns(t *testing.T) {
	got := output.Of(t, "{\"number\":42,\"city\":\"Bergen\"}\nFriday\n", main)
	for _, want := range []string{
		`^completed parcels__redirect returned “\[A person changed the arguments of this call to: \{"city":"Bergen","number":42\}\]$`,
		`^parcel 42 goes to Bergen”$`,
		`^completed ask_user returned “\{"answers":\["Friday"\]\}”$`,
	} {
		if !regexp.MustCompile("(?m)" + want).MatchString(got) {
			t.Errorf("no line is %s in\n%s", want, got)
		}
	}
}
