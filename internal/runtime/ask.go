package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/guard"
	"github.com/openworkerai/openworker/internal/engine"
	"github.com/openworkerai/openworker/internal/policy"
	"github.com/openworkerai/openworker/model"
)

// asked is what a call to a model came to.
type asked struct {
	resp      model.Response
	checks    []api.GuardVerdict
	maxOutput int   // the request's bound
	err       error // a *model.Error, or an *api.Error of ours: the provider is not here, a guardrail or a hook said no
}

// build makes the request of what guardrails let pass, with their verdicts.
type build func(ctx context.Context) (model.Request, []api.GuardVerdict, *api.Error)

// ask makes one call to a model, for whatever purpose: guardrails see what its request is made of, hooks the request
// before it is sent, guardrails the answer before anybody else does. emit gets the answer as it comes, unless a
// guardrail is to see it first.
func (r *Runtime) ask(ctx context.Context, w watch, purpose guard.Purpose, ref api.ModelRef, request build, emit func(model.Delta)) asked {
	provider, ok := r.cfg.Registry.Provider(ref.Provider)
	if !ok {
		return asked{err: api.Errorf(api.CodeRegistrationMissing, "no provider %q is configured in this process", ref.Provider)}
	}
	secret, err := r.cfg.Registry.Credential(ctx, ref.Provider)
	if err != nil {
		return asked{err: api.AsError(err)}
	}
	var out asked
	req, verdicts, refused := request(ctx)
	out.checks, out.maxOutput = verdicts, req.MaxOutputTokens
	if refused == nil {
		refused = policy.BeforeModel(ctx, w.hooks, guard.ModelCall{Context: w.context, Purpose: purpose, Provider: provider.Name(), Request: req})
	}
	if refused != nil {
		out.err = refused
		return out
	}
	if check := r.cfg.CheckRequest; check != nil {
		check(req)
	}
	req.Credential = secret
	if emit == nil || policy.Has(w.guardrails, guard.ModelOutput) {
		emit = func(model.Delta) {}
	}
	r.failpoint("model.before")
	out.resp, err = provider.Stream(ctx, req, emit)
	r.failpoint("model.after")
	if err != nil {
		out.err = err
		return out
	}
	resp, verdicts, refused := policy.ScreenAnswer(ctx, w.guardrails, w.context, out.resp)
	out.checks = append(out.checks, verdicts...)
	if refused != nil {
		out.err = refused
		out.resp = model.Response{Usage: out.resp.Usage}
		return out
	}
	out.resp = resp
	return out
}

// failure is a failed call to a model in the form in which it is recorded.
type failure struct {
	code       api.Code
	message    string
	retryable  bool
	retryAfter time.Duration
	usage      api.Usage
	window     int // what an overflow told of it
}

// failureOf classifies why a call failed. spent is what an answer used that a guardrail did not let pass; maxOutput
// is the request's bound.
func failureOf(err error, spent api.Usage, maxOutput int) failure {
	if ours, ok := err.(*api.Error); ok { //nolint:errorlint // as it is: one that wraps a provider's error is not made here
		retryable := ours.Code == api.CodeRegistrationMissing || ours.Code == api.CodeCredentialsMissing || ours.Retryable() && strings.HasPrefix(string(ours.Code), "store_")
		return failure{code: ours.Code, message: firstBytes(ours.Message, maxFailureText), retryable: retryable, usage: counted(spent)}
	}
	var me *model.Error
	if !errors.As(err, &me) {
		me = &model.Error{Kind: model.KindUnclassified, Message: err.Error()}
	}
	f := failure{code: me.Code(), message: firstBytes(withoutFiles(strings.ToValidUTF8(me.Message, "\uFFFD")), maxFailureText), retryable: me.Retryable(), retryAfter: me.RetryAfter, usage: counted(me.Usage), window: me.Window}
	if f.message == "" {
		f.message = fmt.Sprintf("the provider failed without a message; the kind of its error is %q", me.Kind)
	}
	if f.usage.OutputTokens == 0 && me.Received > 0 {
		// The provider did not say what the part that came cost: about three bytes a token, at most the bound.
		f.usage.OutputTokens, f.usage.Estimated = int64(min((me.Received+2)/3, max(maxOutput, 1))), true
	}
	return f
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// guidance is the narrowest text that was given: the turn's, the session's, the agent's (GU2).
func guidance(turn, session, agent *string) string {
	for _, text := range []*string{turn, session, agent} {
		if text != nil {
			return *text
		}
	}
	return ""
}

// summarise asks the turn's model for a summary of what a plan leaves out (CO1).
func (r *Runtime) summarise(ctx context.Context, agent *Agent, s Start) engine.Command {
	ref := s.State.Turn.Model
	w, facts := r.watchOver(agent, s), r.facts(ref)
	out := r.ask(ctx, w, guard.PurposeCompaction, ref, func(ctx context.Context) (model.Request, []api.GuardVerdict, *api.Error) {
		in, verdicts, refused := policy.ScreenSummary(ctx, w.guardrails, w.context, summaryInput(agent, s, facts), agent.catalogue, s.Memo)
		if refused != nil {
			return model.Request{}, verdicts, refused
		}
		return summaryRequest(in, s, facts), verdicts, nil
	}, nil)
	return SummaryOutcome(s, out.resp, out.checks, out.err, context.Cause(ctx), out.maxOutput)
}

// What an item's content is cut to where it is to be summarised, in bytes, and how often that is halved before fewer
// items are shown.
const (
	maxSummaryItem = 8_000
	minSummaryItem = 200
	shrinksWhole   = 2
)

// SummaryRequest asks for a summary.
func SummaryRequest(agent *Agent, s Start, facts model.Facts) model.Request {
	return summaryRequest(summaryInput(agent, s, facts), s, facts)
}

func summaryRequest(in policy.SummaryInput, s Start, facts model.Facts) model.Request {
	most := engine.SummaryTokens(s.State, facts.Window)
	if facts.MaxOutputTokens > 0 {
		most = min(most, facts.MaxOutputTokens)
	}
	req := policy.SummaryRequest(in, s.State.Turn.Model.Name, most)
	req.Session = s.State.Session
	return req
}

func summaryInput(agent *Agent, s Start, facts model.Facts) policy.SummaryInput {
	in := policy.SummaryInput{Items: s.Items, Previous: s.Previous, Guidance: compactionGuidance(agent, s), ItemBytes: maxSummaryItem,
		GuidanceBytes: engine.GuidanceBytes(s.State, facts.Window)}
	if facts.Window > 0 {
		in.ItemBytes = min(in.ItemBytes, max(facts.Window/3, minSummaryItem))
	}
	shrink := s.State.Turn.Compaction.Shrinks()
	in.ItemBytes = max(in.ItemBytes>>shrink, minSummaryItem)
	if shrink > shrinksWhole { // shorter items were not enough
		in.Most = max(len(in.Items)>>(shrink-shrinksWhole), 1)
	}
	return in
}

func compactionGuidance(agent *Agent, s Start) string {
	var own *string
	if c := agent.Definition.Compaction; c != nil {
		own = c.AdditionalInstructions
	}
	return guidance(s.Guidance.Compaction, s.State.Compaction, own)
}

// SummaryOutcome is what an attempt to summarise came to; see [ModelOutcome].
func SummaryOutcome(s Start, resp model.Response, checks []api.GuardVerdict, err error, cause error, maxOutput int) engine.Command {
	e := s.Effect
	if err == nil {
		summary, refused := policy.ParseSummary(resp)
		if refused == nil {
			return engine.Compacted{Run: e.Run, Attempt: e.Attempt, Epoch: s.Epoch, Summary: summary, Usage: counted(resp.Usage), Checks: checks}
		}
		if err = refused; refused.Code == api.CodeStreamCut { // it may go better another time
			err = &model.Error{Kind: model.KindMalformed, Message: refused.Message, Usage: resp.Usage}
		}
	}
	if errors.Is(cause, ErrClosing) {
		return nil // taken over at the next start
	}
	f := failureOf(err, resp.Usage, maxOutput)
	out := engine.CompactError{Run: e.Run, Attempt: e.Attempt, Epoch: s.Epoch, Code: f.code, Message: f.message, Retryable: f.retryable, RetryAfter: f.retryAfter,
		Usage: f.usage, Checks: checks}
	if cause != nil {
		out.Cancelled, out.Code, out.Message = true, api.CodeCancelled, "the summary was cancelled"
	}
	return out
}

// Tries of one review, and the time between the first two.
const (
	reviewTries = 3
	reviewPause = 250 * time.Millisecond
)

// review asks the reviewer about a call (AP5). All its tries share one deadline.
func (r *Runtime) review(ctx context.Context, agent *Agent, s Start) engine.Command {
	ref := s.State.Agent.Reviewer
	bounded, cancel := context.WithTimeout(ctx, api.DefaultReviewTime)
	defer cancel()
	in := policy.ReviewInput{}
	w, facts := r.watchOver(agent, s), r.facts(ref)
	request := func(ctx context.Context) (model.Request, []api.GuardVerdict, *api.Error) {
		var verdicts []api.GuardVerdict
		var refused *api.Error
		if in, verdicts, refused = policy.ScreenReview(ctx, w.guardrails, w.context, reviewInput(agent, s), agent.catalogue, s.Memo); refused != nil {
			return model.Request{}, verdicts, refused
		}
		req, refused := reviewRequest(in, s, facts)
		return req, verdicts, refused
	}
	var spent api.Usage
	for try := 1; ; try++ {
		out := r.ask(bounded, w, guard.PurposeReview, ref, request, nil)
		err := out.err
		var failed failure
		if err != nil {
			failed = failureOf(err, out.resp.Usage, out.maxOutput)
		}
		wait := max(reviewPause<<(try-1), failed.retryAfter)
		deadline, _ := bounded.Deadline()
		switch {
		case err == nil:
		case context.Cause(ctx) == nil && context.Cause(bounded) != nil:
			spent, out.resp = spent.Add(failed.usage), model.Response{}
			err = api.Errorf(api.CodeReviewTimeout, "the reviewer did not answer within %s", api.DefaultReviewTime)
		case try == reviewTries || !failed.retryable || context.Cause(ctx) != nil || time.Until(deadline) <= wait:
		default:
			spent = spent.Add(failed.usage)
			pause := time.NewTimer(wait)
			select {
			case <-pause.C:
			case <-bounded.Done():
				pause.Stop()
			}
			continue
		}
		return ReviewOutcome(s, in, out.resp, err, context.Cause(ctx), spent)
	}
}

// ReviewRequest asks a reviewer about a call.
func ReviewRequest(agent *Agent, s Start, facts model.Facts) (model.Request, *api.Error) {
	return reviewRequest(reviewInput(agent, s), s, facts)
}

func reviewRequest(in policy.ReviewInput, s Start, facts model.Facts) (model.Request, *api.Error) {
	most := api.MaxReviewTokens
	if facts.MaxOutputTokens > 0 {
		most = min(most, facts.MaxOutputTokens)
	}
	req, err := policy.ReviewRequest(in, s.State.Agent.Reviewer.Name, most)
	req.Session = s.State.Session
	return req, err
}

func reviewInput(agent *Agent, s Start) policy.ReviewInput {
	declared := agent.declared[s.Call.Name]
	return policy.ReviewInput{
		Action: policy.Action{Tool: declared.Name, Description: declared.Description, Effect: effectOf(declared), Arguments: s.Call.Arguments},
		Origin: "agent", Agent: agent.Reference.Name, Guidance: guidance(s.Guidance.Reviewer, s.State.AutoApproverContext, agent.Definition.AutoApproverContext),
		Conversation: s.Items,
	}
}

// ReviewOutcome is what the review of in came to. Whatever is no clear verdict leaves the action to a person, with the
// reason as a code. spent is what tries before the last one used. nil: nothing to store.
func ReviewOutcome(s Start, in policy.ReviewInput, resp model.Response, err error, cause error, spent api.Usage) engine.Command {
	out := engine.Reviewed{CallID: s.Effect.CallID, Attempt: s.Effect.Attempt, Epoch: s.Epoch, Arguments: s.Call.Arguments,
		Review: api.Review{Verdict: api.ReviewUnsure}, Usage: spent.Add(counted(resp.Usage))}
	if err == nil {
		review, refused := policy.ReadReview(in, resp)
		if refused == nil {
			out.Review = review
			return out
		}
		err = refused
	}
	if errors.Is(cause, ErrClosing) {
		return nil
	}
	f := failureOf(err, api.Usage{}, api.MaxReviewTokens)
	if cause != nil {
		out.Cancelled, out.Review.Code, out.Usage = true, api.CodeCancelled, out.Usage.Add(f.usage)
		return out
	}
	out.Review.Code, out.Review.Reason = f.code, policy.Plain(f.message, api.MaxReviewReasonBytes)
	out.Usage = out.Usage.Add(f.usage)
	return out
}

// facts are what is known of a model.
func (r *Runtime) facts(ref api.ModelRef) model.Facts {
	if p, ok := r.cfg.Registry.Provider(ref.Provider); ok {
		facts, _ := p.Facts(ref.Name)
		return facts
	}
	return model.Facts{}
}
