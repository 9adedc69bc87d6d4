package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/openworkerai/openworker/api"
)

// Who resolved an interaction where no person did (InteractionResolved.By).
const (
	ByReviewer = "reviewer"
	ByAgent    = "agent" // it skips questions
	ByGrant    = "grant" // one that was given while the reviewer was asked
)

// ask opens the interaction of a call. Where the reviewer has decided, or the agent skips questions, it is
// resolved at once. A reader copes without the arguments: they stand in the answer.
func (d *decision) ask(callID string, kind api.InteractionKind, arguments string) {
	t := d.s.Turn
	if d.err != nil || t == nil {
		return
	}
	c := *t.tool(callID)
	in := InteractionRequired{Run: t.Run, ID: fmt.Sprintf("%s-i%d", d.s.Session, d.next()), Interaction: kind,
		CallID: callID, Name: c.Name, Arguments: arguments, Attempt: c.Attempt}
	if kind == api.InteractionApproval {
		if known := d.s.Agent.byName(c.Name); known != nil && known.Question {
			q := ParseQuestion(arguments)
			q.Multiple = c.Multiple // known also where the arguments are not at hand
			in.Interaction, in.Question = api.InteractionQuestion, &q
		}
		in.Review = c.Review.Verdict
	}
	d.emit(in)
	resolved := InteractionResolved{Run: t.Run, ID: in.ID, Review: in.Review, By: ByReviewer}
	finished := ToolFinished{Run: t.Run, CallID: callID, Attempt: c.Attempt}
	switch {
	case in.Interaction == api.InteractionQuestion && d.s.skipsQuestions():
		resolved.Decision, resolved.By = api.Skipped, ByAgent
		finished.Output = textSkipped
		d.emit(resolved)
		d.emit(finished)
	case in.Review != nil && d.s.granted(c.Name): // before whatever the mode comes to (AP2)
		resolved.Decision, resolved.By = api.AllowOnce, ByGrant
		d.emit(resolved)
	case in.Review != nil && in.Review.Verdict == api.ReviewAllow:
		resolved.Decision = api.AllowOnce
		d.emit(resolved)
	case in.Review != nil && in.Review.Verdict == api.ReviewDeny:
		resolved.Decision = api.Deny
		finished.Output, finished.Code = textReviewed, api.CodeDenied // without the reviewer's reason (AP6)
		d.emit(resolved)
		d.emit(finished)
	}
}

// reviewed records a reviewer's verdict and what follows from it (AP5).
func (d *decision) reviewed(c Reviewed) {
	t := d.s.Turn
	if t == nil || !t.reviews(c.CallID, c.Attempt, c.Epoch) {
		return
	}
	review := c.Review
	if review.Verdict != api.ReviewAllow && review.Verdict != api.ReviewDeny {
		review.Verdict = api.ReviewUnsure
	}
	d.emit(ReviewFinished{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Epoch: c.Epoch, Review: review, Usage: c.Usage, Lost: c.Cancelled})
	if !c.Cancelled && !t.Cancel {
		d.ask(c.CallID, api.InteractionApproval, c.Arguments)
	}
	d.advance()
}

// checked records what the application's own check said: of a call that is to be decided on, or of one whose
// changed arguments are about to run. In that case a pass and the intent are one append.
func (d *decision) checked(c Checked) {
	t := d.s.Turn
	if t == nil || t.Cancel {
		return
	}
	tc := t.tool(c.CallID)
	before := c.Attempt > 0
	if tc == nil || before != (tc.Status == ToolReady && tc.Changed && c.Attempt == tc.Attempt+1) || !before && tc.Status != ToolChecking {
		return
	}
	switch {
	case c.Code != "" && tc.Doubt: // it is not run again, and what an earlier attempt did nobody knows
		d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: tc.Attempt, Output: textUnknown + " " + c.Message, Code: api.CodeOutcomeUnknown})
	case c.Code != "":
		d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Attempt: tc.Attempt, Output: c.Message, Code: c.Code})
	case before:
		d.emit(ToolStarted{Run: t.Run, CallID: c.CallID, Attempt: c.Attempt, Epoch: c.Epoch, Digest: c.Digest})
	default:
		r := d.rule(tc.Name, d.s.Agent.byName(tc.Name), circumstances{})
		if r.code != "" { // what was known at the answer is no different now
			d.emit(ToolFinished{Run: t.Run, CallID: c.CallID, Output: r.message, Code: r.code})
			break
		}
		d.emit(ToolChecked{Run: t.Run, CallID: c.CallID, Approved: r.approved, Review: r.review})
		if r.ask {
			d.ask(c.CallID, api.InteractionApproval, c.Arguments)
		}
	}
	d.advance()
}

// revoke takes a grant back (AP4).
func (d *decision) revoke(c Revoke) error {
	if d.s.Agent.byName(c.Tool) == nil {
		return api.Errorf(api.CodeInvalidRequest, "agent %q has no tool %.80q; the session's state lists the grants that there are", d.s.Agent.Name, c.Tool)
	}
	if !d.s.granted(c.Tool) {
		return nil
	}
	d.emit(GrantRevoked(c))
	d.advance()
	return nil
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
			if r.Answer == keyOf(a).key() {
				return nil
			}
			decision, _, _ := strings.Cut(r.Answer, ":")
			return api.Errorf(api.CodeAlreadyResolved, "interaction %s was resolved already, as %q; an answer is final", c.Interaction, decision)
		}
		return api.Errorf(api.CodeInteractionNotFound, "session %s has no open interaction %.300q; its state lists those that are open", d.s.Session, c.Interaction)
	}
	fits, ok := fitting[in.Kind]
	if !ok || !slices.Contains(fits, a.Decision) {
		allowed := make([]string, len(fits))
		for i, decision := range fits {
			allowed[i] = fmt.Sprintf("%q", decision)
		}
		return api.Errorf(api.CodeInvalidRequest, "decision %.40q does not answer interaction %s, which is of kind %s; use %s",
			a.Decision, in.ID, in.Kind, strings.Join(allowed, ", "))
	}
	if a.By == ByReviewer || a.By == ByAgent || a.By == ByGrant {
		return api.Errorf(api.CodeInvalidRequest, "an answer by %q would pass for one that no person gave; name who gives it otherwise", a.By)
	}
	if len(a.Answers) > 0 != (a.Decision == api.Answered) {
		return api.Errorf(api.CodeInvalidRequest, "answers belong to the decision %q, which needs at least one; the decision is %q and there are %d", api.Answered, a.Decision, len(a.Answers))
	}
	if len(a.Answers) > 1 && !in.Multiple {
		return api.Errorf(api.CodeInvalidRequest, "interaction %s takes one answer; %d are given", in.ID, len(a.Answers))
	}
	if len(a.Arguments) > 0 && a.Decision != api.AllowOnce {
		return api.Errorf(api.CodeInvalidRequest, "changed arguments belong to the decision %q, which holds for this call only; the decision is %q", api.AllowOnce, a.Decision)
	}
	if len(a.Arguments) > 0 && !isObject(a.Arguments) {
		return api.Errorf(api.CodeInvalidRequest, "the changed arguments %.80q are no JSON object; give the whole object that the call is to run with", string(a.Arguments))
	}
	t := d.s.Turn
	call := *t.tool(in.CallID)
	resolved := InteractionResolved{Run: t.Run, ID: in.ID, Decision: a.Decision, By: a.By, Reason: a.Reason, Output: a.Output,
		Arguments: CompactArguments(a.Arguments), Answers: a.Answers}
	if resolved.Arguments != "" {
		resolved.CallID = call.ID
	}
	d.emit(resolved)
	finished := ToolFinished{Run: t.Run, CallID: call.ID, Attempt: call.Attempt}
	switch a.Decision {
	case api.Deny:
		finished.Output, finished.Code = withReason(textDenied, a.Reason), api.CodeDenied
	case api.Answered:
		finished.Output = answersText(a.Answers)
	case api.Skipped:
		finished.Output = withReason(textSkipped, a.Reason)
	case api.OutcomeSucceeded:
		finished.Output = a.Output
	case api.OutcomeFailed:
		finished.Output, finished.Code = withReason(textFailed, a.Reason), api.CodeToolFailed
	default: // it runs, or runs again
		d.advance()
		return nil
	}
	d.emit(finished)
	d.advance()
	return nil
}

// fitting are the decisions that answer each kind of interaction.
var fitting = map[api.InteractionKind][]api.Decision{
	api.InteractionApproval:       {api.AllowOnce, api.AllowSession, api.Deny},
	api.InteractionQuestion:       {api.Answered, api.Skipped},
	api.InteractionUnknownOutcome: {api.OutcomeSucceeded, api.OutcomeFailed, api.OutcomeRetry},
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return fmt.Sprintf("%s The person's reason, as given: %q", text, reason)
}

// compacted is a JSON object in its shortest form, with each number as it was written; what is none stays as it is.
func CompactArguments(arguments json.RawMessage) string {
	if isObject(arguments) {
		var fields map[string]any
		dec := json.NewDecoder(bytes.NewReader(arguments))
		dec.UseNumber() // an ID of 17 digits is no float64
		if dec.Decode(&fields) == nil {
			if text, err := marshal(fields); err == nil {
				return string(text)
			}
		}
	}
	return string(arguments)
}

func isObject(arguments json.RawMessage) bool {
	return json.Valid(arguments) && bytes.HasPrefix(bytes.TrimLeft(arguments, " \t\r\n"), []byte("{"))
}

// answered is what tells one answer from another; who gave it does not matter.
type answered struct {
	decision                  api.Decision
	reason, output, arguments string
	answers                   []string
}

func keyOf(a api.Answer) answered {
	return answered{a.Decision, a.Reason, a.Output, CompactArguments(a.Arguments), a.Answers}
}

func (e InteractionResolved) answer() answered {
	return answered{e.Decision, e.Reason, e.Output, e.Arguments, e.Answers}
}

// SameAs reports whether an answer is the one that an interaction was resolved with.
func (e InteractionResolved) SameAs(a api.Answer) bool { return e.answer().key() == keyOf(a).key() }

// key is a digest. What earlier builds knew comes first and alone where there is no more, so that their keys stay.
func (a answered) key() string {
	h := fnv.New64a()
	write := func(text string) { _, _ = h.Write([]byte(text)) }
	write(a.reason)
	write("\x00")
	write(a.output)
	for _, more := range append(slices.DeleteFunc([]string{a.arguments}, func(s string) bool { return s == "" }), a.answers...) {
		write("\x00")
		write(more)
	}
	return fmt.Sprintf("%s:%016x", a.decision, h.Sum64())
}
