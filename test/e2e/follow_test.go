package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
)

// calculating answers a message with two rounds of calls and then a text, each slowly.
func calculating(pace time.Duration) func(modeltestserver.Request) modeltestserver.Reply {
	return func(r modeltestserver.Request) modeltestserver.Reply {
		round := 0
		for _, m := range r.Messages {
			switch m.Role {
			case "user":
				round = 0
			case "assistant":
				round++
			}
		}
		if r.LastUser() == "hello" || round == 2 {
			return modeltestserver.Reply{Text: "The answer to " + r.LastUser() + " is here.", Chunk: 4, Pace: pace}
		}
		return modeltestserver.Reply{Pace: pace, Calls: []modeltestserver.Call{
			{ID: "call_1", Name: "calculate", Arguments: fmt.Sprintf(`{"expression":"%d + 1"}`, round)},
			{ID: "call_2", Name: "current_time", Arguments: `{}`},
		}}
	}
}

func TestAFollowerInAnotherProcessSeesATurnWhileItHappens(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	h := newHome(t, func(r modeltestserver.Request) modeltestserver.Reply {
		if r.LastUser() == "wait" {
			<-gate
		}
		return modeltestserver.Reply{Text: "ok"}
	})
	id := h.newSession()
	before := len(h.events(id))
	follower := h.start("events", id, "--follow", "--json")
	for range before {
		next[api.Event](follower)
	}
	chat := h.start("chat", "--session", id, "--json")
	chat.say("wait")
	// The model has not answered: the follower sees the turn begin all the same.
	for _, want := range []api.EventType{api.EventTurnAccepted, api.EventModelCallStarted} {
		if e, _ := next[api.Event](follower); e.Type != want {
			t.Errorf("the follower sees %s, want %s", e.Type, want)
		}
	}
	close(gate)
	if r, ok := next[api.Result](chat); !ok || r.Status != api.StatusCompleted || r.Text != "ok" {
		t.Errorf("the chat's result: %+v", r)
	}
	for _, want := range []api.EventType{api.EventModelCallFinished, api.EventTurnEnded} {
		if e, _ := next[api.Event](follower); e.Type != want {
			t.Errorf("the follower sees %s, want %s", e.Type, want)
		}
	}
}

func TestAFollowerThatIsKilledAndGoesOnAfterItsLastNumberMissesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	h := newHome(t, calculating(2*time.Millisecond))
	id := h.newSession()
	chat := h.start("chat", "--session", id, "--json")
	const turns = 10
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range turns {
			chat.say(fmt.Sprintf("question %d", n))
			if r, ok := next[api.Result](chat); !ok || r.Status != api.StatusCompleted {
				t.Errorf("turn %d: %+v", n, r)
			}
		}
	}()
	var seen []api.Event
	chance := rand.New(rand.NewPCG(1, 2))
	ends, kills := 0, 0
	for ends < turns+1 {
		after := uint64(0)
		if len(seen) > 0 {
			after = seen[len(seen)-1].Number
		}
		follower := h.start("events", id, "--follow", "--json", "--after", fmt.Sprint(after))
		for range 1 + chance.IntN(30) {
			e, ok := next[api.Event](follower)
			if !ok {
				t.Fatal("the follower ended by itself")
			}
			seen = append(seen, e)
			if e.Type == api.EventTurnEnded {
				if ends++; ends == turns+1 {
					break
				}
			}
		}
		follower.kill()
		kills++
	}
	<-done
	if diff := cmp.Diff(h.events(id), seen); diff != "" {
		t.Errorf("the journal and what the followers saw (-journal +seen):\n%s", diff)
	}
	t.Logf("%d events over %d followers", len(seen), kills)
}
