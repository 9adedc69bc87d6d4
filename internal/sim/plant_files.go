package sim

import (
	"errors"
	"slices"

	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/store"
)

// writeFiles appends as a plant has it that is about files.
func (d *disk) writeFiles(a store.Append) (store.Appended, error) {
	switch d.w.cfg.Plant {
	case PlantFileUnchecked:
		result, err := d.mem.Append(d.ctx(), a)
		if !errors.Is(err, store.ErrFileNotFound) {
			return result, err
		}
		a.Accept = slices.DeleteFunc(slices.Clone(a.Accept), func(id string) bool {
			f, err := d.mem.File(d.ctx(), a.Session, id)
			return err != nil || f.State == store.FileOpen || f.Expired(a.Time)
		})
	case PlantAcceptLost:
		if len(a.Accept) == 0 {
			break
		}
		key := a.Session + "/" + a.Accept[0]
		if d.broken.moved[key] {
			a.Accept = slices.DeleteFunc(slices.Clone(a.Accept), func(id string) bool {
				f, err := d.mem.File(d.ctx(), a.Session, id)
				return err == nil && f.State == store.FileSealed && !f.Expired(a.Time)
			})
		}
		result, err := d.mem.Append(d.ctx(), a)
		if errors.Is(err, store.ErrHeadMoved) {
			if d.broken.moved == nil {
				d.broken.moved = map[string]bool{}
			}
			d.broken.moved[key] = true
		}
		return result, err
	}
	result, err := d.mem.Append(d.ctx(), a)
	if s := d.w.sessions[a.Session]; err == nil && !result.Repeated {
		d.loseAccepted(s, a.Discard)
		d.count(s, a.Discard)
	}
	return result, err
}

// loseAccepted removes files that were discarded, also those that messages refer to.
func (d *disk) loseAccepted(s *session, ids []string) {
	if d.w.cfg.Plant == PlantAcceptedDiscarded {
		for _, id := range ids {
			if f, err := d.mem.File(d.ctx(), s.id, id); err == nil && f.State == store.FileAccepted {
				d.broken.gone[id] = true
			}
		}
	}
}

// count goes on counting files that were discarded.
func (d *disk) count(s *session, ids []string) {
	if d.w.cfg.Plant == PlantGhosts {
		if d.broken.counted == nil {
			d.broken.counted = map[string]int64{}
		}
		for _, id := range ids {
			if f, there := s.files[id]; there && f.State != store.FileAccepted {
				d.broken.counted[s.id] += f.Size
			}
		}
	}
}

// ghosts is the quota as it is, or less what is gone.
func (d *disk) ghosts(session string, q store.FileQuota) store.FileQuota {
	q.Bytes -= d.broken.counted[session]
	return q
}

// ride lets the files of a message that was refused ride along with what its session writes next.
func (c *cell) ride(act runtime.Write) runtime.Write {
	act.Append.Files = append(slices.Clone(act.Append.Files), c.riding...)
	c.riding = nil
	return act
}
