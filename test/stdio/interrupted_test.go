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

// What the client is asked when it goes, or when the runtime ends, has no answer: nothing is made of that, and the next runtime
// asks again. Nobody has denied, blocked or failed anything.
func TestAQuestionThatTheEndCutsOffIsAskedAgain(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		rpc.MethodCheckAction: `{"action":"allow"}`,
		rpc.MethodCheckText:   `{"action":"allow"}`,
		rpc.MethodBeforeModel: `{}`,
		rpc.MethodToolResult:  `{"output":"seen"}`,
		rpc.MethodCredential:  `{"secret":"key"}`,
	}
	ends := map[string]func(*child.Runtime){
		"the client is gone":    (*child.Runtime).CloseInput,
		"the runtime is asked":  func(r *child.Runtime) { r.Signal(syscall.SIGTERM) },
		"the client shuts down": func(r *child.Runtime) { r.Call(rpc.MethodShutdown, nil); r.CloseInput() },
	}
	for _, cut := range []struct{ name, method, point string }{
		{"the action check", rpc.MethodCheckAction, ""},
		{"a guardrail before the model", rpc.MethodCheckText, "model_input"},
		{"a guardrail behind the model", rpc.MethodCheckText, "model_output"},
		{"a guardrail behind the tool", rpc.MethodCheckText, "tool_result"},
		{"a hook before the model", rpc.MethodBeforeModel, ""},
		{"a hook behind the tool", rpc.MethodToolResult, ""},
	} {
		for how, end := range ends {
			t.Run(cut.name+", "+how, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir() + "/state"
				begin := func() *child.Runtime {
					r := child.Start(t, child.Config{Binary: binary, StateDir: dir})
					r.Call(rpc.MethodInitialize, `{"protocolVersions":[1],"client":{"name":"test","version":"1"},"actionCheck":true}`)
					r.Call(rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`)
					r.Call(rpc.MethodRegisterGuardrail, `{"name":"g","points":["model_input","model_output","tool_result"]}`)
					r.Call(rpc.MethodRegisterHook, `{"name":"h","beforeModel":true,"toolResult":true}`)
					r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"a","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"guardrails":["g"],"hooks":["h"],"tools":[`+tool+`]}}`)
					return r
				}
				bodies := 0
				// play answers what is asked, up to the question that is to be cut off.
				play := func(r *child.Runtime, stopAt string, done string) bool {
					for {
						asked := r.Next(done, callbacks()...)
						switch {
						case asked.Method == "":
							return true
						case asked.Method == rpc.MethodRunTool:
							bodies++
							r.Reply(asked, `{"output":"worked"}`)
							continue
						}
						if stopAt != "" && asked.Method == stopAt && (cut.point == "" || strings.Contains(string(asked.Params), `"point":"`+cut.point+`"`)) {
							return false
						}
						r.Reply(asked, answers[asked.Method])
					}
				}
				first := begin()
				var ref api.SessionReference
				into(t, first.Call(rpc.MethodCreateSession, `{"agent":{"name":"a","digest":""}}`), &ref)
				run := submit(t, first, ref.Session, "use app.work with {}")
				first.Request("w", rpc.MethodResult, run)
				if play(first, cut.method, `"w"`) {
					t.Fatal("the question was not asked")
				}
				end(first)
				if code := first.Exit(); code != 0 {
					t.Errorf("it exits with %d", code)
				}
				second := begin()
				second.Request("w", rpc.MethodResult, run)
				if !play(second, "", `"w"`) {
					t.Fatal("the turn does not end")
				}
				var page api.EventPage
				into(t, second.Call(rpc.MethodEvents, fmt.Sprintf(`{"session":%q}`, ref.Session)), &page)
				last := page.Events[len(page.Events)-1]
				if last.Type != api.EventTurnEnded || !strings.Contains(string(last.Data), `"completed"`) {
					t.Errorf("the turn ends with %s %s", last.Type, last.Data)
				}
				for _, e := range page.Events {
					for _, code := range []api.Code{api.CodeCheckFailed, api.CodeDenied, api.CodeGuardrailFailed, api.CodeGuardrailBlocked, api.CodeHookFailed, api.CodeToolFailed} {
						if strings.Contains(string(e.Data), string(code)) {
							t.Errorf("the end was taken for %s: %s %s", code, e.Type, e.Data)
						}
					}
				}
				if bodies != 1 {
					t.Errorf("the body ran %d times", bodies)
				}
			})
		}
	}
}

func callbacks() (names []string) {
	for _, m := range rpc.Methods() {
		if m.FromRuntime && m.Result != nil {
			names = append(names, m.Name)
		}
	}
	return names
}
