package openworker

import (
	"context"
	"errors"

	"github.com/openworkerai/openworker/api"
)

// ErrLeaveOpen is what a handler returns to answer nothing: the interaction stays open, and the run waits for
// whoever answers it later.
var ErrLeaveOpen = errors.New("openworker: leave the interaction open")

// Handler answers an interaction. Its context ends with that of the caller.
type Handler func(ctx context.Context, interaction Interaction) (Answer, error)

// Handlers answer what a run asks for. A nil field leaves that kind open.
type Handlers struct {
	OnApproval       Handler
	OnQuestion       Handler
	OnUnknownOutcome Handler
	// OnEvent gets every event of the run, deltas too, in order.
	OnEvent func(Event)
}

// handler is the one for a kind, nil for none.
func (h Handlers) handler(kind InteractionKind) Handler {
	switch kind {
	case InteractionApproval:
		return h.OnApproval
	case InteractionQuestion:
		return h.OnQuestion
	case InteractionUnknownOutcome:
		return h.OnUnknownOutcome
	}
	return nil
}

// ResultWith goes to the end of the run. Handlers are called one at a time, each when its interaction comes
// up, while the rest of the run goes on; what somebody else answers meanwhile is left at that. A handler's
// error other than [ErrLeaveOpen] ends the call and leaves the run waiting.
//
// The result's status is interrupted if the run waits for what no handler answers: an interaction that was
// left open, or a credential.
func (r *Run) ResultWith(ctx context.Context, handlers Handlers) (Result, error) {
	leftOpen := map[string]bool{}
	for {
		for event, err := range r.Events(ctx) {
			if err != nil {
				return Result{}, err
			}
			if handlers.OnEvent != nil {
				handlers.OnEvent(event)
			}
			if event.Type != api.EventInteractionRequired {
				continue
			}
			// By the state and not by the event: a replayed event may be about something answered long ago.
			state, err := r.service.State(ctx, r.reference.Session)
			if err != nil {
				return Result{}, err
			}
			if _, err := r.answer(ctx, handlers, state.Interactions, leftOpen); err != nil {
				return Result{}, err
			}
		}
		result, err := r.Result(ctx)
		if err != nil || result.Status != api.StatusInterrupted {
			return result, err
		}
		answered, err := r.answer(ctx, handlers, result.Interactions, leftOpen)
		if err != nil {
			return Result{}, err
		}
		if !answered {
			return result, nil
		}
	}
}

// answer lets the handlers answer what is open of this run, and says whether anything was.
func (r *Run) answer(ctx context.Context, handlers Handlers, open []Interaction, leftOpen map[string]bool) (answered bool, err error) {
	for _, interaction := range open {
		handle := handlers.handler(interaction.Kind)
		if interaction.Run != r.reference.Run || handle == nil || leftOpen[interaction.ID] {
			continue
		}
		answer, err := handle(ctx, interaction)
		if errors.Is(err, ErrLeaveOpen) {
			leftOpen[interaction.ID] = true
			continue
		}
		if err != nil {
			return answered, err
		}
		err = r.service.Resolve(ctx, r.reference.Session, interaction.ID, answer)
		switch api.CodeOf(err) {
		case "", api.CodeAlreadyResolved, api.CodeInteractionNotFound:
			answered = true // by us, by somebody else, or by the turn's cancellation
		default:
			return answered, err
		}
	}
	return answered, nil
}
