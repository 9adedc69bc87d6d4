package stdio_test

import (
	"fmt"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

func subscribe(t *testing.T, r *child.Runtime, q api.FollowQuery) rpc.Subscription {
	t.Helper()
	var s rpc.Subscription
	into(t, r.Call(rpc.MethodSubscribe, q), &s)
	return s
}

// fetch fetches events until done says so of one, or the subscription ends.
func fetch(t *testing.T, r *child.Runtime, s rpc.Subscription, most int, done func(api.Event) bool) (events []api.Event, ended bool) {
	t.Helper()
	for {
		var batch rpc.Batch
		into(t, r.Call(rpc.MethodNext, rpc.Next{Subscription: s.Subscription, Max: most}), &batch)
		if most > 0 && len(batch.Events) > most {
			t.Fatalf("%d events came, and at most %d were asked for", len(batch.Events), most)
		}
		for i, e := range batch.Events {
			events = append(events, e)
			if done(e) && i == len(batch.Events)-1 {
				return events, batch.End
			}
		}
		if batch.End {
			return events, true
		}
	}
}

// untilNext fetches events one by one until one of the type comes.
func untilNext(t *testing.T, r *child.Runtime, s rpc.Subscription, want api.EventType) api.Event {
	t.Helper()
	events, ended := fetch(t, r, s, 1, func(e api.Event) bool { return e.Type == want })
	if ended {
		t.Fatalf("the subscription ended without %s", want)
	}
	return events[len(events)-1]
}

func TestASubscriptionThatIsNotFetchedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	var idle []rpc.Subscription
	for range 5 {
		idle = append(idle, subscribe(t, r, api.FollowQuery{Session: session}))
	}
	read := subscribe(t, r, api.FollowQuery{Session: session})
	const turns = 4
	last := uint64(0)
	for range turns { // more events than are read ahead for one that is not fetched
		run := submit(t, r, session, "count to 500")
		events, _ := fetch(t, r, read, 0, func(e api.Event) bool { return e.Type == api.EventTurnEnded && e.Run == run.Run })
		last = events[len(events)-1].Number
	}
	// The others have all of it, when they are fetched.
	for _, s := range idle {
		events, _ := fetch(t, r, s, 100, func(e api.Event) bool { return e.Number == last })
		number := uint64(0)
		for _, e := range events {
			if e.Number > 0 {
				if e.Number != number+1 {
					t.Fatalf("event %d came behind %d", e.Number, number)
				}
				number = e.Number
			}
		}
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	for i := range 1_024 {
		r.Request(fmt.Sprint("s", i), rpc.MethodSubscribe, api.FollowQuery{Session: session})
	}
	var first rpc.Subscription
	seen := map[string]bool{}
	for i := range 1_024 {
		into(t, r.Answer(fmt.Sprintf(`"s%d"`, i)).Result, &first)
		seen[first.Subscription] = true
	}
	if len(seen) != 1_024 {
		t.Fatalf("%d names for 1,024 subscriptions", len(seen))
	}
	if e := r.Refused(rpc.MethodSubscribe, api.FollowQuery{Session: session}); e.Data.Code != api.CodeQueueFull {
		t.Errorf("one more: %+v", e)
	}
	r.Call(rpc.MethodUnsubscribe, first)
	another := subscribe(t, r, api.FollowQuery{Session: session})
	untilNext(t, r, another, api.EventSessionCreated)
	say(t, r, session, "hello") // with all of them open
	untilNext(t, r, another, api.EventTurnEnded)
}

func TestASubscriptionIsFetchedFromOneAtATime(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	s := subscribe(t, r, api.FollowQuery{Session: session})
	untilNext(t, r, s, api.EventSessionCreated)
	waiting := waitingFetch(t, r, s)
	for _, most := range []int{-1, 257} {
		if e := r.Refused(rpc.MethodNext, rpc.Next{Subscription: s.Subscription, Max: most}); e.Data.Code != api.CodeInvalidRequest {
			t.Errorf("at most %d: %+v", most, e)
		}
	}
	say(t, r, session, "hello")
	var batch rpc.Batch
	into(t, r.Answer(waiting).Result, &batch)
	if len(batch.Events) == 0 || batch.Events[0].Type != api.EventTurnAccepted {
		t.Errorf("the one that waited: %+v", batch)
	}
}

// waitingFetch sends two fetches at once. One of them is refused, and the other waits: its ID is returned.
func waitingFetch(t *testing.T, r *child.Runtime, s rpc.Subscription) string {
	t.Helper()
	ids := [2]string{"1", "2"}
	for _, id := range ids {
		r.Line(`{"jsonrpc":"2.0","id":` + id + `,"method":"event/next","params":{"subscription":"` + s.Subscription + `"}}`)
	}
	refused := r.AnswerOf(ids[:]...)
	if codeOf(refused) != api.CodeInvalidRequest {
		t.Fatalf("of two fetches: %s", refused.Raw)
	}
	if string(refused.ID) == ids[0] {
		return ids[1]
	}
	return ids[0]
}

func TestUnsubscribeEndsAFetchThatWaits(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	s := subscribe(t, r, api.FollowQuery{Session: session})
	untilNext(t, r, s, api.EventSessionCreated)
	waiting := waitingFetch(t, r, s)
	r.Call(rpc.MethodUnsubscribe, s)
	if a := r.Answer(waiting); codeOf(a) != api.CodeCancelled {
		t.Errorf("%s", a.Raw)
	}
	r.Call(rpc.MethodUnsubscribe, s) // again is fine
	if e := r.Refused(rpc.MethodNext, s); e.Data.Code != api.CodeInvalidRequest {
		t.Errorf("behind it: %+v", e)
	}
}

func TestAFetchThatIsGivenUpLosesNoEventThatComesLater(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	s := subscribe(t, r, api.FollowQuery{Session: session})
	untilNext(t, r, s, api.EventSessionCreated)
	r.Request("waits", rpc.MethodNext, s)
	r.Line(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"waits"}}`)
	if a := r.Answer(`"waits"`); codeOf(a) != api.CodeCancelled {
		t.Errorf("%s", a.Raw)
	}
	say(t, r, session, "hello")
	var batch rpc.Batch
	into(t, r.Call(rpc.MethodNext, s), &batch)
	if len(batch.Events) == 0 || batch.Events[0].Type != api.EventTurnAccepted {
		t.Errorf("the next: %+v", batch)
	}
}

func TestEventsBehindANumberComeAgain(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	say(t, r, session, "one")
	say(t, r, session, "two")
	var page api.EventPage
	into(t, r.Call(rpc.MethodEvents, api.EventQuery{Session: session}), &page)
	last := page.Events[len(page.Events)-1].Number
	for after := range last {
		events, _ := fetch(t, r, subscribe(t, r, api.FollowQuery{Session: session, After: after}), 0, func(e api.Event) bool { return e.Number == last })
		if events[0].Number != after+1 || len(events) != int(last-after) {
			t.Errorf("after %d: %d events from %d on", after, len(events), events[0].Number)
		}
	}
	for name, q := range map[string]api.FollowQuery{
		"a session that is not there": {Session: "nothing"},
		"a run that is not there":     {Session: session, Run: session + "-r99"},
	} {
		if e := r.Refused(rpc.MethodSubscribe, q); e.Data.Code == api.CodeInternal || e.Data.Code == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestASubscriptionToARunEndsWithIt(t *testing.T) {
	t.Parallel()
	r, run, work := working(t)
	s := subscribe(t, r, api.FollowQuery{Session: run.Session, Run: run.Run})
	r.Reply(work, `{"output":"done"}`)
	events, ended := fetch(t, r, s, 0, func(api.Event) bool { return false })
	if !ended || len(events) == 0 || events[len(events)-1].Type != api.EventTurnEnded {
		t.Fatalf("ended: %v; %d events", ended, len(events))
	}
	for _, e := range events {
		if e.Run != run.Run {
			t.Errorf("event %d is of run %q", e.Number, e.Run)
		}
	}
	if e := r.Refused(rpc.MethodNext, s); e.Data.Code != api.CodeInvalidRequest {
		t.Errorf("behind its end: %+v", e)
	}
	again, ended := fetch(t, r, subscribe(t, r, api.FollowQuery{Session: run.Session, Run: run.Run}), 0, func(api.Event) bool { return false })
	if !ended || again[len(again)-1].Type != api.EventTurnEnded {
		t.Errorf("a subscription to a run that has ended: %v, %d events", ended, len(again))
	}
}
