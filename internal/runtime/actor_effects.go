package runtime

import (
	"maps"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/store"
)

// runningKeys lists what runs in an order that is the same in each replay.
func (a *Actor) runningKeys() []string { return slices.Sorted(maps.Keys(a.running)) }

// runningTools counts the tool bodies that run here and still count, and those that s has begun and that are
// about to.
func (a *Actor) runningTools(s *engine.State) int {
	n := 0
	for _, e := range engine.Pending(s) {
		if e.Kind == engine.ToolEffect && e.Started && a.running[e.Key()] == nil {
			n++
		}
	}
	for _, r := range a.running {
		if (r.effect.Kind == engine.ToolEffect || aboutToStart(r.effect)) && !r.overdue && !r.done {
			n++
		}
	}
	return n
}

// aboutToStart reports whether an effect is the check whose pass is the intent of a tool's body.
func aboutToStart(e engine.Effect) bool { return e.Kind == engine.CheckEffect && e.Attempt > 0 }

// start runs what the state names and does not run yet, and cancels what it names no more.
func (a *Actor) start() {
	if a.gone != nil || !a.loaded {
		return
	}
	pending := engine.Pending(a.spec)
	if len(a.running) > 0 {
		a.cancelUnnamed(pending)
	}
	// Nothing begins before the session is ours: several processes may want it, and the one that gets it may
	// have recorded an answer before another learns that it lost (RE2).
	if a.claim == "" {
		return
	}
	epoch, process := a.epoch, a.holder
	durable := map[string]bool(nil) // asked for where something is to start
	checks := 0
	for _, r := range a.running {
		if r.effect.Kind == engine.CheckEffect {
			checks++
		}
	}
	for _, e := range pending {
		if _, runs := a.running[e.Key()]; runs {
			continue
		}
		switch {
		case e.Kind.Bare():
			if a.flight != nil || e.NotBefore.After(a.now) || !a.env.Can(engine.Needs(a.base)) {
				continue
			}
			if aboutToStart(e) && (a.runningTools(a.base) >= a.env.Parallel || !a.env.Live(process)) {
				continue
			}
			if e.Kind == engine.CheckEffect {
				if checks >= a.env.Parallel {
					continue
				}
				checks++
			}
			if _, here := a.outputs[e.CallID]; e.Kind == engine.ScreenEffect && !here {
				continue
			}
		case !e.Started || e.Epoch != epoch:
			continue
		case !a.isDurable(e, &durable) && !(e.Early && a.sure() && !a.brings() && a.env.Live(process) && !a.contested(e)):
			continue
		}
		if !a.transcript.ready() {
			a.readTranscript()
			return
		}
		a.tickets++
		s := Start{Ticket: a.tickets, Effect: e, Epoch: epoch, Process: process, State: a.spec}
		s.Guidance = a.transcript.t.Guidance()
		switch e.Kind {
		case engine.ModelEffect:
			s.Items, s.Encoded, s.Memo = a.transcript.request()
		case engine.CompactEffect:
			s.Items, s.Previous = a.transcript.older(a.spec.Turn.Compaction.Plan)
			s.Memo = a.transcript.memo
		case engine.ReviewEffect:
			s.Items, s.Memo = a.transcript.told(), a.transcript.memo
			s.Call, _ = a.transcript.t.Call(e.CallID)
		default:
			s.Call, _ = a.transcript.t.Call(e.CallID)
			s.Output = a.outputs[e.CallID]
		}
		a.running[e.Key()] = &running{ticket: a.tickets, effect: e, epoch: epoch}
		a.do(s)
	}
}

// cancelUnnamed cancels what runs and is wanted no more. What the durable state names goes on as well: an
// append in flight that does not want it may not happen, and an intent that was taken back is mostly written again.
func (a *Actor) cancelUnnamed(pending []engine.Effect) {
	named := map[string]bool{}
	for _, e := range append(engine.Pending(a.base), pending...) {
		named[e.Key()] = true
	}
	for _, key := range a.runningKeys() {
		if !named[key] {
			a.cancelRun(a.running[key])
		}
	}
}

// neverStarted closes what a cancelled turn has begun and nobody has started: the cancel came between the
// intent and the start. Whatever runs brings its own outcome.
func (a *Actor) neverStarted() {
	if t := a.base.Turn; t == nil || !t.Cancel {
		return
	}
	for _, e := range engine.Begun(a.base) {
		if a.running[e.Key()] != nil || e.Epoch != a.epoch {
			continue
		}
		a.queue = append(a.queue, &input{cmd: engine.Unmade(e, e.Epoch, "the turn was cancelled before the call was made")})
	}
}

// outputsGone closes calls whose output hooks and guardrails were to see and which this process does not have.
func (a *Actor) outputsGone() {
	for _, e := range engine.Pending(a.base) {
		if e.Kind != engine.ScreenEffect || e.Epoch != a.epoch || a.running[e.Key()] != nil {
			continue
		}
		if _, here := a.outputs[e.CallID]; !here {
			a.queue = append(a.queue, &input{cmd: engine.Interrupted{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch}})
		}
	}
}

// forgetOutputs drops the outputs that nobody is to see any more.
func (a *Actor) forgetOutputs() {
	if len(a.outputs) == 0 {
		return
	}
	wanted := map[string]bool{}
	for _, e := range engine.Pending(a.base) {
		wanted[e.CallID] = wanted[e.CallID] || e.Kind == engine.ScreenEffect
	}
	maps.DeleteFunc(a.outputs, func(id string, _ engine.Returned) bool { return !wanted[id] })
}

// contested reports whether what lets a call begin is on its way to the journal only, and may come out otherwise: an
// approval comes second to a denial, a grant is taken back, another process asks the reviewer or the application again.
func (a *Actor) contested(e engine.Effect) bool {
	in := func(s *engine.State, is func(engine.ToolCall) bool) bool {
		return e.Kind == engine.ToolEffect && s.Turn != nil && slices.ContainsFunc(s.Turn.Tools, func(c engine.ToolCall) bool { return c.ID == e.CallID && is(c) })
	}
	return in(a.base, func(c engine.ToolCall) bool { return c.Status != engine.ToolReady && c.Status != engine.ToolRunning }) ||
		in(a.spec, func(c engine.ToolCall) bool { return c.Approved == engine.ApprovedByGrant })
}

// sure reports whether the append in flight will most likely happen. After one that did not, intents are
// waited for until one has: a store that fails, or others who write, must not cost a model call at each try.
func (a *Actor) sure() bool { return a.backoff == 0 && a.headMisses == 0 }

// brings reports whether files come with the append in flight. A model call may be about to read them, and they are
// there only once it has happened.
func (a *Actor) brings() bool { return a.flight != nil && len(a.flight.req.Files) > 0 }

// takeBack forgets effects that were started for an append which did not happen, and what they came to:
// under the same name another conversation may stand in the journal by now. If nobody has written since,
// what the durable state asks for in any case goes on, since its intent is written again.
func (a *Actor) takeBack(moved bool) {
	keep := map[string]bool{}
	if a.claim != "" {
		for _, e := range engine.Begun(a.base) {
			keep[e.Key()] = e.Epoch == a.epoch
		}
		for _, e := range engine.Pending(a.base) {
			keep[e.Key()] = keep[e.Key()] || !moved || e.Kind.Bare()
		}
	}
	for _, key := range a.runningKeys() {
		r := a.running[key]
		if keep[key] || r.overdue {
			continue
		}
		a.cancelRun(r)
		delete(a.running, key)
		a.queue = slices.DeleteFunc(a.queue, func(i *input) bool { return i.effect == r })
	}
}

// isDurable reports whether an effect's intent stands in the journal under our claim; known keeps what was looked up.
func (a *Actor) isDurable(e engine.Effect, known *map[string]bool) bool {
	if *known == nil {
		*known = a.durable()
	}
	return (*known)[e.Key()]
}

// durable are the effects whose intent stands in the journal under our claim, by key. A body that does more than read
// waits for that.
func (a *Actor) durable() map[string]bool {
	durable := map[string]bool{}
	if a.claim == "" {
		return durable
	}
	for _, e := range engine.Pending(a.base) {
		if e.Started && e.Epoch == a.epoch {
			durable[e.Key()] = true
		}
	}
	return durable
}

// cancelRun ends an effect's context. While a turn is being cancelled, a body that does not come back is
// not waited for beyond its grace.
func (a *Actor) cancelRun(r *running) {
	if r.cancelled || r.done {
		return
	}
	r.cancelled = true
	r.graceEnds = a.now.Add(a.env.Grace)
	a.do(Stop{Ticket: r.ticket})
}

// cancelAll ends all contexts and forgets what ran.
func (a *Actor) cancelAll() {
	for _, key := range a.runningKeys() {
		a.cancelRun(a.running[key])
	}
	clear(a.running)
}

// overdue closes effects whose grace is over.
func (a *Actor) overdue() {
	for _, key := range a.runningKeys() {
		r := a.running[key]
		if !r.cancelled || r.done || r.overdue || a.now.Before(r.graceEnds) {
			continue
		}
		r.overdue = true
		cmd := engine.Unmade(r.effect, r.epoch, "the call was cancelled and did not stop in time")
		if r.effect.Kind == engine.ToolEffect {
			cmd = engine.Overdue{CallID: r.effect.CallID, Attempt: r.effect.Attempt, Epoch: r.epoch}
		}
		if cmd != nil {
			a.queue = append(a.queue, &input{cmd: cmd})
		}
	}
}

// onDone takes an effect's outcome. It is decided after everything before it is durable: one append is in
// flight at a time. Until it is stored or turns out to be stale the effect counts as running, so that a
// store that fails cannot make it start again. An outcome of a claim that was lost is dropped, as the store
// would refuse it.
func (a *Actor) onDone(in Done) {
	var r *running
	for _, other := range a.running {
		if other.ticket == in.Ticket {
			r = other
		}
	}
	if r == nil || r.done {
		return
	}
	if a.gone != nil || in.Command == nil && r.effect.Kind.Bare() {
		delete(a.running, r.effect.Key())
		return
	}
	r.done = true
	if in.Command == nil {
		return // the process is going away: it neither starts the effect again nor says what became of it
	}
	a.queue = append(a.queue, &input{cmd: in.Command, late: r.overdue, effect: r})
}

// resolved says that a command has been stored, or will never be.
func (a *Actor) resolved(i *input) {
	if r := i.effect; r != nil && a.running[r.effect.Key()] == r {
		delete(a.running, r.effect.Key())
	}
}

// transcriptCache holds a session's conversation while it is hot. It follows spec; when an append does
// not happen, or lands elsewhere, the cache is dropped and read again.
type transcriptCache struct {
	t       *engine.Transcript
	items   []model.Item   // of the context's entries up to the last request
	encoded *model.Encoded // of the items
	memo    *policy.Memo   // of what guardrails have seen of them
	view    int            // generation of the context that they are of
	reading bool
	stale   bool          // what is being read was overtaken by a drop
	since   []engine.Fact // facts that came while reading
}

func (c *transcriptCache) ready() bool { return c.t != nil }

func (c *transcriptCache) bytes() int {
	if c.t == nil {
		return 0
	}
	const item = 256 // an item without its texts, which the transcript holds
	return c.t.Bytes() + c.encoded.Bytes() + item*cap(c.items)
}

// request gives the conversation for a model call: every call in it has its result.
func (c *transcriptCache) request() ([]model.Item, *model.Encoded, *policy.Memo) {
	c.items = requestItems(c.items, c.t.Context(len(c.items)))
	return c.items[:len(c.items):len(c.items)], c.encoded, c.memo
}

// older gives what a plan summarises, and the summary that there is of what came before.
func (c *transcriptCache) older(p engine.Plan) (items []model.Item, previous string) {
	entries := c.t.Older(p)
	if len(entries) > 0 && entries[0].Kind == engine.EntrySummary {
		previous, entries = entries[0].Text, entries[1:]
	}
	return toldItems(entries), previous
}

// told gives the conversation as far as it is whole, for a reviewer: without calls whose result is not there, of which
// the one that is to be reviewed is told apart.
func (c *transcriptCache) told() []model.Item {
	entries := c.t.Context(0)
	open := map[string]bool{}
	for i := range entries {
		if entries[i].Open {
			open[entries[i].CallID] = true
		}
	}
	return toldItems(slices.DeleteFunc(slices.Clone(entries), func(e engine.Entry) bool { return e.CallID != "" && open[e.CallID] }))
}

func (c *transcriptCache) build(facts []engine.Fact) {
	c.t, c.items, c.encoded, c.memo = engine.NewContext(), nil, &model.Encoded{}, &policy.Memo{}
	c.view = c.t.Generation()
	c.t.Grow(len(facts) + len(facts)/4) // an answer with a call is two entries
	for _, f := range facts {
		c.t.Apply(f)
	}
}

func (c *transcriptCache) apply(facts []engine.Fact) {
	if c.reading {
		c.since = append(c.since, facts...)
	}
	if c.t != nil {
		for _, f := range facts {
			c.t.Apply(f)
		}
		c.refresh()
	}
}

// refresh forgets what was made of entries that are not in the context any more.
func (c *transcriptCache) refresh() {
	if c.view != c.t.Generation() {
		c.items, c.encoded, c.view = nil, &model.Encoded{}, c.t.Generation()
	}
}

func (c *transcriptCache) drop() {
	c.t, c.items, c.encoded, c.memo, c.since = nil, nil, nil, nil, nil
	c.stale = c.reading
}

func (a *Actor) readTranscript() {
	c := &a.transcript
	if c.reading || a.now.Before(a.retryAt) {
		return
	}
	c.reading, c.stale, c.since = true, false, nil
	if a.flight != nil {
		c.since = append(c.since, a.flight.facts...)
	}
	a.do(ReadTranscript{Until: a.base.Head})
}

func (a *Actor) onTranscript(in TranscriptRead) {
	c := &a.transcript
	since := c.since
	stale := c.stale
	c.reading, c.stale, c.since = false, false, nil
	if in.Err != nil {
		a.backOff()
		return
	}
	if stale {
		return
	}
	facts, err := decodeAll(in.Records)
	if err != nil {
		a.fault(err)
		return
	}
	c.build(facts)
	c.apply(since)
}

// decodeAll reads stored records.
func decodeAll(records []store.Record) ([]engine.Fact, error) {
	facts := make([]engine.Fact, len(records))
	for i, r := range records {
		e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		if err != nil {
			return nil, err
		}
		facts[i] = engine.Fact{Number: r.Number, Time: r.Time, Event: e}
	}
	return facts, nil
}

// FileQuota is what a session may keep of files (AT3).
var FileQuota = store.FileQuota{Files: api.MaxSessionFiles, Bytes: api.MaxSessionFileBytes}

// describe fills in what an append says beside its fence: the records and the rows that follow from them.
func describe(req *store.Append, facts []engine.Fact, before *engine.State) error {
	for _, f := range facts {
		s, err := engine.Encode(f.Event)
		if err != nil {
			return err
		}
		req.Records = append(req.Records, store.Record{Kind: string(s.Kind), Version: s.Version, Run: s.Run, Item: s.Item, Terminal: s.Terminal, Data: s.Data})
		switch e := f.Event.(type) {
		case engine.TurnAccepted:
			for _, b := range e.Content {
				if b.File != nil && !slices.ContainsFunc(req.Files, func(n store.NewFile) bool { return n.ID == b.File.ID }) {
					req.Accept = append(req.Accept, b.File.ID)
				}
			}
			req.FileQuota = FileQuota
			if e.SubmissionID != "" {
				req.Receipts = append(req.Receipts, store.Receipt{Key: e.SubmissionID, Run: e.Run, Accepted: f.Number, Fields: e.Fingerprint})
			}
		case engine.TurnEnded:
			u := e.Usage
			req.Usage = append(req.Usage, store.UsageDelta{Day: f.Time.UTC().Format("2006-01-02"), Turns: 1, Input: u.InputTokens, Cached: u.CachedInputTokens,
				Output: u.OutputTokens, Reasoning: u.ReasoningTokens, Estimated: u.Estimated})
		case engine.InteractionRequired:
			public, _ := engine.PublicInteraction(f)
			data, err := engine.EncodeInteraction(public)
			if err != nil {
				return err
			}
			req.Opened = append(req.Opened, store.Interaction{ID: e.ID, Data: data})
		case engine.InteractionResolved:
			req.Closed = append(req.Closed, e.ID)
		case engine.SessionDeleted:
			req.Delete = true
			for _, in := range before.Interactions {
				req.Closed = append(req.Closed, in.ID)
			}
		}
	}
	return nil
}
