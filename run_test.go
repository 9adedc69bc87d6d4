package openworker

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
)

func numbers(t *testing.T, run *Run, stopAfter int) []uint64 {
	t.Helper()
	var got []uint64
	for event, err := range run.Events(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event.Number)
		if len(got) == stopAfter {
			break
		}
	}
	return got
}

// RU3: calling again goes on, and nothing comes twice.
func TestEventsGoOnWhereTheLastLoopStopped(t *testing.T) {
	t.Parallel()
	host, session := newFake()
	host.write("s1-r1", EventModelCallStarted, EventModelCallFinished)
	host.ask("i1", api.InteractionApproval)
	run, err := session.Send(context.Background(), "hello")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{2, 3}, numbers(t, run, 2)); diff != "" {
		t.Errorf("from turn_accepted to where the loop was left: %s", diff)
	}
	if diff := cmp.Diff([]uint64{4, 5}, numbers(t, run, 0)); diff != "" {
		t.Errorf("up to the event that leaves the run waiting: %s", diff)
	}
	if got := numbers(t, run, 0); got != nil {
		t.Errorf("nothing is new, got %v", got)
	}
	host.settle("i1")
	host.write("s1-r1", EventTurnEnded)
	if diff := cmp.Diff([]uint64{6, 7}, numbers(t, run, 0)); diff != "" {
		t.Errorf("after the answer: %s", diff)
	}
}

func TestAStreamIsARunThatIsWatched(t *testing.T) {
	t.Parallel()
	host, session := newFake()
	host.write("s1-r1", EventTurnEnded)
	stream, err := session.RunStreamed(context.Background(), "hello", TurnOptions{SubmissionID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var types []EventType
	for event, err := range stream.Events() {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, event.Type)
	}
	if diff := cmp.Diff([]EventType{EventTurnAccepted, EventTurnEnded}, types); diff != "" {
		t.Error(diff)
	}
	result, err := stream.Finish(context.Background())
	if err != nil || result.Status != StatusCompleted {
		t.Errorf("result %v, %v", result, err)
	}
	if host.submitted[0].Options.SubmissionID != "x" {
		t.Errorf("the options were not sent: %+v", host.submitted[0])
	}
}

func TestRunWith(t *testing.T) {
	t.Parallel()
	allow := func(context.Context, Interaction) (Answer, error) { return Answer{Decision: AllowOnce}, nil }
	retry := func(context.Context, Interaction) (Answer, error) { return Answer{Decision: OutcomeRetry}, nil }
	leave := func(context.Context, Interaction) (Answer, error) { return Answer{}, ErrLeaveOpen }
	errBroken := errors.New("the window was closed")
	tests := []struct {
		name     string
		prepare  func(*fakeHost)
		handlers Handlers
		answers  []string
		status   RunStatus
		err      error
	}{
		{
			name:     "a run without interactions just ends",
			prepare:  func(f *fakeHost) { f.write("s1-r1", EventTurnEnded) },
			handlers: Handlers{OnApproval: allow},
			status:   StatusCompleted,
		},
		{
			name: "each interaction is answered once by the handler of its kind",
			prepare: func(f *fakeHost) {
				f.ask("i1", api.InteractionApproval)
				f.ask("i2", api.InteractionUnknownOutcome)
			},
			handlers: Handlers{OnApproval: allow, OnUnknownOutcome: retry},
			answers:  []string{"i1 allow", "i2 retry"},
			status:   StatusCompleted,
		},
		{
			name: "what was answered long ago is not asked again when it is replayed",
			prepare: func(f *fakeHost) {
				f.ask("i1", api.InteractionApproval)
				f.settle("i1")
				f.write("s1-r1", EventTurnEnded)
			},
			handlers: Handlers{OnApproval: allow},
			status:   StatusCompleted,
		},
		{
			name:     "without a handler the run is left waiting",
			prepare:  func(f *fakeHost) { f.ask("i1", api.InteractionApproval) },
			handlers: Handlers{OnUnknownOutcome: retry},
			status:   StatusInterrupted,
		},
		{
			name: "a handler that leaves one open does not keep the others from being answered",
			prepare: func(f *fakeHost) {
				f.ask("i1", api.InteractionUnknownOutcome)
				f.ask("i2", api.InteractionApproval)
			},
			handlers: Handlers{OnApproval: allow, OnUnknownOutcome: leave},
			answers:  []string{"i2 allow"},
			status:   StatusInterrupted,
		},
		{
			name: "somebody else's answer is as good",
			prepare: func(f *fakeHost) {
				f.ask("i1", api.InteractionApproval)
				f.resolve = func(id string, _ Answer) error {
					f.settle(id)
					f.write("s1-r1", EventTurnEnded)
					return api.Errorf(api.CodeAlreadyResolved, "denied by another")
				}
			},
			handlers: Handlers{OnApproval: allow},
			answers:  []string{"i1 allow"},
			status:   StatusCompleted,
		},
		{
			name:     "a handler's error ends the call",
			prepare:  func(f *fakeHost) { f.ask("i1", api.InteractionApproval) },
			handlers: Handlers{OnApproval: func(context.Context, Interaction) (Answer, error) { return Answer{}, errBroken }},
			err:      errBroken,
		},
		{
			name: "an answer that cannot be stored ends the call",
			prepare: func(f *fakeHost) {
				f.ask("i1", api.InteractionApproval)
				f.resolve = func(string, Answer) error { return api.Errorf(api.CodeStoreBusy, "locked") }
			},
			handlers: Handlers{OnApproval: allow},
			answers:  []string{"i1 allow"},
			err:      ErrStoreBusy,
		},
		{
			name: "another run's interaction is not ours to answer",
			prepare: func(f *fakeHost) {
				f.ask("i1", api.InteractionApproval)
				f.open[0].Run = "s1-r0"
			},
			handlers: Handlers{OnApproval: allow},
			status:   StatusInterrupted,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host, session := newFake()
			host.resolve = func(id string, _ Answer) error {
				host.settle(id)
				if len(host.open) == 0 {
					host.write("s1-r1", EventTurnEnded)
				}
				return nil
			}
			tt.prepare(host)
			seen := 0
			tt.handlers.OnEvent = func(e Event) {
				if e.Number != uint64(seen+2) {
					t.Errorf("event %d after %d others", e.Number, seen)
				}
				seen++
			}
			result, err := session.RunWith(context.Background(), "go", tt.handlers)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if result.Status != tt.status {
				t.Errorf("status %q, want %q", result.Status, tt.status)
			}
			if diff := cmp.Diff(tt.answers, host.answers); diff != "" {
				t.Errorf("answers: %s", diff)
			}
			if tt.err == nil && seen != len(host.journal)-1 {
				t.Errorf("%d events were seen of %d", seen, len(host.journal)-1)
			}
		})
	}
}

func TestIterationsReadPageByPage(t *testing.T) {
	t.Parallel()
	host, session := newFake()
	host.history = [][]HistoryItem{{{Text: "a"}, {Text: "b"}}, {}, {{Text: "c"}}}
	var got []string
	for item, err := range session.History(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, item.Text)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Error(diff)
	}
	h := &Harness{service: host}
	for _, err := range h.Sessions(context.Background(), SessionQuery{Cursor: "+++"}) {
		if CodeOf(err) != api.CodeStoreUnavailable {
			t.Errorf("the page's error is not told: %v", err)
		}
	}
}

func TestOptionsAreGivenOnceAtMost(t *testing.T) {
	t.Parallel()
	host, session := newFake()
	if _, err := session.Send(context.Background(), "x", TurnOptions{}, TurnOptions{}); !errors.Is(err, ErrInvalidRequest) {
		t.Errorf("send: %v", err)
	}
	agent := &Agent{harness: &Harness{service: host}}
	if _, err := agent.NewSession(context.Background(), SessionOptions{}, SessionOptions{}); !errors.Is(err, ErrInvalidRequest) {
		t.Errorf("new session: %v", err)
	}
	if len(host.submitted) > 0 {
		t.Error("something was sent")
	}
}
