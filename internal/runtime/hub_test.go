package runtime

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

// told is what a subscription has got, as short words: a number for an event, text for a delta.
func told(s *Subscription) []string {
	items, _ := s.Take()
	var out []string
	for _, i := range items {
		switch {
		case i.Gap:
			out = append(out, "gap")
		case i.Delta != nil:
			out = append(out, i.Delta.Text)
		default:
			out = append(out, string(i.Event.Type))
		}
	}
	return out
}

func TestTextComesBehindTheEventOfItsAttempt(t *testing.T) {
	t.Parallel()
	h := NewHub()
	s := h.Subscribe("s")
	h.Delta("s", "r", false, api.Delta{Call: 1, Attempt: 1, Epoch: 1, Text: "He"})
	h.Delta("s", "r", false, api.Delta{Call: 1, Attempt: 1, Epoch: 1, Text: "llo"})
	if got := told(s); got != nil {
		t.Fatalf("before the attempt was published its text came: %q", got)
	}
	h.Publish("s", []api.Event{{Number: 3, Type: api.EventModelCallStarted, Run: "r"}}, false)
	h.Announce("s", "r", 1, 1, 1)
	h.Delta("s", "r", false, api.Delta{Call: 1, Attempt: 1, Epoch: 1, Text: "!"})
	if diff := cmp.Diff([]string{"model_call_started", "Hello", "!"}, told(s)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	late := h.Subscribe("s")
	if diff := cmp.Diff([]string{"Hello!"}, told(late)); diff != "" {
		t.Errorf("who joins midway (-want +got)\n%s", diff)
	}
	h.Publish("s", []api.Event{{Number: 4, Type: api.EventModelCallFinished, Run: "r"}}, false)
	if diff := cmp.Diff([]string{"model_call_finished"}, told(late)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := told(h.Subscribe("s")); got != nil {
		t.Errorf("text of a whole answer came again: %q", got)
	}
}

func TestAHubKeepsNothingOfSessionsThatNobodyWatchesAndNothingStreamsTo(t *testing.T) {
	t.Parallel()
	h := NewHub()
	h.Announce("s", "r", 1, 1, 1)
	h.Delta("s", "r", false, api.Delta{Call: 1, Attempt: 1, Epoch: 1, Text: "x"})
	h.Forget("s")
	s := h.Subscribe("w")
	s.Close()
	s.Close()
	if len(h.sessions) != 0 {
		t.Errorf("kept: %v", h.sessions)
	}
	if !s.Closed() {
		t.Error("the subscription is not closed")
	}
}

func TestASlowSubscriberIsToldToReadTheJournalAndGetsTheTextAnew(t *testing.T) {
	t.Parallel()
	h := NewHub()
	s := h.Subscribe("s")
	h.Announce("s", "r", 1, 1, 1)
	for range subscriberQueue + 1 {
		h.Delta("s", "r", false, api.Delta{Call: 1, Attempt: 1, Epoch: 1, Text: "x"})
	}
	items, behind := s.Take()
	if !behind || !items[0].Gap || items[1].Delta.From != 0 || items[1].Delta.Text != strings.Repeat("x", subscriberQueue+1) {
		t.Errorf("behind %t, %d items, %+v", behind, len(items), items[0])
	}
}

// Whoever comes when the process is going away is told so and does not wait for ever.
func TestASubscriptionToAClosedHubIsClosed(t *testing.T) {
	t.Parallel()
	h := NewHub()
	h.CloseAll()
	s := h.Subscribe("s1")
	select {
	case <-s.Wake():
	default:
		t.Error("it is not woken")
	}
	if !s.Closed() || len(h.sessions) > 0 {
		t.Errorf("closed: %v; %d sessions are kept", s.Closed(), len(h.sessions))
	}
	s.Close()
}
