package engine_test

import (
	"pgregory.net/rapid"

	"github.com/openworkerai/openworker/api"
	"github.com/openworkerai/openworker/internal/engine"
)

// What effects come to in a world that is not always kind.

// comesTo is what an effect comes to that has begun.
func (w *world) comesTo(e engine.Effect) engine.Command {
	switch e.Kind {
	case engine.ModelEffect:
		return w.modelComesTo(w.models[len(w.models)-1])
	case engine.ReviewEffect:
		return w.reviewComesTo(engine.ReviewStarted{CallID: e.CallID, Attempt: e.Attempt, Epoch: e.Epoch})
	case engine.CompactEffect:
		return w.summaryComesTo(engine.CompactionStarted{Run: e.Run, Attempt: e.Attempt, Epoch: e.Epoch})
	default:
		return w.toolComesTo(e.CallID, e.Attempt, e.Epoch)
	}
}

func (w *world) items() []engine.Item {
	var items []engine.Item
	for range choose(w.T, "items", []int{0, 1, 1, 2, 3, 4}) {
		it := text(choose(w.T, "text", []string{"", "well", "so"}))
		switch choose(w.T, "item", []string{"text", "reasoning", "call", "call", "call", "call"}) {
		case "reasoning":
			it.Kind = engine.ItemReasoning
		case "call":
			it = call(choose(w.T, "tool", []string{"write", "write", "write", "put", "read", "free", "read_history", "ask_user", "ask_user", "spawn", "make_agent", "no such", ""}))
			if !choose(w.T, "good arguments", often) {
				it.Arguments, it.Code, it.Message = `{"a":`, api.CodeArgumentsInvalid, "they do not parse"
			}
		}
		items = append(items, it)
	}
	return items
}

// modelOutcome is an outcome of an attempt that was begun: the running one, or one of those before.
func (w *world) modelOutcome() (engine.Command, bool) {
	if len(w.models) == 0 {
		return nil, false
	}
	return w.modelComesTo(pick(w, w.models, "attempt of the model")), true
}

func (w *world) modelComesTo(m engine.ModelStarted) engine.Command {
	usage := api.Usage{InputTokens: 5, OutputTokens: int64(rapid.IntRange(0, m.Max).Draw(w.T, "tokens"))}
	if choose(w.T, "answered", often) {
		return engine.ModelDone{Run: m.Run, Call: m.Call, Attempt: m.Attempt, Epoch: m.Epoch, Items: w.items(), Usage: usage, HardChecks: w.hardChecks,
			Stop: choose(w.T, "stop", []string{engine.StopToolCalls, engine.StopToolCalls, engine.StopToolCalls, engine.StopEnd, engine.StopEnd, engine.StopOutputLimit, engine.StopFiltered, ""})}
	}
	return engine.ModelError{Run: m.Run, Call: m.Call, Attempt: m.Attempt, Epoch: m.Epoch, Usage: usage, Message: "busy",
		Code:      choose(w.T, "why", []api.Code{api.CodeProviderOverloaded, api.CodeProviderOverloaded, api.CodeContextExhausted, api.CodeRequestTooLarge}),
		Retryable: choose(w.T, "retryable", often), Cancelled: !choose(w.T, "by itself", often)}
}

func (w *world) toolOutcome() (engine.Command, bool) {
	if len(w.tools) == 0 {
		return nil, false
	}
	c := pick(w, w.tools, "attempt of a tool")
	return w.toolComesTo(c.CallID, c.Attempt, c.Epoch), true
}

func (w *world) toolComesTo(call string, attempt int, epoch uint64) engine.Command {
	if !choose(w.T, "not screened", often) {
		return engine.Returned{CallID: call, Attempt: attempt, Epoch: epoch, Output: "raw", Code: choose(w.T, "code", []api.Code{"", "", api.CodeToolFailed})}
	}
	return engine.ToolOutcome{CallID: call, Attempt: attempt, Epoch: epoch, Output: "out", Code: choose(w.T, "code", []api.Code{"", "", api.CodeToolFailed, api.CodeCancelled})}
}

func (w *world) outcome() (engine.Command, bool) {
	switch choose(w.T, "of", []string{"model", "tool", "review", "summary"}) {
	case "model":
		return w.modelOutcome()
	case "review":
		if len(w.reviews) > 0 {
			return w.reviewComesTo(pick(w, w.reviews, "review")), true
		}
	case "summary":
		if len(w.summaries) > 0 {
			return w.summaryComesTo(pick(w, w.summaries, "summary")), true
		}
	}
	return w.toolOutcome()
}

func (w *world) reviewComesTo(r engine.ReviewStarted) engine.Command {
	return engine.Reviewed{CallID: r.CallID, Attempt: r.Attempt, Epoch: r.Epoch, Cancelled: !choose(w.T, "by itself", often), Usage: w.auxiliary(api.MaxReviewTokens),
		Review: api.Review{Verdict: choose(w.T, "verdict", []api.ReviewVerdict{api.ReviewAllow, api.ReviewAllow, api.ReviewDeny, api.ReviewUnsure, "?"}), Reason: "reviewed"}}
}

func (w *world) auxiliary(most int) api.Usage {
	return api.Usage{InputTokens: 3, OutputTokens: int64(rapid.IntRange(0, most).Draw(w.T, "auxiliary tokens"))}
}

func (w *world) summaryComesTo(c engine.CompactionStarted) engine.Command {
	if choose(w.T, "summarised", often) {
		return engine.Compacted{Run: c.Run, Attempt: c.Attempt, Epoch: c.Epoch, Summary: "so it was", Usage: w.auxiliary(api.MaxCompactionTokens)}
	}
	return engine.CompactError{Run: c.Run, Attempt: c.Attempt, Epoch: c.Epoch, Message: "busy", Usage: w.auxiliary(9),
		Code:      choose(w.T, "why", []api.Code{api.CodeProviderOverloaded, api.CodeContextExhausted}),
		Retryable: choose(w.T, "retryable", often), Cancelled: !choose(w.T, "by itself", often)}
}

// planned is what a host plans for the conversation as it is, in whatever room.
func (w *world) planned(run string) engine.Command {
	room := choose(w.T, "room", []int{1, 200, 600, 2000, 1 << 20})
	p, full := w.transcript.Plan(engine.Window{Run: run, Room: room, Source: choose(w.T, "source", []int{200, 1 << 20}), Summary: 20,
		All: rapid.Bool().Draw(w.T, "all"), Bare: rapid.Bool().Draw(w.T, "bare")})
	return engine.Compact{Run: run, Epoch: w.epoch, Plan: p, Full: full}
}

func (w *world) checkComesTo(e engine.Effect) engine.Command {
	c := engine.Checked{CallID: e.CallID, Attempt: e.Attempt, Epoch: w.epoch, Code: choose(w.T, "check", []api.Code{"", "", "", "", api.CodeDenied, api.CodeCheckFailed}), Message: "checked"}
	if e.Attempt > 0 {
		c.Digest = "digest"
	}
	return c
}

func (w *world) attempt() (engine.ToolStarted, bool) {
	if len(w.tools) == 0 {
		return engine.ToolStarted{}, false
	}
	return pick(w, w.tools, "attempt"), true
}
