package engine

import (
	"fmt"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Stop reasons of a stored answer.
const (
	StopEnd         = "end"
	StopToolCalls   = "tool_calls"
	StopOutputLimit = "output_limit"
	StopFiltered    = "filtered"
)

// running tells whether an outcome belongs to the attempt that runs; anything else is stale.
func (d *decision) running(run string, call, attempt int, epoch uint64) bool {
	t := d.s.Turn
	return t != nil && t.Run == run && t.Call.Running && t.Calls+1 == call && t.Call.Attempt == attempt && t.Call.Epoch == epoch
}

// modelDone records an answer with a verdict on each call, and what follows from it.
func (d *decision) modelDone(c ModelDone) {
	if !d.running(c.Run, c.Call, c.Attempt, c.Epoch) {
		return
	}
	t := d.s.Turn
	closing, first := t.Call.Closing, c.Call == 1
	e := ModelFinished{Run: c.Run, Call: c.Call, Attempt: c.Attempt, Epoch: c.Epoch, Stop: c.Stop, Usage: c.Usage}
	n := 0
	for _, it := range c.Items {
		if it.Kind == ItemCall {
			n++
			it.CallID = fmt.Sprintf("%s-c%d-%d", d.s.Session, d.next(), n)
			d.judge(&it, c.Stop, closing)
		}
		e.Items = append(e.Items, it)
	}
	d.emit(e)
	if d.err != nil {
		return
	}
	for i := range e.Items {
		it := &e.Items[i]
		switch {
		case it.Kind != ItemCall:
		case it.Code != "":
			d.emit(ToolFinished{Run: c.Run, CallID: it.CallID, Output: it.Message, Code: it.Code})
		case it.Approved == "" && !t.Cancel:
			d.emit(InteractionRequired{Run: c.Run, ID: fmt.Sprintf("%s-i%d", d.s.Session, d.next()), Interaction: api.InteractionApproval,
				CallID: it.CallID, Name: d.s.Turn.tool(it.CallID).Name, Arguments: it.Arguments})
		}
	}
	switch {
	case t.Cancel:
	case c.Stop == StopFiltered && n == 0:
		d.end(api.StatusFailed, api.CodeContentFiltered, "the provider's content filter stopped the answer", false)
	case closing && first && c.Stop != StopOutputLimit:
		d.end(api.StatusCompleted, "", "", false)
	case closing:
		d.end(api.StatusLimitReached, "", "", false)
	case n == 0 && c.Stop == StopOutputLimit:
		// The answer is there, but cut: told as such.
		d.end(api.StatusLimitReached, "", "", false)
	case n == 0:
		d.end(api.StatusCompleted, "", "", false)
	}
	d.advance()
}

// judge decides whether a call may run and who has to agree (AP2, RU8).
func (d *decision) judge(it *Item, stop string, closing bool) {
	refuse := func(code api.Code, format string, args ...any) {
		it.Code, it.Message, it.Approved = code, fmt.Sprintf(format, args...), ""
	}
	known := d.s.Agent.byModelName(it.Name)
	switch {
	case stop == StopOutputLimit:
		refuse(api.CodeCallCutOff, "Not run: the answer was cut off at its output limit, so this call may be incomplete. Make the call again with a shorter answer, or with less in each call.")
	case known == nil:
		refuse(api.CodeUnknownTool, "Not run: there is no tool %q. Use only the tools that are declared.", it.Name)
	case known.Disabled:
		refuse(api.CodeToolDisabled, "Not run: the tool %q is off for this agent.", it.Name)
	case closing:
		refuse(api.CodeToolDisabled, "Not run: the turn's limit is reached, no tool can be used any more.")
	case it.Code != "":
		it.Approved = "" // the host found the arguments wrong
	case d.s.granted(known.Name):
		it.Approved = ApprovedByGrant
	case known.Free:
		it.Approved = ApprovedByBuiltin
	case d.s.Agent.Mode == api.ApproveNever:
		it.Approved = ApprovedByNever
	case !known.Ask:
		it.Approved = ApprovedByPolicy
	}
}

// modelError records a failed attempt and either the time of the next one or the end of the run (LI5).
func (d *decision) modelError(c ModelError) {
	if !d.running(c.Run, c.Call, c.Attempt, c.Epoch) {
		return
	}
	t := d.s.Turn
	e := ModelFailed{Run: c.Run, Call: c.Call, Attempt: c.Attempt, Epoch: c.Epoch, Code: c.Code, Message: c.Message, Usage: c.Usage, Lost: c.Cancelled}
	failures := t.Call.Failures + 1
	retry := c.Retryable && !t.Cancel && failures < api.MaxModelAttempts
	switch {
	case c.Cancelled:
	case retry:
		e.RetryAt = d.env.Now.Add(max(c.RetryAfter, retryDelay(failures, d.env.Jitter))).Truncate(time.Millisecond)
	}
	d.emit(e)
	if d.err != nil {
		return
	}
	switch {
	case t.Cancel || c.Cancelled:
	case !retry:
		message := c.Message
		if c.Retryable {
			message = fmt.Sprintf("%d attempts failed; the last: %s", failures, message)
		}
		d.fail(c.Code, message, c.Retryable)
	case nextCall(t).none:
		// What the failed attempts cost has used up the turn's budget.
		d.end(api.StatusLimitReached, "", "", false)
	}
	d.advance()
}
