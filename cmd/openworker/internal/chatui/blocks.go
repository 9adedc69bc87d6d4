package chatui

import (
	"regexp"
	"strings"
)

// How much of an answer is kept in the live area at most, in bytes, before it is cut where it would rather
// stay whole.
const (
	mostFenced = 2048
	mostText   = 4096
	mostTable  = 16 << 10
)

// piece is a part of an answer that can be rendered by itself.
type piece struct {
	text  string
	glued bool // it goes on with the one before: no empty line between
}

// splitter takes an answer apart as it grows: what is finished never changes again.
type splitter struct {
	rest   string // not given out yet
	opener string // the line that opened the fence that rest is in, "" outside
	glued  bool   // rest goes on with what was given out last
}

var (
	fenceLine = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
	listItem  = regexp.MustCompile(`^ {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]`)
	unsure    = regexp.MustCompile("^\\s*[-=*_#`~|>+]+\\s*$|^\\s{0,3}(?:```|~~~)")
)

// add appends text and returns the pieces that are finished with it.
func (s *splitter) add(text string) []piece {
	s.rest += text
	var out []piece
	for {
		end, glue := s.boundary()
		if end == 0 {
			return out
		}
		out = append(out, s.take(end, glue)...)
	}
}

// finish returns what is left.
func (s *splitter) finish() []piece {
	out := s.take(len(s.rest), false)
	*s = splitter{}
	return out
}

// take gives out rest up to end. glue says that what follows goes on with it.
func (s *splitter) take(end int, glue bool) []piece {
	text := s.whole(s.rest[:end])
	glued := s.glued
	fence := openFence(s.opener, s.rest[:end])
	s.rest, s.opener, s.glued = s.rest[end:], fence, glue
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []piece{{text, glued}}
}

// whole makes a text with the fence that it is in, closed.
func (s *splitter) whole(text string) string {
	if still := openFence(s.opener, text); still != "" {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += fenceLine.FindStringSubmatch(still)[1]
	}
	return s.opener + text
}

// live is what is left as it can be shown meanwhile: a fence is closed, and a last line that may yet turn out to
// be a part of something else is left out.
func (s *splitter) live() piece {
	text := s.rest
	start := strings.LastIndexByte(text, '\n') + 1
	if unsure.MatchString(text[start:]) {
		text = text[:start]
	}
	if strings.TrimSpace(text) == "" {
		return piece{"", s.glued}
	}
	return piece{s.whole(text), s.glued}
}

// openFence is the opening line, with its end, of the fence that text leaves open; opener is that of the one which
// it begins in.
func openFence(opener, text string) string {
	for line := range strings.Lines(text) {
		opener = fenceAfter(opener, line)
	}
	return opener
}

// fenceAfter is the opener after one more line.
func fenceAfter(opener, line string) string {
	mark := fenceLine.FindStringSubmatch(line)
	switch {
	case mark == nil:
		return opener
	case opener == "":
		return strings.TrimRight(line, "\n") + "\n"
	}
	open := fenceLine.FindStringSubmatch(opener)[1]
	if mark[1][0] == open[0] && len(mark[1]) >= len(open) && strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), mark[1][:1])) == "" {
		return ""
	}
	return opener
}

// boundary finds where the first finished part of rest ends, 0 for nowhere yet. glue says that what follows it is
// the same block.
func (s *splitter) boundary() (end int, glue bool) {
	opener := s.opener
	inList, inTable, blank, seen := false, false, false, false
	offset, item, inner := 0, 0, 0
	for line := range strings.Lines(s.rest) {
		complete := strings.HasSuffix(line, "\n")
		text := strings.TrimRight(line, "\n")
		if strings.TrimSpace(text) == "" {
			if complete {
				blank = true
				if opener == "" {
					inTable = false
				}
			}
			offset += len(line)
			continue
		}
		indented := strings.HasPrefix(text, "  ") || strings.HasPrefix(text, "\t")
		isItem := listItem.MatchString(text)
		// A line may still become an item or a fence until its end, unless its beginning rules that out.
		clear := complete || !strings.ContainsAny(text[:1], " \t-*+`~0123456789")
		if opener == "" && seen && blank && !indented && clear && !(inList && isItem) {
			return offset, false
		}
		before := opener
		opener = fenceAfter(opener, line)
		switch {
		case before == "" && opener == "":
			if !seen {
				inList, inTable = isItem, strings.HasPrefix(strings.TrimSpace(text), "|")
			}
			if isItem && !indented && seen {
				item = offset
			}
		case before != "" && opener == "" && complete && !inList && !indented:
			return offset + len(line), false // the fence is closed
		case before != "" && opener != "" && complete && !blank:
			inner = offset + len(line)
		}
		blank, seen = false, true
		offset += len(line)
	}
	return s.forced(opener, inTable, item, inner)
}

// forced cuts a block that is too long to wait for its end.
func (s *splitter) forced(opener string, inTable bool, item, inner int) (end int, glue bool) {
	switch {
	case opener != "":
		if len(s.rest) > mostFenced && inner > 0 {
			return inner, true
		}
		if len(s.rest) <= mostTable {
			return 0, false
		}
	case inTable && len(s.rest) <= mostTable, len(s.rest) <= mostText:
		return 0, false
	}
	if item > 0 {
		return item, true
	}
	limit := s.rest[:mostText]
	if i := strings.LastIndexByte(limit, '\n'); i > mostText/2 {
		return i + 1, true
	}
	if i := strings.LastIndexByte(limit, ' '); i > mostText/2 {
		return i + 1, true
	}
	return len(strings.ToValidUTF8(limit, "")), true
}
