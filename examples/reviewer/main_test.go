package main

import (
	"regexp"
	"testing"

	"github.com/openworkerai/openworker/examples/internal/output"
)

// docs/guides/approvals.md promises this output.
func TestTheProgramRuns(t *testing.T) {
	got := output.Of(t, "", main)
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
		if !regexp.MustCompile("(?m)" + want).MatchString(got) {
			t.Errorf("no line is %s in\n%s", want, got)
		}
	}
}
