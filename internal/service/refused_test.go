package service_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
)

// What cannot be meant is refused with a code and a next step, and changes nothing.
func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	h := open(t, memstore.New(memstore.Config{}), acts(), api.Approvals{}, act("Acts.", says("ok")))
	id := h.session()
	run := h.send(id, "go", api.TurnOptions{SubmissionID: "one"})
	asked := h.result(run).Interactions[0].ID
	before, err := h.State(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	submit := func(o api.TurnOptions) error {
		_, err := h.Submit(t.Context(), api.Submission{Session: id, Text: "go", Options: o})
		return err
	}
	follow := func(q api.FollowQuery) error {
		_, err := h.Follow(t.Context(), q)
		return err
	}
	history := func(cursor string) error {
		_, err := h.History(t.Context(), api.HistoryQuery{Session: id, Cursor: cursor})
		return err
	}
	for _, test := range []struct {
		name string
		err  error
		code api.Code
		says string
	}{
		{"a tool that is nil", h.Bind(act("Acts.", says("ok")), nil), api.CodeInvalidTool, "tool 2 of 2 is nil"},
		{"two IDs of one submission, of which one was accepted", submit(api.TurnOptions{SubmissionID: "one", IdempotencyKey: "two"}), api.CodeInvalidRequest, "give one"},
		{"an ID that is too long", submit(api.TurnOptions{IdempotencyKey: strings.Repeat("k", api.MaxSubmissionIDBytes+1)}), api.CodeInvalidRequest, "at most 256"},
		{"following a session from behind its end", follow(api.FollowQuery{Session: id, After: before.LastEvent + 1}), api.CodeInvalidRequest, "the newest event"},
		{"following a run from behind its session's end", follow(api.FollowQuery{Session: id, Run: run.Run, After: math.MaxUint64}), api.CodeInvalidRequest, "the newest event"},
		{"a cursor with a sign", history("+1"), api.CodeInvalidRequest, "begin without"},
		{"a cursor behind the end", history("99"), api.CodeInvalidRequest, "begin without"},
		{"an output of an action that is only allowed", h.Resolve(t.Context(), id, asked, api.Answer{Decision: api.AllowOnce, Output: "done"}), api.CodeInvalidRequest, "leave it out"},
	} {
		if api.CodeOf(test.err) != test.code || !strings.Contains(test.err.Error(), test.says) {
			t.Errorf("%s: %v", test.name, test.err)
		}
	}
	after, err := h.State(t.Context(), id)
	if err != nil || after.LastEvent != before.LastEvent {
		t.Errorf("the session has gone from event %d to %d, %v", before.LastEvent, after.LastEvent, err)
	}
	if err := follow(api.FollowQuery{Session: id, After: before.LastEvent}); err != nil {
		t.Errorf("following behind the last event: %v", err)
	}
}

func TestAProviderThatIsNilIsRefused(t *testing.T) {
	t.Parallel()
	_, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), Providers: []model.Provider{acts(), nil}})
	if api.CodeOf(err) != api.CodeInvalidRequest || !strings.Contains(err.Error(), "provider 2 of 2 is nil") {
		t.Fatalf("got %v", err)
	}
}

// After Close everything is refused, also where the store lives on; nothing waits for what cannot come.
func TestAfterCloseEverythingIsRefused(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	st := memstore.New(memstore.Config{})
	s, err := service.New(ctx, service.Config{Store: st, ScratchDir: t.TempDir(), Providers: []model.Provider{scripted.New(scripted.Config{})}})
	if err != nil {
		t.Fatal(err)
	}
	def := api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}}
	agent, err := s.RegisterAgent(ctx, "", def)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.CreateSession(ctx, agent, api.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id := ref.Session
	run, err := s.Submit(ctx, api.Submission{Session: id, Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Result(ctx, id, run.Run); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(ctx), s.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"Bind":          func() error { return s.Bind([]tool.Tool{}...) },
		"Capabilities":  func() error { _, err := s.Capabilities(ctx); return err },
		"RegisterAgent": func() error { _, err := s.RegisterAgent(ctx, "", def); return err },
		"Agents":        func() error { _, err := s.Agents(ctx, api.AgentQuery{}); return err },
		"CreateSession": func() error { _, err := s.CreateSession(ctx, agent, api.SessionOptions{}); return err },
		"ResumeSession": func() error { return s.ResumeSession(ctx, ref, "a") },
		"Sessions":      func() error { _, err := s.Sessions(ctx, api.SessionQuery{}); return err },
		"State":         func() error { _, err := s.State(ctx, id); return err },
		"DeleteSession": func() error { return s.DeleteSession(ctx, id, api.DeleteOptions{}) },
		"Submit":        func() error { _, err := s.Submit(ctx, api.Submission{Session: id, Text: "x"}); return err },
		"Run":           func() error { _, err := s.Run(ctx, id, run.Run); return err },
		"Cancel":        func() error { return s.Cancel(ctx, id, "") },
		"Resolve":       func() error { return s.Resolve(ctx, id, id+"-i3", api.Answer{Decision: api.Deny}) },
		"Interactions":  func() error { _, err := s.Interactions(ctx, api.InteractionQuery{}); return err },
		"Result":        func() error { _, err := s.Result(ctx, id, run.Run); return err },
		"Events":        func() error { _, err := s.Events(ctx, api.EventQuery{Session: id}); return err },
		"Follow":        func() error { _, err := s.Follow(ctx, api.FollowQuery{Session: id}); return err },
		"History":       func() error { _, err := s.History(ctx, api.HistoryQuery{Session: id}); return err },
		"Usage":         func() error { _, err := s.Usage(ctx, api.UsageQuery{}); return err },
	} {
		if err := call(); !errors.Is(err, api.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows, err := st.Session(ctx, id); err != nil || rows.Deleted {
		t.Errorf("the session is %+v, %v", rows, err)
	}
}

// AG1, AG2: however a host spells a provider that all know, the definition is the same.
func TestAKnownProviderHasOneSpellingOnAllHosts(t *testing.T) {
	t.Parallel()
	digests := map[string]bool{}
	for _, name := range []string{"OpenAI", "openai", "OPENAI"} {
		h := open(t, memstore.New(memstore.Config{}), scripted.New(scripted.Config{Name: name}), never())
		digests[h.agent.Digest] = true
		page, err := h.Agents(t.Context(), api.AgentQuery{})
		if err != nil || page.Agents[0].DefaultModel.Provider != "OpenAI" {
			t.Errorf("%s: %+v, %v", name, page.Agents, err)
		}
		if r := h.result(h.send(h.session(), "go", api.TurnOptions{})); r.Status != api.StatusCompleted {
			t.Errorf("%s: the run is %s, waits for %v", name, r.Status, r.WaitingFor)
		}
	}
	if len(digests) != 1 {
		t.Errorf("there are %d digests", len(digests))
	}
}

func TestANegativeSettingIsRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]service.Config{
		"Lease": {Lease: -1}, "Poll": {Poll: -1}, "ToolTimeout": {ToolTimeout: -1}, "CancelGrace": {CancelGrace: -1}, "ToolParallel": {ToolParallel: -1},
	} {
		cfg.Store = memstore.New(memstore.Config{})
		if _, err := service.New(t.Context(), cfg); api.CodeOf(err) != api.CodeInvalidRequest || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
