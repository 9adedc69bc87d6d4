package sensitive

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/guard"
)

// No text is known that needs many rounds, so a finder that sees one value at a time makes one.
func TestATextThatIsNotDoneWithIsBlocked(t *testing.T) {
	t.Parallel()
	s := scanner{finders: []finder{{kind: Email, find: func(_ context.Context, text string) ([]span, error) {
		i := strings.IndexByte(text, 'X')
		return []span{{i, i + 1}}[:min(i+1, 1)], nil
	}}}}
	few, many := strings.Repeat("X", maxRounds-1), strings.Repeat("X", maxRounds)
	for text, want := range map[string]guard.Verdict{
		few:  guard.Redact(strings.Repeat("[redacted: email]", maxRounds-1), "redacted email: 4"),
		many: guard.Block("found email: 5, and more each time that they were taken out"),
	} {
		got, err := s.redact(t.Context(), guard.Unit{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
