package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/attached"
	"github.com/openworkerai/openworker/cmd/openworker/internal/chatui"
	"github.com/openworkerai/openworker/cmd/openworker/internal/decide"
	"github.com/openworkerai/openworker/cmd/openworker/internal/plain"
)

// eventLine is an event as one line: number, when, type, what.
func eventLine(e openworker.Event, when string, p paint) string {
	return fmt.Sprintf("%5d  %s  %s  %s", e.Number, p.dim(when), p.bold(fmt.Sprintf("%-21s", e.Type)), strings.TrimPrefix(describe(e), "· "))
}

// describe says in a few words what an event tells, printable. Kinds that this version does not know have none.
func describe(e openworker.Event) string { return printable(described(e)) }

func described(e openworker.Event) string {
	switch e.Type {
	case api.EventSessionCreated:
		return say(e, func(d api.SessionCreated) string { return "agent " + d.Agent })
	case api.EventSessionTakenOver:
		return say(e, func(d api.SessionTakenOver) string {
			return fmt.Sprintf("another process goes on (epoch %d)", d.Epoch)
		})
	case api.EventTurnAccepted:
		return say(e, func(d api.TurnAccepted) string {
			if d.Kind != "" {
				return brief(d.Kind)
			}
			return strings.TrimPrefix(quotedOr(d.Text)+attached.Files(d.Content), " + ") + guarded(d.Guardrails)
		})
	case api.EventHistoryImported:
		return say(e, describeImported)
	case api.EventTurnEnded:
		return say(e, func(d api.TurnEnded) string {
			text := fmt.Sprintf("%s, %d model calls, %s", d.Status, d.ModelCalls, tokens(d.Usage))
			if d.Error != nil {
				text += ": " + string(d.Error.Code) + ": " + brief(d.Error.Message)
			}
			return text
		})
	case api.EventCancelRequested:
		return say(e, func(d api.CancelRequested) string { return brief(d.Reason) })
	case api.EventModelCallStarted:
		return say(e, func(d api.ModelCallStarted) string {
			return fmt.Sprintf("%s, call %d, attempt %d", d.Model, d.Call, d.Attempt)
		})
	case api.EventModelCallFailed:
		return say(e, func(d api.ModelCallFailed) string {
			text := fmt.Sprintf("attempt %d failed: %s: %s", d.Attempt, d.Code, brief(d.Message))
			switch {
			case d.Code == api.CodeCallLost && d.RetryAt.IsZero():
				text += "; it is asked again"
			case !d.RetryAt.IsZero():
				text += "; again in " + max(0, d.RetryAt.Sub(e.Time)).Round(100*time.Millisecond).String()
			}
			return text + guarded(d.Guardrails)
		})
	case api.EventModelCallFinished:
		return say(e, describeAnswer)
	case api.EventToolCallStarted:
		return say(e, func(d api.ToolCallStarted) string { return fmt.Sprintf("%s, attempt %d", d.Name, d.Attempt) })
	case api.EventToolCallFinished:
		return say(e, func(d api.ToolCallFinished) string {
			if d.Code != "" {
				return fmt.Sprintf("← %s: %s", d.Code, brief(d.Output)) + guarded(d.Guardrails)
			}
			return "← " + brief(d.Output) + guarded(d.Guardrails)
		})
	case api.EventToolOutcomeLate:
		return say(e, func(d api.ToolCallFinished) string { return "came after the turn had ended: " + brief(d.Output) })
	case api.EventToolCallLost:
		return say(e, func(d api.ToolCallLost) string {
			if d.Again {
				return "· the process died inside it; it is repeatable and runs again"
			}
			return "· the process died inside it: did it act?"
		})
	case api.EventToolCallInspected:
		return say(e, func(d api.ToolCallInspected) string { return "· the tool looked: " + d.Answer })
	case api.EventInteractionRequired:
		return say(e, func(d api.InteractionRequired) string {
			text := string(d.Kind) + " " + d.ID
			switch {
			case d.Question != nil:
				text += " " + quoted(d.Question.Text)
			case d.Call != nil:
				text += " of " + d.Call.Name + " " + brief(d.Call.Arguments)
			}
			if d.Review != nil {
				text += "; " + decide.WholeReview(*d.Review)
			}
			return text
		})
	case api.EventInteractionResolved:
		return say(e, func(d api.InteractionResolved) string {
			text := "· " + string(d.Decision)
			if d.Arguments != nil {
				text += " with " + brief(string(d.Arguments))
			}
			if len(d.Answers) > 0 {
				text += " " + quoted(strings.Join(d.Answers, ", "))
			}
			if d.By != "" {
				text += " by " + d.By
			}
			if decide.OfReviewer(d) && d.Review.Reason != "" {
				text += ": " + brief(d.Review.Reason)
			}
			if d.Reason != "" {
				text += ": " + brief(d.Reason)
			}
			return text
		})
	}
	return describedWork(e)
}

// describedWork is [described] for what a process does around calls: checks, reviews, summaries.
func describedWork(e openworker.Event) string {
	switch e.Type {
	case api.EventToolCallChecked:
		return say(e, func(d api.ToolCallChecked) string { return "· the application's own check lets " + d.CallID + " pass" })
	case api.EventToolCallReturned:
		return say(e, func(d api.ToolCallReturned) string {
			return "· hooks and guardrails look at what " + d.CallID + " returned"
		})
	case api.EventReviewStarted:
		return say(e, func(d api.ReviewStarted) string {
			return fmt.Sprintf("%s, of %s, attempt %d", d.Model, d.CallID, d.Attempt)
		})
	case api.EventReviewFinished:
		return say(e, func(d api.ReviewFinished) string {
			if d.Again {
				return "· the process died while the reviewer was asked; it is asked again"
			}
			text := "· " + string(d.Review.Verdict)
			if d.Review.Code != "" {
				text += ": " + string(d.Review.Code)
			}
			if d.Review.Reason != "" {
				text += ": " + brief(d.Review.Reason)
			}
			return text
		})
	case api.EventGrantRevoked:
		return say(e, func(d api.GrantRevoked) string { return strings.TrimSuffix(d.Tool+" by "+d.By, " by ") })
	case api.EventCompactionStarted:
		return say(e, chatui.CompactionBegins)
	case api.EventCompactionFailed:
		return say(e, func(d api.CompactionFailed) string { return chatui.CompactionFails(d, e.Time) })
	case api.EventCompactionFinished:
		return say(e, func(d api.CompactionFinished) string { return chatui.CompactionEnds(d) + guarded(d.Guardrails) })
	}
	return ""
}

// guarded says what guardrails did, behind what it is about.
func guarded(verdicts []api.GuardVerdict) (text string) {
	for _, v := range verdicts {
		text += "; " + decide.Guard(v)
	}
	return text
}

func describeAnswer(d api.ModelCallFinished) string {
	var parts []string
	if d.Text != "" {
		parts = append(parts, quoted(d.Text))
	}
	for _, call := range d.Calls {
		parts = append(parts, "calls "+call.Name+" "+brief(call.Arguments))
	}
	if d.Stop == "output_limit" || d.Stop == "filtered" {
		parts = append(parts, "("+d.Stop+")")
	}
	return strings.Join(parts, ", ") + guarded(d.Guardrails)
}

// describeImported says what a part of an imported conversation holds.
func describeImported(d api.HistoryImported) string {
	var parts []string
	for _, item := range d.Items {
		switch item.Type {
		case api.ImportUser:
			parts = append(parts, "user "+quoted(item.Text))
		case api.ImportAssistant:
			parts = append(parts, "assistant "+quoted(item.Text))
		case api.ImportToolCall:
			parts = append(parts, "called "+item.Name+" "+brief(item.Arguments))
		case api.ImportToolResult:
			parts = append(parts, "← "+brief(item.Output))
		}
	}
	return strings.Join(parts, ", ")
}

func say[T any](e openworker.Event, text func(T) string) string {
	data, ok := decode[T](e)
	if !ok {
		return ""
	}
	return text(data)
}

// brief is text on one line, cut where it is long; printable is text that cannot steer the terminal.
func brief(text string) string     { return plain.Brief(text) }
func printable(text string) string { return plain.Printable(text) }

func quoted(text string) string { return "“" + brief(text) + "”" }
