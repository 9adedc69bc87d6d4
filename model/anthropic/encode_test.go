package anthropic

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
	p, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Check(req); err != nil {
		t.Fatal(err)
	}
	body, err := p.body(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
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

const point = `"cache_control":{"type":"ephemeral"}`

// message is a request's message as it should be: its role and its blocks.
func message(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func text(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func thinkingBlock(s, signature string) string {
	return fmt.Sprintf(`{"type":"thinking","thinking":%q,"signature":%q}`, s, signature)
}

func call(id, name, input string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}`
}

func result(id, output string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":[` + text(output) + `]}`
}

func reasoned(provider, name, signature string) model.Item {
	return model.Item{Kind: model.ReasoningItem, Text: "hm", Private: &model.Private{
		Provider: provider, Model: name, Data: json.RawMessage(`{"type":"thinking","thinking":"hm","signature":"` + signature + `"}`),
	}}
}

func said(s string) model.Item { return model.Item{Kind: model.UserItem, Text: s} }

func called(id, name string) model.Item {
	return model.Item{Kind: model.ToolCallItem, CallID: id, Name: name, Arguments: json.RawMessage(`{}`)}
}

func returned(id, output string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: output}
}

func answered(s string) model.Item { return model.Item{Kind: model.AssistantItem, Text: s} }

var clockTool = model.Tool{Name: "get_time", Description: "Tells the time.", InputSchema: json.RawMessage(`{"type":"object","required":["city"],"x-order":1}`)}

func TestTheHeadOfARequestIsAsTheProtocolHasIt(t *testing.T) {
	t.Parallel()
	hi := []model.Item{said("hi")}
	messages := `"stream":true,"messages":[` + message("user", text("hi")) + `]`
	declared := `{"name":"get_time","description":"Tells the time.","input_schema":{"type":"object","required":["city"],"x-order":1}`
	ping := `{"name":"ping","input_schema":{"type":"object","properties":{}}`
	for name, test := range map[string]struct {
		config Config
		req    model.Request
		want   string
	}{
		"the least": {Config{}, model.Request{Model: "m", Items: hi},
			`{"model":"m","max_tokens":8192,` + point + `,` + messages + `}`},
		"an output limit": {Config{}, model.Request{Model: "m", Items: hi, MaxOutputTokens: 5},
			`{"model":"m","max_tokens":5,` + point + `,` + messages + `}`},
		"the output limit of a known model": {Config{}, model.Request{Model: "claude-opus-4-1-20250805", Items: hi},
			`{"model":"claude-opus-4-1-20250805","max_tokens":32000,` + point + `,` + messages + `}`},
		"an output limit above the model's own": {Config{}, model.Request{Model: "claude-opus-4-1-20250805", Items: hi, MaxOutputTokens: 64000},
			`{"model":"claude-opus-4-1-20250805","max_tokens":32000,` + point + `,` + messages + `}`},
		"cache points stand behind the tools, the system text and the whole": {Config{},
			model.Request{Model: "m", Instructions: "Be <brief>.", Items: hi, Tools: []model.Tool{clockTool, {Name: "ping"}}},
			`{"model":"m","max_tokens":8192,"system":[{"type":"text","text":"Be <brief>.",` + point + `}],
			"tools":[` + declared + `},` + ping + `,` + point + `}],` + point + `,` + messages + `}`},
		"no cache points where the server has none": {Config{NoCache: true},
			model.Request{Model: "m", Instructions: "Be brief.", Items: hi, Tools: []model.Tool{clockTool}},
			`{"model":"m","max_tokens":8192,"system":[{"type":"text","text":"Be brief."}],"tools":[` + declared + `}],` + messages + `}`},
		"a blank system text is none": {Config{}, model.Request{Model: "m", Instructions: " \n", Items: hi},
			`{"model":"m","max_tokens":8192,` + point + `,` + messages + `}`},
		"LI3 tools that are declared and forbidden": {Config{}, model.Request{Model: "m", Items: hi, Tools: []model.Tool{clockTool}, NoTools: true},
			`{"model":"m","max_tokens":8192,"tools":[` + declared + `,` + point + `}],"tool_choice":{"type":"none"},` + point + `,` + messages + `}`},
		"no tools and none allowed": {Config{}, model.Request{Model: "m", Items: hi, NoTools: true},
			`{"model":"m","max_tokens":8192,` + point + `,` + messages + `}`},
		"schemas without a type": {Config{NoCache: true}, model.Request{Model: "m", Items: hi, Tools: []model.Tool{
			{Name: "a", InputSchema: json.RawMessage(` { } `)}, {Name: "b", InputSchema: json.RawMessage(`{"properties":{}}`)},
		}},
			`{"model":"m","max_tokens":8192,"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object","properties":{}}}],` + messages + `}`},
		"calls in the conversation and no tools any more": {Config{NoCache: true},
			model.Request{Model: "m", Items: []model.Item{hi[0], called("c1", "ping"), called("c2", "ping"), returned("c1", "x"), returned("c2", "y")}},
			`{"model":"m","max_tokens":8192,"tools":[` + ping + `}],"tool_choice":{"type":"none"},"stream":true,"messages":[` +
				message("user", text("hi")) + `,` + message("assistant", call("c1", "ping", "{}"), call("c2", "ping", "{}")) + `,` +
				message("user", result("c1", "x"), result("c2", "y")) + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encodeWith(t, test.config, test.req)
			if diff := cmp.Diff(value(t, []byte(test.want)), value(t, body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if _, err := modeltestserver.DecodeMessages(body); err != nil {
				t.Errorf("a strict server refuses it: %v", err)
			}
		})
	}
}

func TestMessagesAreAsTheProtocolHasThem(t *testing.T) {
	t.Parallel()
	own, older := reasoned("Anthropic", "m", "c2ln"), reasoned("Anthropic", "m-1", "b2xk")
	redacted := model.Item{Kind: model.ReasoningItem, Private: &model.Private{
		Provider: "Anthropic", Model: "m", Data: json.RawMessage(`{"type":"redacted_thinking","data":"c2VjcmV0"}`)}}
	openai := model.Item{Kind: model.ReasoningItem, Text: "hm", Private: &model.Private{
		Provider: "OpenAI", Model: "m", Data: json.RawMessage(`{"id":"rs_1","encrypted_content":"x"}`)}}
	foreign := model.Item{Kind: model.ReasoningItem, Text: "hm", Private: &model.Private{
		Provider: "Anthropic", Model: "m", Data: json.RawMessage(`{"type":"document","data":"x"}`)}}
	for name, test := range map[string]struct {
		config Config
		items  []model.Item
		want   []string
	}{
		"an answer keeps the order of text and calls": {items: []model.Item{
			said("go"), answered("a"), called("c1", "f"), answered("b \"\n"), called("c2", "f"), returned("c1", "x"), returned("c2", "y")},
			want: []string{message("user", text("go")), message("assistant", text("a"), call("c1", "f", "{}"), text("b \"\n"), call("c2", "f", "{}")),
				message("user", result("c1", "x"), result("c2", "y"))}},
		"AT2 text and files in the user's order": {items: []model.Item{{Kind: model.UserItem, Parts: []model.Part{
			{Text: "See"},
			{Name: "a.png", MediaType: model.TypePNG, Data: []byte("\x89PNG")},
			{Text: "and"},
			{Name: "r.pdf", MediaType: model.TypePDF, Data: []byte("%PDF\xff")},
			{Name: "n.md", MediaType: "text/markdown", Data: []byte("# \"Hi\"")},
		}}},
			want: []string{message("user", text("See"), `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}}`, text("and"),
				`{"type":"document","title":"r.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERv8="}}`,
				text("<file name=\"n.md\" type=\"text/markdown\">\n# \"Hi\"\n</file>"))}},
		"results without text and failed ones": {items: []model.Item{
			said("go"), called("c1", "f"), called("c2", "f"), called("c3", "f"), returned("c1", ""),
			{Kind: model.ToolResultItem, CallID: "c2", Output: "no", Failed: true}, {Kind: model.ToolResultItem, CallID: "c3", Output: " \n", Failed: true}},
			want: []string{message("user", text("go")), message("assistant", call("c1", "f", "{}"), call("c2", "f", "{}"), call("c3", "f", "{}")),
				message("user", `{"type":"tool_result","tool_use_id":"c1"}`, `{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[`+text("no")+`]}`,
					`{"type":"tool_result","tool_use_id":"c3","is_error":true,"content":[`+text(blankFailure)+`]}`)}},
		"what the user says behind results comes behind them": {items: []model.Item{
			said("go"), called("c1", "f"), returned("c1", "x"), said("stop"), said("now")},
			want: []string{message("user", text("go")), message("assistant", call("c1", "f", "{}")), message("user", result("c1", "x")),
				message("user", text("stop")), message("user", text("now"))}},
		"texts that the API takes for none": {items: []model.Item{said("\n"), answered(" "), called("c1", "f"), returned("c1", "x"), answered("\n"), said("on")},
			want: []string{message("user", text(blankMessage)), message("assistant", call("c1", "f", "{}")), message("user", result("c1", "x")), message("user", text("on"))}},
		"C08 own reasoning goes back with its signature": {items: []model.Item{said("go"), own, redacted, answered("a"), said("on")},
			want: []string{message("user", text("go")), message("assistant", thinkingBlock("hm", "c2ln"), `{"type":"redacted_thinking","data":"c2VjcmV0"}`, text("a")), message("user", text("on"))}},
		"C08 reasoning of another model or provider is dropped and the calls stay": {items: []model.Item{
			said("go"), older, called("c1", "f"), returned("c1", "x"), openai, called("c2", "f"), returned("c2", "y"), foreign, answered("a"), said("on")},
			want: []string{message("user", text("go")), message("assistant", call("c1", "f", "{}")), message("user", result("c1", "x")),
				message("assistant", call("c2", "f", "{}")), message("user", result("c2", "y")), message("assistant", text("a")), message("user", text("on"))}},
		"C08 reasoning of a provider of another name": {config: Config{Name: "Proxy"}, items: []model.Item{said("go"), own, answered("a"), said("on")},
			want: []string{message("user", text("go")), message("assistant", text("a")), message("user", text("on"))}},
		"reasoning without its text": {items: []model.Item{said("go"),
			{Kind: model.ReasoningItem, Private: &model.Private{Provider: "Anthropic", Model: "m", Data: json.RawMessage(`{"type":"thinking","signature":"c2ln"}`)}}, answered("a"), said("on")},
			want: []string{message("user", text("go")), message("assistant", thinkingBlock("", "c2ln"), text("a")), message("user", text("on"))}},
		"reasoning at an answer's end": {items: []model.Item{said("go"), own, said("on"), own, answered("a"), own, said("and")},
			want: []string{message("user", text("go")), message("user", text("on")), message("assistant", thinkingBlock("hm", "c2ln"), text("a")), message("user", text("and"))}},
		"reasoning where thinking is off": {config: Config{Thinking: Thinking{Mode: ThinkingOff}}, items: []model.Item{said("go"), own, answered("a"), said("on")},
			want: []string{message("user", text("go")), message("assistant", text("a")), message("user", text("on"))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encodeWith(t, test.config, model.Request{Model: "m", Items: test.items})
			var got struct{ Messages json.RawMessage }
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(value(t, []byte("["+strings.Join(test.want, ",")+"]")), value(t, got.Messages)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// history has turns of two answers each, with reasoning of two models.
func history(turns int) []model.Item {
	var items []model.Item
	for i := range turns {
		id := fmt.Sprintf("call_%d", i)
		thought := reasoned("Anthropic", []string{"m", "other"}[i/3%2], "c2ln")
		items = append(items, said("Look at \"file\" "+id), thought, answered("Let me see."))
		for k := range 1 + i%3 {
			items = append(items, model.Item{
				Kind: model.ToolCallItem, CallID: fmt.Sprint(id, "_", k), Name: "read_file", Arguments: json.RawMessage(`{"path":"a/b/c.go","from":10,"to":200}`)})
		}
		for k := range 1 + i%3 {
			items = append(items, returned(fmt.Sprint(id, "_", k), strings.Repeat("func main() { fmt.Println(\"žluť\") }\n", 20)))
		}
		items = append(items, answered("It holds a program."))
	}
	return append(items, said("thanks"))
}

// A request that goes on from what the call before encoded must be the one that is encoded anew: also the API
// compares what stands before reasoning with what stood there.
func TestAKeptEncodingGivesTheSameRequestAtEachCall(t *testing.T) {
	t.Parallel()
	items := history(20)
	kept := new(model.Encoded)
	check := func(name string, n int) {
		req := model.Request{Model: name, Instructions: "Be brief.", Items: items[:n]}
		want := encodeWith(t, Config{}, req)
		req.Encoded = kept
		if got := encodeWith(t, Config{}, req); string(got) != string(want) {
			t.Fatalf("%d items for %s: got %s, want %s", n, name, got, want)
		}
		if _, err := modeltestserver.DecodeMessages(want); err != nil && !strings.Contains(err.Error(), "signature") {
			t.Fatalf("a strict server refuses %d items: %v", n, err)
		}
	}
	for n := 1; n <= len(items); n++ {
		ends := items[n-1].Kind == model.UserItem || items[n-1].Kind == model.ToolResultItem && items[n].Kind != model.ToolResultItem
		if !ends {
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

// What model.Check lets through can be encoded; what it does not must neither be sent nor be kept.
func TestAnItemThatCannotBeEncodedIsNotKept(t *testing.T) {
	t.Parallel()
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	items := []model.Item{said("go"), {Kind: model.ToolCallItem, CallID: "c1", Name: "f", Arguments: json.RawMessage(`{"a`)}, returned("c1", "x")}
	kept := new(model.Encoded)
	if body, err := p.body(model.Request{Model: "m", Items: items, Encoded: kept}); err == nil {
		t.Fatalf("arguments that are no JSON became %s", body)
	}
	items[1] = called("c1", "f")
	got, err := p.body(model.Request{Model: "m", Items: items, Encoded: kept})
	if err != nil {
		t.Fatal(err)
	}
	if want := encodeWith(t, Config{}, model.Request{Model: "m", Items: items}); string(got) != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkEncode200Turns(b *testing.B) {
	items := history(200)
	p, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	for name, kept := range map[string]*model.Encoded{"anew": nil, "kept": new(model.Encoded)} {
		b.Run(name, func(b *testing.B) {
			req := model.Request{Model: "m", Instructions: "Be brief.", Items: items, Encoded: kept, Tools: []model.Tool{clockTool}}
			body, err := p.body(req)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.body(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
