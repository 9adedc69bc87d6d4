package openworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/model/openaichat"
	"github.com/openworkerai/openworker/model/scripted"
)

// harnessIn opens a harness with the offline model, and registers an agent without tools.
func harnessIn(t *testing.T, dir string) (*openworker.Harness, *openworker.Agent) {
	t.Helper()
	harness, err := openworker.Open(t.Context(), openworker.Options{
		StateDir: dir, ScratchDir: t.TempDir(), Providers: []openworker.Provider{scripted.New(scripted.Config{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := harness.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	agent, err := harness.Agent(t.Context(), openworker.AgentDefinition{Name: "plain", DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"}})
	if err != nil {
		t.Fatal(err)
	}
	return harness, agent
}

func TestAProviderThatIsNilIsRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	for name, nothing := range map[string]openworker.Provider{"an interface": nil, "a pointer": (*openaichat.Provider)(nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			_, err := openworker.Open(t.Context(), openworker.Options{StateDir: dir, Providers: []openworker.Provider{scripted.New(scripted.Config{}), nothing}})
			if !errors.Is(err, openworker.ErrInvalidRequest) || !strings.Contains(err.Error(), "provider 2 of 2") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the state directory was made: %v", err)
			}
		})
	}
}

func TestASessionIsFoundByWhatWasKept(t *testing.T) {
	t.Parallel()
	harness, agent := harnessIn(t, t.TempDir())
	session, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := deleted.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := session.Reference()
	byReference := func(ref openworker.SessionReference) func() (*openworker.Session, error) {
		return func() (*openworker.Session, error) { return harness.ResumeSession(t.Context(), ref) }
	}
	byAgent := func(ref openworker.SessionReference) func() (*openworker.Session, error) {
		return func() (*openworker.Session, error) { return agent.ResumeSession(t.Context(), ref) }
	}
	byID := func(id string) func() (*openworker.Session, error) {
		return func() (*openworker.Session, error) { return harness.Session(t.Context(), id) }
	}
	foreign := whole
	foreign.Store = "other"
	tests := []struct {
		name string
		find func() (*openworker.Session, error)
		err  error
		says string
	}{
		{"the reference", byReference(whole), nil, ""},
		{"the reference and the agent", byAgent(whole), nil, ""},
		{"the ID alone", byID(session.ID()), nil, ""},
		{"an empty reference", byReference(openworker.SessionReference{}), openworker.ErrInvalidRequest, "has no session"},
		{"a reference without its store", byAgent(openworker.SessionReference{Session: whole.Session}), openworker.ErrInvalidRequest, "has no store"},
		{"a reference of another store", byReference(foreign), openworker.ErrForeignStore, "other"},
		{"an empty ID", byID(""), openworker.ErrInvalidRequest, "is empty"},
		{"an unknown ID", byID("nobody"), openworker.ErrSessionNotFound, "nobody"},
		{"a deleted session's ID", byID(deleted.ID()), openworker.ErrSessionDeleted, "deleted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := tt.find()
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v does not say %q", err, tt.says)
				}
				return
			}
			if found.Reference() != whole {
				t.Errorf("found %+v, want %+v", found.Reference(), whole)
			}
		})
	}
	// What is found by its ID has a reference that survives JSON like any other.
	data, err := json.Marshal(whole)
	if err != nil || strings.Contains(string(data), `""`) {
		t.Errorf("%s, %v", data, err)
	}
}

// RU4: both names of a submission ID at once are one only if they say the same.
func TestTwoNamesOfASubmissionIDMustAgree(t *testing.T) {
	t.Parallel()
	_, agent := harnessIn(t, t.TempDir())
	session, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Send(t.Context(), "hello", openworker.TurnOptions{SubmissionID: "a", IdempotencyKey: "b"}); !errors.Is(err, openworker.ErrInvalidRequest) || !strings.Contains(err.Error(), "idempotencyKey") {
		t.Errorf("got %v", err)
	}
	first, err := session.Send(t.Context(), "hello", openworker.TurnOptions{SubmissionID: "a", IdempotencyKey: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := session.Send(t.Context(), "hello", openworker.TurnOptions{IdempotencyKey: "a"})
	if err != nil || again.ID() != first.ID() {
		t.Errorf("the same under the other name: %v", err)
	}
}

// A definition may name a provider that this process lacks; the turn says what it waits for, and a process
// that has it goes on.
func TestATurnWaitsForAProviderThatThisProcessLacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	define := openworker.AgentDefinition{Name: "elsewhere", DefaultModel: openworker.ModelRef{Provider: "anthropic", Name: "any"}}
	harness, _ := harnessIn(t, dir)
	agent, err := harness.Agent(t.Context(), define)
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.Run(t.Context(), "count to 3")
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != openworker.StatusInterrupted || len(result.WaitingFor) != 1 ||
		result.WaitingFor[0].Code != openworker.CodeRegistrationMissing || !strings.Contains(result.WaitingFor[0].Name, "Anthropic") {
		t.Fatalf("%+v", result)
	}

	other, err := openworker.Open(t.Context(), openworker.Options{
		StateDir: dir, ScratchDir: t.TempDir(), Providers: []openworker.Provider{scripted.New(scripted.Config{Name: "Anthropic"})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.WithoutCancel(t.Context()))
	if _, err := other.StoredAgent(t.Context(), "elsewhere"); err != nil {
		t.Fatal(err)
	}
	there, err := other.Session(t.Context(), session.ID())
	if err != nil {
		t.Fatal(err)
	}
	run, err := there.OpenRun(t.Context(), result.Run)
	if err != nil {
		t.Fatal(err)
	}
	if result, err = run.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	if result.Status != openworker.StatusCompleted || result.Text != "1, 2, 3." {
		t.Errorf("%+v", result)
	}
	_, err = agent.NewSession(t.Context(), openworker.SessionOptions{Model: &openworker.ModelRef{Provider: "Nobody", Name: "x"}})
	if !errors.Is(err, openworker.ErrUnknownProvider) || !strings.Contains(err.Error(), "Scripted") {
		t.Errorf("a provider that nobody knows: %v", err)
	}
}

// RU5: a side effect that does not stop in time is unknown, with nobody asked, until it reports after all.
func TestAnActionThatOutlivesItsTurnIsUnknownUntilItReports(t *testing.T) {
	t.Parallel()
	harness, err := openworker.Open(t.Context(), openworker.Options{
		StateDir: t.TempDir(), ScratchDir: t.TempDir(), Providers: []openworker.Provider{scripted.New(scripted.Config{})}, CancelGrace: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Close(context.WithoutCancel(t.Context()))
	begun, release := make(chan struct{}), make(chan struct{})
	pay := openworker.MustTool(openworker.NewTool("pay", "Pays.", func(context.Context, openworker.ToolCall, struct{}) (string, error) {
		close(begun)
		<-release // whatever its context says
		return "payment 17", nil
	}))
	session := newSession(harness, pay)
	run, err := session.Send(t.Context(), "use pay")
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := session.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if result, err := run.Result(t.Context()); err != nil || result.Status != openworker.StatusCancelled {
		t.Fatalf("%+v, %v", result, err)
	}
	state, err := session.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.Activity != openworker.ActivityIdle || len(state.Interactions) > 0 || len(state.UnknownActions) != 1 ||
		state.UnknownActions[0].Tool != "pay" || state.UnknownActions[0].Interaction != "" {
		t.Errorf("after the cancellation: %+v", state)
	}

	close(release)
	for event, err := range session.Events(t.Context(), state.LastEvent) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == openworker.EventToolOutcomeLate {
			late, err := openworker.Data[openworker.ToolCallFinished](event)
			if err != nil || late.Output != "payment 17" || late.CallID != state.UnknownActions[0].CallID {
				t.Errorf("%+v, %v", late, err)
			}
			break
		}
	}
	if state, err = session.State(t.Context()); err != nil || len(state.UnknownActions) > 0 {
		t.Errorf("after it has reported: %+v, %v", state.UnknownActions, err)
	}
	if _, err := session.Run(t.Context(), "hello"); err != nil {
		t.Fatal(err)
	}
	told := false
	for item, err := range session.History(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		told = told || item.Type == "notice" && strings.Contains(item.Text, "payment 17")
	}
	if !told {
		t.Error("the model was not told")
	}
}
