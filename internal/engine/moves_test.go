package engine_test

import (
	"encoding/json"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// What decides on calls beside people, as moves of a play.

func auto(a *engine.Agent) {
	a.Mode, a.Reviewer = api.ApproveAuto, api.ModelRef{Provider: "R", Name: "judge"}
}
func skipping(a *engine.Agent) { a.SkipQuestions = true }

// asking has ask_user on.
func asking(a *engine.Agent) {
	for i := range a.Tools {
		if t := &a.Tools[i]; t.Name == "ask_user" {
			t.Disabled, t.Question, t.Free = false, true, true
		}
	}
}

// privileged adds two privileged actions, one with permission and one without.
func privileged(a *engine.Agent) {
	a.Tools = append(a.Tools,
		engine.Tool{Name: "spawn", ModelName: "spawn", Effect: api.SideEffect, Privilege: engine.PrivilegePermitted},
		engine.Tool{Name: "make_agent", ModelName: "make_agent", Effect: api.SideEffect, Privilege: engine.PrivilegeDenied})
}

// asksForChecked is an answer in an application that has a check of its own.
func asksForChecked(tools ...string) move {
	return func(p *play) {
		var items []engine.Item
		for _, n := range tools {
			items = append(items, call(n))
		}
		c := p.modelDone(engine.StopToolCalls, 10, items...)
		c.HardChecks = true
		p.do(c)
	}
}

// checked is what the application's own check says of the n-th call before it is decided on: "" lets it pass.
func checked(n int, code api.Code) move {
	return func(p *play) {
		p.do(engine.Checked{CallID: p.calls[n-1], Code: code, Message: "the check says " + string(code), Arguments: `{"a":1}`})
	}
}

// checkedAtStart is what it says of changed arguments right before the n-th call begins.
func checkedAtStart(n int, code api.Code) move {
	return func(p *play) {
		p.do(engine.Checked{CallID: p.calls[n-1], Attempt: p.tool(n).Attempt + 1, Epoch: p.epoch, Code: code, Message: "the check says " + string(code), Digest: "digest"})
	}
}

var reviewUsage = api.Usage{InputTokens: 100, OutputTokens: 20}

// reviewed is what the reviewer says of the n-th call.
func reviewed(n int, r api.Review) move {
	return func(p *play) {
		c := p.tool(n)
		p.do(engine.Reviewed{CallID: c.ID, Attempt: c.Review.Attempt, Epoch: c.Review.Epoch, Review: r, Usage: reviewUsage, Arguments: `{"a":1}`})
	}
}

func reviewCancelled(n int) move {
	return func(p *play) {
		c := p.tool(n)
		p.do(engine.Reviewed{CallID: c.ID, Attempt: c.Review.Attempt, Epoch: c.Review.Epoch, Cancelled: true,
			Review: api.Review{Verdict: api.ReviewUnsure, Code: api.CodeCancelled}})
	}
}

func verdict(v api.ReviewVerdict) api.Review {
	return api.Review{Verdict: v, Reason: "the reviewer's secret"}
}

func answerWith(ask int, a api.Answer) move {
	return func(p *play) {
		a.By = "ann"
		p.do(engine.Answer{Interaction: p.asks[ask-1], Answer: a})
	}
}

// change lets a call run once with other arguments.
func change(ask int, arguments string) move {
	return answerWith(ask, api.Answer{Decision: api.AllowOnce, Arguments: json.RawMessage(arguments)})
}

func revoke(tool string) move { return do(engine.Revoke{Tool: tool, By: "ann"}) }

// screened is a body that has returned, where hooks and guardrails look at its output first.
func screened(n int, code api.Code) move {
	return func(p *play) {
		c := p.tool(n)
		p.do(engine.Returned{CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch, Output: "seen by nobody", Code: code})
	}
}

func interrupted(n int) move {
	return func(p *play) {
		c := p.tool(n)
		p.do(engine.Interrupted{CallID: c.ID, Attempt: c.Attempt, Epoch: c.Epoch})
	}
}

// What makes a conversation fit.

func plan(p engine.Plan) move {
	return func(pl *play) {
		pl.do(engine.Compact{Run: pl.state.Turn.Run, Epoch: pl.epoch, Plan: p})
	}
}

// summarises plans to summarise three entries.
func summarises(p *play) { plan(engine.Plan{Keep: 5, Items: 3, Bytes: 100})(p) }

func isFull(f engine.Full) move {
	return func(p *play) { p.do(engine.Compact{Run: p.state.Turn.Run, Epoch: p.epoch, Full: &f}) }
}

var summaryUsage = api.Usage{InputTokens: 1000, OutputTokens: 300}

func summarised(p *play) {
	t := p.state.Turn
	p.do(engine.Compacted{Run: t.Run, Attempt: t.Compaction.Attempt, Epoch: t.Compaction.Epoch, Summary: "what was", Usage: summaryUsage})
}

func summaryFails(code api.Code, retryable bool) move {
	return func(p *play) {
		t := p.state.Turn
		p.do(engine.CompactError{Run: t.Run, Attempt: t.Compaction.Attempt, Epoch: t.Compaction.Epoch, Code: code, Message: "sorry", Retryable: retryable, Usage: api.Usage{InputTokens: 9}})
	}
}

// leavesOut plans for what no model summarises.
func leavesOut(p *play) {
	p.do(engine.Compact{Run: p.state.Turn.Run, Epoch: p.epoch, Plan: engine.Plan{Keep: 5, Items: 3, Bytes: 100}, Note: "left out"})
}

func summaryCancelled(p *play) {
	t := p.state.Turn
	p.do(engine.CompactError{Run: t.Run, Attempt: t.Compaction.Attempt, Epoch: t.Compaction.Epoch, Code: api.CodeCancelled, Cancelled: true})
}

// compactNow is a run without a message.
func compactNow(m *engine.Message) { m.Text, m.Compact = "", true }
