package runtime

import (
	"errors"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// pump decides what waits into the next append, and starts what may start.
func (a *Actor) pump() {
	if a.flight != nil {
		if a.flight.again && !a.now.Before(a.retryAt) {
			// The fate of the last try is unknown. Writing it again, unchanged, is how it is settled.
			a.flight.again = false
			a.do(Write{Append: a.flight.req})
		}
	} else if !a.reflow && !a.now.Before(a.retryAt) {
		a.decide()
	}
	a.start()
}

// batch is an append in the making.
type batch struct {
	a      *Actor
	state  *engine.State
	facts  []engine.Fact
	inputs []*input
	epoch  uint64
	claims bool
	takes  bool // over from a holder that is gone
	bare   bool // outcomes alone
	env    engine.Env
}

func (b *batch) decide(c engine.Command) (int, error) {
	events, after, err := engine.Decide(b.state, c, b.env)
	if err != nil {
		return 0, err
	}
	n := b.state.Head
	for i, e := range events {
		e = b.a.withCall(e)
		b.facts = append(b.facts, engine.Fact{Number: n + 1 + uint64(i), Time: after.Time, Event: e})
	}
	b.state = after
	return len(events), nil
}

// decide makes an append of what waits and of what the state asks for, if there is anything.
func (a *Actor) decide() {
	if a.claim != "" && a.headMisses >= 2 && a.decideBare() {
		return
	}
	b := &batch{a: a, state: a.base, epoch: a.epoch, env: engine.Env{Now: a.now, Jitter: a.env.Jitter()}}
	owned := a.claim != ""
	process := a.env.Process()
	mayClaim := !owned && a.env.Live(process) && (a.holder == "" || a.holderGone)
	if mayClaim && a.holder != "" && a.base.Turn != nil && a.env.Can(engine.Needs(a.base)) {
		if _, err := b.decide(engine.TakeOver{Epoch: a.epoch + 1, From: a.holder, Process: process}); err != nil {
			a.fault(err)
			return
		}
		b.claims, b.takes, b.epoch = true, true, a.epoch+1
	}
	if owned {
		a.neverStarted()
		a.outputsGone()
	}
	rest := b.takeInputs(a.queue, owned || b.claims)
	if a.gone != nil {
		return
	}
	if mayClaim && !b.claims && (len(b.facts) > 0 || a.wanted) && b.due() && a.env.Can(engine.Needs(b.state)) {
		b.claims, b.epoch = true, a.epoch+1
	}
	a.wanted = false
	if owned || b.claims {
		if err := b.derive(); err != nil {
			a.fault(err)
			return
		}
	}
	if b.claims && len(b.facts) == 0 && b.bareDue() {
		// A claim needs an event to ride on, and what is to be done first has none.
		if _, err := b.decide(engine.TakeOver{Epoch: b.epoch, Process: process}); err != nil {
			a.fault(err)
			return
		}
	}
	unable := owned && b.unable()
	if unable && len(b.facts) == 0 {
		// Another process may have what the turn needs. Giving the session up needs an event to ride on too.
		if _, err := b.decide(engine.TakeOver{Epoch: b.epoch}); err != nil {
			a.fault(err)
			return
		}
	}
	if len(b.facts) == 0 {
		a.queue = rest
		a.settle(b.inputs)
		if len(rest) > 0 && !a.reflow {
			a.decide() // nothing will come back that would go on with the rest
		}
		return
	}
	a.queue = rest
	release := unable || (owned || b.claims) && b.rests()
	if release && b.claims && !b.takes {
		b.claims, release = false, false // all is said and done in one append: nothing was begun under the claim
	}
	a.fly(b, process, release)
}

// takeInputs decides the commands at the queue's front and returns those that wait for the next append.
func (b *batch) takeInputs(queue []*input, owner bool) []*input {
	submissions, doubtful, alone := map[string]bool{}, 0, false
	for n, i := range queue {
		if len(b.inputs) == maxBatch {
			return queue[n:]
		}
		if id := i.submission(); id != "" || i.refers() {
			// One of the same ID must be stored first, so that its receipt is found.
			if id != "" && submissions[id] || alone || i.alone && doubtful > 0 {
				return queue[n:]
			}
			submissions[id], alone = true, i.alone
			doubtful++
		}
		if !owner && engine.RoleOf(i.cmd) != engine.Input {
			if !i.late {
				b.a.resolved(i)
				continue // it was decided or done under a claim that is gone
			}
		}
		i.first = b.state.Head + 1
		i.events, i.refused = b.decide(i.cmd)
		if fault := (*engine.TransitionError)(nil); errors.As(i.refused, &fault) {
			b.a.fault(i.refused)
			return nil
		}
		b.inputs = append(b.inputs, i)
	}
	return nil
}

// settle answers commands that store nothing. Such an answer must not rest on an old view.
func (a *Actor) settle(inputs []*input) {
	var again []*input
	for _, i := range inputs {
		if engine.RoleOf(i.cmd) == engine.Input && i.waiter != 0 && a.readsDone < i.reads {
			again = append(again, i)
			continue
		}
		a.resolved(i)
		a.reply(i, Reply{Err: i.refused})
	}
	if len(again) > 0 {
		a.queue = append(again, a.queue...)
		a.readTail()
	}
}

// decideBare stores outcomes alone, behind whatever came since: they need the epoch only, so inputs of
// others cannot hold them up for ever. What follows from them is derived by the next append.
func (a *Actor) decideBare() bool {
	b := &batch{a: a, state: a.base, epoch: a.epoch, env: engine.Env{Now: a.now}}
	var rest []*input
	for _, i := range a.queue {
		if !engine.Commutes(b.state, i.cmd) || len(b.inputs) == maxBatch {
			rest = append(rest, i)
			continue
		}
		events, _, err := engine.Decide(b.state, i.cmd, b.env)
		if err != nil || len(events) == 0 || !engine.IsOutcome(events[0]) {
			rest = append(rest, i)
			continue
		}
		fact := engine.Fact{Number: b.state.Head + 1, Time: b.env.At(b.state), Event: events[0]}
		after, err := engine.Fold(b.state, fact)
		if err != nil {
			rest = append(rest, i)
			continue
		}
		i.first, i.events, i.refused = fact.Number, 1, nil
		b.state, b.facts, b.inputs = after, append(b.facts, fact), append(b.inputs, i)
	}
	if len(b.facts) == 0 {
		return false
	}
	a.queue = rest
	a.transcript.drop()
	b.bare = true
	a.fly(b, "", false)
	return true
}

// fly hands an append over to the store.
func (a *Actor) fly(b *batch, process string, release bool) {
	req := store.Append{
		ID: a.env.NewID(), Session: a.session, Known: a.base.Head, AnyHead: b.bare, Time: b.env.Now, Release: release,
		Index: store.Index{Due: engine.Due(b.state), Needs: engine.Needs(b.state), Activity: engine.Activity(b.state)},
	}
	switch {
	case b.claims:
		req.Claim = &store.Claim{Process: process, Claim: a.env.NewID(), Epoch: a.epoch, From: a.holder}
	case a.claim != "":
		req.Fence = &store.Fence{Epoch: a.epoch, Claim: a.claim}
	}
	if n := len(b.facts); n > 0 {
		req.Time = b.facts[n-1].Time
	}
	for _, i := range b.inputs {
		if i.refused == nil && i.events > 0 {
			req.Files, req.Discard = append(req.Files, i.files.New...), append(req.Discard, i.files.Discarded...)
		}
	}
	if err := describe(&req, b.facts, a.base); err != nil {
		a.fault(err)
		return
	}
	if b.state.Head-a.lastSnap >= a.env.SnapshotEvery && !b.bare {
		if data, err := engine.Snapshot(b.state); err == nil {
			req.Snapshot = &store.Snapshot{Schema: engine.SnapshotSchema(), Head: b.state.Head, Data: data}
		}
	}
	a.flight = &flight{req: req, inputs: b.inputs, facts: b.facts, after: b.state, claims: b.claims}
	a.spec = b.state
	a.transcript.apply(b.facts)
	a.do(Write{Append: req})
}

// fault is a decision or a fold that must not happen: the session is set aside rather than damaged.
func (a *Actor) fault(err error) {
	a.park(err)
}

// onAppended takes an append's fate.
func (a *Actor) onAppended(in Appended) {
	f := a.flight
	if f == nil || in.ID != f.req.ID {
		return
	}
	var known *api.Error
	switch {
	case in.Err == nil:
		a.committed(f, in.Result)
	case errors.Is(in.Err, store.ErrFateUnknown):
		f.again, f.unknown = true, true
		a.backOff()
	case errors.Is(in.Err, store.ErrHeadMoved), errors.Is(in.Err, store.ErrClaimed), errors.Is(in.Err, store.ErrFenced):
		a.headMisses++
		a.rewind(f, true)
		if in.Result.Epoch != a.epoch || errors.Is(in.Err, store.ErrFenced) {
			a.lose()
		}
		if errors.Is(in.Err, store.ErrHeadMoved) {
			a.holderGone = a.holderGone && a.holder == in.Result.Holder
			a.epoch, a.holder = in.Result.Epoch, in.Result.Holder
			a.foldTail(in.Result.Tail)
			return
		}
		a.readTail()
	case errors.Is(in.Err, store.ErrReceiptTaken), errors.Is(in.Err, store.ErrFileNotFound), errors.Is(in.Err, store.ErrFileQuota):
		f.inputs = a.refuseOne(f.inputs, in.Err)
		a.rewind(f, true)
		a.readTail()
	case errors.Is(in.Err, store.ErrDeleted), errors.Is(in.Err, store.ErrNotFound):
		a.rewind(f, true)
		a.loadFailed(in.Err)
	case f.unknown:
		// Nothing was written now, which says nothing about the try before.
		f.again = true
		a.backOff()
	default:
		// Nothing was written. Inputs are refused, outcomes stay and are tried again.
		if !errors.As(in.Err, &known) {
			in.Err = api.Errorf(api.CodeStoreUnavailable, "the store failed: %w", in.Err)
		}
		a.rewind(f, false)
		a.refuseInputs(in.Err)
		a.backOff()
	}
}

// refuseOne answers the one message whose submission ID is taken, or whose files are not there. The store does not say
// which it is, so several are tried again one by one.
func (a *Actor) refuseOne(inputs []*input, err error) []*input {
	var may []*input
	for _, i := range inputs {
		if i.submission() != "" && errors.Is(err, store.ErrReceiptTaken) || i.refers() && !errors.Is(err, store.ErrReceiptTaken) {
			i.alone = true
			may = append(may, i)
		}
	}
	if len(may) != 1 {
		return inputs
	}
	a.reply(may[0], Reply{Err: err})
	return slices.DeleteFunc(inputs, func(i *input) bool { return i == may[0] })
}

// rewind takes an append back that did not happen; its commands are decided again. moved: others have
// written in the meantime.
func (a *Actor) rewind(f *flight, moved bool) {
	a.flight = nil
	a.spec = a.base
	a.queue = append(f.inputs, a.queue...)
	if a.claim == "" { // it was lost meanwhile
		a.dropStale()
	}
	a.transcript.drop()
	a.takeBack(moved)
}

func (a *Actor) committed(f *flight, r store.Appended) {
	a.flight, a.headMisses, a.backoff, a.retryAt = nil, 0, 0, time.Time{}
	if f.claims {
		a.epoch, a.claim, a.holder, a.holderGone = f.req.Claim.Epoch+1, f.req.Claim.Claim, f.req.Claim.Process, false
	}
	if f.req.Release && len(r.Tail) == 0 {
		a.claim, a.holder = "", ""
	}
	if s := f.req.Snapshot; s != nil && len(r.Tail) == 0 {
		a.lastSnap = s.Head
	}
	facts := f.facts
	if len(r.Tail) > 0 {
		tail, err := decodeAll(r.Tail)
		if err != nil {
			a.queue = append(f.inputs, a.queue...)
			a.fault(err)
			return
		}
		facts = append([]engine.Fact(nil), tail...)
		for i, own := range f.facts {
			own.Number = r.First + uint64(i)
			facts = append(facts, own)
		}
		for _, i := range f.inputs {
			i.first += uint64(len(tail))
		}
		after, err := engine.Fold(a.base, facts...)
		if err != nil {
			a.queue = append(f.inputs, a.queue...)
			a.fault(err)
			return
		}
		f.after = after
		a.transcript.drop()
	}
	a.base, a.spec = f.after, f.after
	a.do(Publish{Facts: facts, State: a.base})
	a.forgetOutputs()
	for _, i := range f.inputs {
		a.resolved(i)
		if r, ok := i.cmd.(engine.Returned); ok && i.refused == nil && i.events > 0 {
			a.outputs[r.CallID] = r
		}
		r := Reply{Err: i.refused}
		if i.refused == nil && i.events > 0 {
			at := i.first - facts[0].Number
			r.Facts = facts[at : at+uint64(i.events)]
		}
		a.reply(i, r)
	}
	if a.base.Deleted {
		a.end(api.Errorf(api.CodeSessionDeleted, "session %s was deleted", a.session))
		return
	}
	if r.Repeated {
		a.readTail() // others may have written, or taken over, since it committed
	}
}

// readTail reads what others have written.
func (a *Actor) readTail() {
	if a.reflow || a.flight != nil || !a.loaded || a.gone != nil {
		return
	}
	a.reflow = true
	a.readsBegun++
	a.do(ReadTail{After: a.base.Head})
}

func (a *Actor) onTail(in Tail) {
	a.reflow = false
	if in.Err != nil {
		if errors.Is(in.Err, store.ErrDeleted) || errors.Is(in.Err, store.ErrNotFound) {
			a.loadFailed(in.Err)
			return
		}
		a.refuseInputs(in.Err)
		a.backOff()
		return
	}
	a.readsDone = a.readsBegun
	row := in.Session
	if row.Deleted {
		a.loadFailed(store.ErrDeleted)
		return
	}
	if a.claim != "" && (row.Epoch != a.epoch || row.Claim != a.claim) {
		a.lose()
	}
	a.epoch, a.holder, a.holderGone = row.Epoch, row.Holder, row.HolderGone
	a.foldTail(in.Records)
}

// foldTail folds what others have written into the durable state.
func (a *Actor) foldTail(records []store.Record) {
	facts, err := decodeAll(records)
	if err != nil {
		a.fault(err)
		return
	}
	for len(facts) > 0 && facts[0].Number <= a.base.Head {
		facts = facts[1:]
	}
	if len(facts) == 0 {
		return
	}
	after, err := engine.Fold(a.base, facts...)
	if err != nil {
		a.fault(err)
		return
	}
	a.base, a.spec = after, after
	a.transcript.apply(facts)
	a.do(Publish{Facts: facts, State: a.base})
}

// withCall completes what a person is asked by the call that it is about, where the decision had not the answer at hand
// and this process has. Whoever reads the event without finds the call in the answer.
func (a *Actor) withCall(e engine.Event) engine.Event {
	asked, ok := e.(engine.InteractionRequired)
	if !ok || asked.Arguments != "" || !a.transcript.ready() {
		return e
	}
	call, ok := a.transcript.t.Call(asked.CallID)
	if !ok {
		return e
	}
	asked.Arguments = call.Arguments
	if q := asked.Question; q != nil && q.Text == "" {
		complete := engine.ParseQuestion(call.Arguments)
		complete.Multiple = q.Multiple
		asked.Question = &complete
	}
	return asked
}
