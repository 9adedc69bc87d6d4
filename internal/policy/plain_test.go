package policy_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/openworkerai/openworker/internal/policy"
	"pgregory.net/rapid"
)

// Whatever the text, a person sees one line of what is there, and a text that is plain already stays as it is.
func TestAPlainTextIsOneVisibleLineOfBoundedSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		limit := rapid.IntRange(3, 60).Draw(t, "limit")
		got := policy.Plain(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || got != strings.TrimSpace(got) || strings.Contains(got, "  ") {
			t.Fatalf("%q became %q, with a limit of %d", text, got, limit)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) && r != ' ' }) {
			t.Fatalf("%q became %q", text, got)
		}
		if again := policy.Plain(got, limit); again != got {
			t.Fatalf("%q became %q and then %q", text, got, again)
		}
		if whole := policy.Plain(text, len(text)*3+3); got != whole && (len(whole) <= limit || !strings.HasPrefix(whole, strings.TrimSuffix(got, "…"))) {
			t.Fatalf("%q became %q, of %q", text, got, whole)
		}
	})
}
