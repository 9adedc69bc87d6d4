package service_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/store/sqlite"
)

func TestC51NothingOfTheStoreIsHeldOverAModelCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Dir: filepath.Join(dir, "state"), Readers: 1, BusyTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	called, answer := make(chan struct{}, 1), make(chan struct{})
	p := scripted.New(scripted.Config{Script: scripted.Sequence(scripted.Reply{Text: "done", Wait: func(ctx context.Context) error {
		called <- struct{}{}
		select {
		case <-answer:
		case <-ctx.Done():
		}
		return nil
	}})})
	h := open(t, st, p, never())
	id := h.session()
	run := h.send(id, "hello", api.TurnOptions{})
	<-called
	// The one connection that reads is free, others write, and a copy of the whole file can be made.
	if s, err := h.State(t.Context(), id); err != nil || s.Activity != api.Running {
		t.Errorf("state: %+v, %v", s, err)
	}
	other := h.session()
	h.send(id, "next", api.TurnOptions{WhenBusy: api.BusyQueue})
	if err := h.DeleteSession(t.Context(), other, api.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := st.Backup(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Error(err)
	}
	close(answer)
	if r := h.result(run); r.Status != api.StatusCompleted {
		t.Errorf("%+v", r)
	}
}

func TestC23AnAnswerReachesTheInteractionOfItsIDAndNoOther(t *testing.T) {
	t.Parallel()
	var calls []string
	p := scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Call("app__add", `{"A":1,"B":2}`), scripted.Text("done"))})
	h := open(t, memstore.New(memstore.Config{}), p, api.Approvals{}, adder(t, &calls))
	// Two sessions that are alike in everything: the agent, the tool, the arguments, the numbers of their events.
	one, two := h.session(), h.session()
	runOne, runTwo := h.send(one, "add", api.TurnOptions{}), h.send(two, "add", api.TurnOptions{})
	askedOne, askedTwo := h.result(runOne).Interactions[0], h.result(runTwo).Interactions[0]
	if askedOne.ID == askedTwo.ID || askedOne.Call.CallID == askedTwo.Call.CallID {
		t.Fatalf("two questions share an ID: %+v and %+v", askedOne, askedTwo)
	}
	if err := h.Resolve(t.Context(), one, askedTwo.ID, api.Answer{Decision: api.AllowOnce}); !errors.Is(err, api.ErrInteractionNotFound) {
		t.Errorf("the other session's question answered here gave %v", err)
	}
	if err := h.Resolve(t.Context(), two, askedTwo.ID, api.Answer{Decision: api.Deny}); err != nil {
		t.Fatal(err)
	}
	if r := h.result(runTwo); r.Status != api.StatusCompleted || len(calls) != 0 {
		t.Errorf("denied: %+v, %d calls", r, len(calls))
	}
	if r := h.result(runOne); r.Status != api.StatusInterrupted {
		t.Errorf("the first one no longer waits: %+v", r)
	}
	if err := h.Resolve(t.Context(), one, askedOne.ID, api.Answer{Decision: api.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	if r := h.result(runOne); r.Status != api.StatusCompleted || len(calls) != 1 || calls[0] != askedOne.Call.CallID {
		t.Errorf("allowed: %+v, calls %v", r, calls)
	}
}
