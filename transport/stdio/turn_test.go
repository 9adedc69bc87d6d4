package stdio_test

import (
	"context"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/tool"
)

// turns is a host whose turns end when the test says so.
type turns struct {
	api.Service
	accepted chan struct{}
	ends     chan struct{}
}

func (*turns) Bind(...tool.Tool) error                                { return nil }
func (*turns) BindGuards([]guard.Guardrail, []guard.Hook) error       { return nil }
func (*turns) Quiesce()                                               {}
func (*turns) Close(context.Context) error                            { return nil }
func (*turns) Capabilities(context.Context) (api.Capabilities, error) { return api.Capabilities{}, nil }

func (h *turns) Submit(_ context.Context, sub api.Submission) (api.RunReference, error) {
	if sub.Text == "" {
		return api.RunReference{}, api.Errorf(api.CodeInvalidRequest, "nothing")
	}
	return api.RunReference{Session: sub.Session, Run: sub.Session + "-r1", Accepted: 2}, nil
}

func (h *turns) ResultWhen(ctx context.Context, _, run string, _ func(context.Context) error) (api.Result, error) {
	h.accepted <- struct{}{}
	select {
	case <-h.ends:
		return api.Result{Run: run, Status: api.StatusCompleted, Text: "done"}, nil
	case <-ctx.Done():
		return api.Result{}, api.Errorf(api.CodeCancelled, "given up")
	}
}

// RU6: what is given up behind the acceptance names the run, which goes on.
func TestATurnInOneRequestTellsItsRunWhateverBecomesOfTheWait(t *testing.T) {
	t.Parallel()
	host := &turns{accepted: make(chan struct{}, 1), ends: make(chan struct{}, 1)}
	lines, say, gone := talk(t, host)
	submit := func(id, text string) {
		say(`{"jsonrpc":"2.0","id":"` + id + `","method":"turn/run","params":{"session":"s","text":"` + text + `"}}`)
	}
	submit("2", "")
	if refused := <-lines; refused["error"].(map[string]any)["data"].(map[string]any)["details"] != nil {
		t.Errorf("a message that was refused has a run: %v", refused)
	}
	submit("3", "hello")
	<-host.accepted
	host.ends <- struct{}{}
	done := (<-lines)["result"].(map[string]any)
	if done["run"].(map[string]any)["run"] != "s-r1" || done["result"].(map[string]any)["text"] != "done" {
		t.Errorf("it came to %v", done)
	}
	submit("4", "hello")
	<-host.accepted
	say(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"4"}}`)
	data := (<-lines)["error"].(map[string]any)["data"].(map[string]any)
	if details, _ := data["details"].(map[string]any); data["code"] != "cancelled" || details["run"] != "s-r1" {
		t.Errorf("given up, it tells %v", data)
	}
	submit("5", "hello")
	<-host.accepted
	gone()
	data = (<-lines)["error"].(map[string]any)["data"].(map[string]any)
	if details, _ := data["details"].(map[string]any); data["code"] != "closed" || details["run"] != "s-r1" {
		t.Errorf("at the end of the input it tells %v", data)
	}
}
