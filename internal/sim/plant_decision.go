package sim

import (
	"errors"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// answerTwice takes an answer to an interaction that was answered since it was decided.
func (d *disk) answerTwice(a store.Append) (store.Appended, error) {
	result, err := d.mem.Append(d.ctx(), a)
	again := slices.ContainsFunc(a.Records, func(r store.Record) bool {
		e, _ := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		resolved, is := e.(engine.InteractionResolved)
		_, before := d.w.sessions[a.Session].resolved[resolved.ID]
		return is && before
	})
	if !errors.Is(err, store.ErrHeadMoved) || a.Fence != nil || a.Claim != nil || !again {
		return result, err
	}
	row, gone := d.mem.Session(d.ctx(), a.Session)
	if gone != nil {
		return result, err
	}
	a.Known = row.Head
	return d.mem.Append(d.ctx(), a)
}

// shareApproval lets another process act on what a person has allowed, as if the approval were its own to use.
func (w *world) shareApproval(e *effect, name string, kind toolKind) {
	c := w.sessions[e.c.session].calls[e.start.Effect.CallID]
	other := w.anyone(func(p *process) bool { return p != e.c.p })
	if other == nil || c == nil || c.allowed == byGrant || !w.personAllowed(e) {
		return
	}
	w.after(other, w.delay(), "the approval of "+e.key+" is used again", func() {
		b := w.ledger.run(other, e.start, name, kind)
		b.onEnd = func() {}
		b.begin()
	})
}

func (w *world) personAllowed(e *effect) bool {
	s := w.sessions[e.c.session]
	for id, resolved := range s.resolved {
		if s.about[id] == e.start.Effect.CallID && (resolved.Decision == api.AllowOnce || resolved.Decision == api.AllowSession) {
			return true
		}
	}
	return false
}

// loseDenial makes of the newest denial in what a process reads an approval, if the rest makes sense with it.
func (d *disk) loseDenial(session string, loaded store.Loaded) store.Loaded {
	at := -1
	for i, r := range loaded.Records {
		if e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data); err == nil {
			if resolved, is := e.(engine.InteractionResolved); is && resolved.Decision == api.Deny {
				at = i
			}
		}
	}
	if at < 0 || at+1 >= len(loaded.Records) || loaded.Snapshot != nil {
		return loaded
	}
	records := slices.Clone(loaded.Records)
	denied, err := engine.Decode(engine.Kind(records[at].Kind), records[at].Version, records[at].Data)
	if err != nil {
		return loaded
	}
	allowed := denied.(engine.InteractionResolved)
	allowed.Decision = api.AllowOnce
	for i, e := range []engine.Event{allowed, engine.GrantRevoked{Tool: "nothing"}} { // the second in place of the call's result
		stored, err := engine.Encode(e)
		if err != nil {
			return loaded
		}
		records[at+i].Kind, records[at+i].Item, records[at+i].Data = string(stored.Kind), stored.Item, stored.Data
	}
	state := &engine.State{Session: session}
	for _, r := range records {
		e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		if err == nil {
			state, err = engine.Apply(state, engine.Fact{Number: r.Number, Time: r.Time, Event: e})
		}
		if err != nil {
			return loaded
		}
	}
	loaded.Records = records
	return loaded
}

// cutBatch moves what a plan keeps to a result within a parallel batch, if there is one.
func (d *disk) cutBatch(a store.Append) store.Append {
	a.Records = slices.Clone(a.Records)
	for i, r := range a.Records {
		if r.Kind != "compaction_finished" {
			continue
		}
		e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		if err != nil {
			return a
		}
		finished := e.(engine.CompactionFinished)
		entries := d.w.sessions[a.Session].transcript.Context(0)
		for n := 1; n < len(entries); n++ {
			if entries[n-1].Kind == engine.EntryResult && entries[n].Kind == engine.EntryResult && entries[n].Number != entries[n-1].Number {
				finished.Plan.Keep = entries[n].Number
			}
		}
		if stored, err := engine.Encode(finished); err == nil && finished.Plan.Items > 0 {
			a.Records[i].Data = stored.Data
		}
	}
	return a
}
