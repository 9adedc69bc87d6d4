package service_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/servicetest"
)

// RE8: guards may come after the service has begun, as those of a client do that starts a runtime.
func TestASessionGoesOnOnceTheGuardsThatItsAgentNamesAreBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &acting{}
		w := a.world()
		s, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Providers: []model.Provider{suitehost.Provider(w)}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close(context.Background()) }()
		if err := s.Bind(suitehost.Tool(w.Tools[0])); err != nil {
			t.Fatal(err)
		}
		agent, err := s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "watched", DefaultModel: api.ModelRef{Provider: servicetest.Provider, Name: "m"}, Hooks: []string{"h"}, Guardrails: []string{"g"}})
		if err != nil {
			t.Fatal(err)
		}
		ref, err := s.CreateSession(t.Context(), agent, api.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(t.Context(), api.Submission{Session: ref.Session, Text: "go"}); api.CodeOf(err) != api.CodeGuardrailMissing {
			t.Fatalf("a message that nobody can check: %v", err)
		}
		var seen []string
		g := guard.Guardrail{Name: "g", Points: []guard.Point{guard.UserInput}, Check: func(_ context.Context, u guard.Unit) (guard.Verdict, error) {
			seen = append(seen, u.Text)
			return guard.Allow(), nil
		}}
		if err := s.BindGuards([]guard.Guardrail{g}, nil); err != nil {
			t.Fatal(err)
		}
		run, err := s.Submit(t.Context(), api.Submission{Session: ref.Session, Text: "go"})
		if err != nil || len(seen) != 1 {
			t.Fatalf("%v, the guardrail saw %q", err, seen)
		}
		if r, err := s.Result(t.Context(), ref.Session, run.Run); err != nil || r.Status != api.StatusInterrupted || len(r.WaitingFor) != 1 || r.WaitingFor[0].Name != "hook h" {
			t.Fatalf("the run is %+v, %v", r, err)
		}
		hook := guard.Hook{Name: "h", BeforeModel: func(context.Context, guard.ModelCall) error { return nil }}
		for name, bad := range map[string]error{
			"the same guardrail again":  s.BindGuards([]guard.Guardrail{g}, []guard.Hook{hook}),
			"one hook twice":            s.BindGuards(nil, []guard.Hook{hook, hook}),
			"a guardrail without point": s.BindGuards([]guard.Guardrail{{Name: "x", Check: g.Check}}, []guard.Hook{hook}),
		} {
			if api.CodeOf(bad) != api.CodeInvalidRequest {
				t.Errorf("%s: %v", name, bad)
			}
		}
		synctest.Wait()
		if st, _ := s.State(t.Context(), ref.Session); st.Activity != api.Waiting {
			t.Fatalf("what was refused was bound: the session is %s", st.Activity)
		}
		if err := s.BindGuards(nil, []guard.Hook{hook}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if st, err := s.State(t.Context(), ref.Session); err != nil || st.Activity != api.Idle { // at once: nobody has waited for a look
			t.Fatalf("the session is %s, %v", st.Activity, err)
		}
	})
}

// A body that begins in another process is told until when it may.
func TestASideEffectIsToldUntilWhenItMayBegin(t *testing.T) {
	t.Parallel()
	for _, effect := range []api.Effect{"", api.SideEffect, api.Idempotent, api.ReadOnly} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &acting{}
				w := a.world()
				w.Tools[0].Effect = effect
				const lease = 8 * time.Second
				s, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), ScratchDir: t.TempDir(), Providers: []model.Provider{suitehost.Provider(w)}, Lease: lease})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = s.Close(context.Background()) }()
				var within []time.Duration
				told := &told{Tool: suitehost.Tool(w.Tools[0]), run: func(call tool.Call) {
					if call.StartBefore != nil {
						within = append(within, time.Until(call.StartBefore()))
						time.Sleep(20 * time.Second) // it is renewed meanwhile
						within = append(within, time.Until(call.StartBefore()))
					}
				}}
				if err := s.Bind(told); err != nil {
					t.Fatal(err)
				}
				agent, err := s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "acting", DefaultModel: api.ModelRef{Provider: servicetest.Provider, Name: "m"},
					Tools: []api.ToolDeclaration{w.Tools[0].ToolDeclaration}, Approvals: never()})
				if err != nil {
					t.Fatal(err)
				}
				ref, err := s.CreateSession(t.Context(), agent, api.SessionOptions{})
				if err != nil {
					t.Fatal(err)
				}
				id := ref.Session
				run, err := s.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
				if err != nil {
					t.Fatal(err)
				}
				if r, err := s.Result(t.Context(), id, run.Run); err != nil || r.Status != api.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
				if effect.Repeatable() {
					if len(within) != 0 {
						t.Errorf("what may be repeated is bounded: %v", within)
					}
					return
				}
				if len(within) != 2 || within[0] <= 0 || within[0] > lease || within[1] <= 0 || within[1] > lease {
					t.Errorf("it may begin within %v of a lease of %s", within, lease)
				}
			})
		})
	}
}

// told is a tool that shows what it is told.
type told struct {
	tool.Tool
	run func(tool.Call)
}

func (t *told) Run(ctx context.Context, call tool.Call) (string, error) {
	t.run(call)
	return t.Tool.Run(ctx, call)
}
