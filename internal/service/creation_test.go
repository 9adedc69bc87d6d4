package service_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// creating is a service whose store does as a test says, with an agent.
func creating(t *testing.T, st store.Store) (s *service.Service, agent api.AgentReference, scratch string) {
	t.Helper()
	scratch = t.TempDir()
	s, err := service.New(t.Context(), service.Config{Store: st, ScratchDir: scratch, Providers: []model.Provider{scripted.New(scripted.Config{})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	if agent, err = s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "Scripted", Name: "m"}}); err != nil {
		t.Fatal(err)
	}
	return s, agent, scratch
}

// keyed is a store that calls a test before it looks for the session that a key has made.
type keyed struct {
	store.Store
	before func()
}

func (k *keyed) CreationKey(ctx context.Context, owner, agent, key string) (string, string, error) {
	k.before()
	return k.Store.CreationKey(ctx, owner, agent, key)
}

// SE1: whoever loses a creation by key to a session that is deleted before it is found makes a session all the same.
func TestACreationThatLosesToADeletedSessionMakesOne(t *testing.T) {
	t.Parallel()
	opts := api.SessionOptions{IdempotencyKey: "k"}
	var s *service.Service
	var agent api.AgentReference
	var won api.SessionReference
	appends, looks := 0, 0
	st := &keyed{}
	st.Store = memstore.New(memstore.Config{Fault: func(a store.Append) memstore.Fate {
		if appends++; appends == 1 { // the first creation: another one comes right before it
			var err error
			if won, err = s.CreateSession(t.Context(), agent, opts); err != nil {
				t.Error(err)
			}
		}
		return memstore.Commit
	}})
	st.before = func() {
		if looks++; looks == 3 { // of the loser, for the session that it lost to
			if err := s.DeleteSession(t.Context(), won.Session, api.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
	s, agent, _ = creating(t, st)
	ref, err := s.CreateSession(t.Context(), agent, opts)
	if err != nil || ref.Session == "" || ref.Session == won.Session || won.Session == "" {
		t.Fatalf("the loser has %+v, %v; the winner had %+v", ref, err, won)
	}
	if looks < 3 {
		t.Errorf("the key was looked for %d times: nobody lost", looks)
	}
	if again, err := s.CreateSession(t.Context(), agent, opts); err != nil || again != ref {
		t.Errorf("the same again gave %+v, %v, before it was %+v", again, err, ref)
	}
	if run, err := s.Submit(t.Context(), api.Submission{Session: ref.Session, Text: "go"}); err != nil {
		t.Error(err)
	} else if r := resultOf(t, s, run); r.Status != api.StatusCompleted {
		t.Errorf("its turn is %+v", r)
	}
}

// SE1, WS1: a creation whose caller gave up while it was stored is there, with its directory.
func TestACreationThatIsCancelledWhileItIsStoredKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	opts := api.SessionOptions{IdempotencyKey: "k", InitialHistory: []api.HistoryImport{{Type: api.ImportUser, Text: "hi"}}}
	for name, fate := range map[string]memstore.Fate{"it was stored": memstore.CommitThenUnknown, "it is stored later": memstore.CommitLater, "it was refused": memstore.FailBefore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			first := true
			s, agent, scratch := creating(t, memstore.New(memstore.Config{Fault: func(a store.Append) memstore.Fate {
				if a.Create == nil || !first {
					return memstore.Commit
				}
				first = false
				if fate != memstore.FailBefore {
					cancel()
				}
				return fate
			}}))
			defer cancel()
			ref, err := s.CreateSession(ctx, agent, opts)
			if err == nil && fate == memstore.FailBefore || err != nil && fate != memstore.FailBefore && api.CodeOf(err) != api.CodeCancelled {
				t.Fatalf("the caller is told %+v, %v", ref, err)
			}
			left, err := os.ReadDir(scratch)
			if err != nil || len(left) != 1 != (fate == memstore.FailBefore) {
				t.Errorf("the directories are %v, %v", left, err)
			}
			if ref, err = s.CreateSession(t.Context(), agent, opts); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(filepath.Join(scratch, ref.Session)); err != nil || !info.IsDir() {
				t.Errorf("session %s has no directory: %v", ref.Session, err)
			}
			if list, err := s.Sessions(t.Context(), api.SessionQuery{}); err != nil || len(list.Sessions) != 1 {
				t.Errorf("there are %+v, %v", list.Sessions, err)
			}
		})
	}
}
