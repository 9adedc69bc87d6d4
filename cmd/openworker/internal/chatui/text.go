package chatui

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// middleCut leaves out the middle of a text that takes more than width columns: an error begins with where it happened
// and ends with why.
func middleCut(text string, width int) string {
	all := ansi.StringWidth(text)
	if all <= width {
		return text
	}
	return ansi.Truncate(text, width/2, "") + "…" + ansi.TruncateLeft(text, all-(width-width/2-1), "")
}

// tabs are four columns here: the terminal's own depend on where a line begins.
func untab(text string) string { return strings.ReplaceAll(text, "\t", "    ") }

var reference = regexp.MustCompile(`&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?`)

// unreferenced takes out the references to control characters that Markdown would turn into these.
func unreferenced(text string) string {
	if !strings.Contains(text, "&#") {
		return text
	}
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		parts := reference.FindStringSubmatch(found)
		digits, base := parts[2], 10
		if parts[1] != "" {
			digits, base = parts[1], 16
		}
		code, err := strconv.ParseInt(digits, base, 32)
		if err != nil || unicode.IsControl(rune(code)) {
			return ""
		}
		return found
	})
}

// onlyStyles keeps of a rendered text what is printed and the styles that this program itself uses: no other
// sequence gets through, whatever a renderer made of somebody's text.
func onlyStyles(text string) string {
	var b strings.Builder
	var state byte
	text = plain.WithoutTurns(text)
	for len(text) > 0 {
		sequence, width, n, next := ansi.DecodeSequence(text, state, nil)
		state, text = next, text[n:]
		switch {
		case width > 0 || sequence == "\n":
			b.WriteString(sequence)
		case isStyle(sequence):
			b.WriteString(sequence)
		case !strings.ContainsFunc(sequence, unicode.IsControl):
			b.WriteString(sequence) // without a width of its own, such as a joiner
		}
	}
	return b.String()
}

// isStyle says whether a sequence sets colours or weights; what hides or blinks is none.
func isStyle(sequence string) bool {
	body, ok := strings.CutPrefix(sequence, "\x1b[")
	if !ok || !strings.HasSuffix(body, "m") {
		return false
	}
	for field := range strings.SplitSeq(strings.TrimSuffix(body, "m"), ";") {
		if field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		switch {
		case err != nil, n == 5, n == 6, n == 8, n > 97:
			return false
		}
	}
	return true
}

// wrapped is a printable text as lines of at most width columns.
func wrapped(text string, width int) []string {
	return strings.Split(ansi.Wrap(untab(plain.Printable(text)), max(1, width), ""), "\n")
}

// cut is a styled line of at most width columns.
func cut(line string, width int) string { return ansi.Truncate(line, max(1, width), "…") }
