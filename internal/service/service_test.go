package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
)

type host struct {
	*service.Service
	t     *testing.T
	store store.Store
	agent api.AgentReference
}

// open starts a service over a store with one agent that has the tools.
func open(t *testing.T, st store.Store, provider model.Provider, approvals api.Approvals, tools ...tool.Tool) *host {
	t.Helper()
	ctx := t.Context()
	s, err := service.New(ctx, service.Config{Store: st, ScratchDir: t.TempDir(), Providers: []model.Provider{provider}, Lease: time.Second, Poll: 20 * time.Millisecond,
		CheckRequest: func(r model.Request) {
			if err := model.Check(r); err != nil {
				t.Errorf("a request breaks the rules: %v", err)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := s.Bind(tools...); err != nil {
		t.Fatal(err)
	}
	def := api.AgentDefinition{Name: "assistant", Instructions: "Help.", DefaultModel: api.ModelRef{Provider: provider.Name(), Name: "m"}, Approvals: approvals}
	for _, tl := range tools {
		def.Tools = append(def.Tools, tl.Declaration())
	}
	ref, err := s.RegisterAgent(ctx, "", def)
	if err != nil {
		t.Fatal(err)
	}
	return &host{Service: s, t: t, store: st, agent: ref}
}

func (h *host) session() string {
	h.t.Helper()
	ref, err := h.CreateSession(h.t.Context(), h.agent, api.SessionOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return ref.Session
}

func (h *host) send(session, text string, opts api.TurnOptions) api.RunReference {
	h.t.Helper()
	run, err := h.Submit(h.t.Context(), api.Submission{Session: session, Text: text, Options: opts})
	if err != nil {
		h.t.Fatal(err)
	}
	return run
}

func (h *host) result(run api.RunReference) api.Result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	r, err := h.Result(ctx, run.Session, run.Run)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func never() api.Approvals { return api.Approvals{Mode: api.ApproveNever} }

func adder(t *testing.T, calls *[]string) tool.Tool {
	t.Helper()
	type in struct {
		A, B int
	}
	tl, err := tool.New("app.add", "Adds.", func(_ context.Context, c tool.Call, in in) (string, error) {
		*calls = append(*calls, c.ID)
		return fmt.Sprint(in.A + in.B), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func TestATurnWithAToolRunsToItsEnd(t *testing.T) {
	t.Parallel()
	var calls []string
	p := scripted.New(scripted.Config{Script: scripted.Sequence(
		scripted.Call("app__add", `{"A":1,"B":2}`),
		scripted.Text("It is 3."),
	)})
	h := open(t, memstore.New(memstore.Config{}), p, never(), adder(t, &calls))
	id := h.session()
	r := h.result(h.send(id, "add", api.TurnOptions{SubmissionID: "one"}))
	if r.Status != api.StatusCompleted || r.Text != "It is 3." || r.ModelCalls != 2 || len(calls) != 1 {
		t.Fatalf("result %+v, calls %v", r, calls)
	}
	again := h.send(id, "add", api.TurnOptions{SubmissionID: "one"})
	if !again.Repeated || h.result(again).Text != "It is 3." {
		t.Fatalf("the repeat gave %+v", again)
	}
	if _, err := h.Submit(t.Context(), api.Submission{Session: id, Text: "other", Options: api.TurnOptions{SubmissionID: "one"}}); !errors.Is(err, api.ErrSubmissionConflict) {
		t.Fatalf("a changed submission gave %v", err)
	}
	page, err := h.Events(t.Context(), api.EventQuery{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range page.Events {
		t.Logf("%d %s %s", e.Number, e.Type, e.Data)
		if e.Number != uint64(i+1) {
			t.Errorf("event %d has number %d", i+1, e.Number)
		}
	}
	hist, err := h.History(t.Context(), api.HistoryQuery{Session: id})
	if err != nil || len(hist.Items) != 4 {
		t.Fatalf("history %+v, %v", hist, err)
	}
}

func TestAnApprovalLeavesTheRunWaitingAndItsAnswerAloneWakesIt(t *testing.T) {
	t.Parallel()
	var calls []string
	p := scripted.New(scripted.Config{Script: scripted.Sequence(
		scripted.Call("app__add", `{"A":1,"B":2}`),
		scripted.Text("done"),
	)})
	h := open(t, memstore.New(memstore.Config{}), p, api.Approvals{}, adder(t, &calls))
	id := h.session()
	run := h.send(id, "add", api.TurnOptions{})
	r := h.result(run)
	if r.Status != api.StatusInterrupted || len(r.Interactions) != 1 || len(calls) != 0 {
		t.Fatalf("%+v", r)
	}
	if err := h.Resolve(t.Context(), id, r.Interactions[0].ID, api.Answer{Decision: api.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	if err := h.Resolve(t.Context(), id, r.Interactions[0].ID, api.Answer{Decision: api.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	if err := h.Resolve(t.Context(), id, r.Interactions[0].ID, api.Answer{Decision: api.Deny}); !errors.Is(err, api.ErrAlreadyResolved) {
		t.Fatal(err)
	}
	if r := h.result(run); r.Status != api.StatusCompleted || len(calls) != 1 {
		t.Fatalf("%+v %v", r, calls)
	}
}

// sent is a message, "go", in a session of an agent without tools.
func sent(t *testing.T, s *service.Service) api.RunReference {
	t.Helper()
	agent, err := s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.CreateSession(t.Context(), agent, api.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.Submit(t.Context(), api.Submission{Session: session.Session, Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	return run
}
