package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/runtime"
)

// secret marks what a tool returned and hooks and guardrails are to remove: it is to be found nowhere afterwards.
const secret = "SECRET"

// screens reports whether hooks or guardrails see what a tool returns before anybody else.
func screens(s runtime.Start) bool {
	return len(s.State.Agent.Hooks)+len(s.State.Agent.Guardrails)+len(s.State.Turn.Guardrails) > 0
}

// screen is what hooks and guardrails leave of an output: they redact it, or withhold all of it.
func (w *world) screen(output string, code api.Code) (string, api.Code, []api.GuardVerdict) {
	verdict := func(action string) []api.GuardVerdict {
		return []api.GuardVerdict{{Name: agentGuardrail, Point: "tool_result", Action: action}}
	}
	switch n := w.rng.IntN(20); {
	case n == 0:
		w.saw("output that was blocked")
		return "What it returned is withheld.", api.CodeGuardrailBlocked, verdict("block")
	case n == 1 && !w.calm:
		w.saw("guardrail that failed")
		return "What it returned is withheld.", api.CodeGuardrailFailed, verdict("fail")
	case !strings.Contains(output, secret):
		return output, code, nil
	}
	w.saw("output that was redacted")
	return strings.ReplaceAll(output, secret, "[removed]"), code, verdict("redact")
}

// screenOutput lets hooks and guardrails see an output that the process has in memory.
func (e *effect) screenOutput() {
	p, w, s := e.c.p, e.c.p.w, e.start
	if s.Output.Attempt != s.Effect.Attempt || s.Output.CallID != s.Effect.CallID {
		w.fail("%s is to look at the output of %s attempt %d", e.key, s.Output.CallID, s.Output.Attempt)
	}
	w.after(p, w.looking(), "hooks and guardrails have seen "+e.key, func() {
		if e.cause != nil {
			e.end(nil) // taken over at the next start, without the output
			return
		}
		out := engine.ToolOutcome{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Effect.Epoch}
		out.Output, out.Code, out.Checks = w.screen(s.Output.Output, s.Output.Code)
		e.end(out)
	})
}

// screened is an outcome that nobody waits for in a turn, with what hooks and guardrails leave of it.
func (e *effect) screened(out engine.ToolOutcome) engine.ToolOutcome {
	if screens(e.start) {
		out.Output, out.Code, out.Checks = e.c.p.w.screen(out.Output, out.Code)
	}
	return out
}

// check runs the application's own check of a call: before it is decided on, or, with changed arguments, right
// before it starts.
func (e *effect) check() {
	p, w, s := e.c.p, e.c.p.w, e.start
	arguments := s.Call.Arguments
	out := engine.Checked{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Epoch, Arguments: arguments}
	if s.Effect.Attempt > 0 {
		out.Digest = digest(arguments)
		if err := w.stage.schema.Validate([]byte(arguments)); err != nil {
			w.saw("changed arguments that no tool takes")
			out.Code, out.Message = api.CodeArgumentsInvalid, "Not run: a person changed the arguments to what it does not take."
			e.end(out)
			return
		}
	}
	w.after(p, w.looking(), "the application has looked at "+e.key, func() {
		switch {
		case e.cause != nil:
			e.end(nil) // it is asked again, if it is still wanted
			return
		case !w.checks:
		case w.faulty(0.05):
			out.Code, out.Message = api.CodeCheckFailed, "Not run: the application's check failed."
		case forbidden(arguments):
			w.saw("call that the application denied")
			out.Code, out.Message = api.CodeDenied, "The application does not allow this action."
		}
		if out.Code == "" {
			w.ledger.pass(s)
		}
		e.end(out)
	})
}

// forbidden reports whether the application denies a call with the arguments, where it has a check at all.
func forbidden(arguments string) bool {
	var a struct {
		N int `json:"n"`
	}
	return json.Unmarshal([]byte(arguments), &a) == nil && a.N%7 == 3
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// lacks reports whether a process that lacks the application's hooks and guardrails cannot do with what a session needs.
func lacks(needs []string) bool {
	return slices.ContainsFunc(needs, func(need string) bool {
		return strings.HasPrefix(need, "guardrail:") || strings.HasPrefix(need, "hook:")
	})
}
