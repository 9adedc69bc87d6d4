package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
)

// Why an effect's context ended.
var (
	errStopped = errors.New("the host stopped the effect") // the turn was cancelled, or the effect is wanted no more
	errExpired = errors.New("the process could not renew its lease in time")
	errClosing = errors.New("the process is closing")
)

// execute runs an effect to its outcome. nil: there is nothing to store.
func (r *Runtime) execute(ctx context.Context, s Start) engine.Command {
	agent, ok := r.cfg.Registry.Agent(s.State.Agent.Digest)
	if !ok {
		return nil
	}
	switch s.Effect.Kind {
	case engine.ModelEffect:
		return r.callModel(ctx, agent, s)
	case engine.ToolEffect:
		return r.runTool(ctx, agent, s)
	default:
		return r.inspect(ctx, agent, s)
	}
}

func (r *Runtime) callModel(ctx context.Context, agent *Agent, s Start) engine.Command {
	e := s.Effect
	fail := engine.ModelError{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: s.Epoch}
	ref := s.State.Turn.Model
	provider, ok := r.cfg.Registry.Provider(ref.Provider)
	if !ok {
		fail.Code, fail.Message, fail.Retryable = api.CodeRegistrationMissing, fmt.Sprintf("no provider %q is configured in this process", ref.Provider), true
		return fail
	}
	secret, err := r.cfg.Registry.Credential(ctx, provider)
	if err != nil {
		fail.Code, fail.Message, fail.Retryable = api.CodeCredentialsMissing, api.AsError(err).Message, true
		return fail
	}
	req := buildRequest(agent, s)
	req.Credential = secret
	if check := r.cfg.CheckRequest; check != nil {
		check(req)
	}
	r.failpoint("model.before")
	session := s.State.Session
	resp, err := stream(ctx, provider, req, func(d model.Delta) {
		if ctx.Err() == nil && d.Text != "" {
			r.hub.Delta(session, e.Run, d.Reasoning, api.Delta{Call: e.Call, Attempt: e.Attempt, Epoch: s.Epoch, Text: d.Text})
		}
	})
	r.failpoint("model.after")
	if err == nil {
		return engine.ModelDone{Run: e.Run, Call: e.Call, Attempt: e.Attempt, Epoch: s.Epoch, Items: answerItems(agent, resp), Stop: string(resp.Stop), Usage: resp.Usage}
	}
	if errors.Is(context.Cause(ctx), errClosing) {
		return nil // taken over at the next start
	}
	var me *model.Error
	if !errors.As(err, &me) {
		me = &model.Error{Kind: model.KindUnclassified, Message: err.Error()}
	}
	fail.Code, fail.Message, fail.Retryable, fail.RetryAfter, fail.Usage = me.Code(), me.Message, me.Retryable(), me.RetryAfter, me.Usage
	if fail.Message == "" {
		fail.Message = string(me.Kind)
	}
	if fail.Usage.OutputTokens == 0 && me.Received > 0 {
		// The provider did not say what the part that came cost: about three bytes a token, at most the bound.
		fail.Usage.OutputTokens, fail.Usage.Estimated = int64(min((me.Received+2)/3, max(req.MaxOutputTokens, 1))), true
	}
	if ctx.Err() != nil {
		fail.Cancelled, fail.Code, fail.Message = true, api.CodeCancelled, "the call was cancelled"
		if errors.Is(context.Cause(ctx), errExpired) {
			fail.Code, fail.Message = api.CodeCallLost, errExpired.Error()
		}
	}
	return fail
}

// stream is a provider's Stream whose panics are failures (RU10).
func stream(ctx context.Context, p model.Provider, req model.Request, emit func(model.Delta)) (resp model.Response, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &model.Error{Kind: model.KindUnclassified, Message: fmt.Sprintf("the provider %s panicked: %v", p.Name(), x), Cause: fmt.Errorf("%s", debug.Stack())}
		}
	}()
	return p.Stream(ctx, req, emit)
}

func (r *Runtime) runTool(ctx context.Context, agent *Agent, s Start) engine.Command {
	e := s.Effect
	out := engine.ToolOutcome{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch}
	body, call, ok := r.toolCall(agent, s)
	if !ok {
		out.Code, out.Output = api.CodeRegistrationMissing, fmt.Sprintf("Not run: the tool %q is not bound in this process.", agent.names[s.Call.Name])
		return out
	}
	// The journal's fence stops a late append, not a late body. So the last look before the body is on a
	// clock that counts while the machine sleeps: is our lease confirmed young enough?
	if !e.Repeatable && !r.live() {
		return engine.Interrupted{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch, NotStarted: true}
	}
	timeout := body.Timeout()
	if timeout <= 0 {
		timeout = r.cfg.ToolTimeout
	}
	bodyCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.failpoint("tool.before")
	type result struct {
		output string
		err    error
	}
	done := make(chan result, 1)
	go func() {
		output, err := protect(func() (string, error) { return body.Run(bodyCtx, call) })
		r.failpoint("tool.after")
		done <- result{output, err}
	}()
	var res result
	select {
	case res = <-done:
	case <-bodyCtx.Done():
		if ctx.Err() != nil && errors.Is(context.Cause(ctx), errStopped) {
			res = <-done // the session's actor counts the grace of a cancelled turn
			break
		}
		grace := time.NewTimer(r.cfg.CancelGrace)
		defer grace.Stop()
		select {
		case res = <-done:
		case <-grace.C:
			if ctx.Err() == nil && e.Repeatable {
				out.Code, out.Output = api.CodeToolTimeout, fmt.Sprintf("The tool did not finish within %s and does not react to being stopped.", timeout)
				return out
			}
			if errors.Is(context.Cause(ctx), errClosing) {
				return nil
			}
			return engine.Interrupted{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch}
		}
	}
	if res.err == nil {
		out.Output = boundOutput(res.output)
		return out
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errClosing):
		return nil
	case errors.Is(cause, errExpired):
		return engine.Interrupted{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch}
	}
	out.Output, out.Code = boundOutput(res.err.Error()), api.CodeToolFailed
	var p *panicError
	switch {
	case errors.As(res.err, &p):
		out.Code = api.CodeToolPanicked
	case ctx.Err() != nil:
		out.Code = api.CodeCancelled
		out.Output = "The user cancelled the turn while this action ran. The tool reports: " + out.Output
	case bodyCtx.Err() != nil:
		out.Code = api.CodeToolTimeout
		out.Output = fmt.Sprintf("The tool was stopped after %s. It reports: %s", timeout, out.Output)
	}
	return out
}

func (r *Runtime) inspect(ctx context.Context, agent *Agent, s Start) engine.Command {
	e := s.Effect
	out := engine.Inspected{CallID: e.CallID, Attempt: e.Attempt, Answer: engine.InspectedNone}
	body, call, ok := r.toolCall(agent, s)
	inspector, can := body.(tool.Inspector)
	if !ok || !can {
		return out
	}
	timeout := body.Timeout()
	if timeout <= 0 {
		timeout = r.cfg.ToolTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.failpoint("inspect.before")
	found := tool.Inspection{}
	_, err := protect(func() (string, error) {
		var err error
		found, err = inspector.Inspect(ctx, call)
		return "", err
	})
	r.failpoint("inspect.after")
	if err != nil {
		if ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded {
			return nil
		}
		// It could not be asked; that settles nothing, so it is asked again, a bounded number of times.
		r.log.Warn("inspection failed", "session", s.State.Session, "call", e.CallID, "error", err)
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
	default:
		out.Answer = engine.InspectedUnknown
	}
	return out
}

// toolCall finds a call's body and what it is told.
func (r *Runtime) toolCall(agent *Agent, s Start) (tool.Tool, tool.Call, bool) {
	name := agent.names[s.Call.Name]
	body, ok := r.cfg.Registry.Tool(name)
	if !ok {
		return nil, tool.Call{}, false
	}
	st := s.State
	return body, tool.Call{
		ID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Epoch, Arguments: []byte(s.Call.Arguments), Tool: name,
		Session: api.SessionReference{Store: r.cfg.Store.ID(), Session: st.Session, Agent: st.Agent.Name},
		Run:     s.Effect.Run, Agent: agent.Reference, Workspace: st.Workspace, Origin: "agent", Owner: st.Owner, Metadata: st.Metadata,
	}, true
}

type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprintf("the tool panicked: %v", p.value) }

// protect turns a panic into an error (RU10).
func protect(f func() (string, error)) (out string, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &panicError{x}
		}
	}()
	return f()
}

// boundOutput cuts a result that is too long, with a marker that the model understands.
func boundOutput(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= api.MaxToolOutputBytes {
		return s
	}
	mark := fmt.Sprintf("\n[cut: the output had %d bytes, of which the first %d are shown]", len(s), api.MaxToolOutputBytes-200)
	return strings.ToValidUTF8(s[:api.MaxToolOutputBytes-200], "") + mark
}
