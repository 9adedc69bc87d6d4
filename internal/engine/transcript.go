package engine

import (
	"cmp"
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
	EntryNotice    EntryKind = "notice"  // a word of the host to the model
	EntrySummary   EntryKind = "summary" // of older entries, in a model's context only
)

// Entry is one item of the conversation.
type Entry struct {
	Kind   EntryKind
	Number uint64 // of the event that holds it
	Time   time.Time
	Run    string
	Text   string // of text kinds; the output of a result
	// Content are the blocks of a message that has them, instead of Text.
	Content []Block
	CallID  string
	Given   string // what an imported call was given with, instead of CallID
	Name    string // the model's name of the tool
	// Arguments of a call are the model's. A result has those that a person changed them to: here in the complete
	// conversation, in a line before its text in the model's context.
	Arguments string
	Code      api.Code // of a result that is not a success, or of a call that was refused
	Private   []byte
	// Open is set on a result that is not there yet.
	Open bool
	// Missing counts the bytes that were left out of the middle of Text, in a model's context only.
	Missing int
}

// Said is what the entry says in words, Described that and a line for each file.
func (e *Entry) Said() string { return cmp.Or(e.Text, said(e.Content)) }

func (e *Entry) Described() string { return cmp.Or(e.Text, described(e.Content)) }

// Guidance is what a turn brings for the calls to models that belong to it (GU1, GU2): an instruction addendum, and
// additional words for the reviewer and for summaries, nil where the session's or the agent's hold.
type Guidance struct {
	Addendum             string
	Reviewer, Compaction *string
}

// Transcript folds the bodies of a session into its conversation: the order in which the model sees it.
// A queued message stands where its turn starts, a result right behind its answer's calls in call order,
// whatever order the events came in. It gives two views: [Transcript.Entries] is the complete conversation,
// [Transcript.Context] what is left of it for a model once older history has been summarised.
type Transcript struct {
	head       uint64
	forgets    bool
	context    []Entry
	parted     bool    // the complete conversation is another one than the context
	whole      []Entry // the complete conversation, once parted
	open       map[string]Entry
	queued     map[string]opening
	notices    []Entry
	run        string
	guidance   Guidance
	generation int
	bytes      int
}

// opening is what begins a turn.
type opening struct {
	message  Entry
	silent   bool // there is no message
	guidance Guidance
}

// NewTranscript returns an empty conversation, which keeps all that it is given.
func NewTranscript() *Transcript {
	return &Transcript{open: map[string]Entry{}, queued: map[string]opening{}}
}

// NewContext returns an empty conversation that forgets what is not in the model's context any more: its Entries are
// those of Context.
func NewContext() *Transcript {
	t := NewTranscript()
	t.forgets = true
	return t
}

// Grow makes room for the conversation of n more facts.
func (t *Transcript) Grow(n int) { t.context = slices.Grow(t.context, n) }

// Entries returns the complete conversation. The caller must not change it, and it is valid until the next Apply.
func (t *Transcript) Entries() []Entry {
	if t.parted {
		return t.whole
	}
	return t.context
}

// Head is the number of the newest fact that was applied.
func (t *Transcript) Head() uint64 { return t.head }

// Guidance is that of the run that started last.
func (t *Transcript) Guidance() Guidance { return t.guidance }

// Bytes estimates the memory that the conversation holds.
func (t *Transcript) Bytes() int { return t.bytes }

// Call finds a tool call that has no result yet, with the arguments that it runs with.
func (t *Transcript) Call(id string) (Entry, bool) {
	c, ok := t.open[id]
	return c, ok
}

// Apply folds a fact. Facts come in order; those without a body need not come at all.
func (t *Transcript) Apply(f Fact) {
	if f.Number <= t.head {
		return
	}
	t.head = f.Number
	switch e := f.Event.(type) {
	case HistoryImported:
		for _, entry := range e.entries(f) {
			t.add(entry)
		}
	case TurnAccepted:
		o := opening{
			message:  Entry{Kind: EntryUser, Number: f.Number, Time: f.Time, Run: e.Run, Text: e.Text, Content: e.Content},
			silent:   e.Compact,
			guidance: Guidance{Addendum: e.Addendum, Reviewer: e.AutoApproverContext, Compaction: e.Compaction},
		}
		if e.Queued {
			t.queued[e.Run] = o
			return
		}
		t.start(o)
	case TurnStarted:
		if o, ok := t.queued[e.Run]; ok {
			delete(t.queued, e.Run)
			t.start(o)
		}
	case TurnEnded: // of one that never began
		delete(t.queued, e.Run)
	case ModelFinished:
		t.answer(f, e)
	case InteractionResolved:
		if e.Arguments != "" {
			t.change(e.CallID, e.Arguments)
		}
	case ToolFinished:
		if _, ok := t.open[e.CallID]; !ok {
			return
		}
		delete(t.open, e.CallID)
		t.results(e.CallID, func(r *Entry) {
			r.Number, r.Time, r.Code, r.Open = f.Number, f.Time, e.Code, false
			r.Text += e.Output
			t.bytes += len(e.Output)
		})
	case ToolLate:
		t.notices = append(t.notices, Entry{Kind: EntryNotice, Number: f.Number, Time: f.Time, Run: e.Run, CallID: e.CallID, Code: e.Code, Text: e.notice()})
	case CompactionFinished:
		t.compact(f, e)
	}
}

// notice tells the model of an outcome that came late.
func (e ToolLate) notice() string {
	word := "succeeded"
	if e.Code != "" {
		word = "failed"
	}
	return "Notice from the host: the action of call " + e.CallID + ", whose outcome was unknown, has " + word + " in the meantime. Its output: " + e.Output
}

// What the host adds to a conversation is bounded, so that no guardrail finds it too large to look at.
const (
	maxNoticeBytes  = api.MaxGuardedBytes - 8_000
	maxChangedBytes = 8_000
)

func (t *Transcript) start(o opening) {
	for _, n := range t.notices {
		shown := n
		if shown.Text, shown.Missing = shorten(n.Text, 0, maxNoticeBytes); shown.Missing > 0 {
			t.part()
		}
		t.addAs(shown, n)
	}
	t.notices = nil
	t.run, t.guidance = o.message.Run, o.guidance
	if !o.silent {
		t.add(o.message)
	}
}

// answer adds an answer and a place for the result of each of its calls.
func (t *Transcript) answer(f Fact, e ModelFinished) {
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
			if it.Code == "" {
				t.open[it.CallID] = entry
			}
		}
		t.add(entry)
	}
	for _, c := range calls {
		result := Entry{Kind: EntryResult, Number: f.Number, Time: f.Time, Run: e.Run, CallID: c.CallID, Name: c.Name}
		if c.Code != "" { // refused: the verdict is the result
			result.Text, result.Code = c.Message, c.Code
		} else {
			result.Open = true
		}
		t.add(result)
	}
}

// change lets an open call run with other arguments. The call stays as the model made it, so the result says so.
func (t *Transcript) change(id, arguments string) {
	c, ok := t.open[id]
	if !ok {
		return
	}
	c.Arguments = arguments
	t.open[id] = c
	t.part()
	if r := result(t.context, id); r != nil {
		line := changed(arguments)
		r.Text += line
		t.bytes += len(line)
	}
	if r := result(t.whole, id); r != nil {
		r.Arguments = arguments
	}
}

// changed is the line before a result that tells the model what the call ran with.
func changed(arguments string) string {
	if arguments == "" {
		return ""
	}
	arguments, _ = shorten(arguments, 0, maxChangedBytes)
	return "[A person changed the arguments of this call to: " + arguments + "]\n"
}

// part gives the complete conversation entries of its own, before the context becomes another one.
func (t *Transcript) part() {
	if t.forgets || t.parted {
		return
	}
	t.parted, t.whole = true, slices.Clone(t.context)
	t.bytes += memory(t.whole)
}

func (t *Transcript) add(e Entry) { t.addAs(e, e) }

// addAs adds an entry that a model sees otherwise than it is.
func (t *Transcript) addAs(shown, whole Entry) {
	t.context = append(t.context, shown)
	t.bytes += shown.memory()
	if t.parted {
		t.whole = append(t.whole, whole)
		t.bytes += whole.memory()
	}
}

// results visits the place of an open call's result in each view.
func (t *Transcript) results(id string, visit func(*Entry)) {
	for _, entries := range [][]Entry{t.context, t.whole} {
		if r := result(entries, id); r != nil {
			visit(r)
		}
	}
}

// result finds the newest result of a call that is not there yet.
func result(entries []Entry, id string) *Entry {
	for i := len(entries) - 1; i >= 0; i-- {
		if r := &entries[i]; r.Open && r.CallID == id {
			return r
		}
	}
	return nil
}

// entryMemory is what an entry takes without its texts.
const entryMemory = 248

// blockMemory is what a block takes, a file's names included.
const blockMemory = 256

func memory(entries []Entry) (n int) {
	for i := range entries {
		n += entries[i].memory()
	}
	return n
}

func (e *Entry) memory() int {
	n := entryMemory + len(e.Text) + len(e.Arguments) + len(e.Private)
	for i := range e.Content {
		n += blockMemory + len(e.Content[i].Text)
	}
	return n
}
