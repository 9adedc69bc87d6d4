package stdio_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

func TestEveryMethodBeforeInitializeIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t)
	n := 0
	for _, m := range rpc.Methods() {
		if m.FromRuntime || m.Result == nil || m.Name == rpc.MethodInitialize || m.Name == rpc.MethodShutdown {
			continue
		}
		n++
		if e := r.Refused(m.Name, `{}`); e.Data.Code != api.CodeInvalidRequest || !strings.Contains(e.Message, rpc.MethodInitialize) {
			t.Errorf("%s: %+v", m.Name, e)
		}
	}
	if n < 25 {
		t.Errorf("only %d methods were tried", n)
	}
	r.Call(rpc.MethodInitialize, hello)
	probe(t, r)
}

func TestInitializeIsMadeOnce(t *testing.T) {
	t.Parallel()
	r := open(t)
	if e := r.Refused(rpc.MethodInitialize, hello); e.Data.Code != api.CodeInvalidRequest {
		t.Errorf("the second: %+v", e)
	}
	probe(t, r)
}

func TestOfTwoInitializesAtOnceOneIsTaken(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.Line("[" + child.RequestLine("a", rpc.MethodInitialize, hello) + "," + child.RequestLine("b", rpc.MethodInitialize, hello) + "]")
	taken := 0
	for _, m := range r.Batch() {
		if m.Error == nil {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("%d were taken", taken)
	}
	probe(t, r)
}

func TestInitializeAnswersWithTheVersionAndTheBounds(t *testing.T) {
	t.Parallel()
	r := start(t)
	var got rpc.Initialized
	into(t, r.Call(rpc.MethodInitialize, `{"protocolVersions":[99,1],"client":{"name":"test","version":"1"}}`), &got)
	if got.ProtocolVersion != 1 || got.MaxFrameBytes != 1<<20 || got.MaxMessageBytes != rpc.MaxMessageBytes || got.Runtime.Name == "" || got.Runtime.Version == "" || got.Capabilities.Store == "" {
		t.Errorf("%+v", got)
	}
}

func TestRequestsBehindInitializeNeedNotWaitForItsAnswer(t *testing.T) {
	t.Parallel()
	r := start(t)
	lines := []string{child.RequestLine("before", rpc.MethodCapabilities, nil), child.RequestLine("i", rpc.MethodInitialize, hello)}
	for i := range 100 {
		lines = append(lines, child.RequestLine(fmt.Sprint(i), rpc.MethodUsage, nil))
	}
	if err := r.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if a := r.Answer(fmt.Sprintf(`"%d"`, i)); a.Error != nil {
			t.Errorf("%s", a.Raw)
		}
	}
	if a := r.Answer(`"i"`); a.Error != nil {
		t.Errorf("%s", a.Raw)
	}
	r.Answer(`"before"`) // in the time that it took to come to it, the host may be open
}

func TestAnInitializeThatFailedMayBeRepeated(t *testing.T) {
	t.Parallel()
	r := start(t)
	for name, c := range map[string]struct {
		params string
		want   api.Code
	}{
		"no versions":                 {`{"client":{"name":"t","version":"1"}}`, api.CodeInvalidRequest},
		"no version in common":        {`{"protocolVersions":[2,0,-1],"client":{"name":"t","version":"1"}}`, api.CodeIncompatibleVersion},
		"versions that are texts":     {`{"protocolVersions":["1"],"client":{"name":"t","version":"1"}}`, api.CodeInvalidRequest},
		"a field of a newer client's": {`{"protocolVersions":[1],"client":{"name":"t","version":"1"},"telepathy":true}`, api.CodeUnsupportedOption},
		"a source that is not there":  {`{"protocolVersions":[1],"client":{"name":"t","version":"1"},"credentials":{"source":"vault"}}`, api.CodeInvalidRequest},
		"a file without its path":     {`{"protocolVersions":[1],"client":{"name":"t","version":"1"},"credentials":{"source":"file"}}`, api.CodeInvalidRequest},
		"a provider of no protocol":   {`{"protocolVersions":[1],"client":{"name":"t","version":"1"},"providers":[{"name":"P","protocol":"telegraph","baseURL":"http://127.0.0.1:9"}]}`, api.CodeInvalidRequest},
		"two providers of one name":   {`{"protocolVersions":[1],"client":{"name":"t","version":"1"},"providers":[{"name":"P","protocol":"openai-chat","baseURL":"http://127.0.0.1:9"},{"name":"P","protocol":"openai-chat","baseURL":"http://127.0.0.1:9"}]}`, api.CodeInvalidRequest},
		"no parameters":               {``, api.CodeInvalidRequest},
	} {
		var params any
		if c.params != "" {
			params = c.params
		}
		r.Request("i", rpc.MethodInitialize, params)
		a := r.Answer(`"i"`)
		if codeOf(a) != c.want {
			t.Errorf("%s: %.300s", name, a.Raw)
		}
		if e := r.Refused(rpc.MethodCapabilities, nil); e.Data.Code != api.CodeInvalidRequest {
			t.Errorf("behind %s: %+v", name, e)
		}
	}
	r.Call(rpc.MethodInitialize, hello)
	probe(t, r)
}

func TestAStateDirectoryThatCannotBeOpenedIsToldAndTriedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := child.Start(t, child.Config{Binary: binary, StateDir: path})
	// What is sent behind it is not kept for ever.
	lines := child.RequestLine("i", rpc.MethodInitialize, hello) + "\n" + child.RequestLine("behind", rpc.MethodCapabilities, nil) + "\n"
	if err := r.Write([]byte(lines)); err != nil {
		t.Fatal(err)
	}
	if a := r.Answer(`"i"`); a.Error == nil || !strings.Contains(a.Error.Message, "state") {
		t.Errorf("%s", a.Raw)
	}
	if a := r.Answer(`"behind"`); codeOf(a) != api.CodeInvalidRequest {
		t.Errorf("%s", a.Raw)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.Call(rpc.MethodInitialize, hello)
	probe(t, r)
}

func TestAStateDirectoryIsOneRuntimesOrSeverals(t *testing.T) {
	t.Parallel()
	first := open(t)
	session := newSession(t, first)
	second := child.Start(t, child.Config{Binary: binary, StateDir: first.StateDir})
	second.Call(rpc.MethodInitialize, hello)
	var state api.SessionState
	into(t, second.Call(rpc.MethodState, rpc.SessionID{Session: session}), &state)
	if state.Session != session || state.Activity != api.Idle {
		t.Errorf("%+v", state)
	}
}

func TestPartsThatMakeNoMessageAreRefusedAndForgotten(t *testing.T) {
	t.Parallel()
	r := open(t)
	part := func(params string) { r.Line(`{"jsonrpc":"2.0","method":"rpc/part","params":` + params + `}`) }
	refused := func(name string, want api.Code) {
		t.Helper()
		if a := r.Answer("null"); codeOf(a) != want {
			t.Errorf("%s: %.300s", name, a.Raw)
		}
		probe(t, r)
	}
	for name, params := range map[string]string{
		"no name":                 `{"data":"{}","last":true}`,
		"an empty name":           `{"message":"","data":"{}","last":true}`,
		"a name of 65 bytes":      `{"message":"` + strings.Repeat("n", 65) + `","data":"{}","last":true}`,
		"a name that is a number": `{"message":7,"data":"{}","last":true}`,
		"data that is an object":  `{"message":"m","data":{},"last":true}`,
		"an array":                `["m","{}",true]`,
		"null":                    `null`,
		"no JSON in the end":      `{"message":"m","data":"{\"jsonrpc\"","last":true}`,
		"nothing in the end":      `{"message":"m","data":"","last":true}`,
		"a part in a part":        `{"message":"m","data":"{\"jsonrpc\":\"2.0\",\"method\":\"rpc/part\",\"params\":{\"message\":\"n\",\"data\":\"{}\",\"last\":true}}","last":true}`,
		"text in the end":         `{"message":"m","data":"hello","last":true}`,
	} {
		part(params)
		refused(name, api.CodeInvalidRequest)
	}
	r.Line(`{"jsonrpc":"2.0","method":"rpc/part"}`)
	refused("no parameters", api.CodeInvalidRequest)

	// Sixty-four may be under way, and each of them can end.
	for i := range 64 {
		part(fmt.Sprintf(`{"message":"%d","data":"{\"jsonrpc\":\"2.0\",\"id\":%d,"}`, i, i))
	}
	part(`{"message":"one more","data":"{"}`)
	refused("the 65th", api.CodeFrameTooLarge)
	for i := range 64 {
		part(fmt.Sprintf(`{"message":"%d","data":"\"method\":\"capabilities\"}","last":true}`, i))
	}
	for i := range 64 {
		if a := r.Answer(fmt.Sprint(i)); a.Error != nil {
			t.Errorf("%s", a.Raw)
		}
	}
	// A name may be used again when its message has ended, and a slash may be written as some do.
	for i := range 2 {
		data, _ := json.Marshal(child.RequestLine(fmt.Sprint("again", i), rpc.MethodCapabilities, nil))
		r.Line(`{"jsonrpc":"2.0","method":"rpc\/part","params":{"message":"0","data":` + string(data) + `,"last":true}}`)
		if a := r.Answer(fmt.Sprintf(`"again%d"`, i)); a.Error != nil {
			t.Errorf("%s", a.Raw)
		}
	}
	part(`{"message":"never ended","data":"{"}`)
	r.CloseInput()
	if code := r.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, m := range r.Left() {
		t.Errorf("nobody asked for %.300s", m.Raw)
	}
}
