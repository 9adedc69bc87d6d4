package stdio_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// brief is the tool with an attempt of half a second.
const brief = `{"name":"app.work","description":"Works.","inputSchema":{"type":"object"},"effect":"sideEffect","timeoutMs":500}`

// withTool is a runtime with an agent whose tool is in the client.
func withTool(t *testing.T, dir, declaration string) *child.Runtime {
	t.Helper()
	r := child.Start(t, child.Config{Binary: binary, StateDir: dir})
	r.Call(rpc.MethodInitialize, hello)
	r.Call(rpc.MethodRegisterTools, `{"tools":[`+declaration+`]}`)
	r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"assistant","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"tools":[`+tool+`]}}`)
	return r
}

func begin(t *testing.T, r *child.Runtime) rpc.RunID {
	t.Helper()
	var ref api.SessionReference
	into(t, r.Call(rpc.MethodCreateSession, `{"agent":{"name":"assistant","digest":""}}`), &ref)
	return submit(t, r, ref.Session, "use app.work with {}")
}

// RE3, RU5: a body that had been told to stop, or was late, when its client went has no outcome all the same. Nobody
// knows what it did: it is neither cancelled, nor timed out, nor failed.
func TestABodyToldToStopWhoseClientGoesIsUnknown(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*child.Runtime){
		"the input ends": (*child.Runtime).CloseInput,
		"SIGTERM":        func(r *child.Runtime) { r.Signal(syscall.SIGTERM) },
	}
	for name, c := range map[string]struct {
		tool string
		stop func(r *child.Runtime, run rpc.RunID)
	}{
		"cancelled": {tool, func(r *child.Runtime, run rpc.RunID) {
			r.Call(rpc.MethodCancel, run)
			r.Callback(rpc.MethodCancelCallback)
		}},
		"cancelled, and not waited for any more": {tool, func(r *child.Runtime, run rpc.RunID) {
			r.Call(rpc.MethodCancel, run)
			r.Call(rpc.MethodResult, run)
		}},
		"out of time": {brief, func(r *child.Runtime, _ rpc.RunID) { r.Callback(rpc.MethodCancelCallback) }},
		"out of time, and not waited for any more": {brief, func(r *child.Runtime, run rpc.RunID) { r.Call(rpc.MethodResult, run) }},
	} {
		for how, end := range ends {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				r := withTool(t, "", c.tool)
				run := begin(t, r)
				r.Callback(rpc.MethodRunTool)
				c.stop(r, run)
				end(r)
				r.Exit()
				next := withTool(t, r.StateDir, c.tool)
				next.Call(rpc.MethodResult, run)
				var state api.SessionState
				into(t, next.Call(rpc.MethodState, rpc.SessionID{Session: run.Session}), &state)
				asked := len(state.Interactions) == 1 && state.Interactions[0].Kind == api.InteractionUnknownOutcome
				if !asked && len(state.UnknownActions) != 1 {
					t.Errorf("nobody is told that the outcome is unknown: %+v", state)
				}
				var page api.EventPage
				into(t, next.Call(rpc.MethodEvents, api.EventQuery{Session: run.Session}), &page)
				for _, e := range page.Events {
					if e.Type == api.EventToolOutcomeLate || e.Type == api.EventToolCallFinished && !strings.Contains(string(e.Data), string(api.CodeOutcomeUnknown)) {
						t.Errorf("an outcome was stored: %s %s", e.Type, e.Data)
					}
				}
				if left := next.Left(); len(left) > 0 {
					t.Errorf("the client is asked again: %s", left[0].Raw)
				}
			})
		}
	}
}

// holdsTheAnswer ends the runtime in order, opens the store with another one, and holds that what the tool answered is there.
func holdsTheAnswer(t *testing.T, r *child.Runtime, run rpc.RunID) {
	t.Helper()
	if code := r.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	next := withTool(t, r.StateDir, tool)
	var result api.Result
	into(t, next.Call(rpc.MethodResult, run), &result)
	if result.Status != api.StatusCompleted || !strings.Contains(result.Text, "it was done") {
		t.Errorf("the answer is lost: %+v", result)
	}
}

// done is the client's answer to a tool/run.
func done(work child.Message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"output":"it was done"}}`, work.ID) + "\n"
}

// RE2: an answer that was given is not lost because the end came right behind it, or because it was the answer to the end.
func TestAnAnswerAtTheEndIsKept(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *child.Runtime, reply string){
		"behind it the input ends": func(r *child.Runtime, reply string) {
			_ = r.Write([]byte(reply))
			r.CloseInput()
		},
		"behind it, and behind a request, the input ends": func(r *child.Runtime, reply string) {
			_ = r.Write([]byte(child.RequestLine("x", rpc.MethodCapabilities, nil) + "\n" + reply))
			r.CloseInput()
		},
		"to shutdown": func(r *child.Runtime, reply string) {
			r.Request("s", rpc.MethodShutdown, nil)
			r.Callback(rpc.MethodCancelCallback)
			_ = r.Write([]byte(reply))
			r.Answer(`"s"`)
			r.CloseInput()
		},
		"to SIGTERM": func(r *child.Runtime, reply string) {
			r.Signal(syscall.SIGTERM)
			r.Callback(rpc.MethodCancelCallback)
			_ = r.Write([]byte(reply))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 4 {
				r := withTool(t, "", tool)
				run := begin(t, r)
				work := r.Callback(rpc.MethodRunTool)
				end(r, done(work))
				holdsTheAnswer(t, r, run)
			}
		})
	}
}

// RE3: what the client was never asked for did not begin, so it is asked for by the next runtime, and is not unknown.
func TestACallThatNeverLeftTheRuntimeIsBegunByTheNext(t *testing.T) {
	t.Parallel()
	for range 12 {
		r := withTool(t, "", tool)
		var ref api.SessionReference
		into(t, r.Call(rpc.MethodCreateSession, `{"agent":{"name":"assistant","digest":""}}`), &ref)
		_ = r.Write([]byte(child.RequestLine("s", rpc.MethodSubmit, api.Submission{Session: ref.Session, Text: "use app.work with {}"}) + "\n"))
		r.CloseInput()
		r.Exit()
		sent := false
		var run api.RunReference
		for _, m := range r.Left() {
			sent = sent || m.Method == rpc.MethodRunTool
			if string(m.ID) == `"s"` && m.Error == nil {
				into(t, m.Result, &run)
			}
		}
		if run.Run == "" {
			t.Fatal("the message was not answered")
		}
		next := withTool(t, r.StateDir, tool)
		next.Request("w", rpc.MethodResult, rpc.RunID{Session: run.Session, Run: run.Run})
		again := next.Next(`"w"`, rpc.MethodRunTool).Method == rpc.MethodRunTool
		if again == sent {
			t.Errorf("the first client was asked: %v; the second: %v", sent, again)
		}
	}
}

// RE3, GR: the end of a client whose message waits for its guardrail gives nothing of the others time to run out: no hook,
// guardrail or tool of another session is taken to have failed.
func TestNothingRunsOutOfTimeWhileAClientsLastMessageWaits(t *testing.T) {
	t.Parallel()
	answers := map[string]string{rpc.MethodCheckText: `{"action":"allow"}`, rpc.MethodBeforeModel: `{}`, rpc.MethodToolResult: `{"output":"seen"}`, rpc.MethodRunTool: `{"output":"worked"}`}
	for _, cut := range []string{rpc.MethodRunTool, rpc.MethodCheckText, rpc.MethodBeforeModel, rpc.MethodToolResult} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			open := func(dir string) *child.Runtime {
				r := child.Start(t, child.Config{Binary: binary, StateDir: dir})
				r.Call(rpc.MethodInitialize, hello)
				r.Call(rpc.MethodRegisterTools, `{"tools":[`+brief+`]}`)
				r.Call(rpc.MethodRegisterGuardrail, `{"name":"g","points":["model_output"],"timeoutMs":500}`)
				r.Call(rpc.MethodRegisterGuardrail, `{"name":"u","points":["user_input"],"timeoutMs":60000}`)
				r.Call(rpc.MethodRegisterHook, `{"name":"h","beforeModel":true,"toolResult":true,"timeoutMs":500}`)
				r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"assistant","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"guardrails":["g"],"hooks":["h"],"tools":[`+tool+`]}}`)
				r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"b","defaultModel":{"provider":"Scripted","name":"demo"},"guardrails":["u"]}}`)
				return r
			}
			r := open("")
			var other api.SessionReference
			into(t, r.Call(rpc.MethodCreateSession, `{"agent":{"name":"b","digest":""}}`), &other)
			r.Request("other", rpc.MethodSubmit, api.Submission{Session: other.Session, Text: "hi"})
			r.Callback(rpc.MethodCheckText)
			run := begin(t, r)
			for m := r.Next(`"none"`, callbacks()...); m.Method != cut; m = r.Next(`"none"`, callbacks()...) {
				r.Reply(m, answers[m.Method])
			}
			r.CloseInput()
			r.Exit()
			next := open(r.StateDir)
			next.Request("w", rpc.MethodResult, run)
			for m := next.Next(`"w"`, callbacks()...); m.Method != ""; m = next.Next(`"w"`, callbacks()...) {
				next.Reply(m, answers[m.Method])
			}
			var page api.EventPage
			into(t, next.Call(rpc.MethodEvents, api.EventQuery{Session: run.Session}), &page)
			for _, e := range page.Events {
				for _, code := range []api.Code{api.CodeToolTimeout, api.CodeGuardrailFailed, api.CodeHookFailed, api.CodeToolFailed} {
					if strings.Contains(string(e.Data), string(code)) {
						t.Errorf("the end was taken for %s: %s %s", code, e.Type, e.Data)
					}
				}
			}
		})
	}
}

// RE2: a client that dies with both its pipes ends nothing in the middle: what it had answered is stored, and the runtime ends
// in order.
func TestAClientThatDiesWithItsPipesLosesNoAnswer(t *testing.T) {
	t.Parallel()
	for range 4 {
		r := withTool(t, "", tool)
		run := begin(t, r)
		work := r.Callback(rpc.MethodRunTool)
		var s rpc.Subscription
		into(t, r.Call(rpc.MethodSubscribe, api.FollowQuery{Session: run.Session, After: 5}), &s)
		r.Request("n", rpc.MethodNext, s) // the runtime has something to write as soon as anything happens
		_ = r.Write([]byte(done(work)))
		r.CloseOutput()
		r.CloseInput()
		holdsTheAnswer(t, r, run)
	}
}

// RE3, GR: an answer whose output a hook or guardrail was to see when the end came is known to have come. Its output may be lost,
// and nobody is asked whether the action took effect.
func TestAnAnswerThatNobodyCanLookAtAnyMoreIsNotUnknown(t *testing.T) {
	t.Parallel()
	watched := func(t *testing.T, dir string) *child.Runtime {
		r := child.Start(t, child.Config{Binary: binary, StateDir: dir})
		r.Call(rpc.MethodInitialize, hello)
		r.Call(rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`)
		r.Call(rpc.MethodRegisterHook, `{"name":"h","toolResult":true}`)
		r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"assistant","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"hooks":["h"],"tools":[`+tool+`]}}`)
		return r
	}
	for name, end := range map[string]func(r *child.Runtime, reply string){
		"behind it the input ends": func(r *child.Runtime, reply string) {
			_ = r.Write([]byte(reply))
			r.CloseInput()
		},
		"to SIGTERM, and then the input ends": func(r *child.Runtime, reply string) {
			r.Signal(syscall.SIGTERM)
			r.Callback(rpc.MethodCancelCallback)
			_ = r.Write([]byte(reply))
			r.CloseInput()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 4 {
				r := watched(t, "")
				run := begin(t, r)
				work := r.Callback(rpc.MethodRunTool)
				end(r, done(work))
				r.Exit()
				next := watched(t, r.StateDir)
				next.Request("w", rpc.MethodResult, run)
				asked := next.Next(`"w"`, rpc.MethodToolResult)
				for asked.Method != "" {
					next.Reply(asked, `{"output":"seen"}`)
					asked = next.Next(`"w"`, rpc.MethodToolResult)
				}
				var result api.Result
				into(t, asked.Result, &result)
				if result.Status != api.StatusCompleted {
					t.Errorf("somebody is asked: %+v", result)
				}
			}
		})
	}
}

// RU10: whoever asks for the end is answered when it has come, and not because somebody else has asked before.
func TestEachShutdownIsAnsweredBehindTheEnd(t *testing.T) {
	t.Parallel()
	r := withTool(t, "", tool)
	run := begin(t, r)
	work := r.Callback(rpc.MethodRunTool)
	r.Request("one", rpc.MethodShutdown, nil)
	r.Callback(rpc.MethodCancelCallback)
	r.Request("two", rpc.MethodShutdown, nil)
	probe := r.Refused(rpc.MethodState, rpc.SessionID{Session: run.Session}) // which was read behind them
	if probe.Data.Code != api.CodeClosed {
		t.Errorf("%+v", probe)
	}
	if left := r.Left(); len(left) > 0 {
		t.Fatalf("the end is told while a body runs: %s", left[0].Raw)
	}
	r.Reply(work, `{"output":"it was done"}`)
	for _, id := range []string{`"one"`, `"two"`} {
		if a := r.Answer(id); a.Error != nil {
			t.Errorf("%s", a.Raw)
		}
	}
	r.CloseInput()
	r.Exit()
	next := withTool(t, r.StateDir, tool)
	var result api.Result
	into(t, next.Call(rpc.MethodResult, run), &result)
	if result.Status != api.StatusCompleted {
		t.Errorf("%+v", result)
	}
}
