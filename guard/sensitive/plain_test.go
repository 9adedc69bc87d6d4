package sensitive

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFiguresArePlainWhateverTheyAreWrittenWith(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "12-34": "12-34", "é 名前 —": "é 名前 —",
		"1\u00a02\u20073\u30004": "1 2 3 4", "1–2‑3−4": "1-2-3-4", "（＋１）": "(+1)", "\ufeff1\u200b2\u00ad3\u202e": "123", "\xff1\u00a0\xff": "\xff1 \xff",
	} {
		if got := newPlain(text).text; got != want {
			t.Errorf("newPlain(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestAPartOfThePlainTextIsFoundInTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"a", "12", "é", "\u00a0", "\u200b", "–", "４", "\xff", "\u2003"})).Draw(t, "pieces")
		// Each piece alone tells what is plain of it, and so where it is to be found.
		text, plainText := "", ""
		var want []span
		var at []span
		for _, piece := range pieces {
			p := newPlain(piece).text
			if p != "" {
				at = append(at, span{len(plainText), len(plainText) + len(p)})
				want = append(want, span{len(text), len(text) + len(piece)})
			}
			text, plainText = text+piece, plainText+p
		}
		p := newPlain(text)
		if p.text != plainText {
			t.Fatalf("newPlain(%q) = %q, want %q", text, p.text, plainText)
		}
		for i, s := range at {
			got := p.spanOf(s)
			// Marks that nobody sees behind a part go with it.
			if got.start != want[i].start || got.end < want[i].end || newPlain(text[want[i].end:got.end]).text != "" {
				t.Fatalf("%q at %v of %q is at %v of %q, want %v", p.text[s.start:s.end], s, p.text, got, text, want[i])
			}
		}
	})
	if diff := cmp.Diff(span{1, 2}, plain{text: "abc"}.spanOf(span{1, 2}), cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("a text that is plain (-want +got):\n%s", diff)
	}
}
