package stdio_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// recordedFile is a file of two chunks, in a PDF's clothes.
var recordedFile = "%PDF-1.4\n" + strings.Repeat("% a line of a report that says nothing\n", 7_000) + "startxref\n9\n%%EOF\n"

// recorder speaks to a runtime and writes down what is said.
type recorder struct {
	*testing.T
	runtime *child.Runtime
	transcript
	requests int
}

func (r *recorder) send(line string) {
	r.Helper()
	r.runtime.Line(line)
	if err := r.record(true, []byte(line)); err != nil {
		r.Fatal(err)
	}
}

func (r *recorder) came(m child.Message) json.RawMessage {
	r.Helper()
	if err := r.record(false, m.Raw); err != nil {
		r.Fatal(err)
	}
	return m.Result
}

// begin sends a request and returns its ID.
func (r *recorder) begin(method string, params any) string {
	r.requests++
	id := fmt.Sprintf("c%d", r.requests)
	r.send(child.RequestLine(id, method, params))
	return `"` + id + `"`
}

func (r *recorder) call(method string, params any) json.RawMessage {
	r.Helper()
	return r.result(r.begin(method, params))
}

// result waits for the answer to a request, which must be no error.
func (r *recorder) result(id string) json.RawMessage {
	r.Helper()
	m := r.runtime.Answer(id)
	if m.Error != nil {
		r.Fatalf("request %s: %s", id, m.Raw)
	}
	return r.came(m)
}

// refused sends a request whose answer is an error.
func (r *recorder) refused(method string, params any, want api.Code) {
	r.Helper()
	m := r.runtime.Answer(r.begin(method, params))
	if codeOf(m) != want {
		r.Fatalf("%s: %s", method, m.Raw)
	}
	r.came(m)
}

// callback waits for a request of the runtime's and answers it.
func (r *recorder) callback(method, result string) {
	r.Helper()
	m := r.runtime.Callback(method)
	r.came(m)
	if m.ID != nil && result != "" {
		r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
	}
}

func (r *recorder) submit(session, text string) rpc.RunID {
	r.Helper()
	var run api.RunReference
	into(r.T, r.call(rpc.MethodSubmit, map[string]any{"session": session, "text": text}), &run)
	return rpc.RunID{Session: session, Run: run.Run}
}

// TestRecordASession records the session of the newest version that spec/transcripts has, with -record.
func TestRecordASession(t *testing.T) {
	t.Parallel()
	server := recordedModel(t)
	r := &recorder{T: t, runtime: start(t), transcript: transcript{bound: given(server), names: map[any]string{}}}
	for name, value := range r.bound {
		r.names[value] = name
	}
	r.session(server.URL())
	r.runtime.CloseInput()
	if code := r.runtime.Exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var out bytes.Buffer
	for _, e := range r.exchanges {
		line, err := encoded(e)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	path := filepath.Join(transcripts, fmt.Sprintf("v%d", rpc.Version), "session.jsonl")
	if !*record {
		return // that it can be played is what matters otherwise
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		t.Fatalf("%s is there, and is never edited: a client that was written then must work on", path)
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

const refund = `{"name":"app.refund","description":"Refunds an order.","inputSchema":{"type":"object","properties":{"order":{"type":"integer"}},"required":["order"]},"effect":"sideEffect"`

// session is what a client does in a day.
func (r *recorder) session(model string) {
	r.Helper()
	r.call(rpc.MethodInitialize, `{"protocolVersions":[1],"client":{"name":"recorder","version":"1.0.0"},"credentials":{"source":"memory","secrets":{"Model":"secret"}},"actionCheck":true,`+
		`"providers":[{"name":"Model","protocol":"openai-chat","baseURL":"`+model+`"}]}`)
	r.call(rpc.MethodCapabilities, nil)
	r.call(rpc.MethodRegisterTools, `{"tools":[`+refund+`,"timeoutMs":60000,"inspect":true}]}`)
	r.call(rpc.MethodRegisterGuardrail, `{"name":"polite","points":["user_input","model_output"],"timeoutMs":5000}`)
	r.call(rpc.MethodRegisterHook, `{"name":"audit","beforeModel":true,"toolResult":true}`)
	agent := string(r.call(rpc.MethodRegisterAgent, `{"definition":{"name":"clerk","instructions":"Help.","defaultModel":{"provider":"Model","name":"m"},"tools":[`+refund+`}],"approvals":{"mode":"only","tools":["app.refund"]},"limits":{"maxModelCalls":8}}}`))
	r.call(rpc.MethodAgents, `{}`)
	var ref api.SessionReference
	into(r.T, r.call(rpc.MethodCreateSession, `{"agent":`+agent+`,"options":{"metadata":{"desk":"3"},"owner":"ada"}}`), &ref)
	id := rpc.SessionID{Session: ref.Session}
	r.call(rpc.MethodResumeSession, rpc.ResumeSession{Reference: ref, Agent: "clerk"})

	// A turn with a tool: its events are followed, the application checks, a person approves, the client runs it.
	var s rpc.Subscription
	into(r.T, r.call(rpc.MethodSubscribe, id), &s)
	next := rpc.Next{Subscription: s.Subscription, Max: 1}
	r.call(rpc.MethodNext, next)
	waiting := r.begin(rpc.MethodNext, next)
	run := r.submit(ref.Session, "Refund order 7.")
	r.result(waiting)
	r.callback(rpc.MethodCheckAction, `{"action":"allow"}`)
	var asked api.Result
	into(r.T, r.call(rpc.MethodResult, run), &asked)
	r.call(rpc.MethodState, id)
	r.call(rpc.MethodInteractions, `{}`)
	if len(asked.Interactions) != 1 {
		r.Fatalf("nothing is asked: %+v", asked)
	}
	r.call(rpc.MethodResolve, rpc.Resolve{Session: ref.Session, Interaction: asked.Interactions[0].ID, Answer: api.Answer{Decision: api.AllowOnce, By: "ada"}})
	r.callback(rpc.MethodRunTool, `{"output":"refunded"}`)
	r.call(rpc.MethodResult, run)
	r.call(rpc.MethodUnsubscribe, s)

	// A question, and one turn with a guardrail and hooks.
	run = r.submit(ref.Session, "Which order is it?")
	r.callback(rpc.MethodCheckAction, `{"action":"allow"}`)
	var question api.Result
	into(r.T, r.call(rpc.MethodResult, run), &question)
	if len(question.Interactions) != 1 {
		r.Fatalf("there is no question: %+v", question)
	}
	r.call(rpc.MethodResolve, rpc.Resolve{Session: ref.Session, Interaction: question.Interactions[0].ID, Answer: api.Answer{Decision: api.Answered, Answers: []string{"7"}}})
	r.call(rpc.MethodResult, run)
	r.scope = "guarded "
	guarded := string(r.call(rpc.MethodRegisterAgent, `{"definition":{"name":"guarded","defaultModel":{"provider":"Model","name":"m"},"guardrails":["polite"],"hooks":["audit"]}}`))
	var other api.SessionReference
	into(r.T, r.call(rpc.MethodCreateSession, `{"agent":`+guarded+`}`), &other)
	thanks := r.begin(rpc.MethodSubmit, map[string]any{"session": other.Session, "text": "Thank you, 4711."})
	r.callback(rpc.MethodCheckText, `{"action":"redact","text":"Thank you, ****.","reason":"a number"}`)
	var accepted api.RunReference
	into(r.T, r.result(thanks), &accepted)
	run = rpc.RunID{Session: accepted.Session, Run: accepted.Run}
	r.callback(rpc.MethodBeforeModel, `{}`)
	r.callback(rpc.MethodCheckText, `{"action":"allow"}`)
	r.call(rpc.MethodResult, run)

	r.scope = ""

	// A file in two chunks, the second of them first.
	r.upload(ref.Session)

	// A turn that is given up while its tool is asked about, and one that fails.
	run = r.submit(ref.Session, "Refund order 7 again.")
	r.callback(rpc.MethodCheckAction, `{"action":"allow"}`)
	r.call(rpc.MethodResult, run)
	r.call(rpc.MethodCancel, id)
	r.call(rpc.MethodResult, run)
	r.call(rpc.MethodResult, r.submit(ref.Session, "Fail."))

	// What there is to read, and errors.
	r.call(rpc.MethodEvents, id)
	r.call(rpc.MethodHistory, map[string]any{"session": ref.Session, "limit": 100})
	r.call(rpc.MethodRun, run)
	r.call(rpc.MethodSessions, `{}`)
	r.refused(rpc.MethodState, `{"session":"nothing"}`, api.CodeSessionNotFound)
	r.refused(rpc.MethodSubmit, rpc.SessionID{Session: ref.Session}, api.CodeInvalidRequest)
	r.refused(rpc.MethodState, `{"session":"nothing","deep":true}`, api.CodeUnsupportedOption)
	r.refused("session/fly", nil, api.CodeInvalidRequest)
	r.refused(rpc.MethodResult, rpc.RunID{Session: ref.Session, Run: ref.Session + "-r999"}, api.CodeRunNotFound)
	into(r.T, r.call(rpc.MethodSubscribe, api.FollowQuery{Session: ref.Session}), &s)
	r.call(rpc.MethodNext, rpc.Next{Subscription: s.Subscription, Max: 1})
	r.send(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"c1"}}`)
	r.call(rpc.MethodSetCredential, `{"provider":"Model","secret":"another"}`)
	r.call(rpc.MethodDeleteSession, rpc.SessionID{Session: other.Session})
	r.call(rpc.MethodShutdown, nil)
	r.refused(rpc.MethodState, id, api.CodeClosed)
}

func sum(data string) string {
	digest := sha256.Sum256([]byte(data))
	return hex.EncodeToString(digest[:])
}

func inBase64(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }

func (r *recorder) upload(session string) {
	r.Helper()
	var upload api.Upload
	into(r.T, r.call(rpc.MethodBeginUpload, map[string]any{"session": session, "file": api.UploadRequest{Name: "report.pdf", MediaType: "application/pdf", Size: int64(len(recordedFile)), SHA256: sum(recordedFile)}}), &upload)
	for _, i := range []int{1, 0} {
		data := recordedFile[i*262_144 : min(len(recordedFile), (i+1)*262_144)]
		r.call(rpc.MethodUploadChunk, map[string]any{"session": session, "upload": upload.ID, "chunk": map[string]any{"index": i, "sha256": sum(data), "data": inBase64(data)}})
	}
	into(r.T, r.call(rpc.MethodCommitUpload, rpc.UploadID{Session: session, Upload: upload.ID}), &upload)
	var run api.RunReference
	into(r.T, r.call(rpc.MethodSubmit, map[string]any{"session": session, "content": []any{map[string]any{"type": "text", "text": "Read this."}, upload.Block("")}}), &run)
	r.call(rpc.MethodResult, rpc.RunID{Session: session, Run: run.Run})
}
