package openworker_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
