package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
)

// Why the host ends an effect's context.
var (
	ErrStopped = errors.New("the host stopped the effect") // the turn was cancelled, or the effect is wanted no more
	ErrExpired = errors.New("the process could not renew its lease in time")
	ErrClosing = errors.New("the process is closing")
)

// NotStarted is the last look before a tool's body begins: the outcome of one that must not, or nil. The
// journal's fence stops a late append, not a late body. So the look is on a clock that counts while the
// machine sleeps: live says whether the lease of the start's process is confirmed young enough. cause is why
// the host has ended the context already, nil if it has not.
func NotStarted(s Start, live bool, cause error) engine.Command {
	if cause == nil && (live || s.Effect.Repeatable) {
		return nil
	}
	return engine.Interrupted{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Epoch, NotStarted: true}
}

// ModelOutcome is what an attempt of a model call came to: an answer, or the provider's error. cause is
// why the host ended the attempt, nil if it did not; maxOutput is the request's bound. nil: nothing to store.
func ModelOutcome(agent *Agent, s Start, resp model.Response, err error, cause error, maxOutput int) engine.Command {
	e := s.Effect
	if err == nil {
		return engine.ModelDone{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: s.Epoch, Items: answerItems(agent, resp), Stop: string(resp.Stop), Usage: counted(resp.Usage)}
	}
	if errors.Is(cause, ErrClosing) {
		return nil // taken over at the next start
	}
	f := failureOf(err, resp.Usage, maxOutput)
	fail := engine.ModelError{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: s.Epoch,
		Code: f.code, Message: f.message, Retryable: f.retryable, RetryAfter: f.retryAfter, Usage: f.usage, Window: f.window}
	if cause != nil {
		fail.Cancelled, fail.Code, fail.Message = true, api.CodeCancelled, "the call was cancelled"
		if errors.Is(cause, ErrExpired) {
			fail.Code, fail.Message = api.CodeCallLost, ErrExpired.Error()
		}
	}
	return fail
}

// sound is an error of the program's that can be looked at. A nil pointer of an error's type is an error, which
// Go programs return by mistake, and its methods panic wherever they are called.
func sound(err error) (out error) {
	defer func() {
		if x := recover(); x != nil {
			out = fmt.Errorf("an error of type %T, whose text cannot be had: %v", err, x)
		}
	}()
	if err != nil {
		_ = err.Error()
		_ = errors.Is(err, ErrStopped) // goes through all that it wraps
	}
	return err
}

// maxFailureText bounds what the journal keeps of a provider's message, in bytes.
const maxFailureText = 4_000

// counted is usage as it may be added up: whatever a provider says, a count gives back none of a turn's budget
// and a sum does not run over.
func counted(u api.Usage) api.Usage {
	for _, n := range []*int64{&u.InputTokens, &u.CachedInputTokens, &u.OutputTokens, &u.ReasoningTokens} {
		*n = min(max(*n, 0), 1<<40)
	}
	return u
}

// goneOutcome is what an effect came to whose goroutine was ended under it, as runtime.Goexit does.
func goneOutcome(s Start) engine.Command {
	err := errors.New("the program's code ended the goroutine that it was called in")
	switch s.Effect.Kind {
	case engine.ModelEffect:
		return ModelOutcome(nil, s, model.Response{}, err, nil, 0)
	case engine.ToolEffect:
		return ToolOutcome(s, ToolEnd{Err: err})
	case engine.CompactEffect:
		return SummaryOutcome(s, model.Response{}, nil, err, nil, 0)
	case engine.ReviewEffect:
		return ReviewOutcome(s, policy.ReviewInput{}, model.Response{}, err, nil, api.Usage{})
	case engine.CheckEffect:
		return engine.Checked{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Epoch, Code: api.CodeCheckFailed, Message: textCheckFailed}
	case engine.ScreenEffect:
		failed := api.Errorf(api.CodeHookFailed, "%w", err)
		return engine.ToolOutcome{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Effect.Epoch, Output: withheld(failed, s.Output.Code), Code: failed.Code}
	default:
		return InspectOutcome(s, tool.Inspection{}, err, nil)
	}
}

// ToolEnd is how a tool's body ended.
type ToolEnd struct {
	Output string
	Err    error
	// Cause is why the host ended the body's context, nil if it did not.
	Cause error
	// TimedOut is the attempt's bound if that ended the context, otherwise 0.
	TimedOut time.Duration
	// Abandoned: the body did not come back within its grace, so there is neither output nor error.
	Abandoned bool
}

// WaitsForBody reports whether a body that was told to stop is waited for without a bound: then the
// session's actor counts the grace of a cancelled turn, and a late outcome is still told.
func WaitsForBody(cause error) bool { return errors.Is(cause, ErrStopped) }

// ToolOutcome is what an attempt of a tool came to. nil: nothing to store.
func ToolOutcome(s Start, end ToolEnd) engine.Command {
	e := s.Effect
	out := engine.ToolOutcome{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch}
	interrupted := engine.Interrupted{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch}
	if !end.Abandoned && end.Err == nil {
		out.Output = boundOutput(end.Output)
		return out
	}
	switch {
	case !end.Abandoned && end.Cause != nil && errors.Is(end.Err, tool.ErrNotStarted):
		interrupted.NotStarted = true
		return interrupted
	case errors.Is(end.Cause, ErrClosing):
		return nil
	case end.Abandoned && end.Cause == nil && e.Repeatable:
		out.Code, out.Output = api.CodeToolTimeout, fmt.Sprintf("The tool did not finish within %s and does not react to being stopped.", end.TimedOut)
		return out
	case end.Abandoned, errors.Is(end.Cause, ErrExpired):
		return interrupted
	case errors.Is(end.Err, tool.ErrUnknownOutcome) && (end.Cause != nil || !e.Repeatable): // without a cause the latter would be begun again for ever
		return interrupted
	}
	out.Output, out.Code = boundOutput(end.Err.Error()), api.CodeToolFailed
	var p *panicError
	switch {
	case errors.As(end.Err, &p), api.CodeOf(end.Err) == api.CodeToolPanicked: // the latter in another process
		out.Code = api.CodeToolPanicked
	case end.Cause != nil:
		out.Code = api.CodeCancelled
		out.Output = "The user cancelled the turn while this action ran. The tool reports: " + out.Output
	case end.TimedOut > 0:
		out.Code = api.CodeToolTimeout
		out.Output = fmt.Sprintf("The tool was stopped after %s. It reports: %s", end.TimedOut, out.Output)
	case api.CodeOf(end.Err) == api.CodeArgumentsInvalid:
		out.Code = api.CodeArgumentsInvalid // the schema allows what the body cannot take
	}
	return out
}

// InspectOutcome is what an inspection found. nil: nothing to store, since the host ended it.
func InspectOutcome(s Start, found tool.Inspection, err error, cause error) engine.Command {
	out := engine.Inspected{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Answer: engine.InspectedUnknown, Arguments: s.Call.Arguments}
	if err != nil {
		if cause != nil {
			return nil
		}
		// It could not be asked; that settles nothing, so it is asked again, a bounded number of times.
		out.Answer = engine.InspectedRunning
		return out
	}
	out.Output = boundOutput(found.Output)
	switch found.Outcome {
	case tool.Succeeded:
		out.Answer = engine.InspectedSucceeded
	case tool.Failed:
		out.Answer = engine.InspectedFailed
	case tool.NotStarted:
		out.Answer = engine.InspectedNotStarted
	case tool.StillRunning:
		out.Answer = engine.InspectedRunning
	}
	return out
}
