package sim

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// disk is the one store of all processes, with its faults. After each call the journals that may have grown
// are read and held against what was promised.
type disk struct {
	w       *world
	mem     *memstore.Store
	fate    memstore.Fate
	down    time.Duration   // until then nothing can be written
	bare    map[string]bool // appends that may jump over others
	fenced  map[string]bool // processes
	appends int
	late    []fileCall          // whose fate is unknown
	pending map[string][]change // by session: what appends may change that may land late
	broken  brokenDisk
}

func (d *disk) ctx() context.Context { return context.Background() }

// fault is asked by the store what becomes of an append.
func (d *disk) fault(store.Append) memstore.Fate { return d.fate }

// outage makes the store refuse writes for a while, as a full file system does.
func (d *disk) outage() {
	d.down = d.w.now + d.w.upTo(pick(d.w, []time.Duration{d.w.lease / 4, d.w.lease / 2, 2 * d.w.lease}))
	d.w.log("the store is full until %v", d.down)
}

func (d *disk) heal() { d.down = 0 }

// busy is the error of a call that the store does not serve.
func (d *disk) busy() error {
	if d.w.faulty(d.w.fragile) {
		return api.Errorf(api.CodeStoreBusy, "the store is busy")
	}
	return nil
}

func (d *disk) full() error {
	if d.w.now < d.down {
		return api.Errorf(api.CodeStoreFull, "no space left")
	}
	return d.busy()
}

// append serves an append, with the fate that chance gives it.
func (d *disk) append(p *process, a store.Append) (store.Appended, error) {
	w := d.w
	d.appends++
	d.bare[a.ID] = a.AnyHead
	w.secretFree(a)
	w.checkFilesOf(a)
	s := w.sessions[a.Session]
	for _, id := range changeOf(a).ids() {
		s.names(id)
	}
	a.FileQuota = d.ghosts(a.Session, w.quota)
	if p.old && a.Snapshot != nil {
		a.Snapshot = &store.Snapshot{Schema: "old", Head: a.Snapshot.Head, Data: reshape(a.Snapshot.Data)}
	}
	if err := d.full(); err != nil {
		return store.Appended{}, err
	}
	d.fate = memstore.Commit
	if w.faulty(w.fragile * 2) {
		d.fate = pick(w, []memstore.Fate{memstore.FailBefore, memstore.LoseUnknown, memstore.CommitThenUnknown, memstore.CommitLater})
	}
	fate := d.fate
	before, _ := d.mem.Session(d.ctx(), a.Session)
	files := s.files
	result, err := d.write(p, a)
	if err == nil && a.Fence != nil && !result.Repeated && (d.fenced[before.Holder] || before.Epoch != a.Fence.Epoch) {
		w.fail("append %s of %s is taken under epoch %d; the session's is %d, held by %q, which is fenced", a.ID, p.name, a.Fence.Epoch, before.Epoch, before.Holder)
	}
	d.fate = memstore.Commit
	d.note(a, result, err)
	if w.cfg.Trace != nil {
		w.log("append %s to %s behind %d (fate %d): %d–%d %v", a.ID, a.Session, a.Known, fate, result.First, result.Head, err)
	}
	s.sync()
	if !s.deleted {
		d.filesChanged(s, a, files, fate, result, err)
	}
	return result, err
}

// filesChanged holds what an append did with files against what it may do, what landed before it included.
func (d *disk) filesChanged(s *session, a store.Append, before map[string]store.File, fate memstore.Fate, result store.Appended, err error) {
	landed := d.pending[s.id]
	d.settled(s)
	if fate == memstore.CommitLater {
		d.pending[s.id] = append(d.pending[s.id], changeOf(a))
		s.look(landed...)
		return
	}
	may := landed
	if err == nil && !result.Repeated || errors.Is(err, store.ErrFateUnknown) {
		may = append(slices.Clone(landed), changeOf(a))
	}
	s.look(may...)
	if len(landed) == 0 && !result.Repeated {
		s.checkAppended(a, before, err)
	}
}

// note counts the rarer ways in which an append ends.
func (d *disk) note(a store.Append, result store.Appended, err error) {
	switch {
	case err == nil && a.AnyHead && len(result.Tail) > 0:
		d.w.saw("outcome that jumped")
	case err == nil && result.Repeated:
		d.w.saw("repeated append")
	case err == nil && a.Snapshot != nil:
		d.w.saw("snapshot")
	case errors.Is(err, store.ErrFateUnknown):
		d.w.saw("unknown fate")
	case errors.Is(err, store.ErrHeadMoved):
		d.w.saw("moved head")
	case errors.Is(err, store.ErrFenced):
		d.w.saw("fenced append")
	case errors.Is(err, store.ErrClaimed):
		d.w.saw("lost claim")
	case errors.Is(err, store.ErrReceiptTaken):
		d.w.saw("taken receipt")
	case errors.Is(err, store.ErrFileNotFound):
		d.w.saw("append without its files")
	case errors.Is(err, store.ErrFileQuota):
		d.w.saw("append with too many files")
	}
}

// land lets appends commit whose fate was unknown.
func (d *disk) land() {
	if n := d.mem.Land(); n > 0 {
		d.w.saw("late landing")
		d.w.log("%d appends land late", n)
	}
	d.w.syncAll()
	for _, s := range d.w.order {
		if !s.deleted {
			s.look(d.pending[s.id]...)
			d.settled(s)
		}
	}
	d.landFiles()
}

// settled: nothing of the session may land late any more.
func (d *disk) settled(s *session) {
	if plant := d.w.cfg.Plant; plant != PlantIntentAfterEffect && plant != PlantOutcomeFirst { // which keep appends back
		delete(d.pending, s.id)
	}
}

func (d *disk) load(p *process, session, schema string) (store.Loaded, error) {
	if err := d.busy(); err != nil {
		return store.Loaded{}, err
	}
	if p.old {
		schema = "old"
	}
	if d.w.cfg.Plant == PlantForeignSnapshot {
		if loaded, err := d.mem.Load(d.ctx(), session, "old"); err == nil && loaded.Snapshot != nil {
			return loaded, nil
		}
	}
	loaded, err := d.mem.Load(d.ctx(), session, schema)
	if p.old && loaded.Snapshot != nil {
		restored := *loaded.Snapshot
		restored.Data = reshape(restored.Data)
		loaded.Snapshot = &restored
	}
	if d.w.cfg.Plant == PlantDenialLost && err == nil {
		loaded = d.loseDenial(session, loaded)
	}
	return loaded, err
}

// reshape turns a snapshot into the other build's shape, and back.
func reshape(data []byte) []byte {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return data
	}
	other := make(map[string]json.RawMessage, len(fields))
	for name, value := range fields {
		for _, names := range [][2]string{{"turn", "work"}, {"interactions", "questions"}, {"queue", "line"}} {
			switch name {
			case names[0]:
				name = names[1]
			case names[1]:
				name = names[0]
			}
		}
		other[name] = value
	}
	data, _ = json.Marshal(other)
	return data
}

func (d *disk) session(id string) (store.Session, error) {
	if err := d.busy(); err != nil {
		return store.Session{}, err
	}
	return d.mem.Session(d.ctx(), id)
}

func (d *disk) records(q store.RecordQuery) ([]store.Record, error) {
	if err := d.busy(); err != nil {
		return nil, err
	}
	return d.mem.Records(d.ctx(), q)
}

func (d *disk) heads(ids []string) (map[string]uint64, error) {
	if err := d.busy(); err != nil {
		return nil, err
	}
	return d.mem.Heads(d.ctx(), ids)
}

func (d *disk) register(p store.Process) error {
	if err := d.full(); err != nil {
		return err
	}
	return d.mem.Register(d.ctx(), p)
}

func (d *disk) renew(id string, until time.Time) error {
	if err := d.full(); err != nil {
		return err
	}
	return d.mem.Renew(d.ctx(), id, until)
}

func (d *disk) fence(self string, now time.Time) ([]string, error) {
	if err := d.full(); err != nil {
		return nil, err
	}
	ids, err := d.mem.Fence(d.ctx(), self, now, runtime.Margin(d.w.lease))
	for _, id := range ids {
		d.fenced[id] = true
	}
	return ids, err
}

func (d *disk) work(q store.WorkQuery) (store.WorkPage, error) {
	if err := d.busy(); err != nil {
		return store.WorkPage{}, err
	}
	return d.mem.Work(d.ctx(), q)
}
