package openworker_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/model/scripted"
)

// hiding opens a harness with an agent whose guardrail takes a word out of what users send.
func hiding(t *testing.T, dir string) *openworker.Agent {
	t.Helper()
	g := guard.Guardrail{Name: "g", Points: []guard.Point{guard.UserInput}, Check: func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
		if !strings.Contains(u.Text, "SECRET") {
			return guard.Allow(), nil
		}
		return guard.Redact(strings.ReplaceAll(u.Text, "SECRET", "[gone]"), "secret"), nil
	}}
	harness, err := openworker.Open(t.Context(), openworker.Options{StateDir: dir, ScratchDir: t.TempDir(),
		Providers: []openworker.Provider{scripted.New(scripted.Config{})}, Guardrails: []openworker.Guardrail{g}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = harness.Close(context.WithoutCancel(t.Context())) })
	agent, err := harness.Agent(t.Context(), openworker.AgentDefinition{Name: "plain", DefaultModel: openworker.ModelRef{Provider: "Scripted", Name: "demo"}, Guardrails: []string{"g"}})
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

// RU4, GR3, AT4: whoever sends one file at the same time has it accepted, though the acceptance of one redacts the original
// that they share.
func TestCallersThatSendOneFileAtOnceAreAllAccepted(t *testing.T) {
	t.Parallel()
	const callers = 8
	for name, test := range map[string]struct {
		id   func(caller int) string
		runs int
	}{
		"one submission":            {func(int) string { return "one" }, 1},
		"a submission for each":     {func(c int) string { return fmt.Sprint("submission ", c) }, callers},
		"messages without an ID":    {func(int) string { return "" }, callers},
		"two submissions among all": {func(c int) string { return fmt.Sprint(c / 4) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			first, second := hiding(t, dir), hiding(t, dir)
			for round := range 4 {
				session, err := first.NewSession(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				other, err := second.ResumeSession(t.Context(), session.Reference())
				if err != nil {
					t.Fatal(err)
				}
				file, err := openworker.AttachmentFromBytes("n.txt", "", []byte(strings.Repeat("hello SECRET world\n", 5000+round)))
				if err != nil {
					t.Fatal(err)
				}
				runs, errs := make([]*openworker.Run, callers), make([]error, callers)
				var wg sync.WaitGroup
				for c := range callers {
					who := []*openworker.Session{session, other}[c%2]
					wg.Go(func() {
						runs[c], errs[c] = who.Send(t.Context(), "look", file, openworker.TurnOptions{SubmissionID: test.id(c), WhenBusy: openworker.BusyQueue})
					})
				}
				wg.Wait()
				distinct := map[string]bool{}
				for c, err := range errs {
					if err != nil {
						t.Fatalf("round %d, caller %d: %v", round, c, err)
					}
					distinct[runs[c].ID()] = true
				}
				if len(distinct) != test.runs {
					t.Errorf("round %d: there are %d runs, want %d", round, len(distinct), test.runs)
				}
				for _, run := range runs {
					if r, err := run.Result(t.Context()); err != nil || r.Status != openworker.StatusCompleted {
						t.Errorf("run %s is %+v, %v", run.ID(), r, err)
					}
				}
			}
		})
	}
}
