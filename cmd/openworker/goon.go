package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
)

// goOnWithLatest names the session with messages in which something happened last, also one that another process
// works on.
func (m *Main) goOnWithLatest(ctx context.Context, flags *pflag.FlagSet, s *settings) (err error) {
	for _, other := range []string{"session", "agent", "system", "approve", "no-tools"} {
		if flags.Changed(other) {
			return misused("--%s and --continue exclude each other: the session that something happened in last is gone on with as it is; leave out one of the two", other)
		}
	}
	h, err := m.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closeAfter(h, &err)
	for info, err := range h.Sessions(ctx, openworker.SessionQuery{}) {
		if err != nil {
			return err
		}
		_, found, err := newestTurn(ctx, h, info.Reference.Session, info.LastEvent)
		if err != nil && !gone(err) {
			return err
		}
		if found {
			s.session = info.Reference.Session
			return nil
		}
	}
	return misused("there is no session with a message in %q; leave out --continue to begin one", m.stateDir)
}

// last lets a chat go on with the model of the session's last turn, where nothing else asks for one and it is here.
func (t *talk) last(ctx context.Context, state openworker.SessionState) error {
	if !t.lasts || t.settings.model != "" || t.choice.config.ModelFrom == "OPENWORKER_MODEL" {
		return nil
	}
	turn, found, err := newestTurn(ctx, t.harness, state.Session, state.LastEvent)
	model := turn.Model
	if err != nil || !found || model == state.Model || !t.has(model.Provider) {
		return err
	}
	t.options.Model = &model
	t.choice.who, t.choice.reason = model.String()+" answers, as in the last turn; /model changes it", ""
	if !t.m.Terminal {
		t.choice.who = model.String() + " answers, as in the last turn; --model changes it"
	}
	return nil
}

// newestTurn is a session's newest turn as it was accepted; found is false where there is none, and no imported conversation
// either.
func newestTurn(ctx context.Context, h *openworker.Harness, session string, lastEvent uint64) (turn api.TurnAccepted, found bool, err error) {
	for until := lastEvent; until > 0 && !found; {
		from := until - min(until, api.MaxPage)
		page, err := h.Service().Events(ctx, api.EventQuery{Session: session, After: from, Limit: api.MaxPage})
		if err != nil {
			return turn, false, err
		}
		for _, e := range page.Events {
			if d, ok := decode[api.TurnAccepted](e); ok && e.Type == api.EventTurnAccepted {
				turn, found = d, true
			}
			found = found || e.Type == api.EventHistoryImported
		}
		until = from
	}
	return turn, found, nil
}

// said is which model answers, and why.
func (c choice) said() (text, why string) {
	if c.reason == "" {
		return c.who, ""
	}
	return c.who + " answers", "since " + c.reason
}

// noteFirst tells what is said before the first message.
func (m *Main) noteFirst(text, more string) {
	if more != "" {
		text += ", " + more
	}
	m.note("%s", text)
}
