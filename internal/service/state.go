package service

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// load folds a session's state from the store.
func (s *Service) load(ctx context.Context, session string) (*engine.State, store.Session, error) {
	loaded, err := s.store.Load(ctx, session, engine.SnapshotSchema())
	if err != nil {
		return nil, store.Session{}, s.translate(ctx, session, err)
	}
	state := &engine.State{Session: session}
	if snap := loaded.Snapshot; snap != nil {
		if state, err = engine.Restore(snap.Data); err != nil {
			return nil, loaded.Session, api.Errorf(api.CodeInternal, "%w", err)
		}
	}
	for _, r := range loaded.Records {
		e, err := engine.Decode(engine.Kind(r.Kind), r.Version, r.Data)
		if err == nil {
			state, err = engine.Apply(state, engine.Fact{Number: r.Number, Time: r.Time, Event: e})
		}
		if err != nil {
			return nil, loaded.Session, api.Errorf(api.CodeSessionParked, "session %s cannot be read by this build: %w", session, err)
		}
	}
	return state, loaded.Session, nil
}

// State implements api.Service (SE3): from journal and lease alone, so that every process gives one answer.
func (s *Service) State(ctx context.Context, session string) (api.SessionState, error) {
	if err := s.usable(); err != nil {
		return api.SessionState{}, err
	}
	st, row, err := s.load(ctx, session)
	if err != nil {
		return api.SessionState{}, err
	}
	out := api.SessionState{
		Session: session, Agent: st.Agent.Name, Workspace: st.Workspace, Usage: st.Usage, Metadata: maps.Clone(st.Metadata), Owner: st.Owner,
		Created: st.Created, LastEvent: st.Head, Grants: append([]api.Grant(nil), st.Grants...), Timers: engine.Timers(st), Model: st.Agent.Model,
	}
	if !st.Model.IsZero() {
		out.Model = st.Model
	}
	for _, q := range st.Queue {
		out.Queue = append(out.Queue, q.Run)
	}
	for _, in := range st.Interactions {
		facts, err := s.read(ctx, store.RecordQuery{Session: session, After: in.Number - 1, Until: in.Number, Limit: 1})
		if err != nil {
			return api.SessionState{}, err
		}
		if len(facts) == 1 {
			if public, ok := engine.PublicInteraction(facts[0]); ok {
				s.complete(ctx, session, &public)
				out.Interactions = append(out.Interactions, public)
			}
		}
	}
	out.UnknownActions = engine.UnknownActions(st)
	out.Activity, out.WaitingFor = s.activity(ctx, st, row)
	if st.Turn != nil {
		out.Run, out.Model = st.Turn.Run, st.Turn.Model
	}
	if out.Activity == api.Running || out.Activity == api.Recovering {
		out.Holder, out.LeaseUntil = row.Holder, row.LeaseUntil
	}
	return out, nil
}

// complete adds the arguments of the call that an interaction is about, where its event lacks them: an outcome was
// stored alone, and what followed from it was derived without the answer at hand. They stand in the answer.
func (s *Service) complete(ctx context.Context, session string, in *api.Interaction) {
	if in.Call == nil || in.Call.Arguments != "" {
		return
	}
	place, _, _ := strings.Cut(strings.TrimPrefix(in.Call.CallID, session+"-c"), "-")
	answer, err := s.named(ctx, session, session+"-c"+place, "-c")
	if err != nil {
		return // a reader copes without
	}
	e, _ := answer.Event.(engine.ModelFinished)
	for _, it := range e.Items {
		if it.CallID == in.Call.CallID {
			in.Call.Arguments = it.Arguments
			if in.Question != nil && in.Question.Text == "" {
				q := engine.ParseQuestion(it.Arguments)
				in.Question = &q
			}
		}
	}
}

// activity tells what a session does, and what a waiting one waits for.
func (s *Service) activity(ctx context.Context, st *engine.State, row store.Session) (api.Activity, []api.WaitReason) {
	if st.Turn == nil && len(st.Queue) == 0 {
		return api.Idle, nil
	}
	var reasons []api.WaitReason
	for _, in := range st.Interactions {
		reasons = append(reasons, api.WaitReason{Interaction: in.ID})
	}
	now := time.Now()
	due := engine.Due(st)
	if due.IsZero() {
		return api.Waiting, reasons
	}
	if due.After(now) && due.After(st.Time) {
		return api.Waiting, append(reasons, api.WaitReason{Until: due})
	}
	live := row.Holder != "" && !row.HolderGone && row.LeaseUntil.After(now)
	if !live || row.Holder == s.runtime.Process() {
		// This process is the one that would go on, or is at it: what it lacks is what the session waits for.
		if missing := s.registry.Missing(ctx, engine.Needs(st)); len(missing) > 0 {
			return api.Waiting, append(missing, reasons...)
		}
	}
	if live {
		return api.Running, nil
	}
	return api.Recovering, nil
}

// Interactions implements api.Service (SE8).
func (s *Service) Interactions(ctx context.Context, q api.InteractionQuery) (api.InteractionPage, error) {
	if err := s.usable(); err != nil {
		return api.InteractionPage{}, err
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return api.InteractionPage{}, err
	}
	rows, next, err := s.store.Interactions(ctx, q.Owner, q.Cursor, limit)
	if err != nil {
		return api.InteractionPage{}, s.translate(ctx, "", err)
	}
	page := api.InteractionPage{Interactions: []api.SessionInteraction{}, Next: next}
	for _, row := range rows {
		in := api.SessionInteraction{Session: row.Session}
		if err := json.Unmarshal(row.Data, &in.Interaction); err != nil {
			return api.InteractionPage{}, api.Errorf(api.CodeStoreCorrupt, "interaction %s cannot be read: %w", row.ID, err)
		}
		s.complete(ctx, row.Session, &in.Interaction)
		page.Interactions = append(page.Interactions, in)
	}
	return page, nil
}

// Usage implements api.Service (SE8).
func (s *Service) Usage(ctx context.Context, q api.UsageQuery) ([]api.UsageRow, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	rows, err := s.store.Usage(ctx, q.Owner, q.Since)
	if err != nil {
		return nil, s.translate(ctx, "", err)
	}
	out := make([]api.UsageRow, len(rows))
	for i, r := range rows {
		out[i] = api.UsageRow{Agent: r.Agent, Day: r.Day, Turns: r.Turns, Usage: api.Usage{InputTokens: r.Input, CachedInputTokens: r.Cached,
			OutputTokens: r.Output, ReasoningTokens: r.Reasoning, Estimated: r.Estimated}}
	}
	return out, nil
}
