//go:build linux

package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/chaos"
)

// ending is what a disturbed run of a scenario must have in common with an undisturbed one.
type ending struct {
	Results []string // of each run: its status and text
	History []string // the conversation, without what differs from run to run
	Effects []string // on the world, sorted
	Unknown int      // actions whose outcome nobody has settled
	Plans   []string // of the summaries, with what they came to
}

// check looks at everything that a session left and returns its ending. Whatever a crash may do, it must not
// break one of these.
func (w *world) check(session string) ending {
	w.t.Helper()
	events := w.events(session)
	w.checkEvents(session, events)
	w.checkRequests(events)
	plans := w.checkBeside(events)
	state := do[api.SessionState](w, chaos.Command{Op: "state", Session: session})
	if state.Activity != api.Idle || len(state.Interactions) > 0 {
		w.t.Errorf("at the end the session is %s with %d interactions", state.Activity, len(state.Interactions))
	}
	if open := do[api.InteractionPage](w, chaos.Command{Op: "interactions"}); len(open.Interactions) > 0 {
		w.t.Errorf("at the end %d interactions are listed", len(open.Interactions))
	}
	e := ending{Effects: w.checkLedger(), History: w.checkHistory(session), Unknown: len(state.UnknownActions), Plans: plans}
	for _, run := range w.runs {
		if run.Session != session {
			continue
		}
		r := do[api.Result](w, chaos.Command{Op: "result", Session: session, Run: run.Run})
		e.Results = append(e.Results, fmt.Sprintf("%s %s", r.Status, r.Text))
	}
	if w.t.Failed() {
		w.t.Logf("journal:\n%sledger: %+v\n%s", w.timeline(session), w.ledger(), w.proc.stderr)
	}
	return e
}

func decode[T any](w *world, e api.Event) (out T) {
	w.t.Helper()
	if err := json.Unmarshal(e.Data, &out); err != nil {
		w.t.Fatalf("event %d: %v", e.Number, err)
	}
	return out
}

// checkEvents: numbers without a gap; each acknowledged run is there and ended once, behind everything else of
// it; each call has one result; each question was settled once.
func (w *world) checkEvents(session string, events []api.Event) {
	w.t.Helper()
	accepted, ended := map[string]int{}, map[string]int{}
	asked, results, required, resolved := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for i, e := range events {
		if e.Number != uint64(i+1) {
			w.t.Errorf("event %d stands at place %d", e.Number, i+1)
		}
		if ended[e.Run] > 0 && e.Type != api.EventToolOutcomeLate {
			w.t.Errorf("event %d, %s, comes behind the end of its run", e.Number, e.Type)
		}
		switch e.Type {
		case api.EventTurnAccepted:
			accepted[e.Run]++
		case api.EventTurnEnded:
			ended[e.Run]++
		case api.EventModelCallFinished:
			for _, c := range decode[api.ModelCallFinished](w, e).Calls {
				asked[c.CallID]++
			}
		case api.EventToolCallFinished:
			results[decode[api.ToolCallFinished](w, e).CallID]++
		case api.EventInteractionRequired:
			required[decode[api.InteractionRequired](w, e).ID]++
		case api.EventInteractionResolved:
			resolved[decode[api.InteractionResolved](w, e).ID]++
		}
	}
	for _, run := range w.runs {
		if run.Session == session && accepted[run.Run] == 0 {
			w.t.Errorf("run %s was acknowledged and is lost", run.Run)
		}
	}
	once := func(what string, need, have map[string]int) {
		for id, n := range need {
			if n != 1 || have[id] != 1 {
				w.t.Errorf("%s %s: %d times, settled %d times", what, id, n, have[id])
			}
		}
		for id := range have {
			if need[id] == 0 {
				w.t.Errorf("%s %s was settled and never was", what, id)
			}
		}
	}
	once("run", accepted, ended)
	once("call", asked, results)
	once("interaction", required, resolved)
}

// checkRequests: an answer that stands in the journal was not asked for again, and no more requests were made
// than the journal and the deaths explain.
func (w *world) checkRequests(events []api.Event) {
	w.t.Helper()
	texts, rounds := map[string]string{}, map[string]int{} // by run
	finished, started := map[question]time.Time{}, map[question]int{}
	for _, e := range events {
		q := question{Text: texts[e.Run], Round: rounds[e.Run]}
		switch e.Type {
		case api.EventTurnAccepted:
			texts[e.Run] = firstLine(decode[api.TurnAccepted](w, e).Text)
		case api.EventModelCallStarted:
			started[q]++
		case api.EventModelCallFinished:
			finished[q] = e.Time
			rounds[e.Run]++
		}
	}
	made := map[question]int{}
	for _, r := range w.model.requests() {
		if !slices.Contains(slices.Collect(maps.Values(texts)), r.question.Text) {
			continue // of another session
		}
		made[r.question]++
		// The journal's times are cut to milliseconds.
		if at, ok := finished[r.question]; ok && r.at.Truncate(time.Millisecond).After(at) {
			w.t.Errorf("the answer to %+v was recorded at %s and asked for again at %s", r.question, at, r.at)
		}
	}
	for q, n := range made {
		if n > started[q]+w.deaths+w.races {
			w.t.Errorf("%+v was asked %d times; the journal knows %d attempts and there were %d deaths and %d races", q, n, started[q], w.deaths, w.races)
		}
	}
	for q := range finished {
		if made[q] == 0 {
			w.t.Errorf("the journal has an answer to %+v, which nobody asked", q)
		}
	}
}

// checkBeside: what is asked beside the conversation, of the reviewer and for a summary, was not asked more often than
// the journal and the deaths explain, and never once there was an answer. It returns the plans of the summaries.
func (w *world) checkBeside(events []api.Event) (plans []string) {
	w.t.Helper()
	arguments := map[string]string{} // by call
	started, last := map[string]int{}, map[string]time.Time{}
	for _, e := range events {
		switch e.Type {
		case api.EventModelCallFinished:
			for _, c := range decode[api.ModelCallFinished](w, e).Calls {
				arguments[c.CallID] = c.Arguments
			}
		case api.EventReviewStarted:
			started[reviewOf+arguments[decode[api.ReviewStarted](w, e).CallID]]++
		case api.EventReviewFinished:
			if f := decode[api.ReviewFinished](w, e); !f.Again {
				key := reviewOf + arguments[f.CallID]
				if !last[key].IsZero() {
					w.t.Errorf("call %s has two verdicts of the reviewer", f.CallID)
				}
				last[key] = e.Time
			}
		case api.EventCompactionStarted:
			started[summaryOf]++
		case api.EventCompactionFinished:
			f := decode[api.CompactionFinished](w, e)
			plans = append(plans, fmt.Sprintf("%d items, %d bytes of each other, then %d tokens: %s", f.Items, f.ItemBytes, f.Tokens, f.Summary))
			last[summaryOf] = e.Time
		}
	}
	made := map[string]int{}
	for _, r := range w.model.requests() {
		key := r.question.Text
		made[key]++
		if at, ok := last[key]; ok && r.at.Truncate(time.Millisecond).After(at) {
			w.t.Errorf("%q was answered at %s and asked again at %s", key, at, r.at)
		}
	}
	for key, n := range started {
		if made[key] == 0 && last[key].IsZero() || made[key] > n+w.deaths+w.races {
			w.t.Errorf("%q was asked %d times; the journal knows %d attempts and there were %d deaths and %d races", key, made[key], n, w.deaths, w.races)
		}
	}
	return plans
}

// checkLedger: no action happened twice that must not: a side effect not at all, an idempotent one not under
// another call ID. It returns the effects; what only reads has none.
func (w *world) checkLedger() []string {
	w.t.Helper()
	calls := map[string]string{}
	var out []string
	for _, e := range w.ledger() {
		if e.Tool == "price.get" {
			continue
		}
		effect := e.Tool + " " + e.Arguments
		before, again := calls[effect]
		if again && (e.Tool != "kv.put" || before != e.Call) {
			w.t.Errorf("%s happened twice: as call %s, and as call %s, attempt %d", effect, before, e.Call, e.Attempt)
		}
		if !again {
			out = append(out, effect)
		}
		calls[effect] = e.Call
	}
	sort.Strings(out)
	return out
}

// checkHistory: each call is followed by its result in the order of the calls. It returns the conversation.
func (w *world) checkHistory(session string) []string {
	w.t.Helper()
	var out, due []string
	for _, item := range do[api.HistoryPage](w, chaos.Command{Op: "history", Session: session}).Items {
		switch item.Type {
		case "tool_call":
			due = append(due, item.CallID)
		case "tool_result":
			if len(due) == 0 || due[0] != item.CallID {
				w.t.Errorf("the history has a result of call %s where %v are due", item.CallID, due)
				return nil
			}
			due = due[1:]
		}
		out = append(out, strings.Join([]string{item.Type, item.Text, item.Name, item.Arguments, item.Output, string(item.Code)}, "|"))
	}
	if len(due) > 0 {
		w.t.Errorf("the history ends without results of calls %v", due)
	}
	return out
}
