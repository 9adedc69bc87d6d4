package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/internal/engine"
)

// sized is a conversation of texts of so many bytes: a message, an answer, or an answer with one call or several.
// The run of the message at n is "rn"; its number is n, where results count too.
func sized(parts ...string) *engine.Transcript {
	tr, run, calls := engine.NewContext(), "", 0
	for _, part := range parts {
		kind, sizes, _ := strings.Cut(part, " ")
		var items []engine.Item
		var results []engine.Event
		for _, size := range strings.Split(sizes, ",") {
			n := 0
			_, _ = fmt.Sscan(size, &n)
			body := strings.Repeat("x", n)
			switch kind {
			case "message":
				run = fmt.Sprintf("r%d", tr.Head()+1)
				written(tr, accepted(run, body))
			case "compact":
				run = fmt.Sprintf("r%d", tr.Head()+1)
				written(tr, engine.TurnAccepted{Run: run, Compact: true})
			case "summary":
				written(tr, compacted(run, body, engine.Plan{Items: 1}))
			case "answer":
				items = append(items, text(body))
			case "arguments", "result", "open":
				calls++
				c := engine.Item{Kind: engine.ItemCall, CallID: fmt.Sprintf("c%d", calls), Arguments: "{}"}
				if kind == "arguments" {
					c.Arguments = fmt.Sprintf("{%q:%q}", "a", body)
					body = ""
				}
				items = append(items, c)
				if kind != "open" {
					results = append(results, gave(c.CallID, body))
				}
			}
		}
		if len(items) > 0 {
			written(tr, answered(items...))
			written(tr, results...)
		}
	}
	return tr
}

func TestPlans(t *testing.T) { // CO1 CO2 CO3
	t.Parallel()
	const talk = "message 1000; answer 1000; message 1000; answer 1000; message 100"
	for name, test := range map[string]struct {
		parts  string
		window engine.Window
		want   engine.Plan
		full   *engine.Full
	}{
		"what fits is left alone": {
			talk, engine.Window{Run: "r5", Room: 4600, Source: 9000},
			engine.Plan{Bytes: 4600}, nil,
		},
		"what is older than the newest is summarised, and they have half of the room": {
			talk, engine.Window{Run: "r5", Room: 4000, Source: 9000, Summary: 300},
			engine.Plan{Keep: 4, Items: 3, Bytes: 1300}, nil,
		},
		"or as much as is wanted": {
			talk, engine.Window{Run: "r5", Room: 4500, Source: 9000, Summary: 300, Target: 3300},
			engine.Plan{Keep: 2, Items: 1, Bytes: 3500}, nil,
		},
		"but there is room for the summary": {
			talk, engine.Window{Run: "r5", Room: 4500, Source: 9000, Summary: 2000, Target: 3300},
			engine.Plan{Keep: 3, Items: 2, Bytes: 2400}, nil,
		},
		"the newest is kept even if it is more than what is wanted": {
			"message 1000; answer 1000; message 100; result 2000", engine.Window{Run: "r3", Room: 4000, Source: 9000, Summary: 300, Target: 100},
			engine.Plan{Keep: 4, Items: 2, Bytes: 200 + 102 + 2100}, nil,
		},
		"C44 a parallel batch is kept or summarised as a whole": {
			"message 100; result 500,500,500; answer 100; result 500,500,500; result 100", engine.Window{Run: "r1", Room: 4000, Source: 9000, Summary: 300, Target: 1500},
			engine.Plan{Keep: 11, Items: 13, Bytes: 200 + 102 + 200}, nil,
		},
		"an earlier summary is summarised with what came after it": {
			"message 100; summary 500; answer 1000; message 1000; answer 1000; message 100", engine.Window{Run: "r6", Room: 3000, Source: 9000, Summary: 300},
			engine.Plan{Keep: 5, Items: 4, Bytes: 1300}, nil,
		},
		"what one call cannot be shown is left to the next plan": {
			talk, engine.Window{Run: "r5", Room: 2000, Source: 2400, Summary: 300},
			engine.Plan{Keep: 4, Items: 3, Bytes: 1300}, nil,
		},
		"a long entry counts as the part of it that is shown": {
			talk, engine.Window{Run: "r5", Room: 2000, Source: 1000, Summary: 300},
			engine.Plan{Keep: 3, Items: 2, Bytes: 2400}, nil,
		},
		"one more is summarised however little can be shown": {
			talk, engine.Window{Run: "r5", Room: 2000, Source: 1, Summary: 300},
			engine.Plan{Keep: 2, Items: 1, Bytes: 3500}, nil,
		},
		"the current message is kept wherever it stands": {
			"message 1000; answer 1000; result 1000; result 1000", engine.Window{Run: "r1", Room: 4000, Source: 9000, Summary: 300, Target: 1500},
			engine.Plan{Keep: 5, Items: 3, Bytes: 1100 + 102 + 1100}, nil,
		},
		"where nothing is older, the newest is shortened to what is wanted": {
			"message 100; result 9000", engine.Window{Run: "r1", Room: 4000, Source: 9000, Summary: 300},
			engine.Plan{ItemBytes: 2000 - 202, Bytes: 200 + 2000}, nil,
		},
		"or at least to what there is room for": {
			"message 100; result 9000,9000,9000", engine.Window{Run: "r1", Room: 2400, Source: 9000, Summary: 300},
			engine.Plan{ItemBytes: 512, Bytes: 200 + 3*(102+612)}, nil,
		},
		"what must be kept is shortened where a summary is not enough": {
			"message 1000; answer 1000; message 100; result 9000", engine.Window{Run: "r3", Room: 4000, Source: 9000, Summary: 300},
			engine.Plan{Keep: 4, Items: 2, ItemBytes: 2000 - 202, Bytes: 200 + 2000}, nil,
		},
		"what cannot be shortened is summarised though it is the newest": {
			"message 1000; answer 1000; message 100; arguments 9000", engine.Window{Run: "r3", Room: 4000, Source: 9000, Summary: 300},
			engine.Plan{Items: 4, Bytes: 200}, nil,
		},
		"a summary that came out too long is shortened": {
			"message 100; summary 9000", engine.Window{Run: "r1", Room: 4000, Source: 9000, Summary: 300},
			engine.Plan{ItemBytes: 512, Bytes: 200 + 100 + 4*512}, nil,
		},
		"the current message is too long": {
			"message 100; answer 100; message 9000", engine.Window{Run: "r3", Room: 4000, Source: 9000, Summary: 300},
			engine.Plan{}, &engine.Full{Item: "the message of run r3", Bytes: 9100, Room: 4000},
		},
		"the current message is too long by the estimate, and the provider may take it": {
			"message 100; answer 100; message 9000", engine.Window{Run: "r3", Room: 4000, Last: 9500, Source: 9000, Summary: 300},
			engine.Plan{Keep: 3, Items: 2, Bytes: 9100}, nil,
		},
		"and it is tried once nothing is older": {
			"message 9000", engine.Window{Run: "r1", Room: 4000, Last: 9500, Source: 9000, Summary: 300},
			engine.Plan{Bytes: 9100}, nil,
		},
		"it is tried with a result that the model has not seen": {
			"message 9000; result 1000", engine.Window{Run: "r1", Room: 4000, Last: 12_000, Source: 9000, Summary: 300},
			engine.Plan{Bytes: 9100 + 102 + 1100}, nil,
		},
		"and without it where that was in vain": {
			"message 9000; result 1000", engine.Window{Run: "r1", Room: 4000, Last: 12_000, Vain: true, Source: 9000, Summary: 300},
			engine.Plan{Items: 2, Bytes: 9100}, nil,
		},
		"what was in vain is not tried again": {
			"message 9000", engine.Window{Run: "r1", Room: 4000, Last: 9500, Vain: true, Source: 9000, Summary: 300},
			engine.Plan{}, &engine.Full{Item: "the message of run r1", Bytes: 9100, Room: 9500},
		},
		"it is tried with what is older summarised": {
			"message 100; answer 300; message 9000", engine.Window{Run: "r3", Room: 4000, Last: 9500, Source: 9000, Summary: 300},
			engine.Plan{Keep: 3, Items: 2, Bytes: 9100}, nil,
		},
		"but not where even that has no room": {
			"message 100; answer 100; message 9000", engine.Window{Run: "r3", Room: 4000, Last: 9000, Source: 9000, Summary: 300},
			engine.Plan{}, &engine.Full{Item: "the message of run r3", Bytes: 9100, Room: 9000},
		},
		"there is no room for anything": {
			"message 100; summary 100", engine.Window{Run: "r1", Room: -5, Source: -5, Summary: 300},
			engine.Plan{}, &engine.Full{Item: "the message of run r1", Bytes: 200, Room: -5},
		},
		"a summary for which there is no room is named": {
			"compact; summary 900", engine.Window{Run: "r1", Room: 500, Source: 500, Summary: 300},
			engine.Plan{}, &engine.Full{Item: "the summary of older history", Bytes: 1000, Room: 500},
		},
		"nothing can be done about a call without a result": {
			"message 100; open 0; arguments 9000", engine.Window{Run: "r1", Room: 4000, Source: 9000, Summary: 300},
			engine.Plan{}, &engine.Full{Item: "call c2", Bytes: 9108, Room: 4000},
		},
		"an empty conversation does not fit where there is no room": {
			"compact", engine.Window{Run: "r1", Room: -1},
			engine.Plan{}, &engine.Full{Item: "the conversation", Room: -1},
		},
		"by request all but the newest few is summarised though it fits": {
			"message 10; answer 10; message 10; answer 10; message 10; answer 10; compact", engine.Window{Run: "r7", Room: 9000, Source: 9000, Summary: 300, All: true},
			engine.Plan{Keep: 3, Items: 2, Bytes: 440}, nil,
		},
		"by request nothing is done about a few short ones": {
			"message 10; answer 10; message 10; answer 10; compact", engine.Window{Run: "r5", Room: 9000, Source: 9000, Summary: 300, All: true},
			engine.Plan{Bytes: 440}, nil,
		},
		"by request all is summarised where there is no room at all": {
			"message 10; answer 10; message 10; compact", engine.Window{Run: "r4", Room: -50, Source: 9000, Summary: 300, All: true},
			engine.Plan{Items: 3}, nil,
		},
		"by request nothing is shortened that fits": {
			"message 10; answer 8000; compact", engine.Window{Run: "r3", Room: 9000, Source: 9000, Summary: 3000, All: true},
			engine.Plan{Keep: 2, Items: 1, Bytes: 8100}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := sized(strings.Split(test.parts, "; ")...)
			got, full := tr.Plan(test.window)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.full, full); diff != "" {
				t.Errorf("full (-want +got):\n%s", diff)
			}
			if older := tr.Older(got); len(older) != got.Items {
				t.Errorf("%d entries are older, the plan counts %d", len(older), got.Items)
			}
		})
	}
}

func TestWhatAPlanSummarisesBeginsWithTheEarlierSummary(t *testing.T) {
	t.Parallel()
	tr := sized("message 1", "answer 2", "summary 3", "answer 4", "result 5", "answer 6")
	got := tr.Older(engine.Plan{Keep: 7, Items: 5})
	if diff := cmp.Diff([]string{"summary xxx", "assistant xxxx", "tool_call c1", "tool_result c1xxxxx"}, brief(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(tr.Context(0)); n != 6 {
		t.Errorf("asking for it left %d entries", n)
	}
}

// large is a conversation of 2 MB in messages, answers and results.
func large() *engine.Transcript {
	tr := engine.NewContext()
	body := strings.Repeat("some words. ", 50)
	for i := range 1000 {
		run, call := fmt.Sprintf("r%d", i), fmt.Sprintf("c%d", i)
		written(tr, accepted(run, body), calling(call), gave(call, body), answered(text(body)))
	}
	return tr
}

func BenchmarkContextOfTwoMegabytes(b *testing.B) {
	tr := large()
	n := len(tr.Context(0))
	b.ReportAllocs()
	for b.Loop() {
		if len(tr.Context(n-1)) != 1 {
			b.Fatal("one entry is new")
		}
	}
}

func BenchmarkPlanOfTwoMegabytes(b *testing.B) {
	for name, test := range map[string]struct {
		transcript *engine.Transcript
		window     engine.Window
	}{
		"summarise": {large(), engine.Window{Run: "r999", Room: 20_000, Source: 20_000, Summary: 4000}},
		"shorten":   {sized("message 100", "result 2000"+strings.Repeat(",2000", 1000)), engine.Window{Run: "r1", Room: 1_200_000, Source: 20_000, Summary: 4000}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, full := test.transcript.Plan(test.window)
				if full != nil || (p.Items > 0) != (name == "summarise") || (p.ItemBytes > 0) != (name == "shorten") {
					b.Fatalf("%+v, %+v", p, full)
				}
			}
		})
	}
}
