package providers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/google"
	modeltestserver "github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/model/openaichat"
)

// What stands in generated requests: all that is odd and that [model.Check] takes.
var (
	oddTexts   = []string{"hello", " ", "\n\t", "a\x00b", "\u2028", "</file>", "💥", "\ufeff", `{"a":1}`, `],"role":"user"},`, "a ", "\u200b"}
	oddNames   = []string{"get_weather", "-x", "3d", "_3d", "__3d", "--", "_-x", "_", "a", strings.Repeat("a", 64), "7" + strings.Repeat("b", 63), "A-b_c9"}
	oddSchemas = []string{
		"", `{}`, `{"type":"object"}`, ` {"type":"object","properties":{"a":true}} `, `{"properties":{}}`, `{"type":"object","additionalProperties":true}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`,
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`, `{"type":["object","null"]}`,
	}
	oddArguments = []string{`{}`, `{"a":1}`, ` { "a" : [ ] } `, `{"a":"\u0000"}`, `{"a":"\ud83d\ude00"}`, `{"n":12345678901234567890}`, `{"":{}}`, `{"a":[],"role":"user"}`}
	// oddPrivate is what another version, or another provider of the same name, may have kept.
	oddPrivate = []string{
		`null`, `{}`, `[]`, `"x"`, `1`, `{"field":"reasoning"}`, `{"field":"content"}`, `{"field":5}`, `{"type":"reasoning"}`, `{"type":"reasoning","summary":null}`,
		`{"type":"reasoning","id":5}`, `{"type":"reasoning","id":"rs_1","summary":[]}`, `{"type":"thinking","thinking":5}`, `{"type":"redacted_thinking"}`,
		`{"phase":"bogus"}`, `{"phase":5}`, `{"phase":"commentary"}`, `{"pieces":[{"length":-1}]}`, `{"pieces":[{"length":3},{"length":9999}]}`,
		`{"signature":5}`, `{"signature":"!!"}`, `{"pieces":[{"length":5,"signature":"\u0000"}]}`,
	}
)

// requests generates conversations for a provider's model.
type requests struct {
	*rapid.T
	at    subject
	req   model.Request
	calls int
}

func (g *requests) one(of []string, label string) string {
	return rapid.SampledFrom(of).Draw(g.T, label)
}

func (g *requests) private() *model.Private {
	if rapid.IntRange(0, 2).Draw(g.T, "has private data") > 0 {
		return nil
	}
	return &model.Private{
		Provider: g.one([]string{g.at.name, "Other"}, "its provider"), Model: g.one([]string{g.at.model, g.at.other}, "its model"),
		Data: json.RawMessage(g.one(oddPrivate, "private data")),
	}
}

func (g *requests) user() {
	item := model.Item{Kind: model.UserItem}
	if rapid.Bool().Draw(g.T, "is text") {
		item.Text = g.one(oddTexts, "text")
	}
	for range rapid.IntRange(1, 4).Draw(g.T, "parts") {
		if item.Text != "" {
			break
		}
		part := model.Part{Name: g.one(oddTexts, "name"), Data: []byte("%PDF-1")}
		switch kind := g.one([]string{"text", model.TypePNG, model.TypeWebP, model.TypePDF, "text/plain", `text/x"y`}, "type"); kind {
		case "text":
			part = model.Part{Text: g.one(oddTexts, "text")}
		default:
			part.MediaType = kind
		}
		item.Parts = append(item.Parts, part)
	}
	g.req.Items = append(g.req.Items, item)
}

// answer adds an answer and the results of its calls.
func (g *requests) answer() {
	var results []model.Item
	for range rapid.IntRange(1, 5).Draw(g.T, "items") {
		item := model.Item{Kind: model.AssistantItem, Private: g.private()}
		switch g.one([]string{"text", "reasoning", "call"}, "kind") {
		case "text":
			item.Text = g.one(oddTexts, "text")
		case "reasoning":
			item.Kind, item.Text = model.ReasoningItem, g.one(oddTexts, "text")
			if item.Private != nil && rapid.Bool().Draw(g.T, "is without text") {
				item.Text = ""
			}
		default:
			g.calls++
			item.Kind, item.CallID, item.Name = model.ToolCallItem, fmt.Sprintf("c%d", g.calls), g.one(oddNames, "tool")
			item.Arguments = json.RawMessage(g.one(oddArguments, "arguments"))
			results = append(results, model.Item{Kind: model.ToolResultItem, CallID: item.CallID, Output: g.one(append(oddTexts, ""), "output"), Failed: rapid.Bool().Draw(g.T, "fails")})
		}
		g.req.Items = append(g.req.Items, item)
	}
	g.req.Items = append(g.req.Items, results...)
}

// generate makes a request, and tells at how many items it could have ended before.
func (g *requests) generate() (ends []int) {
	g.req = model.Request{
		Model: g.at.model, Instructions: g.one(append(oddTexts, ""), "instructions"), NoTools: rapid.Bool().Draw(g.T, "no tools"),
		MaxOutputTokens: rapid.SampledFrom([]int{0, 1, 15, 16, 5000, 1 << 20}).Draw(g.T, "limit"), Session: g.one([]string{"", "s", strings.Repeat("s", 200)}, "session"),
	}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(oddNames), func(s string) string { return s }).Draw(g.T, "tools") {
		g.req.Tools = append(g.req.Tools, model.Tool{Name: name, Description: g.one(append(oddTexts, ""), "description"), InputSchema: json.RawMessage(g.one(oddSchemas, "schema"))})
	}
	for g.user(); ; {
		if kind := g.req.Items[len(g.req.Items)-1].Kind; kind == model.UserItem || kind == model.ToolResultItem {
			ends = append(ends, len(g.req.Items))
			if len(ends) > 6 || rapid.IntRange(0, 4).Draw(g.T, "ends") == 0 {
				return ends
			}
		}
		if rapid.Bool().Draw(g.T, "the user speaks") {
			g.user()
		} else {
			g.answer()
		}
	}
}

// Whatever [model.Check] takes is taken by the strict server of each protocol, in the same bytes whether it grew from
// shorter requests, with a change of the model between them (C08), or is encoded at once.
func TestEveryRequestThatIsWellFormedIsTaken(t *testing.T) {
	t.Parallel()
	eachSubject(t, func(t *testing.T, s subject) {
		rapid.Check(t, func(rt *rapid.T) {
			g := &requests{T: rt, at: s}
			ends := g.generate()
			if err := model.Check(g.req); err != nil {
				rt.Fatalf("the generator is wrong: %v", err)
			}
			server := modeltestserver.NewInMemory(modeltestserver.Config{})
			provider, err := s.open(server.Transport())
			if err != nil {
				rt.Fatal(err)
			}
			ask := func(name string, items []model.Item, kept *model.Encoded) string {
				req := g.req
				req.Model, req.Items, req.Encoded = name, items, kept
				if _, err := provider.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
					rt.Fatalf("%v; refused: %q", err, server.Refusals())
				}
				all := server.Requests()
				return string(all[len(all)-1].Body)
			}
			kept := &model.Encoded{}
			for _, end := range ends {
				name := g.one([]string{s.model, s.other}, "asked model")
				if diff := cmp.Diff(ask(name, g.req.Items[:end], nil), ask(name, g.req.Items[:end], kept)); diff != "" {
					rt.Fatalf("%d items, kept from before (-want +got):\n%s", end, diff)
				}
			}
		})
	})
}

// A conversation's kept encoding is one protocol's, whatever providers and models are called.
func TestNoProviderTakesTheEncodingOfAnother(t *testing.T) {
	t.Parallel()
	server := modeltestserver.NewInMemory(modeltestserver.Config{})
	client := &http.Client{Transport: server.Transport()}
	chat, err := openaichat.New(openaichat.Config{Name: "a/b", BaseURL: "http://model.test/v1", HTTPClient: client, KeyOptional: true})
	if err != nil {
		t.Fatal(err)
	}
	gemini, err := google.New(google.Config{Name: "a", BaseURL: "http://model.test", HTTPClient: client, KeyOptional: true})
	if err != nil {
		t.Fatal(err)
	}
	req := model.Request{Items: []model.Item{{Kind: model.UserItem, Text: "hi"}}, Encoded: &model.Encoded{}}
	for _, at := range []struct {
		provider model.Provider
		model    string
	}{{chat, "c"}, {gemini, "b/c"}, {chat, "c"}} {
		req.Model = at.model
		if _, err := at.provider.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
			t.Errorf("%s %s: %v; refused: %q", at.provider.Name(), at.model, err, server.Refusals())
		}
	}
}
