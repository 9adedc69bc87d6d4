package openworker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/openworkerai/openworker/api"
)

// DeleteIdleBefore deletes the sessions that no turn is under way in and that nothing was written to since
// before, and returns how many it deleted: retention by age (SE6). Sessions that wait for a person are kept,
// however long they have waited. It may be called at any time and from any process; a session that becomes
// busy meanwhile is kept.
func (h *Harness) DeleteIdleBefore(ctx context.Context, before time.Time) (deleted int, err error) {
	// The list is read to its end first: a deletion would move the pages.
	var ids []string
	for info, err := range h.Sessions(ctx, SessionQuery{Activity: api.Idle, Before: before, Limit: api.MaxPage}) {
		if err != nil {
			return 0, err
		}
		ids = append(ids, info.Reference.Session)
	}
	for _, id := range ids {
		err := h.service.DeleteSession(ctx, id, api.DeleteOptions{IdleBefore: before})
		switch {
		case errors.Is(err, api.ErrSessionBusy), errors.Is(err, api.ErrSessionNotFound):
		case err != nil:
			return deleted, err
		default:
			deleted++
		}
	}
	return deleted, nil
}

// Export writes the session's whole journal to w, one public event as JSON a line, oldest first (SE6).
// Private parts (keys, a provider's own data) are left out.
func (s *Session) Export(ctx context.Context, w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for after := uint64(0); ; {
		page, err := s.service.Events(ctx, api.EventQuery{Session: s.ID(), After: after, Limit: api.MaxPage})
		if err != nil {
			return err
		}
		for _, event := range page.Events {
			if err := encoder.Encode(event); err != nil {
				return api.Errorf(api.CodeInvalidRequest, "the export of session %s could not be written after event %d: %w", s.ID(), after, err)
			}
			after = event.Number
		}
		if !page.More {
			return nil
		}
	}
}
