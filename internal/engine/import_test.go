package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
)

// RU9: whatever a call was given with, providers take the ID that it gets, and its result has the same.
func TestImportedCallsGetIDsThatEveryProviderTakes(t *testing.T) {
	t.Parallel()
	session := "s" + strings.Repeat("x", 20) // as long as they are
	given := []string{"toolu_01", "call|fc_1", strings.Repeat("long", 5000), "naïve 🙂", "s-h1", "s-c2-1"}
	var groups [][]api.HistoryImport
	for round := range 40 {
		groups = append(groups, []api.HistoryImport{{Type: api.ImportUser, Text: "go"}})
		var answer, results []api.HistoryImport
		for _, id := range given {
			id = fmt.Sprint(id, round)
			answer = append(answer, api.HistoryImport{Type: api.ImportToolCall, CallID: id, Name: "do", Arguments: json.RawMessage(`{}`)})
			results = append(results, api.HistoryImport{Type: api.ImportToolResult, CallID: id})
		}
		groups = append(groups, append(answer, results...))
	}
	seen, givenTo := map[string]bool{}, map[string]string{}
	for _, e := range engine.Imported(session, groups) {
		for _, it := range e.Items {
			switch it.Type {
			case api.ImportToolCall:
				if !model.ValidName(it.CallID) || seen[it.CallID] {
					t.Fatalf("call %.40q becomes %q, which is there already or no provider takes", it.Given, it.CallID)
				}
				seen[it.CallID], givenTo[it.Given] = true, it.CallID
			case api.ImportToolResult:
				if givenTo[it.Given] != it.CallID {
					t.Fatalf("the result of %.40q is that of %q, the call is %q", it.Given, it.CallID, givenTo[it.Given])
				}
			}
		}
	}
	if len(seen) != 40*len(given) {
		t.Errorf("%d calls", len(seen))
	}
}

func TestAnImportedConversationIsWhatTheModelAndTheHistoryShow(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(), trip()...).play(say("and now?"), begin)
	entries := transcribe(p).Context(0)
	if err := model.Check(request(entries)); err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range entries {
		h := e.History()
		got = append(got, strings.Join([]string{fmt.Sprint(h.Event), h.Type, h.CallID, h.Name, h.Arguments, h.Text + h.Output, h.Run}, "|"))
	}
	want := []string{
		"2|user||||where to?|",
		"3|assistant||||let me look|",
		`3|tool_call|toolu.1/x|maps|{"q":"<sea>"}||`,
		"3|tool_call|toolu.2/x|weather|{}||",
		"3|tool_result|toolu.1/x|maps||a beach|",
		"3|tool_result|toolu.2/x|weather|||",
		"4|assistant||||to the beach|",
		"5|user||||and now?|" + p.runs[0],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	if _, open := transcribe(p).Call(entries[2].CallID); open {
		t.Error("an imported call is open, and would be run")
	}
	public, err := engine.Public(p.facts[2])
	if err != nil || public.Type != api.EventHistoryImported || strings.Contains(string(public.Data), entries[2].CallID) || !strings.Contains(string(public.Data), "toolu.1/x") {
		t.Errorf("it is told as %s %s, %v; want the call IDs that were given", public.Type, public.Data, err)
	}
}

func TestASessionWithAnImportedConversationIsIdle(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(), trip()...)
	if len(p.facts) != 4 || p.state.Head != 4 || engine.Activity(p.state) != engine.ActivityIdle || pending(p) != nil || engine.Needs(p.state) != nil || !engine.Due(p.state).IsZero() {
		t.Errorf("%d events; %s, pending %v, needs %v", len(p.facts), engine.Activity(p.state), pending(p), engine.Needs(p.state))
	}
	size := 0
	for _, e := range transcribe(p).Context(0) {
		size += engine.EntryBytes(e)
	}
	if p.state.Context.Bytes != size {
		t.Errorf("the context is counted as %d bytes, and has %d", p.state.Context.Bytes, size)
	}
}

func TestNothingIsImportedIntoAConversation(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string][]move{
		"beside a turn":    {say("hi")},
		"behind an answer": {say("hi"), begin, says("hello")},
	} {
		p := newPlay(t, worker()).play(moves...)
		if _, err := engine.Apply(p.state, engine.Fact{Number: p.state.Head + 1, Time: start, Event: trip()[0]}); err == nil {
			t.Errorf("%s it is folded", name)
		}
	}
}

// CO2: a summary takes whole groups; where it ends, the rest is a conversation that a provider takes.
func TestAnImportedConversationIsSummarisedGroupByGroup(t *testing.T) {
	t.Parallel()
	for rooms := 150; rooms < 1500; rooms += 50 {
		p := newPlay(t, worker(), trip()...).play(say("and now?"), begin, fails(api.CodeContextExhausted, false))
		whole := transcribe(p).Context(0)
		p.play(fit(engine.Window{Room: rooms, Source: rooms, Summary: 20}))
		if p.state.Turn == nil || !p.state.Turn.Compaction.Running {
			continue // too small for the message, or large enough for all
		}
		p.play(summarised)
		entries := transcribe(p).Context(0)
		if entries[0].Kind != engine.EntrySummary {
			t.Fatalf("in a room of %d, left are %v", rooms, brief(entries))
		}
		if err := model.Check(request(entries)); err != nil {
			t.Errorf("in a room of %d, left are %v: %v", rooms, brief(entries), err)
		}
		for _, number := range []uint64{3, 4} {
			of := func(entries []engine.Entry) (n int) {
				for _, e := range entries {
					if e.Number == number {
						n++
					}
				}
				return n
			}
			if n := of(entries); n != 0 && n != of(whole) {
				t.Errorf("in a room of %d, %d of %d entries of group %d are left", rooms, n, of(whole), number)
			}
		}
		if got := transcribe(p).Entries(); len(got) != len(whole) {
			t.Errorf("the complete conversation has %d entries, want %d", len(got), len(whole))
		}
	}
	p := newPlay(t, worker(), trip()...).play(say("and now?"), begin, fails(api.CodeContextExhausted, false), fit(engine.Window{Room: 700, Source: 8000, Summary: 20}), summarised, begin, says("to bed"))
	if p.state.Turn != nil || !slices.Contains(conversation(p), "assistant to bed") {
		t.Errorf("the turn did not go on: %v", conversation(p))
	}
}

// IM3: as many items as there may be, each a group of its own.
func TestALongImportedConversationFolds(t *testing.T) {
	t.Parallel()
	groups := slices.Repeat([][]api.HistoryImport{{{Type: api.ImportUser, Text: "and"}}}, api.MaxImportItems)
	p := newPlay(t, worker(), engine.Imported("s", groups)...).play(say("go on"), begin, says("gladly"))
	f := newFolder()
	for _, fact := range p.facts {
		stored, err := engine.Encode(fact.Event)
		if err != nil {
			t.Fatal(err)
		}
		f.fold(t, storedLine{Number: fact.Number, Time: fact.Time, Kind: stored.Kind, Version: stored.Version, Data: stored.Data})
	}
	if diff := cmp.Diff(mustSnapshot(t, p.state), mustSnapshot(t, f.state)); diff != "" {
		t.Errorf("as decided and as folded (-decided +folded):\n%s", diff)
	}
	if n := len(f.transcript.Entries()); n != api.MaxImportItems+2 {
		t.Errorf("%d entries", n)
	}
}

// A newer build may import what this one does not know.
func TestAnImportedItemOfAnUnknownTypeIsLeftOut(t *testing.T) {
	t.Parallel()
	p := newPlay(t, worker(), engine.HistoryImported{Items: []engine.ImportedItem{{Type: api.ImportUser, Text: "hi"}, {Type: "thought", Text: "hm"}}}).play(say("well?"))
	if diff := cmp.Diff([]string{"user hi", "user well?"}, conversation(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.state.Context.Bytes != 200+len("hi")+len("well?") {
		t.Errorf("the context is counted as %d bytes", p.state.Context.Bytes)
	}
}
