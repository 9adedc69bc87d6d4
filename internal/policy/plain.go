package policy

import (
	"strings"
	"unicode"
)

// Plain is s as one line of visible text of at most limit bytes. What hides, reorders or breaks text goes; a longer
// text ends with "…", so limit is at least 3.
func Plain(s string, limit int) string {
	const more = "…"
	var b strings.Builder
	space, cut := false, 0
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if !unicode.IsGraphic(r) {
			continue
		}
		if space {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		if b.Len() > limit {
			return b.String()[:cut] + more
		}
		if space = false; b.Len() <= limit-len(more) {
			cut = b.Len()
		}
	}
	return b.String()
}
