package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/store"
)

// PutAgent implements [store.Catalogue].
func (s *Store) PutAgent(ctx context.Context, a store.Agent) (store.Agent, bool, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return store.Agent{}, false, err
	}
	if at := s.agentAt(func(have store.Agent) bool { return have.Owner == a.Owner && have.Name == a.Name }); at >= 0 {
		return s.agents[at], false, nil
	}
	a.Definition, a.Created = slices.Clone(a.Definition), store.Millis(a.Created)
	s.agents = append(s.agents, a)
	s.changed()
	return a, true, nil
}

// Agent implements [store.Catalogue].
func (s *Store) Agent(ctx context.Context, owner, name string) (store.Agent, error) {
	defer s.lock()()
	return s.found(ctx, s.agentAt(func(a store.Agent) bool { return a.Owner == owner && a.Name == name }))
}

// AgentByDigest implements [store.Catalogue].
func (s *Store) AgentByDigest(ctx context.Context, digest string) (store.Agent, error) {
	defer s.lock()()
	return s.found(ctx, s.agentAt(func(a store.Agent) bool { return a.Digest == digest }))
}

func (s *Store) agentAt(which func(store.Agent) bool) int { return slices.IndexFunc(s.agents, which) }

func (s *Store) found(ctx context.Context, at int) (store.Agent, error) {
	if err := ended(ctx); err != nil {
		return store.Agent{}, err
	}
	if at < 0 {
		return store.Agent{}, store.ErrNotFound
	}
	return s.agents[at], nil
}

// Agents implements [store.Lists].
func (s *Store) Agents(ctx context.Context, owner, cursor string, limit int) ([]store.Agent, string, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return nil, "", err
	}
	var agents []store.Agent
	for _, a := range s.agents {
		if a.Owner == owner && a.Name > cursor {
			agents = append(agents, a)
		}
	}
	slices.SortFunc(agents, func(a, b store.Agent) int { return strings.Compare(a.Name, b.Name) })
	agents, last := page(agents, limit)
	if last {
		return agents, "", nil
	}
	return agents, agents[len(agents)-1].Name, nil
}

// Sessions implements [store.Lists].
func (s *Store) Sessions(ctx context.Context, q store.SessionQuery) ([]store.Session, string, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return nil, "", err
	}
	var updated, key int64
	if q.Cursor != "" {
		if _, err := fmt.Sscanf(q.Cursor, "%d.%d", &updated, &key); err != nil || fmt.Sprintf("%d.%d", updated, key) != q.Cursor {
			return nil, "", badCursor(q.Cursor)
		}
	}
	var some []*session
	for _, found := range s.ordered {
		row := found.row
		at := row.Updated.UnixMilli()
		if !row.Deleted &&
			(q.Owner == "" || row.Owner == q.Owner) &&
			(q.Agent == "" || row.Agent == q.Agent) &&
			(q.Activity == "" || row.Index.Activity == q.Activity) &&
			(q.Before.IsZero() || row.Updated.Before(store.Millis(q.Before))) &&
			(q.Cursor == "" || at < updated || at == updated && int64(found.key) < key) {
			some = append(some, found)
		}
	}
	slices.SortFunc(some, func(a, b *session) int {
		return cmp.Or(b.row.Updated.Compare(a.row.Updated), cmp.Compare(b.key, a.key))
	})
	some, last := page(some, q.Limit)
	var rows []store.Session
	next := ""
	for _, found := range some {
		rows = append(rows, s.view(found))
		next = fmt.Sprintf("%d.%d", found.row.Updated.UnixMilli(), found.key)
	}
	if last {
		next = ""
	}
	return rows, next, nil
}

// Interactions implements [store.Lists].
func (s *Store) Interactions(ctx context.Context, owner, cursor string, limit int) ([]store.SessionInteraction, string, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return nil, "", err
	}
	var seq int64
	if cursor != "" {
		if _, err := fmt.Sscan(cursor, &seq); err != nil || seq < 1 || fmt.Sprint(seq) != cursor {
			return nil, "", badCursor(cursor)
		}
	}
	var some []interaction
	for _, in := range s.inbox {
		row := in.session.row
		if in.seq > seq && !row.Deleted && (owner == "" || row.Owner == owner) {
			some = append(some, in)
		}
	}
	some, last := page(some, limit)
	var open []store.SessionInteraction
	next := ""
	for _, in := range some {
		open = append(open, store.SessionInteraction{Session: in.session.row.ID, Interaction: in.Interaction})
		next = fmt.Sprint(in.seq)
	}
	if last {
		next = ""
	}
	return open, next, nil
}

// Usage implements [store.Lists].
func (s *Store) Usage(ctx context.Context, owner string, since time.Time) ([]store.Usage, error) {
	defer s.lock()()
	type agentDay struct{ day, agent string }
	sums := map[agentDay]store.UsageDelta{}
	for key, u := range s.usage {
		if (owner == "" || key.owner == owner) && (since.IsZero() || key.day >= since.UTC().Format(time.DateOnly)) {
			at := agentDay{key.day, key.agent}
			sums[at] = summed(sums[at], u)
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b agentDay) int {
		return cmp.Or(strings.Compare(a.day, b.day), strings.Compare(a.agent, b.agent))
	})
	var rows []store.Usage
	for _, key := range keys {
		rows = append(rows, store.Usage{Agent: key.agent, UsageDelta: sums[key]})
	}
	return rows, ended(ctx)
}

// CreationKey implements [store.Lists].
func (s *Store) CreationKey(ctx context.Context, owner, agent, key string) (string, string, error) {
	defer s.lock()()
	if err := ended(ctx); err != nil {
		return "", "", err
	}
	found := s.creations[creationKey{owner, agent, key}]
	if key == "" || found == nil {
		return "", "", store.ErrNotFound
	}
	return found.row.ID, found.fingerprint, nil
}

// page cuts a list to a limit and reports whether that is all of it. A limit of 0 is no bound.
func page[T any](all []T, limit int) (some []T, last bool) {
	if limit <= 0 || len(all) <= limit {
		return all, true
	}
	return all[:limit:limit], false
}

func badCursor(cursor string) error {
	return api.Errorf(api.CodeInvalidRequest, "memstore: %q is no cursor of this list; start from the first page", cursor)
}
