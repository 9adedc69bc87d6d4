package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/modeltest"
	"github.com/openworkerai/openworker/model/modeltest/server"
	"github.com/openworkerai/openworker/model/openai"
)

func newServer(t testing.TB, config modeltestserver.Config) *modeltestserver.Server {
	t.Helper()
	s, err := modeltestserver.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// answered are an answer's items as the runtime would put them into the next request: with call IDs of its own and
// arguments that are objects, each call with a result.
func answered(resp model.Response, prefix string) []model.Item {
	var items, results []model.Item
	for i, it := range resp.Items {
		item := model.Item{Kind: it.Kind, Text: it.Text, Private: it.Private}
		if it.Kind == model.ToolCallItem {
			item.CallID, item.Name, item.Arguments = fmt.Sprintf("%s_%d", prefix, i), it.Name, json.RawMessage(it.Arguments)
			if !json.Valid(item.Arguments) {
				item.Arguments = json.RawMessage(`{}`)
			}
			results = append(results, model.Item{Kind: model.ToolResultItem, CallID: item.CallID, Output: "found", Failed: i%2 == 0})
		}
		items = append(items, item)
	}
	return append(items, results...)
}

// TestAStrictServerTakesEveryRequestOfALongConversation has every kind of answer in its history, and two models in turns.
func TestAStrictServerTakesEveryRequestOfALongConversation(t *testing.T) {
	t.Parallel()
	call := func(id string) modeltestserver.Call {
		return modeltestserver.Call{ID: id, Name: "get_weather", Arguments: `{"city":"Brno"}`}
	}
	replies := []modeltestserver.Reply{
		{Reasoning: "hm", Text: "Let me look.", Calls: []modeltestserver.Call{call("call_1"), call("call_1")}, Chunk: 3},
		{Text: "Here it is.", Chunk: 2},
		{Reasoning: "hm hm"},
		{Withheld: true, Calls: []modeltestserver.Call{call("call_1")}},
		{Reasoning: "so", Text: "Then", Finish: "length"},
		{Reasoning: "so", Calls: []modeltestserver.Call{{ID: "call_2", Name: "get_time", Arguments: `{"ci`}}, Finish: "length"},
		{Text: "No", Finish: "content_filter"},
		{},
	}
	s := newServer(t, modeltestserver.Config{Credential: modeltest.Credential, Handler: func(r modeltestserver.Request) modeltestserver.Reply {
		return replies[(r.Number-1)%len(replies)]
	}})
	p := newProvider(t, openai.Config{BaseURL: s.Base(modeltestserver.Responses)})
	req := modeltest.Request()
	req.Session, req.Encoded = strings.Repeat("s", 80), new(model.Encoded)
	req.Items = []model.Item{{Kind: model.UserItem, Parts: []model.Part{
		{Text: "See"}, {Name: "a.png", MediaType: model.TypePNG, Data: []byte{1}}, {Name: "b.pdf", MediaType: model.TypePDF, Data: []byte("%PDF-1.7")},
		{Name: "c.md", MediaType: "text/markdown", Data: []byte("# C")},
	}}}
	const rounds = 40
	returned := 0
	for round := range rounds {
		req.Model = []string{"gpt-5", "o3"}[round/8%2]
		req.NoTools, req.MaxOutputTokens = round%5 == 4, round
		if err := model.Check(req); err != nil {
			t.Fatal(err)
		}
		resp, err := p.Stream(t.Context(), req, modeltest.Discard)
		if err != nil {
			t.Fatalf("round %d: %v; the server refused %q", round, err, s.Refusals())
		}
		req.Items = append(req.Items, answered(resp, fmt.Sprintf("ow_%d", round))...)
		if last := req.Items[len(req.Items)-1].Kind; last != model.ToolResultItem {
			req.Items = append(req.Items, model.Item{Kind: model.UserItem, Text: "Go on."})
		}
	}
	if refusals := s.Refusals(); len(refusals) > 0 {
		t.Errorf("refused: %q", refusals)
	}
	for _, r := range s.Requests() {
		for _, m := range r.Messages {
			returned += len(m.Reasoning)
		}
	}
	if got := s.Calls(); got != rounds || returned == 0 {
		t.Errorf("%d requests, %d pieces of reasoning returned", got, returned)
	}
}

func TestReasoningReturnsToItsOwnModelOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t, modeltestserver.Config{Handler: func(r modeltestserver.Request) modeltestserver.Reply {
		if r.LastRole == "tool" {
			return modeltestserver.Reply{Text: "7 °C"}
		}
		return modeltestserver.Reply{Reasoning: "I must look.", Calls: []modeltestserver.Call{{ID: "x", Name: "get_weather", Arguments: "{}"}}}
	}})
	p := newProvider(t, openai.Config{BaseURL: s.Base(modeltestserver.Responses)})
	req := modeltest.Request()
	req.Model = "gpt-5"
	resp, err := p.Stream(t.Context(), req, modeltest.Discard)
	if err != nil {
		t.Fatal(err)
	}
	req.Items = append(req.Items, answered(resp, "ow")...)
	for _, name := range []string{"gpt-5", "gpt-5-mini", "gpt-4o"} {
		req.Model = name
		if _, err := p.Stream(t.Context(), req, modeltest.Discard); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	got := map[string]string{}
	for _, r := range s.Requests()[1:] {
		for _, m := range r.Messages {
			for _, piece := range m.Reasoning {
				got[r.Model] += piece.Text
			}
		}
	}
	if diff := cmp.Diff(map[string]string{"gpt-5": "I must look."}, got); diff != "" {
		t.Errorf("reasoning that returned (-want +got):\n%s", diff)
	}
}

func TestFaultsOfAServerAreOfTheirKind(t *testing.T) {
	t.Parallel()
	broken := modeltestserver.Error{Code: "server_error", Message: "The server had an error"}
	for name, test := range map[string]struct {
		reply modeltestserver.Reply
		kind  model.ErrorKind
	}{
		"cut":                      {modeltestserver.Reply{Text: "half", Cut: true}, model.KindCut},
		"silent":                   {modeltestserver.Reply{Text: "half", Silent: true}, model.KindCut},
		"an error inside":          {modeltestserver.Reply{Text: "half", Broken: &broken}, model.KindOverloaded},
		"failed":                   {modeltestserver.Reply{Text: "half", Finish: "failed", Broken: &broken}, model.KindOverloaded},
		"a limit":                  {modeltestserver.Reply{Status: 429, Error: modeltestserver.Error{Code: "rate_limit_exceeded", Message: "slow"}}, model.KindRateLimited},
		"a page in place of a 200": {modeltestserver.Reply{Status: 200, Body: "<html>"}, model.KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, modeltestserver.Config{Handler: func(modeltestserver.Request) modeltestserver.Reply { return test.reply }})
			p := newProvider(t, openai.Config{BaseURL: s.Base(modeltestserver.Responses), StreamIdle: time.Second})
			_, err := p.Stream(t.Context(), modeltest.Request(), modeltest.Discard)
			e := modeltest.Failure(t, err)
			if e.Kind != test.kind || e.Received != len(test.reply.Text) {
				t.Errorf("got %v after %d bytes, want %s", e, e.Received, test.kind)
			}
			if refusals := s.Refusals(); len(refusals) > 0 {
				t.Errorf("refused: %q", refusals)
			}
		})
	}
}

func BenchmarkCallOverLoopback(b *testing.B) {
	reply := modeltestserver.Reply{Text: "It is 7 °C and cloudy in Brno today.", Chunk: 4}.PreparedFor(modeltestserver.Responses, "test-model")
	s := newServer(b, modeltestserver.Config{Fast: true, Handler: func(modeltestserver.Request) modeltestserver.Reply { return reply }})
	p := newProvider(b, openai.Config{BaseURL: s.Base(modeltestserver.Responses)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), modeltest.Request(), modeltest.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
