package runtime

import (
	"fmt"
	"testing"

	"github.com/openworkerai/openworker/model"
)

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
