package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/internal/runtime"
	"github.com/openworkerai/openworker/model"
)

// ask makes one call to a model, for whatever purpose, as the runtime does. think says what it answers, and is called
// if the request is sent; done gets the answer, once.
func (e *effect) ask(req model.Request, think func(model.Request) (model.Response, error), done func(model.Response, []api.GuardVerdict, error)) {
	p, w := e.c.p, e.c.p.w
	if err := model.Check(req); err != nil {
		w.fail("%s: %v", e.key, err)
	}
	if w.cfg.Asked != nil {
		if err := w.cfg.Asked(req); err != nil {
			w.fail("%s: a server refuses it: %v", e.key, err)
		}
	}
	answered := false
	answer := func(resp model.Response, checks []api.GuardVerdict, err error) {
		if !answered && !e.ended {
			answered = true
			done(resp, checks, err)
		}
	}
	cancelled := func() {
		w.after(p, w.delay(), "the provider notices "+e.key, func() {
			answer(model.Response{}, nil, &model.Error{Kind: model.KindCancelled, Message: "cancelled"})
		})
	}
	if e.cause != nil {
		cancelled()
		return
	}
	if screens(e.start) && w.faulty(0.03) { // what the application registered looks at the request first
		refused := api.Errorf(pick(w, []api.Code{api.CodeHookVetoed, api.CodeHookFailed, api.CodeGuardrailBlocked, api.CodeGuardrailFailed}), "it is not to be sent")
		w.after(p, w.delay(), "the application refuses "+e.key, func() {
			answer(model.Response{}, []api.GuardVerdict{{Name: agentGuardrail, Point: "model_input", Action: "block"}}, refused)
		})
		return
	}
	resp, err := think(req)
	e.react = func() {
		if !w.chance(0.1) { // else the answer is on its way already
			cancelled()
		}
	}
	w.after(p, w.thinking(), "the model answers "+e.key, func() { answer(resp, nil, err) })
}

func (e *effect) callModel(agent *runtime.Agent) {
	p, w := e.c.p, e.c.p.w
	req := runtime.BuildRequest(agent, e.start)
	if !hasFiles(req) {
		e.askModel(agent, req, nil)
		return
	}
	p.call("read the files of "+e.key, false, func() func() {
		whole, refused := w.withFiles(e.start.State.Session, req)
		if refused == nil && slices.Contains(e.start.State.Turn.Guardrails, turnGuardrail) && slices.ContainsFunc(whole.Items, binary) {
			w.saw("turn that is refused for a file")
			refused = api.Errorf(api.CodeUninspectableContent, "a guardrail cannot look into a file of the conversation")
		}
		return func() { e.askModel(agent, whole, refused) }
	})
}

// binary reports whether an item has a file that is no text.
func binary(it model.Item) bool {
	return slices.ContainsFunc(it.Parts, func(part model.Part) bool { return part.IsImage() || part.IsPDF() })
}

// askModel makes a turn's call, unless its files could not be had.
func (e *effect) askModel(agent *runtime.Agent, req model.Request, refused *api.Error) {
	w := e.c.p.w
	think := func(req model.Request) (model.Response, error) {
		w.ledger.ask(e.c, e.start, askKey(e.start.Effect.Run, e.start.Effect.Call, e.start.Effect.Attempt, e.start.Epoch), conversation(req.Items, e.start.Guidance.Addendum))
		return w.think(req)
	}
	end := func(resp model.Response, checks []api.GuardVerdict, err error) {
		cmd := runtime.ModelOutcome(agent, e.start, resp, err, e.cause, req.MaxOutputTokens)
		switch c := cmd.(type) {
		case engine.ModelDone:
			c.Checks, c.HardChecks = checks, w.checks
			cmd = c
		case engine.ModelError:
			c.Checks = checks
			cmd = c
		}
		e.end(cmd)
	}
	if refused != nil {
		end(model.Response{}, nil, refused)
		return
	}
	e.ask(req, think, end)
}

func (e *effect) summarise(agent *runtime.Agent) {
	w := e.c.p.w
	req := runtime.SummaryRequest(agent, e.start, w.stage.facts(e.start.State.Turn.Model))
	think := func(req model.Request) (model.Response, error) {
		items := e.start.Items
		if e.start.Previous != "" {
			items = append([]model.Item{{Kind: model.UserItem, Text: e.start.Previous}}, items...)
		}
		w.ledger.ask(e.c, e.start, summaryKey(e.start.Effect.Run, e.start.Effect.Attempt, e.start.Epoch), conversation(items, ""))
		return w.condense(req)
	}
	e.ask(req, think, func(resp model.Response, checks []api.GuardVerdict, err error) {
		e.end(runtime.SummaryOutcome(e.start, resp, checks, err, e.cause, req.MaxOutputTokens))
	})
}

// Tries of one review, and the time between them, as the runtime has them.
const (
	reviewTries = 3
	reviewPause = 250 * time.Millisecond
)

// review asks the reviewer about a call. All its tries share one deadline.
func (e *effect) review(agent *runtime.Agent) {
	p, w := e.c.p, e.c.p.w
	in := policy.ReviewInput{Action: policy.Action{Arguments: e.start.Call.Arguments}, Conversation: e.start.Items}
	var spent api.Usage
	end := func(resp model.Response, err error) {
		e.end(runtime.ReviewOutcome(e.start, in, resp, err, e.cause, spent))
	}
	req, refused := runtime.ReviewRequest(agent, e.start, w.stage.facts(e.start.State.Agent.Reviewer))
	if refused != nil {
		end(model.Response{}, refused)
		return
	}
	think := func(req model.Request) (model.Response, error) {
		resp, err := w.judge(req)
		w.ledger.reviewed(e.c, e.start, in, resp, err)
		return resp, err
	}
	e.timeout = w.after(p, api.DefaultReviewTime, "the time is over of "+e.key, func() {
		if e.cause == nil {
			w.saw("review that took too long")
			end(model.Response{}, api.Errorf(api.CodeReviewTimeout, "no answer in time"))
		}
	})
	var try func(n int)
	try = func(n int) {
		if e.ended {
			return
		}
		e.ask(req, think, func(resp model.Response, _ []api.GuardVerdict, err error) {
			var failed *model.Error
			if n == reviewTries || e.cause != nil || !errors.As(err, &failed) || !failed.Retryable() {
				end(resp, err)
				return
			}
			spent = spent.Add(failed.Usage)
			e.react = nil
			w.after(p, max(reviewPause<<(n-1), failed.RetryAfter), "ask again for "+e.key, func() { try(n + 1) })
		})
	}
	try(1)
}
