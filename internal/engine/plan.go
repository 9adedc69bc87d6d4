package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Window is what a plan has to keep to. All sizes are in bytes, as [EntryBytes] counts them.
type Window struct {
	// Run is the run whose message is the current one. It is neither summarised nor shortened.
	Run string
	// Room is what the context may have, Last what it may have where no plan brings it there: what estimates forbid and
	// the provider may allow. Zero is no more than Room.
	Room, Last int
	// Vain: what was within Last has been tried as it is, and was too much.
	Vain bool
	// Source is what one summarising call may be shown. However little it is, it is shown one atom more.
	Source int
	// Summary is what the summary is expected to have.
	Summary int
	// Target is what the kept entries beside the current message are to have afterwards. Zero means half of Room.
	Target int
	// All: everything older than the newest few answers and messages is summarised, even if it fits.
	All bool
	// Bare: no message but the current one keeps its files.
	Bare bool
}

// Full says why a conversation cannot be made to fit.
type Full struct {
	Item  string // what does not fit, for example "the message of run X"
	Bytes int    // its size
	Room  int    // what there is
}

const (
	// minItemBytes is what entries are not shortened below.
	minItemBytes = 512
	// newest is how many atoms are kept where nothing forces a summary.
	newest = 4
)

// empty: nothing is summarised, shortened or left out.
func (p Plan) empty() bool { return p.Items <= 0 && p.ItemBytes <= 0 && !p.Bare }

// Plan says what is to be summarised or shortened so that the context fits, or why nothing can be done. It changes
// nothing: [CompactionFinished] puts a plan into effect. A plan without Items and ItemBytes: nothing is to be done.
//
// Where one summarising call cannot be shown all that is older, a plan takes the oldest part; the next plan goes on.
// A series of plans ends: each summarises an atom more, or fits.
//
// In this order, a plan summarises what is older than the newest atoms, shortens what is kept, and summarises the
// newest atom too (CO1–CO3). Where none of it leads to Room, all that is older than the newest atom is summarised, and
// what is left is tried as it is; was that in vain, the newest atom is summarised too.
func (t *Transcript) Plan(w Window) (Plan, *Full) {
	l := layoutOf(t.context, w)
	size := l.size(0, 0)
	if size <= w.Room && !w.All {
		return l.rest(size), nil
	}
	p, full := l.plan(size, size > w.Room)
	if full == nil || w.Last <= max(w.Room, 0) {
		return p, full
	}
	l.Room, l.Target = w.Last, 0
	return l.plan(size, size > w.Last || w.Vain)
}

// plan is Plan with Room as it is. much: what is there is too much as it is.
func (l *layout) plan(size int, much bool) (Plan, *Full) {
	if l.pinned > max(l.Room, 0) {
		return Plan{}, l.full(l.current)
	}
	if p, ok := l.summarise(l.newest()); ok {
		return p, nil
	}
	if !much {
		return l.rest(size), nil
	}
	if n, ok := l.itemBytes(0, l.Room); ok && size > l.Room {
		return l.files(Plan{ItemBytes: n, Bytes: l.size(0, n)}, 0), nil
	}
	if p, ok := l.summarise(l.settled()); ok {
		return p, nil
	}
	return Plan{}, l.full(l.largest())
}

// rest is the plan where nothing has to be summarised or shortened: older files may still have to go.
func (l *layout) rest(size int) Plan {
	p := Plan{Bytes: size}
	if l.Bare {
		p.Bare = slices.ContainsFunc(l.entries, func(e Entry) bool {
			return e.Content != nil && (l.current < 0 || e.Number != l.entries[l.current].Number)
		})
	}
	return p
}

// files completes a plan that keeps the entries from an index on by the messages that keep their files.
func (l *layout) files(p Plan, from int) Plan {
	for i := from; i < len(l.entries); i++ {
		if e := &l.entries[i]; i != l.current && e.Content != nil && l.keeps(e, p.ItemBytes) {
			p.Files = append(p.Files, e.Number)
		}
	}
	return p
}

// keeps reports whether a message keeps its files where longer entries are shortened to n.
func (l *layout) keeps(e *Entry, n int) bool {
	return !l.Bare && (n <= 0 || contentBytes(e.Content) <= n)
}

// Note stands for what a plan leaves out where no model summarises it: the earlier summary if there is one, and a word
// of the host that tells how much is not there. A word of that kind which the summary ends with is made one with it.
func (t *Transcript) Note(p Plan) string {
	left, earlier := p.Items, ""
	if older := t.Older(p); len(older) > 0 && older[0].Kind == EntrySummary {
		left, earlier = left-1, older[0].Text
		if i := strings.LastIndex(earlier, noteBegin); i >= 0 && strings.HasSuffix(earlier, noteEnd) {
			n := 0
			_, _ = fmt.Sscan(earlier[i+len(noteBegin):], &n)
			left, earlier = left+n, strings.TrimSpace(earlier[:i])
		}
	}
	return strings.TrimSpace(earlier + "\n\n" + noteBegin + strconv.Itoa(left) + noteEnd)
}

const (
	noteBegin = "[Word of the host: items of the conversation that are left out here, and could not be summarised: "
	noteEnd   = ". The whole of them is in the history; the tool read_history, where you have it, reads it.]"
)

// layout is a context as a plan sees it.
type layout struct {
	Window
	entries []Entry
	summary int // entries that are an earlier summary: 0 or 1
	atoms   []atom
	current int // index of the current message, -1 for none
	pinned  int // its size
}

func layoutOf(entries []Entry, w Window) *layout {
	if w.Target <= 0 {
		w.Target = w.Room / 2
	}
	l := &layout{Window: w, entries: entries, atoms: atoms(entries), current: message(entries, w.Run)}
	if len(entries) > 0 && entries[0].Kind == EntrySummary {
		l.summary, l.atoms = 1, l.atoms[1:]
	}
	if l.current >= 0 {
		l.pinned = EntryBytes(entries[l.current])
	}
	return l
}

// from is the index of the first entry of an atom.
func (l *layout) from(atom int) int {
	if atom < len(l.atoms) {
		return l.atoms[atom].from
	}
	return len(l.entries)
}

// size is that of the entries from an index on, shortened to n, with the current message wherever it stands.
func (l *layout) size(from, n int) int {
	size := 0
	for i := from; i < len(l.entries); i++ {
		if i != l.current {
			size += l.bytes(i, n)
		}
	}
	return size + l.pinned
}

// bytes is the size of an entry that is not the current message, shortened to n.
func (l *layout) bytes(i, n int) int {
	e := &l.entries[i]
	switch {
	case e.Content == nil:
		return e.shortenedBytes(n)
	case l.keeps(e, n):
		return EntryBytes(*e)
	}
	bare := *e
	bare.Text, bare.Content = e.Described(), nil
	return bare.shortenedBytes(n)
}

// settled is the number of atoms before the first that has an open call: no plan goes further.
func (l *layout) settled() int {
	for i, a := range l.atoms {
		if a.open {
			return i
		}
	}
	return len(l.atoms)
}

// newest is the first of the atoms that are to be kept: as many as Target holds, at least one.
func (l *layout) newest() int {
	limit := min(l.Target, l.Room-l.pinned-entryOverhead-l.Summary)
	first := len(l.atoms)
	for size := 0; first > 0 && (!l.All || len(l.atoms)-first < newest); first-- {
		a := l.atoms[first-1]
		for i := a.from; i < a.to; i++ {
			if i != l.current {
				size += l.bytes(i, 0)
			}
		}
		if size > limit && first < len(l.atoms) {
			break
		}
	}
	return min(first, l.settled())
}

// summarise plans a summary of the atoms before keep, or of the oldest of them; not ok if there is none.
func (l *layout) summarise(keep int) (Plan, bool) {
	upto, items := 0, 0
	limit := longest(l.Source)
	source := sourceBytes(l.entries[:l.summary], limit)
	for upto < keep {
		a := l.atoms[upto]
		n, size := a.to-a.from, sourceBytes(l.entries[a.from:a.to], limit)
		if a.from <= l.current && l.current < a.to {
			n, size = n-1, size-sourceBytes(l.entries[l.current:l.current+1], limit)
		}
		if items > 0 && source+size > l.Source {
			break
		}
		upto, items, source = upto+1, items+n, source+size
	}
	if items == 0 {
		return Plan{}, false
	}
	from := l.from(upto)
	p := Plan{Items: l.summary + items, Bytes: l.size(from, 0)}
	if from < len(l.entries) {
		p.Keep = l.entries[from].Number
	}
	room := l.Room - entryOverhead - l.Summary
	if upto < keep || p.Bytes <= room || l.size(0, 0) <= l.Room {
		return l.files(p, from), true
	}
	if n, ok := l.itemBytes(from, room); ok {
		p.ItemBytes, p.Bytes = n, l.size(from, n)
		return l.files(p, from), true
	}
	if all := l.settled(); keep < all {
		return l.summarise(all)
	}
	return l.files(p, from), true
}

// itemBytes is the largest bound of entries from an index on under which they have what is wanted of them, or at
// least fit room; not ok if they cannot.
func (l *layout) itemBytes(from, room int) (int, bool) {
	least := l.size(from, minItemBytes)
	if least > room {
		return 0, false
	}
	want := max(min(room, l.pinned+l.Target), least)
	low, high := minItemBytes, minItemBytes+1
	for i := from; i < len(l.entries); i++ {
		high = max(high, len(l.entries[i].Text), contentBytes(l.entries[i].Content))
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; l.size(from, middle) <= want {
			low = middle
		} else {
			high = middle
		}
	}
	return low, true
}

// largest is the index of the largest entry, -1 if there is none.
func (l *layout) largest() int {
	largest, size := -1, -1
	for i := range l.entries {
		if n := EntryBytes(l.entries[i]); n > size {
			largest, size = i, n
		}
	}
	return largest
}

func (l *layout) full(i int) *Full {
	if i < 0 {
		return &Full{Item: "the conversation", Room: l.Room}
	}
	e := l.entries[i]
	f := &Full{Bytes: EntryBytes(e), Room: l.Room}
	switch e.Kind {
	case EntryUser:
		f.Item = "the message of run " + e.Run
		if e.Content != nil {
			f.Item += largestFile(e.Content)
		}
	case EntryNotice:
		f.Item = "the notice about call " + e.CallID
	case EntryCall:
		f.Item = "call " + e.CallID
	case EntryResult:
		f.Item = "the result of call " + e.CallID
	case EntrySummary:
		f.Item = "the summary of older history"
	default:
		f.Item = "an answer of run " + e.Run
	}
	return f
}
