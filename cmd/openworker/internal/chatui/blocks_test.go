package chatui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func split(chunks ...string) (out []piece) {
	var s splitter
	for _, chunk := range chunks {
		out = append(out, s.add(chunk)...)
	}
	return append(out, s.finish()...)
}

func TestAnAnswerIsTakenApartBetweenItsBlocks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"paragraphs", "One\nmore.\n\nTwo.\n\n\nThree.", []string{"One\nmore.\n\n", "Two.\n\n\n", "Three."}},
		{"a heading and what is below it", "# Head\nText.\n\nMore.", []string{"# Head\nText.\n\n", "More."}},
		{"a list stays whole, loose as it may be", "- a\n\n- b\n\n  more of b\n\n1. c\n\nText.", []string{"- a\n\n- b\n\n  more of b\n\n1. c\n\n", "Text."}},
		{"a fence stays whole", "Code:\n```go\na\n\nb\n```\nText.", []string{"Code:\n```go\na\n\nb\n```\n", "Text."}},
		{"a fence in a fence", "````\n```\na\n\nb\n```\n````\nText.", []string{"````\n```\na\n\nb\n```\n````\n", "Text."}},
		{"tildes do not close backticks", "```\n~~~\n\na\n```\nText.", []string{"```\n~~~\n\na\n```\n", "Text."}},
		{"a fence that is left open is closed", "```go\na", []string{"```go\na\n```"}},
		{"a fence in a list stays in it", "- a\n  ```\n  b\n\n  c\n  ```\n- d\n\nText.", []string{"- a\n  ```\n  b\n\n  c\n  ```\n- d\n\n", "Text."}},
		{"indented text goes with what is before it", "a\n\n    code\n\nb", []string{"a\n\n    code\n\n", "b"}},
		{"nothing", " \n\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range split(tt.text) {
				got = append(got, p.text)
				if p.glued {
					t.Errorf("%q is glued", p.text)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestABlockThatIsTooLongIsCut(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 3000)
	tests := []struct {
		name, text string
		each       func(p piece) bool
	}{
		{"a paragraph, between words", words, func(p piece) bool { return strings.HasPrefix(p.text, "word") && strings.HasSuffix(p.text, "word ") }},
		{"one word, between characters", strings.Repeat("é", 10_000), func(p piece) bool { return strings.Trim(p.text, "é") == "" }},
		{"a list, between items", strings.Repeat("- an item\n  of two lines\n", 500), func(p piece) bool { return strings.HasPrefix(p.text, "- an item\n") }},
		{"a fence, between lines, and each piece is fenced", "```go\n" + strings.Repeat("a line\n", 1000) + "```\n", func(p piece) bool {
			return strings.HasPrefix(p.text, "```go\n") && strings.HasSuffix(strings.TrimRight(p.text, "\n"), "a line\n```")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var chunks []string
			for rest := tt.text; rest != ""; {
				n := min(len(rest), 40)
				chunks, rest = append(chunks, rest[:n]), rest[n:]
			}
			pieces := split(chunks...)
			if len(pieces) < 3 {
				t.Fatalf("%d pieces", len(pieces))
			}
			for n, p := range pieces {
				if len(p.text) > mostText+100 || p.glued != (n > 0) || !tt.each(p) {
					t.Errorf("piece %d, glued: %v, %d bytes: %.30q…%q", n, p.glued, len(p.text), p.text, p.text[max(0, len(p.text)-30):])
				}
			}
		})
	}
}

func TestATableIsNotCutSoon(t *testing.T) {
	t.Parallel()
	if got := split("| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 600)); len(got) != 1 {
		t.Errorf("%d pieces", len(got))
	}
}

// However an answer comes, the pieces are the same, and nothing is lost.
func TestPiecesDoNotDependOnHowAnAnswerComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"", "text", "- item", "  more", "```go", "```", "~~~", "1. one", "# head", "| a |", "    code", "> quote"})).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		var chunks []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		whole, parts := split(text), split(chunks...)
		if diff := cmp.Diff(whole, parts, cmp.AllowUnexported(piece{})); diff != "" {
			t.Fatal(diff)
		}
		var b strings.Builder
		for _, p := range whole {
			b.WriteString(p.text)
		}
		if got := b.String(); strings.Count(got, "text") != strings.Count(text, "text") || strings.Count(got, "item") != strings.Count(text, "item") {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func TestWhatIsNotClearYetIsNotShown(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, rest, want string }{
		{"a fence that is open is closed", "```go\nfunc", "```go\nfunc\n```"},
		{"a fence that may be about to close", "```go\nfunc\n``", "```go\nfunc\n```"},
		{"a fence that may be about to open", "Text:\n``", "Text:\n"},
		{"a fence whose language is being written", "Text:\n```g", "Text:\n"},
		{"what may turn a line into a heading", "Text\n--", "Text\n"},
		{"a list's sign", "Text:\n\n* ", "Text:\n\n"},
		{"a number is text", "Text: 1", "Text: 1"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := splitter{rest: tt.rest}
			if got := s.live().text; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
