package chatui

import (
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"a heading", "## Head\n\nText", []string{"Head", "", "Text"}},
		{"line ends stay", "one\ntwo", []string{"one", "two"}},
		{"long lines are wrapped", "one two three four five six seven", []string{"one two three four five six", "seven"}},
		{"a long word is broken", strings.Repeat("x", 40), []string{strings.Repeat("x", 30), strings.Repeat("x", 10)}},
		{"lists", "- a\n- b\n  - c", []string{"• a", "• b", "  • c"}},
		{"numbers go on where they begin", "3. c\n4. d", []string{"3. c", "4. d"}},
		{"tasks", "- [ ] a\n- [x] b", []string{"[ ] a", "[x] b"}},
		{"code", "```go\nfunc main() {\n\tx()\n}\n```", []string{"  func main() {", "      x()", "  }"}},
		{"a table", "| a | b |\n|---|---|\n| 1 | 2 |", []string{" a             │ b", "───────────────┼──────────────", " 1             │ 2"}},
		{"a quotation", "> said", []string{"│ said"}},
		{"a link", "[here](http://x.y/z)", []string{"here http://x.y/z"}},
		{"HTML", "<b>bold</b> <script>x</script>", []string{"bold x"}},
		{"wide characters", strings.Repeat("日本", 10), []string{strings.Repeat("日本", 7) + "日", "本日本日本"}},
		{"a rule", "---", []string{"────────"}},
		{"only white space", " ", nil},
	}
	m := newMarkdown(30, true)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, line := range m.lines(tt.text) {
				got = append(got, ansi.Strip(line))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever a text holds, only styles and printable characters come out.
func TestNothingSteersTheTerminal(t *testing.T) {
	t.Parallel()
	parts := []string{"\x1b]0;t\x07", "\x1b[2J", "\x1b[31m", "&#27;", "&#x1b;", "&#0027", "&amp;#27;", "&#155;", "\u009b", "[8m", "]8;;http://x\\", "\x9d", "`", "```\n", "<div>", "</div>", "\n\n", "[a](http://b\x1b[1m)", "![i](x)",
		"text", "- ", "| a |\n|---|\n", "\\", "&Tab;", "&NewLine;", "\r", "\b", "\x00"}
	m := newMarkdown(40, true)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 12).Draw(t, "parts"), "")
		for _, line := range m.lines(text) {
			for rest := line; rest != ""; {
				i := strings.IndexFunc(rest, unicode.IsControl)
				if i < 0 {
					break
				}
				end := strings.IndexByte(rest[i:], 'm')
				if end < 0 || !isStyle(rest[i:i+end+1]) {
					t.Fatalf("%q became %q", text, line)
				}
				rest = rest[i+end+1:]
			}
		}
		for _, line := range wrapped(text, 40) {
			if strings.ContainsFunc(line, unicode.IsControl) {
				t.Fatalf("%q became %q", text, line)
			}
		}
	})
}

func TestOnlyStyles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"colours", "\x1b[31mred\x1b[0m \x1b[1;92mbold\x1b[m", "\x1b[31mred\x1b[0m \x1b[1;92mbold\x1b[m"},
		{"what hides", "\x1b[8mhidden", "hidden"},
		{"what blinks", "\x1b[5mblink", "blink"},
		{"a link", "\x1b]8;;http://x\x07here\x1b]8;;\x07", "here"},
		{"a title", "\x1b]0;title\x1b\\text", "text"},
		{"moves", "a\x1b[2Ab\x1b[Hc\rd\be", "abcde"},
		{"a sequence that does not end", "a\x1b[31", "a"},
		{"joined characters", "👨‍👩‍👧 é", "👨‍👩‍👧 é"},
		{"line ends", "a\nb", "a\nb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := onlyStyles(tt.text); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
