package modeltestserver_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestChatRefusesWhatRealServersRefuse(t *testing.T) {
	t.Parallel()
	refuses(t, modeltestserver.DecodeChat, map[string]refusal{
		"no JSON":                          {`{`, "not a request"},
		"an unknown field":                 {`{"model":"m","messages":[` + hi + `],"foo":1}`, "foo"},
		"something after it":               {body(hi) + body(hi), "follows"},
		"no model":                         {`{"messages":[` + hi + `]}`, "no model"},
		"no messages":                      {body(), "no messages"},
		"options of a stream without one":  {`{"model":"m","stream_options":{"include_usage":true},"messages":[` + hi + `]}`, "stream_options"},
		"an output limit of nothing":       {`{"model":"m","max_tokens":0,"messages":[` + hi + `]}`, "output limit"},
		"two output limits":                {`{"model":"m","max_tokens":5,"max_completion_tokens":5,"messages":[` + hi + `]}`, "output limit"},
		"a tool choice without tools":      {`{"model":"m","tool_choice":"none","messages":[` + hi + `]}`, "tool_choice"},
		"a tool without a schema":          {`{"model":"m","tools":[{"type":"function","function":{"name":"f"}}],"messages":[` + hi + `]}`, "parameters"},
		"a tool with a dot in its name":    {`{"model":"m","tools":[{"type":"function","function":{"name":"a.b","parameters":{}}}],"messages":[` + hi + `]}`, "bad name"},
		"an unknown role":                  {body(hi, `{"role":"notice","content":"x"}`), "unknown role"},
		"the assistant first":              {body(`{"role":"assistant","content":"x"}`, hi), "speaks first"},
		"the system in the middle":         {body(hi, `{"role":"system","content":"x"}`, hi), "not at the start"},
		"the assistant last":               {body(hi, `{"role":"assistant","content":"x"}`), "nothing is left"},
		"empty user content":               {body(`{"role":"user","content":""}`), "empty"},
		"an empty answer":                  {body(hi, `{"role":"assistant","content":""}`, hi), "neither"},
		"C01 a call without a result":      {body(hi, asks("c1")), "before call c1"},
		"C03 a hole in the middle":         {body(hi, asks("c1"), hi), "must stand"},
		"C06 a result without a call":      {body(hi, tells("c1")), "due are"},
		"C07 a result twice":               {body(hi, asks("c1"), tells("c1"), tells("c1")), "due are"},
		"C05 a call ID twice":              {body(hi, asks("c1"), tells("c1"), asks("c1"), tells("c1")), "was there before"},
		"an empty call ID":                 {body(hi, asks(""), tells("")), "empty"},
		"C40 arguments that are cut":       {body(hi, strings.Replace(asks("c1"), `"{}"`, `"{"`, 1), tells("c1")), "not a JSON object"},
		"a picture of an unknown type":     {body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/bmp;base64,aGk="}}]}`), "image/bmp"},
		"a picture of the assistant":       {body(hi, `{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}`, hi), "role \"assistant\""},
		"a file without a name":            {body(`{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,aGk="}}]}`), "filename"},
		"a tool's message without content": {body(hi, asks("c1"), `{"role":"tool","tool_call_id":"c1","content":null}`), "without content"},
		"calls of the user":                {body(strings.Replace(asks("c1"), "assistant", "user", 1)), "content"},
	})
}

type refusal struct{ body, want string }

// refuses runs a table of bodies that must be refused.
func refuses(t *testing.T, decode func([]byte) (modeltestserver.Request, error), table map[string]refusal) {
	t.Helper()
	for name, test := range table {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decode([]byte(test.body))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestChatTakesAWellFormedConversation(t *testing.T) {
	t.Parallel()
	req, err := modeltestserver.DecodeChat([]byte(body(`{"role":"system","content":"s"}`, hi, asks("c1"), tells("c1"), `{"role":"assistant","content":"x"}`, `{"role":"user","content":"more"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if req.LastUser() != "more" || req.LastRole != "user" || len(req.Messages) != 6 || req.Messages[2].Calls[0].ID != "c1" {
		t.Errorf("got %+v", req)
	}
}

func TestChatTakesPicturesAndDocuments(t *testing.T) {
	t.Parallel()
	req, err := modeltestserver.DecodeChat([]byte(body(`{"role":"user","content":[{"type":"text","text":"a"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"text","text":"b"},` +
		`{"type":"file","file":{"filename":"r.pdf","file_data":"data:application/pdf;base64,aG8="}}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := []modeltestserver.Message{{Role: "user", Content: "a\nb", Parts: []modeltestserver.Part{
		{MediaType: "image/png", Data: []byte("hi")}, {MediaType: "application/pdf", Name: "r.pdf", Data: []byte("ho")},
	}}}
	if diff := cmp.Diff(want, req.Messages); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
