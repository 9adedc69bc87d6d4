package engine

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
)

// What a model is told where a tool has no word of its own.
const (
	textUnknown = "The outcome of this action is unknown: it had started when its process ended. It may have taken effect. " +
		"Do not repeat it before you have inspected whether it did."
	textCancelUnknown = "The turn was cancelled while this action ran, and it did not stop in time. It may have taken effect. " +
		"Do not repeat it before you have inspected whether it did."
	textInterrupted = "This action was interrupted and was not run again."
	textDenied      = "A person denied this action. Do not retry it and do not try to reach the same effect in another way."
	textFailed      = "A person looked and reports that this action did not take effect."
)

// toolOutcome records what a body came to. A stale one is dropped, unless its call was closed without
// knowing its outcome: then it is a late fact, which the next turn is told.
func (d *decision) toolOutcome(c ToolOutcome) {
	if t := d.s.Turn; t != nil {
		if tc := t.tool(c.CallID); tc != nil && tc.Status != ToolDone {
			// Whatever became of the call since (taken over, asked about, allowed again and not yet begun): what
			// the attempt itself reports beats what anybody thinks of it.
			if tc.Attempt > 0 && tc.Attempt == c.Attempt && tc.Epoch == c.Epoch {
				d.withdraw(t.Run, c.CallID)
				d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Output: c.Output, Code: c.Code})
				d.advance()
			}
			return
		}
	}
	for _, u := range d.s.Unsettled {
		if u.CallID == c.CallID && u.Attempt == c.Attempt && u.Epoch == c.Epoch {
			d.emit(ToolLate{Run: u.Run, CallID: c.CallID, Attempt: c.Attempt, Output: c.Output, Code: c.Code})
			return
		}
	}
}

// withdraw closes the interaction about a call that needs no answer any more.
func (d *decision) withdraw(run, callID string) {
	for _, in := range d.s.Interactions {
		if in.CallID == callID {
			d.emit(InteractionResolved{Run: run, ID: in.ID, Decision: api.InteractionCancelled})
			return
		}
	}
}

// runningCall finds the call that an attempt runs for; nil for a stale attempt.
func (d *decision) runningCall(callID string, attempt int, epoch uint64) (*Turn, *ToolCall) {
	t := d.s.Turn
	if t == nil {
		return nil, nil
	}
	c := t.tool(callID)
	if c == nil || c.Status != ToolRunning || c.Attempt != attempt || c.Epoch != epoch {
		return t, nil
	}
	return t, c
}

// overdue closes a cancelled call whose body ignores its context.
func (d *decision) overdue(c Overdue) {
	t, tc := d.runningCall(c.CallID, c.Attempt, c.Epoch)
	if tc == nil || !t.Cancel {
		return
	}
	out := ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Output: textCancelUnknown, Code: api.CodeOutcomeUnknown}
	if tc.Effect == api.ReadOnly {
		out.Output, out.Code = "The user cancelled the turn while this action ran. It changed nothing.", api.CodeCancelled
	}
	d.emit(out)
	d.advance()
}

// interrupted records that nobody waits for a body any more: what it did is found out like after a crash.
func (d *decision) interrupted(c Interrupted) {
	t, tc := d.runningCall(c.CallID, c.Attempt, c.Epoch)
	if tc == nil {
		return
	}
	d.emit(ToolLost{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Again: c.NotStarted || tc.Effect.Repeatable()})
	d.advance()
}

// inspected settles an unknown action, or decides what happens to one that stays unknown (RE3).
func (d *decision) inspected(c Inspected) {
	t := d.s.Turn
	if t == nil {
		return
	}
	tc := t.tool(c.CallID)
	if tc == nil || tc.Status != ToolUnknown || tc.Attempt != c.Attempt {
		return
	}
	event := ToolInspected{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Answer: c.Answer}
	again := c.Answer == InspectedRunning && tc.Inspections+1 < api.MaxInspections
	if again {
		event.Again = d.env.Now.Add(retryDelay(tc.Inspections+1, d.env.Jitter)).Truncate(time.Millisecond)
	}
	if c.Answer != InspectedNone {
		d.emit(event)
	}
	switch {
	case c.Answer == InspectedSucceeded:
		d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Output: c.Output})
	case c.Answer == InspectedFailed:
		d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Output: c.Output, Code: api.CodeToolFailed})
	case c.Answer != InspectedNotStarted && !again:
		d.unknown(c.CallID, c.Arguments)
	}
	d.advance()
}

// unknown applies the agent's rule to an action whose outcome nobody can tell.
func (d *decision) unknown(callID, arguments string) {
	t := d.s.Turn
	if t == nil || d.err != nil {
		return
	}
	c := t.tool(callID)
	if d.s.Agent.UnknownOutcome == api.OutcomeTellModel {
		d.emit(ToolFinished{Run: t.Run, CallID: callID, Attempt: c.Attempt, Output: textUnknown, Code: api.CodeOutcomeUnknown})
		return
	}
	d.ask(callID, api.InteractionUnknownOutcome, arguments)
}

// answer resolves an interaction (AP3).
func (d *decision) answer(c Answer) error {
	a := c.Answer
	in := d.s.interaction(c.Interaction)
	if in == nil {
		for _, r := range d.s.Resolved {
			if r.ID != c.Interaction {
				continue
			}
			if r.Answer == answerKey(a.Decision, a.Reason, a.Output) {
				return nil
			}
			decision, _, _ := strings.Cut(r.Answer, ":")
			return api.Errorf(api.CodeAlreadyResolved, "interaction %s was resolved already, as %q; an answer is final", c.Interaction, decision)
		}
		return api.Errorf(api.CodeInteractionNotFound, "session %s has no open interaction %q; its state lists those that are open", d.s.Session, c.Interaction)
	}
	t := d.s.Turn
	call := *t.tool(in.CallID)
	resolved := InteractionResolved{Run: t.Run, ID: in.ID, Decision: a.Decision, By: a.By, Reason: a.Reason, Output: a.Output}
	finished := ToolFinished{Run: t.Run, CallID: call.ID, Attempt: call.Attempt}
	switch {
	case in.Kind == api.InteractionApproval && (a.Decision == api.AllowOnce || a.Decision == api.AllowSession):
		d.emit(resolved)
	case in.Kind == api.InteractionApproval && a.Decision == api.Deny:
		finished.Output, finished.Code = withReason(textDenied, a.Reason), api.CodeDenied
		d.emit(resolved)
		d.emit(finished)
	case in.Kind == api.InteractionUnknownOutcome && a.Decision == api.OutcomeSucceeded:
		finished.Output = a.Output
		d.emit(resolved)
		d.emit(finished)
	case in.Kind == api.InteractionUnknownOutcome && a.Decision == api.OutcomeFailed:
		finished.Output, finished.Code = withReason(textFailed, a.Reason), api.CodeToolFailed
		d.emit(resolved)
		d.emit(finished)
	case in.Kind == api.InteractionUnknownOutcome && a.Decision == api.OutcomeRetry:
		d.emit(resolved)
	default:
		allowed := `"allow", "allow_session" or "deny"`
		if in.Kind == api.InteractionUnknownOutcome {
			allowed = `"succeeded", "failed" or "retry"`
		}
		return api.Errorf(api.CodeInvalidRequest, "decision %q does not answer interaction %s, which is of kind %s; use %s", a.Decision, in.ID, in.Kind, allowed)
	}
	d.advance()
	return nil
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return fmt.Sprintf("%s The person's reason, as given: %q", text, reason)
}

// answerKey tells equal answers from different ones; who gave it does not matter.
func answerKey(decision api.Decision, reason, output string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(reason))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(output))
	return fmt.Sprintf("%s:%016x", decision, h.Sum64())
}
