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
		case len(begun) > maxTold:
			err = api.Errorf(api.CodeInvalidRequest, "more than %d sessions begin with %s: %s and others; give more of the ID", maxTold, id, strings.Join(begun[:maxTold], ", "))
		case len(begun) > 1:
			err = api.Errorf(api.CodeInvalidRequest, "%d sessions begin with %s: %s; give more of the ID", len(begun), id, strings.Join(begun, ", "))
		}
	}
	ref.Store, ref.Agent = capabilities.Store, state.Agent
	return ref, state, err
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

// findInteraction finds an open interaction by its ID, or by how that begins, where only one does. One that was resolved
// is found by its whole ID, with how; that is nil for an open one. Errors: interaction_not_found, and invalid_request for
// what several begin with.
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
	var ids []string
	for _, open := range begun[:min(len(begun), maxTold)] {
		ids = append(ids, open.ID)
	}
	switch {
	case len(begun) == 1:
		return begun[0], nil, nil
	case len(begun) > maxTold:
		return found, nil, api.Errorf(api.CodeInvalidRequest, "more than %d IDs begin with %s: %s and others; give more of it", maxTold, id, strings.Join(ids, ", "))
	case len(begun) > 1:
		return found, nil, api.Errorf(api.CodeInvalidRequest, "%d IDs begin with %s: %s; give more of it", len(begun), id, strings.Join(ids, ", "))
	}
	if found, how, err := resolvedBefore(ctx, h, id); err != nil || how != nil {
		return found, how, err
	}
	return found, nil, api.Errorf(api.CodeInteractionNotFound, "nothing that waits for an answer has the ID %q", id)
}

// resolvedBefore looks for an interaction that was resolved in the journal of its session, which its ID begins with. how
// is nil where there is none.
func resolvedBefore(ctx context.Context, h *openworker.Harness, id string) (found openworker.SessionInteraction, how *api.InteractionResolved, err error) {
	at := strings.LastIndexByte(id, '-')
	if at < 0 {
		return found, nil, nil
	}
	for query := (api.EventQuery{Session: id[:at], Limit: api.MaxPage}); how == nil; {
		page, err := h.Service().Events(ctx, query)
		if gone(err) || err == nil && len(page.Events) == 0 {
			return found, nil, nil
		}
		if err != nil {
			return found, nil, err
		}
		for _, e := range page.Events {
			query.After = e.Number
			if d, ok := decode[api.InteractionRequired](e); ok && e.Type == api.EventInteractionRequired && d.ID == id {
				found = openworker.SessionInteraction{Session: query.Session, Interaction: api.Interaction{ID: d.ID, Kind: d.Kind, Run: e.Run, Call: d.Call,
					Question: d.Question, Review: d.Review, Origin: d.Origin, Asked: e.Time}}
			}
			if d, ok := decode[api.InteractionResolved](e); ok && e.Type == api.EventInteractionResolved && d.ID == id {
				how = &d
			}
		}
	}
	return found, how, nil
}
