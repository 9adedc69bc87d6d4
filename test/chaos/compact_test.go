//go:build linux

package chaos_test

import (
	"strings"
	"testing"
)

// long is a message of some length.
func long(verb, name string) string { return verb + " " + name + strings.Repeat(" and so on", 250) }

// lastTurn picks the points from the acceptance of the n-th turn on.
func lastTurn(n int) func(reached []string) []string {
	return func(reached []string) []string {
		reached = noCommits(reached)
		for i, at := range reached {
			if strings.HasPrefix(at, "append.before/turn_accepted") {
				if n--; n == 0 {
					return reached[i:]
				}
			}
		}
		return nil
	}
}

// A summary is planned once, asked for until there is one, and put into effect once: the end, the plan and what was
// summarised are those of a process that was never killed, and the whole history is there.
func TestAKillDuringACompactionChangesNothing(t *testing.T) {
	t.Parallel()
	talk := func(last func(w *world, id string)) func(w *world) string {
		return func(w *world) string {
			id := w.create("s")
			w.finish(w.submit(id, "1", "work shop", ""))
			w.finish(w.submit(id, "2", long("say", "two"), ""))
			last(w, id)
			w.finish(w.submit(id, "4", "say four", ""))
			if n := len(w.checkBeside(w.events(id))); n != 1 {
				w.t.Errorf("%d summaries were put into effect", n)
			}
			return id
		}
	}
	killEverywhere(t, []scenario{
		{name: "before a request that would not fit", args: []string{"-window", "4000"}, among: lastTurn(3), act: talk(func(w *world, id string) {
			w.finish(w.submit(id, "3", long("say", "three"), ""))
		})},
		{name: "behind a request that the provider found too long", among: lastTurn(3), act: talk(func(w *world, id string) {
			w.model.limit = 11_000
			w.finish(w.submit(id, "3", long("say", "three"), ""))
		})},
		{name: "that a person asks for", args: []string{"-protocol", "messages"}, among: lastTurn(3), act: talk(func(w *world, id string) {
			w.finish(w.compact(id, "3"))
		})},
	})
}
