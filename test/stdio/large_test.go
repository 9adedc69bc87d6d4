package stdio_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// large makes a session whose events, a page of them, have 7 MB.
func large(t *testing.T, r *child.Runtime) (session string) {
	t.Helper()
	session = newSession(t, r)
	output := `{"output":"` + strings.Repeat("x", 240_000) + `"}`
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("use app.work with {\"n\":%d}", i))
	}
	r.Request("large", rpc.MethodResult, submit(t, r, session, strings.Join(lines, "\n")))
	for {
		m := r.Next(`"large"`, rpc.MethodRunTool)
		if m.Method == "" {
			return session
		}
		r.Reply(m, output)
	}
}

// peak calls step until it says that all is done, and returns the most memory that the runtime had.
func peak(t *testing.T, r *child.Runtime, step func() (more bool)) (most int) {
	t.Helper()
	for step() {
		most = max(most, memory(t, r))
	}
	return max(most, memory(t, r))
}

func TestSubscriptionsThatAreHardlyReadTakeLittleMemory(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := large(t, r)
	before := memory(t, r)
	n := 0
	most := peak(t, r, func() bool {
		subscribe(t, r, api.FollowQuery{Session: session}) // which nobody fetches from
		s := subscribe(t, r, api.FollowQuery{Session: session})
		if n < 100 {
			r.Call(rpc.MethodNext, rpc.Next{Subscription: s.Subscription, Max: 1}) // and one that is fetched from once
		}
		n++
		return n < 500
	})
	t.Logf("%d MiB before, at most %d MiB", before>>20, most>>20)
	if most-before > 256<<20 {
		t.Errorf("1,000 subscriptions take %d MiB", (most-before)>>20)
	}
	// All of it is there for one that is fetched from.
	var numbers int
	for _, e := range all(t, r, session) {
		if numbers++; e.Number != uint64(numbers) {
			t.Fatalf("event %d came behind %d", e.Number, numbers-1)
		}
	}
}

// all fetches the events of a session up to the end of its only turn.
func all(t *testing.T, r *child.Runtime, session string) []api.Event {
	t.Helper()
	events, _ := fetch(t, r, subscribe(t, r, api.FollowQuery{Session: session}), 0, func(e api.Event) bool { return e.Type == api.EventTurnEnded })
	return events
}

// A client that reads is never given up, however much it asks for at once.
func TestManyLargeAnswersAtOnceComeToAClientThatReads(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := large(t, r)
	before := memory(t, r)
	const many = 60
	var left []string // in whatever order they come
	for i := range many {
		r.Request(fmt.Sprint("page", i), rpc.MethodEvents, api.EventQuery{Session: session})
		left = append(left, fmt.Sprintf(`"page%d"`, i))
	}
	r.Request("state", rpc.MethodState, rpc.SessionID{Session: session})
	most := peak(t, r, func() bool {
		a := r.AnswerOf(left...)
		at := slices.Index(left, string(a.ID))
		if at < 0 || a.Error != nil || len(a.Raw) < 7_000_000 {
			t.Fatalf("%.300s", a.Raw)
		}
		left = slices.Delete(left, at, at+1)
		return len(left) > 0
	})
	t.Logf("%d MiB before, at most %d MiB", before>>20, most>>20)
	if most-before > 600<<20 {
		t.Errorf("%d pages of 7 MB took %d MiB", many, (most-before)>>20)
	}
	probe(t, r)
}
