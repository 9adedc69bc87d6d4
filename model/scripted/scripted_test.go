package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/model/scripted"
)

func ask(text string) model.Request {
	return model.Request{Model: "m", Items: []model.Item{{Kind: model.UserItem, Text: text}}}
}

func call(id, name, arguments string) model.Item {
	return model.Item{Kind: model.ToolCallItem, CallID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func result(id, output string) model.Item {
	return model.Item{Kind: model.ToolResultItem, CallID: id, Output: output}
}

func kindOf(t *testing.T, err error) model.ErrorKind {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *model.Error", err)
	}
	return e.Kind
}

func TestAReplyArrivesInPiecesAndWhole(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Script: scripted.Sequence(scripted.Reply{
		Reasoning: "hm", Text: "one two žluť", Chunk: 5, Calls: []scripted.ToolCall{{ID: "x", Name: "look_up", Arguments: `{"a":`}},
		Stop: model.StopOutputLimit, Usage: api.Usage{InputTokens: 3, OutputTokens: 4},
	})})
	var got []model.Delta
	resp, err := p.Stream(t.Context(), ask("hi"), func(d model.Delta) { got = append(got, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Delta{{Text: "hm", Reasoning: true}, {Text: "one t"}, {Text: "wo žl"}, {Text: "uť"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	wantResp := model.Response{
		Items: []model.ResponseItem{
			{Kind: model.ReasoningItem, Text: "hm"}, {Kind: model.AssistantItem, Text: "one two žluť"},
			{Kind: model.ToolCallItem, ProviderCallID: "x", Name: "look_up", Arguments: `{"a":`},
		},
		Stop: model.StopOutputLimit, Usage: api.Usage{InputTokens: 3, OutputTokens: 4},
	}
	if diff := cmp.Diff(wantResp, resp); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

func TestEachFaultOfAReplyIsItsOwn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reply scripted.Reply
		want  model.ErrorKind
		bytes int
	}{
		"C41 a cut stream":      {scripted.Cut("half a"), model.KindCut, 6},
		"C48 an overload":       {scripted.Fail(model.KindOverloaded, "busy"), model.KindOverloaded, 0},
		"an error of no type":   {scripted.Reply{Text: "ab", Err: errors.New("odd")}, model.KindUnclassified, 2},
		"an error from waiting": {scripted.Reply{Text: "ab", Wait: func(context.Context) error { return errors.New("odd") }}, model.KindUnclassified, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := scripted.New(scripted.Config{Script: scripted.ByRound(test.reply)})
			_, err := p.Stream(t.Context(), ask("hi"), func(model.Delta) {})
			if got := kindOf(t, err); got != test.want {
				t.Errorf("got kind %s, want %s", got, test.want)
			}
			if got := err.(*model.Error).Received; got != test.bytes {
				t.Errorf("got %d bytes received, want %d", got, test.bytes)
			}
		})
	}
}

func TestAnErrorThatRepeatsIsNotChangedByItsAttempts(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Cut("half"))})
	_, first := p.Stream(t.Context(), ask("hi"), func(model.Delta) {})
	first.(*model.Error).Received = 99
	_, second := p.Stream(t.Context(), ask("hi"), func(model.Delta) {})
	if got := second.(*model.Error).Received; got != 4 {
		t.Errorf("got %d bytes received, want 4", got)
	}
}

func TestSilenceIsCutAfterTheIdleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := scripted.New(scripted.Config{Script: scripted.Sequence(scripted.Reply{Delay: time.Second, Pace: time.Second, Text: "a b", Silent: true})})
		start := time.Now()
		_, err := p.Stream(t.Context(), ask("hi"), func(model.Delta) {})
		if got := kindOf(t, err); got != model.KindCut {
			t.Errorf("got kind %s, want cut", got)
		}
		if got, want := time.Since(start), 3*time.Second+api.DefaultStreamIdle; got != want {
			t.Errorf("took %v, want %v", got, want)
		}
	})
}

func TestCancellingEndsAReplyWhereverItIs(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]scripted.Reply{
		"before the first piece": {Delay: time.Hour},
		"between two pieces":     {Pace: time.Hour, Text: "a b"},
		"while it waits":         {Text: "a", Wait: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		"while it is silent":     {Text: "a", Silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := scripted.New(scripted.Config{Script: scripted.Sequence(reply)}).Stream(ctx, ask("hi"), func(model.Delta) {})
				if got := kindOf(t, err); got != model.KindCancelled {
					t.Errorf("got kind %s, want cancelled", got)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want the context's own error as its cause", err)
				}
			})
		})
	}
}

func TestAPanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Script: scripted.Sequence(scripted.Reply{Panic: "boom"})})
	defer func() {
		if got := recover(); got != "boom" {
			t.Errorf("recovered %v, want boom", got)
		}
	}()
	_, _ = p.Stream(t.Context(), ask("hi"), func(model.Delta) {})
}

func TestAMalformedRequestIsRefusedAndRemembered(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Text("ok"))})
	if _, err := p.Stream(t.Context(), ask("hi"), func(model.Delta) {}); err != nil || p.Violations() != nil {
		t.Fatalf("a good request: got %v and %v", err, p.Violations())
	}
	bad := ask("hi")
	bad.Items = append(bad.Items, call("c1", "look_up", "{}"))
	_, err := p.Stream(t.Context(), bad, func(model.Delta) {})
	if got := kindOf(t, err); got != model.KindRefused {
		t.Errorf("got kind %s, want refused", got)
	}
	if err := p.Violations(); err == nil || !strings.Contains(err.Error(), "request 2: ") || !strings.Contains(err.Error(), "call c1") {
		t.Errorf("got violations %v, want request 2 and its call c1", err)
	}
}

func TestCredentialsAreWantedAndNotKept(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Credential: true, Script: scripted.ByRound(scripted.Text("ok"))})
	_, err := p.Stream(t.Context(), ask("hi"), func(model.Delta) {})
	if got := kindOf(t, err); got != model.KindAuth || !p.NeedsCredential() {
		t.Errorf("got kind %s, want auth", got)
	}
	req := ask("hi")
	req.Credential = "secret"
	if _, err := p.Stream(t.Context(), req, func(model.Delta) {}); err != nil {
		t.Fatal(err)
	}
	for i, kept := range p.Requests() {
		if kept.Credential != "" {
			t.Errorf("request %d was kept with its credential", i)
		}
	}
}

func TestByRoundAnswersEachTurnTheSame(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Script: scripted.ByRound(scripted.Call("look_up", `{}`), scripted.Text("done"))})
	turn := ask("one")
	var got []model.StopReason
	for range 2 {
		for round := range 2 {
			resp, err := p.Stream(t.Context(), turn, func(model.Delta) {})
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, resp.Stop)
			if round == 0 {
				id := "c" + string(rune('0'+len(turn.Items)))
				turn.Items = append(turn.Items, call(id, "look_up", "{}"), result(id, "found"))
			}
		}
		turn.Items = append(turn.Items, model.Item{Kind: model.AssistantItem, Text: "done"}, model.Item{Kind: model.UserItem, Text: "two"})
	}
	want := []model.StopReason{model.StopToolCalls, model.StopEnd, model.StopToolCalls, model.StopEnd}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stop reasons (-want +got):\n%s", diff)
	}
}

func TestASequenceGivesEachReplyOnceToManyCallers(t *testing.T) {
	t.Parallel()
	p := scripted.New(scripted.Config{Script: scripted.Sequence(scripted.Text("a"), scripted.Text("b"), scripted.Text("c"))})
	var mu sync.Mutex
	texts, refused := map[string]int{}, 0
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			resp, err := p.Stream(t.Context(), ask("hi"), func(model.Delta) {})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				return
			}
			texts[resp.Items[0].Text]++
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1}, texts); diff != "" || refused != 2 {
		t.Errorf("refused %d, texts (-want +got):\n%s", refused, diff)
	}
	if got := len(p.Requests()); got != 5 || p.Calls() != 5 {
		t.Errorf("kept %d of 5 requests, counted %d", got, p.Calls())
	}
}

func TestTheDemoModelFollowsItsRules(t *testing.T) {
	t.Parallel()
	tools := []model.Tool{{Name: "app__look_up"}, {Name: "ping"}}
	after := func(items ...model.Item) []model.Item {
		return append([]model.Item{{Kind: model.UserItem, Text: "use ping"}}, items...)
	}
	for name, test := range map[string]struct {
		change func(*model.Request)
		text   string
		calls  []scripted.ToolCall
	}{
		"a greeting":           {func(r *model.Request) { r.Items[0].Text = "Hello!" }, "offline model", nil},
		"anything else":        {func(r *model.Request) { r.Items[0].Text = "buy milk" }, "message 1 of this conversation: “buy milk”", nil},
		"counting":             {func(r *model.Request) { r.Items[0].Text = "count to 5" }, "1, 2, 3, 4, 5.", nil},
		"help names the tools": {func(r *model.Request) { r.Items[0].Text = "help" }, "app__look_up, ping", nil},
		"help names what makes a real model answer": {func(r *model.Request) { r.Items[0].Text = "help" }, "set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, or start Ollama; openworker doctor", nil},
		"a tool":                   {func(r *model.Request) { r.Items[0].Text = `use ping with {"n":1}` }, "", []scripted.ToolCall{{ID: "demo_0", Name: "ping", Arguments: `{"n":1}`}}},
		"a tool by catalogue name": {func(r *model.Request) { r.Items[0].Text = `Use app.look_up with {}` }, "", []scripted.ToolCall{{ID: "demo_0", Name: "app__look_up", Arguments: `{}`}}},
		"two tools":                {func(r *model.Request) { r.Items[0].Text = "use ping\nuse ping with {}" }, "", []scripted.ToolCall{{ID: "demo_0", Name: "ping", Arguments: `{}`}, {ID: "demo_1", Name: "ping", Arguments: `{}`}}},
		"an unknown tool":          {func(r *model.Request) { r.Items[0].Text = "use rm with {}" }, "I have no tool “rm”", nil},
		"arguments that are none":  {func(r *model.Request) { r.Items[0].Text = "use ping with {oops" }, "not a JSON object", nil},
		"use as a plain word":      {func(r *model.Request) { r.Items[0].Text = "use your head" }, "only repeat", nil},
		"LI3 tools are forbidden":  {func(r *model.Request) { r.Items[0].Text = "use ping"; r.NoTools = true }, "may not use a tool", nil},
		"a result":                 {func(r *model.Request) { r.Items = after(call("c1", "ping", "{}"), result("c1", "pong")) }, "ping returned “pong”", nil},
		"a failed result": {func(r *model.Request) {
			r.Items = after(call("c1", "ping", "{}"), model.Item{Kind: model.ToolResultItem, CallID: "c1", Output: "no", Failed: true})
		}, "ping did not succeed: “no”", nil},
		"LI2 the output limit": {func(r *model.Request) { r.Items[0].Text = "count to 500"; r.MaxOutputTokens = 2 }, "1, 2, 3,", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := ask("")
			req.Tools = tools
			test.change(&req)
			resp, err := scripted.New(scripted.Config{}).Stream(t.Context(), req, func(model.Delta) {})
			if err != nil {
				t.Fatal(err)
			}
			var text string
			var calls []scripted.ToolCall
			for _, item := range resp.Items {
				text += item.Text
				if item.Kind == model.ToolCallItem {
					calls = append(calls, scripted.ToolCall{ID: item.ProviderCallID, Name: item.Name, Arguments: item.Arguments})
				}
			}
			if !strings.Contains(text, test.text) {
				t.Errorf("got %q, want a text with %q", text, test.text)
			}
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if again := scripted.Demo(req).Response(req); !cmp.Equal(resp, again) {
				t.Errorf("the same request got another reply:\n%s", cmp.Diff(resp, again))
			}
		})
	}
}
