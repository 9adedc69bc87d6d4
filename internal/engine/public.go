package engine

import (
	"cmp"
	"encoding/json"

	"github.com/openworkerai/openworker/api"
)

// Public maps a stored fact to its public event. Each fact has one; private parts are withheld.
func Public(f Fact) (api.Event, error) {
	typ, data := public(f.Event)
	e := api.Event{Number: f.Number, Type: typ, Time: f.Time, Run: f.Event.run()}
	if data != nil {
		raw, err := marshal(data)
		if err != nil {
			return api.Event{}, err
		}
		e.Data = json.RawMessage(raw)
	}
	return e, nil
}

func public(e Event) (api.EventType, any) {
	switch e := e.(type) {
	case SessionCreated:
		return api.EventSessionCreated, api.SessionCreated{Agent: e.Agent.Name, Digest: e.Agent.Digest, Workspace: e.Workspace, Owner: e.Owner, Metadata: e.Metadata}
	case HistoryImported:
		return api.EventHistoryImported, e.public()
	case TurnAccepted:
		return api.EventTurnAccepted, api.TurnAccepted{Text: cmp.Or(e.Text, said(e.Content)), Content: acceptedBlocks(e.Content), Kind: e.kindOfRun(), Queued: e.Queued, SubmissionID: e.SubmissionID, Model: e.Model, Guardrails: e.Checks}
	case TurnStarted:
		return api.EventTurnStarted, nil
	case CancelRequested:
		return api.EventCancelRequested, api.CancelRequested{By: e.By, Reason: e.Reason}
	case TurnEnded:
		return api.EventTurnEnded, api.TurnEnded{Status: e.Status, Answer: e.Answer, Error: e.Failure(), Usage: e.Usage, AuxiliaryUsage: e.Auxiliary, ModelCalls: e.Calls, AutoApproved: e.AutoApproved}
	case ModelStarted:
		return api.EventModelCallStarted, api.ModelCallStarted{Call: e.Call, Attempt: e.Attempt, Epoch: e.Epoch, Model: e.Model, MaxOutputTokens: e.Max, Closing: e.Closing}
	case ModelFailed:
		return api.EventModelCallFailed, api.ModelCallFailed{Call: e.Call, Attempt: e.Attempt, Code: e.Code, Message: e.Message, RetryAt: e.RetryAt, Usage: e.Usage, Guardrails: e.Checks}
	case ModelFinished:
		out := api.ModelCallFinished{Call: e.Call, Attempt: e.Attempt, Stop: e.Stop, Usage: e.Usage, Text: e.Text(), Guardrails: e.Checks}
		for _, it := range e.Items {
			if it.Kind == ItemCall {
				out.Calls = append(out.Calls, api.RequestCall{CallID: it.CallID, Name: it.Name, Arguments: it.Arguments, Code: it.Code, ApprovedBy: it.Approved})
			}
		}
		return api.EventModelCallFinished, out
	case ToolStarted:
		return api.EventToolCallStarted, api.ToolCallStarted{CallID: e.CallID, Name: e.Name, Attempt: e.Attempt, Epoch: e.Epoch}
	case ToolFinished:
		return api.EventToolCallFinished, api.ToolCallFinished{CallID: e.CallID, Name: e.Name, Attempt: e.Attempt, Output: e.Output, Code: e.Code, Guardrails: e.Checks}
	case ToolLost:
		return api.EventToolCallLost, api.ToolCallLost{CallID: e.CallID, Attempt: e.Attempt, Again: e.Again}
	case ToolInspected:
		return api.EventToolCallInspected, api.ToolCallInspected{CallID: e.CallID, Attempt: e.Attempt, Answer: e.Answer, Again: e.Again}
	case ToolLate:
		return api.EventToolOutcomeLate, api.ToolCallFinished{CallID: e.CallID, Attempt: e.Attempt, Output: e.Output, Code: e.Code}
	case InteractionRequired:
		return api.EventInteractionRequired, api.InteractionRequired{ID: e.ID, Kind: e.Interaction, Call: e.call(), Question: e.Question, Origin: originAgent, Review: e.Review}
	case InteractionResolved:
		return api.EventInteractionResolved, api.InteractionResolved{ID: e.ID, Decision: e.Decision, By: e.By, Reason: e.Reason,
			Arguments: e.changed(), Answers: e.Answers, Review: e.Review}
	case ToolChecked:
		return api.EventToolCallChecked, api.ToolCallChecked{CallID: e.CallID, ApprovedBy: e.Approved}
	case ToolReturned:
		return api.EventToolCallReturned, api.ToolCallReturned{CallID: e.CallID, Attempt: e.Attempt, Failed: e.Failed}
	case ReviewStarted:
		return api.EventReviewStarted, api.ReviewStarted{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch, Model: e.Model}
	case ReviewFinished:
		return api.EventReviewFinished, api.ReviewFinished{CallID: e.CallID, Attempt: e.Attempt, Review: e.Review, Again: e.Lost && e.Review.Code != api.CodeCancelled, Usage: e.Usage}
	case CompactionStarted:
		return api.EventCompactionStarted, api.CompactionStarted{Attempt: e.Attempt, Epoch: e.Epoch, Model: e.Model, Items: e.Plan.Items, ItemBytes: e.Plan.ItemBytes, Tokens: e.Tokens}
	case CompactionFailed:
		return api.EventCompactionFailed, api.CompactionFailed{Attempt: e.Attempt, Code: e.Code, Message: e.Message, RetryAt: e.RetryAt, GivenUp: e.GivenUp, Usage: e.Usage, Guardrails: e.Checks}
	case CompactionFinished:
		return api.EventCompactionFinished, api.CompactionFinished{Attempt: e.Attempt, Summary: e.Summary, Items: e.Plan.Items, ItemBytes: e.Plan.ItemBytes, Tokens: e.Tokens, Usage: e.Usage, Guardrails: e.Checks}
	case GrantRevoked:
		return api.EventGrantRevoked, api.GrantRevoked{Tool: e.Tool, By: e.By}
	case TakenOver:
		return api.EventSessionTakenOver, api.SessionTakenOver{Epoch: e.Epoch, From: e.From, Process: e.Process}
	case SessionDeleted:
		return api.EventSessionDeleted, nil
	}
	return "", nil
}

// Failure is why the run failed, nil if it did not.
func (e TurnEnded) Failure() *api.Failure {
	if e.Code == "" {
		return nil
	}
	return &api.Failure{Code: e.Code, Message: e.Message, Retryable: e.Retryable}
}

// Text is the answer's text.
func (e ModelFinished) Text() string {
	text := ""
	for _, it := range e.Items {
		if it.Kind == ItemText {
			text += it.Text
		}
	}
	return text
}

// originAgent is the origin of what a session's own agent asks for.
const originAgent = "agent"

func (e TurnAccepted) kindOfRun() string {
	if e.Compact {
		return "compaction"
	}
	return ""
}

// changed are the arguments as JSON; text that is none, which no decision records, is told as a string.
func (e InteractionResolved) changed() json.RawMessage {
	if e.Arguments == "" || json.Valid([]byte(e.Arguments)) {
		return json.RawMessage(e.Arguments)
	}
	text, _ := marshal(e.Arguments)
	return text
}

func (e InteractionRequired) call() *api.InteractionCall {
	return &api.InteractionCall{CallID: e.CallID, Name: e.Name, Arguments: e.Arguments, Attempt: e.Attempt}
}

// PublicInteraction is the public form of an open interaction.
func PublicInteraction(f Fact) (api.Interaction, bool) {
	e, ok := f.Event.(InteractionRequired)
	if !ok {
		return api.Interaction{}, false
	}
	return api.Interaction{ID: e.ID, Kind: e.Interaction, Run: e.Run, Call: e.call(), Question: e.Question, Review: e.Review, Origin: originAgent, Asked: f.Time}, true
}

// History is the public form of a conversation entry.
func (e Entry) History() api.HistoryItem {
	h := api.HistoryItem{Type: string(e.Kind), Event: e.Number, Run: e.Run, Time: e.Time, Content: contentBlocks(e.Content), CallID: cmp.Or(e.Given, e.CallID), Name: e.Name, Arguments: e.Arguments, Code: e.Code}
	if e.Kind == EntryResult {
		h.Output = e.Text
	} else {
		h.Text = e.Said()
	}
	return h
}
