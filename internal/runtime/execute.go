package runtime

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
	"github.com/openworkerai/openworker/tool"
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
	case engine.CompactEffect:
		return r.summarise(ctx, agent, s)
	case engine.ReviewEffect:
		return r.review(ctx, agent, s)
	case engine.CheckEffect:
		return r.check(ctx, agent, s)
	case engine.ScreenEffect:
		return r.screenOutput(ctx, agent, s)
	default:
		return r.inspect(ctx, agent, s)
	}
}

func (r *Runtime) callModel(ctx context.Context, agent *Agent, s Start) engine.Command {
	e, session := s.Effect, s.State.Session
	req, w := BuildRequest(agent, s), r.watchOver(agent, s)
	out := r.ask(ctx, w, guard.PurposeTurn, s.State.Turn.Model, func(ctx context.Context) (model.Request, []api.GuardVerdict, *api.Error) {
		whole, refused := r.withFiles(ctx, session, req)
		if refused != nil {
			return model.Request{}, nil, refused
		}
		return policy.ScreenRequest(ctx, w.guardrails, w.context, requestInput(agent, s, whole), s.Memo)
	}, func(d model.Delta) {
		if ctx.Err() == nil && d.Text != "" {
			r.hub.Delta(session, e.Run, d.Reasoning, api.Delta{Call: e.Call, Attempt: e.Attempt, Epoch: s.Epoch, Text: d.Text})
		}
	})
	cmd := ModelOutcome(agent, s, out.resp, out.err, context.Cause(ctx), req.MaxOutputTokens)
	switch c := cmd.(type) {
	case engine.ModelDone:
		c.Checks, c.HardChecks = out.checks, r.cfg.Registry.guards.Load().Deny != nil
		return c
	case engine.ModelError:
		c.Checks = out.checks
		return c
	}
	return cmd
}

// requestOf tells of an agent's requests to a model.
func (r *Runtime) requestOf(digest string, m api.ModelRef) RequestFacts {
	facts := RequestFacts{Window: r.facts(m).Window}
	if agent, ok := r.cfg.Registry.Agent(digest); ok {
		facts.Fixed = agent.fixed
		if c := agent.Definition.Compaction; c != nil && c.AdditionalInstructions != nil {
			facts.Guidance = len(*c.AdditionalInstructions)
		}
	}
	return facts
}

func (r *Runtime) runTool(ctx context.Context, agent *Agent, s Start) engine.Command {
	e := s.Effect
	out := engine.ToolOutcome{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch}
	body, call, ok := r.toolCall(agent, s)
	if !ok {
		out.Code, out.Output = api.CodeRegistrationMissing, fmt.Sprintf("Not run: the tool %q is not bound in this process.", agent.declared[s.Call.Name].Name)
		return out
	}
	if no := NotStarted(s, r.live(s.Process), context.Cause(ctx)); no != nil {
		return no
	}
	if !s.Effect.Repeatable {
		call.StartBefore = func() time.Time { return time.Now().Add(r.startWithin(s.Process)) }
	}
	timeout := r.timeout(body)
	bodyCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.failpoint("tool.before")
	type result struct {
		output string
		err    error
	}
	done := make(chan result, 1)
	go func() {
		res := result{err: &panicError{"it ended its goroutine"}} // runtime.Goexit lets nothing run but what is deferred
		defer func() { done <- res }()
		res.output, res.err = Protect(func() (string, error) { return body.Run(bodyCtx, call) })
		r.failpoint("tool.after")
	}()
	end := func(res result) engine.Command {
		how := ToolEnd{Output: res.output, Err: res.err, Cause: context.Cause(ctx)}
		if how.Cause == nil && bodyCtx.Err() != nil {
			how.TimedOut = timeout
		}
		cmd := ToolOutcome(s, how)
		out, ok := cmd.(engine.ToolOutcome)
		switch {
		case !ok:
			return cmd
		case !r.watchOver(agent, s).screens():
			return r.screened(ctx, agent, s, out)
		case how.Cause == nil:
			return engine.Returned{CallID: out.CallID, Attempt: out.Attempt, Epoch: out.Epoch, Output: out.Output, Code: out.Code}
		}
		// Its turn ends: nothing is stored until hooks and guardrails have seen it.
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateScreen)
		defer cancel()
		seen := r.screened(late, agent, s, out)
		if r.quieted() && unscreened(seen.Code) { // nobody is there any more to look at it: that it came is known all the same
			return engine.Returned{CallID: out.CallID, Attempt: out.Attempt, Epoch: out.Epoch, Output: out.Output, Code: out.Code}
		}
		return seen
	}
	select {
	case res := <-done:
		return end(res)
	case <-bodyCtx.Done():
	}
	if WaitsForBody(context.Cause(ctx)) {
		return end(<-done)
	}
	grace := time.NewTimer(r.cfg.CancelGrace)
	defer grace.Stop()
	select {
	case res := <-done:
		return end(res)
	case <-grace.C:
		cause := context.Cause(ctx)
		go func() { // what it says in the end beats what anybody thinks of it until then
			res := <-done
			if late, ok := ToolOutcome(s, ToolEnd{Output: res.output, Err: res.err, Cause: cause, TimedOut: timeout}).(engine.ToolOutcome); ok {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateScreen)
				defer cancel()
				r.tell(s.State.Session, Late{Outcome: r.screened(ctx, agent, s, late)})
			}
		}()
		return ToolOutcome(s, ToolEnd{Cause: cause, TimedOut: timeout, Abandoned: true})
	}
}

func (r *Runtime) inspect(parent context.Context, agent *Agent, s Start) engine.Command {
	e := s.Effect
	out := engine.Inspected{CallID: e.CallID, Attempt: e.Attempt, Answer: engine.InspectedNone, Arguments: s.Call.Arguments}
	body, call, ok := r.toolCall(agent, s)
	inspector, can := body.(tool.Inspector)
	if !ok || !can {
		return out
	}
	timeout := r.timeout(body)
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	r.failpoint("inspect.before")
	found := tool.Inspection{}
	_, err := Protect(func() (string, error) {
		var err error
		found, err = inspector.Inspect(ctx, call)
		return "", err
	})
	r.failpoint("inspect.after")
	if err != nil { // its text is a tool's, which no guardrail has seen
		r.log.Warn("inspection failed", "session", s.State.Session, "call", e.CallID, "tool", call.Tool, "code", api.CodeOf(err))
	}
	cmd := InspectOutcome(s, found, err, context.Cause(parent))
	seen, ok := cmd.(engine.Inspected)
	if w := r.watchOver(agent, s); ok && (seen.Answer == engine.InspectedSucceeded || seen.Answer == engine.InspectedFailed) {
		code := api.Code("")
		if seen.Answer == engine.InspectedFailed {
			code = api.CodeToolFailed
		}
		seen.Output, seen.Code, seen.Checks = w.screen(parent, call.Tool, s.Call.Arguments, seen.Output, code)
		if context.Cause(parent) != nil {
			return nil
		}
		return seen
	}
	return cmd
}

// timeout bounds one attempt of a body.
func (r *Runtime) timeout(body tool.Tool) (timeout time.Duration) {
	_, err := Protect(func() (string, error) {
		timeout = body.Timeout()
		return "", nil
	})
	if err != nil || timeout <= 0 {
		return r.cfg.ToolTimeout
	}
	return timeout
}

// toolCall finds a call's body and what it is told.
func (r *Runtime) toolCall(agent *Agent, s Start) (tool.Tool, tool.Call, bool) {
	declared := agent.declared[s.Call.Name]
	body, ok := r.cfg.Registry.Tool(declared)
	if !ok {
		return nil, tool.Call{}, false
	}
	st := s.State
	return body, tool.Call{
		ID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Epoch, Arguments: []byte(s.Call.Arguments), Tool: declared.Name,
		Session: api.SessionReference{Store: r.cfg.Store.ID(), Session: st.Session, Agent: st.Agent.Name},
		Run:     s.Effect.Run, Agent: agent.Reference, Workspace: st.Workspace, Origin: "agent", Owner: st.Owner, Metadata: maps.Clone(st.Metadata), // it is the program's to change
	}, true
}

type panicError struct{ value any }

func (p *panicError) Error() string { return fmt.Sprintf("the tool panicked: %v", p.value) }

// Protect turns a panic into an error (RU10), and an error that panics into one that does not.
func Protect(f func() (string, error)) (out string, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &panicError{x}
		}
	}()
	out, err = f()
	return out, sound(err)
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
