package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/anthropic"
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

// answerer thinks, calls two tools at each user's message and answers at their results. Some reasoning is withheld.
func answerer(req modeltestserver.Request) modeltestserver.Reply {
	reply := modeltestserver.Reply{Reasoning: fmt.Sprintf("Thought %d.", req.Number), Withheld: req.Number%5 == 0, Chunk: 3, CachedTokens: 4, ReasoningTokens: 2}
	if req.LastRole == "tool" {
		reply.Text = "Done."
		return reply
	}
	for _, name := range []string{"get_weather", "get_time"} {
		reply.Calls = append(reply.Calls, modeltestserver.Call{ID: "toolu_" + name, Name: name, Arguments: `{"city":"Brno"}`})
	}
	return reply
}

// keep turns an answer into items of the conversation, as the runtime does: with call IDs of our own.
func keep(items []model.Item, resp model.Response) (all []model.Item, calls int) {
	for _, item := range resp.Items {
		next := model.Item{Kind: item.Kind, Text: item.Text, Private: item.Private}
		if item.Kind == model.ToolCallItem {
			next.CallID, next.Name, next.Arguments = fmt.Sprintf("our_%d", len(items)), item.Name, json.RawMessage(item.Arguments)
			calls++
		}
		items = append(items, next)
	}
	return items, calls
}

// C08: a strict server refuses reasoning of another model, calls without results, and thinking with a budget in a
// turn that began without.
func TestC08AConversationThatChangesModelsIsTakenByAStrictServer(t *testing.T) {
	t.Parallel()
	for name, thinking := range map[string]anthropic.Thinking{
		"left to the model": {},
		"adaptive":          {Mode: anthropic.ThinkingAdaptive},
		"a budget":          {Mode: anthropic.ThinkingBudget, Budget: 1024},
		"off":               {Mode: anthropic.ThinkingOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, modeltestserver.Config{Handler: answerer, Credential: modeltest.Credential})
			p := newProvider(t, anthropic.Config{BaseURL: s.Base(modeltestserver.Messages), Thinking: thinking})
			req := modeltest.Request()
			req.MaxOutputTokens, req.Items = 4000, nil
			kept := map[string]*model.Encoded{"claude-opus-5-5": {}, "b": {}}
			sent := map[string]int{} // reasoning items of each model that were sent back
			for turn := range 12 {
				req.Items = append(req.Items, model.Item{Kind: model.UserItem, Text: fmt.Sprintf("Question %d?", turn)})
				for calls := 1; calls > 0; {
					// Models change between turns, and in every third turn inside it.
					req.Model = []string{"claude-opus-5-5", "b"}[(turn+len(req.Items)*(turn%3/2))%2]
					req.Encoded = kept[req.Model]
					if err := model.Check(req); err != nil {
						t.Fatal(err)
					}
					for _, item := range req.Items {
						if item.Private != nil && item.Private.Model == req.Model && thinking.Mode != anthropic.ThinkingOff {
							sent[req.Model]++
						}
					}
					resp, err := p.Stream(t.Context(), req, modeltest.Discard)
					if err != nil {
						t.Fatalf("turn %d, model %s: %v (refused: %s)", turn, req.Model, err, s.Refusals())
					}
					if resp.Usage.InputTokens != 10 || resp.Usage.CachedInputTokens != 4 {
						t.Fatalf("got usage %+v", resp.Usage)
					}
					from := len(req.Items)
					req.Items, calls = keep(req.Items, resp)
					for _, item := range req.Items[from:] {
						if item.Kind == model.ToolCallItem {
							req.Items = append(req.Items, model.Item{Kind: model.ToolResultItem, CallID: item.CallID, Output: "ok", Failed: turn%4 == 1})
						}
					}
				}
			}
			got := map[string]int{}
			for _, r := range s.Requests() {
				for _, m := range r.Messages {
					got[r.Model] += len(m.Reasoning)
				}
				if r.CacheMarks != 3 {
					t.Errorf("request %d has %d cache points, want 3", r.Number, r.CacheMarks)
				}
			}
			if len(sent) == 0 {
				sent = map[string]int{"claude-opus-5-5": 0, "b": 0}
			}
			if diff := cmp.Diff(sent, got); diff != "" {
				t.Errorf("reasoning that went back, by model (-want +got):\n%s", diff)
			}
		})
	}
}

// AT2: what the server reads of files is what the user attached.
func TestAT2FilesArriveUnchanged(t *testing.T) {
	t.Parallel()
	pdf := []byte("%PDF-1.7\n" + strings.Repeat("\x00\xff\x80", 5000))
	s := newServer(t, modeltestserver.Config{})
	p := newProvider(t, anthropic.Config{BaseURL: s.Base(modeltestserver.Messages)})
	req := modeltest.Request()
	req.Items = []model.Item{{Kind: model.UserItem, Parts: []model.Part{
		{Text: "Compare"}, {Name: "a.png", MediaType: model.TypePNG, Data: []byte("\x89PNG")},
		{Text: "with"}, {Name: "report.pdf", MediaType: model.TypePDF, Data: pdf},
		{Name: "n.txt", MediaType: "text/plain", Data: []byte("notes")},
	}}}
	if _, err := p.Stream(t.Context(), req, modeltest.Discard); err != nil {
		t.Fatalf("%v (refused: %s)", err, s.Refusals())
	}
	got := s.Requests()[0].Messages[1]
	want := modeltestserver.Message{Role: "user", Content: "Compare\nwith\n<file name=\"n.txt\" type=\"text/plain\">\nnotes\n</file>", Parts: []modeltestserver.Part{
		{MediaType: "image/png", Data: []byte("\x89PNG")}, {MediaType: "application/pdf", Name: "report.pdf", Data: pdf},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkCallOverLoopback(b *testing.B) {
	reply := modeltestserver.Reply{Text: "It is 7 °C and cloudy in Brno today.", Chunk: 4}.PreparedFor(modeltestserver.Messages, "m")
	s := newServer(b, modeltestserver.Config{Fast: true, Handler: func(modeltestserver.Request) modeltestserver.Reply { return reply }})
	p := newProvider(b, anthropic.Config{BaseURL: s.Base(modeltestserver.Messages)})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Stream(b.Context(), modeltest.Request(), modeltest.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
