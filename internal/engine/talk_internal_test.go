package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
)

// talk writes a journal as a session does, in an arbitrary order of what may happen, and follows it with all that
// tells what a model sees. It checks after each event what must hold of any.
type talk struct {
	*rapid.T
	facts   []Fact
	whole   *Transcript
	live    *Transcript
	size    Context
	notices int
	queue   []Fact // of messages
	run     string
	began   uint64   // the number of its message
	waiting []string // open calls
	unknown []string // calls that a late outcome may come for
	calls   int
	before  []Entry // the context when no call was open last, and its generation
	since   int
}

func newTalk(t *rapid.T) *talk {
	k := &talk{T: t, whole: NewTranscript(), live: NewContext()}
	if k.number("imported", 2) == 0 {
		k.imports()
	}
	return k
}

// number draws one that is not mostly small.
func (k *talk) number(label string, most int) int {
	return int(rapid.Uint64Range(0, 1<<40).Draw(k.T, label) % uint64(most+1))
}

func (k *talk) one(label string, of ...string) string { return of[k.number(label, len(of)-1)] }

func (k *talk) text(label string) string {
	n := []int{0, 1, 20, 300, 600, 900, 3000, 9000}[k.number(label, 7)]
	return strings.Repeat(k.one("letters", "a", "é", "漢", "🙂", "a🙂"), n/2) + strings.Repeat("z", n-n/2)
}

func (k *talk) put(e Event) {
	stored, err := Encode(e)
	if err != nil {
		k.Fatal(err)
	}
	if e, err = Decode(stored.Kind, stored.Version, stored.Data); err != nil {
		k.Fatal(err)
	}
	f := Fact{Number: uint64(len(k.facts)) + 1, Time: time.Unix(int64(len(k.facts)), 0).UTC(), Event: e}
	k.facts = append(k.facts, f)
	k.whole.Apply(f)
	k.live.Apply(f)
	switch e := e.(type) { // as the fold of a state does
	case TurnAccepted:
		if e.Queued {
			k.queue = append(k.queue, f)
		} else {
			k.begun(f)
		}
	case TurnStarted:
		k.begun(k.queue[0])
		k.queue = k.queue[1:]
	case ToolLate:
		k.notices += contextBytes(e)
	case CompactionFinished:
		k.size.compacted(e.Plan, k.began, len(e.Summary))
	default:
		k.size.add(contextBytes(e))
	}
	k.check()
}

func (k *talk) begun(f Fact) {
	e := f.Event.(TurnAccepted)
	k.size.add(contextBytes(e) + k.notices)
	k.size.Files = append(k.size.Files, heldFiles(f.Number, e.Content)...)
	k.notices, k.run, k.began = 0, e.Run, f.Number
}

func (k *talk) check() {
	context := k.live.Context(0)
	if diff := differ(k.whole.Context(0), context); diff != "" {
		k.Fatalf("the contexts of one that keeps all and of one that forgets (-keeps +forgets):\n%s", diff)
	}
	if err := wellFormed(context, len(k.waiting) > 0); err != nil {
		k.Fatalf("%v in\n%s", err, outline(context))
	}
	if got := sum(context); got != k.size.Bytes {
		k.Fatalf("after %s the context has %d bytes, the running figure says %d", k.facts[len(k.facts)-1].Event.Kind(), got, k.size.Bytes)
	}
	if diff := differ(filesOf(context), k.size.Files); diff != "" {
		k.Fatalf("the files of the context and those of the running figure (-context +figure):\n%s", diff)
	}
	if k.since == k.live.Generation() {
		if diff := differ(k.before, context[:min(len(k.before), len(context))]); diff != "" {
			k.Fatalf("entries that were given before have changed in the same generation:\n%s", diff)
		}
	}
	if len(k.waiting) == 0 {
		k.before, k.since = append([]Entry(nil), context...), k.live.Generation()
	}
}

// differ is cmp.Diff, which is slow on what is equal.
func differ(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

func sum(entries []Entry) (n int) {
	for _, e := range entries {
		n += EntryBytes(e)
	}
	return n
}

// message begins a turn: one that was queued, a new one, or one without a message.
func (k *talk) message() {
	if len(k.queue) > 0 {
		k.put(TurnStarted{Run: k.queue[0].Event.run()})
		return
	}
	k.put(k.accepted(false))
}

func (k *talk) accepted(queued bool) TurnAccepted {
	e := TurnAccepted{Run: fmt.Sprintf("r%d", len(k.facts)), Queued: queued, Compact: k.number("without a message", 7) == 0, Addendum: k.one("addendum", "", "be brief")}
	switch {
	case e.Compact:
	case k.number("files", 2) == 0:
		e.Content = k.content()
	default:
		e.Text = k.text("message")
	}
	return e
}

func (k *talk) answer(calls bool) {
	e := ModelFinished{Run: k.run}
	for range k.number("items", 4) + 1 {
		it := Item{Kind: k.one("item", ItemText, ItemReasoning, ItemCall, ItemCall), Text: k.text("text")}
		if it.Kind == ItemCall && calls {
			k.calls++
			it.CallID, it.Name, it.Text = fmt.Sprintf("c%d", k.calls), "do", ""
			it.Arguments = fmt.Sprintf("{%q:%q}", "a", k.text("arguments"))
			if k.number("refused", 3) == 0 {
				it.Code, it.Message = api.CodeDenied, "no"
			} else {
				k.waiting = append(k.waiting, it.CallID)
			}
		} else if it.Kind == ItemCall {
			it.Kind = ItemText
		}
		if k.number("private", 3) == 0 {
			it.Private = []byte(k.text("of the provider"))
		}
		e.Items = append(e.Items, it)
	}
	k.put(e)
}

// results gives every open call its result; other things happen in between.
func (k *talk) results() {
	for len(k.waiting) > 0 {
		i := k.number("call", len(k.waiting)-1)
		id := k.waiting[i]
		switch k.one("in between", "", "", "", "change", "queue", "late", "cancel a queued one") {
		case "change":
			k.put(InteractionResolved{Run: k.run, Decision: api.AllowOnce, CallID: id, Arguments: fmt.Sprintf("{%q:%d}", "b", k.calls)})
		case "queue":
			k.put(k.accepted(true))
		case "late":
			k.late()
		case "cancel a queued one":
			if n := len(k.queue); n > 0 {
				run := k.queue[n-1].Event.run()
				k.queue = k.queue[:n-1]
				k.put(TurnEnded{Run: run, Status: api.StatusCancelled})
			}
		default:
			k.waiting = append(k.waiting[:i:i], k.waiting[i+1:]...)
			e := ToolFinished{Run: k.run, CallID: id, Output: k.text("output")}
			if k.number("unknown", 3) == 0 {
				e.Code = api.CodeOutcomeUnknown
				k.unknown = append(k.unknown, id)
			}
			k.put(e)
		}
	}
}

func (k *talk) late() {
	if len(k.unknown) > 0 {
		k.put(ToolLate{Run: k.run, CallID: k.unknown[0], Output: k.text("late output")})
		k.unknown = k.unknown[1:]
	}
}

// anyPlan cuts anywhere, and nowhere, with what it comes to filled in.
func (k *talk) anyPlan() CompactionFinished {
	e := CompactionFinished{Run: k.run, Summary: k.text("summary")}
	e.Plan.ItemBytes = []int{0, 0, 512, 700, 3000}[k.number("item bytes", 4)]
	kept := k.live.Context(0)
	if len(kept) > 0 && k.number("only shortened", 3) > 0 {
		e.Plan.Items = 1
		if kept = kept[k.number("cut", len(kept)):]; len(kept) > 0 {
			e.Plan.Keep = kept[0].Number
		}
	}
	k.anyFiles(&e.Plan, kept)
	again := k.refold(func(Fact) bool { return true })
	again.Apply(Fact{Number: again.Head() + 1, Event: e})
	e.Plan.Bytes = sum(again.Context(0))
	if again.Generation() == k.live.Generation() && e.Plan.Items > 0 { // no plan of this conversation
		e.Plan = Plan{Bytes: e.Plan.Bytes}
	}
	if e.Plan.Items > 0 {
		e.Plan.Bytes -= EntryBytes(Entry{Text: e.Summary})
	}
	return e
}

func (k *talk) refold(which func(Fact) bool) *Transcript {
	t := NewTranscript()
	for _, f := range k.facts {
		if which(f) {
			t.Apply(f)
		}
	}
	return t
}

// turn plays a turn. compact is what happens before each model call.
func (k *talk) turn(compact func()) {
	k.message()
	if k.whole.run != k.run || len(k.live.Guidance().Addendum) > 8 {
		k.Fatalf("the run is %s, its guidance %+v", k.whole.run, k.live.Guidance())
	}
	compact()
	if message(k.live.Context(0), k.run) < 0 { // it only summarises
		k.put(TurnEnded{Run: k.run})
		return
	}
	for range k.number("calls", 3) {
		k.answer(true)
		k.results()
		compact()
	}
	k.answer(false)
	if k.number("late", 1) == 0 {
		k.late()
	}
	k.put(TurnEnded{Run: k.run})
}

// wellFormed is what every context must be: a person's or the host's word comes first, a summary only there; what
// belongs to one answer stands together, and each of its calls has its result behind it, in call order.
func wellFormed(entries []Entry, open bool) error {
	var due []string
	var answer uint64
	seen := map[string]bool{}
	for i, e := range entries {
		switch e.Kind {
		case EntryUser, EntryNotice, EntrySummary:
			if len(due) > 0 {
				return fmt.Errorf("entry %d (%s) comes before the results of %v", i, e.Kind, due)
			}
			if e.Kind == EntrySummary && i > 0 {
				return fmt.Errorf("entry %d is a summary and not the first", i)
			}
			answer = 0
		case EntryText, EntryReasoning, EntryCall:
			if i == 0 {
				return fmt.Errorf("the first entry is an answer's")
			}
			if answer != e.Number && len(due) > 0 || answer == e.Number && entries[i-1].Kind == EntryResult {
				return fmt.Errorf("entry %d (%s) does not belong to the answer before it, which waits for %v", i, e.Kind, due)
			}
			answer = e.Number
			if e.Kind == EntryCall {
				if seen[e.CallID] {
					return fmt.Errorf("entry %d: call %s is there twice", i, e.CallID)
				}
				seen[e.CallID] = true
				due = append(due, e.CallID)
			}
		case EntryResult:
			if len(due) == 0 || due[0] != e.CallID {
				return fmt.Errorf("entry %d is the result of %s where %v are due", i, e.CallID, due)
			}
			if e.Open && !open {
				return fmt.Errorf("entry %d: call %s has no result", i, e.CallID)
			}
			due = due[1:]
		default:
			return fmt.Errorf("entry %d is of kind %q", i, e.Kind)
		}
		if e.Missing > 0 != strings.Contains(e.Text, gap(e.Missing)) || strings.Contains(e.Text, "\uFFFD") {
			return fmt.Errorf("entry %d lacks %d bytes and reads %.300q", i, e.Missing, e.Text)
		}
	}
	if len(due) > 0 {
		return fmt.Errorf("%v have no place for their results", due)
	}
	return nil
}

func outline(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d %s %s %s %d bytes\n", e.Number, e.Kind, e.Run, e.CallID, EntryBytes(e))
	}
	return b.String()
}

func TestWhereverAContextIsCutItStaysWhole(t *testing.T) { // C01 C06 C44
	t.Parallel()
	cuts := 0
	rapid.Check(t, func(t *rapid.T) {
		k := newTalk(t)
		for range k.number("turns", 4) + 1 {
			k.turn(func() {
				if k.number("compact", 1) == 0 {
					e := k.anyPlan()
					k.put(e)
					before := k.live.Context(0)
					again := e // what is in effect can be put into effect again
					again.Plan.ItemBytes = 0
					if e.Plan.Items > 0 {
						cuts++
						k.put(again)
						numbered := before[0].Number
						before = append([]Entry(nil), before...)
						before[0].Number, before[0].Time = k.live.Context(0)[0].Number, k.live.Context(0)[0].Time
						if diff := differ(before, k.live.Context(0)); diff != "" || numbered == before[0].Number {
							k.Fatalf("the plan in effect once and twice (-once +twice):\n%s", diff)
						}
					}
				}
			})
		}
		context := k.live.Context(0)
		for skip := range len(context) + 2 {
			if diff := differ(context[min(skip, len(context)):], k.live.Context(skip)); diff != "" {
				k.Fatalf("behind the first %d (-want +got):\n%s", skip, diff)
			}
		}
		items := k.refold(func(f Fact) bool { stored, err := Encode(f.Event); return err == nil && stored.Item })
		if diff := differ(context, items.Context(0)); diff != "" {
			k.Fatalf("the context of all facts and of the items (-all +items):\n%s", diff)
		}
		if diff := differ(k.whole.Entries(), items.Entries()); diff != "" {
			k.Fatalf("the conversation of all facts and of the items (-all +items):\n%s", diff)
		}
		never := k.refold(func(f Fact) bool { _, compaction := f.Event.(CompactionFinished); return !compaction })
		if diff := differ(never.Entries(), k.whole.Entries()); diff != "" {
			k.Fatalf("the conversation without compactions and with them (-without +with):\n%s", diff)
		}
		if diff := differ(k.live.Context(0), k.live.Entries()); diff != "" {
			k.Fatalf("what forgets still has:\n%s", diff)
		}
	})
	if cuts < 20 {
		t.Errorf("%d cuts in all", cuts)
	}
}

// planned compacts as an owner does, until the context fits or nothing can be done.
func (k *talk) planned(w Window) *Full {
	w.Run = k.run
	most := len(k.live.Context(0)) + 4
	for range most {
		current := message(k.live.Context(0), k.run)
		var said Entry
		if current >= 0 {
			said = k.live.Context(0)[current]
		}
		generation, size := k.live.Generation(), k.size.Bytes
		p, full := k.live.Plan(w)
		if same, _ := k.whole.Plan(w); !reflect.DeepEqual(same, p) {
			k.Fatalf("one conversation, two plans: %+v and %+v", p, same)
		}
		if generation != k.live.Generation() {
			k.Fatal("planning changed the conversation")
		}
		older := k.live.Older(p)
		switch {
		case full != nil:
			if size <= w.Room || full.Item == "" || full.Bytes <= 0 {
				k.Fatalf("%d bytes in a room of %d: %+v", size, w.Room, full)
			}
			for i, e := range k.live.Context(0) {
				if full.Bytes <= w.Room && i != current && e.Kind != EntrySummary {
					k.Fatalf("%+v, but this could be summarised:\n%s", full, outline(k.live.Context(0)[i:]))
				}
			}
			return full
		case p.empty():
			if size > w.Room || p.Bytes != size {
				k.Fatalf("nothing is to be done about %d bytes in a room of %d: %+v", size, w.Room, p)
			}
			k.inEffect(Plan{Files: slices.DeleteFunc(contentOf(k.live.Context(0)), func(n uint64) bool { return n == k.began })}, w, k.live.Context(0))
			return nil
		case p.Items != len(older) || p.ItemBytes != 0 && p.ItemBytes < minItemBytes:
			k.Fatalf("%+v with %d older entries", p, len(older))
		}
		if err := wellFormed(older, false); err != nil && (len(older) == 0 || older[0].Kind == EntryUser || older[0].Kind == EntrySummary) {
			k.Fatalf("what is summarised is not whole: %v", err)
		}
		summary := ""
		if p.Items > 0 {
			summary = strings.Repeat("s", k.number("summary", 2*w.Summary))
		}
		before := slices.Clone(k.live.Context(0))
		k.put(CompactionFinished{Run: k.run, Plan: p, Summary: summary})
		k.inEffect(p, w, before)
		if current >= 0 {
			if diff := differ(said, k.live.Context(0)[message(k.live.Context(0), k.run)]); diff != "" {
				k.Fatalf("the current message (-before +after):\n%s", diff)
			}
		}
		if p.Items == 0 && k.size.Bytes > w.Room {
			k.Fatalf("shortening left %d bytes in a room of %d", k.size.Bytes, w.Room)
		}
	}
	k.Fatalf("after %d plans the context still has %d bytes of %d:\n%s", most, k.size.Bytes, w.Room, outline(k.live.Context(0)))
	return nil
}

func TestPlansEndWithAContextThatFitsOrWithWhatDoesNot(t *testing.T) { // C45
	t.Parallel()
	fitted, full := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		k := newTalk(t)
		w := Window{Room: k.number("room", 20_000) + 300, Summary: k.number("summary", 2000)}
		w.Source, w.Target = k.number("source", 20_000)+1, k.number("target", w.Room)
		for range k.number("turns", 5) + 1 {
			k.turn(func() {
				w.All, w.Bare = k.number("all", 7) == 0, k.number("bare", 3) == 0
				if k.planned(w) == nil {
					fitted++
				} else {
					full++
				}
			})
		}
	})
	if fitted < 50 || full < 5 {
		t.Errorf("%d fitted, %d did not", fitted, full)
	}
}
