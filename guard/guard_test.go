package guard_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/guard"
)

func TestAVerdictSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ got, want guard.Verdict }{
		"an allow":      {guard.Allow(), guard.Verdict{Action: "allow"}},
		"a redaction":   {guard.Redact("new", "why"), guard.Verdict{Action: "redact", Text: "new", Reason: "why"}},
		"a block":       {guard.Block("why"), guard.Verdict{Action: "block", Reason: "why"}},
		"the zero one":  {guard.Verdict{}, guard.Verdict{Action: ""}},
		"an empty text": {guard.Redact("", ""), guard.Verdict{Action: "redact"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestThePointsAreTheCallersToChange(t *testing.T) {
	t.Parallel()
	want := []guard.Point{guard.UserInput, guard.ModelInput, guard.ToolResult, guard.ModelOutput}
	slices.Reverse(guard.Points())
	if diff := cmp.Diff(want, guard.Points()); diff != "" {
		t.Error(diff)
	}
}

func TestAVetoIsFoundWithinOtherErrors(t *testing.T) {
	t.Parallel()
	var veto *guard.VetoError
	if err := fmt.Errorf("before the call: %w", guard.Veto("not today")); !errors.As(err, &veto) || veto.Reason != "not today" || veto.Error() != "vetoed: not today" {
		t.Errorf("got %v, %+v", err, veto)
	}
	if errors.As(errors.New("vetoed: not today"), &veto) {
		t.Error("an error that only reads like a veto is one")
	}
}
