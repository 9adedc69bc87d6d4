package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// story is a journal, what happens next, and what comes of it.
type story struct {
	name  string
	agent engine.Agent // zero: worker()
	given []move
	when  move

	events   []string
	code     api.Code // of a refusal: then the state stays as it was
	pending  []string
	due      string // "+0s" is at once, "" never by itself
	activity string
	check    func(*testing.T, *play)
}

func tell(t *testing.T, stories []story) {
	t.Helper()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.agent.Name == "" {
				s.agent = worker()
			}
			p := newPlay(t, s.agent).play(s.given...)
			before, head := mustSnapshot(t, p.state), p.state.Head
			s.when(p)
			if got := api.CodeOf(p.err); got != s.code {
				t.Fatalf("the command gave %v, want code %q", p.err, s.code)
			}
			if p.err != nil || len(p.events) == 0 {
				if after := mustSnapshot(t, p.state); after != before {
					t.Errorf("nothing was to happen, but the state went from\n%s\nto\n%s", before, after)
				}
			}
			if p.err == nil && p.state.Head != head+uint64(len(p.events)) {
				t.Errorf("%d events took the head from %d to %d", len(p.events), head, p.state.Head)
			}
			if diff := cmp.Diff(s.events, p.lines(p.events)); diff != "" && p.err == nil {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(s.pending, pending(p)); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
			if got := due(p); got != s.due {
				t.Errorf("due %q, want %q", got, s.due)
			}
			if got := engine.Activity(p.state); got != s.activity {
				t.Errorf("activity %q, want %q", got, s.activity)
			}
			if s.check != nil {
				s.check(t, p)
			}
		})
	}
}

func mustSnapshot(t rapid.TB, s *engine.State) string {
	t.Helper()
	data, err := engine.Snapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
