package service_test

import (
	"testing"
	"testing/synctest"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/internal/suitehost"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store/memstore"
	"github.com/openworkerai/openworker/tool"
	"github.com/openworkerai/openworker/transport/servicetest"
)

// RE8: binding a tool alone wakes the sessions that waited for it, and a tool that is not as it was declared is none.
func TestASessionGoesOnOnceTheToolThatItDeclaresIsBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &acting{}
		w := a.world()
		p := inMemory(memstore.New(memstore.Config{})).Open(t, servicetest.World{Model: w.Model}).(*suitehost.Process).Running.(*service.Service)
		id := a.enter(t, p)
		run, err := p.Submit(t.Context(), api.Submission{Session: id, Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		waits := func() {
			t.Helper()
			if r := resultOf(t, p, run); r.Status != api.StatusInterrupted || len(r.WaitingFor) != 1 || r.WaitingFor[0].Name != "tool act" {
				t.Fatalf("the run is %+v", r)
			}
		}
		waits()
		other := w.Tools[0]
		other.Description = "Another tool of that name."
		if err := p.Bind(suitehost.Tool(other)); err != nil {
			t.Fatal(err)
		}
		waits()
		if err := p.Bind(suitehost.Tool(w.Tools[0])); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if st, err := p.State(t.Context(), id); err != nil || st.Activity != api.Idle { // at once: nobody has waited for a look
			t.Fatalf("the session is %s, %v", st.Activity, err)
		}
		if r := resultOf(t, p, run); r.Status != api.StatusCompleted || a.bodies.Load() != 1 {
			t.Fatalf("the run is %+v", r)
		}
	})
}

func TestAToolWithANameThatIsNotFreeIsNotBound(t *testing.T) {
	t.Parallel()
	p := inMemory(memstore.New(memstore.Config{})).Open(t, (&acting{}).world()).(*suitehost.Process).Running.(*service.Service)
	for _, name := range []string{"", "read_history", "ä", "a b"} {
		bad := (&acting{}).world().Tools[0]
		bad.Name = name
		if err := p.Bind(suitehost.Tool(bad)); api.CodeOf(err) != api.CodeInvalidTool {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := p.Bind([]tool.Tool{}...); err != nil {
		t.Error(err)
	}
}

func TestTwoProvidersOfOneNameAreRefused(t *testing.T) {
	t.Parallel()
	w := (&acting{}).world()
	_, err := service.New(t.Context(), service.Config{Store: memstore.New(memstore.Config{}), Providers: []model.Provider{suitehost.Provider(w), suitehost.Provider(w)}})
	if api.CodeOf(err) != api.CodeInvalidRequest {
		t.Fatalf("got %v", err)
	}
}
