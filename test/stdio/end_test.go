package stdio_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

func TestAfterShutdownRequestsAreClosedAndTheInputsEndEndsTheProcess(t *testing.T) {
	t.Parallel()
	r := open(t)
	session := newSession(t, r)
	say(t, r, session, "hello")
	r.Call(rpc.MethodShutdown, nil)
	for _, c := range []struct{ method, params string }{
		{rpc.MethodSubmit, `{"session":"` + session + `","text":"more"}`},
		{rpc.MethodState, `{"session":"` + session + `"}`},
		{rpc.MethodSubscribe, `{"session":"` + session + `"}`},
		{rpc.MethodSessions, `{}`},
	} {
		if e := r.Refused(c.method, c.params); e.Data.Code != api.CodeClosed {
			t.Errorf("%s: %+v", c.method, e)
		}
	}
	if e := r.Refused(rpc.MethodInitialize, hello); e.Data.Code != api.CodeInvalidRequest && e.Data.Code != api.CodeClosed {
		t.Errorf("initialize: %+v", e)
	}
	r.Call(rpc.MethodShutdown, nil)
	r.CloseInput()
	if code := r.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestShutdownBeforeInitializeIsFineAndFinal(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.Call(rpc.MethodShutdown, nil)
	if e := r.Refused(rpc.MethodInitialize, hello); e.Data.Code != api.CodeClosed {
		t.Errorf("%+v", e)
	}
	r.CloseInput()
	if code := r.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// working is a runtime with a turn that waits for a tool in the client.
func working(t *testing.T) (r *child.Runtime, run rpc.RunID, work child.Message) {
	t.Helper()
	r = open(t)
	run = submit(t, r, newSession(t, r), "use app.work with {}")
	return r, run, r.Callback(rpc.MethodRunTool)
}

func TestShutdownEndsWhatWaits(t *testing.T) {
	t.Parallel()
	r, run, _ := working(t)
	r.Request("result", rpc.MethodResult, run)
	var s rpc.Subscription
	into(t, r.Call(rpc.MethodSubscribe, api.FollowQuery{Session: run.Session}), &s)
	r.Call(rpc.MethodNext, s)
	r.Request("next", rpc.MethodNext, s)
	r.Call(rpc.MethodShutdown, nil)
	for _, id := range []string{`"result"`, `"next"`} {
		if a := r.Answer(id); codeOf(a) != api.CodeClosed {
			t.Errorf("%s: %s", id, a.Raw)
		}
	}
	holdsNoOutcome(t, r, run)
}

// holdsNoOutcome ends the runtime if it has not ended, opens the store with another one and holds that the tool's outcome is
// unknown, and that the session goes on when a person has said what came of it.
func holdsNoOutcome(t *testing.T, r *child.Runtime, run rpc.RunID) {
	t.Helper()
	r.CloseInput()
	r.Exit()
	next := child.Start(t, child.Config{Binary: binary, StateDir: r.StateDir})
	next.Call(rpc.MethodInitialize, hello)
	next.Call(rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`)
	next.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"assistant","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"tools":[`+tool+`]}}`)
	var result api.Result
	into(t, next.Call(rpc.MethodResult, run), &result)
	if result.Status != api.StatusInterrupted || len(result.Interactions) != 1 || result.Interactions[0].Kind != api.InteractionUnknownOutcome {
		t.Fatalf("the run after it was reopened: %+v", result)
	}
	var page api.EventPage
	into(t, next.Call(rpc.MethodEvents, api.EventQuery{Session: run.Session}), &page)
	for _, e := range page.Events {
		if e.Type == api.EventToolCallFinished {
			t.Errorf("an outcome was stored: %s", e.Data)
		}
	}
	next.Call(rpc.MethodResolve, rpc.Resolve{Session: run.Session, Interaction: result.Interactions[0].ID, Answer: api.Answer{Decision: api.OutcomeSucceeded, Output: "it was done"}})
	var ended api.Result
	into(t, next.Call(rpc.MethodResult, run), &ended)
	if ended.Status != api.StatusCompleted || !strings.Contains(ended.Text, "it was done") {
		t.Errorf("the run: %+v", ended)
	}
	if left := next.Left(); len(left) > 0 {
		t.Errorf("the tool was run again: %s", left[0].Raw)
	}
}

func TestWhateverEndsTheRuntimeLeavesATurnThatIsRecovered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(r *child.Runtime)
		code int
	}{
		"the input ends": {func(r *child.Runtime) { r.CloseInput() }, 0},
		"SIGTERM":        {func(r *child.Runtime) { r.Signal(syscall.SIGTERM) }, 0},
		"SIGINT":         {func(r *child.Runtime) { r.Signal(os.Interrupt) }, 0},
		"SIGKILL":        {func(r *child.Runtime) { r.Signal(os.Kill) }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, run, _ := working(t)
			r.Request("result", rpc.MethodResult, run)
			began := time.Now()
			c.end(r)
			if code := r.Exit(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			if c.code == 0 {
				if a := r.Answer(`"result"`); codeOf(a) != api.CodeClosed {
					t.Errorf("%s", a.Raw)
				}
			}
			holdsNoOutcome(t, r, run)
		})
	}
}

// A client that goes on to send while it ends the runtime is told, or not; but nothing breaks.
func TestSIGTERMWhileRequestsCome(t *testing.T) {
	t.Parallel()
	for range 5 {
		r := open(t)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; r.Write([]byte(child.RequestLine(fmt.Sprint("flood", i), rpc.MethodCapabilities, nil)+"\n")) == nil; i++ {
			}
		}()
		r.Answer(`"flood100"`)
		r.Signal(syscall.SIGTERM)
		if code := r.Exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		<-done
	}
}

func TestAClosedOutputEndsTheRuntimeThoughItsInputStaysOpen(t *testing.T) {
	t.Parallel()
	r := child.Start(t, child.Config{Binary: binary, Unread: true})
	r.CloseOutput()
	_ = r.Write([]byte(child.RequestLine("i", rpc.MethodInitialize, hello) + "\n")) // it may have ended
	r.Exit()
}

func TestAnOutputThatIsClosedUnderATurnLeavesItRecoverable(t *testing.T) {
	t.Parallel()
	first := open(t)
	session := newSession(t, first)
	first.CloseInput()
	first.Exit()

	r := child.Start(t, child.Config{Binary: binary, StateDir: first.StateDir, Unread: true})
	lines := []string{
		child.RequestLine("i", rpc.MethodInitialize, hello),
		child.RequestLine("t", rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`),
		child.RequestLine("a", rpc.MethodRegisterAgent, `{"definition":{"name":"assistant","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"tools":[`+tool+`]}}`),
	}
	r.Line(strings.Join(lines, "\n"))
	watch := child.Start(t, child.Config{Binary: binary, StateDir: first.StateDir})
	watch.Call(rpc.MethodInitialize, hello)
	var s rpc.Subscription
	into(t, watch.Call(rpc.MethodSubscribe, api.FollowQuery{Session: session}), &s)
	r.Line(child.RequestLine("s", rpc.MethodSubmit, api.Submission{Session: session, Text: "use app.work with {}"}))
	run := untilNext(t, watch, s, api.EventToolCallStarted).Run
	watch.CloseInput()
	watch.Exit()
	r.CloseOutput()
	r.Line(child.RequestLine("more", rpc.MethodCapabilities, nil))
	r.Exit()
	holdsNoOutcome(t, r, rpc.RunID{Session: session, Run: run})
}
