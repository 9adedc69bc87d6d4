package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/openworkerai/openworker"
	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/cmd/openworker/internal/chatui"
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
		return say(e, func(d api.TurnAccepted) string { return quoted(d.Text) })
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
			return text
		})
	case api.EventModelCallFinished:
		return say(e, describeAnswer)
	case api.EventToolCallStarted:
		return say(e, func(d api.ToolCallStarted) string { return fmt.Sprintf("%s, attempt %d", d.Name, d.Attempt) })
	case api.EventToolCallFinished:
		return say(e, func(d api.ToolCallFinished) string {
			if d.Code != "" {
				return fmt.Sprintf("← %s: %s", d.Code, brief(d.Output))
			}
			return "← " + brief(d.Output)
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
			if d.Call != nil {
				text += " of " + d.Call.Name + " " + brief(d.Call.Arguments)
			}
			return text
		})
	case api.EventInteractionResolved:
		return say(e, func(d api.InteractionResolved) string {
			text := "· " + string(d.Decision)
			if d.By != "" {
				text += " by " + d.By
			}
			if d.Reason != "" {
				text += ": " + brief(d.Reason)
			}
			return text
		})
	}
	return ""
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
func brief(text string) string     { return chatui.Brief(text) }
func printable(text string) string { return chatui.Printable(text) }

func quoted(text string) string { return "“" + brief(text) + "”" }
