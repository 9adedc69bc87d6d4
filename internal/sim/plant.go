package sim

import (
	"errors"
	"slices"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// Plant names a guarantee that is broken on purpose. It is broken in the world around the machines: in the
// store that they use, or in the shell that carries out what they ask.
type Plant string

const (
	// PlantIntentAfterEffect acknowledges an append with a tool's intent before it is durable.
	PlantIntentAfterEffect Plant = "intent after effect"
	// PlantNoEpochCheck takes appends of claims that are gone.
	PlantNoEpochCheck Plant = "no epoch check"
	// PlantReleaseWithoutHead applies a release although inputs slipped in between.
	PlantReleaseWithoutHead Plant = "release without head"
	// PlantFateByReading settles an unknown fate by a look at the journal.
	PlantFateByReading Plant = "fate by reading"
	// PlantOutcomeFirst lets an append overtake the one before it.
	PlantOutcomeFirst Plant = "outcome before its predecessor"
	// PlantReceiptApart writes receipts in a transaction of their own.
	PlantReceiptApart Plant = "receipt outside the transaction"
	// PlantResultDropped drops what a cancelled body came to.
	PlantResultDropped Plant = "result dropped on cancel"
	// PlantPausedOwnerStarts starts bodies without the look at the lease.
	PlantPausedOwnerStarts Plant = "paused owner starts a body"
	// PlantForeignSnapshot gives a build the snapshot of another one's state.
	PlantForeignSnapshot Plant = "snapshot of another schema"
	// PlantApprovalTwice takes an answer to what was answered since it was decided.
	PlantApprovalTwice Plant = "an approval consumed twice"
	// PlantApprovalShared lets a second process act on an approval too.
	PlantApprovalShared Plant = "an approval used by two"
	// PlantDenialLost hides a denial from a process that begins to read the session.
	PlantDenialLost Plant = "a denial lost on restart"
	// PlantBatchCut stores a plan that cuts a parallel batch.
	PlantBatchCut Plant = "a compaction that cuts a parallel batch"
	// PlantFileUnchecked accepts messages whatever has become of their files.
	PlantFileUnchecked Plant = "a message accepted without its files"
	// PlantAcceptedDiscarded discards files that messages refer to.
	PlantAcceptedDiscarded Plant = "an accepted file discarded"
	// PlantRefusedRides lets the files of a refused message ride along with what is written next.
	PlantRefusedRides Plant = "files of a refused message"
	// PlantGhosts counts discarded files in the quota.
	PlantGhosts Plant = "a quota that counts what is gone"
	// PlantAcceptLost drops what an append accepts where it is decided again.
	PlantAcceptLost Plant = "a rebased append without its files"
)

// Plants lists them all.
func Plants() []Plant {
	return []Plant{PlantIntentAfterEffect, PlantNoEpochCheck, PlantReleaseWithoutHead, PlantFateByReading, PlantOutcomeFirst,
		PlantReceiptApart, PlantResultDropped, PlantPausedOwnerStarts, PlantForeignSnapshot,
		PlantApprovalTwice, PlantApprovalShared, PlantDenialLost, PlantBatchCut,
		PlantFileUnchecked, PlantAcceptedDiscarded, PlantRefusedRides, PlantGhosts, PlantAcceptLost}
}

// brokenDisk is what the plants keep beside the store.
type brokenDisk struct {
	held     map[string]store.Append // by session: an append that was acknowledged and is not there yet
	receipts map[string]store.Receipt
	gone     map[string]bool  // files
	counted  map[string]int64 // by session: bytes of discarded files
	moved    map[string]bool  // sessions and files of appends that are decided again
}

// write appends to the store as it should be, or as a plant has it.
func (d *disk) write(p *process, a store.Append) (store.Appended, error) {
	switch d.w.cfg.Plant {
	case PlantIntentAfterEffect:
		if d.fate == memstore.Commit && has(a, "tool_started") && a.Fence != nil {
			if row, err := d.mem.Session(d.ctx(), a.Session); err == nil && a.Check(row) == nil {
				d.pending[a.Session] = append(d.pending[a.Session], changeOf(a))
				d.w.after(p, d.w.delay(), "the intent is written", func() {
					_, _ = d.mem.Append(d.ctx(), a)
					d.w.sessions[a.Session].sync()
				})
				n := uint64(len(a.Records))
				return store.Appended{First: a.Known + 1, Head: a.Known + n, Epoch: row.Epoch, Holder: row.Holder}, nil
			}
		}
	case PlantNoEpochCheck:
		if a.Fence != nil {
			row, err := d.mem.Session(d.ctx(), a.Session)
			if err == nil && row.Claim != "" && !row.HolderGone {
				a.Fence = &store.Fence{Epoch: row.Epoch, Claim: row.Claim}
			} else {
				a.Fence, a.Release = nil, false
			}
		}
	case PlantReleaseWithoutHead:
		if row, err := d.mem.Session(d.ctx(), a.Session); err == nil && a.Release && a.Known < row.Head && !a.Time.Before(row.Updated) {
			slipped, _ := d.mem.Records(d.ctx(), store.RecordQuery{Session: a.Session, After: a.Known})
			a.Known = row.Head
			result, err := d.mem.Append(d.ctx(), a)
			if err == nil {
				result.Tail = slipped
			}
			return result, err
		}
	case PlantFateByReading:
		result, err := d.mem.Append(d.ctx(), a)
		if !errors.Is(err, store.ErrFateUnknown) {
			return result, err
		}
		tail, _ := d.mem.Records(d.ctx(), store.RecordQuery{Session: a.Session, After: a.Known})
		if slices.ContainsFunc(tail, func(r store.Record) bool { return r.Append == a.ID }) {
			d.fate = memstore.Commit
			return d.mem.Append(d.ctx(), a)
		}
		return store.Appended{}, api.Errorf(api.CodeStoreUnavailable, "it is not in the journal, so it was not written")
	case PlantOutcomeFirst:
		return d.overtake(a)
	case PlantReceiptApart:
		return d.receiptApart(p, a)
	case PlantApprovalTwice:
		return d.answerTwice(a)
	case PlantBatchCut:
		a = d.cutBatch(a)
	case PlantFileUnchecked, PlantAcceptedDiscarded, PlantGhosts, PlantAcceptLost:
		return d.writeFiles(a)
	}
	return d.mem.Append(d.ctx(), a)
}

func has(a store.Append, kind engine.Kind) bool {
	return slices.ContainsFunc(a.Records, func(r store.Record) bool { return r.Kind == string(kind) })
}

// overtake keeps a model's intent back until the append behind it has been written.
func (d *disk) overtake(a store.Append) (store.Appended, error) {
	if d.broken.held == nil {
		d.broken.held = map[string]store.Append{}
	}
	first, waits := d.broken.held[a.Session]
	n := uint64(len(first.Records))
	if waits && a.Known == first.Known+n {
		delete(d.broken.held, a.Session)
		a.Known = first.Known
		if result, err := d.mem.Append(d.ctx(), a); err != nil {
			return result, err
		}
		m := uint64(len(a.Records))
		first.Known += m
		_, _ = d.mem.Append(d.ctx(), first)
		return store.Appended{First: first.Known + 1, Head: first.Known + n}, nil
	}
	if row, err := d.mem.Session(d.ctx(), a.Session); err == nil && d.fate == memstore.Commit && a.Fence != nil && has(a, "model_started") && a.Check(row) == nil {
		d.broken.held[a.Session] = a
		d.pending[a.Session] = append(d.pending[a.Session], changeOf(a))
		return store.Appended{First: a.Known + 1, Head: a.Known + uint64(len(a.Records)), Epoch: row.Epoch, Holder: row.Holder}, nil
	}
	return d.mem.Append(d.ctx(), a)
}

// receiptApart writes an append's receipts a moment later, if its process lives so long.
func (d *disk) receiptApart(p *process, a store.Append) (store.Appended, error) {
	if d.broken.receipts == nil {
		d.broken.receipts = map[string]store.Receipt{}
	}
	receipts := a.Receipts
	a.Receipts = nil
	for _, r := range receipts {
		if _, taken := d.broken.receipts[a.Session+"/"+r.Key]; taken {
			return store.Appended{}, store.ErrReceiptTaken
		}
	}
	result, err := d.mem.Append(d.ctx(), a)
	if err == nil && len(receipts) > 0 {
		d.w.after(p, d.w.delay(), "the receipt is written", func() {
			for _, r := range receipts {
				d.broken.receipts[a.Session+"/"+r.Key] = r
			}
		})
	}
	return result, err
}

// receipt finds what a submission id was used for.
func (d *disk) receipt(session, key string) (store.Receipt, error) {
	if err := d.busy(); err != nil {
		return store.Receipt{}, err
	}
	if d.w.cfg.Plant == PlantReceiptApart {
		if r, ok := d.broken.receipts[session+"/"+key]; ok {
			return r, nil
		}
		return store.Receipt{}, store.ErrNotFound
	}
	return d.mem.Receipt(d.ctx(), session, key)
}
