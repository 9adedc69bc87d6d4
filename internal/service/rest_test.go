package service_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
)

// LI5, SE3: a session that a provider has asked to come back much later is given up meanwhile, so that it costs
// nothing, says until when it waits, and goes on at that time.
func TestASessionThatWaitsLongIsNotHeldMeanwhile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		after time.Duration
		held  bool
	}{{"a while", 5 * time.Second, true}, {"hours", 20 * time.Hour, false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				st := memstore.New(memstore.Config{})
				started := time.Now()
				s, err := service.New(t.Context(), service.Config{Store: st, ScratchDir: t.TempDir(), Clock: suitehost.Clock(),
					Providers: []model.Provider{scripted.New(scripted.Config{Script: func(_ model.Request, n int) scripted.Reply {
						if n == 1 {
							return scripted.Reply{Err: &model.Error{Kind: model.KindRateLimited, Message: "later", RetryAfter: test.after}}
						}
						return scripted.Reply{Text: "done"}
					}})}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close(context.Background())
				run := sent(t, s)
				synctest.Wait()
				row, err := st.Session(t.Context(), run.Session)
				if err != nil || (row.Holder != "") != test.held {
					t.Errorf("it is held by %q, %v", row.Holder, err)
				}
				state, err := s.State(t.Context(), run.Session)
				if err != nil || state.Activity != api.Waiting || len(state.WaitingFor) != 1 || state.WaitingFor[0].Until.Sub(started) < test.after {
					t.Errorf("it is %s and waits for %+v, %v", state.Activity, state.WaitingFor, err)
				}
				time.Sleep(test.after + time.Second)
				r, err := s.Result(t.Context(), run.Session, run.Run)
				if err != nil || r.Text != "done" || r.ModelCalls != 1 {
					t.Errorf("then the run is %+v, %v", r, err)
				}
				if took := time.Since(started); took > test.after+2*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
