package google

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest/server"
)

func encodeWith(t testing.TB, config Config, req model.Request) []byte {
	t.Helper()
	p, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(req); err != nil {
		t.Fatal(err)
	}
	body, err := p.encode(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// value is what a JSON text means, whatever its spacing.
func value(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func user(text string) model.Item { return model.Item{Kind: model.UserItem, Text: text} }
func call(id, name, arguments string, private *model.Private) model.Item {
	return model.Item{Kind: model.ToolCallItem, CallID: id, Name: name, Arguments: json.RawMessage(arguments), Private: private}
}
func result(id, output string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: output}
}
func failed(id, output string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: output, Failed: true}
}
func assistant(text string, private *model.Private) model.Item {
	return model.Item{Kind: model.AssistantItem, Text: text, Private: private}
}
func reasoning(text string, private *model.Private) model.Item {
	return model.Item{Kind: model.ReasoningItem, Text: text, Private: private}
}
func of(provider, name, data string) *model.Private {
	return &model.Private{Provider: provider, Model: name, Data: json.RawMessage(data)}
}

const (
	gemini3  = "gemini-3-pro-preview"
	gemini25 = "gemini-2.5-flash"
	userHi   = `{"role":"user","parts":[{"text":"hi"}]}`
	skip     = `"thoughtSignature":"skip_thought_signature_validator"`
)

func TestARequestIsEncodedAsTheProtocolHasIt(t *testing.T) {
	t.Parallel()
	hi := []model.Item{user("hi")}
	schema := json.RawMessage(`{"type": "object", "properties": {"b": {"type": "string", "pattern": "<a&b>"}, "a": {"type": ["integer", "null"], "maximum": 9007199254740993}}, "$defs": {}}`)
	tool := model.Tool{Name: "get_time", Description: "Tells the <time>.", InputSchema: schema}
	budget := int32(1024)
	for name, test := range map[string]struct {
		config Config
		req    model.Request
		want   string
	}{
		"a first message": {Config{}, model.Request{Items: hi}, `{"contents":[` + userHi + `]}`},
		"instructions and an output limit": {Config{}, model.Request{Items: hi, Instructions: "Be brief.", MaxOutputTokens: 5},
			`{"contents":[` + userHi + `],"systemInstruction":{"role":"user","parts":[{"text":"Be brief."}]},"generationConfig":{"maxOutputTokens":5}}`},
		"tools whose schemas are as they were given": {Config{}, model.Request{Items: hi, Tools: []model.Tool{tool, {Name: "ping"}}},
			`{"contents":[` + userHi + `],"tools":[{"functionDeclarations":[
			{"name":"get_time","description":"Tells the <time>.","parametersJsonSchema":` + string(schema) + `},{"name":"ping"}]}]}`},
		"LI3 tools that are declared and forbidden": {Config{}, model.Request{Items: hi, Tools: []model.Tool{{Name: "ping"}}, NoTools: true},
			`{"contents":[` + userHi + `],"tools":[{"functionDeclarations":[{"name":"ping"}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`},
		"no tools and none allowed":    {Config{}, model.Request{Items: hi, NoTools: true}, `{"contents":[` + userHi + `]}`},
		"a session's key has no place": {Config{}, model.Request{Items: hi, Session: "s1"}, `{"contents":[` + userHi + `]}`},
		"thinking and filters": {
			Config{
				Thinking: &genai.ThinkingConfig{IncludeThoughts: true, ThinkingBudget: &budget},
				Safety:   []*genai.SafetySetting{{Category: genai.HarmCategoryDangerousContent, Threshold: genai.HarmBlockThresholdBlockNone}},
			}, model.Request{Items: hi},
			`{"contents":[` + userHi + `],"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}},
			"safetySettings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","threshold":"BLOCK_NONE"}]}`},
		"tools whose names begin with a digit or a dash": {Config{},
			model.Request{Model: gemini25, Items: []model.Item{hi[0], call("c1", "3d_view", `{}`, nil), result("c1", "ok")}, Tools: []model.Tool{{Name: "3d_view"}, {Name: "-x"}, {Name: "_y"}}},
			`{"contents":[` + userHi + `,{"role":"model","parts":[{"functionCall":{"id":"c1","name":"_3d_view","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"_3d_view","response":{"output":"ok"}}}]}],
			"tools":[{"functionDeclarations":[{"name":"_3d_view"},{"name":"_-x"},{"name":"_y"}]}]}`},
		"AT2 files in their places with their bytes": {Config{}, model.Request{Items: []model.Item{{Kind: model.UserItem, Parts: []model.Part{
			{Text: "See"},
			{Name: "a.png", MediaType: model.TypePNG, Data: []byte("\x89PNG")},
			{Text: "and"},
			{Name: "r.pdf", MediaType: model.TypePDF, Data: []byte("%PDF\xff")},
			{Text: "too."},
			{Name: "n.md", MediaType: "text/markdown", Data: []byte("# \"Hi\" <b>")},
		}}}},
			`{"contents":[{"role":"user","parts":[{"text":"See"},{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}},{"text":"and"},
			{"inlineData":{"mimeType":"application/pdf","data":"JVBERv8="}},{"text":"too."},
			{"text":"<file name=\"n.md\" type=\"text/markdown\">\n# \"Hi\" <b>\n</file>"}]}]}`},
		"parallel results stand together, in the order of the calls": {Config{}, model.Request{Model: gemini25, Items: []model.Item{
			hi[0], assistant("Let me look.", nil), call("c1", "a", `{"n": 9007199254740993}`, nil), call("c2", "b", `{}`, nil), call("c3", "a", `{}`, nil),
			result("c1", "7 °C"), failed("c2", "no such city"), result("c3", `{"error":"of its own"}`),
		}}, `{"contents":[` + userHi + `,{"role":"model","parts":[{"text":"Let me look."},
			{"functionCall":{"id":"c1","name":"a","args":{"n":9007199254740993}}},{"functionCall":{"id":"c2","name":"b","args":{}}},{"functionCall":{"id":"c3","name":"a","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"a","response":{"output":"7 °C"}}},
			{"functionResponse":{"id":"c2","name":"b","response":{"error":"no such city"}}},
			{"functionResponse":{"id":"c3","name":"a","response":{"output":"{\"error\":\"of its own\"}"}}}]}]}`},
		"what a user says after results is a content of its own": {Config{}, model.Request{Model: gemini25, Items: []model.Item{
			hi[0], call("c1", "a", `{}`, nil), result("c1", ""), user("stop"), user("go on"),
		}}, `{"contents":[` + userHi + `,{"role":"model","parts":[{"functionCall":{"id":"c1","name":"a","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"a","response":{"output":""}}}]},
			{"role":"user","parts":[{"text":"stop"},{"text":"go on"}]}]}`},
		"an answer of thoughts alone leaves no content": {Config{}, model.Request{Items: []model.Item{hi[0], reasoning("hm", nil), user("and?")}},
			`{"contents":[{"role":"user","parts":[{"text":"hi"},{"text":"and?"}]}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.req.Model == "" {
				test.req.Model = gemini3
			}
			body := encodeWith(t, test.config, test.req)
			if diff := cmp.Diff(value(t, []byte(test.want)), value(t, body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if _, err := modeltestserver.DecodeGemini(test.req.Model, body); err != nil {
				t.Errorf("a strict server refuses it: %v", err)
			}
		})
	}
}

// C08: what is signed goes back on its own piece, to the provider and model that signed it.
func TestC08SignaturesGoBackToTheirMakerOnly(t *testing.T) {
	t.Parallel()
	const (
		thoughts = `{"pieces":[{"length":4,"thought":true},{"length":6,"thought":true,"signature":"U0lHNA=="},{"length":3,"thought":true},{"length":0,"signature":"U0lHNQ=="}]}`
		pieces   = `{"pieces":[{"length":7},{"length":5,"signature":"U0lHMg=="},{"length":0,"signature":"U0lHMw=="}]}`
		results  = `,{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"a","response":{"output":"1"}}},{"functionResponse":{"id":"c2","name":"a","response":{"output":"2"}}}]}`
		calls    = `{"functionCall":{"id":"c1","name":"a","args":{}}%s},{"functionCall":{"id":"c2","name":"a","args":{}}}`
		plain    = `{"text":"Let me look."},` + calls
	)
	given := func(provider, name, text string) []model.Item {
		return []model.Item{
			user("hi"), reasoning("The user want", of(provider, name, thoughts)), assistant(text, of(provider, name, pieces)),
			call("c1", "a", `{}`, of(provider, name, `{"signature":"U0lHMQ=="}`)), call("c2", "a", `{}`, nil), result("c1", "1"), result("c2", "2"),
		}
	}
	own := func(text string) string {
		return `{"text":"user w","thought":true,"thoughtSignature":"U0lHNA=="},{"text":"","thoughtSignature":"U0lHNQ=="},` + text + fmt.Sprintf(calls, `,"thoughtSignature":"U0lHMQ=="`)
	}
	for name, test := range map[string]struct {
		model string
		items []model.Item
		parts string
	}{
		"its own": {gemini3, given("Google", gemini3, "Let me look."),
			own(`{"text":"Let me "},{"text":"look.","thoughtSignature":"U0lHMg=="},{"text":"","thoughtSignature":"U0lHMw=="},`)},
		"its own, on a text that was changed":       {gemini3, given("Google", gemini3, "[redacted]"), own(`{"text":"[redacted]"},`)},
		"its own, on a text whose cut is no letter": {gemini3, given("Google", gemini3, "Let meéxxxx"), own(`{"text":"Let meéxxxx"},`)},
		"another model's":                           {gemini3, given("Google", "gemini-3-flash-preview", "Let me look."), fmt.Sprintf(plain, ","+skip)},
		"another provider's of the same model":      {gemini3, given("Vertex", gemini3, "Let me look."), fmt.Sprintf(plain, ","+skip)},
		"nobody's":                                  {gemini3, given("OpenAI", "gpt-5", "Let me look."), fmt.Sprintf(plain, ","+skip)},
		"nobody's, for a model that wants none":     {gemini25, given("OpenAI", "gpt-5", "Let me look."), fmt.Sprintf(plain, "")},
		"nobody's, for a model by its full name":    {"models/" + gemini25, given("OpenAI", "gpt-5", "Let me look."), fmt.Sprintf(plain, "")},
		"its own, of a form that is not ours": {gemini3, []model.Item{
			user("hi"), reasoning("hm", of("Google", gemini3, `[1]`)), assistant("Let me look.", of("Google", gemini3, `{"pieces":7}`)),
			call("c1", "a", `{}`, of("Google", gemini3, `"x"`)), call("c2", "a", `{}`, nil), result("c1", "1"), result("c2", "2"),
		}, fmt.Sprintf(plain, ","+skip)},
		"its own, with lengths that are none": {gemini3, []model.Item{
			user("hi"), assistant("Let me look.", of("Google", gemini3, `{"pieces":[{"length":-1},{"length":13,"signature":"eA=="}]}`)),
			call("c1", "a", `{}`, of("Google", gemini3, `{"signature":"U0lHMQ=="}`)), call("c2", "a", `{}`, nil), result("c1", "1"), result("c2", "2"),
		}, fmt.Sprintf(plain, `,"thoughtSignature":"U0lHMQ=="`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encodeWith(t, Config{}, model.Request{Model: test.model, Items: test.items})
			want := `{"contents":[` + userHi + `,{"role":"model","parts":[` + test.parts + `]}` + results + `]}`
			if diff := cmp.Diff(value(t, []byte(want)), value(t, body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// A request that goes on from what the call before encoded must be the one that is encoded anew.
func TestAKeptEncodingGivesTheSameRequestAtEachCall(t *testing.T) {
	t.Parallel()
	items := history(60).Items
	for i := range items {
		switch {
		case items[i].Kind == model.AssistantItem && i%2 == 0:
			items[i] = reasoning("hm", of("Google", "m", `{"pieces":[{"length":2,"thought":true,"signature":"eA=="}]}`))
		case items[i].Kind == model.ToolResultItem && i%5 == 0: // what the user says after results, and twice in a row
			items = append(items[:i+1:i+1], append([]model.Item{user("a"), user("b")}, items[i+1:]...)...)
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
		if _, err := modeltestserver.DecodeGemini(gemini25, want); err != nil && !strings.Contains(err.Error(), "signature") {
			t.Fatalf("%d items for %s: %v", n, name, err)
		}
	}
	for n := 1; n <= len(items); n++ {
		if kind := items[n-1].Kind; kind != model.UserItem && (kind != model.ToolResultItem || n < len(items) && items[n].Kind == model.ToolResultItem) {
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
	req := model.Request{Model: "m", Instructions: strings.Repeat("Be brief. ", 50), Items: []model.Item{user("go")}}
	for i := 0; len(req.Items) < items; i++ {
		id := fmt.Sprintf("call_%d", i)
		req.Items = append(req.Items,
			assistant(strings.Repeat("Let me see what the \"file\" holds.\n", 4), nil),
			call(id, "read_file", `{"path":"a/b/c.go","from":10,"to":200}`, nil),
			result(id, strings.Repeat("func main() { fmt.Println(\"žluť\") }\n", 20)),
		)
	}
	return req
}

// The history of a long conversation, encoded anew and with what the call before kept.
func BenchmarkEncode4000Items(b *testing.B) {
	for name, kept := range map[string]*model.Encoded{"anew": nil, "kept": new(model.Encoded)} {
		b.Run(name, func(b *testing.B) {
			req := history(4000)
			p, err := New(Config{})
			if err != nil {
				b.Fatal(err)
			}
			req.Encoded = kept
			body, err := p.encode(req)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.encode(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
