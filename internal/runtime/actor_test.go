package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// rig drives one actor over a store in memory. What the actor asks of the store is done at once; what it
// starts is collected, and the test says what becomes of it.
type rig struct {
	t      *testing.T
	mem    *memstore.Store
	actor  *runtime.Actor
	now    time.Time
	ids    int
	starts []runtime.Start
	stops  []uint64
	reply  *runtime.Reply
	writes []store.Append
	// onReply, unless nil, gets each reply.
	onReply func(runtime.Reply)
	// fail decides on each append; nil: it is served.
	fail func(store.Append) memstore.Fate
	// deaf drops reads of the conversation.
	deaf bool
	// lacks names a need that the process does not have, "" for none.
	lacks string
	// dead: the process's lease may not be used any more.
	dead bool
	// process is this one's ID, "p" unless it is set. slow: appends are under way until the test answers them.
	process string
	slow    bool
	held    []store.Append
}

func (r *rig) id() string {
	if r.process != "" {
		return r.process
	}
	return "p"
}

func newRig(t *testing.T) *rig {
	return rigOf(t, engine.Agent{Name: "a", Digest: "d", Model: api.ModelRef{Provider: "P", Name: "m"}, Mode: api.ApproveNever, UnknownOutcome: api.OutcomeAsk,
		Tools: []engine.Tool{{Name: "app.pay", ModelName: "app__pay", Effect: api.SideEffect}}})
}

// rigOf has a session of an agent.
func rigOf(t *testing.T, agent engine.Agent) *rig {
	r := &rig{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.mem = memstore.New(memstore.Config{Fault: func(a store.Append) memstore.Fate {
		if r.fail != nil {
			return r.fail(a)
		}
		return memstore.Commit
	}})
	made, err := runtime.Creation("made", "s", engine.Create{Event: engine.SessionCreated{Secret: []byte{1}, Agent: agent}}, store.Creation{Agent: "a", Digest: "d"}, r.now)
	if err == nil {
		_, err = r.mem.Append(t.Context(), made)
	}
	if err == nil {
		err = r.mem.Register(t.Context(), store.Process{ID: "p", LeaseUntil: r.now.Add(time.Hour)})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.load()
	return r
}

// load begins with an actor that knows nothing yet.
func (r *rig) load() {
	r.actor = runtime.NewActor("s", runtime.ActorEnv{
		Process: r.id, Live: func(id string) bool { return id == r.id() && !r.dead }, Can: func(needs []string) bool { return !slices.Contains(needs, r.lacks) },
		NewID:  func() string { r.ids++; return fmt.Sprintf("x%d", r.ids) },
		Jitter: func() float64 { return 0.5 }, Parallel: 4, Grace: time.Second, SnapshotEvery: 1,
	})
}

func (r *rig) step(in runtime.Input) {
	r.t.Helper()
	ctx := context.Background()
	for inputs := []runtime.Input{in}; len(inputs) > 0; {
		in, inputs = inputs[0], inputs[1:]
		for _, act := range r.actor.Step(r.now, in) {
			switch act := act.(type) {
			case runtime.Load:
				loaded, err := r.mem.Load(ctx, "s", act.Schema)
				inputs = append(inputs, runtime.Loaded{Loaded: loaded, Err: err})
			case runtime.ReadTail:
				row, _ := r.mem.Session(ctx, "s")
				records, err := r.mem.Records(ctx, store.RecordQuery{Session: "s", After: act.After})
				inputs = append(inputs, runtime.Tail{Session: row, Records: records, Err: err})
			case runtime.ReadTranscript:
				if !r.deaf {
					records, err := r.mem.Records(ctx, store.RecordQuery{Session: "s", Until: act.Until, Items: true})
					inputs = append(inputs, runtime.TranscriptRead{Records: records, Until: act.Until, Err: err})
				}
			case runtime.Write:
				if r.slow {
					r.held = append(r.held, act.Append)
					continue
				}
				r.writes = append(r.writes, act.Append)
				result, err := r.mem.Append(ctx, act.Append)
				inputs = append(inputs, runtime.Appended{ID: act.Append.ID, Result: result, Err: err})
			case runtime.Start:
				r.starts = append(r.starts, act)
			case runtime.Stop:
				r.stops = append(r.stops, act.Ticket)
			case runtime.Reply:
				r.reply = &act
				if r.onReply != nil {
					r.onReply(act)
				}
			case runtime.Park:
				r.t.Fatalf("the session is set aside: %s", act.Reason)
			}
		}
	}
}

// wait lets time pass.
func (r *rig) wait(d time.Duration) {
	r.t.Helper()
	r.now = r.now.Add(d)
	r.step(runtime.Tick{})
}

func (r *rig) send(text string) {
	r.t.Helper()
	r.step(runtime.Submit{Command: engine.Message{Text: text}, Waiter: 1})
}

// begun returns the newest start and how many there were.
func (r *rig) begun() (runtime.Start, int) {
	r.t.Helper()
	if len(r.starts) == 0 {
		r.t.Fatal("nothing was started")
	}
	return r.starts[len(r.starts)-1], len(r.starts)
}

// elsewhere stores what another process decides, which this one is not told, and returns the new head.
func (r *rig) elsewhere(c engine.Command) uint64 {
	r.t.Helper()
	state := r.actor.State()
	events, after, err := engine.Decide(state, c, engine.Env{Now: r.now})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.stored(state.Head, after, events...)
}

// stored stores what this process is not told, and returns the new head.
func (r *rig) stored(known uint64, after *engine.State, events ...engine.Event) uint64 {
	r.t.Helper()
	a := store.Append{ID: "other", Session: "s", Known: known, Time: after.Time,
		Index: store.Index{Due: engine.Due(after), Needs: engine.Needs(after), Activity: engine.Activity(after)}}
	for _, e := range events {
		stored, err := engine.Encode(e)
		if err != nil {
			r.t.Fatal(err)
		}
		a.Records = append(a.Records, store.Record{Kind: string(stored.Kind), Version: stored.Version, Run: stored.Run, Item: stored.Item, Terminal: stored.Terminal, Data: stored.Data})
	}
	if _, err := r.mem.Append(context.Background(), a); err != nil {
		r.t.Fatal(err)
	}
	return after.Head
}

// answer ends the model call that was started last.
func (r *rig) answer(items ...engine.Item) {
	r.t.Helper()
	s, _ := r.begun()
	r.step(runtime.Done{Ticket: s.Ticket, Command: engine.ModelDone{Run: s.Effect.Run, Call: s.Effect.Call, Attempt: s.Effect.Attempt, Epoch: s.Epoch, Items: items}})
}

func (r *rig) kinds() []string {
	r.t.Helper()
	records, err := r.mem.Records(r.t.Context(), store.RecordQuery{Session: "s", After: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, record := range records {
		out = append(out, record.Kind)
	}
	return out
}

func (r *rig) want(kinds ...string) {
	r.t.Helper()
	if diff := cmp.Diff(kinds, r.kinds()); diff != "" {
		r.t.Fatalf("the journal (-want +got):\n%s", diff)
	}
}

var pay = engine.Item{Kind: engine.ItemCall, Name: "app__pay", Arguments: "{}"}

func failing(fates ...memstore.Fate) func(store.Append) memstore.Fate {
	return func(store.Append) memstore.Fate {
		if len(fates) == 0 {
			return memstore.Commit
		}
		next := fates[0]
		fates = fates[1:]
		return next
	}
}

func TestAnOutcomeThatTheStoreDoesNotTakeYetDoesNotStartItsEffectAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("pay")
	r.answer(pay)
	body, n := r.begun()
	if body.Effect.Kind != engine.ToolEffect || n != 2 {
		t.Fatalf("%d starts, the last %+v; want the tool's", n, body.Effect)
	}
	r.fail = failing(memstore.FailBefore, memstore.FailBefore)
	r.step(runtime.Done{Ticket: body.Ticket, Command: engine.ToolOutcome{CallID: body.Effect.CallID, Attempt: 1, Epoch: body.Epoch, Output: "paid"}})
	for range 4 {
		r.wait(time.Second)
	}
	r.want("turn_accepted", "model_started", "model_finished", "tool_started", "tool_finished", "model_started")
	bodies := 0
	for _, s := range r.starts {
		if s.Effect.Kind == engine.ToolEffect {
			bodies++
		}
	}
	if bodies != 1 {
		t.Fatalf("the body was started %d times", bodies)
	}
}

func TestAFailureSaysNothingOfTheTryBeforeWhoseFateIsUnknown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fail = failing(memstore.CommitThenUnknown, memstore.FailBefore)
	r.send("hello")
	r.wait(time.Second)
	if r.reply != nil {
		t.Fatalf("the caller is told %v although the first try may have committed", r.reply.Err)
	}
	r.wait(time.Second)
	if r.reply == nil || r.reply.Err != nil || len(r.reply.Facts) == 0 {
		t.Fatalf("the caller is told %+v; want the turn", r.reply)
	}
	r.want("turn_accepted", "model_started")
}

func TestACancelBetweenIntentAndStartEndsTheTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("first")
	r.answer(engine.Item{Kind: engine.ItemText, Text: "done"})
	r.load() // from a snapshot: the conversation must be read before a call
	r.deaf = true
	before := len(r.starts)
	r.send("second")
	r.step(runtime.Submit{Command: engine.Cancel{}, Waiter: 2})
	if len(r.starts) != before {
		t.Fatalf("something was started: %+v", r.starts[before:])
	}
	r.want("turn_accepted", "model_started", "model_finished", "turn_ended",
		"turn_accepted", "model_started", "cancel_requested", "model_failed", "turn_ended")
}

func TestWhatEndedWithoutAWordIsNeitherStartedAgainNorSaidNotToHaveRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("pay")
	r.answer(pay)
	body, n := r.begun()
	r.step(runtime.Done{Ticket: body.Ticket})
	r.wait(time.Minute)
	r.step(runtime.Submit{Command: engine.Cancel{}, Waiter: 2})
	r.wait(time.Minute)
	if len(r.starts) != n {
		t.Fatalf("started again: %+v", r.starts[n:])
	}
	r.want("turn_accepted", "model_started", "model_finished", "tool_started", "cancel_requested")
}

// RE2: another process may have the session, and even an answer, before this one learns that it lost the race.
func TestNoModelCallBeginsForAMessageBeforeTheSessionIsOurs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	raced := false
	r.fail = func(a store.Append) memstore.Fate {
		if !raced { // somebody who cannot run the session is faster with another message
			raced = true
			other := &rig{t: t, mem: r.mem, now: r.now}
			other.actor = runtime.NewActor("s", runtime.ActorEnv{Process: func() string { return "" }, Live: func(string) bool { return false },
				Can: func([]string) bool { return false }, NewID: func() string { return "other" }, Jitter: func() float64 { return 0 }})
			other.send("theirs")
		}
		if a.Claim != nil && len(r.starts) > 0 {
			t.Errorf("a call for %q began before the session was claimed", r.starts[0].Items[0].Text)
		}
		return memstore.Commit
	}
	r.send("ours")
	r.step(runtime.Wake{})
	if len(r.starts) != 1 || r.starts[0].Items[0].Text != "theirs" {
		t.Fatalf("%d starts; want one, for the message that stands there", len(r.starts))
	}
	r.answer(engine.Item{Kind: engine.ItemText, Text: "to theirs"})
}

func TestALeaseIsOfOneProcessIDAndNotOfTheNext(t *testing.T) {
	t.Parallel()
	ids := []string{"one", "two"}
	l := runtime.NewLeaser(store.Process{}, 4*time.Second, func() string {
		id := ids[0]
		ids = ids[1:]
		return id
	})
	wall := time.Unix(0, 0)
	l.Step(wall, 0, runtime.LeaseTick{})
	l.Step(wall, 0, runtime.LeaseAnswer{ID: "one"})
	if !l.Live("one", time.Second) || l.Live("", time.Second) || l.Live("one", 3*time.Second) {
		t.Fatal("a lease of 4 s must be usable for the first 3 s, and by its own process alone")
	}
	l.Step(wall, time.Second, runtime.LeaseAnswer{ID: "one", Fenced: true})
	l.Step(wall, time.Second, runtime.LeaseAnswer{ID: "two"})
	if l.Live("one", time.Second) || !l.Live("two", time.Second) {
		t.Fatal("after a fence the claims of the old id stay dead, and the new id is alive")
	}
	l.Step(wall, time.Second, runtime.LeaseStop{})
	if l.Live("two", time.Second) {
		t.Fatal("a process that stops starts nothing")
	}
}

// A guardrail of a message may be one that the process which runs the turn before it does not have.
func TestASessionIsGivenUpForATurnThatNeedsWhatThisProcessLacks(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig){
		"when that turn begins by its own hand": func(r *rig) { r.answer(engine.Item{Kind: engine.ItemText, Text: "done"}) },
		"when another process lets it begin": func(r *rig) {
			s, _ := r.begun()
			r.step(runtime.Done{Ticket: s.Ticket, Command: engine.ModelError{Run: s.Effect.Run, Call: 1, Attempt: 1, Epoch: s.Epoch, Code: api.CodeProviderOverloaded, Retryable: true, RetryAfter: time.Second}})
			r.step(runtime.Moved{Head: r.elsewhere(engine.Cancel{})})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.lacks = engine.NeedGuardrail("extra")
			r.send("first")
			r.step(runtime.Submit{Command: engine.Message{Text: "second", WhenBusy: api.BusyQueue, Guardrails: []string{"extra"}}, Waiter: 2})
			end(r)
			row, err := r.mem.Session(t.Context(), "s")
			if err != nil || row.Holder != "" || row.Index.Due.IsZero() || r.actor.Owns() {
				t.Errorf("the session is held by %q, due at %v (%v); want it to be due and nobody's", row.Holder, row.Index.Due, err)
			}
			if state := r.actor.State(); state.Turn == nil || state.Turn.Guardrails == nil {
				t.Errorf("the turn under way is %+v; want the second one", state.Turn)
			}
			if _, starts := r.begun(); starts != 1 {
				t.Errorf("%d effects were started; want the first turn's alone", starts)
			}
		})
	}
}

// looker has to ask before it looks.
var looker = engine.Agent{Name: "a", Digest: "d", Model: api.ModelRef{Provider: "P", Name: "m"}, Mode: api.ApproveOnly, UnknownOutcome: api.OutcomeAsk,
	Tools: []engine.Tool{{Name: "app.pay", ModelName: "app__pay", Effect: api.SideEffect}, {Name: "app.look", ModelName: "app__look", Effect: api.ReadOnly, Ask: true}}}

func TestAReadOnlyCallBeginsOnlyOnTheApprovalThatStands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		elsewhere api.Decision // what another process stored a moment before, "" for nothing
		bodies    int
	}{
		"an approval that is the only answer":           {"", 1},
		"an approval that comes second to a denial":     {api.Deny, 0},
		"an approval that comes second to the same one": {api.AllowOnce, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOf(t, looker)
			r.send("hi")
			r.answer(pay, engine.Item{Kind: engine.ItemCall, Name: "app__look", Arguments: "{}"}) // the first of them runs, so the session is held
			asked := r.actor.State().Interactions[0]
			if test.elsewhere != "" {
				r.elsewhere(engine.Answer{Interaction: asked.ID, Answer: api.Answer{Decision: test.elsewhere}})
			}
			r.step(runtime.Submit{Command: engine.Answer{Interaction: asked.ID, Answer: api.Answer{Decision: api.AllowOnce}}, Waiter: 2})
			bodies := 0
			for _, s := range r.starts {
				if s.Effect.Kind == engine.ToolEffect && s.Effect.CallID == asked.CallID {
					bodies++
				}
			}
			if bodies != test.bodies {
				t.Errorf("%d bodies began, want %d", bodies, test.bodies)
			}
		})
	}
}

func TestAReadOnlyCallUnderAGrantThatIsTakenBackDoesNotBegin(t *testing.T) {
	t.Parallel()
	for name, revoked := range map[string]bool{"a grant that holds": false, "a grant that was revoked a moment before": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rigOf(t, looker)
			r.send("hi")
			look := engine.Item{Kind: engine.ItemCall, Name: "app__look", Arguments: "{}"}
			r.answer(look)
			r.step(runtime.Submit{Command: engine.Answer{Interaction: r.actor.State().Interactions[0].ID, Answer: api.Answer{Decision: api.AllowSession}}, Waiter: 2})
			first, _ := r.begun()
			r.step(runtime.Done{Ticket: first.Ticket, Command: engine.ToolOutcome{CallID: first.Effect.CallID, Attempt: 1, Epoch: first.Epoch}})
			if revoked {
				r.elsewhere(engine.Revoke{Tool: "app.look"})
			}
			r.answer(look)
			if last, _ := r.begun(); (last.Effect.Kind == engine.ToolEffect) == revoked || revoked && len(r.actor.State().Interactions) != 1 {
				t.Errorf("what began last is %s; a person is asked about %v", last.Effect.Key(), r.actor.State().Interactions)
			}
		})
	}
}

func TestAReadOnlyCallBeginsOnAVerdictThatIsStored(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"a verdict that is stored": true, "a verdict that the store does not take": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := looker
			agent.Mode, agent.Reviewer = api.ApproveAuto, agent.Model
			r := rigOf(t, agent)
			r.send("hi")
			r.answer(engine.Item{Kind: engine.ItemCall, Name: "app__look", Arguments: "{}"})
			if !stored {
				r.fail = failing(memstore.FailBefore)
			}
			review, _ := r.begun()
			r.step(runtime.Done{Ticket: review.Ticket, Command: engine.Reviewed{CallID: review.Effect.CallID, Attempt: 1, Epoch: review.Epoch, Review: api.Review{Verdict: api.ReviewAllow}}})
			if last, _ := r.begun(); (last.Effect.Kind == engine.ToolEffect) != stored {
				t.Errorf("what began last is %s", last.Effect.Key())
			}
		})
	}
}
