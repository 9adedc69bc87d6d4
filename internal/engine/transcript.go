package engine

import (
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
)

// EntryKind is the kind of a conversation entry.
type EntryKind string

const (
	EntryUser      EntryKind = "user"
	EntryText      EntryKind = "assistant"
	EntryReasoning EntryKind = "reasoning"
	EntryCall      EntryKind = "tool_call"
	EntryResult    EntryKind = "tool_result"
	EntryNotice    EntryKind = "notice" // a word of the host to the model
)

// Entry is one item of the conversation.
type Entry struct {
	Kind      EntryKind
	Number    uint64 // of the event that holds it
	Time      time.Time
	Run       string
	Text      string // of text kinds; the output of a result
	CallID    string
	Name      string // the model's name of the tool
	Arguments string
	Code      api.Code // of a result that is not a success, or of a call that was refused
	Private   []byte
	// Open is set on a result that is not there yet.
	Open bool
}

// Transcript folds the bodies of a session into its conversation: the order in which the model sees it.
// A queued message stands where its turn starts, a result right behind its answer's calls in call order,
// whatever order the events came in.
type Transcript struct {
	head     uint64
	entries  []Entry
	open     map[string]int // call → index of its result
	queued   map[string]Entry
	addenda  map[string]string // of queued turns
	notices  []Entry
	addendum string
	bytes    int
}

// NewTranscript returns an empty conversation.
func NewTranscript() *Transcript {
	return &Transcript{open: map[string]int{}, queued: map[string]Entry{}, addenda: map[string]string{}}
}

// Grow makes room for the conversation of n more facts.
func (t *Transcript) Grow(n int) { t.entries = slices.Grow(t.entries, n) }

// Entries returns the conversation. The caller must not change it, and it is valid until the next Apply.
func (t *Transcript) Entries() []Entry { return t.entries }

// Head is the number of the newest fact that was applied.
func (t *Transcript) Head() uint64 { return t.head }

// Addendum is the instruction addendum of the run that started last (GU1).
func (t *Transcript) Addendum() string { return t.addendum }

// Bytes estimates the memory that the conversation holds.
func (t *Transcript) Bytes() int { return t.bytes }

// Call finds a tool call that has no result yet.
func (t *Transcript) Call(id string) (Entry, bool) {
	i, ok := t.open[id]
	if !ok {
		return Entry{}, false
	}
	for i--; i >= 0; i-- {
		if e := t.entries[i]; e.Kind == EntryCall && e.CallID == id {
			return e, true
		}
	}
	return Entry{}, false
}

// Apply folds a fact. Facts come in order; those without a body need not come at all.
func (t *Transcript) Apply(f Fact) {
	if f.Number <= t.head {
		return
	}
	t.head = f.Number
	switch e := f.Event.(type) {
	case TurnAccepted:
		entry := Entry{Kind: EntryUser, Number: f.Number, Time: f.Time, Run: e.Run, Text: e.Text}
		if e.Queued {
			t.queued[e.Run], t.addenda[e.Run] = entry, e.Addendum
			return
		}
		t.start(entry, e.Addendum)
	case TurnStarted:
		entry := t.queued[e.Run]
		addendum := t.addenda[e.Run]
		delete(t.queued, e.Run)
		delete(t.addenda, e.Run)
		t.start(entry, addendum)
	case TurnEnded: // of one that never began
		delete(t.queued, e.Run)
		delete(t.addenda, e.Run)
	case ModelFinished:
		var calls []Item
		for _, it := range e.Items {
			entry := Entry{Number: f.Number, Time: f.Time, Run: e.Run, Text: it.Text, Private: it.Private}
			switch it.Kind {
			case ItemText:
				entry.Kind = EntryText
			case ItemReasoning:
				entry.Kind = EntryReasoning
			case ItemCall:
				entry.Kind, entry.CallID, entry.Name, entry.Arguments = EntryCall, it.CallID, it.Name, it.Arguments
				calls = append(calls, it)
			}
			t.add(entry)
		}
		for _, c := range calls {
			result := Entry{Kind: EntryResult, Number: f.Number, Time: f.Time, Run: e.Run, CallID: c.CallID, Name: c.Name}
			if c.Code != "" { // refused: the verdict is the result
				result.Text, result.Code = c.Message, c.Code
			} else {
				result.Open = true
				t.open[c.CallID] = len(t.entries)
			}
			t.add(result)
		}
	case ToolFinished:
		i, ok := t.open[e.CallID]
		if !ok {
			return
		}
		delete(t.open, e.CallID)
		r := &t.entries[i]
		r.Number, r.Time, r.Text, r.Code, r.Open = f.Number, f.Time, e.Output, e.Code, false
		t.bytes += len(e.Output)
	case ToolLate:
		word := "succeeded"
		if e.Code != "" {
			word = "failed"
		}
		t.notices = append(t.notices, Entry{Kind: EntryNotice, Number: f.Number, Time: f.Time, Run: e.Run, CallID: e.CallID, Code: e.Code,
			Text: "Notice from the host: the action of call " + e.CallID + ", whose outcome was unknown, has " + word + " in the meantime. Its output: " + e.Output})
	}
}

func (t *Transcript) start(message Entry, addendum string) {
	for _, n := range t.notices {
		t.add(n)
	}
	t.notices = nil
	t.addendum = addendum
	t.add(message)
}

func (t *Transcript) add(e Entry) {
	t.entries = append(t.entries, e)
	t.bytes += 160 + len(e.Text) + len(e.Arguments) + len(e.Private)
}
