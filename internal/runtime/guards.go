package runtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
)

// Guards are what an application adds to decide on texts, requests and actions. They are the process's, and none is ever
// taken away or changed: a session whose guards are all here stays one.
type Guards struct {
	Guardrails []guard.Guardrail
	Hooks      []guard.Hook
	Deny       guard.Deny // nil: the application has no check of its own
}

// guardrails finds guardrails by name, in the order of the names, each once; missing are those that are not here.
func (g *Guards) guardrails(names []string) (found []guard.Guardrail, missing []string) {
	return byName(g.Guardrails, names, func(r guard.Guardrail) string { return r.Name })
}

func (g *Guards) hooks(names []string) (found []guard.Hook, missing []string) {
	return byName(g.Hooks, names, func(h guard.Hook) string { return h.Name })
}

func byName[T any](registered []T, names []string, name func(T) string) (found []T, missing []string) {
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			continue
		}
		at := slices.IndexFunc(registered, func(t T) bool { return name(t) == n })
		if at < 0 {
			missing = append(missing, n)
			continue
		}
		found = append(found, registered[at])
	}
	return found, missing
}

// BindGuards adds guardrails and hooks, whose names are new: check is given all that there are then, and its error keeps
// things as they were.
func (r *Registry) BindGuards(guardrails []guard.Guardrail, hooks []guard.Hook, check func([]guard.Guardrail, []guard.Hook) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := *r.guards.Load()
	now.Guardrails, now.Hooks = slices.Concat(now.Guardrails, guardrails), slices.Concat(now.Hooks, hooks)
	if err := check(now.Guardrails, now.Hooks); err != nil {
		return err
	}
	r.guards.Store(&now)
	return nil
}

// Guardrails finds the guardrails in force for an agent and a turn, the agent's first.
func (r *Registry) Guardrails(agent, turn []string) (found []guard.Guardrail, missing []string) {
	return r.guards.Load().guardrails(slices.Concat(agent, turn))
}

// GuardNames lists the registered guardrails and hooks.
func (r *Registry) GuardNames() (guardrails, hooks []string) {
	for _, g := range r.guards.Load().Guardrails {
		guardrails = append(guardrails, g.Name)
	}
	for _, h := range r.guards.Load().Hooks {
		hooks = append(hooks, h.Name)
	}
	return guardrails, hooks
}

// watch is what is in force for one effect.
type watch struct {
	guardrails []guard.Guardrail
	hooks      []guard.Hook
	context    guard.Context
}

// watch finds what is in force for an effect. The session is not run where something of it is missing.
func (r *Runtime) watchOver(agent *Agent, s Start) watch {
	st := s.State
	w := watch{context: guard.Context{
		Session: api.SessionReference{Store: r.cfg.Store.ID(), Session: st.Session, Agent: st.Agent.Name}, Run: s.Effect.Run, CallID: s.Effect.CallID,
		Agent: agent.Reference, Workspace: st.Workspace, Origin: "agent", Owner: st.Owner, Metadata: maps.Clone(st.Metadata), // it is the program's to change
	}}
	w.guardrails, _ = r.cfg.Registry.guards.Load().guardrails(slices.Concat(st.Agent.Guardrails, st.Turn.Guardrails))
	w.hooks, _ = r.cfg.Registry.guards.Load().hooks(st.Agent.Hooks)
	return w
}

// screens reports whether hooks or guardrails see a tool's output before anybody else.
func (w watch) screens() bool {
	return policy.Has(w.guardrails, guard.ToolResult) || slices.ContainsFunc(w.hooks, func(h guard.Hook) bool { return h.ToolResult != nil })
}

// screen lets hooks and guardrails see what a tool came to; withheld tells the model that it does not get it. So is it
// with what no later request could be sent with.
func (w watch) screen(ctx context.Context, toolName, arguments, output string, code api.Code) (string, api.Code, []api.GuardVerdict) {
	after, err := policy.AfterTool(ctx, w.hooks, guard.ToolOutput{Context: w.context, Tool: toolName, Arguments: []byte(arguments), Output: output, Code: code})
	if err != nil {
		return withheld(err, code), err.Code, nil
	}
	seen := policy.Fit(w.guardrails, guard.ToolResult, boundOutput(after))
	if seen.Err == nil {
		seen = policy.Screen(ctx, w.guardrails, guard.Unit{Context: w.context, Point: guard.ToolResult, Text: seen.Text, Tool: toolName})
	}
	if seen.Err == nil {
		fit := policy.Fit(w.guardrails, guard.ModelInput, boundOutput(seen.Text))
		seen = policy.Screened{Text: fit.Text, Verdicts: append(seen.Verdicts, fit.Verdicts...), Err: fit.Err}
	}
	if seen.Err != nil {
		return withheld(seen.Err, code), seen.Err.Code, seen.Verdicts
	}
	return seen.Text, code, seen.Verdicts
}

// withheld does not tell the text of an error of the program's: it may quote what is withheld.
func withheld(err *api.Error, code api.Code) string {
	why, guardrail, hook, size := err.Message, err.Details["guardrail"], err.Details["hook"], err.Details["bytes"]
	switch {
	case size != "":
		why = fmt.Sprintf("its %s bytes are more than the %d that guardrail %s can check (%s)", size, api.MaxGuardedBytes, guardrail, err.Code)
	case err.Code == api.CodeGuardrailFailed && guardrail != "":
		why = fmt.Sprintf("guardrail %s let nothing pass (%s)", guardrail, err.Code)
	case err.Code == api.CodeHookFailed && hook != "":
		why = fmt.Sprintf("hook %s failed (%s)", hook, err.Code)
	}
	if code != "" {
		return fmt.Sprintf("This action failed, and what it reported is withheld: %s.", why)
	}
	return fmt.Sprintf("This action was carried out, and its output is withheld: %s. Do not repeat the action to get it.", why)
}

// screenOutput runs the effect that lets hooks and guardrails see an output, which this process has in memory.
func (r *Runtime) screenOutput(ctx context.Context, agent *Agent, s Start) engine.Command {
	w := r.watchOver(agent, s)
	r.failpoint("screen.before")
	out := engine.ToolOutcome{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Effect.Epoch}
	out.Output, out.Code, out.Checks = w.screen(ctx, agent.declared[s.Call.Name].Name, s.Call.Arguments, s.Output.Output, s.Output.Code)
	r.failpoint("screen.after")
	if context.Cause(ctx) != nil {
		return nil // taken over at the next start, without the output
	}
	return out
}

// screened is a tool's outcome with what hooks and guardrails leave of it.
func (r *Runtime) screened(ctx context.Context, agent *Agent, s Start, out engine.ToolOutcome) engine.ToolOutcome {
	out.Output, out.Code, out.Checks = r.watchOver(agent, s).screen(ctx, agent.declared[s.Call.Name].Name, s.Call.Arguments, out.Output, out.Code)
	return out
}

// unscreened reports whether an output has the code of a guard that failed: in a process that closes, that says nothing
// about the guard.
func unscreened(code api.Code) bool {
	return code == api.CodeHookFailed || code == api.CodeGuardrailFailed
}

// check runs the application's own check of a call: before it is decided on, or, with changed arguments, right
// before it starts.
func (r *Runtime) check(ctx context.Context, agent *Agent, s Start) engine.Command {
	e, arguments := s.Effect, s.Call.Arguments
	out := engine.Checked{CallID: e.CallID, Attempt: e.Attempt, Epoch: s.Epoch, Arguments: arguments}
	declared := agent.declared[s.Call.Name]
	if e.Attempt > 0 {
		out.Digest = digest(arguments)
		if err := agent.schemas[s.Call.Name].Validate([]byte(arguments)); err != nil {
			out.Code, out.Message = api.CodeArgumentsInvalid, "Not run: a person changed the arguments, and "+api.AsError(err).Message
			return out
		}
	}
	deny := r.cfg.Registry.guards.Load().Deny
	if deny == nil {
		if e.Attempt == 0 { // the process that had the answer has a check, which has not spoken
			out.Code, out.Message = api.CodeCheckFailed, "Not run: the process that went on with this call lacks the application's check of it. Nobody has refused it."
		}
		return out
	}
	r.failpoint("check.before")
	reason, denied, err := policy.Ask(ctx, deny, guard.ToolAction{Context: r.watchOver(agent, s).context, Tool: declared.Name, Effect: effectOf(declared),
		Arguments: []byte(arguments), Changed: e.Attempt > 0}, api.DefaultCheckTimeout)
	r.failpoint("check.after")
	switch {
	case context.Cause(ctx) != nil:
		return nil // it is asked again, if it is still wanted
	case err != nil:
		r.log.Warn("the application's check failed", "session", s.State.Session, "call", e.CallID, "error", err)
		out.Code, out.Message = err.Code, textCheckFailed
		if err.Code == api.CodeArgumentsInvalid {
			out.Message = err.Message
		}
	case denied:
		out.Code, out.Message = api.CodeDenied, deniedText(reason)
	}
	return out
}

// textCheckFailed tells the model of check_failed, and not why the check failed: that is the program's to know (AP6).
const textCheckFailed = "Not run: the application could not check this action. Nobody has refused it. " +
	"It may be tried again later; if that does not help, tell the user, or ask."

func deniedText(reason string) string {
	text := "The application does not allow this action. Do not retry it and do not try to reach the same effect in another way."
	if reason == "" {
		return text
	}
	return fmt.Sprintf("%s Its reason: %q", text, firstBytes(reason, maxReasonText))
}

// maxReasonText bounds what a model is told of an application's reason, in bytes.
const maxReasonText = 2_000

func effectOf(d api.ToolDeclaration) api.Effect {
	if d.Effect == "" {
		return api.SideEffect
	}
	return d.Effect
}

// lateScreen bounds the look at an output that nobody waits for.
const lateScreen = time.Minute
