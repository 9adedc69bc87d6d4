package engine

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Context returns the entries that a model is to see behind the first skip ones: the summary of older history and the
// current message, where older history has been summarised, then all entries since, the long ones of them shortened
// (CO1, CO3). While [Transcript.Generation] stays the same and no call was open, what was returned before still holds
// and only the rest is new. The caller must not change it, and it is valid until the next Apply.
func (t *Transcript) Context(skip int) []Entry {
	return t.context[min(max(skip, 0), len(t.context)):]
}

// Generation changes whenever entries change that Context has returned before.
func (t *Transcript) Generation() int { return t.generation }

// compact puts a plan into effect. One that does not fit the conversation is no plan of it, and changes nothing.
func (t *Transcript) compact(f Fact, e CompactionFinished) {
	cut, ok := t.cut(e.Plan)
	if !ok || e.Plan.empty() {
		return
	}
	t.part()
	current := message(t.context, e.Run)
	kept := make([]Entry, 0, len(t.context)-cut+2)
	if e.Plan.Items > 0 {
		kept = append(kept, Entry{Kind: EntrySummary, Number: f.Number, Time: f.Time, Run: e.Run, Text: e.Summary})
		if current >= 0 && current < cut {
			kept = append(kept, t.context[current])
		}
	}
	for i := cut; i < len(t.context); i++ {
		entry := t.context[i]
		if i != current {
			if entry.Content != nil && !slices.Contains(e.Plan.Files, entry.Number) {
				entry.Text, entry.Content = entry.Described(), nil
			}
			entry = entry.shortened(e.Plan.ItemBytes)
		}
		kept = append(kept, entry)
	}
	t.context = kept
	t.generation++
	t.bytes = memory(t.context) + memory(t.whole)
}

// cut is where a plan parts the context. No plan parts an atom, or reaches behind a call without a result.
func (t *Transcript) cut(p Plan) (int, bool) {
	if p.Items <= 0 {
		return 0, true
	}
	for _, a := range atoms(t.context) {
		switch {
		case t.context[a.from].Kind == EntrySummary:
		case p.Keep != 0 && t.context[a.from].Number == p.Keep:
			return a.from, true
		case a.open:
			return 0, false
		}
	}
	return len(t.context), p.Keep == 0
}

// Older returns what a plan summarises: an earlier summary first, then the entries up to those that are kept. The
// message of the run that started last is not among them.
func (t *Transcript) Older(p Plan) []Entry {
	cut, ok := t.cut(p)
	if !ok || cut == 0 {
		return nil
	}
	older := slices.Clone(t.context[:cut])
	if current := message(t.context, t.run); current >= 0 && current < cut {
		older = slices.Delete(older, current, current+1)
	}
	return older
}

// minExcerptBytes is what a text counts at least with in a source: no summarising call is shown less of one.
const minExcerptBytes = 128

// longest is what one text may take of the bytes that a summarising call may be shown.
func longest(bytes int) int { return max(bytes/4, minExcerptBytes) }

// sourceBytes is the size of entries whose texts are shortened to limit.
func sourceBytes(entries []Entry, limit int) (n int) {
	for i := range entries {
		n += entryOverhead + min(len(entries[i].Text), limit) + min(len(entries[i].Arguments), limit)
		if c := entries[i].Content; c != nil {
			n += min(len(described(c)), limit)
		}
	}
	return n
}

// message is the index of a run's message, -1 if there is none.
func message(entries []Entry, run string) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Kind == EntryUser && entries[i].Run == run {
			return i
		}
	}
	return -1
}

// atom is a part of a conversation that is kept or summarised as a whole (CO2): a message with the notices before it,
// or an answer with the results of its calls.
type atom struct {
	from, to int
	open     bool // a result is not there yet
}

func atoms(entries []Entry) []atom {
	var out []atom
	for i := range entries {
		if i == 0 || begins(&entries[i-1], &entries[i]) {
			out = append(out, atom{from: i})
		}
		a := &out[len(out)-1]
		a.to, a.open = i+1, a.open || entries[i].Open
	}
	return out
}

// begins reports whether e begins an atom behind the entry before it.
func begins(before, e *Entry) bool {
	switch e.Kind {
	case EntryResult:
		return false
	case EntryUser, EntryNotice:
		return before.Kind != EntryNotice
	case EntryText, EntryReasoning, EntryCall:
		return before.Number != e.Number || before.Kind == EntryResult
	default:
		return true
	}
}

// shortened is the entry with at most n bytes of text, 0 for no bound. Calls and reasoning stay as they are, since
// providers check them; a summary, which stands for much, may be four times as long. What is shortened loses its
// private data, in which a provider may keep the whole text.
func (e Entry) shortened(n int) Entry {
	if limit := e.bound(n); len(e.Text) > limit {
		e.Text, e.Missing = shorten(e.Text, e.Missing, limit)
		e.Private = nil
	}
	return e
}

// shortenedBytes is the size of the shortened entry.
func (e *Entry) shortenedBytes(n int) int {
	limit := e.bound(n)
	if len(e.Text) <= limit {
		return EntryBytes(*e)
	}
	head, tail, missing := ends(e.Text, e.Missing, limit)
	return entryOverhead + len(head) + gapBytes(missing) + len(tail) + len(e.Arguments)
}

func (e *Entry) bound(n int) int {
	switch {
	case n <= 0 || e.Open:
	case e.Kind == EntrySummary:
		return 4 * n
	case e.Kind == EntryUser, e.Kind == EntryNotice, e.Kind == EntryText, e.Kind == EntryResult:
		return n
	}
	return len(e.Text)
}

// shorten leaves out the middle of a text that is longer than n bytes. missing are the bytes that had been left out
// before, and those that are in what is returned.
func shorten(text string, missing, n int) (string, int) {
	if len(text) <= n {
		return text, missing
	}
	head, tail, missing := ends(text, missing, n)
	return head + gap(missing) + tail, missing
}

// gap stands for what was left out of a text.
func gap(missing int) string { return gapBegin + strconv.Itoa(missing) + gapEnd }

const (
	gapBegin = "\n[… "
	gapEnd   = " bytes are left out here; the whole of it is in the history …]\n"
)

func gapBytes(missing int) int {
	var digits [20]byte
	return len(gapBegin) + len(strconv.AppendInt(digits[:0], int64(missing), 10)) + len(gapEnd)
}

// ends are the beginning and the end of a text that remain when it is to have n bytes with the gap in between.
func ends(text string, missing, n int) (head, tail string, left int) {
	whole := len(text)
	head, tail = text, text
	if missing > 0 {
		head, tail, _ = strings.Cut(text, gap(missing))
		whole = len(head) + len(tail) + missing
	}
	room := max(n-gapBytes(whole), 0)
	i := min(room/2, len(head))
	for i > 0 && i < len(head) && !utf8.RuneStart(head[i]) {
		i--
	}
	j := max(len(tail)-(room-room/2), 0)
	for j < len(tail) && !utf8.RuneStart(tail[j]) {
		j++
	}
	head, tail = head[:i], tail[j:]
	return head, tail, whole - len(head) - len(tail)
}
