//go:build linux

package chaos_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// noCommits leaves out the points within the store's commits, which other scenarios die at.
func noCommits(reached []string) (points []string) {
	for _, at := range reached {
		if !strings.HasPrefix(at, "commit.") {
			points = append(points, at)
		}
	}
	return points
}

// decided picks the points from the first answer of the model to its next request: where calls are decided on and run.
func decided(reached []string) []string {
	reached = noCommits(reached)
	if first := slices.Index(reached, "model.after#1"); first >= 0 {
		reached = reached[first:]
	}
	return reached
}

// Whoever decides on an action (a reviewer, the application's own check, a person who changes its arguments or
// answers a question) is asked again where the decision was lost, and is never asked twice for one that is recorded.
func TestADecisionSurvivesAKillAtAnyPoint(t *testing.T) {
	t.Parallel()
	// one sends a message and looks at what is done and said then.
	one := func(text string, says string, effects ...string) func(w *world) string {
		return func(w *world) string {
			id := w.create("s")
			if r := w.finish(w.submit(id, "1", text, "")); r.Status != api.StatusCompleted || !strings.Contains(r.Text, says) {
				w.t.Errorf("the result is %+v, want %q in it", r, says)
			}
			if got := w.checkLedger(); !slices.Equal(got, effects) {
				w.t.Errorf("the effects are %v, want %v", got, effects)
			}
			return id
		}
	}
	card, kv := `card.charge {"item":"shop/0/1"}`, `kv.put {"item":"shop/0/3"}`
	changed := one("risk shop", chaos.Forbidden, `kv.put {"item":"changed"}`)
	killEverywhere(t, []scenario{
		{name: "a reviewer allows, denies and leaves to a person", args: []string{"-approvals", "auto"}, among: decided,
			act: one("trio shop", "The review of this action denied it.", card, kv)},
		{name: "a reviewer and the application's own check", args: []string{"-approvals", "auto", "-guards", "deny", "-protocol", "responses"}, among: decided,
			act: one("risk shop", chaos.Forbidden, card, kv)},
		{name: "the application's own check, also of what a person changed", args: []string{"-approvals", "always", "-guards", "deny", "-protocol", "messages"}, among: decided,
			act: func(w *world) string {
				w.decide = func(in api.Interaction) api.Answer {
					to := map[string]string{"card.charge": chaos.Forbidden, "kv.put": "changed"}[in.Call.Name]
					return api.Answer{Decision: api.AllowOnce, Arguments: json.RawMessage(fmt.Sprintf(`{"item":%q}`, to))}
				}
				return changed(w)
			}},
		{name: "questions to the user", args: []string{"-approvals", "always", "-protocol", "gemini"}, among: decided,
			act: one("ask paint", `{"answers":["green","and blue"]}, Nobody answered`)},
	})
}

// Between a body's return and the storing of its output, hooks and guardrails look at it. A process that dies there
// takes the output with it and leaves the effect: that is not repeated, unless it may be.
func TestAnOutputThatNobodyHasSeenYetIsLostWithItsProcessAndItsEffectIsNot(t *testing.T) {
	t.Parallel()
	var lost, again atomic.Int64
	killEverywhere(t, []scenario{{
		name: "a hook and a guardrail on results", args: []string{"-guards", "mark,veil"}, among: decided,
		act: func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "trio shop", ""))
			return id
		},
		accept: func(w *world, session string, got ending) {
			l, a := w.checkScreened(w.events(session))
			lost.Add(int64(l))
			again.Add(int64(a))
			if len(got.Effects) != 3 || len(got.Results) != 1 || !strings.HasPrefix(got.Results[0], string(api.StatusCompleted)) {
				w.t.Errorf("the end is %+v", got)
			}
		},
	}})
	t.Logf("%d outputs were lost, %d actions were run again for theirs", lost.Load(), again.Load())
	if lost.Load() == 0 || again.Load() == 0 {
		t.Error("no kill came between the return of a body and the storing of its output")
	}
}

// checkScreened: each result went past the hook and the guardrail, or its output is lost, which only that of a side effect
// may be whose process died right behind its body. It counts the lost ones and those that were run again.
func (w *world) checkScreened(events []api.Event) (lost, again int) {
	w.t.Helper()
	returned := map[string]int{} // the newest attempt of a call whose body has returned
	for _, e := range events {
		switch e.Type {
		case api.EventToolCallReturned:
			r := decode[api.ToolCallReturned](w, e)
			returned[r.CallID] = r.Attempt
		case api.EventToolCallStarted:
			s := decode[api.ToolCallStarted](w, e)
			if returned[s.CallID] == 0 {
				continue
			}
			if again++; s.Name != "kv.put" {
				w.t.Errorf("%s was started again behind its return, as attempt %d", s.Name, s.Attempt)
			}
		case api.EventToolCallFinished:
			f := decode[api.ToolCallFinished](w, e)
			byPerson := f.Name == "mail.send" && returned[f.CallID] == 0 // its outcome was unknown
			switch {
			case f.Code == "" && (strings.HasSuffix(f.Output, " (veiled)") || byPerson):
			case f.Code == api.CodeOutputLost && returned[f.CallID] == f.Attempt && f.Name != "kv.put":
				lost++
			default:
				w.t.Errorf("%s came to %q with code %q", f.Name, f.Output, f.Code)
			}
		}
	}
	return lost, again
}
