package stdio_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// play answers callbacks as a client does whom everything is fine, and one method otherwise, until the result "w" comes.
func play(r *child.Runtime, method, answer string) (result child.Message, bodies int) {
	fine := map[string]string{
		rpc.MethodCheckAction: `{"action":"allow"}`,
		rpc.MethodCheckText:   `{"action":"allow"}`,
		rpc.MethodBeforeModel: `{}`,
		rpc.MethodToolResult:  `{"output":"seen"}`,
		rpc.MethodRunTool:     `{"output":"worked"}`,
	}
	for {
		asked := r.Next(`"w"`, callbacks()...)
		switch {
		case asked.Method == "":
			return asked, bodies
		case asked.Method == rpc.MethodRunTool:
			bodies++
		}
		if asked.Method == method {
			r.Line(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,` + answer + `}`)
			continue
		}
		r.Reply(asked, fine[asked.Method])
	}
}

// A client that answers in another form than it should has allowed nothing and vetoed nothing, and whether its tool succeeded or
// failed is not known (RE3, AP6, GR2): a person is asked then.
func TestAnAnswerInAnotherFormIsNeverTakenForOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, method, answer string
		status               api.RunStatus
		code                 api.Code // that the journal tells
		bodies               int
	}{
		{"a tool's null", rpc.MethodRunTool, `"result":null`, api.StatusInterrupted, "", 1},
		{"a tool's text alone", rpc.MethodRunTool, `"result":"worked"`, api.StatusInterrupted, "", 1},
		{"a tool's nothing", rpc.MethodRunTool, `"result":{}`, api.StatusInterrupted, "", 1},
		{"a tool's number", rpc.MethodRunTool, `"result":{"output":5}`, api.StatusInterrupted, "", 1},
		{"a tool's error of no form", rpc.MethodRunTool, `"error":"broken"`, api.StatusInterrupted, "", 1},
		{"a check's null", rpc.MethodCheckAction, `"result":null`, api.StatusCompleted, api.CodeCheckFailed, 0},
		{"a check's nothing", rpc.MethodCheckAction, `"result":{}`, api.StatusCompleted, api.CodeCheckFailed, 0},
		{"a check's word in other letters", rpc.MethodCheckAction, `"result":{"action":"ALLOW"}`, api.StatusCompleted, api.CodeCheckFailed, 0},
		{"a check's allowance with a field beside", rpc.MethodCheckAction, `"result":{"action":"allow","blocked":true}`, api.StatusCompleted, api.CodeCheckFailed, 0},
		{"a guardrail's null", rpc.MethodCheckText, `"result":null`, api.StatusFailed, api.CodeGuardrailFailed, 1},
		{"a guardrail's nothing", rpc.MethodCheckText, `"result":{}`, api.StatusFailed, api.CodeGuardrailFailed, 1},
		{"a guardrail's word alone", rpc.MethodCheckText, `"result":"allow"`, api.StatusFailed, api.CodeGuardrailFailed, 1},
		{"a guardrail's unknown word", rpc.MethodCheckText, `"result":{"action":"pass"}`, api.StatusFailed, api.CodeGuardrailFailed, 1},
		{"a hook's null before the model", rpc.MethodBeforeModel, `"result":null`, api.StatusFailed, api.CodeHookFailed, 0},
		{"a hook's list before the model", rpc.MethodBeforeModel, `"result":[]`, api.StatusFailed, api.CodeHookFailed, 0},
		{"a hook's veto in another form", rpc.MethodBeforeModel, `"result":{"veto":"yes"}`, api.StatusFailed, api.CodeHookFailed, 0},
		{"a hook's veto by another name", rpc.MethodBeforeModel, `"result":{"vetoed":true}`, api.StatusFailed, api.CodeHookFailed, 0},
		{"a hook's null behind the tool", rpc.MethodToolResult, `"result":null`, api.StatusCompleted, api.CodeHookFailed, 1},
		{"a hook's nothing behind the tool", rpc.MethodToolResult, `"result":{}`, api.StatusCompleted, api.CodeHookFailed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			r.Call(rpc.MethodInitialize, `{"protocolVersions":[1],"client":{"name":"test","version":"1"},"actionCheck":true}`)
			r.Call(rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`)
			r.Call(rpc.MethodRegisterGuardrail, `{"name":"g","points":["model_output"]}`)
			r.Call(rpc.MethodRegisterHook, `{"name":"h","beforeModel":true,"toolResult":true}`)
			agent := r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"a","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"guardrails":["g"],"hooks":["h"],"tools":[`+tool+`]}}`)
			var ref api.SessionReference
			into(t, r.Call(rpc.MethodCreateSession, `{"agent":`+string(agent)+`}`), &ref)
			run := submit(t, r, ref.Session, "use app.work with {}")
			r.Request("w", rpc.MethodResult, run)
			answer, bodies := play(r, c.method, c.answer)
			var result api.Result
			into(t, answer.Result, &result)
			if result.Status != c.status || bodies != c.bodies {
				t.Errorf("%d bodies ran, and it is %+v", bodies, result)
			}
			if c.code == "" && (len(result.WaitingFor) != 1 || result.WaitingFor[0].Interaction == "") {
				t.Errorf("nobody is asked: %+v", result.WaitingFor)
			}
			var page api.EventPage
			into(t, r.Call(rpc.MethodEvents, fmt.Sprintf(`{"session":%q}`, ref.Session)), &page)
			told := c.code == ""
			for _, e := range page.Events {
				told = told || strings.Contains(string(e.Data), string(c.code))
				if strings.Contains(string(e.Data), string(api.CodeToolFailed)) {
					t.Errorf("the tool counts as failed: %s", e.Data)
				}
			}
			if !told {
				t.Errorf("no event tells %s", c.code)
			}
		})
	}
}
