package engine

import (
	"cmp"
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

// modelDone records an answer with a verdict on each call, and what follows from it.
func (d *decision) modelDone(c ModelDone) {
	t := d.s.Turn
	if t == nil || !t.runs(c.Run, c.Call, c.Attempt, c.Epoch) {
		return
	}
	e := ModelFinished{Run: c.Run, Call: c.Call, Attempt: c.Attempt, Epoch: c.Epoch, Stop: cmp.Or(c.Stop, StopEnd), Usage: c.Usage}
	n := 0
	for _, it := range c.Items {
		if it.Kind == ItemCall {
			n++
			it.CallID = fmt.Sprintf("%s-c%d-%d", d.s.Session, d.next(), n)
			d.judge(&it, c.Stop, t.Call.Closing)
		} else if it.Text == "" && it.Private == nil {
			continue // it says nothing, and providers refuse it in a request
		}
		e.Items = append(e.Items, it)
	}
	d.emit(e)
	if d.err != nil || t.Cancel {
		d.advance()
		return
	}
	for _, it := range e.Items {
		if it.Kind == ItemCall && it.Code == "" && it.Approved == "" {
			d.ask(it.CallID, api.InteractionApproval, it.Arguments)
		}
	}
	d.advance()
}

// ask opens an interaction about a call. A reader copes without the arguments: they stand in the answer.
func (d *decision) ask(callID string, kind api.InteractionKind, arguments string) {
	c := d.s.Turn.tool(callID)
	d.emit(InteractionRequired{Run: d.s.Turn.Run, ID: fmt.Sprintf("%s-i%d", d.s.Session, d.next()), Interaction: kind,
		CallID: callID, Name: c.Name, Arguments: arguments, Attempt: c.Attempt})
}

// conclude ends the run if its last answer was the last word.
func (d *decision) conclude() {
	t := d.s.Turn
	status := api.StatusCompleted
	switch {
	case t.Stop == StopFiltered:
		d.end(api.StatusFailed, api.CodeContentFiltered, "the provider's content filter stopped the answer", false)
		return
	case t.Call.Closing && (t.Calls > 1 || t.Stop == StopOutputLimit):
		status = api.StatusLimitReached
	case t.Call.Closing:
	case len(t.Tools) > 0:
		return
	case t.Stop == StopOutputLimit:
		status = api.StatusLimitReached // the answer is there, but cut: told as such
	}
	d.end(status, "", "", false)
}

// judge decides whether a call may run and who has to agree (AP2, RU8).
func (d *decision) judge(it *Item, stop string, closing bool) {
	refuse := func(code api.Code, format string, args ...any) {
		it.Code, it.Message = code, fmt.Sprintf(format, args...)
	}
	known := d.s.Agent.byModelName(it.Name)
	it.Approved = ""
	switch {
	case stop == StopOutputLimit:
		refuse(api.CodeCallCutOff, "Not run: the answer was cut off at its output limit, so this call may be incomplete. Make the call again with a shorter answer, or with less in each call.")
	case stop == StopFiltered:
		refuse(api.CodeContentFiltered, "Not run: the provider's content filter stopped the answer, so this call may be incomplete.")
	case known == nil:
		refuse(api.CodeUnknownTool, "Not run: there is no tool %.80q. Use only the tools that are declared.", it.Name)
	case known.Disabled:
		refuse(api.CodeToolDisabled, "Not run: the tool %q is off for this agent.", it.Name)
	case closing:
		refuse(api.CodeToolDisabled, "Not run: the turn's limit is reached, no tool can be used any more.")
	case it.Code != "": // the host found the arguments wrong
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
	t := d.s.Turn
	if t == nil || !t.runs(c.Run, c.Call, c.Attempt, c.Epoch) {
		return
	}
	e := ModelFailed{Run: c.Run, Call: c.Call, Attempt: c.Attempt, Epoch: c.Epoch, Code: c.Code, Message: c.Message, Usage: c.Usage, Lost: c.Cancelled}
	failures := t.Call.Failures + 1
	switch {
	case c.Cancelled || t.Cancel:
	case c.Retryable && failures < api.MaxModelAttempts:
		e.RetryAt = d.env.Now.Add(max(c.RetryAfter, retryDelay(failures, d.env.Jitter))).Truncate(time.Millisecond)
	default:
		e.Final, e.Retryable = true, c.Retryable
		if c.Retryable {
			e.Message = fmt.Sprintf("%d attempts failed; the last: %s", failures, c.Message)
		}
	}
	d.emit(e)
	d.advance()
}
