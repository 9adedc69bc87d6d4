package engine

import (
	"cmp"
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
	textOutputLost  = "This action took effect, but its process ended before its output was stored, and the output is lost. Do not repeat the action to get it."
	textErrorLost   = "This action failed, and its process ended before what it reported was stored."
	textDenied      = "A person denied this action. Do not retry it and do not try to reach the same effect in another way."
	textReviewed    = "The review of this action denied it. Do not retry it and do not try to reach the same effect in another way."
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
				d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Output: c.Output, Code: c.Code, Checks: c.Checks})
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
	if t := d.s.Turn; t != nil {
		if tc := t.tool(c.CallID); tc != nil && tc.Status == ToolScreening && tc.Attempt == c.Attempt && tc.Epoch == c.Epoch {
			d.outputLost(t, *tc) // nobody has it any more
			d.advance()
			return
		}
	}
	t, tc := d.runningCall(c.CallID, c.Attempt, c.Epoch)
	if tc == nil {
		return
	}
	d.emit(ToolLost{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Again: c.NotStarted || tc.Effect.Repeatable()})
	d.advance()
}

// returned records that a body has returned; its output is stored once hooks and guardrails have seen it.
func (d *decision) returned(c Returned) {
	t, tc := d.runningCall(c.CallID, c.Attempt, c.Epoch)
	if tc == nil {
		return
	}
	d.emit(ToolReturned{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Failed: c.Code != ""})
}

// outputLost gives a call whose output is lost its result.
func (d *decision) outputLost(t *Turn, c ToolCall) {
	out := ToolFinished{Run: t.Run, CallID: c.ID, Attempt: c.Attempt, Output: textOutputLost, Code: api.CodeOutputLost}
	if c.Failed {
		out.Output, out.Code = textErrorLost, api.CodeToolFailed
	}
	d.emit(out)
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
		d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Output: c.Output, Code: c.Code, Checks: c.Checks})
	case c.Answer == InspectedFailed:
		d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Output: c.Output, Code: cmp.Or(c.Code, api.CodeToolFailed), Checks: c.Checks})
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
