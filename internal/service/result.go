package service

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/store"
)

// maxKeptAnswer bounds an answer that is kept while a result waits to be made. A longer one is read again then.
const maxKeptAnswer = 16 << 10

// Result implements api.Service (RU2, RU3).
func (s *Service) Result(ctx context.Context, session, run string) (api.Result, error) {
	return s.ResultWhen(ctx, session, run, func(context.Context) error { return nil })
}

// ResultWhen is Result for those who wait for many runs: a result may have megabytes, and is made when ready has returned,
// which is called once the run has ended or waits, and perhaps again. An error of ready is returned.
func (s *Service) ResultWhen(ctx context.Context, session, run string, ready func(ctx context.Context) error) (api.Result, error) {
	if err := s.usable(); err != nil {
		return api.Result{}, err
	}
	// First watch, then look: an end in between is not missed.
	sub := s.runtime.Subscribe(session)
	defer sub.Close()
	// Whether the run ended or waits may have been missed: ask the store. Not where this process is at it.
	look := !s.runtime.Works(session, run)
	if look {
		if _, err := s.Run(ctx, session, run); err != nil {
			return api.Result{}, err
		}
	}
	var answer api.Event
	ticker := time.NewTicker(waitCheck)
	defer ticker.Stop()
	for {
		items, behind := sub.Take()
		look = look || behind
		for _, item := range items {
			switch e := item.Event; {
			case e.Type == api.EventModelCallFinished && e.Run == run:
				answer = e
			case e.Type == api.EventTurnEnded && e.Run == run:
				sub.Close() // what comes later is not kept while this waits
				if len(answer.Data) > maxKeptAnswer {
					answer = api.Event{}
				}
				if err := ready(ctx); err != nil {
					return api.Result{}, err
				}
				return s.resultOf(ctx, session, e, answer)
			case e.Type == api.EventSessionDeleted:
				return api.Result{}, api.Errorf(api.CodeSessionDeleted, "session %s was deleted", session)
			}
			look = look || item.Waits
		}
		if look {
			look = false
			if r, done, err := s.standing(ctx, session, run, ready); done || err != nil {
				return r, err
			}
		}
		select {
		case <-sub.Wake():
		case <-ticker.C:
			look = true
		case <-ctx.Done():
			return api.Result{}, api.Errorf(api.CodeCancelled, "the caller stopped waiting for run %s, which goes on: %w", run, context.Cause(ctx))
		}
		if sub.Closed() {
			return api.Result{}, api.Errorf(api.CodeClosed, "the harness was closed; run %s goes on when the store is opened again", run)
		}
	}
}

// resultOf makes the result of a terminal event; answer is the last model_call_finished that was seen.
func (s *Service) resultOf(ctx context.Context, session string, terminal, answer api.Event) (api.Result, error) {
	var end api.TurnEnded
	if err := json.Unmarshal(terminal.Data, &end); err != nil {
		return api.Result{}, api.Errorf(api.CodeInternal, "the end of run %s cannot be read: %w", terminal.Run, err)
	}
	r := api.Result{Run: terminal.Run, Status: end.Status, Error: end.Error, Usage: end.Usage, AuxiliaryUsage: end.AuxiliaryUsage, ModelCalls: end.ModelCalls, AutoApproved: end.AutoApproved}
	var text api.ModelCallFinished
	if answer.Number == end.Answer && answer.Number != 0 && json.Unmarshal(answer.Data, &text) == nil {
		return answered(r, text.Text), nil
	}
	return s.withAnswer(ctx, session, r, end.Answer)
}

// standing asks the store whether a run has ended or waits.
func (s *Service) standing(ctx context.Context, session, run string, ready func(context.Context) error) (api.Result, bool, error) {
	row, err := s.store.Session(ctx, session)
	if err != nil {
		return api.Result{}, false, s.translate(ctx, session, err)
	}
	waits, err := s.waits(ctx, session, row.Head)
	if err != nil {
		return api.Result{}, false, err
	}
	if r, ended, err := s.ended(ctx, session, run, ready); ended || err != nil {
		return r, true, err
	}
	if !waits {
		return api.Result{}, false, nil
	}
	if err := ready(ctx); err != nil {
		return api.Result{}, true, err
	}
	r, err := s.interrupted(ctx, session, run, ready)
	return r, true, err
}

// ended gives the result of a run that has ended.
func (s *Service) ended(ctx context.Context, session, run string, ready func(context.Context) error) (api.Result, bool, error) {
	record, err := s.store.Terminal(ctx, session, run)
	if errors.Is(err, store.ErrNotFound) {
		return api.Result{}, false, nil
	}
	if err != nil {
		return api.Result{}, false, s.translate(ctx, session, err)
	}
	e, err := engine.Decode(engine.Kind(record.Kind), record.Version, record.Data)
	if err != nil {
		return api.Result{}, false, api.Errorf(api.CodeSessionParked, "the end of run %s cannot be read by this build: %w", run, err)
	}
	end := e.(engine.TurnEnded)
	if err := ready(ctx); err != nil {
		return api.Result{}, true, err
	}
	r := api.Result{Run: run, Status: end.Status, Error: end.Failure(), Usage: end.Usage, AuxiliaryUsage: end.Auxiliary, ModelCalls: end.Calls, AutoApproved: end.AutoApproved}
	r, err = s.withAnswer(ctx, session, r, end.Answer)
	return r, true, err
}

// withAnswer completes a result by the answer in an event, 0 for none.
func (s *Service) withAnswer(ctx context.Context, session string, r api.Result, number uint64) (api.Result, error) {
	if number == 0 {
		return r, nil
	}
	facts, err := s.read(ctx, store.RecordQuery{Session: session, After: number - 1, Until: number, Limit: 1})
	if err != nil || len(facts) == 0 {
		return r, err
	}
	answer, _ := facts[0].Event.(engine.ModelFinished)
	return answered(r, answer.Text()), nil
}

func answered(r api.Result, text string) api.Result {
	if r.Text = text; text != "" {
		r.Content = []api.ContentBlock{api.TextBlock(text)}
	}
	return r
}

// interrupted gives where a run stands that waits.
func (s *Service) interrupted(ctx context.Context, session, run string, ready func(context.Context) error) (api.Result, error) {
	st, row, err := s.load(ctx, session)
	if err != nil {
		return api.Result{}, err
	}
	if r, ended, err := s.ended(ctx, session, run, ready); ended || err != nil {
		return r, err // it was answered and ended in the meantime
	}
	r := api.Result{Run: run, Status: api.StatusInterrupted}
	_, r.WaitingFor = s.activity(ctx, st, row)
	if st.Turn == nil || st.Turn.Run != run {
		return r, nil // it is queued behind the run that waits
	}
	state, err := s.State(ctx, session)
	if err != nil {
		return api.Result{}, err
	}
	r.Interactions, r.Usage, r.AuxiliaryUsage, r.ModelCalls, r.AutoApproved = state.Interactions, st.Turn.Usage, st.Turn.Auxiliary, st.Turn.Calls, st.Turn.AutoApproved
	return s.withAnswer(ctx, session, r, st.Turn.Answer)
}
