package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// session is the truth about one session: its journal, folded as it grows, with what must hold of it.
type session struct {
	w       *world
	id      string
	state   *engine.State
	row     store.Session
	facts   []engine.Fact
	deleted bool

	transcript  *engine.Transcript
	texts       map[string]engine.TurnAccepted
	submissions map[string]engine.Fact
	cancelled   map[string]bool
	ended       map[string]bool
	intents     map[string]bool   // tool attempts that were begun
	requests    map[string]uint64 // begun model attempts → digest of the conversation at that point
	answered    map[string]bool   // model calls whose answer is recorded, with their conversation
	plans       map[string]engine.Plan
	givenUp     map[string]bool // runs: a summary is not to come
	resolved    map[string]engine.InteractionResolved
	asked       []string                       // interactions
	about       map[string]string              // interaction → call
	kinds       map[string]api.InteractionKind // of interactions
	calls       map[string]*call
	grants      map[string]bool // tools
	approved    map[string]int  // by run: calls that policy approved
	spent       map[string]api.Usage
	aside       map[string]api.Usage // of it for reviews and summaries
	runs        []string
	usage       map[string]store.UsageDelta

	imported []api.HistoryImport // what it began with
	fileIDs  []string            // that files of it have, or had
	files    map[string]store.File
	refers   map[string]*engine.File // those that accepted messages refer to

	follower *follower
}

// maxAttempts is more than any call should need: beyond it something goes in circles.
const maxAttempts = 12

// newSession makes a session, in a store that works for once.
func (w *world) newSession(id string) {
	s := &session{w: w, id: id, state: &engine.State{Session: id}, transcript: engine.NewTranscript(), texts: map[string]engine.TurnAccepted{},
		submissions: map[string]engine.Fact{}, cancelled: map[string]bool{}, ended: map[string]bool{}, intents: map[string]bool{},
		requests: map[string]uint64{}, answered: map[string]bool{}, plans: map[string]engine.Plan{}, givenUp: map[string]bool{}, resolved: map[string]engine.InteractionResolved{},
		about: map[string]string{}, kinds: map[string]api.InteractionKind{}, calls: map[string]*call{}, grants: map[string]bool{}, approved: map[string]int{},
		spent: map[string]api.Usage{}, aside: map[string]api.Usage{}, usage: map[string]store.UsageDelta{}, files: map[string]store.File{}, refers: map[string]*engine.File{}}
	w.sessions[id] = s
	w.order = append(w.order, s)
	agent := pick(w, w.stage.agents)
	w.log("session %s of agent %s", id, agent.Name)
	created := engine.SessionCreated{Owner: "ann", Secret: []byte(id), Agent: agent}
	if w.chance(0.2) {
		created.AutoSkipQuestions = api.Set(w.chance(0.5))
	}
	a, err := runtime.Creation(w.newID("x"), id, engine.Create{Event: created, History: s.imports()},
		store.Creation{Owner: "ann", Agent: agent.Name, Digest: agent.Digest}, origin)
	if err == nil {
		_, err = w.disk.mem.Append(w.disk.ctx(), a)
	}
	if err != nil {
		w.fail("session %s cannot be made: %v", id, err)
	}
	s.sync()
	s.follower = &follower{s: s, behind: true}
}

func (w *world) syncAll() {
	for _, s := range w.order {
		s.sync()
	}
}

// sync reads what has come to the journal and checks each fact, and then the rows beside it.
func (s *session) sync() {
	w := s.w
	if s.deleted {
		return
	}
	records, err := w.disk.mem.Records(w.disk.ctx(), store.RecordQuery{Session: s.id, After: s.state.Head})
	if errors.Is(err, store.ErrDeleted) {
		s.deleted = true
		w.saw("session_deleted")
		w.log("session %s is deleted", s.id)
		return
	}
	if err != nil {
		w.fail("session %s cannot be read: %v", s.id, err)
	}
	s.row, _ = w.disk.mem.Session(w.disk.ctx(), s.id)
	if len(records) == 0 {
		return
	}
	for _, r := range records {
		e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		if err != nil {
			w.fail("session %s: event %d: %v", s.id, r.Number, err)
		}
		f := engine.Fact{Number: r.Number, Time: r.Time, Event: e}
		if w.cfg.Trace != nil {
			w.log("  %s #%d %s %s", s.id, r.Number, r.Kind, brief(string(r.Data)))
		}
		s.decide(f)
		after, err := engine.Apply(s.state, f)
		if err != nil {
			w.fail("the journal of session %s does not fold: %v", s.id, err)
		}
		s.state = after
		s.facts = append(s.facts, f)
		s.converse(f)
		s.spend(f)
		if n := len(s.facts); n > 1 && f.Time.Before(s.facts[n-2].Time) && !w.disk.bare[r.Append] { // a jump may land behind a clock that is ahead
			w.fail("session %s: event %d is of %v, before the one before it", s.id, f.Number, f.Time)
		}
		s.check(f)
		w.saw(r.Kind)
	}
	s.checkRow(records[len(records)-1])
}

// check holds a new fact against what came before it.
func (s *session) check(f engine.Fact) {
	w := s.w
	switch e := f.Event.(type) {
	case engine.TurnAccepted:
		s.runs = append(s.runs, e.Run)
		if e.Compact {
			break
		}
		if other, twice := s.texts[textOf(e)]; twice {
			w.fail("session %s: message %q is there twice, as %s and %s", s.id, textOf(e), other.Run, e.Run)
		}
		s.texts[textOf(e)] = e
		s.sameContent(f, e)
		s.refer(e)
		s.admitted(f, e)
		if e.SubmissionID != "" {
			if _, twice := s.submissions[e.SubmissionID]; twice {
				w.fail("session %s: submission %s was accepted twice", s.id, e.SubmissionID)
			}
			s.submissions[e.SubmissionID] = f
		}
	case engine.CancelRequested:
		s.cancelled[e.Run] = true
	case engine.TurnEnded:
		if s.ended[e.Run] {
			w.fail("session %s: run %s ended twice", s.id, e.Run)
		}
		s.ended[e.Run] = true
		day := f.Time.UTC().Format(time.DateOnly)
		u := s.usage[day]
		u.Turns++
		u.Input, u.Output = u.Input+e.Usage.InputTokens, u.Output+e.Usage.OutputTokens
		s.usage[day] = u
	case engine.ModelStarted:
		if s.cancelled[e.Run] {
			w.fail("session %s: event %d begins a model call of run %s, which was cancelled", s.id, f.Number, e.Run)
		}
		s.requests[askKey(e.Run, e.Call, e.Attempt, e.Epoch)] = conversation(asJournalled(s.transcript.Context(0)), s.transcript.Guidance().Addendum)
		s.sized(f)
	case engine.ModelFailed:
		if e.Code == api.CodeStoreCorrupt {
			w.fail("session %s: event %d says of a call that a file is not there, to which a message refers", s.id, f.Number)
		}
	case engine.CompactionStarted:
		if s.cancelled[e.Run] {
			w.fail("session %s: event %d begins a summary of run %s, which was cancelled", s.id, f.Number, e.Run)
		}
		key := summaryKey(e.Run, e.Attempt, e.Epoch)
		s.plans[key] = e.Plan
		s.requests[key] = conversation(asSummarised(s.transcript.Older(e.Plan)), "")
	case engine.ReviewStarted:
		if s.cancelled[e.Run] {
			w.fail("session %s: event %d begins a review of run %s, which was cancelled", s.id, f.Number, e.Run)
		}
	case engine.ModelFinished:
		key := askKey(e.Run, e.Call, e.Attempt, e.Epoch)
		sent := w.ledger.asked[key]
		if len(sent) == 0 {
			w.fail("session %s: event %d is an answer to %s, which nobody asked", s.id, f.Number, key)
		}
		s.answered[answerKey(e.Run, e.Call, s.requests[key])] = true
		if !slices.Contains(sent, s.requests[key]) {
			w.fail("session %s: event %d answers another conversation than the one in the journal", s.id, f.Number)
		}
	case engine.ToolStarted:
		if s.cancelled[e.Run] {
			w.fail("session %s: event %d begins %s of run %s, which was cancelled", s.id, f.Number, e.CallID, e.Run)
		}
		if e.Attempt > maxAttempts {
			w.fail("session %s: event %d is attempt %d of %s", s.id, f.Number, e.Attempt, e.CallID)
		}
		s.intents[askKey(e.CallID, 0, e.Attempt, e.Epoch)] = true
	case engine.ToolInspected:
		w.saw("inspected as " + e.Answer)
	}
	if t := s.state.Turn; t != nil {
		if l := t.Limits; t.Calls > l.Calls || l.Output > 0 && t.Output > l.Output {
			w.fail("session %s: run %s has made %d calls of %d and %d output tokens of %d", s.id, t.Run, t.Calls, l.Calls, t.Output, l.Output)
		}
	}
}

// checkRow compares the rows beside the journal with what the journal gives.
func (s *session) checkRow(last store.Record) {
	w := s.w
	if s.row.Head != s.state.Head {
		w.fail("session %s: the row's head is %d, the journal's %d", s.id, s.row.Head, s.state.Head)
	}
	if w.disk.bare[last.Append] {
		if due := engine.Due(s.state); !due.IsZero() && (s.row.Index.Due.IsZero() || s.row.Index.Due.After(store.Millis(due))) {
			w.fail("session %s is due at %v, but its row says %v", s.id, due, s.row.Index.Due)
		}
		return // it may have jumped over others: then the row stands as it was, and is due at once
	}
	want := store.Index{Due: store.Millis(engine.Due(s.state)), Needs: engine.Needs(s.state), Activity: engine.Activity(s.state)}
	got := s.row.Index
	if !got.Due.Equal(want.Due) || !slices.Equal(got.Needs, want.Needs) || got.Activity != want.Activity {
		w.fail("session %s: the row says %+v, the journal %+v", s.id, got, want)
	}
}

// sameState compares a state that somebody holds with the truth.
func (s *session) sameState(who string, state *engine.State) {
	got, err := engine.Snapshot(state)
	if err != nil {
		s.w.fail("%v", err)
	}
	want, err := engine.Snapshot(s.state)
	if err != nil {
		s.w.fail("%v", err)
	}
	if string(got) != string(want) {
		s.w.fail("session %s: %s\n%s\nbut the journal folds into\n%s", s.id, who, got, want)
	}
}

func (s *session) describe() string {
	if s.state.Turn == nil {
		return fmt.Sprintf("session %s: head %d, idle, %d queued, due %v, holder %q (gone %t)", s.id, s.state.Head, len(s.state.Queue), s.row.Index.Due, s.row.Holder, s.row.HolderGone)
	}
	return fmt.Sprintf("session %s: head %d, turn %+v, pending %v, due %v, holder %q (gone %t)", s.id, s.state.Head, *s.state.Turn, engine.Pending(s.state), s.row.Index.Due, s.row.Holder, s.row.HolderGone)
}

func brief(text string) string {
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > 160 {
		return text[:160] + "…"
	}
	return text
}

func briefInput(in runtime.Input) string {
	switch in := in.(type) {
	case runtime.Submit:
		if m, is := in.Command.(engine.Message); is && m.Content != nil {
			content := briefBlocks(m.Content)
			m.Content = nil
			return fmt.Sprintf("submit %+v with %s, %d new files, without %v", m, content, len(in.Files.New), in.Files.Discarded)
		}
		return fmt.Sprintf("submit %T%+v", in.Command, in.Command)
	case runtime.Done:
		return brief(fmt.Sprintf("done #%d %T%+v", in.Ticket, in.Command, in.Command))
	case runtime.Appended:
		return fmt.Sprintf("appended %s %d–%d repeated %t tail %d: %v", in.ID, in.Result.First, in.Result.Head, in.Result.Repeated, len(in.Result.Tail), in.Err)
	case runtime.Tail:
		return fmt.Sprintf("tail of %d, row epoch %d holder %q gone %t: %v", len(in.Records), in.Session.Epoch, in.Session.Holder, in.Session.HolderGone, in.Err)
	case runtime.Loaded:
		return fmt.Sprintf("loaded %d records, snapshot %t: %v", len(in.Loaded.Records), in.Loaded.Snapshot != nil, in.Err)
	case runtime.TranscriptRead:
		return fmt.Sprintf("transcript of %d: %v", len(in.Records), in.Err)
	}
	return fmt.Sprintf("%T%+v", in, in)
}

func briefAction(act runtime.Action) string {
	switch act := act.(type) {
	case runtime.Write:
		a := act.Append
		kinds := make([]string, len(a.Records))
		for i, r := range a.Records {
			kinds[i] = r.Kind
		}
		return fmt.Sprintf("write %s behind %d any %t fence %v claim %v release %t due %v: %s", a.ID, a.Known, a.AnyHead, a.Fence, a.Claim, a.Release, !a.Index.Due.IsZero(), strings.Join(kinds, " "))
	case runtime.Start:
		return fmt.Sprintf("start #%d %s epoch %d", act.Ticket, act.Effect.Key(), act.Epoch)
	case runtime.Reply:
		kinds := make([]string, len(act.Facts))
		for i, f := range act.Facts {
			kinds[i] = fmt.Sprintf("#%d %s", f.Number, f.Event.Kind())
		}
		return fmt.Sprintf("reply to %d: %s %v", act.Waiter, strings.Join(kinds, ", "), act.Err)
	case runtime.Publish:
		return fmt.Sprintf("publish %d facts up to %d", len(act.Facts), act.State.Head)
	}
	return brief(fmt.Sprintf("%T%+v", act, act))
}
