package stdio_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// binary is the program that TestMain has built.
var binary string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	path, done, err := child.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer done()
	binary = path
	return m.Run()
}

// hello are initialize's parameters.
const hello = `{"protocolVersions":[1],"client":{"name":"test","version":"1"}}`

// start starts a runtime that nobody has spoken to.
func start(t *testing.T) *child.Runtime {
	t.Helper()
	return child.Start(t, child.Config{Binary: binary})
}

// open starts a runtime and initializes it.
func open(t *testing.T) *child.Runtime {
	t.Helper()
	r := start(t)
	r.Call(rpc.MethodInitialize, hello)
	return r
}

// probe holds that the runtime still answers.
func probe(t *testing.T, r *child.Runtime) {
	t.Helper()
	var c api.Capabilities
	into(t, r.Call(rpc.MethodCapabilities, nil), &c)
	if c.Store == "" {
		t.Error("the capabilities have no store")
	}
}

func into(t *testing.T, data json.RawMessage, value any) {
	t.Helper()
	if err := json.Unmarshal(data, value); err != nil {
		t.Fatalf("%v in %.500s", err, data)
	}
}

// tool is a tool that the client runs.
const tool = `{"name":"app.work","description":"Works.","inputSchema":{"type":"object"},"effect":"sideEffect"}`

// newSession makes a session of an agent with the tool, and of the offline model.
func newSession(t *testing.T, r *child.Runtime) string {
	t.Helper()
	r.Call(rpc.MethodRegisterTools, `{"tools":[`+tool+`]}`)
	agent := r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"assistant","defaultModel":{"provider":"Scripted","name":"demo"},"approvals":{"mode":"never"},"tools":[`+tool+`]}}`)
	var ref api.SessionReference
	into(t, r.Call(rpc.MethodCreateSession, `{"agent":`+string(agent)+`}`), &ref)
	return ref.Session
}

// submit sends a message and returns its run.
func submit(t *testing.T, r *child.Runtime, session, text string) rpc.RunID {
	t.Helper()
	var ref api.RunReference
	into(t, r.Call(rpc.MethodSubmit, api.Submission{Session: session, Text: text}), &ref)
	return rpc.RunID{Session: ref.Session, Run: ref.Run}
}

// say sends a message and waits for its completed turn.
func say(t *testing.T, r *child.Runtime, session, text string) api.Result {
	t.Helper()
	var result api.Result
	into(t, r.Call(rpc.MethodResult, submit(t, r, session, text)), &result)
	if result.Status != api.StatusCompleted {
		t.Fatalf("%.100q: %+v", text, result)
	}
	return result
}

// padded is a request for capabilities in a line of n bytes.
func padded(id string, n int) string {
	line := child.RequestLine(id, rpc.MethodCapabilities, `{}`)
	return line + strings.Repeat(" ", n-len(line))
}

// codeOf is the code of an answer that is an error, "" of one that is a result.
func codeOf(m child.Message) api.Code {
	if m.Error == nil {
		return ""
	}
	return m.Error.Data.Code
}
