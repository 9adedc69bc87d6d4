package openaichat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest/server"
)

func encodeWith(t testing.TB, config Config, req model.Request) []byte {
	t.Helper()
	config.BaseURL = "http://localhost/v1"
	p, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(req); err != nil {
		t.Fatal(err)
	}
	return p.appendRequest(nil, req)
}

// value is what a JSON text means, whatever its spacing.
func value(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func private1(provider, name, field string) *model.Private {
	return &model.Private{Provider: provider, Model: name, Data: json.RawMessage(`{"field":"` + field + `"}`)}
}

func TestARequestIsEncodedAsTheProtocolHasIt(t *testing.T) {
	t.Parallel()
	conversation := []model.Item{
		{Kind: model.UserItem, Text: "Weather in \"Brno\"\n?"},
		{Kind: model.ReasoningItem, Text: "hm", Private: private1("OpenAI", "m", "reasoning_content")},
		{Kind: model.AssistantItem, Text: "Let me"},
		{Kind: model.AssistantItem, Text: "look."},
		{Kind: model.ToolCallItem, CallID: "c1", Name: "get_weather", Arguments: json.RawMessage(`{"city": "Brno"}`)},
		{Kind: model.ToolCallItem, CallID: "c2", Name: "get_time", Arguments: json.RawMessage(`{}`)},
		{Kind: model.ToolResultItem, CallID: "c1", Output: "7 °C"},
		{Kind: model.ToolResultItem, CallID: "c2", Output: "", Failed: true},
		{Kind: model.ToolCallItem, CallID: "c3", Name: "get_time", Arguments: json.RawMessage(`{}`)},
		{Kind: model.ToolResultItem, CallID: "c3", Output: "noon"},
		{Kind: model.ReasoningItem, Text: "nothing to say"},
		{Kind: model.UserItem, Text: "and?"},
	}
	hi := conversation[:1]
	const userHi = `{"role":"user","content":"Weather in \"Brno\"\n?"}`
	tool := model.Tool{Name: "get_time", Description: "Tells the time.", InputSchema: json.RawMessage(`{"type":"object"}`)}
	for name, test := range map[string]struct {
		config Config
		req    model.Request
		want   string
	}{
		"the least": {Config{}, model.Request{Model: "m", Items: hi},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[` + userHi + `]}`},
		"C08 a whole conversation with reasoning of its own provider and model": {Config{}, model.Request{Model: "m", Instructions: "Be brief.", Items: conversation},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},` + userHi + `,
			{"role":"assistant","content":"Let me\nlook.","reasoning_content":"hm","tool_calls":[
				{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\": \"Brno\"}"}},
				{"id":"c2","type":"function","function":{"name":"get_time","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"7 °C"},{"role":"tool","tool_call_id":"c2","content":""},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"get_time","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c3","content":"noon"},
			{"role":"user","content":"and?"}]}`},
		"C08 reasoning of another model is dropped": {Config{}, model.Request{Model: "other", Items: append(conversation[:4:4], conversation[11])},
			`{"model":"other","stream":true,"stream_options":{"include_usage":true},"messages":[` + userHi + `,{"role":"assistant","content":"Let me\nlook."},{"role":"user","content":"and?"}]}`},
		"C08 reasoning of another provider is dropped": {Config{Name: "Other"}, model.Request{Model: "m", Items: append(conversation[:4:4], conversation[11])},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[` + userHi + `,{"role":"assistant","content":"Let me\nlook."},{"role":"user","content":"and?"}]}`},
		"reasoning that is configured away": {Config{DropReasoning: true}, model.Request{Model: "m", Items: append(conversation[:4:4], conversation[11])},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[` + userHi + `,{"role":"assistant","content":"Let me\nlook."},{"role":"user","content":"and?"}]}`},
		"private data that is not ours": {Config{}, model.Request{Model: "m", Items: []model.Item{
			conversation[0], {Kind: model.ReasoningItem, Text: "x", Private: private1("OpenAI", "m", "messages")}, conversation[2], conversation[11]}},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[` + userHi + `,{"role":"assistant","content":"Let me"},{"role":"user","content":"and?"}]}`},
		"LI3 tools that are declared and forbidden": {Config{}, model.Request{Model: "m", Items: hi, Tools: []model.Tool{tool, {Name: "ping"}}, NoTools: true},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[
			{"type":"function","function":{"name":"get_time","description":"Tells the time.","parameters":{"type":"object"}}},
			{"type":"function","function":{"name":"ping","parameters":{"type":"object","properties":{}}}}],"tool_choice":"none","messages":[` + userHi + `]}`},
		"no tools and none allowed": {Config{}, model.Request{Model: "m", Items: hi, NoTools: true},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[` + userHi + `]}`},
		"an output limit at a compatible server": {Config{}, model.Request{Model: "m", Items: hi, MaxOutputTokens: 5},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"messages":[` + userHi + `]}`},
		"an output limit in the configured field": {Config{MaxTokensField: "max_completion_tokens"}, model.Request{Model: "m", Items: hi, MaxOutputTokens: 5},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":5,"messages":[` + userHi + `]}`},
		"a session is not sent unless configured": {Config{}, model.Request{Model: "m", Items: hi, Session: "s1"},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[` + userHi + `]}`},
		"a session in the configured field": {Config{SessionField: "prompt_cache_key"}, model.Request{Model: "m", Items: hi, Session: "s1"},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"prompt_cache_key":"s1","messages":[` + userHi + `]}`},
		"fields of the host's own": {Config{ExtraBody: map[string]json.RawMessage{"temperature": json.RawMessage(`0.5`), "stream_options": json.RawMessage(`null`)}},
			model.Request{Model: "m", Items: hi},
			`{"model":"m","stream":true,"temperature":0.5,"messages":[` + userHi + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encodeWith(t, test.config, test.req)
			if diff := cmp.Diff(value(t, []byte(test.want)), value(t, body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if _, err := modeltestserver.DecodeChat(body); err != nil {
				t.Errorf("a strict server refuses it: %v", err)
			}
		})
	}
}

// A request that goes on from what the call before encoded must be the one that is encoded anew.
func TestAKeptEncodingGivesTheSameRequestAtEachCall(t *testing.T) {
	t.Parallel()
	items := history(40).Items
	for i := range items {
		if items[i].Kind == model.AssistantItem && i%2 == 0 {
			items[i] = model.Item{Kind: model.ReasoningItem, Text: "hm", Private: private1("OpenAI", "m", "reasoning")}
		}
	}
	kept := new(model.Encoded)
	check := func(name string, n int) {
		req := model.Request{Model: name, Instructions: "Be brief.", Items: items[:n]}
		want := encodeWith(t, Config{}, req)
		req.Encoded = kept
		if got := encodeWith(t, Config{}, req); string(got) != string(want) {
			t.Fatalf("%d items for %s: got %s, want %s", n, name, got, want)
		}
	}
	for n := 1; n <= len(items); n++ {
		if kind := items[n-1].Kind; kind != model.UserItem && kind != model.ToolResultItem {
			continue
		}
		check("m", n)
		check("m", n) // a retry
		if n%7 == 0 {
			check("other", n) // C08: a switch of model and back
		}
	}
	check("m", 1) // what was kept is longer than the conversation
	if kept.Bytes() == 0 {
		t.Error("nothing was kept")
	}
}

func history(items int) model.Request {
	req := model.Request{Model: "m", Instructions: strings.Repeat("Be brief. ", 50), Items: []model.Item{{Kind: model.UserItem, Text: "go"}}}
	for i := 0; len(req.Items) < items; i++ {
		id := fmt.Sprintf("call_%d", i)
		req.Items = append(req.Items,
			model.Item{Kind: model.AssistantItem, Text: strings.Repeat("Let me see what the \"file\" holds.\n", 4)},
			model.Item{Kind: model.ToolCallItem, CallID: id, Name: "read_file", Arguments: json.RawMessage(`{"path":"a/b/c.go","from":10,"to":200}`)},
			model.Item{Kind: model.ToolResultItem, CallID: id, Output: strings.Repeat("func main() { fmt.Println(\"žluť\") }\n", 20)},
		)
	}
	return req
}

func BenchmarkEncode4000Items(b *testing.B) {
	req := history(4000)
	p, err := New(Config{BaseURL: "http://localhost/v1"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(p.appendRequest(nil, req))))
	b.ReportAllocs()
	for b.Loop() {
		newPayload(&p.bodies, func(buf []byte) []byte { return p.appendRequest(buf, req) }).release()
	}
}
