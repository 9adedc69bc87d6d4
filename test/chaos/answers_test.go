//go:build linux

package chaos_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/test/chaos"
)

// trial is one way in which two processes answer the three approvals of one answer of the model.
type trial struct {
	order   [3]int           // in which the calls are answered
	answers [3][2]api.Answer // to each call by each process
}

// trials are the six orders. Over them each tool meets each pair of answers.
func trials() (all []trial) {
	allow, deny, session := api.Answer{Decision: api.AllowOnce}, api.Answer{Decision: api.Deny, Reason: "no"}, api.Answer{Decision: api.AllowSession}
	changed := api.Answer{Decision: api.AllowOnce, Arguments: json.RawMessage(`{"item":"changed"}`)}
	pairs := [][2]api.Answer{{allow, allow}, {deny, deny}, {changed, changed}, {allow, deny}, {changed, allow}, {session, deny}}
	orders := [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for i, order := range orders {
		tr := trial{order: order}
		for call := range tr.answers {
			tr.answers[call] = pairs[(i+2*call)%len(pairs)]
		}
		all = append(all, tr)
	}
	return all
}

// The model asks for three actions at once, each of which needs an approval. Two processes answer each at the same
// time, with the same answer or with different ones, and one of them dies at any point from the model's answer to
// the next request, to be started again. What was acknowledged stays, the other answer is told so; each action that
// was allowed happens once, with the arguments that were allowed, and one that was denied never.
func TestThreeApprovalsAnsweredByTwoProcessesOfWhichOneDiesAnywhere(t *testing.T) {
	t.Parallel()
	var killed, missed atomic.Int64
	protocols := modeltestserver.Protocols()
	t.Run("order", func(t *testing.T) {
		for i, tr := range trials() {
			protocol := string(protocols[i%len(protocols)])
			t.Run(fmt.Sprint(tr.order), func(t *testing.T) {
				t.Parallel()
				points := tr.record(t, protocol)
				if len(points) < 8 {
					t.Fatalf("only the points %v were reached", points)
				}
				for _, at := range points {
					t.Run(at, func(t *testing.T) {
						t.Parallel()
						for range 10 {
							once := filepath.Join(t.TempDir(), "dead")
							kill := []string{"-kill", at, "-once", once}
							if both := tr.run(t, protocol, kill, kill); both[0].suicides+both[1].suicides > 0 {
								killed.Add(1)
								return
							}
						}
						missed.Add(1)
					})
				}
			})
		}
	})
	t.Logf("killed at %d points; %d were not reached again", killed.Load(), missed.Load())
	if missed.Load()*20 > killed.Load() {
		t.Errorf("too many points were missed: %d of %d", missed.Load(), missed.Load()+killed.Load())
	}
}

// record runs a trial without a kill and lists the points that either process reaches, from the model's answer to the
// next request.
func (tr trial) record(t *testing.T, protocol string) []string {
	t.Helper()
	dir := t.TempDir()
	trace := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	tr.run(t, protocol, []string{"-trace", trace(0)}, []string{"-trace", trace(1)})
	var points []string
	for i := range 2 {
		data, err := os.ReadFile(trace(i))
		if err != nil {
			t.Fatal(err)
		}
		reached := decided(strings.Fields(string(data)))
		if end := slices.IndexFunc(reached, func(at string) bool { return strings.HasPrefix(at, "model.before") }); end >= 0 {
			reached = reached[:end+1]
		}
		points = append(points, reached...)
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// run runs a trial on two processes with more arguments each.
func (tr trial) run(t *testing.T, protocol string, args ...[]string) []*world {
	t.Helper()
	first := newWorld(t, "-approvals", "always", "-protocol", protocol, "-poll", "50ms")
	first.races = 1
	both := []*world{first, first.second()}
	for i, w := range both {
		w.next = [][]string{args[i]}
		w.victim()
	}
	id := first.create("s")
	run := first.submit(id, "1", "trio shop", "")
	asked := first.result(run).Interactions
	if len(asked) != 3 {
		t.Fatalf("%d interactions are open, want 3\n%s", len(asked), first.timeline(id))
	}
	given := map[string]api.Answer{}
	var won [3]api.Answer
	for _, call := range tr.order {
		var refused [2]error
		var group sync.WaitGroup
		for i, w := range both {
			group.Go(func() { refused[i] = w.resolve(id, asked[call].ID, tr.answers[call][i]) })
		}
		group.Wait()
		won[call] = winner(t, tr.answers[call], refused)
		given[asked[call].ID] = won[call]
	}
	both[1].victim() // one that has died goes on, as the other does where it is asked
	first.finish(run)
	first.deaths += both[1].deaths
	got := first.check(id)
	checkGiven(first, id, given)
	if diff := gocmp.Diff(allowed(won), outcome{got.Effects, cameTo(first, id)}); diff != "" {
		t.Errorf("what was done differs from what was allowed (-want +got):\n%s\n%s", diff, first.timeline(id))
	}
	for _, w := range both {
		w.close()
	}
	return both
}

// winner is the answer that was acknowledged. Of two that differ that is one, and the other is told that it came late.
func winner(t *testing.T, answers [2]api.Answer, refused [2]error) api.Answer {
	t.Helper()
	late := [2]bool{}
	for i, err := range refused {
		if late[i] = api.CodeOf(err) == api.CodeAlreadyResolved; err != nil && !late[i] {
			t.Fatalf("answer %+v: %v", answers[i], err)
		}
	}
	switch same := gocmp.Equal(answers[0], answers[1]); {
	case same && (late[0] || late[1]), !same && late[0] == late[1]:
		t.Errorf("of the answers %+v and %+v these came late: %v", answers[0], answers[1], late)
	case late[0]:
		return answers[1]
	}
	return answers[0]
}

// checkGiven: the journal has the answers that were acknowledged, and there are grants for those that gave one.
func checkGiven(w *world, session string, given map[string]api.Answer) {
	w.t.Helper()
	var tools, granted []string
	ids := map[string]string{}
	for _, e := range w.events(session) {
		switch e.Type {
		case api.EventInteractionRequired:
			in := decode[api.InteractionRequired](w, e)
			ids[in.ID] = in.Call.Name
		case api.EventInteractionResolved:
			r := decode[api.InteractionResolved](w, e)
			a, ok := given[r.ID]
			if !ok {
				continue // about an outcome that was unknown
			}
			if r.Decision != a.Decision || string(r.Arguments) != string(a.Arguments) || r.Reason != a.Reason {
				w.t.Errorf("answer %+v was acknowledged, and the journal has %+v", a, r)
			}
			if a.Decision == api.AllowSession {
				tools = append(tools, ids[r.ID])
			}
		}
	}
	for _, g := range do[api.SessionState](w, chaos.Command{Op: "state", Session: session}).Grants {
		granted = append(granted, g.Tool)
	}
	if diff := gocmp.Diff(tools, granted); diff != "" {
		w.t.Errorf("the grants (-given +there):\n%s", diff)
	}
}

// outcome is what the calls did in the world, sorted, and what the model is told of each tool.
type outcome struct {
	Effects []string
	Results map[string]string
}

// allowed is the outcome that the answers allow.
func allowed(won [3]api.Answer) outcome {
	out := outcome{Results: map[string]string{}}
	for i, call := range []struct{ tool, verb, item string }{
		{"card.charge", "charged", "shop/0/1"}, {"mail.send", "sent", "shop/0/2"}, {"kv.put", "stored", "shop/0/3"},
	} {
		if len(won[i].Arguments) > 0 {
			call.item = "changed"
		}
		if won[i].Decision == api.Deny {
			out.Results[call.tool] = string(api.CodeDenied)
			continue
		}
		out.Results[call.tool] = call.verb + " " + call.item
		out.Effects = append(out.Effects, fmt.Sprintf(`%s {"item":%q}`, call.tool, call.item))
	}
	slices.Sort(out.Effects)
	return out
}

// cameTo is what the journal says that each tool came to: its code, or its output where it has none.
func cameTo(w *world, session string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, e := range w.events(session) {
		if e.Type == api.EventToolCallFinished {
			f := decode[api.ToolCallFinished](w, e)
			out[f.Name] = cmp.Or(string(f.Code), f.Output)
		}
	}
	return out
}
