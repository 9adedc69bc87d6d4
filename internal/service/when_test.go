package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/store/memstore"
)

// A result is made when there is room for it, and is the same however long that took and however the end was seen.
func TestAResultIsMadeWhenItsReaderIsReady(t *testing.T) {
	t.Parallel()
	var calls []string
	for name, c := range map[string]struct {
		text      string
		approvals api.Approvals
		status    api.RunStatus
		live      bool
	}{
		"of a run that ends while it is waited for": {"short", never(), api.StatusCompleted, true},
		"of one with a long answer":                 {strings.Repeat("long ", 20_000), never(), api.StatusCompleted, true},
		"of a run that has ended":                   {"short", never(), api.StatusCompleted, false},
		"of one that begins to wait":                {"", api.Approvals{Mode: api.ApproveAlways}, api.StatusInterrupted, true},
		"of one that waits":                         {"", api.Approvals{Mode: api.ApproveAlways}, api.StatusInterrupted, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := make(chan struct{})
			if !c.live {
				close(begin)
			}
			h := open(t, memstore.New(memstore.Config{}), scripted.New(scripted.Config{Script: func(model.Request, int) scripted.Reply {
				<-begin
				if c.text == "" {
					return scripted.Call("app__add", `{"A":1,"B":2}`)
				}
				return scripted.Text(c.text)
			}}), c.approvals, adder(t, &calls))
			run := h.send(h.session(), "hello", api.TurnOptions{})
			if !c.live {
				h.result(run)
			}
			asked, ready := make(chan struct{}), make(chan struct{})
			type made struct {
				result api.Result
				err    error
			}
			done := make(chan made, 1)
			first := true
			go func() {
				r, err := h.ResultWhen(t.Context(), run.Session, run.Run, func(context.Context) error {
					if first {
						first = false
						close(asked)
					}
					<-ready
					return nil
				})
				done <- made{r, err}
			}()
			if c.live {
				close(begin)
			}
			<-asked
			select {
			case m := <-done:
				t.Errorf("it was made before: %+v", m)
			default:
			}
			close(ready)
			m := <-done
			if m.err != nil || m.result.Status != c.status || m.result.Text != c.text || (c.status == api.StatusInterrupted) != (len(m.result.Interactions) == 1) {
				t.Errorf("%.300v, %v", m.result, m.err)
			}
			full := errors.New("there is no room")
			if _, err := h.ResultWhen(t.Context(), run.Session, run.Run, func(context.Context) error { return full }); !errors.Is(err, full) {
				t.Errorf("who is not ready is told %v", err)
			}
		})
	}
}
