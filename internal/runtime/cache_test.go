package runtime

import (
	"fmt"
	"testing"

	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
)

// What a summary stands for is not held on to until the next call.
func TestASummaryLeavesNothingOfTheOldViewInTheCache(t *testing.T) {
	t.Parallel()
	c := transcriptCache{}
	c.build([]engine.Fact{
		{Number: 1, Event: engine.TurnAccepted{Run: "r1", Text: "hi"}},
		{Number: 2, Event: engine.ModelFinished{Run: "r1", Items: []engine.Item{{Kind: engine.ItemText, Text: "hello"}}}},
	})
	items, encoded, _ := c.request()
	encoded.Append(nil, "", items, func(dst []byte, _ []model.Item) []byte { return append(dst, make([]byte, 1<<20)...) })
	before := c.bytes()
	c.apply([]engine.Fact{{Number: 3, Event: engine.TurnAccepted{Run: "r3", Compact: true}}})
	if len(items) != 2 || len(c.items) != 2 {
		t.Fatalf("%d items are kept of %d", len(c.items), len(items))
	}
	c.apply([]engine.Fact{{Number: 4, Event: engine.CompactionFinished{Run: "r3", Plan: engine.Plan{Items: 2}, Summary: "they greeted"}}})
	if c.items != nil || c.bytes() > before-1<<20 {
		t.Errorf("%d items and %d bytes are kept of %d", len(c.items), c.bytes(), before)
	}
	if items, _, _ := c.request(); len(items) != 1 || items[0].Text != "they greeted" {
		t.Errorf("the next request shows %+v", items)
	}
}

// Sessions at rest keep their conversations for the next turn, within bounds: of number, and of bytes although they
// are few.
func TestSessionsAtRestKeepSoMuchAndNoMore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sessions, size, most int }{
		"many small ones":  {1000, 0, maxIdleCells},
		"a few large ones": {64, 2 << 20, maxIdleBytes / (2 << 20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &Runtime{hub: NewHub(), cells: map[string]*cell{}}
			for i := range test.sessions {
				c := r.cell(fmt.Sprint("s", i))
				c.actor.transcript.build(nil)
				c.actor.transcript.encoded.Append(nil, "", nil, func(dst []byte, _ []model.Item) []byte { return append(dst, make([]byte, test.size)...) })
				r.trim()
			}
			for range trimEvery {
				r.trim()
			}
			if len(r.cells) > test.most || len(r.cells) < test.most/2 {
				t.Errorf("%d sessions are kept, want at most %d and not much less", len(r.cells), test.most)
			}
			if newest := fmt.Sprint("s", test.sessions-1); r.cells[newest] == nil {
				t.Error("the newest was dropped before older ones")
			}
		})
	}
}
