package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// written is the conversation of a journal of these events, which are numbered from 1.
func written(t *engine.Transcript, events ...engine.Event) *engine.Transcript {
	for _, e := range events {
		t.Apply(engine.Fact{Number: t.Head() + 1, Time: start, Event: e})
	}
	return t
}

func accepted(run, text string) engine.TurnAccepted { return engine.TurnAccepted{Run: run, Text: text} }

func answered(items ...engine.Item) engine.ModelFinished { return engine.ModelFinished{Items: items} }

func calling(ids ...string) engine.ModelFinished {
	var items []engine.Item
	for _, id := range ids {
		items = append(items, engine.Item{Kind: engine.ItemCall, CallID: id, Name: "do", Arguments: "{}"})
	}
	return answered(items...)
}

func gave(id, output string) engine.ToolFinished {
	return engine.ToolFinished{CallID: id, Output: output}
}

func compacted(run, summary string, p engine.Plan) engine.CompactionFinished {
	return engine.CompactionFinished{Run: run, Summary: summary, Plan: p}
}

// brief is one line an entry.
func brief(entries []engine.Entry) []string {
	out := []string{}
	for _, e := range entries {
		line := string(e.Kind) + " " + e.CallID + e.Text
		switch {
		case e.Open:
			line += " open"
		case e.Missing > 0:
			line = fmt.Sprintf("%s %s… without %d bytes", e.Kind, e.Text[:3], e.Missing)
		}
		out = append(out, line)
	}
	return out
}

func TestWhatAModelSeesOfAConversation(t *testing.T) { // CO1 CO2
	t.Parallel()
	long := strings.Repeat("abc", 1000)
	// By number: 1 first, 2 answer, 3 second, 4 calls, 5 and 6 results, 7 a call, 8 its result.
	journal := []engine.Event{accepted("r1", "first"), answered(text("well")), accepted("r2", "second"),
		calling("c1", "c2"), gave("c2", "two"), gave("c1", "one"), calling("c3"), gave("c3", long)}
	batch := []string{"tool_call c1", "tool_call c2", "tool_result c1one", "tool_result c2two"}
	third := []string{"tool_call c3", "tool_result c3" + long}
	whole := append(append([]string{"user first", "assistant well", "user second"}, batch...), third...)
	for name, test := range map[string]struct {
		more       []engine.Event
		want       []string
		generation int
	}{
		"without a compaction all is seen": {nil, whole, 0},
		"a summary stands for what is before the first entry that is kept": {
			[]engine.Event{compacted("r2", "sum", engine.Plan{Keep: 3, Items: 2})},
			append([]string{"summary sum"}, whole[2:]...), 1,
		},
		"the current message stands behind the summary though what follows it is summarised": {
			[]engine.Event{compacted("r2", "sum", engine.Plan{Keep: 7, Items: 6})},
			append([]string{"summary sum", "user second"}, third...), 1,
		},
		"all but the current message can be summarised": {
			[]engine.Event{compacted("r2", "sum", engine.Plan{Items: 8})},
			[]string{"summary sum", "user second"}, 1,
		},
		"a run without a message has no current one": {
			[]engine.Event{engine.TurnAccepted{Run: "r3", Compact: true}, compacted("r3", "sum", engine.Plan{Keep: 7, Items: 7})},
			append([]string{"summary sum"}, third...), 1,
		},
		"a later summary stands for the earlier one and for the message that was current then": {
			[]engine.Event{compacted("r2", "sum", engine.Plan{Keep: 7, Items: 6}), accepted("r3", "third"), compacted("r3", "more", engine.Plan{Keep: 10, Items: 4})},
			[]string{"summary more", "user third"}, 2,
		},
		"a message that is current still stays through another summary": {
			[]engine.Event{compacted("r2", "sum", engine.Plan{Keep: 4, Items: 2}), compacted("r2", "more", engine.Plan{Keep: 7, Items: 5})},
			append([]string{"summary more", "user second"}, third...), 2,
		},
		"CO3 long entries are shortened without a summary": {
			[]engine.Event{compacted("r2", "", engine.Plan{ItemBytes: 1000})},
			append(append([]string{}, whole[:8]...), "tool_result abc… without 2075 bytes"), 1,
		},
		"CO3 the current message is not shortened, and neither is what comes later": {
			[]engine.Event{accepted("r3", long), compacted("r3", "", engine.Plan{ItemBytes: 1000}), answered(text(long))},
			append(append([]string{}, whole[:8]...), "tool_result abc… without 2075 bytes", "user "+long, "assistant "+long), 1,
		},
		"what is kept can be shortened too": {
			[]engine.Event{compacted("r2", long, engine.Plan{Keep: 7, Items: 6, ItemBytes: 1000})},
			[]string{"summary " + long, "user second", "tool_call c3", "tool_result abc… without 2075 bytes"}, 1,
		},
		"a summary may be four times as long as other entries": {
			[]engine.Event{compacted("r2", long+long, engine.Plan{Items: 8}), compacted("r2", "", engine.Plan{ItemBytes: 1000})},
			[]string{"summary abc… without 2075 bytes", "user second"}, 2,
		},
		"an empty plan changes nothing":                        {[]engine.Event{compacted("r2", "", engine.Plan{})}, whole, 0},
		"a plan of another conversation changes nothing":       {[]engine.Event{compacted("r2", "sum", engine.Plan{Keep: 99, Items: 3})}, whole, 0},
		"C06 a plan that parts a call from its result is none": {[]engine.Event{compacted("r2", "sum", engine.Plan{Keep: 8, Items: 8})}, whole, 0},
		"C44 a plan that parts a parallel batch is none":       {[]engine.Event{compacted("r2", "sum", engine.Plan{Keep: 5, Items: 6})}, whole, 0},
		"a message is kept with the notices before it": {
			[]engine.Event{engine.ToolLate{CallID: "c9"}, accepted("r3", "third"), compacted("r3", "sum", engine.Plan{Keep: 9, Items: 8})},
			[]string{"summary sum", "notice c9Notice from the host: the action of call c9, whose outcome was unknown, has succeeded in the meantime. Its output: ", "user third"}, 1,
		},
		"a plan that parts a message from the notices before it is none": {
			[]engine.Event{engine.ToolLate{CallID: "c9", Code: api.CodeToolFailed}, accepted("r3", "third"), compacted("r3", "sum", engine.Plan{Keep: 10, Items: 9})},
			append(append([]string{}, whole...), "notice c9Notice from the host: the action of call c9, whose outcome was unknown, has failed in the meantime. Its output: ", "user third"), 0,
		},
		"C01 a plan that reaches behind a call without result is none": {
			[]engine.Event{calling("c4"), compacted("r2", "sum", engine.Plan{Items: 9})},
			append(append([]string{}, whole...), "tool_call c4", "tool_result c4 open"), 0,
		},
		"C01 what is before a call without result can be summarised": {
			[]engine.Event{calling("c4"), compacted("r2", "sum", engine.Plan{Keep: 9, Items: 8}), gave("c4", "four")},
			[]string{"summary sum", "user second", "tool_call c4", "tool_result c4four"}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keeps, forgets := written(engine.NewTranscript(), journal...), written(engine.NewContext(), journal...)
			written(keeps, test.more...)
			written(forgets, test.more...)
			for _, tr := range []*engine.Transcript{keeps, forgets} {
				if diff := cmp.Diff(test.want, brief(tr.Context(0))); diff != "" {
					t.Errorf("context (-want +got):\n%s", diff)
				}
				if tr.Generation() != test.generation {
					t.Errorf("generation %d, want %d", tr.Generation(), test.generation)
				}
			}
			if diff := cmp.Diff(whole, brief(keeps.Entries()[:len(whole)])); diff != "" {
				t.Errorf("the complete conversation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsForgottenTakesNoMemory(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("abc", 100_000)
	events := []engine.Event{accepted("r1", "hi"), calling("c1"), gave("c1", long), answered(text(long)), accepted("r2", "and?")}
	keeps, forgets := written(engine.NewTranscript(), events...), written(engine.NewContext(), events...)
	if n := forgets.Bytes(); n != keeps.Bytes() || n < 600_000 {
		t.Fatalf("%d and %d bytes before", n, keeps.Bytes())
	}
	end := compacted("r2", "sum", engine.Plan{Keep: 5, Items: 4})
	written(keeps, end)
	written(forgets, end)
	if keeps.Bytes() < 600_000 || forgets.Bytes() > 1000 || forgets.Bytes() < 4 {
		t.Errorf("what keeps all has %d bytes afterwards, what forgets %d", keeps.Bytes(), forgets.Bytes())
	}
}

func TestChangedArgumentsAreToldWhereTheyMatter(t *testing.T) { // AP3
	t.Parallel()
	call := engine.Item{Kind: engine.ItemCall, CallID: "c1", Name: "do", Arguments: `{"a":1}`}
	changed := engine.InteractionResolved{Decision: api.AllowOnce, CallID: "c1", Arguments: `{"a":2}`}
	tr := written(engine.NewTranscript(), accepted("r1", "hi"), answered(call), changed)
	if c, ok := tr.Call("c1"); !ok || c.Arguments != `{"a":2}` || c.Name != "do" {
		t.Errorf("the call runs with %+v, %t", c, ok)
	}
	written(tr, gave("c1", "out"))
	if _, ok := tr.Call("c1"); ok {
		t.Error("a call with a result is open")
	}
	seen, told := tr.Context(0), tr.Entries()
	if want := "[A person changed the arguments of this call to: {\"a\":2}]\nout"; seen[2].Text != want || seen[1].Arguments != `{"a":1}` {
		t.Errorf("the model sees the call %+v and the result %+v", seen[1], seen[2])
	}
	h := told[2].History()
	if h.Output != "out" || h.Arguments != `{"a":2}` || told[1].Arguments != `{"a":1}` {
		t.Errorf("history tells of the call %+v and the result %+v", told[1], h)
	}
	written(tr, changed)
	if diff := cmp.Diff(seen, tr.Context(0)); diff != "" {
		t.Errorf("a call that is over has been changed (-before +after):\n%s", diff)
	}
}

func TestGuidanceIsThatOfTheRunThatStartedLast(t *testing.T) { // GU1 GU2
	t.Parallel()
	words := func(s string) *string { return &s }
	first := engine.TurnAccepted{Run: "r1", Text: "hi", Addendum: "be brief", AutoApproverContext: words("trust"), Compaction: words("")}
	second := engine.TurnAccepted{Run: "r2", Compact: true, Queued: true, Compaction: words("keep names")}
	tr := written(engine.NewTranscript(), first, second)
	if diff := cmp.Diff(engine.Guidance{Addendum: "be brief", Reviewer: words("trust"), Compaction: words("")}, tr.Guidance()); diff != "" {
		t.Errorf("while another waits (-want +got):\n%s", diff)
	}
	written(tr, engine.TurnEnded{Run: "r1"}, engine.TurnStarted{Run: "r2"})
	if diff := cmp.Diff(engine.Guidance{Compaction: words("keep names")}, tr.Guidance()); diff != "" {
		t.Errorf("once it has started (-want +got):\n%s", diff)
	}
	if n := len(tr.Entries()); n != 1 {
		t.Errorf("%d entries: a run without a message has one", n)
	}
}

// CO3: what is left of a text are its beginning and its end, and it says how much is missing.
func TestAShortenedTextKeepsItsEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Repeat(rapid.SampledFrom([]string{"a", "é", "漢", "🙂", "a🙂漢"}).Draw(t, "letters"), rapid.IntRange(0, 3000).Draw(t, "times"))
		tr := written(engine.NewContext(), accepted("r1", whole), answered(engine.Item{Kind: engine.ItemText, Text: whole, Private: []byte("{}")}), accepted("r2", whole))
		least := len(whole)
		for range rapid.IntRange(1, 3).Draw(t, "how often") {
			n := rapid.IntRange(512, 4000).Draw(t, "bytes")
			written(tr, compacted("r2", "", engine.Plan{ItemBytes: n}))
			least = min(least, n)
		}
		for _, e := range tr.Context(0)[:2] {
			gap := fmt.Sprintf("\n[… %d bytes are left out here; the whole of it is in the history …]\n", e.Missing)
			head, tail, cut := strings.Cut(e.Text, gap)
			switch {
			case e.Missing > 0 != (least < len(whole)) || cut != (e.Missing > 0):
				t.Fatalf("%d bytes of %d are missing in %q", e.Missing, len(whole), e.Text)
			case len(e.Text) > least || len(e.Text) < least-8 && cut:
				t.Fatalf("%d bytes, want about %d", len(e.Text), least)
			case len(head)+len(tail)+e.Missing != len(whole) || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail):
				t.Fatalf("%d + %d bytes are left of %d, %d are said to be missing", len(head), len(tail), len(whole), e.Missing)
			case !utf8.ValidString(e.Text):
				t.Fatalf("a letter was parted in %q", e.Text)
			case cut && e.Private != nil:
				t.Fatal("private data may hold the whole text")
			}
		}
		if last := tr.Context(0)[2]; last.Text != whole {
			t.Fatalf("the current message has %d bytes of %d", len(last.Text), len(whole))
		}
	})
}
