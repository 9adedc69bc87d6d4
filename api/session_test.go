package api_test

import (
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
)

func TestWhatIsWaitedForHasWords(t *testing.T) {
	t.Parallel()
	for want, reason := range map[string]api.WaitReason{
		"an answer to s1-i4":            {Interaction: "s1-i4"},
		"the time 2026-11-30T12:00:00Z": {Until: time.Date(2026, 11, 30, 13, 0, 0, 0, time.FixedZone("", 3600))},
		"credentials_missing OpenAI":    {Code: api.CodeCredentialsMissing, Name: "OpenAI"},
		"host_lost":                     {Code: "host_lost"},
	} {
		if got := reason.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
