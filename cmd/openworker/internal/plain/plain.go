package plain

import (
	"strings"
	"unicode"
)

// Printable takes out of a text what would steer the terminal: a model's or a tool's text is not trusted with it. Nor
// is it with the direction of writing, which would show an argument as another than it is.
func Printable(text string) string { return WithoutTurns(WithoutControls(text)) }

// WithoutTurns leaves out what turns the direction of writing.
func WithoutTurns(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, text)
}

// WithoutControls leaves of the control characters the line ends and tabs.
func WithoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

const briefRunes = 120

// Brief is a text on one line, printable, cut where it is long.
func Brief(text string) string {
	text = Line(text)
	if runes := []rune(text); len(runes) > briefRunes {
		return string(runes[:briefRunes]) + "…"
	}
	return text
}

// Line is a text on one line, printable.
func Line(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }
