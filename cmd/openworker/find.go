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
