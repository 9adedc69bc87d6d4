package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/openworkerai/openworker/store"
)

// Register implements [store.Processes]. The process's lock is held from then on, until [Store.Unregister],
// [Store.Close] or the end of the operating system's process, however it comes.
func (s *Store) Register(ctx context.Context, p store.Process) error {
	if err := s.owners.hold(p.ID); err != nil {
		return err
	}
	err := s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		taken := false
		if err := c.query(ctx, `SELECT 1 FROM processes WHERE id = ?1`, func(row) error {
			taken = true
			return nil
		}, p.ID); err != nil || taken {
			return store.ErrExists, err
		}
		return nil, c.exec(ctx, `INSERT INTO processes (id, lease, fenced, host, pid, address) VALUES (?1, ?2, 0, ?3, ?4, ?5)`,
			p.ID, millis(p.LeaseUntil), p.Host, int64(p.PID), p.Address)
	})
	if err != nil { // if it was registered all the same, its free lock lets others fence it
		return errors.Join(err, s.owners.release(p.ID))
	}
	return nil
}

// Renew implements [store.Processes].
func (s *Store) Renew(ctx context.Context, id string, until time.Time) error {
	return s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		key, err := liveProcess(ctx, c, id)
		if err != nil || key == 0 {
			return store.ErrFenced, err
		}
		return nil, c.exec(ctx, `UPDATE processes SET lease = ?2 WHERE key = ?1`, key, millis(until))
	})
}

// Unregister implements [store.Processes].
func (s *Store) Unregister(ctx context.Context, id string) error {
	fenced := false
	err := s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		fenced = false
		key := int64(0)
		if err := c.query(ctx, `SELECT key FROM processes WHERE id = ?1`, func(r row) error {
			key = r.int(0)
			return nil
		}, id); err != nil || key == 0 {
			return nil, err
		}
		holds, err := holdsSessions(ctx, c, key)
		if err != nil {
			return nil, err
		}
		if holds {
			fenced = true
			return nil, c.exec(ctx, `UPDATE processes SET fenced = 1 WHERE key = ?1`, key)
		}
		return nil, c.exec(ctx, `DELETE FROM processes WHERE key = ?1`, key)
	})
	switch {
	case err != nil:
		return err
	case fenced:
		return s.owners.release(id) // the row still names it
	}
	return s.owners.drop(id)
}

// Fence implements [store.Processes]. It also takes up what others removed and did not erase, dead or not.
func (s *Store) Fence(ctx context.Context, self string, now time.Time, margin time.Duration) ([]string, error) {
	// This is asked all the time and mostly finds nothing, so it looks before it takes the write lock.
	found := false
	if err := s.moment(ctx, func(c *conn) error {
		others, err := otherProcesses(background, c, self)
		if err != nil {
			return err
		}
		left, err := hasRemoved(background, c)
		if err != nil {
			return err
		}
		if left {
			s.writer.remind()
		}
		for _, p := range others {
			if !p.fenced {
				found = found || s.proven(p, now, margin)
				continue
			}
			holds, err := holdsSessions(background, c, p.key)
			if err != nil {
				return err
			}
			found = found || !holds
		}
		return nil
	}); err != nil || !found {
		return nil, err
	}
	result := new([]string)
	err := s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		*result, err = s.fence(ctx, c, self, now, margin)
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	return *result, nil
}

type processRow struct {
	key    int64
	id     string
	lease  time.Time
	fenced bool
}

func (s *Store) fence(ctx context.Context, c *conn, self string, now time.Time, margin time.Duration) (fenced []string, err error) {
	others, err := otherProcesses(ctx, c, self)
	if err != nil {
		return nil, err
	}
	for _, p := range others {
		if p.fenced {
			if err := s.forget(ctx, c, p); err != nil {
				return nil, err
			}
			continue
		}
		if s.proven(p, now, margin) {
			if err := c.exec(ctx, `UPDATE processes SET fenced = 1 WHERE key = ?1`, p.key); err != nil {
				return nil, err
			}
			fenced = append(fenced, p.id)
		}
	}
	slices.Sort(fenced)
	return fenced, nil
}

func otherProcesses(ctx context.Context, c *conn, self string) (others []processRow, err error) {
	err = c.query(ctx, `SELECT key, id, lease, fenced FROM processes WHERE id <> ?1 ORDER BY id`, func(r row) error {
		others = append(others, processRow{r.int(0), r.text(1), r.time(2), r.flag(3)})
		return nil
	}, self)
	return others, err
}

// proven reports whether a process is dead, or has been silent for longer than its lease and the margin. What
// the file system says about a lock is no error of the database: such a process is judged by its lease.
func (s *Store) proven(p processRow, now time.Time, margin time.Duration) bool {
	dead, err := s.owners.dead(p.id)
	return dead && err == nil || p.lease.Add(margin).Before(now)
}

// forget removes a fenced process that no session names any more.
func (s *Store) forget(ctx context.Context, c *conn, p processRow) error {
	holds, err := holdsSessions(ctx, c, p.key)
	if err != nil || holds {
		return err
	}
	// Its file says nothing any more, whether this commit succeeds or not: a fenced process stays fenced.
	_ = s.owners.drop(p.id)
	return c.exec(ctx, `DELETE FROM processes WHERE key = ?1`, p.key)
}

// holdsSessions looks at every session's row: a process ends more seldom than a turn begins, so its end
// pays for it instead of an index that every claim would write.
func holdsSessions(ctx context.Context, c *conn, key int64) (holds bool, err error) {
	err = c.query(ctx, `SELECT 1 FROM heads WHERE holder = ?1 LIMIT 1`, func(row) error {
		holds = true
		return nil
	}, key)
	return holds, err
}

// Work implements [store.Processes].
func (s *Store) Work(ctx context.Context, q store.WorkQuery) (store.WorkPage, error) {
	var page store.WorkPage
	full := errors.New("enough")
	err := s.moment(ctx, func(c *conn) error {
		err := eachDue(c, `h.due <= ?1`, q, func(w store.Work) error {
			page.Work = append(page.Work, w)
			if len(page.Work) == q.Limit {
				return full
			}
			return nil
		})
		if err == nil || errors.Is(err, full) {
			err = eachDue(c, `h.due > ?1`, q, func(w store.Work) error {
				page.Next = w.Due
				return full
			})
		}
		if errors.Is(err, full) {
			return nil
		}
		return err
	})
	return page, err
}

// eachDue goes through the sessions that a query may claim, in order of their being due.
func eachDue(c *conn, due string, q store.WorkQuery, each func(store.Work) error) error {
	return c.query(background, `SELECT s.id, p.id, h.due, h.needs FROM heads h INDEXED BY heads_by_due
		JOIN sessions s ON s.key = h.key LEFT JOIN processes p ON p.key = h.holder
		WHERE h.due > 0 AND `+due+` AND (h.holder = 0 OR p.fenced) AND (h.parked = '' OR h.parked_build <> ?2)
		ORDER BY h.due, h.key`, func(r row) error {
		if needs := r.strings(3); q.Can != nil && slices.ContainsFunc(needs, func(need string) bool { return !q.Can(need) }) {
			return nil
		}
		return each(store.Work{Session: r.text(0), Holder: r.text(1), Due: r.time(2)})
	}, millis(q.Now), q.Build)
}
