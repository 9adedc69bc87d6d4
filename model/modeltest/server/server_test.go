package modeltestserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openworkerai/openworker/model/modeltest/server"
)

const hi = `{"role":"user","content":"hi"}`

func asks(id string) string {
	return `{"role":"assistant","content":null,"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}]}`
}

func tells(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }

func body(messages ...string) string {
	return `{"model":"m","stream":true,"messages":[` + strings.Join(messages, ",") + `]}`
}

func TestDecodeRefusesWhatRealServersRefuse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, want string }{
		"no JSON":                         {`{`, "not a request"},
		"an unknown field":                {`{"model":"m","messages":[` + hi + `],"foo":1}`, "foo"},
		"something after it":              {body(hi) + body(hi), "follows"},
		"no model":                        {`{"messages":[` + hi + `]}`, "no model"},
		"no messages":                     {body(), "no messages"},
		"options of a stream without one": {`{"model":"m","stream_options":{"include_usage":true},"messages":[` + hi + `]}`, "stream_options"},
		"an output limit of nothing":      {`{"model":"m","max_tokens":0,"messages":[` + hi + `]}`, "output limit"},
		"two output limits":               {`{"model":"m","max_tokens":5,"max_completion_tokens":5,"messages":[` + hi + `]}`, "output limit"},
		"a tool choice without tools":     {`{"model":"m","tool_choice":"none","messages":[` + hi + `]}`, "tool_choice"},
		"a tool without a schema":         {`{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[` + hi + `]}`, "parameters"},
		"a tool with a dot in its name":   {`{"model":"m","tools":[{"type":"function","function":{"name":"a.b","parameters":{}}}],"messages":[` + hi + `]}`, "bad name"},
		"an unknown role":                 {body(hi, `{"role":"notice","content":"x"}`), "unknown role"},
		"the assistant first":             {body(`{"role":"assistant","content":"x"}`, hi), "speaks first"},
		"the system in the middle":        {body(hi, `{"role":"system","content":"x"}`, hi), "not at the start"},
		"the assistant last":              {body(hi, `{"role":"assistant","content":"x"}`), "nothing is left"},
		"empty user content":              {body(`{"role":"user","content":""}`), "empty"},
		"an empty answer":                 {body(hi, `{"role":"assistant","content":""}`, hi), "neither"},
		"C01 a call without a result":     {body(hi, asks("c1")), "before call c1"},
		"C03 a hole in the middle":        {body(hi, asks("c1"), hi), "must stand"},
		"C06 a result without a call":     {body(hi, tells("c1")), "due are"},
		"C07 a result twice":              {body(hi, asks("c1"), tells("c1"), tells("c1")), "due are"},
		"C05 a call ID twice":             {body(hi, asks("c1"), tells("c1"), asks("c1"), tells("c1")), "was there before"},
		"an empty call ID":                {body(hi, asks(""), tells("")), "empty"},
		"C40 arguments that are cut":      {body(hi, strings.Replace(asks("c1"), `"{}"`, `"{"`, 1), tells("c1")), "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modeltestserver.DecodeChat([]byte(test.body))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestDecodeTakesAWellFormedConversation(t *testing.T) {
	t.Parallel()
	req, err := modeltestserver.DecodeChat([]byte(body(`{"role":"system","content":"s"}`, hi, asks("c1"), tells("c1"), `{"role":"assistant","content":"x"}`, `{"role":"user","content":"more"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if req.LastUser() != "more" || req.LastRole != "user" || len(req.Messages) != 6 || req.Messages[2].Calls[0].ID != "c1" {
		t.Errorf("got %+v", req)
	}
}

func start(t *testing.T, config modeltestserver.Config) *modeltestserver.Server {
	t.Helper()
	s, err := modeltestserver.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func post(t *testing.T, s *modeltestserver.Server, body, credential string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+credential)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

func TestTheServerRemembersWhatItRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{Credential: "key"})
	if status, got, _ := post(t, s, body(hi), "key"); status != 200 || !strings.Contains(got, `"ok"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("got %d %s", status, got)
	}
	if status, got, _ := post(t, s, body(hi, asks("c1")), "key"); status != 400 || !strings.Contains(got, "before call c1") {
		t.Errorf("got %d %s", status, got)
	}
	if status, _, _ := post(t, s, body(hi), "other"); status != 401 {
		t.Errorf("got %d, want 401", status)
	}
	if got := s.Refusals(); len(got) != 1 || !strings.HasPrefix(got[0], "request 2: ") || len(s.Requests()) != 1 || s.Calls() != 3 {
		t.Errorf("refusals %q, %d requests, %d calls", got, len(s.Requests()), s.Calls())
	}
}

func TestAReplyWithoutAStreamIsOneJSONBody(t *testing.T) {
	t.Parallel()
	s := start(t, modeltestserver.Config{Handler: func(modeltestserver.Request) modeltestserver.Reply {
		return modeltestserver.Reply{Text: "a", Calls: []modeltestserver.Call{{ID: "x", Name: "f", Arguments: "{}"}}}
	}})
	_, got, _ := post(t, s, strings.Replace(body(hi), `"stream":true,`, "", 1), "")
	var whole struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal([]byte(got), &whole); err != nil || len(whole.Choices) != 1 || whole.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("got %s (%v)", got, err)
	}
}

func TestACutReplyDoesNotLookComplete(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]modeltestserver.Reply{
		"cut":            {Text: "half", Cut: true},
		"waiting failed": {Text: "half", Wait: func(context.Context) error { return io.ErrClosedPipe }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, modeltestserver.Config{Handler: func(modeltestserver.Request) modeltestserver.Reply { return reply }})
			if _, got, err := post(t, s, body(hi), ""); err == nil || !strings.Contains(got, "half") || strings.Contains(got, "[DONE]") {
				t.Errorf("got %q and error %v, want half of it and an error", got, err)
			}
		})
	}
}

func TestTheFastServerLooksAtTheLastRoleOnly(t *testing.T) {
	t.Parallel()
	text := modeltestserver.Reply{Text: "after the tool"}.Prepared()
	call := modeltestserver.Reply{Calls: []modeltestserver.Call{{ID: "x", Name: "f", Arguments: "{}"}}}.Prepared()
	s := start(t, modeltestserver.Config{Fast: true, Handler: func(r modeltestserver.Request) modeltestserver.Reply {
		if r.LastRole == "tool" {
			return text
		}
		return call
	}})
	if _, got, _ := post(t, s, body(hi), ""); !strings.Contains(got, `"tool_calls"`) {
		t.Errorf("after the user: got %s", got)
	}
	if _, got, _ := post(t, s, body(hi, asks("c1"), tells("c1")), ""); !strings.Contains(got, "after the tool") {
		t.Errorf("after a tool: got %s", got)
	}
	if s.Calls() != 2 || len(s.Requests()) != 0 {
		t.Errorf("counted %d calls, kept %d", s.Calls(), len(s.Requests()))
	}
}
