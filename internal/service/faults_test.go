package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/transport/servicetest"
)

// acting is a world whose turns make one call of a side effect; it counts bodies and model calls.
type acting struct {
	bodies, models atomic.Int32
	hold           func(context.Context) // in the body, unless nil
}

func (a *acting) world() servicetest.World {
	return servicetest.World{
		Model: func(p servicetest.Prompt) servicetest.Answer {
			a.models.Add(1)
			if p.Round > 0 {
				return servicetest.Answer{Text: "ok"}
			}
			return servicetest.Answer{Calls: []servicetest.Call{{Name: "act", Arguments: "{}"}}}
		},
		Tools: []servicetest.Tool{{
			ToolDeclaration: api.ToolDeclaration{Name: "act", InputSchema: []byte(`{"type":"object"}`)},
			Run: func(ctx context.Context, _ servicetest.ToolCall) (string, error) {
				a.bodies.Add(1)
				if a.hold != nil {
					a.hold(ctx)
				}
				return "done", ctx.Err()
			},
		}},
	}
}

// enter registers the agent and makes a session of it.
func (a *acting) enter(t *testing.T, p api.Service) string {
	t.Helper()
	a.register(t, p)
	ref, err := p.CreateSession(t.Context(), api.AgentReference{Name: "assistant"}, api.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ref.Session
}

func (a *acting) register(t *testing.T, p api.Service) {
	t.Helper()
	if _, err := p.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "assistant", DefaultModel: api.ModelRef{Provider: servicetest.Provider, Name: "m"},
		Approvals: never(), Tools: []api.ToolDeclaration{a.world().Tools[0].ToolDeclaration}}); err != nil {
		t.Fatal(err)
	}
}

func inMemory(st *memstore.Store) *suitehost.Processes {
	return &suitehost.Processes{Start: start, Connect: func(*testing.T) *suitehost.Mortal { return &suitehost.Mortal{Store: st, Kill: st.Kill} }}
}

func resultOf(t *testing.T, s api.Service, run api.RunReference) api.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := s.Result(ctx, run.Session, run.Run)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var fates = map[string]memstore.Fate{
	"fails": memstore.FailBefore, "is lost": memstore.LoseUnknown, "is stored and not answered": memstore.CommitThenUnknown, "is stored later": memstore.CommitLater,
}

// RE1, RE2: whatever becomes of one append, the turn runs once.
func TestATurnWhoseStoreFailsOnceRunsOnceAllTheSame(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		for nth := range 8 {
			t.Run(fmt.Sprintf("append %d %s", nth, name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var turn atomic.Bool
					var seen atomic.Int32
					st := memstore.New(memstore.Config{Fault: func(store.Append) memstore.Fate {
						if turn.Load() && int(seen.Add(1)) == nth+1 {
							return fate
						}
						return memstore.Commit
					}})
					a := &acting{}
					p := inMemory(st).Open(t, a.world())
					id := a.enter(t, p)
					turn.Store(true)
					sub := api.Submission{Session: id, Text: "go", Options: api.TurnOptions{SubmissionID: "one"}}
					run, err := p.Submit(t.Context(), sub)
					if err != nil {
						if fate != memstore.FailBefore || api.CodeOf(err) != api.CodeStoreUnavailable || a.models.Load() > 1 {
							t.Fatalf("%v, %d model calls", err, a.models.Load())
						}
						if st, err := p.State(t.Context(), id); err != nil || st.LastEvent != 1 || st.Activity != api.Idle {
							t.Fatalf("the refusal left %+v, %v", st, err)
						}
						if run, err = p.Submit(t.Context(), sub); err != nil || run.Repeated {
							t.Fatalf("the repeat gave %+v, %v", run, err)
						}
					}
					if r := resultOf(t, p, run); r.Status != api.StatusCompleted || r.ModelCalls != 2 || a.bodies.Load() != 1 {
						t.Fatalf("the result is %+v, the body ran %d times", r, a.bodies.Load())
					}
					if again, err := p.Submit(t.Context(), sub); err != nil || again.Run != run.Run {
						t.Fatalf("sent again it is %+v, %v; before it was %+v", again, err, run)
					}
					page, err := p.Events(t.Context(), api.EventQuery{Session: id})
					if err != nil {
						t.Fatal(err)
					}
					kinds := map[api.EventType]int{}
					for _, e := range page.Events {
						kinds[e.Type]++
					}
					for _, once := range []api.EventType{api.EventTurnAccepted, api.EventTurnEnded, api.EventToolCallStarted, api.EventToolCallFinished} {
						if kinds[once] != 1 {
							t.Errorf("the journal has %d %s", kinds[once], once)
						}
					}
				})
			})
		}
	}
}

// SE1: a creation is acknowledged once it is stored, and stored once.
func TestASessionWhoseCreationTheStoreDoesNotAnswerIsMadeOnce(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var used atomic.Bool
				st := memstore.New(memstore.Config{Fault: func(a store.Append) memstore.Fate {
					if a.Create != nil && used.CompareAndSwap(false, true) {
						return fate
					}
					return memstore.Commit
				}})
				a := &acting{}
				p := inMemory(st).Open(t, a.world())
				a.register(t, p)
				opts := api.SessionOptions{IdempotencyKey: "k"}
				ref, err := p.CreateSession(t.Context(), api.AgentReference{Name: "assistant"}, opts)
				if fate == memstore.FailBefore {
					if api.CodeOf(err) != api.CodeStoreUnavailable {
						t.Fatalf("got %v", err)
					}
					ref, err = p.CreateSession(t.Context(), api.AgentReference{Name: "assistant"}, opts)
				}
				if err != nil {
					t.Fatal(err)
				}
				again, err := p.CreateSession(t.Context(), api.AgentReference{Name: "assistant"}, opts)
				if err != nil || again != ref {
					t.Fatalf("first %+v, then %+v, %v", ref, again, err)
				}
				page, err := p.Sessions(t.Context(), api.SessionQuery{})
				if err != nil || len(page.Sessions) != 1 {
					t.Fatalf("there are %+v, %v", page.Sessions, err)
				}
			})
		})
	}
}

// RE4, C54: a process that is silent loses its sessions after its lease and a margin, not before, and can
// write nothing when it comes back; a body of it is told to stop before anybody takes over.
func TestAPausedOwnerIsTakenOverAfterItsLeaseAndCanWriteNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New(memstore.Config{})
		var stopped atomic.Int64
		started := time.Now()
		body := make(chan struct{}, 1)
		a := &acting{hold: func(ctx context.Context) {
			body <- struct{}{}
			<-ctx.Done()
			stopped.Store(int64(time.Since(started)))
		}}
		owner := &suitehost.Mortal{Store: st, Kill: func(string) {}}
		first := (&suitehost.Processes{Start: start, Connect: func(*testing.T) *suitehost.Mortal { return owner }}).Open(t, a.world())
		second := inMemory(st).Open(t, a.world())
		id := a.enter(t, first)
		a.register(t, second)
		run, err := first.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		<-body
		owner.Cut.Store(true) // its renewals do not come through; its lease stands
		paused := time.Since(started)
		before, err := second.State(t.Context(), id)
		if err != nil || before.Activity != api.Running {
			t.Fatalf("right after the pause the session is %s, %v", before.Activity, err)
		}
		for activity := before.Activity; activity != api.Recovering; { // its lease is over, and nobody may take over yet
			time.Sleep(servicetest.Poll)
			st, err := second.State(t.Context(), id)
			if activity = st.Activity; err != nil || activity != api.Running && activity != api.Recovering {
				t.Fatalf("behind the lease the session is %s, %v", activity, err)
			}
			if now := time.Now(); activity == api.Running != st.LeaseUntil.After(now) {
				t.Fatalf("%s at %v under a lease until %v", activity, now, st.LeaseUntil)
			}
		}
		r := resultOf(t, second, run)
		took := time.Since(started) - paused
		if r.Status != api.StatusInterrupted || len(r.Interactions) != 1 || r.Interactions[0].Kind != api.InteractionUnknownOutcome {
			t.Fatalf("the result is %+v", r)
		}
		if took < servicetest.Lease/2 || took > 2*servicetest.Lease {
			t.Errorf("taken over after %v, the lease is %v", took, servicetest.Lease)
		}
		if at := time.Duration(stopped.Load()); at == 0 || at > paused+took {
			t.Errorf("the body was told to stop at %v, the take-over came at %v", at, paused+took)
		}
		owner.Cut.Store(false)
		if err := second.Resolve(t.Context(), id, r.Interactions[0].ID, api.Answer{Decision: api.OutcomeSucceeded, Output: "sent"}); err != nil {
			t.Fatal(err)
		}
		if r := resultOf(t, second, run); r.Status != api.StatusCompleted || a.bodies.Load() != 1 {
			t.Fatalf("the result is %+v, the body ran %d times", r, a.bodies.Load())
		}
		time.Sleep(4 * servicetest.Lease) // of the bubble: all that the old owner might still do is done
		page, err := second.History(t.Context(), api.HistoryQuery{Session: id})
		if err != nil || len(page.Items) != 4 || page.Items[2].Output != "sent" {
			t.Fatalf("the history is %+v, %v", page.Items, err)
		}
		if again, err := first.Submit(t.Context(), api.Submission{Session: id, Text: "and on"}); err != nil {
			t.Fatalf("the process that came back: %+v, %v", again, err)
		}
	})
}

// RE4: a process whose renewals fail for less than its lease loses nothing and repeats nothing.
func TestAStoreThatIsAwayForAShortTimeCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New(memstore.Config{})
		gate := make(chan struct{})
		a := &acting{hold: func(ctx context.Context) {
			select {
			case <-gate:
			case <-ctx.Done():
			}
		}}
		m := &suitehost.Mortal{Store: st, Kill: func(string) {}}
		p := (&suitehost.Processes{Start: start, Connect: func(*testing.T) *suitehost.Mortal { return m }}).Open(t, a.world())
		id := a.enter(t, p)
		run, err := p.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		m.Cut.Store(true)
		close(gate) // the body returns; its outcome cannot be stored
		time.Sleep(servicetest.Lease / 2)
		m.Cut.Store(false)
		if r := resultOf(t, p, run); r.Status != api.StatusCompleted || a.bodies.Load() != 1 || r.ModelCalls != 2 {
			t.Fatalf("the result is %+v, the body ran %d times", r, a.bodies.Load())
		}
	})
}

// A session that this build cannot fold is set aside with its reason; others go on, and it can be deleted.
func TestASessionThatCannotBeReadIsSetAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New(memstore.Config{})
		a := &acting{}
		first := inMemory(st).Open(t, a.world())
		id, other := a.enter(t, first), a.enter(t, first)
		first.Stop()
		if _, err := st.Append(t.Context(), store.Append{ID: "x", Session: id, Known: 1, Time: time.Now(), Index: store.Index{Activity: "idle"},
			Records: []store.Record{{Kind: "from_the_future", Version: 1, Data: []byte("{}")}}}); err != nil {
			t.Fatal(err)
		}
		p := inMemory(st).Open(t, a.world())
		a.register(t, p)
		_, submitErr := p.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
		_, stateErr := p.State(t.Context(), id)
		_, eventsErr := p.Events(t.Context(), api.EventQuery{Session: id})
		_, historyErr := p.History(t.Context(), api.HistoryQuery{Session: id})
		for i, err := range []error{submitErr, stateErr, eventsErr, p.Cancel(t.Context(), id, "")} {
			if api.CodeOf(err) != api.CodeSessionParked {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if historyErr != nil && api.CodeOf(historyErr) != api.CodeSessionParked {
			t.Errorf("history: %v", historyErr)
		}
		synctest.Wait()
		caps, _ := p.Capabilities(t.Context())
		if err := p.ResumeSession(t.Context(), api.SessionReference{Store: caps.Store, Session: id, Agent: "assistant"}, "assistant"); api.CodeOf(err) != api.CodeSessionParked {
			t.Errorf("resume: %v", err)
		}
		page, err := p.Sessions(t.Context(), api.SessionQuery{})
		if err != nil || !slices.ContainsFunc(page.Sessions, func(s api.SessionInfo) bool { return s.Reference.Session == id && s.Parked != "" }) {
			t.Errorf("the list has %+v, %v", page.Sessions, err)
		}
		run, err := p.Submit(t.Context(), api.Submission{Session: other, Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		if r := resultOf(t, p, run); r.Status != api.StatusCompleted {
			t.Errorf("another session: %+v", r)
		}
		if err := p.DeleteSession(t.Context(), id, api.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.State(t.Context(), id); !errors.Is(err, api.ErrSessionDeleted) {
			t.Errorf("after its deletion: %v", err)
		}
	})
}

// C16: a take-over that the store fails is tried again.
func TestATakeOverThatTheStoreFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, fate := range fates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var failures atomic.Int32
				var recovering atomic.Bool
				st := memstore.New(memstore.Config{Fault: func(a store.Append) memstore.Fate {
					if recovering.Load() && failures.Add(1) <= 5 {
						return fate
					}
					return memstore.Commit
				}})
				a := &acting{}
				first := inMemory(st).Open(t, a.world())
				id := a.enter(t, first)
				body := make(chan struct{}, 1)
				a.hold = func(ctx context.Context) { body <- struct{}{}; <-ctx.Done() }
				run, err := first.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
				if err != nil {
					t.Fatal(err)
				}
				<-body
				first.Crash()
				recovering.Store(true)
				second := inMemory(st).Open(t, a.world())
				a.register(t, second)
				r := resultOf(t, second, run)
				if r.Status != api.StatusInterrupted || len(r.Interactions) != 1 || a.bodies.Load() != 1 || failures.Load() <= 5 {
					t.Fatalf("%+v, the body ran %d times, appends %d", r, a.bodies.Load(), failures.Load())
				}
			})
		})
	}
}

// LI5: what a provider cannot do is tried a bounded number of times, and the run says how often.
func TestAModelCallIsTriedABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		a := &acting{}
		w := a.world()
		w.Model = func(servicetest.Prompt) servicetest.Answer {
			calls.Add(1)
			return servicetest.Answer{Text: "half", Fail: api.CodeProviderOverloaded}
		}
		p := inMemory(memstore.New(memstore.Config{})).Open(t, w)
		id := a.enter(t, p)
		run, err := p.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		r := resultOf(t, p, run)
		if r.Status != api.StatusFailed || r.Error.Code != api.CodeProviderOverloaded || !r.Error.Retryable || calls.Load() != api.MaxModelAttempts {
			t.Fatalf("after %d attempts: %+v %+v", calls.Load(), r, r.Error)
		}
		page, err := p.Events(t.Context(), api.EventQuery{Session: id})
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		for _, e := range page.Events {
			if e.Type == api.EventModelCallFailed {
				tries++
			}
		}
		if tries != api.MaxModelAttempts {
			t.Errorf("the journal tells of %d tries", tries)
		}
	})
}

// RE3: an action that says "running" for ever is asked about in the end.
func TestAnInspectionThatSaysRunningForEverEndsWithAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var inspections atomic.Int32
		a := &acting{}
		w := a.world()
		body := make(chan struct{}, 1)
		a.hold = func(ctx context.Context) { body <- struct{}{}; <-ctx.Done() }
		w.Tools[0].Inspect = func(context.Context, servicetest.ToolCall) (string, string, error) {
			inspections.Add(1)
			return "running", "", nil
		}
		st := memstore.New(memstore.Config{})
		first := inMemory(st).Open(t, w)
		id := a.enter(t, first)
		run, err := first.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		<-body
		first.Crash()
		second := inMemory(st).Open(t, w)
		a.register(t, second)
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		r, err := second.Result(ctx, id, run.Run)
		if err != nil || r.Status != api.StatusInterrupted || r.Interactions[0].Kind != api.InteractionUnknownOutcome || inspections.Load() != api.MaxInspections {
			t.Fatalf("after %d inspections: %+v, %v", inspections.Load(), r, err)
		}
	})
}

// SE6, C53: nothing of a deleted session is left but its tombstone, also when its process dies in between.
func TestADeletedSessionLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New(memstore.Config{})
		a := &acting{}
		first := inMemory(st).Open(t, a.world())
		id := a.enter(t, first)
		run, err := first.Submit(t.Context(), api.Submission{Session: id, Text: "go", Options: api.TurnOptions{SubmissionID: "one"}})
		if err != nil {
			t.Fatal(err)
		}
		resultOf(t, first, run)
		row, err := st.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		// A process marks it as deleted and dies before it has cleaned up.
		if _, err := st.Append(t.Context(), store.Append{ID: "x", Session: id, Known: row.Head, Time: time.Now(), Delete: true,
			Records: []store.Record{{Kind: "session_deleted", Version: 1, Data: []byte("{}")}}}); err != nil {
			t.Fatal(err)
		}
		first.Stop()
		second := inMemory(st).Open(t, a.world())
		synctest.Wait()
		if left, err := st.Deleted(t.Context(), 10); err != nil || len(left) > 0 {
			t.Fatalf("not cleaned are %v, %v", left, err)
		}
		if _, err := second.State(t.Context(), id); !errors.Is(err, api.ErrSessionDeleted) {
			t.Fatalf("the state is %v", err)
		}
		if _, err := second.Submit(t.Context(), api.Submission{Session: id, Text: "go", Options: api.TurnOptions{SubmissionID: "one"}}); !errors.Is(err, api.ErrSessionDeleted) {
			t.Fatalf("a repeated submission gives %v", err)
		}
	})
}
