package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openworkerai/openworker/bench/protocol"
	"github.com/openworkerai/openworker/model"
)

func TestTheLastMessageIsFoundWhateverTheOrderOfItsFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		role   string
		number int
	}{
		"role first":      {body: `{"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c","content":"12"}],"tools":[]}`, role: "tool", number: 12},
		"role last":       {body: `{"tools":[],"messages":[{"content":"x","role":"user"},{"content":"12","tool_call_id":"c","role":"tool"}]}`, role: "tool", number: 12},
		"another number":  {body: `{"messages":[{"role":"tool","content":"12"},{"role":"user","content":"Why?"}]}`, role: "user"},
		"not a sum":       {body: `{"messages":[{"role":"tool","content":"failed"}]}`, role: "tool"},
		"no message":      {body: `{"messages":[]}`},
		"nothing":         {},
		"cut in its role": {body: `"role":"tool`, role: "tool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role, number := lastMessage([]byte(c.body))
			if role != c.role || number != c.number {
				t.Errorf("%q %d, want %q %d", role, number, c.role, c.number)
			}
		})
	}
}

func modelFor(t *testing.T) *modelProcess {
	t.Helper()
	server := httptest.NewServer(newModelServer())
	t.Cleanup(server.Close)
	return &modelProcess{address: server.URL}
}

func tallyOf(t *testing.T, m *modelProcess) tally {
	t.Helper()
	seen, err := m.tally()
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestTurnsOfOpenWorkerAndOfTheLoopPassTheCheck(t *testing.T) {
	t.Parallel()
	m := modelFor(t)
	sub, err := openSubject(t.Context(), t.TempDir(), m.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sub.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	p, err := provider(m.url())
	if err != nil {
		t.Fatal(err)
	}
	for name, peer := range map[string]protocol.Peer{
		"openworker": ourPeer{ctx: t.Context(), subject: sub, reference: t.TempDir() + "/long.json"},
		"loop":       loopPeer{provider: p},
	} {
		before := tallyOf(t, m)
		turn, err := peer.Long()
		if err != nil {
			t.Fatal(name, err)
		}
		for range 3 {
			if err := turn(); err != nil {
				t.Fatal(name, err)
			}
		}
		after := tallyOf(t, m)
		if err := after.check(before, 3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := after.checkHistory(3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := ourPeer{ctx: t.Context(), subject: sub, reference: t.TempDir() + "/other.json"}.Long()
	if err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
	if err := tallyOf(t, m).checkHistory(4); err == nil {
		t.Error("a session that began anew passes for one that went on")
	}
}

func TestASystemThatLeavesWorkOutIsNoticed(t *testing.T) {
	t.Parallel()
	post := func(t *testing.T, m *modelProcess, body string) string {
		t.Helper()
		resp, err := http.Post(m.url()+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var completion struct {
			Choices []struct {
				Message struct {
					ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
				}
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&completion); err != nil {
			t.Fatal(err)
		}
		if calls := completion.Choices[0].Message.ToolCalls; len(calls) == 1 {
			return calls[0].Function.Arguments
		}
		return ""
	}
	const (
		question = `{"messages":[{"role":"user","content":"What?"}]}`
		first    = `{"messages":[{"role":"user","content":"What?"},{"role":"tool","content":"3"}]}`
		other    = `{"messages":[{"role":"user","content":"What?"},{"role":"tool","content":"77"}]}`
	)
	for name, c := range map[string]struct {
		requests []string
		ok       bool
	}{
		"all of it":             {requests: []string{question, first}, ok: true},
		"no second model call":  {requests: []string{question}},
		"no model call":         {},
		"a wrong result":        {requests: []string{question, other}},
		"an old result":         {requests: []string{question, first, question, first}},
		"a model call too many": {requests: []string{question, question, first}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := modelFor(t)
			for _, body := range c.requests {
				post(t, m, body)
			}
			if err := tallyOf(t, m).check(tally{}, max(1, len(c.requests)/2)); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
		})
	}
	m := modelFor(t)
	if diff := cmp.Diff([]string{`{"a":1,"b":2}`, `{"a":2,"b":2}`}, []string{post(t, m, question), post(t, m, question)}); diff != "" {
		t.Error("each call asks for another sum:", diff)
	}
}

func TestThePacedModelStreamsTextThatIsMeasured(t *testing.T) {
	t.Parallel()
	var pieces int
	p, err := provider(modelFor(t).url())
	if err != nil {
		t.Fatal(err)
	}
	response, err := p.Stream(t.Context(), model.Request{Model: "paced", Items: []model.Item{{Kind: model.UserItem, Text: "What is the time?"}}, MaxOutputTokens: 100},
		func(model.Delta) { pieces++ })
	if err != nil {
		t.Fatal(err)
	}
	if text := response.Items[len(response.Items)-1].Text; len(strings.Fields(text)) != pacedPieces || pieces < 2 {
		t.Errorf("%d pieces, text %q", pieces, text)
	}
}
