package sim

import (
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
	"github.com/openworkerai/openworker/store/memstore"
)

// fileCall is one call that changes a session's files, and what it may change.
type fileCall struct {
	name    string
	session string
	may     change
	do      func() error
	holds   func(s *session, before map[string]store.File, err error) // what its answer promises
}

// call serves a call with the fate that chance gives it: as an append, it may have happened although its answer is an
// error, or happen later.
func (d *disk) call(c fileCall) error {
	if err := d.full(); err != nil {
		return err
	}
	fate := memstore.Commit
	if d.w.faulty(d.w.fragile * 2) {
		fate = pick(d.w, []memstore.Fate{memstore.FailBefore, memstore.LoseUnknown, memstore.CommitThenUnknown, memstore.CommitLater})
	}
	switch fate {
	case memstore.FailBefore:
		return api.Errorf(api.CodeStoreUnavailable, "made to fail")
	case memstore.LoseUnknown:
		return store.ErrFateUnknown
	case memstore.CommitLater:
		d.late = append(d.late, c)
		return store.ErrFateUnknown
	}
	err := d.serve(c)
	if err == nil && fate == memstore.CommitThenUnknown {
		return store.ErrFateUnknown
	}
	return err
}

// serve does a call and holds what it did against what it may do.
func (d *disk) serve(c fileCall) error {
	s := d.w.sessions[c.session]
	for _, id := range c.may.ids() {
		s.names(id)
	}
	before := s.files
	err := c.do()
	d.loseAccepted(s, c.may.discards)
	if err == nil {
		d.count(s, c.may.discards)
	}
	d.w.log("%s of %s: %v", c.name, c.session, err)
	if s.deleted {
		return err
	}
	if err != nil {
		c.may = change{}
	}
	s.look(c.may)
	if c.holds != nil {
		c.holds(s, before, err)
	}
	return err
}

// landFiles serves the calls whose fate was unknown.
func (d *disk) landFiles() {
	late := d.late
	d.late = nil
	for _, c := range late {
		d.w.saw("late file")
		_ = d.serve(c)
	}
}

// file finds a file, and chunk reads of it, as a plant has it.
func (d *disk) file(session, id string) (store.File, error) {
	if d.broken.gone[id] {
		return store.File{}, store.ErrFileNotFound
	}
	return d.mem.File(d.ctx(), session, id)
}

func (d *disk) chunk(session, id string, index int) ([]byte, error) {
	if d.broken.gone[id] {
		return nil, store.ErrFileNotFound
	}
	return d.mem.Chunk(d.ctx(), session, id, index)
}
