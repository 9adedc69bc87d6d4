package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

const agentColumns = `owner, name, digest, definition, created`

func (r row) agent() store.Agent {
	return store.Agent{Owner: r.text(0), Name: r.text(1), Digest: r.text(2), Definition: r.bytes(3), Created: r.time(4)}
}

// PutAgent implements [store.Catalogue].
func (s *Store) PutAgent(ctx context.Context, a store.Agent) (store.Agent, bool, error) {
	type outcome struct {
		agent store.Agent
		made  bool
	}
	result := new(outcome)
	err := s.write(ctx, func(ctx context.Context, c *conn) (refusal, err error) {
		*result = outcome{}
		found := false
		if err := c.query(ctx, `SELECT `+agentColumns+` FROM agents WHERE owner = ?1 AND name = ?2`, func(r row) error {
			result.agent, found = r.agent(), true
			return nil
		}, a.Owner, a.Name); err != nil || found {
			return nil, err
		}
		made := a
		made.Created = store.Millis(a.Created)
		*result = outcome{made, true}
		return nil, c.exec(ctx, `INSERT INTO agents (`+agentColumns+`) VALUES (?1, ?2, ?3, ?4, ?5)`,
			a.Owner, a.Name, a.Digest, blob(a.Definition), millis(a.Created))
	})
	if err != nil {
		return store.Agent{}, false, err
	}
	return result.agent, result.made, nil
}

// Agent implements [store.Catalogue].
func (s *Store) Agent(ctx context.Context, owner, name string) (store.Agent, error) {
	return s.oneAgent(ctx, `owner = ?1 AND name = ?2`, owner, name)
}

// AgentByDigest implements [store.Catalogue].
func (s *Store) AgentByDigest(ctx context.Context, digest string) (store.Agent, error) {
	return s.oneAgent(ctx, `digest = ?1 AND ?2 = '' ORDER BY rowid LIMIT 1`, digest, "")
}

func (s *Store) oneAgent(ctx context.Context, where, a, b string) (store.Agent, error) {
	var agent store.Agent
	err := s.read(ctx, func(c *conn) error {
		found := false
		err := c.query(background, `SELECT `+agentColumns+` FROM agents WHERE `+where, func(r row) error {
			agent, found = r.agent(), true
			return nil
		}, a, b)
		if err == nil && !found {
			return store.ErrNotFound
		}
		return err
	})
	return agent, err
}

// Agents implements [store.Lists].
func (s *Store) Agents(ctx context.Context, owner, cursor string, limit int) ([]store.Agent, string, error) {
	var agents []store.Agent
	err := s.read(ctx, func(c *conn) error {
		return c.query(background, `SELECT `+agentColumns+` FROM agents WHERE owner = ?1 AND name > ?2 ORDER BY name LIMIT ?3`, func(r row) error {
			agents = append(agents, r.agent())
			return nil
		}, owner, cursor, oneMore(limit))
	})
	if err != nil || limit <= 0 || len(agents) <= limit {
		return agents, "", err
	}
	agents = agents[:limit]
	return agents, agents[limit-1].Name, nil
}

// Sessions implements [store.Lists]. It looks at the small row of every session and reads the rest of those on the page
// only: an index in order of activity would be written with each append.
func (s *Store) Sessions(ctx context.Context, q store.SessionQuery) ([]store.Session, string, error) {
	updated, key := int64(math.MaxInt64), int64(math.MaxInt64)
	if q.Cursor != "" {
		if _, err := fmt.Sscanf(q.Cursor, "%d.%d", &updated, &key); err != nil || fmt.Sprintf("%d.%d", updated, key) != q.Cursor {
			return nil, "", badCursor(q.Cursor)
		}
	}
	before := int64(math.MaxInt64)
	if !q.Before.IsZero() {
		before = millis(q.Before)
	}
	var rows []store.Session
	var keys []int64
	err := s.read(ctx, func(c *conn) error {
		return c.query(background, `SELECT `+sessionColumns+` FROM (
				SELECT h.key FROM heads h JOIN sessions s ON s.key = h.key
				WHERE s.state = 0 AND (?1 = '' OR s.owner = ?1) AND (?2 = '' OR s.agent = ?2) AND (?3 = '' OR h.activity = ?3)
					AND h.updated < ?4 AND (h.updated, h.key) < (?5, ?6)
				ORDER BY h.updated DESC, h.key DESC LIMIT ?7
			) page CROSS JOIN `+sessionTables+` WHERE s.key = page.key ORDER BY h.updated DESC, h.key DESC`, func(r row) error {
			key, session := r.session()
			rows, keys = append(rows, session), append(keys, key)
			return nil
		}, q.Owner, q.Agent, q.Activity, before, updated, key, oneMore(q.Limit))
	})
	if err != nil || q.Limit <= 0 || len(rows) <= q.Limit {
		return rows, "", err
	}
	rows = rows[:q.Limit]
	return rows, fmt.Sprintf("%d.%d", millis(rows[q.Limit-1].Updated), keys[q.Limit-1]), nil
}

// Interactions implements [store.Lists].
func (s *Store) Interactions(ctx context.Context, owner, cursor string, limit int) ([]store.SessionInteraction, string, error) {
	number := int64(0)
	if cursor != "" {
		if _, err := fmt.Sscan(cursor, &number); err != nil || number < 1 || fmt.Sprint(number) != cursor {
			return nil, "", badCursor(cursor)
		}
	}
	var open []store.SessionInteraction
	var numbers []int64
	err := s.read(ctx, func(c *conn) error {
		return c.query(background, `SELECT i.number, s.id, i.id, i.data FROM interactions i CROSS JOIN sessions s ON s.key = i.session
			WHERE i.number > ?1 AND s.state = 0 AND (?2 = '' OR s.owner = ?2) ORDER BY i.number LIMIT ?3`, func(r row) error {
			numbers = append(numbers, r.int(0))
			open = append(open, store.SessionInteraction{Session: r.text(1), Interaction: store.Interaction{ID: r.text(2), Data: r.bytes(3)}})
			return nil
		}, number, owner, oneMore(limit))
	})
	if err != nil || limit <= 0 || len(open) <= limit {
		return open, "", err
	}
	return open[:limit], fmt.Sprint(numbers[limit-1]), nil
}

// Usage implements [store.Lists].
func (s *Store) Usage(ctx context.Context, owner string, since time.Time) ([]store.Usage, error) {
	day := ""
	if !since.IsZero() {
		day = since.UTC().Format(time.DateOnly)
	}
	var rows []store.Usage
	err := s.read(ctx, func(c *conn) error {
		return c.query(background, `SELECT agent, day, sum(turns), sum(input), sum(cached), sum(output), sum(reasoning), max(estimated)
			FROM usage WHERE (?1 = '' OR owner = ?1) AND day >= ?2 GROUP BY day, agent ORDER BY day, agent`, func(r row) error {
			rows = append(rows, store.Usage{Agent: r.text(0), UsageDelta: store.UsageDelta{
				Day: r.text(1), Turns: r.int(2), Input: r.int(3), Cached: r.int(4), Output: r.int(5), Reasoning: r.int(6),
				Estimated: r.flag(7),
			}})
			return nil
		}, owner, day)
	})
	return rows, err
}

// CreationKey implements [store.Lists].
func (s *Store) CreationKey(ctx context.Context, owner, agent, key string) (session, fingerprint string, err error) {
	err = s.read(ctx, func(c *conn) error {
		err := c.query(background, `SELECT id, fingerprint FROM sessions WHERE owner = ?1 AND agent = ?2 AND creation_key = ?3`, func(r row) error {
			session, fingerprint = r.text(0), r.text(1)
			return nil
		}, owner, agent, key)
		if err == nil && session == "" {
			return store.ErrNotFound
		}
		return err
	})
	return session, fingerprint, err
}

// oneMore is a limit that shows whether there is more behind the page.
func oneMore(limit int) int64 {
	if limit <= 0 {
		return -1
	}
	return int64(limit) + 1
}

func badCursor(cursor string) error {
	return api.Errorf(api.CodeInvalidRequest, "sqlite: %q is no cursor of this list; start from the first page", cursor)
}
