package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/model"
)

var update = flag.Bool("update", false, "write testdata/requests anew")

func newProvider(t testing.TB, config Config) *Provider {
	t.Helper()
	p, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bodyOf(t testing.TB, config Config, req model.Request) []byte {
	t.Helper()
	body, err := newProvider(t, config).body(req)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(body) {
		t.Fatalf("the body is not JSON: %s", body)
	}
	return body
}

func user(text string) model.Item { return model.Item{Kind: model.UserItem, Text: text} }
func says(text string) model.Item { return model.Item{Kind: model.AssistantItem, Text: text} }
func calls(id string) model.Item {
	return model.Item{Kind: model.ToolCallItem, CallID: id, Name: "look_up", Arguments: json.RawMessage(`{"key": "<a&b>"}`)}
}
func tells(id, output string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: output}
}
func thinks(provider, name, id string) model.Item {
	return model.Item{Kind: model.ReasoningItem, Text: "hm", Private: &model.Private{Provider: provider, Model: name, Data: json.RawMessage(
		`{"type":"reasoning","id":"` + id + `","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA` + id + `","later":{"kept":[1]}}`,
	)}}
}
func private(item model.Item, data string) model.Item {
	item.Private = &model.Private{Provider: "OpenAI", Model: "gpt-5", Data: json.RawMessage(data)}
	return item
}

// pdf is no text in any coding.
var pdf = []byte("%PDF-1.7\n\xe2\xe3\xcf\xd3\x00\xff\n%%EOF\r\n")

// TestARequestReadsAsTheAPIHasIt compares whole bodies with testdata/requests.
func TestARequestReadsAsTheAPIHasIt(t *testing.T) {
	t.Parallel()
	tools := []model.Tool{
		{Name: "look_up", Description: "Looks a key up.", InputSchema: json.RawMessage(`{"type":"object","properties":{"key":{"type":"string","maximum":12345678901234567890}},"required":["key"],"additionalProperties":false}`)},
		{Name: "now"},
		{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)},
	}
	for name, test := range map[string]struct {
		config Config
		req    model.Request
	}{
		"a first message": {Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{user("hi")}}},
		"all that a request has": {Config{Effort: "low", Summary: "auto"}, model.Request{
			Model: "gpt-5", Instructions: "Be <brief> & \"kind\".", Items: []model.Item{user("hi")}, Tools: tools, MaxOutputTokens: 1000, Session: "ses_1",
		}},
		"effort and summary are for models that reason": {Config{Effort: "low", Summary: "auto"}, model.Request{Model: "gpt-4o", Items: []model.Item{user("hi")}}},
		"the use of tools is forbidden":                 {Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{user("hi")}, Tools: tools[1:2], NoTools: true}},
		"no tools need no choice":                       {Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{user("hi")}, NoTools: true}},
		"a limit below the API's":                       {Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{user("hi")}, MaxOutputTokens: 1}},
		"a session whose key is long":                   {Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{user("hi")}, Session: strings.Repeat("x", 65)}},
		"AT2 text, an image, text, a PDF and a text file in the user's order": {Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{{
			Kind: model.UserItem, Parts: []model.Part{
				{Text: "See"}, {Name: "a.png", MediaType: model.TypePNG, Data: []byte{0x89, 'P', 0}}, {Text: "and"},
				{Name: "b \"c\"", MediaType: model.TypePDF, Data: pdf}, {Name: "d.md", MediaType: "text/markdown", Data: []byte("# D\n")},
			},
		}}}},
		"results of parallel calls": {Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{
			user("go"), says("Let me look."), calls("c1"), calls("c2"), tells("c1", "one"), {Kind: model.ToolResultItem, CallID: "c2", Output: "no such key", Failed: true},
			calls("c3"), tells("c3", ""), user("and?"), user("well?"),
		}}},
		"own reasoning returns in its place": {Config{}, model.Request{Model: "gpt-5", Items: []model.Item{
			user("go"), thinks("OpenAI", "gpt-5", "rs_1"), private(says("Let me look."), `{"phase":"commentary"}`), thinks("OpenAI", "gpt-5", "rs_2"), calls("c1"), tells("c1", "one"),
			thinks("OpenAI", "gpt-5", "rs_3"), thinks("OpenAI", "gpt-5", "rs_4"), private(says("So."), `{"phase":"final_answer"}`), user("on"),
		}}},
		"C08 another's reasoning is dropped": {Config{}, model.Request{Model: "gpt-5", Items: []model.Item{
			user("go"), thinks("Anthropic", "gpt-5", "rs_1"), says("a"), thinks("OpenAI", "gpt-5-mini", "rs_2"), calls("c1"), tells("c1", "one"),
			{Kind: model.ReasoningItem, Text: "hm"}, private(model.Item{Kind: model.ReasoningItem, Text: "hm"}, `{"field":"reasoning_content"}`),
			private(model.Item{Kind: model.ReasoningItem, Text: "hm"}, `7`), says("b"), user("on"),
		}}},
		"C06 reasoning alone is left out": {Config{}, model.Request{Model: "gpt-5", Items: []model.Item{
			user("go"), thinks("OpenAI", "gpt-5", "rs_1"), user("on"), calls("c1"), tells("c1", "one"), thinks("OpenAI", "gpt-5", "rs_2"), thinks("OpenAI", "gpt-5", "rs_3"), user("well?"),
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := model.Check(test.req); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, bodyOf(t, test.config, test.req), "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", "requests", strings.NewReplacer(" ", "_", ",", "", "'", "").Replace(name)+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPDFGoesOutByteForByte(t *testing.T) {
	t.Parallel()
	body := bodyOf(t, Config{}, model.Request{Model: "gpt-4o", Items: []model.Item{{Kind: model.UserItem, Parts: []model.Part{{Name: "a.pdf", MediaType: model.TypePDF, Data: pdf}}}}})
	var sent struct {
		Input []struct {
			Content []struct {
				FileData string `json:"file_data"`
			}
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	encoded, found := strings.CutPrefix(sent.Input[0].Content[0].FileData, "data:application/pdf;base64,")
	got, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !found || !bytes.Equal(got, pdf) {
		t.Errorf("got %q (%v), want %q", got, err, pdf)
	}
}

func TestAKeptEncodingIsWhatAWholeOneWouldBe(t *testing.T) {
	t.Parallel()
	items := []model.Item{user("go")}
	for i := range 40 {
		id := fmt.Sprintf("c%d", i)
		items = append(items, thinks("OpenAI", "gpt-5", "rs_"+id), says("Let me look."), thinks("OpenAI", "other", "rs_o"+id), calls(id), tells(id, "found"))
		if i%3 == 0 {
			items = append(items, thinks("OpenAI", "gpt-5", "rs_x"+id), user("on"))
		}
	}
	kept := new(model.Encoded)
	check := func(config Config, name string, n int) {
		req := model.Request{Model: name, Instructions: "Be brief.", Items: items[:n]}
		want := bodyOf(t, config, req)
		req.Encoded = kept
		if got := bodyOf(t, config, req); string(got) != string(want) {
			t.Fatalf("%d items for %s: got %s, want %s", n, name, got, want)
		}
	}
	for n := 1; n <= len(items); n++ {
		if kind := items[n-1].Kind; kind != model.UserItem && kind != model.ToolResultItem {
			continue
		}
		check(Config{}, "gpt-5", n)
		check(Config{}, "gpt-5", n) // a retry
		if n%7 == 0 {
			check(Config{}, "other", n) // C08: a switch of model and back
			check(Config{Name: "Azure"}, "gpt-5", n)
		}
	}
	check(Config{}, "gpt-5", 1) // what was kept is longer than the conversation
	if kept.Bytes() == 0 {
		t.Error("nothing was kept")
	}
}

func TestModelsThatReasonAreKnownByName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"o1": true, "o3-mini": true, "o4-mini-2025-04-16": true, "gpt-5": true, "gpt-5.3-codex": true, "GPT-6": true, "gpt-10-mini": true,
		"openai/gpt-5-nano": true, "codex-mini-latest": true,
		"gpt-4o": false, "gpt-4.1-mini": false, "gpt-3.5-turbo": false, "gpt-5-chat-latest": false, "gpt-oss-120b": false, "gpt-": false,
		"o": false, "omni": false, "openai/": false, "": false, "claude-opus-4-5": false,
	} {
		if got := reasons(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestWhatIsKeptOfReasoningIsWhatTheAPITakesBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ raw, want string }{
		"sealed":                      {`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x"}`, `{"encrypted_content":"x","id":"rs_1","summary":[],"type":"reasoning"}`},
		"its status and nulls go":     {`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"x","status":"completed","content":null}`, `{"encrypted_content":"x","id":"rs_1","summary":[],"type":"reasoning"}`},
		"a summary is added":          {`{"type":"reasoning","encrypted_content":"x"}`, `{"encrypted_content":"x","summary":[],"type":"reasoning"}`},
		"what we do not know is kept": {`{"type":"reasoning","summary":[],"encrypted_content":"x","new":{"a":[1]}}`, `{"encrypted_content":"x","new":{"a":[1]},"summary":[],"type":"reasoning"}`},
		"open":                        {`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`, `{"content":[{"type":"reasoning_text","text":"hm"}],"summary":[],"type":"reasoning"}`},
		"neither sealed nor open":     {`{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":null,"content":[]}`, ``},
		"sealed with nothing":         {`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":""}`, ``},
		"no object":                   {`[]`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := string(reasoningData(json.RawMessage(test.raw))); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// history is a conversation of turns, each with a call, in a form that any provider takes.
func history(turns int) model.Request {
	req := model.Request{Model: "gpt-5", Instructions: strings.Repeat("Be brief. ", 50), Items: []model.Item{user("go")}}
	for i := range turns {
		id := fmt.Sprintf("call_%d", i)
		req.Items = append(req.Items,
			says(strings.Repeat("Let me see what the \"file\" holds.\n", 4)),
			model.Item{Kind: model.ToolCallItem, CallID: id, Name: "read_file", Arguments: json.RawMessage(`{"path":"a/b/c.go","from":10,"to":200}`)},
			tells(id, strings.Repeat("func main() { fmt.Println(\"žluť\") }\n", 20)),
			says("Done."), user("on"),
		)
	}
	return req
}

func BenchmarkEncode200Turns(b *testing.B) {
	p := newProvider(b, Config{})
	for _, keep := range []bool{false, true} {
		b.Run(map[bool]string{false: "whole", true: "what is new"}[keep], func(b *testing.B) {
			req := history(200)
			if keep {
				req.Encoded = new(model.Encoded)
			}
			b.ReportAllocs()
			for b.Loop() {
				body, err := p.body(req)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}
