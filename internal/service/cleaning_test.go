package service_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// cleaned is a store whose cleanings begin only when they are let, or their context ends.
type cleaned struct {
	store.Store
	let chan struct{}
}

func (c cleaned) Clean(ctx context.Context, session string, limit int) (bool, error) {
	select {
	case <-c.let:
		return c.Store.Clean(ctx, session, limit)
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// uncleaned lists what is deleted and not cleaned.
func uncleaned(t *testing.T, st store.Store) []string {
	t.Helper()
	ids, err := st.Deleted(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// C53, SE6: who deletes a session and dies, or closes before it is cleaned, leaves that to any process that lives.
func TestASessionThatADeadProcessDeletedIsCleanedByALivingOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memstore.New(memstore.Config{})
		h := open(t, st, scripted.New(scripted.Config{}), never())
		id, kept := h.session(), h.session()
		synctest.Wait() // what it looks for at its start it has looked for
		gone, err := engine.Encode(engine.SessionDeleted{})
		if err != nil {
			t.Fatal(err)
		}
		row, err := st.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(t.Context(), store.Append{ID: "of another", Session: id, Known: row.Head, Time: time.Now(), Delete: true,
			Index: store.Index{Activity: engine.ActivityIdle}, Records: []store.Record{{Kind: string(gone.Kind), Version: gone.Version, Data: gone.Data}}}); err != nil {
			t.Fatal(err)
		}
		if got := uncleaned(t, st); len(got) != 1 {
			t.Fatalf("to be cleaned are %v", got)
		}
		time.Sleep(8 * time.Second)
		if got := uncleaned(t, st); len(got) > 0 {
			t.Errorf("eight seconds later %v are to be cleaned still", got)
		}
		if _, err := h.State(t.Context(), kept); err != nil {
			t.Errorf("the session that was not deleted: %v", err)
		}
	})
}

func TestClosingFinishesTheCleaningWithinItsGrace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begins, patience, took time.Duration // patience is the caller's, 0 for no end
		left                   int
	}{
		"a cleaning that ends soon is waited for":          {begins: time.Second, took: time.Second},
		"one that takes too long is left to others":        {begins: time.Hour, took: api.DefaultCancelGrace, left: 1},
		"a caller of less patience need not wait for that": {begins: time.Hour, patience: 300 * time.Millisecond, took: 300 * time.Millisecond, left: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := cleaned{memstore.New(memstore.Config{}), make(chan struct{})}
				s, err := service.New(t.Context(), service.Config{Store: st, ScratchDir: t.TempDir(), Clock: suitehost.Clock()})
				if err != nil {
					t.Fatal(err)
				}
				agent, err := s.RegisterAgent(t.Context(), "", api.AgentDefinition{Name: "a", DefaultModel: api.ModelRef{Provider: "OpenAI", Name: "m"}})
				if err != nil {
					t.Fatal(err)
				}
				session, err := s.CreateSession(t.Context(), agent, api.SessionOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.DeleteSession(t.Context(), session.Session, api.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				begins := time.AfterFunc(test.begins, func() { close(st.let) })
				defer begins.Stop()
				ctx, cancel := context.WithCancel(t.Context())
				if test.patience > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), test.patience)
				}
				defer cancel()
				closed := time.Now()
				if err := s.Close(ctx); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(closed); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
				if got := uncleaned(t, st); len(got) != test.left {
					t.Errorf("to be cleaned are %v, want %d", got, test.left)
				}
			})
		})
	}
}

// CL2: a build that cannot read a session keeps off; one that can is not told of that.
func TestASessionThatAnotherBuildSetAsideGoesOnHere(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]string{"of another version": "another", "of the same version, which reads less": service.Version} {
		t.Run("a build "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := memstore.New(memstore.Config{})
				s, run, _ := begun(t, api.Approvals{Mode: api.ApproveAlways}, func(c *service.Config) { c.Store = st })
				defer ended(t, s)
				synctest.Wait()
				if err := st.Park(t.Context(), run.Session, "cannot be read", build); err != nil {
					t.Fatal(err)
				}
				if err := s.ResumeSession(t.Context(), api.SessionReference{Store: st.ID(), Session: run.Session}, ""); err != nil {
					t.Errorf("resumed: %v", err)
				}
				page, err := s.Sessions(t.Context(), api.SessionQuery{})
				if err != nil || len(page.Sessions) != 1 || page.Sessions[0].Parked != "" {
					t.Errorf("the list has %+v, %v", page.Sessions, err)
				}
				if r, err := s.Result(t.Context(), run.Session, run.Run); err != nil || r.Status != api.StatusInterrupted {
					t.Errorf("the run that waits: %+v, %v", r, err)
				}
				if err := s.Cancel(t.Context(), run.Session, run.Run); err != nil {
					t.Fatal(err)
				}
				row, err := st.Session(t.Context(), run.Session)
				if diff := cmp.Diff("", row.Parked); diff != "" || err != nil {
					t.Errorf("behind what was appended it is set aside (-want +got), %v:\n%s", err, diff)
				}
			})
		})
	}
}
