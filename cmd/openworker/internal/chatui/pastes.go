package chatui

import (
	"fmt"
	"strings"
)

// pasteName is what stands in the input for a long paste.
func pasteName(n int, text string) string {
	return fmt.Sprintf("[paste %d: %d lines, %d bytes]", n+1, 1+strings.Count(text, "\n"), len(text))
}

// mend keeps the names of pastes whole after a key: what takes a part of one away takes all of it, what is typed into
// one stands behind it, and what changes one otherwise is undone.
func (in *input) mend(before string) {
	after := in.area.Value()
	old, now := []rune(before), []rune(after)
	// The cursor stands behind what was typed, or where something was taken away.
	grown := len(now) - len(old)
	at := in.offset() - max(0, grown)
	from, to := at, at+max(0, -grown) // of old, what is gone
	broken := false
	for n, pasted := range in.pastes {
		name := pasteName(n, pasted)
		start, end, there := place(before, name)
		if !there || strings.Contains(after, name) {
			continue
		}
		broken = true
		if grown > 0 && start < at && at < end {
			in.put(string(old[:end])+string(now[at:at+grown]), string(old[end:]))
			return
		}
		if grown < 0 && from < end && to > start {
			from, to = min(from, start), max(to, end)
		}
	}
	switch {
	case !broken:
	case to-from > -grown:
		in.put(string(old[:from]), string(old[to:]))
	case grown >= 0 || !gone(old, now, from, to):
		in.put(before, "")
	}
}

// gone is whether now is old without what stands between two places.
func gone(old, now []rune, from, to int) bool {
	return from >= 0 && to <= len(old) && string(old[:from])+string(old[to:]) == string(now)
}

// place is where a name stands in a text, in runes.
func place(text, name string) (start, end int, ok bool) {
	at := strings.Index(text, name)
	if at < 0 {
		return 0, 0, false
	}
	start = len([]rune(text[:at]))
	return start, start + len([]rune(name)), true
}

// offset is the cursor's place in the text, in runes.
func (in *input) offset() int {
	at := in.area.Column()
	for _, line := range strings.Split(in.area.Value(), "\n")[:in.area.Line()] {
		at += len([]rune(line)) + 1
	}
	return at
}

// put replaces the text, with the cursor between two parts of it.
func (in *input) put(left, right string) {
	in.area.Reset()
	in.area.InsertString(right)
	in.area.MoveToBegin()
	in.area.InsertString(left)
}
