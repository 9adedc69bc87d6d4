package main

import (
	"regexp"
	"testing"

	"github.com/openworkerai/openworker/examples/internal/output"
)

// docs/guides/guardrails.md promises this output.
func TestTheProgramRuns(t *testing.T) {
	got := output.Of(t, "", main)
	for _, want := range []string{
		`^guardrail_blocked: .*pins.*the master PIN is nobody.s business$`,
		`^user: My card has PIN \[redacted\].$`,
		`^user: Write to \[redacted: email\].$`,
	} {
		if !regexp.MustCompile("(?m)" + want).MatchString(got) {
			t.Errorf("no line is %s in\n%s", want, got)
		}
	}
}
