package google_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/google"
	"github.com/openworkerai/openworker/model/modeltest"
	"github.com/openworkerai/openworker/model/modeltest/server"
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

// talk is a conversation as the runtime keeps it: call IDs are ours, private data stays with its item.
type talk struct {
	items []model.Item
	kept  model.Encoded
	calls int
}

func (c *talk) add(resp model.Response) {
	var results []model.Item
	for _, item := range resp.Items {
		out := model.Item{Kind: item.Kind, Text: item.Text, Private: item.Private}
		if item.Kind == model.ToolCallItem {
			c.calls++
			out.CallID, out.Name, out.Arguments = fmt.Sprintf("our_%d", c.calls), item.Name, json.RawMessage(item.Arguments)
			results = append(results, model.Item{Kind: model.ToolResultItem, CallID: out.CallID, Output: "7 °C", Failed: c.calls%5 == 0})
		}
		c.items = append(c.items, out)
	}
	c.items = append(c.items, results...)
}

// C08: a conversation of many turns with thoughts and parallel calls, whose model changes from step to step, also
// between calls and their results. The server refuses signatures of other models, and calls without any.
func TestC08AConversationThatChangesItsModelIsAcceptedAtEachStep(t *testing.T) {
	t.Parallel()
	s := newServer(t, modeltestserver.Config{Credential: modeltest.Credential, Handler: func(r modeltestserver.Request) modeltestserver.Reply {
		reply := modeltestserver.Reply{Reasoning: "Let me think. ", Chunk: 3, Withheld: r.Number%4 == 0}
		if r.Number%3 == 0 {
			reply.Text = "It is 7 °C."
			return reply
		}
		if r.Number%2 == 0 {
			reply.Text = "I look."
		}
		for i := range r.Number%3 + 1 {
			reply.Calls = append(reply.Calls, modeltestserver.Call{ID: fmt.Sprint("theirs_", i), Name: "get_weather", Arguments: brno})
		}
		return reply
	}})
	p := newProvider(t, google.Config{BaseURL: s.Base(modeltestserver.Gemini)})
	models := []string{"gemini-3-pro-preview", "gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-2.5-flash"}
	conversation := &talk{}
	asked := modeltest.Request()
	for step := range 120 {
		if last := len(conversation.items) - 1; last < 0 || conversation.items[last].Kind != model.ToolResultItem {
			conversation.items = append(conversation.items, model.Item{Kind: model.UserItem, Text: fmt.Sprintf("And on day %d?", step)})
		}
		req := asked
		req.Model, req.Items, req.Encoded = models[step%len(models)], conversation.items, &conversation.kept
		if err := model.Check(req); err != nil {
			t.Fatal(err)
		}
		resp, err := p.Stream(t.Context(), req, modeltest.Discard)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		conversation.add(resp)
	}
	if refusals := s.Refusals(); len(refusals) > 0 {
		t.Errorf("the server refused: %q", refusals)
	}
	returned := 0
	for _, r := range s.Requests() {
		for _, m := range r.Messages {
			for _, reasoning := range m.Reasoning {
				if reasoning.Private != "" && reasoning.Private != "skip_thought_signature_validator" {
					returned++
				}
			}
		}
	}
	if returned == 0 {
		t.Error("no signature of its own came back to a model")
	}
}

func TestWhatTheServerSeesIsWhatWasSaid(t *testing.T) {
	t.Parallel()
	s := newServer(t, modeltestserver.Config{})
	p := newProvider(t, google.Config{BaseURL: s.Base(modeltestserver.Gemini)})
	req := modeltest.Request()
	req.Model, req.NoTools = "gemini-3-pro-preview", true
	req.Items = []model.Item{
		{Kind: model.UserItem, Parts: []model.Part{{Text: "see"}, {Name: "a.pdf", MediaType: model.TypePDF, Data: []byte("%PDF\x00\xff")}}},
		{Kind: model.ToolCallItem, CallID: "c1", Name: "get_weather", Arguments: json.RawMessage(brno), Private: &model.Private{Provider: "OpenAI", Model: "gpt-5", Data: json.RawMessage(`"x"`)}},
		{Kind: model.ToolResultItem, CallID: "c1", Output: "no such city", Failed: true},
		{Kind: model.UserItem, Text: "well?"},
	}
	if _, err := p.Stream(t.Context(), req, modeltest.Discard); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()[0]
	want := []modeltestserver.Message{
		{Role: "system", Content: "Be brief."},
		{Role: "user", Content: "see", Parts: []modeltestserver.Part{{MediaType: model.TypePDF, Data: []byte("%PDF\x00\xff")}}},
		{Role: "assistant", Calls: []modeltestserver.Call{{ID: "c1", Name: "get_weather", Arguments: brno}}, Reasoning: []modeltestserver.Reasoning{{Private: "skip_thought_signature_validator"}}},
		{Role: "tool", ToolCallID: "c1", Content: "no such city", Failed: true},
		{Role: "user", Content: "well?"},
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got.ToolChoice != "none" || len(got.Tools) != 2 || got.MaxTokens != 1000 {
		t.Errorf("got tool choice %q, tools %q, at most %d tokens", got.ToolChoice, got.Tools, got.MaxTokens)
	}
}

func TestASlowConsumerIsNoSilentServer(t *testing.T) {
	t.Parallel()
	s := newServer(t, modeltestserver.Config{Handler: func(modeltestserver.Request) modeltestserver.Reply {
		return modeltestserver.Reply{Text: strings.Repeat("word ", 50), Chunk: 5, Pace: time.Millisecond}
	}})
	const idle = 2 * time.Second
	p := newProvider(t, google.Config{BaseURL: s.Base(modeltestserver.Gemini), StreamIdle: idle})
	slow := true
	_, err := p.Stream(t.Context(), modeltest.Request(), func(model.Delta) {
		if slow { // one pause longer than the idle time
			slow = false
			timer := time.NewTimer(idle + idle/4)
			<-timer.C
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkCallOverLoopback(b *testing.B) {
	reply := modeltestserver.Reply{Text: "It is 7 °C and cloudy in Brno today.", Chunk: 4}.PreparedFor(modeltestserver.Gemini, "m")
	s := newServer(b, modeltestserver.Config{Fast: true, Handler: func(modeltestserver.Request) modeltestserver.Reply { return reply }})
	p := newProvider(b, google.Config{BaseURL: s.Base(modeltestserver.Gemini)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), modeltest.Request(), modeltest.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
