package decide

import (
	"strings"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// Subject is what an interaction is about, in a few words.
func Subject(i api.Interaction) string {
	if i.Kind == api.InteractionQuestion && i.Question != nil {
		return plain.Brief(i.Question.Text)
	}
	return Call(i)
}

// Said says a decision in words.
func Said(d api.Decision) string {
	switch d {
	case api.AllowOnce:
		return "allowed once"
	case api.AllowSession:
		return "allowed in this session"
	case api.Deny:
		return "denied"
	case api.OutcomeSucceeded:
		return "settled as succeeded"
	case api.OutcomeFailed:
		return "settled as failed"
	case api.OutcomeRetry:
		return "run again"
	}
	return plain.Brief(string(d)) // answered, skipped, cancelled
}

// Settled says how an interaction came out. byName is whether to tell who answered.
func Settled(i api.Interaction, d api.InteractionResolved, byName bool) string {
	switch {
	case OfReviewer(d):
		text := "the reviewer " + Said(d.Decision) + ": " + Subject(i)
		if d.Review.Reason != "" {
			text += ": " + plain.Brief(d.Review.Reason)
		}
		return text
	case OfAgent(d):
		return "skipped, since this agent skips questions: " + Subject(i)
	}
	text := Said(d.Decision) + ": " + Subject(i)
	if d.Arguments != nil {
		text += " " + plain.Brief(string(d.Arguments))
	}
	if len(d.Answers) > 0 {
		text += " → " + plain.Brief(strings.Join(d.Answers, ", "))
	}
	if d.By != "" && byName {
		text += ", by " + plain.Brief(d.By)
	}
	if d.Reason != "" {
		text += ": " + plain.Brief(d.Reason)
	}
	return text
}

// OfReviewer reports whether the reviewer decided, and no person.
func OfReviewer(d api.InteractionResolved) bool { return d.By == "reviewer" && d.Review != nil }

// OfAgent reports whether nobody was asked, since the agent skips questions.
func OfAgent(d api.InteractionResolved) bool { return d.By == "agent" && d.Decision == api.Skipped }

// Review says in a few words what a reviewer found before a person was asked.
func Review(r api.Review) string {
	text := found(r)
	if r.Code == "" && r.Reason != "" {
		text += ": " + plain.Brief(r.Reason)
	}
	return text
}

// WholeReview is [Review] with all of its reason, and why there is no verdict where there is none.
func WholeReview(r api.Review) string {
	text := found(r)
	if r.Code != "" {
		text += ": " + string(r.Code)
	}
	if r.Reason != "" {
		text += ": " + plain.Line(r.Reason)
	}
	return text
}

func found(r api.Review) string {
	text := "the reviewer is unsure"
	switch {
	case r.Code == api.CodeReviewInvalid:
		text = "the reviewer gave no verdict"
	case r.Code != "":
		text = "the reviewer could not be asked"
	case r.Verdict == api.ReviewAllow:
		text = "the reviewer would allow it"
	case r.Verdict == api.ReviewDeny:
		text = "the reviewer would deny it"
	}
	return text
}

// Guard says what a guardrail did.
func Guard(v api.GuardVerdict) string {
	what := map[string]string{
		"user_input": "the message", "model_input": "what the model is sent", "tool_result": "what the tool returned", "model_output": "the answer",
	}[v.Point]
	if what == "" {
		what = plain.Brief(v.Point)
	}
	text := "the guardrail " + plain.Brief(v.Name)
	reason := v.Reason
	switch v.Action {
	case "redact":
		text += " redacted " + what
		reason = strings.TrimPrefix(reason, "redacted ") // as the guardrail sensitive says it
	case "block":
		text += " blocked " + what
	case "fail":
		text += " gave no verdict on " + what
	default:
		text += ": " + plain.Brief(v.Action) + " of " + what
	}
	if reason != "" {
		text += ": " + plain.Brief(reason)
	}
	return text
}
