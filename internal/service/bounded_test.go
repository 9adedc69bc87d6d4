package service_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/service"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
	"github.com/openworkerai/openworker/tool"
)

type pages struct {
	Text string `json:"text"`
}

// onGo calls a tool in a turn whose message says "go", and else is done.
func onGo(r model.Request, _ int) scripted.Reply {
	if scripted.Round(r) == 0 && scripted.LastUser(r) == "go" {
		return scripted.Call("act", `{"text":"a"}`)
	}
	return scripted.Text("ok")
}

// goesOn holds that turns, and a summary, work behind what has come to be in the conversation.
func (w *screened) goesOn() {
	w.t.Helper()
	for i := range 3 {
		if r := w.run("hello"); r.Status != api.StatusCompleted {
			w.t.Errorf("turn %d behind it is %s, %+v", i, r.Status, r.Error)
		}
	}
	run, err := w.Compact(w.t.Context(), w.session, api.TurnOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if r := w.result(run); r.Status != api.StatusCompleted {
		w.t.Errorf("the summary is %s, %+v", r.Status, r.Error)
	}
	if r := w.run("and on"); r.Status != api.StatusCompleted {
		w.t.Errorf("behind the summary the turn is %s, %+v", r.Status, r.Error)
	}
}

// GR2, AP3: what a person changed and what the call returned are each within a guardrail's bound, and so is what the
// model is told of them together.
func TestChangedArgumentsAndAnOutputTogetherAreNotTooLargeToLookAt(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ arguments, output int }{{80_000, 60_000}, {200_000, 100}, {200_000, 119_000}, {10_000, 128_000}} {
		synctest.Test(t, func(t *testing.T) {
			output := strings.Repeat("o", size.output)
			w := screening(t, hides(guard.ModelInput), onGo, tool.Must(tool.New("act", "Acts.", func(context.Context, tool.Call, pages) (string, error) { return output, nil })),
				func(_ *service.Config, def *api.AgentDefinition) { def.Approvals = api.Approvals{} })
			run := w.send(w.session, "go", api.TurnOptions{})
			r := w.result(run)
			if len(r.Interactions) != 1 {
				t.Fatalf("%+v", r)
			}
			arguments, _ := json.Marshal(pages{strings.Repeat("x", size.arguments)}) // a text always encodes
			if err := w.Resolve(t.Context(), w.session, r.Interactions[0].ID, api.Answer{Decision: api.AllowOnce, Arguments: arguments}); err != nil {
				t.Fatal(err)
			}
			if r := w.result(run); r.Status != api.StatusCompleted {
				t.Errorf("%+v: the turn is %s, %+v", size, r.Status, r.Error)
			}
			told := strings.Join(w.outputs(), "\n")
			if withheld := strings.Contains(told, "withheld") || strings.Contains(told, "guardrail"); withheld == strings.Contains(told, output) || !withheld && !strings.Contains(told, "bytes are left out here") {
				t.Errorf("%+v: the model is told %.500q", size, told)
			}
			w.goesOn()
		})
	}
}

// GR2, RE3: what an action has done is told late, and no turn fails of it.
func TestALateOutcomeIsNotTooLargeToLookAt(t *testing.T) {
	t.Parallel()
	for _, size := range []int{119_000, 128_000} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			w := screening(t, hides(guard.ModelInput), onGo, tool.Must(tool.New("act", "Acts.", func(context.Context, tool.Call, pages) (string, error) {
				<-release // whatever becomes of its context
				return "begin" + strings.Repeat("o", size-8) + "end", nil
			})), nil)
			run := w.send(w.session, "go", api.TurnOptions{})
			synctest.Wait()
			if err := w.Cancel(t.Context(), w.session, run.Run); err != nil {
				t.Fatal(err)
			}
			if r := w.result(run); r.Status != api.StatusCancelled {
				t.Fatalf("%+v", r)
			}
			time.Sleep(time.Second) // the grace is over
			close(release)
			synctest.Wait()
			w.goesOn()
			told := w.told()
			if !strings.Contains(told, "begin"+strings.Repeat("o", 1000)) || !strings.Contains(told, "oooend") || strings.Contains(told, "bytes are left out here") != (size == 128_000) {
				t.Errorf("%d bytes of a late outcome are not told, or not as what they are", size)
			}
		})
	}
}
