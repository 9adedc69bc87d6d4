package main

import (
	"context"
	"strings"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// minPrefix is how much of a session's ID must be given at least.
const minPrefix = 4

// maxTold bounds the sessions that an error lists.
const maxTold = 5

// findSession finds a session by its ID, or by how that begins, where only one does. Errors: session_not_found,
// session_deleted, and invalid_request for what several begin with.
func findSession(ctx context.Context, h *openworker.Harness, id string) (openworker.SessionReference, openworker.SessionState, error) {
	ref := openworker.SessionReference{Session: id}
	capabilities, err := h.Service().Capabilities(ctx)
	if err != nil {
		return ref, openworker.SessionState{}, err
	}
	state, err := h.Service().State(ctx, id)
	if api.CodeOf(err) == api.CodeSessionNotFound && len(id) >= minPrefix {
		begun, failed := beginning(ctx, h, id)
		switch {
		case failed != nil:
			err = failed
		case len(begun) == 1:
			ref.Session = begun[0]
			state, err = h.Service().State(ctx, begun[0])
		case len(begun) > 1:
			err = severalBegin("sessions", id, begun, "openworker sessions")
		}
	}
	ref.Store, ref.Agent = capabilities.Store, state.Agent
	return ref, state, err
}

// ambiguous is the error of a beginning that several IDs have.
type ambiguous struct {
	error
	list string // the command that lists them
}

func (a ambiguous) Unwrap() error { return a.error }

func severalBegin(what, id string, begun []string, list string) error {
	err := api.Errorf(api.CodeInvalidRequest, "%d %s begin with %s: %s; give more of the ID", len(begun), what, id, strings.Join(begun, ", "))
	if len(begun) > maxTold {
		err = api.Errorf(api.CodeInvalidRequest, "more than %d %s begin with %s: %s and others; give more of the ID", maxTold, what, id, strings.Join(begun[:maxTold], ", "))
	}
	return ambiguous{err, list}
}

// beginning are the sessions whose ID begins so, up to one more than are told.
func beginning(ctx context.Context, h *openworker.Harness, prefix string) (ids []string, err error) {
	for info, err := range h.Sessions(ctx, openworker.SessionQuery{Limit: api.MaxPage}) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(info.Reference.Session, prefix) {
			if ids = append(ids, info.Reference.Session); len(ids) > maxTold {
				break
			}
		}
	}
	return ids, nil
}

// findInteraction finds an interaction by its ID, or by how that begins, where only one of the open ones does, or else of
// those that were resolved: with how, which is nil for an open one. Errors: interaction_not_found, and invalid_request
// for what several begin with.
func findInteraction(ctx context.Context, h *openworker.Harness, owner, id string) (found openworker.SessionInteraction, how *api.InteractionResolved, err error) {
	var begun []openworker.SessionInteraction
	for open, err := range h.Interactions(ctx, openworker.InteractionQuery{Owner: owner, Limit: api.MaxPage}) {
		switch {
		case err != nil:
			return found, nil, err
		case open.ID == id:
			return open, nil, nil
		case len(id) >= minPrefix && strings.HasPrefix(open.ID, id):
			begun = append(begun, open)
		}
	}
	switch {
	case len(begun) == 1:
		return begun[0], nil, nil
	case len(begun) > 1:
		var ids []string
		for _, open := range begun {
			ids = append(ids, open.ID)
		}
		return found, nil, severalBegin("IDs", id, ids, "openworker approvals")
	}
	if found, how, err := resolvedBefore(ctx, h, owner, id); err != nil || how != nil {
		return found, how, err
	}
	return found, nil, api.Errorf(api.CodeInteractionNotFound, "nothing that waits for an answer has the ID %q", id)
}

// settled is an interaction that was resolved, and how.
type settled struct {
	openworker.SessionInteraction
	how api.InteractionResolved
}

// resolvedBefore looks for an interaction that was resolved in the journals of the sessions that its ID, or how that
// begins, can be of. how is nil where there is none.
func resolvedBefore(ctx context.Context, h *openworker.Harness, owner, id string) (found openworker.SessionInteraction, how *api.InteractionResolved, err error) {
	var sessions []string
	if at := strings.LastIndexByte(id, '-'); at >= 0 {
		sessions = []string{id[:at]}
	} else if len(id) >= minPrefix {
		if sessions, err = beginning(ctx, h, id); err != nil {
			return found, nil, err
		}
	}
	var begun []settled
	for _, session := range sessions {
		all, err := settledIn(ctx, h, owner, session)
		if err != nil {
			return found, nil, err
		}
		for _, one := range all {
			if one.ID == id {
				return one.SessionInteraction, &one.how, nil
			}
			if strings.HasPrefix(one.ID, id) {
				begun = append(begun, one)
			}
		}
	}
	switch len(begun) {
	case 0:
		return found, nil, nil
	case 1:
		return begun[0].SessionInteraction, &begun[0].how, nil
	}
	var ids []string
	for _, one := range begun {
		ids = append(ids, one.ID)
	}
	return found, nil, severalBegin("IDs that were answered", id, ids, "openworker events "+begun[0].Session)
}

// settledIn are the interactions of a session that were resolved, none where it is gone or another owner's.
func settledIn(ctx context.Context, h *openworker.Harness, owner, session string) (all []settled, err error) {
	state, err := h.Service().State(ctx, session)
	if gone(err) || err == nil && owner != "" && state.Owner != owner {
		return nil, nil
	}
	open := map[string]api.Interaction{}
	for query := (api.EventQuery{Session: session, Limit: api.MaxPage}); err == nil; {
		page, failed := h.Service().Events(ctx, query)
		if failed != nil || len(page.Events) == 0 {
			return all, failed
		}
		for _, e := range page.Events {
			query.After = e.Number
			if d, ok := decode[api.InteractionRequired](e); ok && e.Type == api.EventInteractionRequired {
				open[d.ID] = api.Interaction{ID: d.ID, Kind: d.Kind, Run: e.Run, Call: d.Call, Question: d.Question, Review: d.Review, Origin: d.Origin, Asked: e.Time}
			}
			if d, ok := decode[api.InteractionResolved](e); ok && e.Type == api.EventInteractionResolved {
				all = append(all, settled{openworker.SessionInteraction{Session: session, Interaction: open[d.ID]}, d})
			}
		}
	}
	return nil, err
}
