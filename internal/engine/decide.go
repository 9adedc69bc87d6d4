package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
)

// Decide turns a command into events, or refuses it with an *api.Error and changes nothing. No events and
// no error: the command is settled already (the same answer again, a stale outcome). The returned state
// is s with the events folded in; s itself is not changed.
func Decide(s *State, c Command, env Env) ([]Event, *State, error) {
	env.Now = env.At(s)
	d := &decision{s: s.Clone(), env: env}
	if err := d.decide(c); err != nil {
		return nil, s, err
	}
	if d.err != nil {
		return nil, s, d.err
	}
	return d.out, d.s, nil
}

// decision collects events; each is folded as it is emitted, so later ones see it.
type decision struct {
	s   *State
	env Env
	out []Event
	err error
}

func (d *decision) emit(e Event) {
	if d.err != nil {
		return
	}
	switch v := e.(type) { // a reader of one event should not have to look up which tool it is about
	case ToolStarted:
		v.Name = d.toolName(v.CallID)
		e = v
	case ToolFinished:
		v.Name = d.toolName(v.CallID)
		e = v
	}
	if err := d.s.apply(Fact{Number: d.s.Head + 1, Time: d.env.Now, Event: e}); err != nil {
		d.err = err
		return
	}
	d.out = append(d.out, e)
}

func (d *decision) toolName(callID string) string {
	if d.s.Turn == nil {
		return ""
	}
	if c := d.s.Turn.tool(callID); c != nil {
		return c.Name
	}
	return ""
}

// next is the number that the next event gets.
func (d *decision) next() uint64 { return d.s.Head + 1 }

func (d *decision) decide(c Command) error {
	create, isCreate := c.(Create)
	if isCreate != (d.s.Head == 0) {
		return api.Errorf(api.CodeInternal, "session %s: only a new session is created, and only once", d.s.Session)
	}
	if d.s.Deleted {
		return api.Errorf(api.CodeSessionDeleted, "session %s was deleted", d.s.Session)
	}
	if isCreate {
		d.emit(create.Event)
		for _, part := range create.History {
			d.emit(part)
		}
		return nil
	}
	if t := d.s.Turn; t != nil && t.Rules > Rules {
		return api.Errorf(api.CodeSessionParked, "run %s was accepted under rules %d; this build knows %d: use a newer build", t.Run, t.Rules, Rules)
	}
	switch c := c.(type) {
	case Message:
		return d.message(c)
	case Answer:
		return d.answer(c)
	case Cancel:
		return d.cancel(c)
	case Delete:
		if before := c.IdleBefore; !before.IsZero() && (d.s.Turn != nil || !d.s.Time.Before(before)) {
			return api.Errorf(api.CodeSessionBusy, "session %s is kept: it is not idle since before %s", d.s.Session, before.UTC().Format(time.RFC3339))
		}
		d.emit(SessionDeleted{})
		return nil
	case TakeOver:
		d.takeOver(c)
	case Advance:
		d.advance()
	case Revoke:
		return d.revoke(c)
	case Compact:
		d.compact(c)
	case Compacted:
		d.compacted(c)
	case CompactError:
		d.compactError(c)
	case Reviewed:
		d.reviewed(c)
	case Checked:
		d.checked(c)
	case Returned:
		d.returned(c)
	case Begin:
		d.begin(c)
	case ModelDone:
		d.modelDone(c)
	case ModelError:
		d.modelError(c)
	case ToolOutcome:
		d.toolOutcome(c)
	case Overdue:
		d.overdue(c)
	case Interrupted:
		d.interrupted(c)
	case Inspected:
		d.inspected(c)
	default:
		return api.Errorf(api.CodeInternal, "unknown command %T", c)
	}
	return nil
}

// message accepts a message (SE4).
func (d *decision) message(c Message) error {
	s := d.s
	model, err := d.chooseModel(c.Model)
	if err != nil {
		return err
	}
	limits, err := ResolveLimits(s.Agent.Limits, c.Limits, c.ModelMax)
	if err != nil {
		return err
	}
	e := TurnAccepted{
		Run:   fmt.Sprintf("%s-r%d", s.Session, d.next()),
		Rules: Rules, Text: c.Text, Content: c.Content, SubmissionID: c.SubmissionID, Fingerprint: c.Fingerprint,
		Model: model, Limits: limits, Addendum: c.Addendum,
		AutoApproverContext: c.AutoApproverContext, Compaction: c.Compaction, Compact: c.Compact, Guardrails: c.Guardrails, Checks: c.Checks,
	}
	if s.Turn != nil {
		switch c.WhenBusy {
		case api.BusyReject, "":
			if len(s.Interactions) > 0 && Waiting(s) { // it does not end by itself
				open := s.Interactions[0].ID
				return api.Errorf(api.CodeSessionBusy, "run %s waits for an answer to %s; give it, cancel the run, or send with whenBusy \"queue\" or \"interrupt\"", s.Turn.Run, open).
					With("run", s.Turn.Run).With("interaction", open)
			}
			return api.Errorf(api.CodeSessionBusy, "run %s is under way; wait for its end, cancel it, or send with whenBusy \"queue\" or \"interrupt\"", s.Turn.Run).With("run", s.Turn.Run)
		case api.BusyQueue:
		case api.BusyInterrupt:
			e.Front = true
		default:
			return api.Errorf(api.CodeInvalidRequest, "whenBusy is %q; use \"reject\", \"queue\" or \"interrupt\"", c.WhenBusy)
		}
		if len(s.Queue) >= api.MaxQueuedTurns {
			return api.Errorf(api.CodeQueueFull, "%d messages wait already, which is the most; send again when one has run", len(s.Queue))
		}
		e.Queued, e.Inspects, e.Refuses = true, c.Inspects, c.Refuses
	}
	if err := d.fits(c); err != nil && !c.Compact {
		return err
	}
	d.emit(e)
	if e.Front && !s.Turn.Cancel {
		d.emit(CancelRequested{Run: s.Turn.Run, By: "interrupt"})
	}
	d.advance()
	return nil
}

func (d *decision) chooseModel(turn api.ModelRef) (api.ModelRef, error) {
	for _, m := range []api.ModelRef{turn, d.s.Model, d.s.Agent.Model} {
		if !m.IsZero() {
			return m, nil
		}
	}
	return api.ModelRef{}, api.Errorf(api.CodeInvalidRequest, "neither the turn, the session nor the agent %q names a model", d.s.Agent.Name)
}

// cancel records the wish and, where nothing is in flight, ends the run at once (RU5).
func (d *decision) cancel(c Cancel) error {
	s := d.s
	run := c.Run
	if run == "" {
		if s.Turn == nil {
			return nil
		}
		run = s.Turn.Run
	}
	for _, q := range s.Queue {
		if q.Run == run {
			d.emit(TurnEnded{Run: run, Status: api.StatusCancelled})
			return nil
		}
	}
	if s.Turn == nil || s.Turn.Run != run || s.Turn.Cancel {
		return nil // ended, or asked for already; whether the run exists is the caller's question
	}
	d.emit(CancelRequested{Run: run, By: c.By, Reason: c.Reason})
	d.advance()
	return nil
}

// begin records the intent of an effect, if the state still asks for it.
func (d *decision) begin(c Begin) {
	t := d.s.Turn
	if t == nil || t.Run != c.Effect.Run {
		return
	}
	if !slices.ContainsFunc(Pending(d.s), func(e Effect) bool {
		return e.Key() == c.Effect.Key() && !e.Started && !d.env.Now.Before(e.NotBefore)
	}) {
		return
	}
	switch c.Effect.Kind {
	case ModelEffect:
		n, size := nextCall(t), c.Fixed+t.Addendum+d.s.Context.Bytes
		d.emit(ModelStarted{Run: t.Run, Call: t.Calls + 1, Attempt: t.Call.Attempt + 1, Epoch: c.Epoch, Model: t.Model,
			Max: d.s.fitting(n.max, size, c.Window), Closing: n.closing, Size: size})
	case ToolEffect:
		d.emit(ToolStarted{Run: t.Run, CallID: c.Effect.CallID, Attempt: c.Effect.Attempt, Epoch: c.Epoch})
	case ReviewEffect:
		d.emit(ReviewStarted{Run: t.Run, CallID: c.Effect.CallID, Attempt: c.Effect.Attempt, Epoch: c.Epoch, Model: d.s.Agent.Reviewer})
	}
}

// takeOver records the take-over and what it finds unfinished.
func (d *decision) takeOver(c TakeOver) {
	d.emit(TakenOver(c))
	t := d.s.Turn
	if t == nil {
		return
	}
	if t.Call.Running {
		// What the lost call produced is unknown; it is charged as if it had used its whole bound (RE7).
		d.emit(ModelFailed{Run: t.Run, Call: t.Calls + 1, Attempt: t.Call.Attempt, Epoch: t.Call.Epoch, Code: api.CodeCallLost, Lost: true,
			Message: "the process that made the call ended before its answer was stored", Usage: api.Usage{OutputTokens: int64(t.Call.Max), Estimated: true}})
	}
	if k := t.Compaction; k.Running {
		d.emit(CompactionFailed{Run: t.Run, Attempt: k.Attempt, Epoch: k.Epoch, Code: api.CodeCallLost, Lost: true,
			Message: "the process that asked for the summary ended before it was stored", Usage: api.Usage{OutputTokens: api.MaxCompactionTokens, Estimated: true}})
	}
	for i := range t.Tools {
		switch c := &t.Tools[i]; {
		case c.Status == ToolRunning, c.Status == ToolScreening && c.Effect.Repeatable():
			d.emit(ToolLost{Run: t.Run, CallID: c.ID, Attempt: c.Attempt, Again: c.Effect.Repeatable()})
		case c.Status == ToolScreening:
			d.outputLost(t, *c)
		case c.Status == ToolReviewing && c.Review.Running:
			d.emit(ReviewFinished{Run: t.Run, CallID: c.ID, Attempt: c.Review.Attempt, Epoch: c.Review.Epoch, Lost: true,
				Review: api.Review{Verdict: api.ReviewUnsure, Code: api.CodeCallLost}, Usage: api.Usage{OutputTokens: api.MaxReviewTokens, Estimated: true}})
		}
	}
	if t.TakeOvers >= api.MaxTakeOvers && !t.Cancel {
		d.fail(api.CodeRecoveryExhausted, fmt.Sprintf("%d take-overs in a row brought no progress; the last process to go was %q", t.TakeOvers, c.From), false)
	}
	d.advance()
}

// advance emits what follows from the state alone. It asks nothing but the state, so that what a bare
// outcome leaves undone is done by whoever folds it next.
func (d *decision) advance() {
	if t := d.s.Turn; t != nil && d.err == nil {
		switch {
		case t.Cancel:
			d.closeOpen(api.CodeCancelled, "The user cancelled the turn before this action started. It did not run.")
			if !t.inFlight() {
				d.end(api.StatusCancelled, "", "", false)
			}
		case t.open():
			for _, c := range slices.Clone(t.Tools) {
				if c.Status == ToolReviewed || c.Status == ToolAsked && !d.s.asked(c.ID) {
					d.ask(c.ID, api.InteractionApproval, "")
				}
			}
		case t.Call.Running || t.Compaction.Running:
		case t.Call.Failure != nil:
			d.fail(t.Call.Failure.Code, t.Call.Failure.Message, t.Call.Failure.Retryable)
		case t.Compact && t.Compaction.Done > 0:
			d.end(api.StatusCompleted, "", "", false)
		case t.Stop != "":
			d.conclude()
		}
		if d.s.Turn != nil && d.err == nil && !t.Compact && !t.Cancel && !t.open() && !t.inFlight() && nextCall(t).none {
			d.end(api.StatusLimitReached, "", "", false)
		}
	}
	if d.err == nil && d.s.Turn == nil && len(d.s.Queue) > 0 {
		d.emit(TurnStarted{Run: d.s.Queue[0].Run})
	}
}

// closeOpen gives each call that is not in flight its result, and closes its interaction (RU5).
func (d *decision) closeOpen(code api.Code, text string) {
	t := d.s.Turn
	for _, in := range slices.Clone(d.s.Interactions) {
		d.emit(InteractionResolved{Run: t.Run, ID: in.ID, Decision: api.InteractionCancelled})
	}
	for i := range t.Tools {
		c := t.Tools[i]
		result := ToolFinished{Run: t.Run, CallID: c.ID, Attempt: c.Attempt, Output: text, Code: code}
		switch {
		case c.Status == ToolDone || c.inFlight():
			continue
		case c.Doubt: // unknown, asked about, or allowed again and not begun
			result.Output, result.Code = textUnknown, api.CodeOutcomeUnknown
		case c.Attempt > 0:
			result.Output = textInterrupted
		}
		d.emit(result)
	}
}

// fail ends the run as failed, closing what is open first.
func (d *decision) fail(code api.Code, message string, retryable bool) {
	d.closeOpen(code, "The run failed before this action started. It did not run.")
	d.end(api.StatusFailed, code, message, retryable)
}

func (d *decision) end(status api.RunStatus, code api.Code, message string, retryable bool) {
	t := d.s.Turn
	if t == nil || d.err != nil {
		return
	}
	d.emit(TurnEnded{Run: t.Run, Status: status, Code: code, Message: message, Retryable: retryable, Answer: t.Answer,
		Usage: t.Usage, Auxiliary: t.Auxiliary, Calls: t.Calls, AutoApproved: t.AutoApproved})
}

// retryDelay is exponential with jitter, from half a second to a minute (LI5).
func retryDelay(failures int, jitter float64) time.Duration {
	d := 500 * time.Millisecond << min(failures-1, 7)
	return time.Duration(float64(min(d, time.Minute)) * (0.5 + jitter/2))
}
