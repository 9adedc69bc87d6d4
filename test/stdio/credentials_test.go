package stdio_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/test/stdio/child"
	"github.com/openworkerai/openworker/transport/rpc"
)

// keyServer speaks Chat Completions and keeps the key that came last.
func keyServer(t *testing.T) (base string, key func() string) {
	t.Helper()
	var last atomic.Value
	last.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.Store(r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"},"finish_reason":null}]}`+"\n\n"+
			`data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`+"\n\n"+
			"data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", func() string { return last.Load().(string) }
}

// initialized are initialize's parameters with credentials and one provider.
func initialized(credentials, provider string) string {
	return `{"protocolVersions":[1],"client":{"name":"t","version":"1"},"credentials":` + credentials + `,"providers":[` + provider + `]}`
}

// talkTo makes a session of an agent whose model is the provider's.
func talkTo(t *testing.T, r *child.Runtime, provider string) (session string) {
	t.Helper()
	agent := r.Call(rpc.MethodRegisterAgent, `{"definition":{"name":"a","defaultModel":{"provider":"`+provider+`","name":"m"}}}`)
	var ref api.SessionReference
	into(t, r.Call(rpc.MethodCreateSession, `{"agent":`+string(agent)+`}`), &ref)
	return ref.Session
}

// turn makes a turn; whatever asks for a secret is answered so.
func turn(t *testing.T, r *child.Runtime, session, answer string) (result api.Result) {
	t.Helper()
	r.Request("turn", rpc.MethodRunTurn, api.Submission{Session: session, Text: "hello"})
	for {
		m := r.Next(`"turn"`, rpc.MethodCredential)
		if m.Method == "" {
			var made rpc.TurnResult
			into(t, m.Result, &made)
			return made.Result
		}
		r.Line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`)
	}
}

// RE5: whether there is a key is asked at each call, of a provider that may do without one as well.
func TestAKeyThatMayBeMissingIsSentFromWhenItIsThere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.json")
	write := func(keys string) func(*child.Runtime) string {
		return func(*child.Runtime) string {
			if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
				t.Error(err)
			}
			return ""
		}
	}
	set := func(key string) func(*child.Runtime) string {
		return func(r *child.Runtime) string {
			r.Call(rpc.MethodSetCredential, `{"provider":"p","secret":"`+key+`"}`)
			return ""
		}
	}
	says := func(answer string) func(*child.Runtime) string { return func(*child.Runtime) string { return answer } }
	for name, c := range map[string]struct {
		credentials          string
		without, with, again func(*child.Runtime) string // set the stage, and say what is answered
	}{
		"in memory":         {`{"source":"memory"}`, says(""), set("key"), set("")},
		"from the callback": {`{"source":"callback"}`, says(`"result":{"secret":""}`), says(`"result":{"secret":"key"}`), says(`"result":{"secret":""}`)},
		"in a file":         {`{"source":"file","file":"` + file + `"}`, says(""), write(`{"P":"key"}`), write(`{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, key := keyServer(t)
			r := start(t)
			r.Call(rpc.MethodInitialize, initialized(c.credentials, `{"name":"P","protocol":"openai-chat","baseURL":"`+base+`","keyOptional":true}`))
			session := talkTo(t, r, "P")
			var got []string
			for _, stage := range []func(*child.Runtime) string{c.without, c.with, c.again} {
				if result := turn(t, r, session, stage(r)); result.Status != api.StatusCompleted {
					t.Fatalf("%+v", result)
				}
				got = append(got, key())
			}
			if diff := cmp.Diff([]string{"", "Bearer key", ""}, got); diff != "" {
				t.Errorf("the keys that came: %s", diff)
			}
		})
	}
}

// An initialize that was refused leaves nothing behind: the next one says all anew.
func TestSecretsOfARefusedInitializeAreGone(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{
		"a provider of no protocol": initialized(`{"source":"memory","secrets":{"P":"old"}}`, `{"name":"P","protocol":"none","baseURL":"http://127.0.0.1:1/v1"}`),
		"a provider that is there twice": initialized(`{"source":"memory","secrets":{"P":"old"}}`,
			`{"name":"P","protocol":"openai-chat","baseURL":"http://127.0.0.1:1/v1"},{"name":"p","protocol":"openai-chat","baseURL":"http://127.0.0.1:1/v1"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, key := keyServer(t)
			provider := `{"name":"P","protocol":"openai-chat","baseURL":"` + base + `","keyOptional":true}`
			r := start(t)
			r.Refused(rpc.MethodInitialize, refused)
			r.Call(rpc.MethodInitialize, initialized(`{"source":"memory"}`, provider))
			if result := turn(t, r, talkTo(t, r, "P"), ""); result.Status != api.StatusCompleted || key() != "" {
				t.Errorf("%q was sent, and it came to %+v", key(), result)
			}
		})
	}
}

// ST4: what a client says instead of a secret may quote one, and is stored and told nowhere: a turn waits, and says for what.
func TestWhatAClientSaysInsteadOfASecretIsKeptNowhere(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"an error":                        `"error":{"code":-32000,"message":"CANARY is not in the vault"}`,
		"an error with data":              `"error":{"code":-32000,"message":"CANARY","data":{"code":"CANARY","details":{"CANARY":"CANARY"}}}`,
		"an error with a code of ours":    `"error":{"code":-32032,"message":"CANARY","data":{"code":"credentials_missing","details":{"key":"CANARY"}}}`,
		"an error with another of ours":   `"error":{"code":-32067,"message":"CANARY","data":{"code":"denied"}}`,
		"an error of no form":             `"error":"CANARY"`,
		"a text":                          `"result":"CANARY"`,
		"a list":                          `"result":["CANARY"]`,
		"a field of another name":         `"result":{"CANARY":"CANARY"}`,
		"a secret with a field beside":    `"result":{"secret":"CANARY","CANARY":1}`,
		"a secret that is an object":      `"result":{"secret":{"CANARY":"CANARY"}}`,
		"null":                            `"result":null`,
		"nothing":                         `"result":{}`,
		"a line that is no JSON":          `"result":{"secret":CANARY}`,
		"an answer that is both":          `"result":{"secret":"CANARY"},"error":{"code":1,"message":"CANARY"}`,
		"a number that quotes the digits": `"result":{"secret":4711004711}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, key := keyServer(t)
			r := start(t)
			r.Call(rpc.MethodInitialize, initialized(`{"source":"callback"}`, `{"name":"P","protocol":"openai-chat","baseURL":"`+base+`"}`))
			session := talkTo(t, r, "P")
			result := turn(t, r, session, answer)
			if result.Status != api.StatusInterrupted || len(result.WaitingFor) != 1 || result.WaitingFor[0].Code != api.CodeCredentialsMissing || !strings.Contains(result.WaitingFor[0].Message, "provider P") {
				t.Errorf("it came to %+v", result)
			}
			texts := map[string]string{
				"the result": fmt.Sprintf("%+v", result),
				"the state":  string(r.Call(rpc.MethodState, rpc.SessionID{Session: session})),
				"the events": string(r.Call(rpc.MethodEvents, rpc.SessionID{Session: session})),
			}
			texts["the stream"] = told(t, r, session)
			if key() != "Bearer key" {
				t.Errorf("it went on with the key %q", key())
			}
			r.CloseInput()
			r.Exit()
			texts["standard error"] = r.Stderr()
			err := filepath.WalkDir(r.StateDir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				texts[path] = string(data)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			for where, text := range texts {
				if strings.Contains(text, "CANARY") || strings.Contains(text, "4711004711") {
					t.Errorf("%s holds what the client said", where)
				}
			}
		})
	}
}

// told follows a session whose secret is there from now on, to the end of its turn, and returns what came.
func told(t *testing.T, r *child.Runtime, session string) (stream string) {
	t.Helper()
	var follow rpc.Subscription
	into(t, r.Call(rpc.MethodSubscribe, api.FollowQuery{Session: session}), &follow)
	for ended := false; !ended; {
		r.Request("next", rpc.MethodNext, rpc.Next{Subscription: follow.Subscription})
		m := r.Next(`"next"`, rpc.MethodCredential)
		for ; m.Method != ""; m = r.Next(`"next"`, rpc.MethodCredential) {
			r.Reply(m, `{"secret":"key"}`)
		}
		stream += string(m.Raw)
		ended = strings.Contains(string(m.Raw), string(api.EventTurnEnded))
	}
	return stream
}

// RE5: a provider that may do without a key waits for one that cannot be had, as one that needs it does.
func TestAnOptionalSecretThatCannotBeHadIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"an error":     `"error":{"code":1,"message":"CANARY"}`,
		"another form": `"result":null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, key := keyServer(t)
			r := start(t)
			r.Call(rpc.MethodInitialize, initialized(`{"source":"callback"}`, `{"name":"P","protocol":"openai-chat","baseURL":"`+base+`","keyOptional":true}`))
			session := talkTo(t, r, "P")
			result := turn(t, r, session, answer)
			if result.Status != api.StatusInterrupted || len(result.WaitingFor) != 1 || result.WaitingFor[0].Code != api.CodeCredentialsMissing || strings.Contains(result.WaitingFor[0].Message, "CANARY") {
				t.Fatalf("it came to %+v", result)
			}
			told(t, r, session)
			if key() != "Bearer key" {
				t.Errorf("it went on with the key %q", key())
			}
		})
	}
}
