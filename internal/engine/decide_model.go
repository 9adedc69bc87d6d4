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
	e := ModelFinished{Run: c.Run, Call: c.Call, Attempt: c.Attempt, Epoch: c.Epoch, Stop: cmp.Or(c.Stop, StopEnd), Usage: c.Usage, Checks: c.Checks}
	n := 0
	for _, it := range c.Items {
		if it.Kind == ItemCall {
			n++
			it.CallID = fmt.Sprintf("%s-c%d-%d", d.s.Session, d.next(), n)
			d.judge(&it, c.Stop, t.Call.Closing, c.HardChecks)
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
		if it.Kind == ItemCall && it.Code == "" && it.Approved == "" && !it.Check && !it.Review {
			d.ask(it.CallID, api.InteractionApproval, it.Arguments)
		}
	}
	d.advance()
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

// judge gives a call its ruling (AP2, RU8). checks: the application has a check of its own.
func (d *decision) judge(it *Item, stop string, closing, checks bool) {
	r := d.rule(it.Name, d.s.Agent.byModelName(it.Name), circumstances{stop: stop, closing: closing, invalid: it.Code, why: it.Message, checks: checks})
	it.Code, it.Message, it.Approved, it.Check, it.Review = r.code, r.message, r.approved, r.check, r.review
}

// rule completes the circumstances of a call by what the session knows.
func (d *decision) rule(name string, tool *Tool, c circumstances) ruling {
	c.name, c.tool, c.mode = name, tool, d.s.Agent.Mode
	c.granted = tool != nil && d.s.granted(tool.Name)
	return rule(c)
}

// modelError records a failed attempt and either the time of the next one or the end of the run (LI5).
func (d *decision) modelError(c ModelError) {
	t := d.s.Turn
	if t == nil || !t.runs(c.Run, c.Call, c.Attempt, c.Epoch) {
		return
	}
	e := ModelFailed{Run: c.Run, Call: c.Call, Attempt: c.Attempt, Epoch: c.Epoch, Code: c.Code, Message: c.Message, Usage: c.Usage, Lost: c.Cancelled, Checks: c.Checks}
	failures := t.Call.Failures + 1
	switch {
	case c.Cancelled || t.Cancel:
	case (c.Code == api.CodeContextExhausted || c.Code == api.CodeRequestTooLarge && d.s.heavier()) && !t.Call.Overflowed:
		e.Compact, e.Window = true, max(c.Window, 0) // once a call (LI5)
	case c.Retryable && failures < api.MaxModelAttempts:
		e.RetryAt = d.env.Now.Add(max(c.RetryAfter, retryDelay(failures, d.env.Jitter))).Truncate(time.Millisecond)
	default:
		e.Final, e.Retryable = true, c.Retryable
		if c.Code == api.CodeContextExhausted || c.Code == api.CodeRequestTooLarge {
			e.Message += d.s.unshortened()
		}
		if c.Retryable {
			e.Message = fmt.Sprintf("%d attempts failed; the last: %s", failures, c.Message)
		}
	}
	d.emit(e)
	d.advance()
}
