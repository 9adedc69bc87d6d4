package sensitive

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// plain is a text as figures are looked for in it. Word processors, address books and web pages put spaces, dashes
// and digits of their own into numbers, and marks that nobody sees; here they are the ASCII ones, or left out.
type plain struct {
	text string
	// moved tells where offsets stop to run alike: from the one in the plain text on they follow the other one.
	moved []offsets
}

type offsets struct{ plain, text int }

func newPlain(text string) plain {
	var b strings.Builder
	var moved []offsets
	kept := 0 // up to here text is in b
	for i, c := range text {
		if c < utf8.RuneSelf {
			continue
		}
		ascii, ok := plainOf(c)
		if !ok {
			continue
		}
		b.WriteString(text[kept:i])
		kept = i + utf8.RuneLen(c)
		moved = append(moved, offsets{b.Len(), i})
		b.WriteString(ascii)
		moved = append(moved, offsets{b.Len(), kept})
	}
	if moved == nil {
		return plain{text: text}
	}
	b.WriteString(text[kept:])
	return plain{text: b.String(), moved: moved}
}

// plainOf returns what stands for c, nothing for a mark that is not seen.
func plainOf(c rune) (string, bool) {
	switch {
	case c == '\u00a0', c >= '\u2000' && c <= '\u200a', c == '\u202f', c == '\u205f', c == '\u3000': // spaces
		return " ", true
	case c >= '\u2010' && c <= '\u2013', c == '\u2212': // hyphens, the dashes of figures and ranges, minus
		return "-", true
	case c >= '\uff01' && c <= '\uff5e': // ASCII in full width
		return string(c - '\uff01' + '!'), true
	case c == '\u00ad', c >= '\u200b' && c <= '\u200f', c >= '\u202a' && c <= '\u202e', c == '\u2060',
		c >= '\u2066' && c <= '\u2069', c == '\ufeff': // soft hyphen, no width, direction
		return "", true
	}
	return "", false
}

// spanOf returns where a part of the plain text is in the text.
func (p plain) spanOf(s span) span { return span{p.offset(s.start), p.offset(s.end)} }

func (p plain) offset(at int) int {
	// The first that is behind; of those at one offset the last counts.
	i, _ := slices.BinarySearchFunc(p.moved, at+1, func(m offsets, at int) int { return cmp.Compare(m.plain, at) })
	if i == 0 {
		return at
	}
	return p.moved[i-1].text + at - p.moved[i-1].plain
}
