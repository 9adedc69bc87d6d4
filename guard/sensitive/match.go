package sensitive

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

func (s span) overlaps(o span) bool { return s.start < o.end && o.start < s.end }

// union puts spans in order and makes one of those that overlap or touch.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var merged []span
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.start <= merged[last].end {
			merged[last].end = max(merged[last].end, s.end)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// match is a span with the kind of what it holds. Of matches that overlap the one of the lowest rank gives its kind.
type match struct {
	span
	kind Kind
	rank int
}

func marker(kind Kind) string { return "[redacted: " + string(kind) + "]" }

// markers returns where text has markers already, of whichever kind.
func (s scanner) markers(text string) []span {
	var found []span
	for _, kind := range Kinds() {
		m := marker(kind)
		for at := 0; ; {
			i := strings.Index(text[at:], m)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(m)})
			at += i + len(m)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	return found
}

// merge puts matches in order and makes one of those that overlap. A match within a marker is none, and one that
// reaches into a marker takes the whole of it.
func merge(found []match, markers []span) []match {
	var outside []match
	for _, m := range found {
		if m.start >= m.end {
			continue
		}
		// Markers do not overlap, so these are in order by their ends, too.
		i, _ := slices.BinarySearchFunc(markers, m.start, func(s span, at int) int { return cmp.Compare(s.end, at+1) })
		within := false
		for ; i < len(markers) && markers[i].overlaps(m.span); i++ {
			if markers[i].start <= m.start && m.end <= markers[i].end {
				within = true
				break
			}
			m.start, m.end = min(m.start, markers[i].start), max(m.end, markers[i].end)
		}
		if !within {
			outside = append(outside, m)
		}
	}
	slices.SortFunc(outside, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.rank, b.rank))
	})
	var merged []match
	for _, m := range outside {
		if last := len(merged) - 1; last >= 0 && merged[last].overlaps(m.span) {
			merged[last].end = max(merged[last].end, m.end)
			if m.rank < merged[last].rank {
				merged[last].kind, merged[last].rank = m.kind, m.rank
			}
			continue
		}
		merged = append(merged, m)
	}
	return merged
}

// replace puts a marker in the place of each match; they are in order and do not overlap.
func replace(text string, found []match) string {
	var b strings.Builder
	at := 0
	for _, m := range found {
		b.WriteString(text[at:m.start])
		b.WriteString(marker(m.kind))
		at = m.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// candidates calls accept with each match of re, and returns the spans that it gives. Where it gives none, the
// search goes on behind the first group of the candidate, since the next group may start another.
func candidates(ctx context.Context, re *regexp.Regexp, text string, accept func(c span) (span, bool)) ([]span, error) {
	var found []span
	for at := 0; at < len(text); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		loc := re.FindStringIndex(text[at:])
		if loc == nil {
			break
		}
		c := span{at + loc[0], at + loc[1]}
		if sp, ok := accept(c); ok {
			found = append(found, sp)
			at = sp.end
			continue
		}
		at = c.start
		for at < c.end && isWord(text[at]) {
			at++
		}
		at = max(at, c.start+1)
	}
	return found, nil
}

// standsAlone tells whether s is not a part of something longer: a word, a path, a dotted or dashed number.
func standsAlone(text string, s span) bool {
	return startsAlone(text, s.start) && endsAlone(text, s.end)
}

func startsAlone(text string, start int) bool {
	if start == 0 {
		return true
	}
	before := text[start-1]
	return !isWord(before) && (!isJoint(before) || start == 1 || !isWord(text[start-2]))
}

func endsAlone(text string, end int) bool {
	if end == len(text) {
		return true
	}
	after := text[end]
	return !isWord(after) && (!isJoint(after) || end+1 == len(text) || !isWord(text[end+1]))
}

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isJoint tells whether c holds the parts of a longer thing together.
func isJoint(c byte) bool { return c < utf8.RuneSelf && strings.IndexByte("-./+\\%", c) >= 0 }
