package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/internal/engine"
)

// An idempotent action that runs before its call is stored, and whose call is lost in a crash, is asked for
// again under another call ID: a second effect.
func TestOnlyWhatLeavesNothingBehindMayStartBeforeItsIntentIsStored(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker()).play(say("hi"), begin)
	early := map[string]bool{}
	for _, e := range engine.Pending(p.state) {
		early[string(e.Kind)] = e.Early
	}
	p.play(asksFor("write", "put", "read"))
	for i, e := range engine.Pending(p.state) {
		early[p.tool(i+1).Name] = e.Early
	}
	want := map[string]bool{"model": true, "app.write": false, "app.put": false, "app.read": true}
	if diff := cmp.Diff(want, early); diff != "" {
		t.Errorf("what may start early (-want +got):\n%s", diff)
	}
}
