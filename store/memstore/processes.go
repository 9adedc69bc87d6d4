package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openworkerai/openworker/store"
)

// Register implements [store.Processes].
func (s *Store) Register(ctx context.Context, p store.Process) error {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return err
	}
	if s.processes[p.ID] != nil {
		return store.ErrExists
	}
	p.LeaseUntil = store.Millis(p.LeaseUntil)
	s.processes[p.ID] = &process{Process: p}
	return nil
}

// Renew implements [store.Processes].
func (s *Store) Renew(ctx context.Context, id string, until time.Time) error {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return err
	}
	p := s.processes[id]
	if p == nil || p.fenced {
		return store.ErrFenced
	}
	p.LeaseUntil = store.Millis(until)
	return nil
}

// Unregister implements [store.Processes].
func (s *Store) Unregister(ctx context.Context, id string) error {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return err
	}
	p := s.processes[id]
	if p == nil {
		return nil
	}
	if s.holds(id) {
		p.fenced = true
		s.changed()
		return nil
	}
	delete(s.processes, id)
	return nil
}

// Kill makes a process proven dead: the next Fence of another process fences it, whatever its lease says.
func (s *Store) Kill(id string) {
	defer s.lock()()
	if p := s.processes[id]; p != nil {
		p.killed = true
	}
}

// Fence implements [store.Processes].
func (s *Store) Fence(ctx context.Context, self string, now time.Time, margin time.Duration) ([]string, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return nil, err
	}
	var fenced []string
	for _, id := range slices.Sorted(maps.Keys(s.processes)) {
		p := s.processes[id]
		switch {
		case id == self:
		case p.fenced:
			if !s.holds(id) {
				delete(s.processes, id) // nothing names it any more
			}
		case p.killed, p.LeaseUntil.Add(margin).Before(now):
			p.fenced = true
			fenced = append(fenced, id)
		}
	}
	if len(fenced) > 0 {
		s.changed()
	}
	return fenced, nil
}

func (s *Store) holds(id string) bool {
	return slices.ContainsFunc(s.ordered, func(found *session) bool { return found.row.Holder == id })
}

// Work implements [store.Processes].
func (s *Store) Work(ctx context.Context, q store.WorkQuery) (store.WorkPage, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return store.WorkPage{}, err
	}
	var page store.WorkPage
	for _, found := range s.ordered {
		row := s.view(found)
		switch {
		case row.Index.Due.IsZero(), row.Holder != "" && !row.HolderGone,
			row.ParkedFor(q.Build) != "", !able(row.Index.Needs, q.Can):
		case row.Index.Due.After(q.Now):
			page.Next = earliest(page.Next, row.Index.Due)
		default:
			page.Work = append(page.Work, store.Work{Session: row.ID, Holder: row.Holder, Due: row.Index.Due})
		}
	}
	slices.SortStableFunc(page.Work, func(a, b store.Work) int { return a.Due.Compare(b.Due) })
	if q.Limit > 0 && len(page.Work) > q.Limit {
		page.Work = slices.Clip(page.Work[:q.Limit])
	}
	return page, nil
}

func able(needs []string, can func(string) bool) bool {
	return can == nil || !slices.ContainsFunc(needs, func(need string) bool { return !can(need) })
}

// summed adds usage to usage of the same day.
func summed(a, b store.UsageDelta) store.UsageDelta {
	return store.UsageDelta{
		Day:       cmp.Or(a.Day, b.Day),
		Turns:     a.Turns + b.Turns,
		Input:     a.Input + b.Input,
		Cached:    a.Cached + b.Cached,
		Output:    a.Output + b.Output,
		Reasoning: a.Reasoning + b.Reasoning,
		Estimated: a.Estimated || b.Estimated,
	}
}
